"""What the suite over Client is played on: the clients, and a namespace of its own for each story."""

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import Future
from contextlib import AsyncExitStack, aclosing
from pathlib import Path
from typing import Any

import pytest

from tests.patience import PATIENCE
from trainplane.api.kinds import Kind, kind_of
from trainplane.api.meta import Raw
from trainplane.api.ref import Ref
from trainplane.cluster.client import Change, Client
from trainplane.cluster.errors import (
    ApiError,
    NotFound,
)
from trainplane.cluster.remote import Remote
from trainplane.embed import Config, running

LIMIT = PATIENCE
OTHER_UID = "00000000-0000-0000-0000-000000000000"


def row(api_version: str, kind: str) -> Kind:
    """The row of a kind that is there."""
    found = kind_of(api_version, kind)
    assert found
    return found


CONFIG_MAPS, PODS, JOB_SETS = row("v1", "ConfigMap"), row("v1", "Pod"), row("jobset.x-k8s.io/v1alpha2", "JobSet")


class World(threading.Thread):
    """A loop in a thread of its own with the clients that the suite is played on, since they outlive a test."""

    def __init__(self, folder: Path) -> None:
        super().__init__(daemon=True)
        self._folder = folder
        self._loop = asyncio.new_event_loop()
        self._ready: Future[None] = Future()
        self._end: asyncio.Event
        self.clients: dict[str, Client] = {}

    def run(self) -> None:
        try:
            self._loop.run_until_complete(self._live())
        finally:
            self._loop.close()

    async def _live(self) -> None:
        self._end = asyncio.Event()
        async with AsyncExitStack() as stack:
            try:
                await self._open(stack)
            except BaseException as fault:
                self._ready.set_exception(fault)
                raise
            self._ready.set_result(None)
            await self._end.wait()

    async def _open(self, stack: AsyncExitStack) -> None:
        cluster = await stack.enter_async_context(running(Config(self._folder)))
        self.clients["api"] = cluster.api
        self.clients["embedded"] = await stack.enter_async_context(Remote.connect(cluster.kubeconfig))
        if named := os.environ.get("TRAINPLANE_REAL_KUBECONFIG"):
            self.clients["real"] = await stack.enter_async_context(Remote.connect(Path(named)))

    def wait(self) -> None:
        self._ready.result(LIMIT)

    def play(self, story: Awaitable[None]) -> None:
        async def timed() -> None:
            await asyncio.wait_for(story, LIMIT)

        asyncio.run_coroutine_threadsafe(timed(), self._loop).result(LIMIT + 5)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self.join(LIMIT)


class Scene:
    """A client and a namespace of one's own."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.client = client
        self.namespace = namespace

    def config_map(self, name: str = "a", *, labels: dict[str, str] | None = None, **fields: Any) -> Raw:
        metadata: Raw = {"name": name, "namespace": self.namespace}
        if labels:
            metadata["labels"] = labels
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **fields}

    def pod(self, name: str = "p", **spec: Any) -> Raw:
        containers = [{"name": "c", "image": "example.test/c:1"}]
        metadata = {"name": name, "namespace": self.namespace}
        # Nobody schedules it but the test.
        own = {"schedulerName": "nobody", "containers": containers, **spec}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": own}

    def job_set(self, name: str = "j") -> Raw:
        job = {
            "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "example.test/c"}]}}
        }
        jobs = [{"name": "w", "replicas": 1, "template": {"spec": job}}]
        metadata = {"name": name, "namespace": self.namespace}
        return {
            "apiVersion": JOB_SETS.api_version,
            "kind": "JobSet",
            "metadata": metadata,
            # Whoever else manages it leaves it alone, so that its status is the test's.
            "spec": {"managedBy": "example.test/nobody", "suspend": True, "replicatedJobs": jobs},
        }

    def train_job(self, *, runtime: str = "torch-distributed") -> Raw:
        return {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "TrainJob",
            "metadata": {"name": "t", "namespace": self.namespace},
            "spec": {
                "suspend": True,
                "managedBy": "kueue.x-k8s.io/multikueue",
                "runtimeRef": {"name": runtime},
                "trainer": {"numNodes": 2},
            },
        }

    async def account(self) -> None:
        """Wait until pods can be made: a real cluster gives a namespace its account in its own time."""
        for _ in range(1000):
            try:
                await self.client.get(Ref("", "ServiceAccount", self.namespace, "default"))
            except NotFound:
                await asyncio.sleep(0.1)
            else:
                return

    async def names(self, kind: Kind = CONFIG_MAPS, **selected: Any) -> list[str]:
        page = await self.client.list(kind, namespace=self.namespace, **selected)
        return [item["metadata"]["name"] for item in page.items if item["metadata"]["name"] != "kube-root-ca.crt"]

    async def gone(self, ref: Ref) -> None:
        """Wait until an object is no more."""
        for _ in range(2000):
            try:
                await self.client.get(ref)
            except NotFound:
                return
            await asyncio.sleep(0.05)
        pytest.fail(f"{ref} is still there")


Play = Callable[[Callable[[Scene], Awaitable[None]]], None]


async def take(changes: AsyncIterator[Change], count: int) -> list[tuple[str, str]]:
    """What a watch tells of the test's own objects, until there are so many."""
    found: list[tuple[str, str]] = []
    async with aclosing(changes) as told:  # type: ignore[type-var]
        async for change in told:
            name = change.object["metadata"].get("name", "kube-root-ca.crt")
            if name != "kube-root-ca.crt":
                found.append((str(change.happened), name))
            if len(found) == count:
                return found
    return found


def words(error: pytest.ExceptionInfo[ApiError]) -> str:
    """What the API said."""
    return error.value.message
