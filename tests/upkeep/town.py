"""A town: the real API in memory, a clock that a test moves, and chores that are done until nothing is left to do."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from trainplane.api.kinds import KINDS
from trainplane.api.ref import Ref
from trainplane.cluster import client
from trainplane.cluster.api import Api
from trainplane.cluster.errors import Conflict, NotFound
from trainplane.cluster.log import Forgetful
from trainplane.cluster.store import Store
from trainplane.reconcile.controller import Controller
from trainplane.reconcile.decision import Action, Create, Delete, Patch, Record, SetStatus
from trainplane.reconcile.view import View

Raw = dict[str, Any]

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
ROUNDS = 30


class Town:
    """An API, the time, and what was said."""

    def __init__(self) -> None:
        self.now = NOON
        self.store = Store(Forgetful(), now=lambda: self.now.timestamp())
        self.said: list[tuple[str, str, str]] = []
        self.writes = 0
        self.metrics: list[Raw] = []
        numbers = count(1)
        self.api = Api(
            self.store,
            kinds=KINDS,
            now=lambda: self.now,
            uid=lambda: f"00000000-0000-0000-0000-{next(numbers):012}",
            companions=lambda _: [{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}],
        )

    async def view(self) -> View:
        """Everything there is."""
        stored = [raw for row in KINDS for raw in (await self.api.list(row)).items]
        return View([*stored, *self.metrics])

    async def make(self, *objects: Raw) -> list[Raw]:
        """Objects as the API stores them, their status included."""
        made = []
        for raw in objects:
            stored = await self.api.create(raw)
            if raw.get("status"):
                stored = await self.api.set_status(Ref.of(stored), raw["status"])
            made.append(stored)
        return made

    async def settle(self, controllers: Iterable[Controller]) -> timedelta | None:
        """Let controllers decide about everything until nothing changes; the soonest time they want to look again."""
        for _ in range(ROUNDS):
            done, waits = False, []
            for controller in controllers:
                view = await self.view()
                own = (controller.group, controller.kind)
                kinds = [own] if controller.kind else [key for key, _ in controller.watches]
                for raw in [raw for kind in kinds for raw in view.all(*kind)]:
                    decision = controller.reconcile(raw, view, self.now)
                    waits.append(decision.again)
                    for action in decision.actions:
                        done = await self.act(action) or done
            if not done:
                return min((wait for wait in waits if wait is not None), default=None)
        raise AssertionError(f"the controllers have not come to rest after {ROUNDS} rounds")

    async def act(self, action: Action) -> bool:
        """Carry an action out; whether anything was written."""
        self.writes += 1
        try:
            match action:
                case Create(object=raw):
                    await self.api.create(raw)
                case Patch(ref=ref, patch=body, uid=uid, subresource=subresource):
                    await self.api.patch(ref, client.Patch.merge(body), uid=uid, subresource=subresource)
                case Delete(ref=ref, uid=uid, propagation=propagation):
                    await self.api.delete(ref, uid=uid, propagation=propagation)
                case SetStatus(ref=ref, status=status, uid=uid):
                    await self.api.set_status(ref, status, uid=uid)
                case Record(regarding=ref, reason=reason, note=note):
                    self.said.append((f"{ref.kind}/{ref.name}", reason, note))
                    return False
                case _:
                    raise AssertionError(f"nobody expected {action}")
        except (NotFound, Conflict):
            # Somebody was faster, as in any cluster; the next look shows what is left.
            return True
        return True

    async def there(self, kind: str) -> list[str]:
        """The names of all objects of a kind."""
        (row,) = (row for row in KINDS if row.kind == kind)
        return sorted(raw["metadata"]["name"] for raw in (await self.api.list(row)).items)


@asynccontextmanager
async def opened() -> AsyncIterator[Town]:
    """A town with the namespaces `ns` and `kube-node-lease`, while the context lasts."""
    town = Town()
    async with asyncio.TaskGroup() as house:
        house.create_task(town.store.run())
        try:
            for name in ("ns", "kube-node-lease"):
                await town.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
            yield town
        finally:
            town.store.close()


def play(story: Callable[[Town], Awaitable[None]]) -> None:
    """Play a story in a town of its own."""

    async def played() -> None:
        async with opened() as town:
            await story(town)

    asyncio.run(played())


def config_map(name: str, *owners: Raw, namespace: str = "ns", block: bool = True, **metadata: Any) -> Raw:
    """A ConfigMap of these owners."""
    references = [
        {
            "apiVersion": one["apiVersion"],
            "kind": one["kind"],
            "name": one["metadata"]["name"],
            "uid": one["metadata"]["uid"],
            "blockOwnerDeletion": block,
        }
        for one in owners
    ]
    told = {"ownerReferences": references} if references else {}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace, **told, **metadata},
    }


def pod(name: str, *, node: str = "", status: Raw | None = None, labels: Raw | None = None, **spec: Any) -> Raw:
    """A pod, on a node if one is named."""
    containers = [{"name": "c", "image": "example.test/c:1"}]
    placed = {"nodeName": node} if node else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ns", "labels": labels or {}},
        "spec": {"containers": containers, **placed, **spec},
        "status": status or {},
    }


def node(name: str, *, ready: str = "True", heard: str = "2026-01-31T12:00:00Z", **spec: Any) -> Raw:
    """A node that reported at a time."""
    condition = {
        "type": "Ready",
        "status": ready,
        "reason": "KubeletReady",
        "message": "ok",
        "lastHeartbeatTime": heard,
        "lastTransitionTime": heard,
    }
    status = {"conditions": [condition], "allocatable": {"cpu": "4", "pods": "110"}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": spec, "status": status}
