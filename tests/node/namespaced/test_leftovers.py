"""Nothing is left behind: whatever way the Runner ends, the next start finds and ends the rest."""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.node.namespaced.boxes import links_of_pods, mark, town
from tests.patience import PATIENCE
from tests.places import ROOT
from trainplane.node.namespaced.leftovers import Notes
from trainplane.node.namespaced.runner import NamespacedRunner

LIFE = """
import asyncio, sys
from pathlib import Path
from tests.node.namespaced.boxes import Town
from trainplane.node.namespaced.runner import NamespacedRunner

async def main():
    folder = Path(sys.argv[1])
    runner = NamespacedRunner(folder / "runner")
    await runner.sweep()
    print("begun", flush=True)
    here = Town(runner, folder)
    number = 0
    while True:
        pods = []
        for _ in range(3):
            number += 1
            script = f"setsid sleep {sys.argv[2]} & sleep {sys.argv[2]}"
            pods.append(await here.pod(f"p{number}", "sh", "-c", script, memory=1 << 28))
            print("pod", flush=True)
        await asyncio.sleep(0.05)
        await runner.remove(pods[0].box)

asyncio.run(main())
"""


def _life(folder: Path, seconds: str) -> "subprocess.Popen[str]":
    places = os.pathsep.join([str(ROOT), *sys.path])
    return subprocess.Popen(
        [sys.executable, "-c", LIFE, str(folder), seconds],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": places},
    )


def _running(argument: str) -> list[int]:
    found = []
    for each in Path("/proc").iterdir():
        try:
            if each.name.isdigit() and argument.encode() in (each / "cmdline").read_bytes().split(b"\0"):
                found.append(int(each.name))
        except OSError:
            continue
    return found


def _mounts() -> set[str]:
    return set(Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines())


def _gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def _wait(condition: Callable[[], bool], seconds: float = PATIENCE) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s"
        time.sleep(0.02)


@pytest.mark.parametrize("victim", ["runner", "fork server", "its parent", "all"])
@pytest.mark.parametrize("seed", range(2))
def test_a_death_at_any_moment_leaves_nothing(tmp_path: Path, victim: str, seed: int) -> None:
    ours, links, mounts = mark(), links_of_pods(), _mounts()
    with _life(tmp_path, ours) as life:
        assert life.stdout
        if not life.stdout.readline():
            pytest.skip("the machine refuses namespaces")
        known = json.loads((tmp_path / "runner" / "server.json").read_text(encoding="utf-8"))
        pids = [int(pid) for pid in known["pids"]]
        life.stdout.readline()
        time.sleep(random.Random(seed).random() * 0.5)
        victims = {"runner": [life.pid], "fork server": pids[1:], "its parent": pids[:1], "all": [life.pid, *pids]}
        for pid in victims[victim]:
            os.kill(pid, signal.SIGKILL)
        _wait(lambda: all(_gone(pid) for pid in pids))
        life.kill()

    async def next_life() -> list[str]:
        runner = NamespacedRunner(tmp_path / "runner")
        ended = await runner.sweep()
        assert not [each for folder in known["groups"] for each in Path(folder).glob("uid-*")]
        await runner.close()
        return list(ended)

    asyncio.run(next_life())
    assert _running(ours) == []
    assert all(_gone(pid) for pid in pids)
    assert not any(Path(folder).exists() for folder in known["groups"])
    assert links_of_pods() == links
    assert not [line for line in _mounts() - mounts if str(tmp_path) in line]
    assert list((tmp_path / "runner" / "boxes").iterdir()) == []


def test_the_next_life_reports_the_pods_that_it_ended(tmp_path: Path) -> None:
    with _life(tmp_path, mark()) as life:
        assert life.stdout
        if not life.stdout.readline():
            pytest.skip("the machine refuses namespaces")
        life.stdout.readline()
        life.kill()

    async def story() -> list[str]:
        runner = NamespacedRunner(tmp_path / "runner")
        ended = await runner.sweep()
        again = await runner.sweep()
        await runner.close()
        assert list(again) == []
        return list(ended)

    assert "uid-ml-p1" in asyncio.run(story())


def test_the_end_of_the_runner_alone_ends_its_pods_at_once(tmp_path: Path) -> None:
    ours = mark()
    with _life(tmp_path, ours) as life:
        assert life.stdout
        if not life.stdout.readline():
            pytest.skip("the machine refuses namespaces")
        life.stdout.readline()
        life.kill()
    _wait(lambda: not _running(ours))


def test_a_note_about_another_process_of_the_same_number_harms_nobody(tmp_path: Path) -> None:
    notes = Notes(tmp_path)
    with subprocess.Popen(["sleep", "600"]) as stranger:
        notes.server([stranger.pid], ())
        text = (tmp_path / "server.json").read_text(encoding="utf-8")
        (tmp_path / "server.json").write_text(text.replace('": "', '": "another boot '), encoding="utf-8")
        notes.made("uid")
        assert notes.sweep() == ["uid"]
        assert stranger.poll() is None
        stranger.kill()


def test_removing_a_box_gives_everything_back(tmp_path: Path) -> None:
    async def story() -> None:
        async with town(tmp_path) as here:
            server = here.runner.processes[1]
            before = len(os.listdir(f"/proc/{server}/fd"))
            for number in range(5):
                pod = await here.pod(f"p{number}", "sleep", "600")
                await here.runner.remove(pod.box)
                await here.runner.remove(pod.box)
            assert len(os.listdir(f"/proc/{server}/fd")) <= before + 1, "a user namespace is kept for the next"

    asyncio.run(story())
