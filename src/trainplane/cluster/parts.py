"""The parts of objects that have verbs of their own: scale, binding and eviction."""

from typing import Any

from msgspec import UNSET, UnsetType

from trainplane.api.core import DISRUPTION_TARGET, POD_SCHEDULED
from trainplane.api.kinds import Kind
from trainplane.api.kinds import Scale as Places
from trainplane.api.meta import Int32, ObjectMeta, Raw, Wire
from trainplane.api.raw import look, put
from trainplane.cluster.bodies import Body
from trainplane.cluster.causes import invalid
from trainplane.cluster.deletion import Deletion
from trainplane.cluster.entries import scale_entries, scaled_entries
from trainplane.cluster.errors import BadRequest, Conflict, Internal, Invalid, NotFound, created
from trainplane.cluster.ground import Answer, Call, Ground
from trainplane.cluster.options import APPLY_PATCH, Options, delete_options
from trainplane.cluster.ownership import apply, update
from trainplane.cluster.patching import patched
from trainplane.cluster.reading import named
from trainplane.cluster.refusals import other_uid
from trainplane.cluster.wire import JSON_PATCH
from trainplane.cluster.writes import Writes

SCALE_VERSION = "autoscaling/v1"


class ScaleSpec(Wire, frozen=True):
    """How many replicas are wanted."""

    replicas: Int32 | UnsetType = UNSET


class ScaleStatus(Wire, frozen=True):
    """How many replicas there are."""

    replicas: Int32
    selector: str | UnsetType = UNSET


class Scale(Wire, frozen=True):
    """The size of an object."""

    api_version: str | UnsetType = UNSET
    kind: str | UnsetType = UNSET
    metadata: ObjectMeta | UnsetType = UNSET
    spec: ScaleSpec | UnsetType = UNSET
    status: ScaleStatus | UnsetType = UNSET


_SCALE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "spec": {"type": "object", "properties": {"replicas": {"type": "integer"}}},
        "status": {"type": "object", "properties": {"replicas": {"type": "integer"}, "selector": {"type": "string"}}},
    },
}


class Parts:
    """The verbs of parts."""

    def __init__(self, ground: Ground, writes: Writes, deletion: Deletion) -> None:
        self._ground = ground
        self._writes = writes
        self._deletion = deletion

    def scale(self, call: Call) -> Answer:
        """The Scale of an object."""
        stored = self._ground.find(call.key)
        if stored is None:
            raise NotFound.of(call.asked.resource, call.name)
        return Answer(200, scale_of(stored.object, _scale(call.row)))

    async def rescale(self, call: Call, form: str, body: Body, *, uid: str = "") -> Answer:
        """Change an object's size by its Scale, put in place or patched."""
        how = _scale(call.row)
        steps = tuple(f"f:{step}" for step in _steps(how.spec))

        def make(old: Raw) -> tuple[Raw, tuple[str, ...]]:
            if uid and uid != old["metadata"]["uid"]:
                raise Conflict.of(call.asked.resource, call.name, other_uid(call, uid, old))
            entries = look(old, "metadata", "managedFields")
            before = scale_of(old, how)
            before = put(before, ("metadata", "managedFields"), scale_entries(entries, steps))
            after = self._scaled(call, form, body, before)
            version = look(after, "metadata", "resourceVersion")
            if version and version != old["metadata"]["resourceVersion"]:
                raise Conflict.of(call.asked.resource, call.name)
            replicas = look(after, "spec", "replicas") or 0
            if not isinstance(replicas, int) or isinstance(replicas, bool) or replicas < 0:
                cause = invalid("spec.replicas", replicas, "must be greater than or equal to 0")
                raise Invalid.of("Scale.autoscaling", call.name, [cause])
            new = put(old, _steps(how.spec), replicas)
            left = scaled_entries(
                entries, look(after, "metadata", "managedFields"), replicas=steps, api_version=call.row.api_version
            )
            new = put(new, ("metadata", "managedFields"), left)
            generation = old["metadata"].get("generation")
            if generation and look(old, *_steps(how.spec)) != replicas:
                new = put(new, ("metadata", "generation"), generation + 1)
            return new, ()

        answer = await self._writes.change(call, make)
        return Answer(200, scale_of(answer.object, how), warnings=answer.warnings)

    def _scaled(self, call: Call, form: str, body: Body, before: Raw) -> Raw:
        """The Scale after a write, with its owners."""
        said: dict[str, Any] = {
            "manager": call.options.field_manager or call.manager,
            "schema": _SCALE_SCHEMA,
            "now": self._ground.now(),
            "subresource": "scale",
        }
        if form == APPLY_PATCH:
            return apply(before, body.value, force=bool(call.options.force), **said).object
        if form:
            after, _ = patched(before, form, body.value, type_=Scale)
        else:
            after = _put_scale(call, body.value)
            after = {**after, "metadata": {**before["metadata"], **after["metadata"]}}
        if form != JSON_PATCH or look(after, "metadata", "name") != call.name:
            after = named(after, call)
        made: Raw = put(after, ("metadata", "managedFields"), update(before, after, **said))
        return made

    async def bind(self, call: Call, raw: Raw) -> Answer:
        """Place a pod on a node; whether that node is there is not asked, as a real API server does not."""
        target = raw.get("target") or {}
        if (look(raw, "metadata", "name") or "") != call.name:
            raise BadRequest("name in URL does not match name in Binding object")
        if not target.get("name"):
            raise Internal("target.name: Required value")
        if target.get("kind") not in (None, "", "Node"):
            raise Internal(f'target.kind: Unsupported value: "{target["kind"]}": supported values: "Node", "<empty>"')

        def make(old: Raw) -> tuple[Raw, tuple[str, ...]]:
            _check_binding(call, raw, old)
            metadata = dict(old["metadata"])
            for name in ("labels", "annotations"):
                added = look(raw, "metadata", name)
                if added:
                    metadata[name] = {**(metadata.get(name) or {}), **added}
            status = with_condition(old.get("status") or {}, POD_SCHEDULED, now=self._ground.stamp())
            return {
                **old,
                "metadata": metadata,
                "spec": {**old["spec"], "nodeName": target["name"]},
                "status": status,
            }, ()

        answer = await self._writes.change(call, make)
        return Answer(201, created(), warnings=answer.warnings)

    async def evict(self, call: Call, raw: Raw) -> Answer:
        """Ask a pod to go."""
        if (look(raw, "metadata", "name") or "") != call.name:
            raise BadRequest("name in URL does not match name in Eviction object")
        options = delete_options(Options(), raw.get("deleteOptions") or {})
        stored = self._ground.find(call.key)
        if stored is None:
            raise NotFound.of(call.asked.resource, call.name)
        dry = call.is_dry or bool(options.dry_run)
        if not dry and not look(stored.object, "metadata", "deletionTimestamp"):

            def make(old: Raw) -> tuple[Raw, tuple[str, ...]]:
                words = {"reason": "EvictionByEvictionAPI", "message": "Eviction API: evicting"}
                status = old.get("status") or {}
                return {
                    **old,
                    "status": with_condition(status, DISRUPTION_TARGET, now=self._ground.stamp(), **words),
                }, ()

            await self._writes.change(call, make)
        if not dry:
            await self._deletion.delete(call, options)
        return Answer(201, created())


