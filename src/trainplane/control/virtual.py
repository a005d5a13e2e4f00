"""Virtual time: an event loop on which time passes when nobody has anything left to do at this moment."""

import asyncio
import selectors
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

T = TypeVar("T")

START = datetime(2026, 1, 1, tzinfo=UTC)
"""What the clock shows when a virtual loop begins."""


_OWN = 1
"""How many files a loop has open for itself: it is woken through it."""


class Stuck(RuntimeError):
    """Everybody waits for somebody else, and no time that passes will change it."""

    def __init__(self) -> None:
        super().__init__("everybody waits and nothing is due: virtual time knows no threads and no network")


class _Impatient(selectors.SelectSelector):
    """A selector that never waits: it has the time pass instead."""

    def __init__(self) -> None:
        super().__init__()
        self.passed = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What is ready now; where nothing is, the time has come that was waited for."""
        if timeout == 0 and len(self.get_map()) <= _OWN:
            # Somebody has something to do, and nothing can come from outside but a wish to be woken.
            return []
        ready = super().select(0)
        if not ready:
            if timeout is None:
                raise Stuck
            self.passed += max(0.0, timeout)
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop without waiting: an hour of sleep takes no time, and the same tasks run in the same order."""

    def __init__(self) -> None:
        self._impatient = _Impatient()
        super().__init__(self._impatient)

    def time(self) -> float:
        """Seconds of virtual time since the loop began."""
        return self._impatient.passed


class VirtualClock:
    """What the time is on the virtual loop that runs."""

    def __init__(self, start: datetime = START) -> None:
        self._start = start
        self._last = 0.0, start

    def now(self) -> datetime:
        """The time, in UTC."""
        passed = asyncio.get_running_loop().time()
        # Thousands of things happen in one virtual moment.
        if self._last[0] != passed:
            self._last = passed, self._start + timedelta(seconds=passed)
        return self._last[1]

    def seconds(self) -> float:
        """Seconds since the epoch."""
        return self.now().timestamp()


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run to the end on virtual time; raises Stuck where that is never reached."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
