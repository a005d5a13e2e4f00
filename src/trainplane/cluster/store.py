"""The Store: an append-only log of revisions with a current index, one global revision, and watches over it.

Writers queue; one task takes all that wait, gives each its revision, has the log keep them in one durable record, and
only then shows them to readers and watchers. So writes have one order, and nobody sees what a power cut could undo.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from types import MappingProxyType
from typing import TypeVar

import msgspec

from trainplane.cluster.keep import Ages, Keep
from trainplane.cluster.log import (
    Change,
    Closed,
    Compacted,
    Conflict,
    Kept,
    Key,
    Log,
    Record,
    Row,
    Snapshot,
    Stored,
    StoreError,
    Unreached,
    Write,
)
from trainplane.cluster.shelf import Shelf

LEAP = 1_000_000_000
"""How far a restore moves the revision on: past any that clients of a lost disk may have seen."""

_REQUESTS = 500
_BYTES = 8 << 20
_BATCH = 1_000
_REVISION = attrgetter("revision")
_T = TypeVar("_T")
_NOTHING: Mapping[Key, int] = MappingProxyType({})


class Listing(msgspec.Struct, frozen=True):
    """Objects of a resource in the order of their keys, as they were at the revision."""

    revision: int
    items: Sequence[Stored]


class _Request:
    """Writes that are made together or not at all, and who waits for them."""

    __slots__ = ("given", "size", "told", "writes")

    def __init__(
        self, writes: Sequence[Write], given: Mapping[Key, int], told: asyncio.Future[tuple[Change, ...]]
    ) -> None:
        self.writes = writes
        self.given = given
        self.told = told
        self.size = sum(len(write.body.head) + len(write.body.tail) for write in writes if write.body)


class _Order:
    """Something else to be done between writes: compaction up to a revision, or a snapshot in place of everything."""

    __slots__ = ("told", "what")

    def __init__(self, what: int | Snapshot, told: asyncio.Future[int]) -> None:
        self.what = what
        self.told = told


class Watch:
    """Changes of a resource since a revision, a batch at a time; each exactly once and in order.

    Nothing is buffered for it: it reads the history that is kept for everyone, so a slow one holds nobody up. One that
    falls behind what is kept ends with Compacted, and must list again. It ends by itself when the store closes.
    """

    def __init__(self, store: "Store", shelf: Shelf, *, namespace: str, since: int) -> None:
        """`Store.watch` makes these."""
        self._store = store
        self._shelf = shelf
        self._namespace = namespace
        self._since = since

    def __aiter__(self) -> "Watch":
        """Itself."""
        return self

    @property
    def revision(self) -> int:
        """The revision up to which this watch has told everything; a bookmark may name it."""
        return self._since if self._pending() else max(self._since, self._store.revision)

    def _pending(self) -> Sequence[Change]:
        if self._since < self._shelf.dropped:
            raise Compacted(self._since, oldest=self._store.compacted)
        return self._shelf.after(self._since, self._namespace)[:_BATCH]

    async def __anext__(self) -> Sequence[Change]:
        """The changes since the last batch; waits where there are none."""
        while True:
            changes = self._pending()
            if changes:
                self._since = changes[-1].revision
                return changes
            # A quiet watch must not grow old while others are busy.
            self._since = max(self._since, self._store.revision)
            if self._store.closed:
                raise StopAsyncIteration
            await self._shelf.more()


class Store:
    """The objects of a cluster and their recent history; `run` must be running for writes to be made."""

    def __init__(self, log: Log, *, now: Callable[[], float], keep: Keep | None = None) -> None:
        """Load what the log has kept; `now` gives seconds, by which history grows old."""
        self._log = log
        self._now = now
        self._ages = Ages(keep or Keep())
        self._shelves: dict[str, Shelf] = {}
        self._queue: deque[_Request | _Order] = deque()
        self._work = asyncio.Event()
        self.closed = False
        """Whether writes are refused for good."""
        self.compacted = self.revision = 0
        """How far back one may ask, and the newest revision."""
        self._load(log.load())

    def get(self, key: Key) -> Stored | None:
        """The object at a key."""
        shelf = self._shelves.get(key.resource)
        return shelf.objects.get(key.path) if shelf else None

    def list(self, resource: str, *, namespace: str = "", at: int | None = None) -> Listing:
        """The objects of a resource, of one namespace or all, now or as they were at a revision that is still kept."""
        if at is not None and at > self.revision:
            raise Unreached(at, current=self.revision)
        if at is not None and at < self.compacted:
            raise Compacted(at, oldest=self.compacted)
        shelf = self._shelves.get(resource)
        revision = self.revision if at is None else at
        if shelf is None:
            return Listing(revision, ())
        return Listing(revision, shelf.then(revision, namespace))

    def count(self, resource: str, *, namespace: str = "") -> int:
        """How many objects of a resource there are."""
        shelf = self._shelves.get(resource)
        return shelf.count(namespace) if shelf else 0

    def changed(self, resource: str) -> int:
        """The newest revision at which an object of a resource changed; what was kept of an older one is old."""
        shelf = self._shelves.get(resource)
        return (shelf.history[-1].revision if shelf.history else shelf.dropped) if shelf else 0

    def resources(self) -> Sequence[str]:
        """The resources that have objects."""
        return sorted(resource for resource, shelf in self._shelves.items() if shelf.objects)

    def snapshot(self) -> Snapshot:
        """Everything that is there now, in order of revision."""
        items = [stored for shelf in self._shelves.values() for stored in shelf.objects.values()]
        return Snapshot(self.revision, sorted(items, key=_REVISION))

    def watch(self, resource: str, *, namespace: str = "", since: int) -> Watch:
        """Watch a resource, in one namespace or all: every change after the revision `since`, past and future."""
        if since < self.compacted:
            raise Compacted(since, oldest=self.compacted)
        return Watch(self, self._shelf(resource), namespace=namespace, since=since)

    async def write(self, *writes: Write, given: Mapping[Key, int] = _NOTHING) -> tuple[Change, ...]:
        """Make the writes together or not at all, each at a revision of its own; durable and visible on return.

        `given` names further keys that must be at a revision (0: not there). Raises Conflict where an expectation
        fails, Unwritable where the log takes nothing in, Closed where the store is.
        """
        if len(writes) > 1 and len({write.key for write in writes}) < len(writes):
            raise ValueError("writes that are made together must each have a key of their own")
        if any(write.body is None and not write.expected for write in writes):
            raise ValueError("a deletion must expect the revision of an object")
        told: asyncio.Future[tuple[Change, ...]] = asyncio.get_running_loop().create_future()
        self._enqueue(_Request(writes, given, told))
        return await told

    async def compact(self, through: int) -> int:
        """Let go of the history up to a revision; returns the oldest that is kept now."""
        return await self._order(through)

    async def replace(self, snapshot: Snapshot) -> int:
        """Put a snapshot in place of everything, at revisions newer than any seen; watches end with Compacted."""
        return await self._order(snapshot)

    async def run(self) -> None:
        """Make the writes that are asked for, until `close`; those that still wait when it is cancelled get Closed."""
        under_way: Sequence[_Request | _Order] = ()
        try:
            while self._queue or not self.closed:
                if not self._queue:
                    self._work.clear()
                    await self._work.wait()
                    continue
                under_way = self._take()
                await self._commit(under_way)
                under_way = ()
                # Writers that were just told may have more to write: let them into the next commit.
                await asyncio.sleep(0)
        finally:
            self.close()
            for waiting in (*under_way, *self._queue):
                _fail(waiting, Closed())
            self._queue.clear()

    def close(self) -> None:
        """Take no more writes, and end the watches; `run` returns when those that were taken are made."""
        self.closed = True
        self._work.set()
        for shelf in self._shelves.values():
            shelf.wake()

    def _shelf(self, resource: str) -> Shelf:
        shelf = self._shelves.get(resource)
        if shelf is None:
            shelf = self._shelves[resource] = Shelf(self.compacted)
        return shelf

    def _load(self, kept: Kept) -> None:
        self.compacted = self.revision = kept.compacted
        base: dict[str, list[Stored]] = {}
        changes: list[Row] = []
        for row in kept.rows:
            if row.revision > kept.compacted:
                changes.append(row)
            elif row.value is not None:
                base.setdefault(row.key.resource, []).append(Stored(row.key, row.revision, row.value, row.place))
        for resource, objects in base.items():
            self._shelf(resource).fill(objects)
        for start in range(0, len(changes), _REQUESTS):
            self._put(_change(row, self.get(row.key)) for row in changes[start : start + _REQUESTS])

    def _put(self, given: Iterable[Change]) -> None:
        count = size = 0
        for change in given:
            self._shelf(change.key.resource).put(change)
            count += 1
            # What is there now is kept anyway; a change keeps what was there before it, and a deletion its last word.
            size += len(change.before.value) if change.before else 0
            size += len(change.value) if change.after is None else 0
            self.revision = change.revision
        self._ages.add(self.revision, time=self._now(), count=count, size=size)

    def _enqueue(self, waiting: _Request | _Order) -> None:
        if self.closed:
            raise Closed
        self._queue.append(waiting)
        self._work.set()

    async def _order(self, what: int | Snapshot) -> int:
        told: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._enqueue(_Order(what, told))
        return await told

    def _take(self) -> Sequence[_Request | _Order]:
        """The requests of the next commit, bounded so that none waits long; an order has a commit to itself."""
        taken: list[_Request] = []
        size = 0
        while self._queue and len(taken) < _REQUESTS and size < _BYTES:
            following = self._queue[0]
            if isinstance(following, _Order):
                return taken or [self._queue.popleft()]
            self._queue.popleft()
            # Whoever gave up before the write was begun does not get it.
            if not following.told.cancelled():
                taken.append(following)
                size += following.size
        return taken

    async def _commit(self, taken: Sequence[_Request | _Order]) -> None:
        try:
            match taken:
                case [_Order() as order]:
                    await self._obey(order)
                case requests:
                    await self._make([request for request in requests if isinstance(request, _Request)])
        except StoreError as error:
            for waiting in taken:
                _fail(waiting, type(error)(*error.args))

    async def _obey(self, order: _Order) -> None:
        if isinstance(order.what, Snapshot):
            await self._put_in_place(order.what)
            _tell(order.told, self.revision)
        else:
            await self._keep_and_forget([], min(order.what, self.revision))
            _tell(order.told, self.compacted)

    async def _make(self, requests: Sequence[_Request]) -> None:
        ahead: dict[Key, Stored | None] = {}
        changes: list[Change] = []
        outcomes: list[tuple[Change, ...] | Conflict] = []
        revision = self.revision
        for request in requests:
            outcome = self._decide(request, ahead, revision)
            if not isinstance(outcome, Conflict):
                changes += outcome
                revision += len(outcome)
                ahead.update((change.key, change.after) for change in outcome)
            outcomes.append(outcome)
        if changes:
            await self._keep_and_forget(changes, self._ages.due(self._now()))
        # A conflict may be with a write of the same commit, so it is told after that is durable.
        for request, outcome in zip(requests, outcomes, strict=True):
            if isinstance(outcome, Conflict):
                _fail(request, outcome)
            else:
                _tell(request.told, outcome)

    def _decide(
        self, request: _Request, ahead: Mapping[Key, Stored | None], revision: int
    ) -> tuple[Change, ...] | Conflict:
        """The changes of a request after `revision`, as they follow on what is stored and what is ahead of it."""
        wanted = [(write.key, write.expected) for write in request.writes]
        there: list[Stored | None] = []
        for key, expected in (*request.given.items(), *wanted):
            before = ahead[key] if key in ahead else self.get(key)
            current = before.revision if before else 0
            if current != expected:
                return Conflict(key, expected=expected, current=current)
            there.append(before)
        changes = []
        for number, (write, before) in enumerate(
            zip(request.writes, there[len(request.given) :], strict=True), revision + 1
        ):
            value, place = (write.body.at(number), len(write.body.head)) if write.body else (None, 0)
            changes.append(_change(Row(number, write.key, value, place), before))
        return tuple(changes)

    async def _keep_and_forget(self, changes: Sequence[Change], through: int) -> None:
        """Have the log keep changes and let go of history, then do the same in memory, and wake who waits."""
        if through > self.compacted:
            gone = [revision for shelf in self._shelves.values() for revision in shelf.through(through)]
            await self._log.append(Record(changes, gone, compacted=through))
            self._forget(through)
        else:
            await self._log.append(Record(changes))
        if changes:
            self._put(changes)
        # In the order of the changes, so that the same writes wake the same watches in every run.
        for resource in dict.fromkeys(change.key.resource for change in changes):
            self._shelves[resource].wake()

    def _forget(self, through: int) -> None:
        for shelf in self._shelves.values():
            shelf.forget(through)
        self.compacted = through
        self._ages.forget(through)

    async def _put_in_place(self, snapshot: Snapshot) -> None:
        start = max(self.revision, snapshot.revision) + LEAP
        rows = [
            Row(number, stored.key, stored.at(number), stored.place)
            for number, stored in enumerate(snapshot.items, start + 1)
        ]
        changes = [_change(row, None) for row in rows]
        compacted = start + len(rows)
        await self._log.append(Record(changes, compacted=compacted, replace=True))
        self._ages.forget(compacted)
        for shelf in self._shelves.values():
            # Those who watch keep the old shelf, find that they are behind, and list again.
            shelf.history = []
            shelf.dropped = compacted
            shelf.wake()
        self._shelves = {}
        self._load(Kept(compacted, rows))


def _change(row: Row, before: Stored | None) -> Change:
    if row.value is not None:
        after = Stored(row.key, row.revision, row.value, row.place)
        return Change(row.revision, row.key, before, after, row.value)
    if before is None:
        raise StoreError(f"{row.key} is deleted at revision {row.revision} but was never there; restore a backup")
    return Change(row.revision, row.key, before, None, before.at(row.revision))


def _tell(told: asyncio.Future[_T], outcome: _T) -> None:
    if not told.done():
        told.set_result(outcome)


def _fail(waiting: _Request | _Order, error: StoreError) -> None:
    if not waiting.told.done():
        waiting.told.set_exception(error)
