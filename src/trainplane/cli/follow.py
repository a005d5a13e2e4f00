"""Following: wake up whenever objects of some kinds change, as long as somebody listens."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from typing import NamedTuple

import click

from trainplane.api.kinds import Kind
from trainplane.api.meta import Raw
from trainplane.cli.output import show_objects
from trainplane.cli.server import Session
from trainplane.cli.tables import Table, clean, measure, show
from trainplane.cluster.errors import Expired, NotFound

PAUSE = 0.3
"""What changes within this time is told at once."""
_CLOCKS = ("AGE", "STARTS", "FOR", "ENDED")
"""Columns that change by themselves: that is nothing new."""
_STATES = ("STATE", "STATUS", "OUTCOME")


class Picture(NamedTuple):
    """What is to be seen at one moment, and what to say where that is nothing."""

    table: Table
    nothing: str


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


async def follow_rows(
    session: Session, kinds: Sequence[Kind], look: Callable[[], Awaitable[Picture]], *, wide: bool, gone: str = ""
) -> None:
    """Print the table that `look` finds, and below it every row that has changed since it was printed.

    A row that is no longer there is printed once more with `gone` as its state, where that word is given.
    """
    printed: dict[str, Sequence[str]] = {}
    widest: list[str] = []
    head, silent = True, True
    async with changes(session, kinds) as change:
        while True:
            await change()
            table, nothing = await look()
            # What nobody sees may change as it likes.
            shown = table.narrowed(wide=wide)
            fresh = _fresh(shown, printed, gone=gone)
            if fresh:
                # Rows stay in line with all that stand above them.
                widest = [max(cells, key=measure) for cells in zip(*([widest] if widest else ()), *fresh, strict=True)]
                show(Table(shown.columns, fresh), wide=wide, head=head, beside=Table(shown.columns, [widest]))
                head = False
            elif silent:
                click.echo(clean(nothing), err=True)
            silent = False


def _fresh(table: Table, printed: dict[str, Sequence[str]], *, gone: str) -> list[Sequence[str]]:
    """The rows that differ from what was printed of them, which is brought up to date."""
    heads = [column.head for column in table.columns]
    clocks = [i for i, head in enumerate(heads) if head in _CLOCKS]
    keys = 2 if heads[:1] == ["NAMESPACE"] else 1
    fresh: list[Sequence[str]] = []
    there = set()
    for row in table.rows:
        key = " ".join(row[:keys])
        there.add(key)
        before = printed.get(key)
        if before is None or any(a != b for i, (a, b) in enumerate(zip(before, row, strict=True)) if i not in clocks):
            fresh.append(row)
        printed[key] = row
    for key in [key for key in printed if key not in there]:
        row = printed.pop(key)
        if gone:
            state = next((i for i, head in enumerate(heads) if head in _STATES), len(heads) - 1)
            fresh.append([*row[:state], gone, *row[state + 1 :]])
    return fresh
