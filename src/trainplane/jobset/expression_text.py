"""The text of an expression in RE2's form, read into its parts."""

import re
import unicodedata
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

MOST_REPEATS = 1000
DEEPEST = 200
_NAME = re.compile(r"\?P?<[A-Za-z0-9_]+>")
_FLAGS = re.compile(r"\?([imsU]*)(?:-([imsU]+))?([:)])")
_REPEAT = re.compile(r"(?:([*+?])|\{(\d+)(,(\d*))?\})\??")
_OCTAL = re.compile("0[0-7]{0,2}|[1-7][0-7]{1,2}")
_CODE = re.compile(r"\{([0-9A-Fa-f]+)\}|([0-9A-Fa-f]{2})")
_POSIX_CLASS = re.compile(r"\[:(\^?)([^:\]]*):\]")
_LETTERS = {"a": "\a", "f": "\f", "t": "\t", "n": "\n", "r": "\r", "v": "\v"}
_WORD = "09AZaz__"
_PERL = {"d": "09", "s": "\t\n\f\r  ", "w": _WORD}
_POSIX = {
    "alnum": "09AZaz",
    "alpha": "AZaz",
    "ascii": "\x00\x7f",
    "blank": "\t\t  ",
    "cntrl": "\x00\x1f\x7f\x7f",
    "digit": "09",
    "graph": "!~",
    "lower": "az",
    "print": " ~",
    "punct": "!/:@[`{~",
    "space": "\t\r  ",
    "upper": "AZ",
    "word": _WORD,
    "xdigit": "09AFaf",
}
"""Classes as pairs: the first and the last character of each range."""
_CATEGORIES = {
    *("C", "Cc", "Cf", "Co", "Cs", "L", "Ll", "Lm", "Lo", "Lt", "Lu", "M", "Mc", "Me", "Mn", "N", "Nd", "Nl", "No"),
    *("P", "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S", "Sc", "Sk", "Sm", "So", "Z", "Zl", "Zp", "Zs"),
}


class Unreadable(ValueError):
    """A text that is no expression."""


class One(NamedTuple):
    """A class of characters, of which one is taken."""

    ranges: str = ""
    others: tuple[Callable[[str], bool], ...] = ()
    negated: bool = False
    any_case: bool = False

    def is_in(self, char: str) -> bool:
        """Whether a character is of the class."""
        same = {char, char.lower(), char.upper()} if self.any_case else (char,)
        found = any(self._has(one) for one in same if len(one) == 1)
        return found != self.negated

    def _has(self, char: str) -> bool:
        ranges = self.ranges
        inside = any(ranges[i] <= char <= ranges[i + 1] for i in range(0, len(ranges), 2))
        return inside or any(other(char) for other in self.others)


class At(NamedTuple):
    """A place in the text, where nothing is taken: A, z, b and B as they are escaped, ^ and $ of lines."""

    word: str

    def holds(self, text: str, place: int) -> bool:
        """Whether the place is such a one."""
        match self.word:
            case "A":
                return place == 0
            case "z":
                return place == len(text)
            case "^":
                return place == 0 or text[place - 1] == "\n"
            case "$":
                return place == len(text) or text[place] == "\n"
            case _:
                sides = (text[place - 1 : place] if place else "", text[place : place + 1])
                before, after = (bool(side) and One(_WORD).is_in(side) for side in sides)
                return (before != after) == (self.word == "b")


class Both(NamedTuple):
    """One part after another."""

    parts: "tuple[Node, ...]"


class Either(NamedTuple):
    """One of several parts."""

    ways: "tuple[Node, ...]"


class Repeat(NamedTuple):
    """A part so many times; None is as often as one likes."""

    part: "Node"
    least: int
    most: int | None


Node: TypeAlias = One | At | Both | Either | Repeat


class _Level(NamedTuple):
    """A group that is open: the ways that are read, the parts of the last one, and the flags outside of it."""

    ways: list[Node]
    parts: list[Node]
    flags: str


