"""Stores for tests: one that runs for a while, what to put into it, and logs that are slow or fail when told to."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from trainplane.cluster.keep import Keep
from trainplane.cluster.log import Change, Forgetful, Key, Log, Record, Unwritable, Write, body
from trainplane.cluster.store import Store


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Gated(Forgetful):
    """A log whose records are durable when a test opens the gate."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.records: list[Record] = []

    async def append(self, record: Record) -> None:
        await self.gate.wait()
        self.records.append(record)


class Failing(Forgetful):
    """A log that takes nothing in while `broken`."""

    def __init__(self) -> None:
        self.broken = False

    async def append(self, record: Record) -> None:
        if self.broken:
            raise Unwritable("no room; make some")
        await super().append(record)


@asynccontextmanager
async def running(
    log: Log | None = None, *, keep: Keep | None = None, now: Clock | None = None
) -> AsyncIterator[Store]:
    """A store that makes writes until the block ends."""
    store = Store(log or Forgetful(), now=now or Clock(), keep=keep)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(store.run())
        try:
            yield store
        finally:
            store.close()


def key(name: str, *, resource: str = "pods", namespace: str = "research") -> Key:
    """The key of a pod, unless another resource is named."""
    return Key(resource, namespace, name)


def obj(at: Key, **spec: Any) -> dict[str, Any]:
    """A small object."""
    return {"kind": "Pod", "metadata": {"name": at.name, "namespace": at.namespace}, "spec": spec}


def put(at: Key, expected: int = 0, **spec: Any) -> Write:
    """The wish for an object at a key."""
    return Write(at, body(obj(at, **spec)), expected)


def gone(at: Key, expected: int) -> Write:
    """The wish for no object at a key."""
    return Write(at, None, expected)


async def one(store: Store, write: Write) -> Change:
    """Make one write."""
    (change,) = await store.write(write)
    return change


def replay(changes: Iterable[Change], state: dict[str, bytes]) -> dict[str, bytes]:
    """The state after the changes; each must follow on what was there."""
    state = dict(state)
    for change in changes:
        path = change.key.path
        assert state.get(path) == (change.before.value if change.before else None)
        if change.after:
            state[path] = change.after.value
        else:
            del state[path]
    return state


def listed(store: Store, resource: str = "pods", *, namespace: str = "", at: int | None = None) -> dict[str, bytes]:
    """What a list shows, by path."""
    return {item.key.path: item.value for item in store.list(resource, namespace=namespace, at=at).items}
