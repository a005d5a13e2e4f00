"""Python's collector of cyclic garbage, told to look for it less often while a cluster is served."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

RARELY = (50_000, 20, 20)
"""After how many new objects, and after how many looks at those, it looks again; Python's own are 700, 10 and 10."""


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
def rarely() -> Iterator[None]:
    """Look rarely as long as the context lasts: objects of an API are trees, and a third of a write went into this."""
    before = gc.get_threshold()
    gc.set_threshold(*RARELY)
    try:
        yield
    finally:
        gc.set_threshold(*before)
