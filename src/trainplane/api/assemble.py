"""Assembly: values put together from the pieces of a text, in one pass, with the place of every piece."""

from collections.abc import Iterator
from typing import Any

import msgspec

from trainplane.api import rules
from trainplane.api.problem import Path, Problem, Rule

MAX_DEPTH = 100
MAX_VALUES = 1_000_000
MAX_REPEATED = 200_000
"""How many values all aliases of a file may repeat."""

MAX_NOTES = 1_000

_DOCUMENT = 5
"""A document counts as so many values even if it is empty; an object without these would not be one."""
_BITS = 25
"""A text has fewer than 2**25 characters, so that two offsets go into one integer."""
_MASK = (1 << _BITS) - 1

MERGE = object()
"""The key `<<`, which takes over the fields of other objects."""
_KEY_EXPECTED = object()


class TooMuchError(Exception):
    """The text is larger or deeper than any manifest, so that reading it stops."""

    def __init__(self, what: str, todo: str, *, offset: int = 0) -> None:
        super().__init__(what)
        self.what = what
        self.todo = todo
        self.offset = offset


class Noted(msgspec.Struct, frozen=True):
    """A Problem and the offset of its place in the text."""

    problem: Problem
    offset: int


class Marks(msgspec.Struct):
    """Where every field of one document stands in the text, as offsets."""

    root: Any = None
    start: int = 0
    places: dict[int, Any] = msgspec.field(default_factory=dict)
    """Per object or list, by identity: packed offsets of each key and value, or offsets of each item."""

    def find(self, path: Path) -> tuple[int, int]:
        """The offsets of the key and of the value at `path`, or of its nearest ancestor that is there."""
        value, key_at, value_at = self.root, self.start, self.start
        for step in path:
            place = self.places.get(id(value))
            if isinstance(place, dict) and step in place:
                key_at, value_at = place[step] >> _BITS, place[step] & _MASK
            elif isinstance(place, list) and isinstance(step, int) and 0 <= step < len(place):
                key_at = value_at = place[step]
            else:
                break
            value = value[step]
        return key_at, value_at


class _Open:
    """An object or list whose end has not been seen."""

    __slots__ = ("anchor", "before", "height", "key", "key_at", "place", "said", "start", "value")

    def __init__(self, value: Any, place: Any, *, start: int, before: int, anchor: str | None) -> None:
        self.value = value
        self.place = place
        self.start = start
        self.before = before
        self.anchor = anchor
        self.height = 0
        self.key: Any = _KEY_EXPECTED
        self.key_at = 0
        self.said: set[str] | None = None
        """The keys that were written here, where others came through `<<`."""


