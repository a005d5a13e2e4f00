"""Following: wake up whenever objects of some kinds change, as long as somebody listens."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing, asynccontextmanager, suppress

import click

from trainplane.api.kinds import Kind
from trainplane.api.meta import Raw
from trainplane.cli.output import show_objects
from trainplane.cli.server import Session
from trainplane.cluster.errors import Expired, NotFound

PAUSE = 0.3
"""What changes within this time is told at once."""


@asynccontextmanager
async def changes(
    session: Session, kinds: Sequence[Kind], *, namespace: str | None = None, fields: str = ""
) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """Gives what to await: it returns once at the beginning, and after every change of objects of these kinds."""
    where = session.namespace if namespace is None else namespace
    changed = asyncio.Event()
    first = True

    async def change() -> None:
        nonlocal first
        if not first:
            await asyncio.sleep(PAUSE)
        first = False
        await changed.wait()
        changed.clear()

    async with asyncio.TaskGroup() as watchers:
        tasks = [watchers.create_task(_watch(session, kind, changed, namespace=where, fields=fields)) for kind in kinds]
        try:
            yield change
        finally:
            for task in tasks:
                task.cancel()


async def _watch(session: Session, kind: Kind, changed: asyncio.Event, *, namespace: str, fields: str) -> None:
    """Set the event whenever something changes, over every end that a server puts to a watch."""
    where = namespace if kind.namespaced else ""
    while True:
        try:
            since = (await session.client.list(kind, namespace=where, fields=fields)).resource_version
        except NotFound:
            # A cluster without this kind never has a change of it.
            return changed.set()
        changed.set()
        with suppress(Expired):
            while True:
                changes = session.client.watch(kind, namespace=where, fields=fields, since=since)
                async with aclosing(changes):  # type: ignore[type-var]
                    async for change in changes:
                        since = change.resource_version or since
                        if change.happened != "BOOKMARK":
                            changed.set()
                await asyncio.sleep(PAUSE)


async def follow_objects(
    session: Session, kinds: Sequence[Kind], look: Callable[[], Awaitable[list[Raw]]], *, output: str
) -> None:
    """Print the objects that `look` finds, and after that every one that has changed, each as a document of its own."""
    printed: dict[str, str] = {}
    async with changes(session, kinds) as change:
        while True:
            await change()
            for raw in await look():
                uid, version = raw["metadata"]["uid"], raw["metadata"]["resourceVersion"]
                if printed.get(uid) == version:
                    continue
                if printed and output == "yaml":
                    click.echo("---")
                printed[uid] = version
                show_objects([raw], output, one=True)