def with_condition(status: Raw, type_: str, *, now: str, **words: str) -> Raw:
    """A pod's status with a condition that is true."""
    condition = {"type": type_, "status": "True", "lastProbeTime": None, "lastTransitionTime": now, **words}
    others = [each for each in status.get("conditions") or () if each.get("type") != type_]
    return {**status, "conditions": [*others, condition]}


def scale_of(raw: Raw, how: Places) -> Raw:
    """The Scale of an object."""
    metadata = raw["metadata"]
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    replicas = look(raw, *_steps(how.spec)) or 0
    status: Raw = {"replicas": look(raw, *_steps(how.status)) or 0}
    if selector := look(raw, *_steps(how.selector)):
        status["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": SCALE_VERSION,
        "metadata": {name: metadata[name] for name in kept if name in metadata},
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }


def _scale(row: Kind) -> Places:
    if row.scale is None:
        raise NotFound.resource()
    return row.scale


def _steps(path: str) -> tuple[str, ...]:
    return tuple(path.lstrip(".").split("."))


def _put_scale(call: Call, raw: Any) -> Raw:
    if not isinstance(raw, dict) or raw.get("kind") not in (None, "Scale"):
        kind = raw.get("kind") if isinstance(raw, dict) else ""
        version = str(raw.get("apiVersion", "")).rpartition("/")[2] if isinstance(raw, dict) else ""
        raise BadRequest(
            f'{kind} in version "{version}" cannot be handled as a Scale: '
            f"converting (v1.{kind}) to (autoscaling.Scale): unknown conversion"
        )
    return named(raw, call)


def _check_binding(call: Call, raw: Raw, old: Raw) -> None:
    name, metadata, spec = call.name, old["metadata"], old["spec"]
    uid = look(raw, "metadata", "uid")
    if uid and uid != metadata["uid"]:
        raise Conflict.of("pods", name, other_uid(call, uid, old))
    if metadata.get("deletionTimestamp"):
        raise Conflict.of("pods/binding", name, f"pod {name} is being deleted, cannot be assigned to a host")
    if spec.get("nodeName"):
        words = f'pod {name} is already assigned to node "{spec["nodeName"]}"'
        raise Conflict.of("pods/binding", name, words)
    if spec.get("schedulingGates"):
        raise Conflict.of("pods/binding", name, f"pod {name} has non-empty .spec.schedulingGates")
