"""How much history the Store keeps: when each commit was made, how much it added, and which may go."""

from collections import deque

import msgspec

_STEP = 2_000
_PART = 20
"""Of what is kept, the part that goes at once: whatever goes, every resource is looked through for it."""


class Keep(msgspec.Struct, frozen=True):
    """How much history stays: a revision goes when it is neither recent nor young, or when all take too much room."""

    revisions: int = 10_000
    seconds: float = 300.0
    size: int = 12 << 20
    """Bytes of JSON that is no longer current, in memory and about as many on disk."""


class _Mark(msgspec.Struct, frozen=True, gc=False):
    revision: int
    time: float
    count: int
    size: int


class Ages:
    """When the commits of the history were made, and what each added to it."""

    def __init__(self, keep: Keep) -> None:
        """No history yet."""
        self._keep = keep
        self._marks: deque[_Mark] = deque()
        self._count = self._size = self._enough = 0

    def add(self, revision: int, *, time: float, count: int, size: int) -> None:
        """Note a commit: its last revision, when it was made, its changes and their bytes."""
        self._marks.append(_Mark(revision, time, count, size))
        self._count += count
        self._size += size

    def due(self, now: float) -> int:
        """The revision up to which history may go now (0: none); a bounded step, since writers wait for it."""
        keep, most = self._keep, self._keep.size
        if self._size > most:
            most -= most // _PART
        elif self._count < self._enough:
            return 0
        through, count, size = 0, self._count, self._size
        for mark in self._marks:
            spare = count - mark.count >= keep.revisions and now - mark.time > keep.seconds
            if not (spare or size > most) or self._count - count >= _STEP:
                break
            through, count, size = mark.revision, count - mark.count, size - mark.size
        self._enough = count + keep.revisions // _PART
        return through

    def forget(self, through: int) -> None:
        """Note that the history up to a revision is gone."""
        while self._marks and self._marks[0].revision <= through:
            mark = self._marks.popleft()
            self._count -= mark.count
            self._size -= mark.size