class Assembly:
    """Puts the documents of one text together; whoever reads the text says what comes next."""

    def __init__(self) -> None:
        self.notes: list[Noted] = []
        self._values = 0
        self._repeated = 0
        self.expects_key = False
        """Whether the next piece is a key."""
        self.begin(0)

    def begin(self, start: int) -> None:
        """A new document begins."""
        self._count(_DOCUMENT)
        self._marks = Marks(start=start)
        self._stack: list[_Open] = []
        self._top: _Open | None = None
        self._anchors: dict[str, tuple[Any, int, int]] = {}
        self.expects_key = False

    def finish(self) -> Marks:
        """The document is complete."""
        return self._marks

    @property
    def path(self) -> Path:
        """Where in the document we are."""
        return tuple(self._steps())

    @property
    def depth(self) -> int:
        """How many objects and lists are open."""
        return len(self._stack)

    def note(self, rule: Rule, at: int, what: str, *, todo: str) -> None:
        """A problem here."""
        self._add(Noted(Problem(rule, self.path, what, todo), at))

    def open(self, value: dict[str, Any] | list[Any], at: int, anchor: str | None = None) -> None:
        """An object or list begins."""
        self._count(1)
        place: Any = {} if type(value) is dict else []
        self._marks.places[id(value)] = place
        self._top = _Open(value, place, start=at, before=self._values, anchor=anchor)
        self._stack.append(self._top)
        self.expects_key = type(value) is dict
        if len(self._stack) > MAX_DEPTH:
            raise TooMuchError(
                f"the nesting is deeper than {MAX_DEPTH} levels", "check the brackets and the indentation"
            )

    def close(self) -> None:
        """The innermost object or list ends."""
        done = self._stack.pop()
        self._top = self._stack[-1] if self._stack else None
        if done.anchor is not None:
            self._anchors[done.anchor] = (done.value, self._values - done.before + 1, done.height + 1)
        self._put(done.value, done.start, done.height + 1)

    def scalar(self, value: Any, at: int, anchor: str | None = None) -> None:
        """A text, number, boolean or null."""
        self._count(1)
        if anchor is not None:
            self._anchors[anchor] = (value, 1, 0)
        self._put(value, at, 0)

    def key(self, key: Any, at: int) -> None:
        """A key: text, or MERGE."""
        top = self._top
        assert top is not None  # noqa: S101 - a reader sends keys inside objects only
        self._count(1)
        top.key, top.key_at = key, at
        self.expects_key = False

    def alias(self, name: str, at: int) -> None:
        """The value of an anchor once more."""
        if name not in self._anchors:
            if any(part.anchor == name for part in self._stack):
                self.note(
                    rules.NOT_A_VALUE,
                    at,
                    f"*{name} stands inside &{name}, so the value would contain itself",
                    todo="write the value out",
                )
            else:
                self.note(
                    rules.NOT_A_VALUE,
                    at,
                    f"no anchor &{name} comes before *{name}",
                    todo=f"define it above with &{name}, or quote the text if it is not an alias",
                )
            self.scalar(None, at)
            return
        value, size, height = self._anchors[name]
        self._repeated += size
        if self._repeated > MAX_REPEATED:
            raise TooMuchError(
                f"the aliases repeat more than {MAX_REPEATED:,} values", "write the document without aliases"
            )
        if len(self._stack) + height > MAX_DEPTH:
            raise TooMuchError(f"*{name} nests deeper than {MAX_DEPTH} levels", "write the document without aliases")
        self._count(size)
        self._put(value, at, height)

    def _add(self, noted: Noted) -> None:
        self.notes.append(noted)
        if len(self.notes) >= MAX_NOTES:
            raise TooMuchError(f"the text has more than {MAX_NOTES:,} problems", "mend these first")

    def _count(self, more: int) -> None:
        self._values += more
        if self._values > MAX_VALUES:
            raise TooMuchError(f"the file holds more than {MAX_VALUES:,} values", "split it into several files")

    def _put(self, value: Any, at: int, height: int) -> None:
        top = self._top
        if top is None:
            self._marks.root, self._marks.start = value, at
            return
        if height > top.height:
            top.height = height
        if type(top.value) is list:
            top.value.append(value)
            top.place.append(at)
            self.expects_key = False
            return
        key = top.key
        if key is _KEY_EXPECTED:
            # The reader has noted it; a stand-in keeps the rest of the object in step.
            self.key(value if isinstance(value, str) else "?", at)
            return
        if key is MERGE:
            self._merge(top, value, at)
        else:
            if key in top.place and (top.said is None or key in top.said):
                self._duplicate(top, key)
            if top.said is not None:
                top.said.add(key)
            top.value[key] = value
            top.place[key] = top.key_at << _BITS | at
        top.key = _KEY_EXPECTED
        self.expects_key = True

    def _duplicate(self, top: _Open, key: str) -> None:
        # The first place travels as an offset in the note; whoever knows the lines says where it is.
        first = top.place[key] >> _BITS
        self._add(
            Duplicate(
                Problem(
                    rules.DUPLICATE_KEY, self.path, f"{key} is written twice in the same object", "keep one of the two"
                ),
                top.key_at,
                first,
            )
        )

    def _merge(self, top: _Open, value: Any, at: int) -> None:
        """Take over the fields of the objects under `<<`, as kubectl does: what comes later counts."""
        sources = value if isinstance(value, list) else [value]
        if not all(isinstance(source, dict) for source in sources):
            self.note(
                rules.NOT_A_VALUE,
                at,
                "<< takes an object or a list of objects",
                todo="give it an alias of an object, or quote the key if it is not meant as a merge",
            )
            return
        if top.said is None:
            top.said = set(top.value)
        for source in reversed(sources):
            place = self._marks.places.get(id(source), {})
            for key, item in source.items():
                if key in top.said:
                    self.note(
                        rules.READ_OTHERWISE,
                        top.place[key] >> _BITS,
                        f"{key} is replaced by the << that comes after it",
                        todo="put << first, so that the fields written here count",
                    )
                top.value[key] = item
                top.place[key] = place.get(key, top.key_at << _BITS | at)

    def _steps(self) -> Iterator[str | int]:
        for part in self._stack:
            if type(part.value) is list:
                yield len(part.value)
            elif isinstance(part.key, str):
                yield part.key
            elif part.key is MERGE:
                yield "<<"


class Duplicate(Noted, frozen=True):
    """A key that was written before, and where."""

    first: int
