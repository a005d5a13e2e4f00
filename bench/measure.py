"""Measuring: medians of interleaved runs, so that a busy moment hits the figure and its baseline alike."""

import os
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

# A command that people installed has its bytecode beside it; one that compiles anew each time is not what they run.
ENVIRONMENT = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table: what was measured, the figure, the aim, the baseline, and whether the aim is reached."""

    what: str
    figure: str
    aim: str
    baseline: str
    ratio: str
    reached: bool


def wall(command: Sequence[str]) -> float:
    """Seconds that a command takes from start to end; its output goes nowhere."""
    start = time.perf_counter()
    done = subprocess.run(
        command,
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
    )
    taken = time.perf_counter() - start
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed: {done.stderr.decode(errors='replace')}")
    return taken


def interleaved(commands: Sequence[Sequence[str]], *, rounds: int) -> list[float]:
    """The median seconds of each command; every round runs each of them once, after one round that is not counted."""
    for command in commands:
        wall(command)
    times = [[wall(command) for command in commands] for _ in range(rounds)]
    return [statistics.median(column) for column in zip(*times, strict=True)]


def per_second(call: Callable[[], object], *, rounds: int, seconds: float) -> float:
    """Calls per second of processor time: the median of rounds of about `seconds` each."""
    return rates([call], rounds=rounds, seconds=seconds)[0]


def rates(calls: Sequence[Callable[[], object]], *, rounds: int, seconds: float) -> list[float]:
    """The median calls per second of processor time of each; every round runs each of them for about `seconds`."""
    counts = [_enough(call, seconds) for call in calls]
    found = [[n / _busy(call, n) for call, n in zip(calls, counts, strict=True)] for _ in range(rounds)]
    return [statistics.median(column) for column in zip(*found, strict=True)]


def _busy(call: Callable[[], object], count: int) -> float:
    # Processor time, not wall time: what else the machine does is not the call's doing.
    start = time.process_time()
    for _ in range(count):
        call()
    return time.process_time() - start


def _enough(call: Callable[[], object], seconds: float) -> int:
    """How many calls take about that long."""
    count = 1
    while (taken := _busy(call, count)) < seconds / 4:
        count *= 2
    return max(1, int(count * seconds / taken))


def table(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table, columns aligned for reading as plain text too."""
    head = ("What", "Figure", "Aim", "Baseline, same run", "Ratio", "Reached")
    cells = [head, *((r.what, r.figure, r.aim, r.baseline, r.ratio, "yes" if r.reached else "**no**") for r in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in cells
    ]
    lines.insert(1, "| " + " | ".join("-" * width for width in widths) + " |")
    return "\n".join(lines)
