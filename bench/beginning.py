"""How long a cluster takes from the command to its readiness, with new data and with what was there before."""

import json
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
        apart = [_detached(Path(folder) / "again") for _ in range(rounds)]
        alone = [_embedded(Path(folder) / f"alone-{number}") for number in range(rounds)]
    return [
        _row("`trainplane up` until it is ready, new data", new, nothing),
        _row("`trainplane up` until it is ready, data of a cluster that was stopped", again, nothing),
        _row("`trainplane up --detach` until it returns, the same data", apart, nothing),
        _row("`embed.running` until it is ready, new data, all imported", alone, nothing),
    ]


def _row(what: str, found: list[tuple[float, float]], nothing: float) -> Row:
    seconds, busy = (statistics.median(column) for column in zip(*found, strict=True))
    return Row(
        what=what,
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
        busy = _busy(process.pid)
        process.send_signal(signal.SIGTERM)
        if process.wait(60):
            raise RuntimeError(f"trainplane up left with {process.returncode}")
    return taken, busy


def _busy(process: int) -> float:
    """The processor's seconds that a process had so far."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _detached(data: Path) -> tuple[float, float]:
    """Start a cluster in the background: seconds by the clock and of the processor until the command returns."""
    start = time.perf_counter()
    before = os.times()
    subprocess.run(
        [TRAINPLANE, "up", "--detach", "--data", str(data)], env=ENVIRONMENT, capture_output=True, check=True
    )
    taken, after = time.perf_counter() - start, os.times()
    served = json.loads((data / "store" / "lock").read_text(encoding="utf-8"))
    busy = _busy(served["pid"])
    subprocess.run([TRAINPLANE, "down", "--data", str(data)], env=ENVIRONMENT, capture_output=True, check=True)
    children = after.children_user + after.children_system - before.children_user - before.children_system
    return taken, busy + children


EMBEDDED = """
import asyncio, sys, time
from pathlib import Path
from trainplane.embed import Config, running

async def main():
    start, busy = time.perf_counter(), time.process_time()
    async with running(Config(Path(sys.argv[1]))):
        print(time.perf_counter() - start, time.process_time() - busy)

asyncio.run(main())
"""


def _embedded(data: Path) -> tuple[float, float]:
    """Have a program embed a cluster: seconds by the clock and of the processor until it serves."""
    command = [sys.executable, "-c", EMBEDDED, str(data)]
    said = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=True).stdout
    seconds, busy = map(float, said.split())
    return seconds, busy
