"""What is kept of a failure beside a container's log: how it ended and its last lines, without Secrets' values."""

import base64
import binascii
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from trainplane.api.failure import ADVICE, Verdict, ending
from trainplane.reconcile.view import View

LINES = 20
HIDDEN = "***"
SHORTEST = 4
"""Letters that a value must have to be looked for; shorter ones are in every text."""


def path_of(log: Path) -> Path:
    """Where the report of the life with this log is."""
    return log.with_suffix(".failure")


def keep(log: Path, verdict: Verdict, lines: Sequence[str]) -> None:
    """Write the report; a disk without room costs it, and nothing else."""
    who = "" if verdict.rank is None else f"rank {verdict.rank}: "
    how = ending(verdict.code)
    text = "\n".join([f"{who}{verdict.kind.words}, {how}; {ADVICE[verdict.kind]}", *lines[-LINES:], ""])
    with suppress(OSError):
        path_of(log).write_text(text, encoding="utf-8", errors="replace")


def hidden(text: str, view: View) -> str:
    """The text without the values of the Secrets that a pod was made with."""
    for value in sorted(set(_values(view)), key=len, reverse=True):
        text = text.replace(value, HIDDEN)
    return text


def _values(view: View) -> Iterator[str]:
    for secret in view.all("", "Secret"):
        for encoded in (secret.get("data") or {}).values():
            try:
                value = base64.b64decode(encoded).decode(errors="replace")
            except (binascii.Error, ValueError):
                continue
            # A program may print a key of many lines one by one, or as it was given.
            yield from (each for each in (value.strip(), *map(str.strip, value.splitlines())) if len(each) >= SHORTEST)
            if len(encoded) >= SHORTEST:
                yield encoded