def read(pattern: str) -> Node:
    """The parts of an expression; raises Unreadable."""
    return _Reader(pattern).read()


class _Reader:
    """An expression as it is read from left to right."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.flags = ""
        self.levels = [_Level([], [], "")]
        self.repeatable = False
        """Whether a part was just read that may be repeated."""

    def read(self) -> Node:
        """All of it."""
        while self.at < len(self.pattern):
            if met := _REPEAT.match(self.pattern, self.at):
                self._repeat(met)
                continue
            char = self._take()
            match char:
                case "(":
                    self._open()
                case ")":
                    self._close()
                case "|":
                    level = self.levels[-1]
                    level.ways.append(Both(tuple(level.parts)))
                    level.parts.clear()
                    self.repeatable = False
                case "\\" if self.pattern.startswith("Q", self.at):
                    self._quoted()
                case _:
                    self._add(self._atom(char))
        if len(self.levels) > 1:
            raise Unreadable("a group is not closed")
        return _whole(self.levels[0])

    def _take(self) -> str:
        if self.at >= len(self.pattern):
            raise Unreadable("the expression ends too early")
        self.at += 1
        return self.pattern[self.at - 1]

    def _add(self, node: Node) -> None:
        self.levels[-1].parts.append(node)
        self.repeatable = True

    def _literal(self, char: str) -> One:
        return One(char * 2, any_case="i" in self.flags)

    def _atom(self, char: str) -> Node:
        match char:
            case "[":
                return self._brackets()
            case "\\":
                return self._escape()
            case "^":
                return At("^" if "m" in self.flags else "A")
            case "$":
                return At("$" if "m" in self.flags else "z")
            case ".":
                return One("" if "s" in self.flags else "\n\n", negated=True)
        return self._literal(char)

    def _repeat(self, met: re.Match[str]) -> None:
        if not self.repeatable:
            raise Unreadable("there is nothing to repeat, or it is repeated already")
        self.at, self.repeatable = met.end(), False
        sign, least, open_, most = met.groups()
        if sign:
            low, high = {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
        else:
            low = int(least)
            high = (int(most) if most else None) if open_ else low
        if max(low, high or 0) > MOST_REPEATS or (high is not None and high < low):
            raise Unreadable("a part is repeated too often, or less often than that")
        parts = self.levels[-1].parts
        node = Repeat(parts.pop(), low, high)
        if _times(node) > MOST_REPEATS:
            raise Unreadable("parts within parts are repeated too often")
        parts.append(node)

    def _open(self) -> None:
        flags = self.flags
        if self.pattern.startswith("?", self.at):
            met = _FLAGS.match(self.pattern, self.at)
            if met:
                flags = "".join(sorted((set(self.flags) | set(met[1])) - set(met[2] or "")))
            named = met or _NAME.match(self.pattern, self.at)
            if named is None:
                raise Unreadable("such a group is not known")
            self.at = named.end()
            if met and met[3] == ")":
                # What stood before it can be repeated still, and even once more.
                self.flags, self.repeatable = flags, bool(self.levels[-1].parts)
                return
        self.levels.append(_Level([], [], self.flags))
        if len(self.levels) > DEEPEST:
            raise Unreadable("there are too many groups within groups")
        self.flags, self.repeatable = flags, False

    def _close(self) -> None:
        if len(self.levels) == 1:
            raise Unreadable("nothing is open")
        level = self.levels.pop()
        self.flags = level.flags
        self._add(_whole(level))

    def _quoted(self) -> None:
        end = self.pattern.find(r"\E", self.at)
        text = self.pattern[self.at + 1 :] if end < 0 else self.pattern[self.at + 1 : end]
        self.at = len(self.pattern) if end < 0 else end + 2
        for char in text:
            self._add(self._literal(char))

    def _escape(self) -> Node:
        if found := self._class():
            return One(*found, any_case="i" in self.flags)
        char = self._take()
        return At(char) if char in "AbBz" else self._literal(self._escaped(char))

    def _escaped(self, char: str) -> str:
        """The character that is meant by one behind a backslash."""
        if char in _LETTERS:
            return _LETTERS[char]
        if char == "x":
            met = _CODE.match(self.pattern, self.at)
            if met is None or int(met[1] or met[2], 16) > 0x10FFFF:
                raise Unreadable("no such character")
            self.at = met.end()
            return chr(int(met[1] or met[2], 16))
        if met := _OCTAL.match(self.pattern, self.at - 1):
            self.at = met.end()
            return chr(int(met[0], 8))
        if char.isalnum() or not char.isascii():
            raise Unreadable(f"\\{char} is not known")
        return char

    def _class(self) -> tuple[str, tuple[Callable[[str], bool], ...]] | None:
        r"""The class behind a backslash, such as \d or \pL; None where it is none."""
        char = self.pattern[self.at : self.at + 1]
        if char and char in "dswDSW":
            self.at += 1
            ranges = _PERL[char.lower()]
            return (ranges, ()) if char.islower() else ("", (self._of(ranges, negated=True),))
        if char not in ("p", "P"):
            return None
        self.at += 1
        name = self._take()
        if name == "{":
            end = self.pattern.find("}", self.at)
            if end < 0:
                raise Unreadable("a class is not closed")
            name, self.at = self.pattern[self.at : end], end + 1
        is_in = _member(name.removeprefix("^"))
        negated = (char == "P") != name.startswith("^")
        return "", (self._of(others=(is_in,), negated=negated),)

    def _of(
        self, ranges: str = "", others: tuple[Callable[[str], bool], ...] = (), *, negated: bool
    ) -> Callable[[str], bool]:
        """A class within a class; where case does not matter, a negated one lacks its characters in both cases."""
        return One(ranges, others, negated, "i" in self.flags).is_in

    def _brackets(self) -> One:
        negated = self.pattern.startswith("^", self.at)
        self.at += negated
        first, ranges, others = self.at, "", list[Callable[[str], bool]]()
        while self.pattern[self.at : self.at + 1] != "]" or self.at == first:
            if met := _POSIX_CLASS.match(self.pattern, self.at):
                self.at = met.end()
                if met[2] not in _POSIX:
                    raise Unreadable(f"the class {met[2]} is not known")
                others.append(self._of(_POSIX[met[2]], negated=bool(met[1])))
                continue
            if self.pattern.startswith("\\", self.at):
                self.at += 1
                if found := self._class():
                    ranges, others = ranges + found[0], [*others, *found[1]]
                    continue
                self.at -= 1
            low = high = self._single()
            if self.pattern.startswith("-", self.at) and self.pattern[self.at + 1 : self.at + 2] not in ("]", ""):
                self.at += 1
                high = self._single()
            if high < low:
                raise Unreadable("a range is upside down")
            ranges += low + high
        self.at += 1
        return One(ranges, tuple(others), negated, "i" in self.flags)

    def _single(self) -> str:
        char = self._take()
        return self._escaped(self._take()) if char == "\\" else char


def _whole(level: _Level) -> Node:
    """All that stands in a group."""
    last = Both(tuple(level.parts))
    return Either((*level.ways, last)) if level.ways else last


def _times(node: Node) -> int:
    """How often the innermost part of a part is repeated at most, counting no part that is repeated without end."""
    match node:
        case Repeat(part, least, most):
            return max(1, least if most is None else most) * _times(part)
        case Both(parts) | Either(parts):
            return max(map(_times, parts), default=1)
    return 1


def _member(name: str) -> Callable[[str], bool]:
    """Whether a character is in a general category; scripts are known by the names of their characters."""
    if name == "Any":
        return lambda _: True
    if name in _CATEGORIES:
        return lambda char: unicodedata.category(char).startswith(name)
    if len(name) < 3:
        raise Unreadable(f"the class {name} is not known")
    return lambda char: name.upper().replace("_", " ") in unicodedata.name(char, "")
