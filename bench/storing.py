"""The Store measured: creating, listing, watching and starting, on the disk that holds temporary files."""

import asyncio
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Coroutine, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import orjson

from bench.measure import ENVIRONMENT, Row
from trainplane.cluster.log import Forgetful, Key, Write, body
from trainplane.cluster.sqlite import Disk
from trainplane.cluster.store import Store, Watch

WRITERS = 64
WATCHERS = 50
OBJECTS = 10_000
LISTED = 5_000
ROUNDS = 5
T = TypeVar("T")


def pod(number: int) -> dict[str, Any]:
    """A pod of about 2 kB, as a training job makes them."""
    env = [{"name": f"VARIABLE_{i}", "value": f"some-value-{i}-{number}"} for i in range(32)]
    container = {"name": "node", "image": "example.com/research/trainer:2.3", "env": env}
    labels = {"jobset.sigs.k8s.io/jobset-name": f"train-{number // 8}", "team": "vision"}
    metadata = {"name": f"train-{number}", "namespace": "research", "labels": labels, "generation": 1}
    status = {"phase": "Running", "conditions": [{"type": t, "status": "True"} for t in ("Ready", "PodScheduled")]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [container]},
        "status": status,
    }


def create(number: int) -> Write:
    """The wish for a pod, encoded."""
    return Write(Key("pods", "research", f"train-{number}"), body(pod(number)), 0)


async def running(store: Store, work: Coroutine[Any, Any, T]) -> T:
    """Do the work while the store makes writes."""
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(store.run())
        done = await work
        store.close()
    return done


async def fill(store: Store, *, objects: int, writers: int = WRITERS) -> list[float]:
    """Create pods, that many writers at a time; returns how long each create took."""
    numbers, taken = iter(range(objects)), []

    async def write(numbers: Iterator[int]) -> None:
        for number in numbers:
            start = time.perf_counter()
            await store.write(create(number))
            taken.append(time.perf_counter() - start)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(writers):
            tasks.create_task(write(numbers))
    return taken


def _created(folder: Path, *, objects: int, writers: int) -> tuple[float, list[float]]:
    with Disk(folder, now=time.time) as disk:
        store = Store(disk, now=time.time)
        start = time.perf_counter()
        taken = asyncio.run(running(store, fill(store, objects=objects, writers=writers)))
        return objects / (time.perf_counter() - start), sorted(taken)


def _one_by_one(file: Path, *, objects: int) -> float:
    """Creates per second when each has a transaction of its own, as plain SQLite does it."""
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("CREATE TABLE log (revision INTEGER PRIMARY KEY, name TEXT, value BLOB)")
        start = time.perf_counter()
        for number in range(objects):
            db.execute("INSERT INTO log VALUES (?, ?, ?)", (number, f"train-{number}", orjson.dumps(pod(number))))
        return objects / (time.perf_counter() - start)


