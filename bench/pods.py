"""How long a pod takes to start in namespaces of its own, one alone and many at once; what an idle Runner costs."""

import asyncio
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from bench.measure import Row
from trainplane.api.ref import Ref
from trainplane.node.namespaced.client import Unable
from trainplane.node.namespaced.runner import NamespacedRunner
from trainplane.node.runner import Box, Program, Stdio

SLEEP = shutil.which("sleep") or "/bin/sleep"
MANY = 50
IDLE_SECONDS = 5.0


def pods(*, rounds: int) -> list[Row]:
    """A box and a container that runs, from the request to the word that it runs; the baseline is a plain process."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_measured(Path(folder), rounds=rounds))


async def _measured(folder: Path, *, rounds: int) -> list[Row]:
    runner = NamespacedRunner(folder / "runner")
    try:
        await runner.sweep()
    except Unable as error:
        raise RuntimeError(f"pods cannot be measured here: {error}") from error
    try:
        alone, plain = await _one_by_one(runner, folder, rounds=rounds)
        together = [await _together(runner, folder, number) for number in range(max(3, rounds // 8))]
        idle = await _idle(runner)
    finally:
        await runner.close()
    p50, p95 = statistics.median(alone), sorted(alone)[int(len(alone) * 0.95)]
    nothing, at_once = statistics.median(plain), statistics.median(together)
    return [
        Row(
            what="a pod in namespaces, from request to running, p50",
            figure=f"{p50 * 1000:.1f} ms (p95 {p95 * 1000:.1f} ms)",
            aim="20 ms",
            baseline=f"a plain process: {nothing * 1000:.1f} ms",
            ratio=f"{p50 / nothing:.1f}×",
            reached=p50 <= 0.020,
        ),
        Row(
            what=f"{MANY} such pods at once, until the last one runs",
            figure=f"{at_once:.2f} s",
            aim="under 3 s",
            baseline=f"{MANY} plain processes: {MANY * nothing:.2f} s",
            ratio=f"{at_once / (MANY * nothing):.1f}×",
            reached=at_once < 3,
        ),
        Row(
            what="the Runner and its fork server, idle",
            figure=f"{idle * 100:.2f}% of a core",
            aim="under 1%",
            baseline="nothing",
            ratio="",
            reached=idle < 0.01,
        ),
    ]


def _box(folder: Path, name: str) -> Box:
    own = folder / name
    own.mkdir()
    return Box(Ref("", "Pod", "bench", name), name, name, own, domain="job.bench.svc.cluster.local")


async def _start(runner: NamespacedRunner, box: Box) -> None:
    await runner.make(box)
    with open(os.devnull, "r+b") as nothing:
        stdio = Stdio(nothing.fileno(), nothing.fileno(), nothing.fileno())
        await runner.start(box, Program("main", (SLEEP, "600"), {"PATH": os.defpath}), stdio)


async def _one_by_one(runner: NamespacedRunner, folder: Path, *, rounds: int) -> tuple[list[float], list[float]]:
    alone, plain = list[float](), list[float]()
    for number in range(rounds + 1):
        box = _box(folder, f"alone-{number}")
        start = time.perf_counter()
        await _start(runner, box)
        alone.append(time.perf_counter() - start)
        await runner.remove(box)
        start = time.perf_counter()
        with subprocess.Popen([SLEEP, "600"]) as process:
            plain.append(time.perf_counter() - start)
            process.kill()
    # The first one pays for what is kept for all others.
    return alone[1:], plain[1:]


async def _together(runner: NamespacedRunner, folder: Path, number: int) -> float:
    boxes = [_box(folder, f"together-{number}-{each}") for each in range(MANY)]
    start = time.perf_counter()
    async with asyncio.TaskGroup() as tasks:
        for box in boxes:
            tasks.create_task(_start(runner, box))
    taken = time.perf_counter() - start
    async with asyncio.TaskGroup() as tasks:
        for box in boxes:
            tasks.create_task(runner.remove(box))
    return taken


async def _idle(runner: NamespacedRunner) -> float:
    """The share of a core that the Runner and its processes use while nothing happens."""
    pids = (os.getpid(), *runner.processes)
    before = [_busy(pid) for pid in pids]
    await asyncio.sleep(IDLE_SECONDS)
    return sum(_busy(pid) - was for pid, was in zip(pids, before, strict=True)) / IDLE_SECONDS


def _busy(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
