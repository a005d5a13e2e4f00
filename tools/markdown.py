"""The parts of a Markdown file that can be held to the truth: fenced blocks, names in backticks, links, headings."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools import ROOT

_FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=indent)```[ ]*$", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Fence:
    """A fenced block: its language, the words beside the language, its text, and where the text lies in the file."""

    path: Path
    line: int
    language: str
    marks: tuple[str, ...]
    text: str
    start: int
    end: int

    def __str__(self) -> str:
        """Where it is, as people write it."""
        return f"{self.path.relative_to(ROOT)}:{self.line}"


def documents() -> list[Path]:
    """Every Markdown file of the project that people read."""
    return sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")])


def fences(path: Path) -> Iterator[Fence]:
    """The fenced blocks of a file, in order."""
    source = path.read_text(encoding="utf-8")
    for match in _FENCE.finditer(source):
        language, *marks = match["info"].split() or [""]
        yield Fence(
            path=path,
            line=source.count("\n", 0, match.start()) + 1,
            language=language,
            marks=tuple(marks),
            text=match["body"],
            start=match.start("body"),
            end=match.end("body"),
        )


def prose(path: Path) -> str:
    """The text of a file outside fenced blocks."""
    return _FENCE.sub("", path.read_text(encoding="utf-8"))


def names(path: Path) -> list[str]:
    """What stands in backticks in the prose."""
    return _NAME.findall(prose(path))


def links(path: Path) -> list[str]:
    """The targets of the links in the prose."""
    return _LINK.findall(_NAME.sub("", prose(path)))


def anchors(path: Path) -> set[str]:
    """The anchors of a file's headings, as GitHub makes them."""
    found: set[str] = set()
    for heading in _HEADING.findall(prose(path)):
        kept = re.sub(r"[^\w\- ]", "", heading.strip().lower())
        found.add(kept.replace(" ", "-"))
    return found
