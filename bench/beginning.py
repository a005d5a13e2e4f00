"""How long a cluster takes from the command to its readiness, with new data and with what was there before."""

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.measure import ENVIRONMENT, Row, interleaved

TRAINPLANE = str(Path(sys.executable).parent / "trainplane")
AIM = 0.4


def beginning(*, rounds: int) -> list[Row]:
    """From the command to the line that says it is ready, by the clock; processor time stands beside it."""
    (nothing,) = interleaved([[sys.executable, "-c", "pass"]], rounds=rounds)
    with tempfile.TemporaryDirectory() as folder:
        # One round that is not counted, so that what Python compiles is there.
        _ready(Path(folder) / "again")
        new = [_ready(Path(folder) / f"new-{number}") for number in range(rounds)]
        again = [_ready(Path(folder) / "again") for _ in range(rounds)]
    return [_row("new data", new, nothing), _row("data of a cluster that was stopped", again, nothing)]


def _row(which: str, found: list[tuple[float, float]], nothing: float) -> Row:
    seconds, busy = (statistics.median(column) for column in zip(*found, strict=True))
    return Row(
        what=f"`trainplane up` until it is ready, {which}",
        figure=f"{seconds * 1000:.0f} ms, {busy * 1000:.0f} ms of processor time",
        aim=f"under {AIM * 1000:.0f} ms",
        baseline=f"python -c pass: {nothing * 1000:.0f} ms",
        ratio=f"{seconds / nothing:.1f}×",
        reached=seconds < AIM,
    )


def _ready(data: Path) -> tuple[float, float]:
    """Start a cluster, and stop it when it is ready: seconds by the clock and of the processor until then."""
    start = time.perf_counter()
    with subprocess.Popen(
        [TRAINPLANE, "up", "--data", str(data)],
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout
        process.stdout.readline()
        taken = time.perf_counter() - start
        fields = Path(f"/proc/{process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        process.send_signal(signal.SIGTERM)
        if process.wait(60):
            raise RuntimeError(f"trainplane up left with {process.returncode}")
    return taken, (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
