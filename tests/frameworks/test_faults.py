"""torch when somebody is killed or hangs: training resumes from its checkpoint, or the report names who and how."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.frameworks.conftest import PATIENCE, PROGRAMS, Lab
from tests.node.faults import below, until

SIZE = ("--nodes", "2", "--nproc", "1", "--image", "torch/test")
STEPS, HELD = "25", "10"


@pytest.fixture(scope="module")
def torch(lab: Lab) -> Lab:
    lab.up("torch", nodes=2)
    return lab


@contextmanager
def training(lab: Lab, name: str) -> Iterator["subprocess.Popen[str]"]:
    """A run that has come to its third step, and does not come to its end before it is told to go on."""
    size = ("-e", f"STEPS={STEPS}", "-e", f"HELD={HELD}")
    words = ("run", *SIZE, "--job-name", name, *size, str(PROGRAMS / "elastic.py"))
    with subprocess.Popen(
        [sys.executable, "-m", "trainplane", *words],
        cwd=lab.clusters.home,
        env=lab.clusters.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as running:
        try:
            until(lambda: step(lab, name) >= 3 or running.poll() is not None, "the third step", within=PATIENCE)
            yield running
        finally:
            running.kill()


def output(lab: Lab, name: str) -> Path:
    return lab.clusters.folder() / "jobs" / "default" / name / "output"


def step(lab: Lab, name: str) -> int:
    file = output(lab, name) / "checkpoint.json"
    return int(json.loads(file.read_text())["step"]) if file.exists() else 0


def cluster_process(lab: Lab) -> int:
    return int(json.loads((lab.clusters.folder() / "up.json").read_text())["pid"])


def test_a_collective_that_one_rank_does_not_come_to_is_named(torch: Lab) -> None:
    words = ("run", *SIZE, "--job-name", "hang", str(PROGRAMS / "hang.py"))
    done = torch.clusters.run(*words, code=None, patience=PATIENCE)
    assert done.returncode not in (0, None)
    assert "failed first: collective timeout" in done.stderr
    assert "what to do: look at the rank that does not answer" in done.stderr


def test_a_killed_rank_is_named(torch: Lab) -> None:
    with training(torch, "killed") as running:
        last = [pid for pid in below(cluster_process(torch)) if _ranks(pid) == "1"]
        assert last
        os.kill(last[-1], signal.SIGKILL)
        said = running.communicate(timeout=PATIENCE)[0]
    assert running.returncode == 137, said
    assert "killed failed: rank 1 (pod killed-node-0-1-" in said
    assert "failed first: signal 9" in said


def test_training_goes_on_from_its_checkpoint_after_the_cluster_was_killed(torch: Lab) -> None:
    with training(torch, "resumed") as running:
        os.kill(cluster_process(torch), signal.SIGKILL)
        assert running.wait(PATIENCE) == 1
    (output(torch, "resumed") / "go-on").touch()
    torch.up("torch", nodes=2)
    torch.clusters.run("wait", "resumed", "--timeout", f"{PATIENCE:.0f}s", patience=PATIENCE)
    said = torch.clusters.run("logs", "resumed").stdout
    begun = [int(line.rsplit(" ", 1)[1]) for line in said.splitlines() if " from step " in line]
    assert begun[0] == 0
    assert begun[-1] >= 3
    assert f"step {STEPS} world 2" in said


def _ranks(pid: int) -> str:
    """The rank of a worker of torch; "" for any other process."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return ""
    found = dict(each.decode(errors="replace").partition("=")[::2] for each in variables)
    return found.get("RANK", "") if any(word.endswith(b"elastic.py") for word in words) else ""
