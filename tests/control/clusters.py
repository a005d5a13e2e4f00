"""Clusters for tests: the API in this process on virtual time, controllers over it, and a Client that may be slow."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

from tests.cluster.stores import running
from trainplane.api.kinds import KINDS, Kind, kind_of
from trainplane.cluster.api import Api
from trainplane.cluster.client import Change, Page, Patch
from trainplane.cluster.errors import ApiError
from trainplane.cluster.store import Store
from trainplane.control.loop import Loop
from trainplane.control.reflector import Scope
from trainplane.control.virtual import VirtualClock
from trainplane.controllers import admission
from trainplane.furniture import companions
from trainplane.reconcile.controller import Controller
from trainplane.reconcile.view import Ref

Raw = dict[str, Any]
NAMESPACE = "team"


class Relay:
    """A Client that passes everything on to another, slower where it is told to, and notes what was written."""

    def __init__(self, client: Api, *, lag: float = 0.0, latency: float = 0.0) -> None:
        """`lag` is how many seconds a watch takes to tell of a change, `latency` how many a write takes."""
        self.client = client
        self.lag = lag
        self.latency = latency
        self.written: list[tuple[str, Ref]] = []
        self.refuse: Callable[[str, Ref], ApiError | OSError | None] = lambda _verb, _ref: None
        """What a write is answered with, where not by the API."""
        self._is_cut = False
        self._open: set[asyncio.Timeout] = set()

    async def _write(self, verb: str, ref: Ref) -> None:
        if self.latency:
            await asyncio.sleep(self.latency)
        error = self.refuse(verb, ref)
        if error is not None:
            raise error
        self.written.append((verb, ref))

    async def get(self, ref: Ref) -> Raw:
        return await self.client.get(ref)

    async def list(
        self, kind: Kind, *, namespace: str = "", labels: str = "", fields: str = "", limit: int = 0, after: str = ""
    ) -> Page:
        return await self.client.list(kind, namespace=namespace, labels=labels, fields=fields, limit=limit, after=after)

    async def watch(
        self, kind: Kind, *, namespace: str = "", labels: str = "", fields: str = "", since: str
    ) -> AsyncIterator[Change]:
        if self._is_cut:
            raise ConnectionRefusedError("the connection is cut")
        changes = self.client.watch(kind, namespace=namespace, labels=labels, fields=fields, since=since)
        while True:
            async with asyncio.timeout(None) as limit:
                self._open.add(limit)
                try:
                    change = await anext(changes, None)
                finally:
                    self._open.remove(limit)
            if change is None:
                return
            await asyncio.sleep(self.lag)
            yield change

    def cut(self) -> None:
        """Break the watches that are open, and let none be opened."""
        self._is_cut = True
        for limit in self._open:
            limit.reschedule(asyncio.get_running_loop().time())

    def mend(self) -> None:
        """Let watches be opened again."""
        self._is_cut = False

    async def create(self, obj: Raw) -> Raw:
        metadata = {"name": "", **obj["metadata"]}
        await self._write("create", Ref.of({**obj, "metadata": metadata}))
        return await self.client.create(obj)

    async def apply(self, obj: Raw, *, manager: str, uid: str = "", force: bool = False) -> Raw:
        await self._write("apply", Ref.of(obj))
        return await self.client.apply(obj, manager=manager, uid=uid, force=force)

    async def patch(self, ref: Ref, patch: Patch, *, uid: str = "", subresource: str = "") -> Raw:
        await self._write("patch", ref)
        return await self.client.patch(ref, patch, uid=uid, subresource=subresource)

    async def set_status(self, ref: Ref, status: Raw, *, uid: str = "", version: str = "") -> Raw:
        await self._write("set_status", ref)
        return await self.client.set_status(ref, status, uid=uid, version=version)

    async def bind(self, pod: Ref, node: str) -> None:
        await self._write("bind", pod)
        await self.client.bind(pod, node)

    async def delete(
        self, ref: Ref, *, uid: str = "", propagation: str = "Background", grace: int | None = None
    ) -> None:
        await self._write("delete", ref)
        await self.client.delete(ref, uid=uid, propagation=propagation, grace=grace)


class Cluster:
    """A cluster and those who work on it."""

    def __init__(self, store: Store, *, lag: float, latency: float) -> None:
        numbers = count(1)
        self.clock = VirtualClock()
        self.store = store
        self.api = Api(
            store,
            kinds=KINDS,
            now=self.clock.now,
            admission=admission(store),
            uid=lambda: f"00000000-0000-0000-0000-{next(numbers):012d}",
            place=lambda below: next(numbers) % below,
            companions=lambda _: companions("none"),
        )
        self.client = Relay(self.api, lag=lag, latency=latency)

    @asynccontextmanager
    async def controlled(self, *controllers: Controller, scopes: Sequence[Scope] = ()) -> AsyncIterator[Loop]:
        """Controllers at work until the block ends."""
        narrow = {(scope.kind.group, scope.kind.kind): scope for scope in scopes}
        loop = Loop(controllers, self.client, self.clock, scopes=narrow)
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(loop.run())
            try:
                yield loop
            finally:
                task.cancel()

    async def all(self, kind: str) -> list[Raw]:
        """Every object of a kind."""
        row = next(row for row in KINDS if row.kind == kind)
        return list((await self.api.list(row)).items)

    async def events(self) -> list[Raw]:
        """The events there are."""
        return list((await self.api.list(kind_of("events.k8s.io/v1", "Event") or KINDS[0])).items)


@asynccontextmanager
async def cluster(*, lag: float = 0.0, latency: float = 0.0) -> AsyncIterator[Cluster]:
    """A cluster with one namespace; to be used on virtual time."""
    async with running() as store:
        made = Cluster(store, lag=lag, latency=latency)
        await made.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        yield made


def config_map(name: str, **data: str) -> Raw:
    """A ConfigMap."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "data": data,
    }
