"""Inside: a Client for a person's commands in the process of the cluster itself, with what Remote has besides."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from trainplane.api.kinds import Kind
from trainplane.api.meta import Raw
from trainplane.api.ref import Ref
from trainplane.cluster.api import Api
from trainplane.cluster.client import Change, Page, Patch, Streams
from trainplane.cluster.errors import NotFound, Unavailable
from trainplane.cluster.kubeconfig import Target


class Inside:
    """The verbs without HTTP, as whoever may do everything."""

    def __init__(self, api: Api, streams: Streams, *, target: Target) -> None:
        """`target` is where others reach the same cluster."""
        self._api = api
        self._warnings: list[str] = []
        self.streams = streams
        self.target = target

    def take_warnings(self) -> tuple[str, ...]:
        """What was warned of since this was last asked, each once."""
        told = tuple(dict.fromkeys(self._warnings))
        self._warnings.clear()
        return told

    async def read(self, path: str) -> Any:  # noqa: ARG002 - as Remote has it
        """There are no pages without HTTP."""
        raise NotFound.resource()

    async def get(self, ref: Ref) -> Raw:
        """The object."""
        return await self._api.get(ref)

    async def list(
        self, kind: Kind, *, namespace: str = "", labels: str = "", fields: str = "", limit: int = 0, after: str = ""
    ) -> Page:
        """The objects of a kind, in one namespace or in all."""
        return await self._api.list(kind, namespace=namespace, labels=labels, fields=fields, limit=limit, after=after)

    async def watch(
        self, kind: Kind, *, namespace: str = "", labels: str = "", fields: str = "", since: str
    ) -> AsyncIterator[Change]:
        """What happens to objects of a kind from a list's resourceVersion on; raises Expired when that is too old."""
        changes = self._api.watch(kind, namespace=namespace, labels=labels, fields=fields, since=since)
        async with aclosing(changes):  # type: ignore[type-var]
            async for change in changes:
                yield change
        # Nobody should ask again, and at once, where there is nothing left to be told.
        raise Unavailable("the cluster is shutting down")

    async def create(self, obj: Raw) -> Raw:
        """Make an object; raises AlreadyExists."""
        return await self._api.create(obj, warn=self._warnings.extend)

    async def apply(self, obj: Raw, *, manager: str, uid: str = "", force: bool = False) -> Raw:
        """Own the fields of `obj`; with a uid, only on the object that has it."""
        return await self._api.apply(obj, manager=manager, uid=uid, force=force, warn=self._warnings.extend)

    async def patch(self, ref: Ref, patch: Patch, *, uid: str = "", subresource: str = "") -> Raw:
        """Change an object; with a uid, only the object that has it."""
        return await self._api.patch(ref, patch, uid=uid, subresource=subresource)

    async def set_status(self, ref: Ref, status: Raw, *, uid: str = "", version: str = "") -> Raw:
        """Make this the object's status; with a uid, only on the object that has it, with a version only on that."""
        return await self._api.set_status(ref, status, uid=uid, version=version)

    async def bind(self, pod: Ref, node: str) -> None:
        """Place a pod on a node."""
        await self._api.bind(pod, node)

    async def delete(
        self, ref: Ref, *, uid: str = "", propagation: str = "Background", grace: int | None = None
    ) -> None:
        """Delete an object; with a uid, only the object that has it. With a grace, in seconds, other than its own."""
        await self._api.delete(ref, uid=uid, propagation=propagation, grace=grace)
