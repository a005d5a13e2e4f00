"""Memory while a cluster is served: garbage is looked for less often, and what was freed goes back to the machine."""

import asyncio
import ctypes
import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

RARELY = (50_000, 20, 20)
"""After how many new objects, and after how many looks at those, it looks again; Python's own are 700, 10 and 10."""

TRIM = 3.0
"""Seconds between two looks at what was freed."""
LONG = 512 << 10
"""How long a buffer is that has pages of its own, and gives them back when it is freed.

Longer than those that TLS reads into: pages of their own for each of them cost a quarter of all reads.
"""
_MMAP_THRESHOLD = -3


class Endings:
    """Counts what ends and leaves cyclic garbage behind, and has the newest looked at now and then."""

    def __init__(self, every: int) -> None:
        self._every = every
        self._count = 0

    def another(self) -> None:
        """One more has ended."""
        self._count += 1
        if self._count % self._every == 0:
            gc.collect(0)


@contextmanager
def rarely(thresholds: tuple[int, int, int] = RARELY) -> Iterator[None]:
    """Look rarely as long as the context lasts: objects of an API are trees, and a third of a write went into this."""
    before = gc.get_threshold()
    gc.set_threshold(*thresholds)
    try:
        yield
    finally:
        gc.set_threshold(*before)


async def give_back(changes: Callable[[], int]) -> None:
    """Give freed memory back again and again, where `changes` has counted on since the last time.

    Objects are some kB of text each. Where they come and go, the C library keeps the holes between those that stay, a
    sixth of what a busy cluster holds; and once a long list was freed, it takes long buffers from among them too.
    """
    library = ctypes.CDLL(None)
    if not hasattr(library, "malloc_trim"):
        return
    library.mallopt(_MMAP_THRESHOLD, LONG)
    seen = 0
    while True:
        await asyncio.sleep(TRIM)
        if (now := changes()) != seen:
            seen = now
            await asyncio.to_thread(library.malloc_trim, 0)
