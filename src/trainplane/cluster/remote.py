"""Remote: a Client of the API server that a kubeconfig names, ours or any other, over HTTPS."""

import os
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

from trainplane.api.kinds import DIALECT_KINDS, KINDS, Kind
from trainplane.api.meta import Raw
from trainplane.api.raw import as_object
from trainplane.api.ref import Ref, group_of
from trainplane.cluster import statuses
from trainplane.cluster.client import Change, Happened, Page, Patch
from trainplane.cluster.connection import Connection, Unreachable
from trainplane.cluster.errors import Conflict, Invalid, NotFound
from trainplane.cluster.kubeconfig import Target, files, in_cluster, load
from trainplane.cluster.options import APPLY_PATCH, Options
from trainplane.cluster.remote_streams import RemoteStreams
from trainplane.cluster.wire import JSON, JSON_PATCH, Events, Request

MOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where a pod finds its token."""
KEPT_WARNINGS = 100

_ROWS = {(row.group, row.kind): row for row in reversed((*KINDS, *DIALECT_KINDS))}
"""Where a group has a kind in several versions, the hub's is asked for."""


class Remote:
    """The verbs over HTTPS. Each raises an ApiError where the API refuses, and Unreachable where it does not answer."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._warnings: deque[str] = deque(maxlen=KEPT_WARNINGS)

    @classmethod
    @asynccontextmanager
    async def connect(cls, kubeconfig: Path | None = None, context: str = "") -> AsyncIterator["Remote"]:
        """A Client of the cluster of a context while this lasts; raises KubeconfigError, and asks nothing yet.

        Without a kubeconfig it is the one that kubectl would take, or the cluster that this process is a pod of.
        """
        async with Connection.open(target(kubeconfig, context)) as connection:
            yield cls(connection)

    @property
    def target(self) -> Target:
        """The cluster and the context: `server`, `namespace` and the rest of what the kubeconfig says."""
        return self._connection.target

    @property
    def streams(self) -> RemoteStreams:
        """What flows to and from the cluster's pods."""
        return RemoteStreams(self._connection)

    def take_warnings(self) -> tuple[str, ...]:
        """What the server warned of since this was last asked, each once."""
        told = tuple(dict.fromkeys(self._warnings))
        self._warnings.clear()
        return told

    async def read(self, path: str) -> Any:
        """What the server answers at a path that is no resource: `/version`, `/apis`, `/readyz`."""
        return await self._send("GET", path)

    async def get(self, ref: Ref) -> Raw:
        """The object."""
        return await self._ask(_request("get", ref))

    async def list(
        self, kind: Kind, *, namespace: str = "", labels: str = "", fields: str = "", limit: int = 0, after: str = ""
    ) -> Page:
        """The objects of a kind, in one namespace or in all."""
        options = Options(label_selector=labels, field_selector=fields, limit=limit, continue_=after)
        found = await self._ask(_collection("list", kind, namespace=namespace, options=options))
        metadata = found["metadata"]
        # A list leaves out of its items what is said of the whole.
        said = {"apiVersion": kind.api_version, "kind": kind.kind}
        items = tuple({**said, **item} for item in found.get("items") or ())
        return Page(items, metadata.get("resourceVersion", ""), metadata.get("continue", ""))

    async def watch(
        self, kind: Kind, *, namespace: str = "", labels: str = "", fields: str = "", since: str
    ) -> AsyncIterator[Change]:
        """What happens to objects of a kind from a list's resourceVersion on; raises Expired when that is too old.

        It ends when the server ends it, as servers do now and then; go on from the last change's resource_version.
        """
        options = Options(
            label_selector=labels, field_selector=fields, resource_version=since, allow_watch_bookmarks=True
        )
        request = _collection("watch", kind, namespace=namespace, options=options)
        events = Events()
        async with self._connection.stream(request.url) as pieces, aclosing(pieces):  # type: ignore[type-var]
            async for piece in pieces:
                for happened, obj in self._events(events, piece):
                    if happened == "ERROR":
                        raise statuses.read(as_object(obj))
                    yield Change(Happened(happened), obj)

    def _events(self, events: Events, piece: bytes) -> Sequence[tuple[str, Any]]:
        try:
            return [*events.feed(piece)]
        except ValueError as fault:
            where = f"{self.target.server} (context {self.target.context})"
            raise Unreachable(f"{where}: its watch is not in the form of the API: {fault}; check server") from None

    async def create(self, obj: Raw) -> Raw:
        """Make an object; raises AlreadyExists."""
        return await self._ask(_about("create", obj), obj)

    async def apply(self, obj: Raw, *, manager: str, uid: str = "", force: bool = False) -> Raw:
        """Own the fields of `obj`; with a uid, only on the object that has it."""
        request = _about("patch", obj, options=Options(field_manager=manager, force=force))
        try:
            return await self._ask(request, _only(obj, uid=uid), form=APPLY_PATCH)
        except Invalid:
            await self._check(Ref.of(obj), uid)
            raise

    async def patch(self, ref: Ref, patch: Patch, *, uid: str = "", subresource: str = "") -> Raw:
        """Change an object; with a uid, only the object that has it."""
        request, body = _request("patch", ref, subresource=subresource), patch.body
        if uid and patch.form == JSON_PATCH:
            body = [{"op": "test", "path": "/metadata/uid", "value": uid}, *body]
        elif uid and subresource:
            # A status or a scale takes no notice of the uid in a patch, but does of the version.
            body = _only(body, resourceVersion=await self._check(ref, uid))
        elif uid:
            body = _only(body, uid=uid)
        try:
            return await self._ask(request, body, form=patch.form)
        except Invalid:
            await self._check(ref, uid)
            raise

    async def _check(self, ref: Ref, uid: str) -> str:
        """The version of the object, if it has this uid, or any where none is given; raises Conflict."""
        if not uid:
            return ""
        metadata = (await self.get(ref))["metadata"]
        if metadata["uid"] != uid:
            words = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {metadata['uid']}"
            raise Conflict.of(_row(ref.group, ref.kind).resource, ref.name, words)
        return str(metadata["resourceVersion"])

    async def set_status(self, ref: Ref, status: Raw, *, uid: str = "", version: str = "") -> Raw:
        """Make this the object's status; with a uid, only on the object that has it, with a version only on that."""
        return await self.patch(ref, Patch.status(status, version=version), uid=uid, subresource="status")

    async def bind(self, pod: Ref, node: str) -> None:
        """Place a pod on a node."""
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod.name, "namespace": pod.namespace},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        await self._ask(_request("create", pod, subresource="binding"), body)

    async def delete(
        self, ref: Ref, *, uid: str = "", propagation: str = "Background", grace: int | None = None
    ) -> None:
        """Delete an object; with a uid, only the object that has it. With a grace, in seconds, other than its own."""
        body: Raw = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation}
        if grace is not None:
            body["gracePeriodSeconds"] = grace
        if uid:
            body["preconditions"] = {"uid": uid}
        await self._ask(_request("delete", ref), body)

    async def _ask(self, request: Request, body: Any = None, *, form: str = JSON) -> Raw:
        found = await self._send(request.method, request.url, body=body, content_type=form)
        if not isinstance(found, dict):
            raise Unreachable(
                f"{self.target.server} (context {self.target.context}): what answers there is no Kubernetes API; "
                "check server in the kubeconfig"
            )
        return found

    async def _send(self, method: str, url: str, **said: Any) -> Any:
        reply = await self._connection.send(method, url, **said)
        self._warnings.extend(reply.warnings)
        return reply.value


