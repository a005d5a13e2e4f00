"""A store whose process is killed at random moments loses nothing it has acknowledged, and doubles nothing."""

import asyncio
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import zlib
from pathlib import Path

import pytest

from tests.cluster.stores import listed, replay
from tests.cluster.writer import KEEP
from tests.patience import PATIENCE
from tests.places import ROOT
from trainplane.cluster.log import Change
from trainplane.cluster.sqlite import Disk
from trainplane.cluster.store import Store

KILLS = int(os.environ.get("TRAINPLANE_KILLS", "20"))
"""How often the process is killed; `make soak` asks for 200."""
LIVES = 5
"""How often it is killed on the same data before a fresh folder is taken."""


def lines_until_killed(folder: Path, dice: random.Random) -> list[list[str]]:
    """Let a process write for a moment, kill it, and return what it said until then."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.cluster.writer", str(folder), str(dice.randrange(1 << 30))],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        os.set_blocking(process.stdout.fileno(), False)
        said = b""
        end, moment = time.monotonic() + PATIENCE, None
        # The moment counts from the first acknowledgement, so that every life is one under load.
        while time.monotonic() < (end if moment is None else moment):
            said += process.stdout.read() or b""
            if moment is None and b"ack" in said:
                moment = time.monotonic() + dice.uniform(0, 0.15)
            assert process.poll() is None, process.stderr.read().decode()
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        os.set_blocking(process.stdout.fileno(), True)
        said += process.stdout.read()
    # The last line may be cut off.
    return [line.split() for line in said.decode().splitlines(keepends=True) if line.endswith("\n")]


async def history(store: Store, since: int) -> list[Change]:
    """Every change after a revision, as a watch that resumes there tells it."""
    watch = store.watch("pods", since=since)
    changes: list[Change] = []
    while watch.revision < store.revision:
        changes += await anext(watch)
    return changes


def life(folder: Path, dice: random.Random) -> int:
    """One life of the process and what is found after it; returns the number of acknowledged writes."""
    said = lines_until_killed(folder, dice)
    acknowledged = [(int(revision), int(check)) for word, revision, check in said if word == "ack"]
    seen = [(int(revision), int(check)) for word, revision, check in said if word == "saw"]
    with Disk(folder, now=time.time) as disk:
        store = Store(disk, now=time.time, keep=KEEP)
        asyncio.run(disk.check())
        everything = asyncio.run(history(store, 0))
        log = {change.revision: zlib.crc32(change.value) for change in everything}
        assert [change.revision for change in everything] == list(range(1, store.revision + 1))
        assert len({revision for revision, _ in acknowledged}) == len(acknowledged)
        assert {revision: log.get(revision) for revision, _ in acknowledged} == dict(acknowledged)
        assert replay(everything, {}) == listed(store)
        if seen:
            # What the watch told before, and what one that resumes tells now, is each change once and in order.
            resumed = asyncio.run(history(store, seen[-1][0]))
            told = [*seen, *((change.revision, zlib.crc32(change.value)) for change in resumed)]
            assert told == [(revision, log[revision]) for revision in range(seen[0][0], store.revision + 1)]
        assert store.revision >= max((revision for revision, _ in [*acknowledged, *seen]), default=0)
    return len(acknowledged)


@pytest.mark.parametrize("folder", range(-(-KILLS // LIVES)))
def test_what_was_acknowledged_survives_being_killed(tmp_path: Path, folder: int) -> None:
    dice = random.Random(folder)
    acknowledged = sum(life(tmp_path / "data", dice) for _ in range(min(LIVES, KILLS - folder * LIVES)))
    assert acknowledged > 0


def test_a_write_is_acknowledged_after_the_disk_has_it(tmp_path: Path) -> None:
    """A killed process leaves its writes to the kernel; only the order of system calls says that the disk has them."""
    if not shutil.which("strace"):
        pytest.skip("needs strace: it shows what the disk was asked for before a write was acknowledged")
    for seconds in ("0.5", "5", "30"):
        # A slow machine needs more time to write as much under a tracer.
        acknowledged, synced = _in_order(_traced(tmp_path, seconds))
        if synced > 5:
            break
    assert acknowledged > synced > 5


def _traced(folder: Path, seconds: str) -> str:
    """What a process asks of the kernel while it writes for a while."""
    trace = folder / f"trace-{seconds}"
    writer = [sys.executable, "-m", "tests.cluster.writer", str(folder / f"data-{seconds}"), "1", seconds]
    calls = "trace=fdatasync,fsync,pwrite64,write"
    traced = subprocess.run(
        ["strace", "-f", "-y", "-e", calls, "-o", str(trace), *writer],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    if "ptrace" in traced.stderr:
        pytest.skip("needs to trace a process of its own, which this machine does not allow")
    assert not traced.returncode, traced.stderr
    return trace.read_text()


def _in_order(trace: str) -> tuple[int, int]:
    """How often a write was acknowledged, each after it was synced, and how often the disk was synced."""
    acknowledged = synced = 0
    unsynced = False
    for call in trace.splitlines():
        if "pwrite64(" in call and "store.db-wal" in call:
            unsynced = True
        # A call that takes long is shown twice, as unfinished and as resumed; the second one ends it.
        elif re.search(r"fdatasync\(\d+<[^>]*store\.db-wal>\) += 0|fdatasync resumed>\) += 0", call):
            unsynced = False
            synced += 1
        elif '"ack ' in call:
            assert not unsynced
            acknowledged += 1
    return acknowledged, synced
