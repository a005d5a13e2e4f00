"""JSON values as YAML for people: block style, the author's order, quotes only where needed, comments in place."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trainplane.api.problem import Path
from trainplane.api.scalars import resolve

Comments = Mapping[Path, Sequence[str]]
"""Lines to print as comments, each above the place it is about."""

_PLAIN = re.compile(
    r"(?:[A-Za-z0-9_./$()<=+~^]|-(?=\S))[^\x00-\x1f\x7f-\xa0\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]*"
)
"""What may begin a word without quotes, and go on in it."""
_MARKED = re.compile(r": |:$| #|^(?:---|\.\.\.)|[ ]$|^<<$|^=$")
"""What would end or change an unquoted word."""
_PRINTABLE = re.compile(r"[\n\t\x20-\x7e\xa1-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]*")
_LIKE_A_DATE = re.compile(r"\d{4}-\d\d?-\d\d?")
_LIKE_SIXTIES = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$")


def to_yaml(value: Any, comments: Comments | None = None) -> str:
    """One document, ending in a line break; a comment about a place that is not there goes to the nearest above it."""
    return "".join(f"{line}\n" for line in _Writer(value, comments or {}).lines())


class _Writer:
    """Writes one document; knows the comments of each place."""

    def __init__(self, value: Any, comments: Comments) -> None:
        self.value = value
        self.comments: dict[Path, list[str]] = {}
        for path, lines in comments.items():
            self.comments.setdefault(_nearest(value, path), []).extend(lines)

    def lines(self) -> Iterator[str]:
        yield from self.above((), "")
        if isinstance(self.value, Mapping | list | tuple) and self.value:
            yield from self.block(self.value, (), "")
        else:
            yield from _scalar(self.value, "")

    def above(self, path: Path, indent: str) -> Iterator[str]:
        for line in self.comments.get(path, ()):
            yield f"{indent}# {line}".rstrip()

    def block(self, value: Any, path: Path, indent: str) -> Iterator[str]:
        if isinstance(value, Mapping):
            for key, item in value.items():
                yield from self.above((*path, key), indent)
                yield from self.entry(f"{_one_line(key)}:", item, path=(*path, key), indent=indent)
        else:
            for i, item in enumerate(value):
                yield from self.item(item, (*path, i), indent)

    def entry(self, head: str, item: Any, *, path: Path, indent: str) -> Iterator[str]:
        if isinstance(item, Mapping | list | tuple) and item:
            yield f"{indent}{head}"
            # Lists stand below their key without further indentation, as kubectl prints them.
            yield from self.block(item, path, indent + "  " if isinstance(item, Mapping) else indent)
        else:
            first, *rest = _scalar(item, indent)
            yield f"{indent}{head} {first}"
            yield from rest

    def item(self, item: Any, path: Path, indent: str) -> Iterator[str]:
        yield from self.above(path, indent)
        if isinstance(item, Mapping | list | tuple) and item:
            lines = list(self.block(item, path, indent + "  "))
            # The first line that is no comment carries the dash; comments before it stand above.
            start = next(i for i, line in enumerate(lines) if not line.lstrip().startswith("# "))
            yield from (line[2:] for line in lines[:start])
            yield f"{indent}- {lines[start][len(indent) + 2 :]}"
            yield from lines[start + 1 :]
        else:
            yield from self.entry("-", item, path=path, indent=indent)


def _nearest(value: Any, path: Path) -> Path:
    for depth, step in enumerate(path):
        known = value if isinstance(value, Mapping) else range(len(value)) if isinstance(value, list | tuple) else ()
        if step not in known:
            return path[:depth]
        value = value[step]
    return path


def _scalar(value: Any, indent: str) -> list[str]:
    """The lines of a scalar or an empty collection; all but the first are indented already."""
    if isinstance(value, str) and "\n" in value and _PRINTABLE.fullmatch(value) and value.strip("\n"):
        return _literal(value, indent + "  ")
    return [_one_line(value)]


def _literal(text: str, indent: str) -> list[str]:
    # A reader takes the indentation from the first line that is not empty; where that begins with a space, it is told.
    hint = "2" if text.lstrip("\n")[:1] in (" ", "\t") or text[0] == "\n" else ""
    body = text.rstrip("\n")
    extra = len(text) - len(body)
    chomp = ("-", "")[extra] if extra < 2 else "+"
    lines = body.split("\n") + [""] * (extra - 1)
    return [f"|{hint}{chomp}", *(f"{indent}{line}" if line else "" for line in lines)]


def _one_line(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, Mapping):
        return "{}"
    if isinstance(value, list | tuple):
        return "[]"
    return _text(str(value))


def _number(value: float) -> str:
    if value != value:
        return ".nan"
    if value in (float("inf"), float("-inf")):
        return ".inf" if value > 0 else "-.inf"
    digits, mark, exponent = repr(value).partition("e")
    # Some readers take 1e+22 for text, and all take 1.0e+22 for a number.
    return f"{digits}{'' if '.' in digits else '.0'}{mark}{exponent}"


def _text(text: str) -> str:
    if _is_plain(text):
        return text
    if _PRINTABLE.fullmatch(text) and "\n" not in text and "\t" not in text:
        return _single(text) if '"' in text or "\\" in text else f'"{text}"'
    return '"' + "".join(map(_escaped, text)) + '"'


def _is_plain(text: str) -> bool:
    return (
        _PLAIN.fullmatch(text) is not None
        and not _MARKED.search(text)
        and isinstance(resolve(text), str)
        and not _LIKE_A_DATE.match(text)
        and not _LIKE_SIXTIES.match(text)
    )


def _single(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _escaped(char: str) -> str:
    named = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\", "\0": "\\0"}
    if char in named:
        return named[char]
    if _PRINTABLE.fullmatch(char):
        return char
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
