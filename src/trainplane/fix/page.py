"""A text as lines, and the lines that belong to a field: what mending needs to leave everything else as it is."""

import re
from itertools import pairwise

from trainplane.api.documents import Document
from trainplane.api.problem import Path

_NOTHING = re.compile(r"\s*(#.*)?$")
_PLAIN_END = re.compile(r"\s+#|\s*$")
_FLOW_END = re.compile(r"\s+#|\s*[,\]}]|\s*$")


class Page:
    """The lines of a text, with their ends."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.splitlines(keepends=True)
        self.newline = "\r\n" if "\r\n" in text else "\n"

    def indent(self, number: int) -> int:
        """How far a line, counted from 0, is indented."""
        line = self.lines[number]
        return len(line) - len(line.lstrip(" "))

    def says_nothing(self, number: int) -> bool:
        """Whether a line is empty or a comment."""
        return _NOTHING.match(self.lines[number].rstrip("\r\n")) is not None

    def key(self, document: Document, path: Path) -> tuple[int, int] | None:
        """Line and column, both from 0, of a field that stands alone at the beginning of its line."""
        place = document.position(path)
        line, column = place.line - 1, place.column - 1
        if line >= len(self.lines) or self.lines[line][:column].strip(" "):
            return None
        return line, column

    def end(self, line: int, column: int) -> int:
        """The line after the last one of the field that begins at a line and column; comments behind it stay out."""
        last = line
        for number in range(line + 1, len(self.lines)):
            if self.lines[number].startswith(("---", "...")):
                break
            if self.says_nothing(number):
                continue
            indent = self.indent(number)
            # The items of a list may stand right below the key that holds them.
            item = self.lines[number].lstrip(" ").startswith(("- ", "-\n", "-\r"))
            if indent < column or (indent == column and not item):
                break
            last = number
        return last + 1

    def block(self, document: Document, paths: list[Path]) -> tuple[int, int, int] | None:
        """First line, line after the last, and column of fields that stand one after the other; None if they do not."""
        found = [self.key(document, path) for path in paths]
        places = [place for place in found if place is not None]
        if not places or len(places) != len(found) or len({column for _, column in places}) != 1:
            return None
        places.sort()
        column = places[0][1]
        for (line, _), (following, _) in pairwise(places):
            between = range(self.end(line, column), following)
            if not all(map(self.says_nothing, between)):
                return None
        return places[0][0], self.end(places[-1][0], column), column

    def indented(self, first: int, last: int, by: int) -> list[str]:
        """Some lines with more indentation; empty ones stay empty."""
        return [f"{' ' * by}{line}" if line.strip() else line for line in self.lines[first:last]]

    def with_lines(self, first: int, last: int, new: list[str]) -> str:
        """The text with the lines from `first` to before `last` replaced."""
        before = self.lines[:first]
        if before and not before[-1].endswith(("\n", "\r")):
            before = [*before[:-1], before[-1] + self.newline]
        return "".join([*before, *new, *self.lines[last:]])

    def scalar(self, document: Document, path: Path) -> tuple[int, int, str] | None:
        """Line, column and text of a value that is a single word or a quoted text on one line."""
        place = document.value_position(path)
        line, column = place.line - 1, place.column - 1
        if line >= len(self.lines):
            return None
        rest = self.lines[line].rstrip("\r\n")[column:]
        if rest[:1] in ("'", '"'):
            close = rest.find(rest[0], 1)
            return (line, column, rest[: close + 1]) if close > 0 and "\\" not in rest[:close] else None
        ends = [found.start() for found in (_PLAIN_END.search(rest), self._flow_end(line, column, rest)) if found]
        word = rest[: min(ends)] if ends else rest
        return (line, column, word) if word and word[0] not in "|>&*!{[" else None

    def _flow_end(self, line: int, column: int, rest: str) -> re.Match[str] | None:
        before = self.lines[line][:column]
        return _FLOW_END.search(rest) if "{" in before or "[" in before else None

    def with_word(self, line: int, column: int, *, old: str, new: str) -> str:
        """The text with one word of a line replaced."""
        text = self.lines[line]
        return self.with_lines(line, line + 1, [text[:column] + new + text[column + len(old) :]])
