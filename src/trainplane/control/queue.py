"""Queue: the keys that want a look, each once and one look at a time, some of them later, failing ones ever later."""

import asyncio
import heapq
from collections import deque
from collections.abc import Callable, Hashable
from datetime import timedelta
from typing import Generic, TypeVar

import msgspec

K = TypeVar("K", bound=Hashable)

_SLACK = 64
"""How many entries of the heap may be out of date before it is made anew."""


class BackOff(msgspec.Struct, frozen=True):
    """How long to wait after failures in a row: twice as long each time, up to the most."""

    first: float = 0.05
    most: float = 60.0

    def delay(self, failures: int) -> float:
        """Seconds to wait after so many failures in a row."""
        # Past 2**64 the most is reached whatever the first, and a float has not overflowed yet.
        return min(self.most, self.first * 2.0 ** min(failures - 1, 64))


class Queue(Generic[K]):
    """Keys that wait for a look, first come first served.

    A key is in one of three states, and remembered once in each: it waits, it is due later, or it is being looked at.
    One that is added while it is looked at waits again when that look is done, so no change goes unseen. A look makes
    an earlier wish to look later void: whoever looks says anew when to come back.
    """

    def __init__(self, time: Callable[[], float], *, back_off: BackOff | None = None) -> None:
        """`time` gives seconds that never go back."""
        self._time = time
        self._back_off = back_off or BackOff()
        self._waiting: dict[K, None] = {}
        self._running: dict[K, bool] = {}
        """What is being looked at, and whether it wants another look."""
        self._due: dict[K, float] = {}
        self._heap: list[tuple[float, int, K]] = []
        self._count = 0
        self._failures: dict[K, int] = {}
        self._sleepers: deque[asyncio.Future[None]] = deque()
        self._alarm: asyncio.TimerHandle | None = None
        self._rings = 0.0

    def __len__(self) -> int:
        """How many keys wait for a look now."""
        self._ripen()
        return len(self._waiting)

    @property
    def later(self) -> int:
        """How many keys are due later."""
        return len(self._due)

    @property
    def running(self) -> int:
        """How many keys are being looked at."""
        return len(self._running)

    def add(self, key: K, *, after: timedelta | float = 0.0) -> None:
        """Ask for a look, now or later; the earlier of two wishes counts."""
        seconds = after.total_seconds() if isinstance(after, timedelta) else after
        if seconds > 0:
            self._add_later(key, self._time() + seconds)
        elif key in self._running:
            self._running[key] = True
        else:
            self._waiting[key] = None
            self._wake()

    def _add_later(self, key: K, due: float) -> None:
        if key in self._waiting or self._due.get(key, due + 1.0) <= due:
            return
        self._due[key] = due
        self._count += 1
        heapq.heappush(self._heap, (due, self._count, key))
        if len(self._heap) > 2 * len(self._due) + _SLACK:
            # A key that was looked at and put off to the same moment again is there twice.
            good = {entry[2]: entry for entry in self._heap if self._due.get(entry[2]) == entry[0]}
            self._heap = list(good.values())
            heapq.heapify(self._heap)
        self._set_alarm()

    def take(self) -> K | None:
        """The key that has waited longest, to be looked at; None where none waits. `done` must follow."""
        if self._heap:
            self._ripen()
        key = next(iter(self._waiting), None)
        if key is not None:
            del self._waiting[key]
            self._due.pop(key, None)
            self._running[key] = False
        return key

    async def get(self) -> K:
        """The key that has waited longest, to be looked at; waits for one. `done` must follow."""
        while (key := self.take()) is None:
            told: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._sleepers.append(told)
            self._set_alarm()
            try:
                await told
            except asyncio.CancelledError:
                # Whoever was woken and cannot come passes it on.
                self._wake()
                raise
        return key

    def done(self, key: K) -> None:
        """The look at a key is over; one that was asked for meanwhile begins to wait."""
        if self._running.pop(key):
            self.add(key)

    def retry(self, key: K, *, at_least: float = 0.0) -> float:
        """Ask for a look after a failure, later the more there were in a row; returns the seconds until then."""
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        delay = max(self._back_off.delay(failures), at_least)
        self.add(key, after=delay)
        return delay

    def failures(self, key: K) -> int:
        """How many looks at a key failed in a row."""
        return self._failures.get(key, 0)

    def forget(self, key: K) -> None:
        """A look went well: what failed before no longer counts."""
        self._failures.pop(key, None)

    @property
    def next_due(self) -> float | None:
        """When the next key is due that is to be looked at later."""
        while self._heap and self._due.get(self._heap[0][2]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def _ripen(self) -> None:
        """Let those wait that are due."""
        now = self._time()
        while (due := self.next_due) is not None and due <= now:
            _, _, key = heapq.heappop(self._heap)
            del self._due[key]
            self.add(key)

    def _wake(self) -> None:
        while self._sleepers:
            told = self._sleepers.popleft()
            if not told.done():
                told.set_result(None)
                return

    def _set_alarm(self) -> None:
        """Have those who wait for a key woken when the next is due."""
        if not self._sleepers or (due := self.next_due) is None:
            return
        if self._alarm is not None:
            if self._rings <= due:
                return
            self._alarm.cancel()
        self._rings = due
        self._alarm = asyncio.get_running_loop().call_later(max(0.0, due - self._time()), self._ring)

    def _ring(self) -> None:
        self._alarm = None
        self._ripen()
        self._set_alarm()
