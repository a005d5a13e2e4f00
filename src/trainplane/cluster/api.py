"""Api: the verbs of the Kubernetes API over the Store; a Client for whoever lives in this process."""

import random
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from datetime import datetime

import msgspec

from trainplane.api.kinds import Kind
from trainplane.api.meta import Raw
from trainplane.api.ref import Ref
from trainplane.cluster.admission import Admission
from trainplane.cluster.bodies import Body
from trainplane.cluster.client import Change, Happened, Page, Patch
from trainplane.cluster.deletion import Deletion
from trainplane.cluster.errors import MethodNotAllowed, NotFound
from trainplane.cluster.ground import SYSTEM, Call, Companions, Ground, Note
from trainplane.cluster.negotiation import patch_form
from trainplane.cluster.options import DeleteOptions, Options
from trainplane.cluster.parts import Parts
from trainplane.cluster.reads import Reads
from trainplane.cluster.resources import resource_of
from trainplane.cluster.store import Store
from trainplane.cluster.writes import Writes

MANAGER = "trainplane"
"""Who owns what this process writes without saying who."""
_CHANCE = random.Random()  # noqa: S311 - it tells names apart, and keeps no secret
Warn = Callable[[Iterable[str]], None]


def _silently(_warnings: Iterable[str]) -> None:
    """Controllers write, who read no warnings."""


class Api:
    """A cluster's API in this process."""

    def __init__(
        self,
        store: Store,
        *,
        kinds: Iterable[Kind],
        now: Callable[[], datetime],
        admission: Mapping[str, Admission] | None = None,
        uid: Callable[[], str] = lambda: str(uuid.uuid4()),
        place: Callable[[int], int] = _CHANCE.randrange,
        companions: Companions = lambda _: (),
        manager: str = MANAGER,
    ) -> None:
        """`place` picks a number below the one it is given; `companions` are what every new namespace holds."""
        self.kinds = tuple(kinds)
        self.ground = Ground(
            store,
            kinds=self.kinds,
            admission=admission or {},
            now=now,
            uid=uid,
            place=place,
            companions=companions,
        )
        self.reads = Reads(self.ground)
        self.writes = Writes(self.ground)
        self.deletion = Deletion(self.ground)
        self.parts = Parts(self.ground, self.writes, self.deletion)
        self._manager = manager

    def _call(self, ref: Ref, *, subresource: str = "", options: Options | None = None) -> Call:
        view = self.ground.views.get((ref.group, ref.kind))
        row = view.stored if view else self.ground.row(ref.group, ref.kind)
        if row is None or (ref.name and row.namespaced and not ref.namespace):
            raise NotFound.resource()
        namespace = ref.namespace if row.namespaced else ""
        return Call(row, namespace, ref.name, subresource, options or Options(), SYSTEM, self._manager, view)

    def _collection(self, kind: Kind, namespace: str, options: Options) -> Call:
        call = self._call(Ref(kind.group, kind.kind, namespace, ""), options=options)
        if call.through:
            fields = call.through.selector(options.field_selector)
            call = msgspec.structs.replace(call, options=msgspec.structs.replace(options, field_selector=fields))
        return call

    async def get(self, ref: Ref) -> Raw:
        """The object."""
        call = self._call(ref)
        return _shown(self.reads.get(call).object, call)

    async def list(
        self, kind: Kind, *, namespace: str = "", labels: str = "", fields: str = "", limit: int = 0, after: str = ""
    ) -> Page:
        """The objects of a kind, in one namespace or in all."""
        options = Options(label_selector=labels, field_selector=fields, limit=limit, continue_=after)
        call = self._collection(kind, namespace, options)
        found = await self.reads.list(call)
        items = tuple(_shown(stored.object, call) for stored in found.items)
        sources = () if call.through else tuple(stored.value for stored in found.items)
        return Page(items, str(found.revision), found.after, sources)

    async def watch(
        self, kind: Kind, *, namespace: str = "", labels: str = "", fields: str = "", since: str
    ) -> AsyncIterator[Change]:
        """What happens to objects of a kind from a list's resourceVersion on; raises Expired when that is too old."""
        options = Options(label_selector=labels, field_selector=fields, resource_version=since)
        call = self._collection(kind, namespace, options)
        async for events in self.reads.watch(call):
            for event in events:
                source = event.stored.value if event.stored and not call.through else b""
                yield Change(Happened[event.type], _shown(event.object, call), source)

    async def create(self, obj: Raw, *, warn: Warn = _silently) -> Raw:
        """Make an object; raises AlreadyExists. `warn` is told what whoever wrote it should know."""
        metadata = obj.get("metadata") or {}
        ref = Ref.of({**obj, "metadata": {"name": "", **metadata}})
        call = self._call(ref._replace(name=""))
        if call.row.namespaced and not call.namespace:
            raise MethodNotAllowed
        made = await self.writes.create(call, Body(obj))
        warn(each for each in made.warnings if not isinstance(each, Note))
        return _shown(made.object, call)

    async def apply(self, obj: Raw, *, manager: str, uid: str = "", force: bool = False, warn: Warn = _silently) -> Raw:
        """Own the fields of `obj`; with a uid, only on the object that has it."""
        call = self._call(Ref.of(obj), options=Options(field_manager=manager, force=force))
        made = await self.writes.apply(call, obj, uid=uid)
        warn(each for each in made.warnings if not isinstance(each, Note))
        return _shown(made.object, call)

    async def patch(self, ref: Ref, patch: Patch, *, uid: str = "", subresource: str = "") -> Raw:
        """Change an object; with a uid, only the object that has it."""
        call = self._call(ref, subresource=subresource)
        if subresource == "scale":
            return (await self.parts.rescale(call, patch.form, Body(patch.body), uid=uid)).object
        patch_form(patch.form, custom=resource_of(call.row).custom)
        return _shown((await self.writes.patch(call, patch.form, Body(patch.body), uid=uid)).object, call)

    async def set_status(self, ref: Ref, status: Raw, *, uid: str = "", version: str = "") -> Raw:
        """Make this the object's status; with a uid, only on the object that has it, with a version only on that."""
        call = self._call(ref, subresource="status")
        if call.through or not isinstance(status, dict):
            return await self.patch(ref, Patch.status(status, version=version), uid=uid, subresource="status")
        return (await self.writes.set_status(call, status, uid=uid, version=version)).object

    async def bind(self, pod: Ref, node: str) -> None:
        """Place a pod on a node."""
        binding = {"metadata": {"name": pod.name}, "target": {"kind": "Node", "name": node}}
        await self.parts.bind(self._call(pod, subresource="binding"), binding)

    async def delete(
        self, ref: Ref, *, uid: str = "", propagation: str = "Background", grace: int | None = None
    ) -> None:
        """Delete an object; with a uid, only the object that has it. With a grace, in seconds, other than its own."""
        options = DeleteOptions(propagation=propagation, uid=uid or None, grace=grace)
        await self.deletion.delete(self._call(ref), options)


def _shown(raw: Raw, call: Call) -> Raw:
    """An object as the view that was asked for shows it."""
    return call.through.show(raw) if call.through else raw
