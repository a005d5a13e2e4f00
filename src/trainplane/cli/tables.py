"""Tables for people and for pipes: as wide as the terminal at most, and cut nowhere when another program reads."""

import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import click

NONE = "-"
"""A cell with nothing in it; one word, so that `awk` counts the same columns in every row."""
GAP = 2
SMALLEST = 8
"""No column is cut to less than this, whatever the terminal."""
_UNSHOWN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")
"""What would move the cursor, change colours or turn the text around: what others say must not."""
_COLOURS = {
    "Running": "green",
    "Complete": "green",
    "Ready": "green",
    "Starting": "cyan",
    "Pending": "yellow",
    "Suspended": "blue",
    "Failed": "red",
    "NotReady": "red",
    "Warning": "yellow",
}


class Column(NamedTuple):
    """A column: its head, and how it behaves."""

    head: str
    wide: bool = False
    """Shown with `-o wide` alone."""
    prose: bool = False
    """Sentences: cut before any other column is."""
    name: bool = False
    """Names: cut after all others, and in the middle, for it is the end that tells them apart."""


class Table(NamedTuple):
    """Columns and rows; a row has a cell for each column, wide ones included."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]

    def told(self, words: Callable[[str], str]) -> "Table":
        """The table with its sentences in other words."""
        prose = [column.prose for column in self.columns]
        rows = [
            [words(cell) if is_prose else cell for cell, is_prose in zip(row, prose, strict=True)] for row in self.rows
        ]
        return Table(self.columns, rows)

    def narrowed(self, *, wide: bool) -> "Table":
        """The table with the columns that are asked for."""
        if wide:
            return self
        kept = [i for i, column in enumerate(self.columns) if not column.wide]
        return Table([self.columns[i] for i in kept], [[row[i] for i in kept] for row in self.rows])


def lines(table: Table, *, width: int | None = None, beside: Table | None = None) -> list[str]:
    """The table as text, its heads first; with a width, cut so that no line is longer, as far as that is possible.

    `beside` is a table of the same columns that these lines are to be in line with.
    """
    cells = [[clean(cell) or NONE for cell in row] for row in table.rows]
    others = [[clean(cell) for cell in row] for row in beside.rows] if beside else []
    columns = table.columns
    titles = [column.head for column in columns]
    widths = [max(measure(row[i]) for row in (titles, *cells, *others)) for i in range(len(titles))]
    if width is not None:
        kept = range(len(columns)) if beside else _telling(cells, widths, width)
        columns, titles, cells, widths = (
            [columns[i] for i in kept],
            [titles[i] for i in kept],
            [[row[i] for i in kept] for row in cells],
            [widths[i] for i in kept],
        )
        widths = fitted(widths, columns, width)
    return [_line(row, widths, columns) for row in (titles, *cells)]


def _telling(cells: Sequence[Sequence[str]], widths: Sequence[int], width: int) -> list[int]:
    """The columns that are kept in a terminal: where not all fit, those that tell nothing of any row go first."""
    kept = list(range(len(widths)))
    for i in reversed(range(len(widths))):
        over = sum(widths[i] for i in kept) + GAP * (len(kept) - 1) > width
        if over and cells and all(row[i] == NONE for row in cells):
            kept.remove(i)
    return kept


def fitted(widths: Sequence[int], columns: Sequence[Column], width: int) -> list[int]:
    """The widths of columns in a terminal: prose gives way first, then the widest, names last; heads stay whole."""
    found = list(widths)
    over = sum(found) + GAP * (len(found) - 1) - width
    least = [max(SMALLEST, len(column.head)) for column in columns]
    for may in ([column.prose for column in columns], [not column.name for column in columns], [True] * len(columns)):
        while over > 0:
            loose = [i for i, allowed in enumerate(may) if allowed and found[i] > least[i]]
            if not loose:
                break
            widest = max(loose, key=lambda i: found[i])
            found[widest] -= 1
            over -= 1
    return found


def _line(row: Sequence[str], widths: Sequence[int], columns: Sequence[Column]) -> str:
    parts = [
        (cut_within if column.name else cut)(cell, size)
        for cell, size, column in zip(row, widths, columns, strict=True)
    ]
    padded = [part + " " * (size - measure(part)) for part, size in zip(parts, widths, strict=True)]
    return (" " * GAP).join(padded).rstrip()


def cut(text: str, size: int) -> str:
    """The text in so many columns of a terminal, with … where it is cut."""
    if measure(text) <= size:
        return text
    kept, used = "", 0
    for char in text:
        used += _width(char)
        if used > size - 1:
            break
        kept += char
    return f"{kept}…"


def cut_within(text: str, size: int) -> str:
    """The text in so many columns of a terminal, with … in its middle where it is cut."""
    if measure(text) <= size:
        return text
    tail = ""
    for char in reversed(text):
        if measure(char + tail) > size // 2:
            break
        tail = char + tail
    return cut(text, size - measure(tail)) + tail


def measure(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return len(text) if text.isascii() else sum(map(_width, text))


def _width(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def clean(text: str) -> str:
    """The text on one line, without anything that a terminal would obey."""
    return _UNSHOWN.sub(" ", text).strip()


def plain(text: str) -> str:
    """The text as it was set, without anything else that a terminal would obey."""
    return _UNSHOWN.sub(" ", text.expandtabs())


def terminal_width() -> int | None:
    """How wide the terminal is; None where the output goes elsewhere."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def show(table: Table, *, wide: bool = False, head: bool = True, beside: Table | None = None) -> None:
    """Print a table, cut to the terminal; who asks for all columns gets them whole."""
    other = beside.narrowed(wide=wide) if beside else None
    first, *rows = lines(table.narrowed(wide=wide), width=None if wide else terminal_width(), beside=other)
    if head:
        say(click.style(first, bold=True))
    for line in rows:
        say(coloured(line))


def coloured(line: str) -> str:
    """The line with the first word that tells a state in its colour."""
    for word in line.split():
        if word in _COLOURS:
            return line.replace(word, click.style(word, fg=_COLOURS[word]), 1)
    return line


def say(line: str = "") -> None:
    """Print a line; colours go only to a terminal, and only where NO_COLOR is not set."""
    click.echo(line, color=False if "NO_COLOR" in os.environ else None)


def hint(line: str) -> None:
    """What to do next: for people alone, not for programs that read a table."""
    if sys.stdout.isatty():
        say(click.style(line, dim=True))


def pairs(found: Iterable[tuple[str, str]], *, indent: str = "  ") -> list[str]:
    """Words and what is said of them, one beneath the other; those without anything to say are left out."""
    there = [(word, clean(text)) for word, text in found if text]
    width = max((len(word) for word, _ in there), default=0)
    return [f"{indent}{word:<{width}}  {text}" for word, text in there]
