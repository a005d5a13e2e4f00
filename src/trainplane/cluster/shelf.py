"""A shelf of the Store: one resource's objects in order, their recent changes, and who waits for more."""

import asyncio
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter

from trainplane.cluster.decoded import DECODED
from trainplane.cluster.log import Change, Stored

_REVISION = attrgetter("revision")


class Shelf:
    """One resource: its objects, their order, their recent changes, and who waits for more."""

    __slots__ = ("_order", "_waiting", "dropped", "history", "objects")

    def __init__(self, dropped: int) -> None:
        """An empty shelf, on which changes up to `dropped` cannot be found."""
        self.objects: dict[str, Stored] = {}
        self.history: list[Change] = []
        self.dropped = dropped
        """The newest change that is no longer in the history."""
        self._order: list[str] = []
        self._waiting: dict[asyncio.Future[None], None] = {}

    def fill(self, objects: Iterable[Stored]) -> None:
        """Put many objects there at once, in place of those there are."""
        self.objects = {stored.key.path: stored for stored in objects}
        self._order = sorted(self.objects)

    def put(self, change: Change) -> None:
        """Let a change be the newest."""
        path = change.key.path
        if change.after is None:
            del self.objects[path]
            del self._order[bisect_left(self._order, path)]
        else:
            if path not in self.objects:
                insort(self._order, path)
            self.objects[path] = change.after
        self.history.append(change)

    def after(self, revision: int, namespace: str = "") -> Sequence[Change]:
        """The changes after a revision, in one namespace or all."""
        changes = self.history[self._place(revision) :]
        return [change for change in changes if change.key.namespace == namespace] if namespace else changes

    def through(self, revision: int) -> Iterator[int]:
        """The revisions that nobody can ask for once the history up to `revision` is gone."""
        for change in self.history[: self._place(revision)]:
            if change.before:
                yield change.before.revision
            if change.after is None:
                yield change.revision

    def forget(self, revision: int) -> None:
        """Let go of the history up to a revision."""
        gone = self._place(revision)
        if gone:
            self.dropped = self.history[gone - 1].revision
            for change in self.history[:gone]:
                if change.before:
                    DECODED.drop(change.before.value)
            del self.history[:gone]

    def now(self, namespace: str = "") -> Sequence[Stored]:
        """The objects in the order of their keys, in one namespace or all."""
        objects = self.objects
        return [objects[path] for path in self._order[self._range(namespace)]]

    def then(self, revision: int, namespace: str = "") -> Sequence[Stored]:
        """The objects as they were at a revision: what came after it is undone."""
        undone = {change.key.path: change.before for change in reversed(self.after(revision, namespace))}
        if not undone:
            return self.now(namespace)
        paths = sorted({*self._order[self._range(namespace)], *undone})
        found = (undone[path] if path in undone else self.objects[path] for path in paths)
        return [stored for stored in found if stored]

    def count(self, namespace: str = "") -> int:
        """How many objects there are, in one namespace or all."""
        return len(range(*self._range(namespace).indices(len(self._order))))

    async def more(self) -> None:
        """Wait for the next `wake`."""
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[woken] = None
        try:
            await woken
        finally:
            self._waiting.pop(woken, None)

    def wake(self) -> None:
        """Let those go on who wait, once for any number of changes."""
        for woken in self._waiting:
            if not woken.done():
                woken.set_result(None)
        self._waiting.clear()

    def _place(self, revision: int) -> int:
        """Where in the history the changes after a revision begin."""
        history = self.history
        if not history or history[-1].revision <= revision:
            return len(history)
        return bisect_right(history, revision, key=_REVISION)

    def _range(self, namespace: str) -> slice:
        if not namespace:
            return slice(0, len(self._order))
        # "0" is the character after "/".
        start = bisect_left(self._order, f"{namespace}/")
        return slice(start, bisect_left(self._order, f"{namespace}0", start))
