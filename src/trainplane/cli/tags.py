"""Lines of a job's output as people read them: who wrote each, in a colour of its own, and how far the job is."""

import re
import shutil
import sys
from typing import NamedTuple

import click

from trainplane.sdk.logs import Line

_COLOURS = ("cyan", "magenta", "green", "yellow", "blue", "bright_cyan", "bright_magenta", "bright_green")
_UNSHOWN = re.compile(r"\x1b(?!\[[0-9;:]*m)(?:\[[0-?]*[ -/]*[@-~])?|[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f]")
"""What a terminal obeys, but for tabs, and for colours that a program chose itself."""
_STEP = re.compile(r"\b(?:step|iter|iteration|epoch)\b[ =:#]*(\d+)(?:\s*(?:/|of)\s*(\d+))?", re.IGNORECASE)
_LOSS = re.compile(r"\bloss\b[ =:]*([0-9][0-9.]*(?:e[+-]?\d+)?)", re.IGNORECASE)


class Progress(NamedTuple):
    """How far a job says it is."""

    step: int
    of: int | None
    loss: str

    def __str__(self) -> str:
        """In words."""
        whole = f"/{self.of}" if self.of else ""
        return f"step {self.step}{whole}" + (f", loss {self.loss}" if self.loss else "")


def progress_of(text: str) -> Progress | None:
    """How far a line says that the job is, where it says so."""
    step, loss = _STEP.search(text), _LOSS.search(text)
    if not step or not (loss or step[2]):
        return None
    return Progress(int(step[1]), int(step[2]) if step[2] else None, loss[1] if loss else "")


class Tags:
    """Puts before each line who wrote it, as wide as the widest so far."""

    def __init__(self, *, width: int = 0) -> None:
        self._width = width
        self._colours: dict[str, str] = {}

    def line(self, line: Line) -> str:
        """The line for the terminal; click takes the colours away where it is none."""
        tag = f"{line.tag}/{line.container}" if line.container else line.tag
        self._width = max(self._width, len(tag))
        colour = self._colours.setdefault(tag, _COLOURS[len(self._colours) % len(_COLOURS)])
        time = f"{line.time} " if line.time else ""
        # A bar that is drawn over and over is shown as it was last.
        text = _UNSHOWN.sub("", line.text.rpartition("\r")[2])
        end = "\x1b[0m" if "\x1b" in text else ""
        return f"{click.style(tag.ljust(self._width) + ' |', fg=colour)} {time}{text}{end}"


class Foot:
    """One line at the foot of the terminal that is written over and over; nowhere else is it seen."""

    def __init__(self) -> None:
        self._shown = ""
        self._live = sys.stderr.isatty()

    def say(self, text: str) -> None:
        """Put this there."""
        if self._live:
            self._shown = text[: shutil.get_terminal_size().columns - 1]
            click.echo(f"\r\x1b[K{self._shown}", err=True, nl=False)

    def above(self, text: str, *, err: bool = False) -> None:
        """Print a line above it."""
        if self._shown:
            click.echo("\r\x1b[K", err=True, nl=False)
        click.echo(text, err=err)
        if self._shown:
            click.echo(self._shown, err=True, nl=False)

    def clear(self) -> None:
        """Take it away."""
        if self._shown:
            click.echo("\r\x1b[K", err=True, nl=False)
            self._shown = ""
