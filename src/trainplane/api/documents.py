"""YAML or JSON text to objects that remember file, line and column."""

import re
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any

import msgspec

from trainplane.api import rules
from trainplane.api.assemble import Assembly, Duplicate, Marks, Noted, TooMuchError
from trainplane.api.problem import Located, Path, Problem
from trainplane.api.scalars import WORDS

MAX_BYTES = 16 * 1024 * 1024

_JSON = re.compile(r"\s*[\[{]\s*(?:[\"\[{]|\Z)")
"""Text that is meant as JSON: a bracket, then a quote or another bracket."""
_WORD = re.compile(r"[A-Za-z]+")


class Position(msgspec.Struct, frozen=True):
    """A line and a column, both counted from 1."""

    line: int
    column: int


class _Source:
    """A text and its lines, which are counted from one asked position to the next."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self._newline = "\n" if "\n" in text else "\r"
        self._offset, self._line = 0, 1

    def position(self, offset: int) -> Position:
        """The place of an offset."""
        if offset >= self._offset:
            self._line += self.text.count(self._newline, self._offset, offset)
        else:
            self._line -= self.text.count(self._newline, offset, self._offset)
        self._offset = offset
        return Position(self._line, offset - self.text.rfind(self._newline, 0, offset))

    def locate(self, problem: Problem, offset: int) -> Located:
        """A problem at an offset."""
        place = self.position(offset)
        return Located(problem, self.file, place.line, place.column)


class Document:
    """One object of a file, and where each of its fields stands."""

    def __init__(self, value: Any, *, index: int, at: Path, source: _Source, marks: Callable[[], Marks]) -> None:
        self.value = value
        self.index = index
        """Its number among the objects of the file, from 0."""
        self.at = at
        """Where it stands in the text's document: empty, or the way through `items` of a List."""
        self._source = source
        self._find_marks = marks

    @property
    def file(self) -> str:
        """The name of the file."""
        return self._source.file

    def position(self, path: Path = ()) -> Position:
        """Where the key of the field at `path` stands; for a missing field, its nearest ancestor that is there."""
        return self._source.position(self._marks.find(self.at + path)[0])

    def value_position(self, path: Path = ()) -> Position:
        """Where the value of the field at `path` stands; for a missing field, that of its nearest ancestor."""
        return self._source.position(self._marks.find(self.at + path)[1])

    def locate(self, problem: Problem) -> Located:
        """The problem at its place, in the words of the text where YAML gave them another meaning."""
        key_at, value_at = self._marks.find(self.at + problem.path)
        if problem.rule is rules.WRONG_TYPE:
            problem = self._as_written(problem, value_at)
        return self._source.locate(problem, key_at)

    @cached_property
    def _marks(self) -> Marks:
        return self._find_marks()

    def _as_written(self, problem: Problem, value_at: int) -> Problem:
        """`yes` reached the checks as true: say what was written."""
        word = _WORD.match(self._source.text, value_at)
        if word is None or not isinstance(WORDS.get(word.group()), bool) or word.group() in ("true", "false"):
            return problem
        what = f"{word.group()} without quotes is a boolean in YAML: {problem.what}"
        return msgspec.structs.replace(problem, what=what, todo=f'quote it: "{word.group()}"')


class Parsed(msgspec.Struct):
    """The objects of a text, and what is wrong with the text itself."""

    documents: list[Document] = msgspec.field(default_factory=list)
    problems: list[Located] = msgspec.field(default_factory=list)


def parse(data: bytes | str, file: str = "-") -> Parsed:
    """Read every object of a YAML or JSON text; whatever cannot be read is a problem with a place and a remedy."""
    text, refusal = _text(data)
    source = _Source(text, file)
    parsed = Parsed()
    if refusal is not None:
        parsed.problems.append(source.locate(refusal.problem, refusal.offset))
        return parsed
    assembly = Assembly()
    for value, start, marks in _roots(text, assembly):
        for at, item in _objects(value, ()):
            if isinstance(item, dict):
                parsed.documents.append(Document(item, index=len(parsed.documents), at=at, source=source, marks=marks))
            else:
                assembly.notes.append(_no_object(item, marks().find(at)[1] if at else start))
    if not parsed.documents and not assembly.notes:
        problem = Problem(rules.NO_OBJECT, (), "the file is empty", "write an object into it, or leave it out")
        assembly.notes.append(Noted(problem, 0))
    parsed.problems.extend(_located(assembly.notes, source))
    return parsed


