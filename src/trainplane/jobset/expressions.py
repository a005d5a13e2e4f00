"""Regular expressions as JobSet reads them, in RE2's form, looked for with Python's, which differ in a few words."""

import re
import unicodedata
from collections.abc import Callable

MOST_REPEATS = 1000
_GROUP = re.compile(r"\(\?(?:P?<(?P<name>[A-Za-z0-9_]+)>|(?P<flags>[imsU]*(?:-[imsU]+)?)(?P<end>[:)]))")
_REPEAT = re.compile(r"(?:[*+?]|\{(?P<least>\d+)(?:,(?P<most>\d*))?\})\??")
_OCTAL = re.compile("0[0-7]{0,2}|[1-7][0-7]{1,2}")
_SINGLE = re.compile(r"(?!-\Z|\\[dDsSwW]\Z)\\?.\Z", re.DOTALL)
"""One character in brackets, which can begin a range."""
_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7F",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1F\x7F",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_SAME = "dDsSwW"
"""Escapes that mean the same in both, in and out of brackets, once Python keeps to ASCII."""
_LETTERS = "aftnrv"


class Unreadable(ValueError):
    """A text that is no expression."""


def occurs(pattern: str, text: str) -> bool:
    """Whether an expression matches somewhere in a text; one that is none matches nothing."""
    try:
        return re.search(_Reader(pattern, text).read(), text, re.ASCII) is not None
    except (Unreadable, re.error, OverflowError):
        return False


class _Reader:
    """An expression as it is read from left to right."""

    def __init__(self, pattern: str, text: str) -> None:
        self.pattern = pattern
        self.text = text
        """What will be searched: classes of characters are spelled out for those that are in it."""
        self.at = 0
        self.flags = {"m": False}
        self.open: list[tuple[dict[str, bool], list[str]]] = []
        """For each group that is open its flags outside, and the flags set on the way that hold until its end."""
        self.held: list[str] = []

    def read(self) -> str:
        """The same expression in Python's words."""
        parts = []
        while self.at < len(self.pattern):
            parts.append(self._part())
        if self.open:
            raise Unreadable("a group is not closed")
        return "".join(parts) + ")" * len(self.held)

    def _take(self, count: int = 1) -> str:
        taken = self.pattern[self.at : self.at + count]
        if len(taken) < count:
            raise Unreadable("the expression ends too early")
        self.at += count
        return taken

    def _part(self) -> str:
        if met := _REPEAT.match(self.pattern, self.at):
            return self._repeat(met)
        match char := self._take():
            case "(":
                return self._group()
            case ")":
                if not self.open:
                    raise Unreadable("nothing is open")
                closed = ")" * (len(self.held) + 1)
                self.flags, self.held = self.open.pop()
                return closed
            case "|":
                return ")" * len(self.held) + "|" + "".join(self.held)
            case "[":
                return self._brackets()
            case "\\":
                return self._escape(inside=False)
            case "^":
                return "(?:^)"
            case "$":
                return "(?:$)" if self.flags["m"] else r"(?:\Z)"
            case "{" | "}":
                return "\\" + char
        return char

    def _repeat(self, met: re.Match[str]) -> str:
        self.at = met.end()
        if any(int(met[name] or 0) > MOST_REPEATS for name in ("least", "most")):
            raise Unreadable("a part is repeated too often")
        if _REPEAT.match(self.pattern, self.at):
            raise Unreadable("a repetition is repeated")
        return met[0]

    def _group(self) -> str:
        if not self.pattern.startswith("?", self.at):
            self._enter()
            return "("
        met = _GROUP.match(self.pattern, self.at - 1)
        if met is None:
            raise Unreadable("such a group is not known")
        self.at = met.end()
        if met["name"]:
            self._enter()
            return f"(?P<{met['name']}>"
        # Which of several matches is taken does not matter here, so U says nothing.
        on, _, off = met["flags"].replace("U", "").partition("-")
        scoped = f"(?{on}{'-' + off if off else ''}:"
        if met["end"] == ":":
            self._enter()
        else:
            self.held.append(scoped)
        self.flags = {"m": (self.flags["m"] or "m" in on) and "m" not in off}
        return scoped

    def _enter(self) -> None:
        self.open.append((self.flags, self.held))
        self.held = []

    def _escape(self, *, inside: bool) -> str:
        char = self._take()
        if char in _SAME or char in _LETTERS:
            return "\\" + char
        if char in "AbBz" and not inside:
            # In a group of its own it can be repeated, which RE2 allows.
            return f"(?:\\{char.replace('z', 'Z')})"
        if char == "Q" and not inside:
            end = self.pattern.find(r"\E", self.at)
            quoted = self.pattern[self.at :] if end < 0 else self.pattern[self.at : end]
            self.at = len(self.pattern) if end < 0 else end + 2
            return re.escape(quoted)
        if char in "pP":
            return self._category(negated=char == "P", inside=inside)
        if char == "x":
            return self._code()
        if met := _OCTAL.match(self.pattern, self.at - 1):
            self.at = met.end()
            return re.escape(chr(int(met[0], 8)))
        if char.isalnum() and char.isascii():
            raise Unreadable(f"\\{char} is not known")
        return re.escape(char) if char.isascii() else char

    def _code(self) -> str:
        met = re.compile(r"\{([0-9A-Fa-f]+)\}|([0-9A-Fa-f]{2})").match(self.pattern, self.at)
        if met is None or int(met[1] or met[2], 16) > 0x10FFFF:
            raise Unreadable("no such character")
        self.at = met.end()
        return re.escape(chr(int(met[1] or met[2], 16)))

    def _category(self, *, negated: bool, inside: bool) -> str:
        name = self._take()
        if name == "{":
            end = self.pattern.find("}", self.at)
            name, self.at = self.pattern[self.at : end], end + 1
            if end < 0:
                raise Unreadable("a class is not closed")
        negated ^= name.startswith("^")
        is_in = _member(name.removeprefix("^"))
        found = "".join(re.escape(char) for char in sorted(set(self.text)) if is_in(char) != negated)
        return found if inside else f"[{found}]" if found else r"(?!)"

    def _brackets(self) -> str:
        start = "[^" if self.pattern.startswith("^", self.at) else "["
        self.at += len(start) - 1
        parts: list[str] = []
        while self.pattern[self.at : self.at + 1] != "]" or not parts:
            if met := re.compile(r"\[:(\^?)(\w+):\]").match(self.pattern, self.at):
                self.at = met.end()
                if met[2] not in _POSIX:
                    raise Unreadable(f"the class {met[2]} is not known")
                parts.append(self._spelled(_POSIX[met[2]]) if met[1] else _POSIX[met[2]])
                continue
            char = self._take()
            # Only a dash behind a character makes a range; what else Python may take for an operator is written out.
            ranges = char == "-" and parts and _SINGLE.match(parts[-1])
            parts.append(self._escape(inside=True) if char == "\\" else char if ranges else re.escape(char))
        self.at += 1
        inner = "".join(parts)
        return f"{start}{inner}]" if inner else (r"(?!)" if start == "[" else r"[\s\S]")

    def _spelled(self, excluded: str) -> str:
        """The characters of the text that a class does not have."""
        return "".join(re.escape(char) for char in sorted(set(self.text)) if not re.match(f"[{excluded}]", char))


def _member(name: str) -> Callable[[str], bool]:
    """Whether a character is in a general category; scripts are known by the names of their characters."""
    if name == "Any":
        return lambda _: True
    if len(name) <= 2:
        return lambda char: unicodedata.category(char).startswith(name)
    return lambda char: name.upper().replace("_", " ") in unicodedata.name(char, "")
