"""JSON text to values at full speed; marks and the places of problems come from a second look, when someone asks."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from typing import Any

from trainplane.api import rules
from trainplane.api.assemble import MAX_DEPTH, MAX_VALUES, Assembly, Marks, TooMuchError
from trainplane.api.broken import Broken, explain_json
from trainplane.api.scalars import number, whole

_GAP = re.compile(r"(?:[ \t\r\n]+|---(?=\s))*")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_TOKEN = re.compile(r'[ \t\r\n]*(?:([{}\[\],:])|"([^"\\]*+(?:\\.[^"\\]*+)*+)"|([^\s{}\[\],:"]+))', re.DOTALL)
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_CONSTANTS = {"true": True, "false": False, "null": None}


class NotJsonError(Exception):
    """The text is not JSON."""

    def __init__(self, broken: Broken) -> None:
        super().__init__(broken.what)
        self.broken = broken


@dataclass(frozen=True, slots=True)
class Piece:
    """One JSON value of a text, and where it begins."""

    value: Any
    start: int


class _Reader:
    """A JSON decoder that remembers whether anything needs a second look."""

    def __init__(self) -> None:
        self.suspect = False
        self._decoder = json.JSONDecoder(
            object_pairs_hook=self._object,
            parse_int=self._integer,
            parse_float=self._float,
            parse_constant=self._constant,
        )
        self.raw_decode = self._decoder.raw_decode

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) != len(pairs):
            self.suspect = True
        return value

    def _integer(self, text: str) -> int | float:
        if len(text) < 19:
            return int(text)
        value = number(text)
        self.suspect = self.suspect or isinstance(value, float)
        return value

    def _float(self, text: str) -> int | float:
        value = float(text)
        if not isfinite(value):
            self.suspect = True
        return whole(value)

    def _constant(self, text: str) -> str:
        self.suspect = True
        return text


def read_json(text: str, assembly: Assembly) -> Iterator[Piece]:
    """The JSON values of a text, one after another; raises NotJsonError at the first that is broken."""
    if text.count(",") > MAX_VALUES and _STRING.sub("", text).count(",") > MAX_VALUES:
        raise TooMuchError(f"the file holds more than {MAX_VALUES:,} values", "split it into several files")
    reader = _Reader()
    surrogates = _SURROGATE.search(text) is not None
    at = _gap(text, 0)
    while at < len(text):
        try:
            value, end = reader.raw_decode(text, at)
        except json.JSONDecodeError as error:
            raise NotJsonError(explain_json(text, error.msg, error.pos)) from None
        except RecursionError:
            scan(text, at, assembly)
            return
        if reader.suspect or surrogates or _too_deep(value):
            value = scan(text, at, assembly).root
            reader.suspect = False
        yield Piece(value, at)
        at = _gap(text, end)


def marks(text: str, start: int) -> Marks:
    """Where every field of the JSON value at `start` stands."""
    assembly = Assembly()
    try:
        return scan(text, start, assembly)
    except TooMuchError:
        return assembly.finish()


def scan(text: str, start: int, assembly: Assembly) -> Marks:
    """Read one valid JSON value piece by piece, noting what is odd about it."""
    assembly.begin(start)
    at = start
    while True:
        token = _TOKEN.match(text, at)
        if token is None:
            return assembly.finish()
        at = token.end()
        sign, quoted, bare = token.groups()
        place = token.start(token.lastindex or 0) - (quoted is not None)
        try:
            if quoted is not None:
                word = _text(quoted, place, assembly)
                if assembly.expects_key:
                    assembly.key(word, place)
                else:
                    assembly.scalar(word, place)
            elif bare is not None:
                assembly.scalar(_bare(bare, place, assembly), place)
            elif sign in "{[":
                assembly.open({} if sign == "{" else [], place)
            elif sign in "}]":
                assembly.close()
        except TooMuchError as error:
            raise TooMuchError(error.what, error.todo, offset=place) from None
        if not assembly.depth:
            return assembly.finish()


def _text(quoted: str, place: int, assembly: Assembly) -> str:
    if "\\" not in quoted:
        return quoted
    text: str = json.loads(f'"{quoted}"', strict=False)
    if any("\ud800" <= character <= "\udfff" for character in text):
        assembly.note(
            rules.NOT_A_VALUE, place, "the text holds half of a surrogate pair", todo="write the whole character"
        )
        return "".join("\ufffd" if "\ud800" <= character <= "\udfff" else character for character in text)
    return text


def _bare(word: str, place: int, assembly: Assembly) -> Any:
    if word in _CONSTANTS:
        return _CONSTANTS[word]
    if word in ("NaN", "Infinity", "-Infinity"):
        assembly.note(rules.NOT_A_VALUE, place, f"{word} has no place in an object", todo="write a number, or quote it")
        return word
    value = number(word)
    if not isfinite(value):
        what = f"{word[:40]} is too large for a number"
        assembly.note(rules.NOT_A_VALUE, place, what, todo="write a smaller number, or quote it")
        return word
    if isinstance(value, float) and word.lstrip("-").isdigit():
        what = f"{word[:40]} needs more than 64 bits and loses its last digits"
        assembly.note(rules.READ_OTHERWISE, place, what, todo="quote it if it is meant as text")
    return value


def _gap(text: str, at: int) -> int:
    gap = _GAP.match(text, at)
    return gap.end() if gap else at


def _too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [part for part in level if type(part) is dict or type(part) is list]
        if not level:
            return False
        level = [item for part in level for item in (part.values() if type(part) is dict else part)]
    return True