def target(kubeconfig: Path | None = None, context: str = "") -> Target:
    """The cluster that a kubeconfig's context names; without one, that of kubectl, or of the pod that this runs in."""
    if kubeconfig is not None:
        return load([kubeconfig], context=context)
    paths = files(os.environ, home=Path.home())
    here = None if context or any(path.exists() for path in paths) else in_cluster(os.environ, mount=MOUNT)
    return here or load(paths, context=context)


def _row(group: str, kind: str) -> Kind:
    row = _ROWS.get((group, kind))
    if row is None:
        raise NotFound.resource()
    return row


def _request(verb: str, ref: Ref, *, subresource: str = "") -> Request:
    """A request about one object by its Ref."""
    row = _row(ref.group, ref.kind)
    return Request(
        verb,
        row.version,
        row.plural,
        group=row.group,
        namespace=ref.namespace if row.namespaced else "",
        name=ref.name,
        subresource=subresource,
    )


def _about(verb: str, obj: Raw, *, options: Options | None = None) -> Request:
    """A request about one object by what it says of itself, in the version that it is written in."""
    version, metadata = str(obj.get("apiVersion", "")), as_object(obj.get("metadata"))
    row = _row(group_of(version), str(obj.get("kind", "")))
    return Request(
        verb,
        version.rpartition("/")[2],
        row.plural,
        group=row.group,
        namespace=metadata.get("namespace", "") if row.namespaced else "",
        name="" if verb == "create" else metadata.get("name", ""),
        options=options or Options(),
    )


def _collection(verb: str, kind: Kind, *, namespace: str, options: Options) -> Request:
    return Request(verb, kind.version, kind.plural, group=kind.group, namespace=namespace, options=options)


def _only(obj: Raw, **said: str) -> Raw:
    """The object, or the patch, for none but an object of this uid or this version; nothing is said by ""."""
    known = {name: value for name, value in said.items() if value}
    return {**obj, "metadata": {**as_object(obj.get("metadata")), **known}} if known else obj