def _text(data: bytes | str) -> tuple[str, Noted | None]:
    """The text of the data, or why there is none."""
    if len(data) > MAX_BYTES:
        what = f"the file has {len(data) / 2**20:.0f} MiB, and at most {MAX_BYTES // 2**20} MiB are read"
        return "", Noted(Problem(rules.TOO_MUCH, (), what, "split it into several files"), 0)
    try:
        if isinstance(data, str):
            data.encode()
            return data.removeprefix("\ufeff"), None
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return data.decode("utf-16"), None
        return data.decode("utf-8-sig"), None
    except UnicodeEncodeError as error:
        good = error.object[: error.start]
        what = f"the character U+{ord(error.object[error.start]):04X} is half of a surrogate pair"
        return good, Noted(Problem(rules.NOT_TEXT, (), what, "write the whole character"), len(good))
    except UnicodeDecodeError as error:
        good = error.object[: error.start].decode("utf-8", "replace").removeprefix("\ufeff")
        what = f"the byte 0x{error.object[error.start]:02X} is not UTF-8 text"
        return good, Noted(
            Problem(rules.NOT_TEXT, (), what, "save the file as UTF-8; is this the right file?"), len(good)
        )


def _roots(text: str, assembly: Assembly) -> Iterator[tuple[Any, int, Callable[[], Marks]]]:
    """The value of each document, where it begins, and a way to its marks."""
    broken = None
    if text.lstrip()[:1] in ("{", "["):
        from trainplane.api import json_text

        try:
            pieces = list(json_text.read_json(text, assembly))
        except TooMuchError as error:
            assembly.notes.append(Noted(Problem(rules.TOO_MUCH, (), error.what, error.todo), error.offset))
            return
        except json_text.NotJsonError as error:
            broken = error.broken
            if _JSON.match(text):
                assembly.notes.append(Noted(Problem(broken.rule, (), broken.what, broken.todo), broken.offset))
                return
        else:
            for piece in pieces:
                yield piece.value, piece.start, partial(json_text.marks, text, piece.start)
            return
    from trainplane.api.yaml_text import read_yaml

    if broken:
        what = f"text that begins with a bracket is JSON to kubectl: {broken.what}"
        assembly.notes.append(Noted(Problem(rules.READ_OTHERWISE, (), what, broken.todo), broken.offset))
    for marks in read_yaml(text, assembly):
        if marks.root is not None:
            yield marks.root, marks.start, partial(_same, marks)


def _same(marks: Marks) -> Marks:
    return marks


def _objects(value: Any, at: Path) -> Iterator[tuple[Path, Any]]:
    """The object itself, or the items of a List."""
    kind = value.get("kind") if isinstance(value, dict) else None
    if not isinstance(kind, str) or not kind.endswith("List") or not isinstance(value.get("items"), list):
        yield at, value
        return
    for i, item in enumerate(value["items"]):
        if isinstance(item, dict) and "kind" not in item and kind != "List":
            item = {"apiVersion": value.get("apiVersion"), "kind": kind.removesuffix("List"), **item}
        yield from _objects(item, (*at, "items", i))


def _no_object(value: Any, offset: int) -> Noted:
    if isinstance(value, list):
        what, todo = "this document is a list", "write each item as a document of its own, with --- between them"
    elif value is None:
        what, todo = "this item is empty", "remove it, or write an object"
    else:
        what, todo = f"{str(value)[:40]!r} is no object", "write one with apiVersion, kind and metadata"
    return Noted(Problem(rules.NO_OBJECT, (), what, todo), offset)


def _located(notes: list[Noted], source: _Source) -> Iterator[Located]:
    for note in notes:
        problem = note.problem
        if isinstance(note, Duplicate):
            first = source.position(note.first)
            problem = msgspec.structs.replace(
                problem, what=f"{problem.what}, first at line {first.line}, column {first.column}"
            )
        yield source.locate(problem, note.offset)
