"""What the Store keeps (keys, objects, changes to them), the Log it keeps them in, and what can go wrong there."""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, Protocol

import msgspec
import orjson

from trainplane.api.meta import Raw
from trainplane.cluster.decoded import DECODED

# Nobody can have written it into an object beforehand, so that it is found exactly once.
_MARK = os.urandom(16).hex()
_MARK_BYTES = _MARK.encode()


class Key(NamedTuple):
    """Where an object is; the resource is the qualified plural that `Kind.resource` gives."""

    resource: str
    namespace: str
    name: str

    @property
    def path(self) -> str:
        """The place among objects of the resource; a list has them in the order of this text, as etcd has."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def __str__(self) -> str:
        """`pods research/train-0`."""
        return f"{self.resource} {self.path}"


class Body(msgspec.Struct, frozen=True, gc=False):
    """An object to be stored, as JSON in two parts: its resourceVersion, not known yet, goes between them."""

    head: bytes
    tail: bytes
    object: Raw
    """What was encoded."""

    def at(self, revision: int) -> bytes:
        """The JSON of the object at that revision; whoever asks for it decoded next gets what was encoded."""
        value = b"%b%d%b" % (self.head, revision, self.tail)
        metadata = {**self.object["metadata"], "resourceVersion": str(revision)}
        DECODED.put(value, {**self.object, "metadata": metadata})
        return value


def body(obj: Raw) -> Body:
    """Encode an object once and for all; `metadata` must be there, and what resourceVersion it has is replaced."""
    metadata = {**obj["metadata"], "resourceVersion": _MARK}
    whole = {**obj, "metadata": metadata}
    head, _, tail = orjson.dumps(whole).partition(_MARK_BYTES)
    return Body(head, tail, whole)


class Stored(msgspec.Struct, frozen=True, gc=False):
    """An object as it was from one revision on; `place` is where the digits of its revision begin in `value`."""

    key: Key
    revision: int
    value: bytes
    place: int

    def at(self, revision: int) -> bytes:
        """The same JSON under another resourceVersion, as the last word on a deleted object has it."""
        after = self.place + len(str(self.revision))
        return b"%b%d%b" % (self.value[: self.place], revision, self.value[after:])

    @property
    def object(self) -> Raw:
        """The decoded object; it is shared with others who ask, so it must not be changed."""
        return DECODED.get(self.value)


@contextmanager
def decoded(most: int) -> Iterator[None]:
    """Keep objects of twice so many bytes of text decoded as long as the context lasts: where nothing waits for a disk
    or for anybody's request, a sixth of a write went into reading again what was written a moment ago."""
    before, DECODED.most = DECODED.most, most
    try:
        yield
    finally:
        DECODED.most = before


class Change(msgspec.Struct, frozen=True, gc=False):
    """One revision: what was at the key before, what is there after (None: nothing), and the JSON to tell of it.

    The `value` of a deletion is the last state with the deletion's resourceVersion.
    """

    revision: int
    key: Key
    before: Stored | None
    after: Stored | None
    value: bytes


class Write(msgspec.Struct, frozen=True):
    """One change that is wanted: this body (None: no object) at a key that is at a revision (0: not there)."""

    key: Key
    body: Body | None
    expected: int


class Record(msgspec.Struct, frozen=True):
    """What a log takes in at once or not at all: changes in order, and what compaction lets go of."""

    changes: Sequence[Change]
    forget: Sequence[int] = ()
    """Revisions that nobody can ask for any more."""
    compacted: int | None = None
    """The revision up to which changes are gone, where it moves."""
    replace: bool = False
    """Whether everything before this record goes."""


class Row(NamedTuple):
    """One revision as a log keeps it; the value of a deletion is None."""

    revision: int
    key: Key
    value: bytes | None
    place: int


class Kept(msgspec.Struct, frozen=True):
    """What a log has kept: every change after `compacted`, and what was there at `compacted`, in order of revision."""

    compacted: int
    rows: Iterable[Row]


class Snapshot(msgspec.Struct, frozen=True):
    """Everything that is there at a revision, as a backup has it."""

    revision: int
    items: Sequence[Stored]


class Log(Protocol):
    """Where changes are kept: on disk, or nowhere."""

    def load(self) -> Kept:
        """What was kept so far."""
        ...

    async def append(self, record: Record) -> None:
        """Keep a record; it is durable on return, and a StoreError means that none of it was."""
        ...


class Forgetful:
    """A log that keeps nothing: for simulation, and for clusters that need not outlive their process."""

    def load(self) -> Kept:
        """Nothing."""
        return Kept(0, ())

    async def append(self, record: Record) -> None:
        """Forget the record."""


class StoreError(Exception):
    """Something the Store cannot do, and what to do about it."""


class Conflict(StoreError):
    """The object at the key is not at the revision the writer expected; 0 stands for no object."""

    def __init__(self, key: Key, *, expected: int, current: int) -> None:
        """Say what was expected and what is there."""
        was = f"at revision {current}" if current else "not there"
        wanted = f"at revision {expected}" if expected else "not there"
        super().__init__(f"{key} is {was}, not {wanted}; read it again and repeat the change")
        self.key = key
        self.expected = expected
        self.current = current


class Compacted(StoreError):
    """Changes since that revision are not all kept any more."""

    def __init__(self, revision: int, *, oldest: int) -> None:
        """Say what was asked for and how far back one may ask."""
        super().__init__(f"revision {revision} is older than {oldest}, the oldest that is kept; list again")
        self.revision = revision
        self.oldest = oldest


class Unreached(StoreError):
    """No object has that revision yet."""

    def __init__(self, revision: int, *, current: int) -> None:
        """Say what was asked for and what the newest revision is."""
        super().__init__(f"revision {revision} is newer than {current}, the newest there is; ask for that or wait")
        self.revision = revision
        self.current = current


class Closed(StoreError):
    """The store was closed before it could confirm the write."""

    def __init__(self) -> None:
        """Say that the outcome is not known."""
        super().__init__("the store is closed; whether a write that was under way is kept shows when it opens again")


class Unwritable(StoreError):
    """The log could not take a write in; nothing of it was kept, and reading goes on."""


class DiskFull(Unwritable):
    """There is no room on the disk."""


class DiskReadOnly(Unwritable):
    """The disk takes no writes."""


class DiskFault(Unwritable):
    """The disk failed in another way."""