def creating() -> Row:
    """Durable creates per second of many writers, beside plain SQLite with one transaction each."""
    rates, plain, taken = [], [], []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            rate, times = _created(Path(folder) / "data", objects=5_000, writers=WRITERS)
            rates.append(rate)
            taken.append(times)
            plain.append(_one_by_one(Path(folder) / "plain.db", objects=200))
    rate, one = statistics.median(rates), statistics.median(plain)
    p50, p99 = (statistics.median(times[len(times) * part // 100] for times in taken) * 1000 for part in (50, 99))
    return Row(
        what=f"durable creates of a 2 kB pod in process, {WRITERS} writers (p50 {p50:.1f} ms, p99 {p99:.1f} ms)",
        figure=f"{rate:,.0f}/s",
        aim="at least 2,500/s",
        baseline=f"SQLite, a transaction each: {one:,.0f}/s",
        ratio=f"{rate / one:.1f}× as many",
        reached=rate >= 2_500,
    )


def listing() -> Row:
    """List pods and join their JSON, beside encoding the same objects."""
    store = Store(Forgetful(), now=time.time)
    asyncio.run(running(store, fill(store, objects=LISTED)))
    objects = [pod(number) for number in range(LISTED)]
    times, plain = [], []
    for _ in range(21):
        start = time.perf_counter()
        b",".join([item.value for item in store.list("pods", namespace="research").items])
        times.append(time.perf_counter() - start)
        start = time.perf_counter()
        orjson.dumps(objects)
        plain.append(time.perf_counter() - start)
    figure, baseline = statistics.median(times), statistics.median(plain)
    return Row(
        what=f"list {LISTED:,} pods in process, to bytes",
        figure=f"{figure * 1000:.1f} ms",
        aim="under 120 ms over HTTPS",
        baseline=f"orjson.dumps of them: {baseline * 1000:.1f} ms",
        ratio=f"{figure / baseline:.2f}×",
        reached=figure < 0.12,
    )


async def _watch(watch: Watch, until: int) -> int:
    told = size = 0
    async for changes in watch:
        for change in changes:
            told += 1
            size += len(change.value)
        if changes[-1].revision >= until:
            break
    return told


async def _fan_out(store: Store, *, events: int) -> float:
    start = time.perf_counter()
    async with asyncio.TaskGroup() as tasks:
        watchers = [tasks.create_task(_watch(store.watch("pods", since=0), events)) for _ in range(WATCHERS)]
        await fill(store, objects=events)
    return sum(task.result() for task in watchers) / (time.perf_counter() - start)


def watching() -> Row:
    """Events that watchers get while pods are created on disk, beside one event and one queue for each of them."""
    rates, plain = [], []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder, Disk(Path(folder) / "data", now=time.time) as disk:
            store = Store(disk, now=time.time)
            rates.append(asyncio.run(running(store, _fan_out(store, events=2_000))))
            plain.append(asyncio.run(_queues(events=2_000)))
    rate, baseline = statistics.median(rates), statistics.median(plain)
    return Row(
        what=f"watch events delivered to {WATCHERS} watchers while pods are created, in process",
        figure=f"{rate:,.0f}/s",
        aim="at least 20,000/s",
        baseline=f"a queue for each watcher, nothing stored: {baseline:,.0f}/s",
        ratio=f"{rate / baseline:.2f}×",
        reached=rate >= 20_000,
    )


async def _queues(*, events: int) -> float:
    queues: list[asyncio.Queue[int]] = [asyncio.Queue() for _ in range(WATCHERS)]

    async def take(queue: asyncio.Queue[int]) -> None:
        for _ in range(events):
            await queue.get()

    start = time.perf_counter()
    async with asyncio.TaskGroup() as tasks:
        for queue in queues:
            tasks.create_task(take(queue))
        for number in range(events):
            for queue in queues:
                queue.put_nowait(number)
            await asyncio.sleep(0)
    return events * WATCHERS / (time.perf_counter() - start)


STARTED = """
import re, sys, time
from pathlib import Path
from trainplane.cluster.sqlite import Disk
from trainplane.cluster.store import Store
start = time.perf_counter()
with Disk(Path(sys.argv[1]), now=time.time) as disk:
    store = Store(disk, now=time.time)
    seconds = time.perf_counter() - start
    # Not getrusage: its maximum counts what the parent held when it forked.
    most = re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text()).group(1)
    print(seconds, store.count("pods"), most)
"""


def starting() -> list[Row]:
    """How long a store of many objects takes to open, and what memory it holds, beside reading the rows alone."""
    with tempfile.TemporaryDirectory() as folder:
        _created(Path(folder) / "data", objects=OBJECTS, writers=WRITERS)
        found, plain = [], []
        for _ in range(ROUNDS):
            said = subprocess.run(
                [sys.executable, "-c", STARTED, f"{folder}/data"],
                env=ENVIRONMENT,
                capture_output=True,
                text=True,
                check=True,
            ).stdout.split()
            found.append((float(said[0]), int(said[2])))
            start = time.perf_counter()
            with closing(sqlite3.connect(f"{folder}/data/store.db")) as db:
                size = sum(len(row[4] or b"") for row in db.execute("SELECT * FROM log"))
            plain.append(time.perf_counter() - start)
    seconds, baseline = statistics.median(each[0] for each in found), statistics.median(plain)
    memory = statistics.median(each[1] for each in found) / 1024
    return [
        Row(
            what=f"open a store of {OBJECTS:,} pods, every row checked",
            figure=f"{seconds * 1000:.0f} ms",
            aim="under 300 ms",
            baseline=f"reading the rows alone: {baseline * 1000:.0f} ms",
            ratio=f"{seconds / baseline:.1f}×",
            reached=seconds < 0.3,
        ),
        Row(
            what=f"resident memory with {OBJECTS:,} pods, all in the history too",
            figure=f"{memory:.0f} MB",
            aim="under 150 MB",
            baseline=f"their JSON: {size / 1e6:.0f} MB",
            ratio=f"{memory / (size / 1e6):.1f}×",
            reached=memory < 150,
        ),
    ]


def storing() -> list[Row]:
    """Everything about the Store."""
    return [creating(), listing(), watching(), *starting()]
