"""Whatever process of the system is killed while a job trains, it resumes or ends with its cause, and nothing stays.

`TRAINPLANE_FAULTS` says how many rounds are played, `TRAINPLANE_SEED` of which seed, and `TRAINPLANE_VICTIMS` who is
killed.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.clusters import Clusters
from tests.node.faults import below, groups_of, links, marked, mounts_of, until
from tests.node.plain_user import passes_as_plain
from tests.patience import PATIENCE

ROUNDS = int(os.environ.get("TRAINPLANE_FAULTS", "5"))
SEED = int(os.environ.get("TRAINPLANE_SEED", "7"))
STEPS = 10
SCRIPT = f"""
import os, pathlib, time
rank, output = os.environ["JOB_COMPLETION_INDEX"], pathlib.Path(os.environ["TRAINPLANE_OUTPUT"])
checkpoint = output / f"steps-{{rank}}"
done = len(checkpoint.read_text().splitlines()) if checkpoint.exists() else 0
for step in range(done, {STEPS}):
    with checkpoint.open("a") as file:
        file.write(f"{{step}}\\n")
    while step > {STEPS // 2} and not (output / "go-on").exists():
        time.sleep(0.02)
    time.sleep(0.05)
"""
VICTIMS = {
    "cluster": "the cluster itself",
    "waiter": "trainplane-pods",
    "fork server": "trainplane-fork",
    "pod": "minder",
    "program": "",
}
"""What can be killed, by what the kernel calls it; a program's name is its own."""

CHOSEN = [name for name in VICTIMS if name in os.environ.get("TRAINPLANE_VICTIMS", ",".join(VICTIMS)).split(",")]


@pytest.fixture
def clusters(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clusters]:
    """A home for a cluster, with a script to train."""
    made = Clusters(tmp_path, tmp_path_factory.getbasetemp().parent / "compiled")
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "train.py").write_text(SCRIPT, encoding="utf-8")
    try:
        yield made
    finally:
        made.end()


def cluster_process(clusters: Clusters) -> int:
    return int(json.loads((clusters.folder() / "up.json").read_text())["pid"])


def steps(clusters: Clusters, job: str, rank: int) -> list[int]:
    file = clusters.folder() / "jobs" / "default" / job / "output" / f"steps-{rank}"
    return [int(line) for line in file.read_text().splitlines()] if file.exists() else []


def play(clusters: Clusters, job: str, victim: str, dice: random.Random) -> None:
    """Train, kill somebody meanwhile, and hold the job to its end."""
    mark = f"fault-mark-{job}-{os.getpid()}"
    words = ("run", "--runtime", "plain", "--nodes", "2", "--job-name", job, "-e", f"MARK={mark}", "code/train.py")
    with subprocess.Popen(
        [sys.executable, "-m", "trainplane", *words],
        cwd=clusters.home,
        env=clusters.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as running:
        try:
            until(lambda: steps(clusters, job, 0) or running.poll() is not None, "the training begins")
            time.sleep(dice.random())
            cluster = cluster_process(clusters)
            there = {cluster: VICTIMS["cluster"]} if victim == "cluster" else below(cluster)
            chosen = [pid for pid, name in there.items() if name == VICTIMS[victim]]
            if victim == "program":
                chosen = [pid for pid in marked(mark) if pid in there and there[pid] not in VICTIMS.values()]
            if not chosen:
                pytest.skip(f"there is no {victim} here: pods are not isolated on this machine")
            os.kill(dice.choice(chosen), signal.SIGKILL)
            (clusters.folder() / "jobs" / "default" / job / "output" / "go-on").touch()
            said = running.communicate(timeout=3 * PATIENCE)[0]
        finally:
            running.kill()
    if victim == "cluster":
        assert running.returncode == 1, said
        clusters.up("--nodes", "2")
        clusters.run("wait", job, "--timeout", f"{PATIENCE:.0f}s")
    if victim in ("pod", "program"):
        # Its own process is gone, and the runtime allows no second attempt: the report says which and how.
        assert running.returncode == 137, said
        assert "failed first: signal 9" in said
        assert "what to do: see who ended it" in said
        assert "signal 9" in clusters.run("why", job).stdout
    else:
        assert victim == "cluster" or running.returncode == 0, said
        assert [steps(clusters, job, rank) for rank in (0, 1)] == [list(range(STEPS))] * 2
    until(lambda: not marked(mark), "the last process of the job ends")


def test_a_job_outlives_the_death_of_any_process(clusters: Clusters) -> None:
    before, dice = links(), random.Random(SEED)
    clusters.up("--nodes", "2")
    order: list[str] = []
    while len(order) < ROUNDS:
        order += dice.sample(CHOSEN, len(CHOSEN))
    for number, victim in enumerate(order[:ROUNDS]):
        play(clusters, f"job-{number}", victim, dice)
    nothing_stays(clusters, before)


@pytest.mark.skipif(os.geteuid() != 0, reason="the tests run as an ordinary user already")
def test_so_do_the_jobs_of_an_ordinary_user() -> None:
    # Those whose death the job outlives make it wait 20 seconds, as on Kubernetes: `make soak` has time for them.
    quick = {"TRAINPLANE_FAULTS": "2", "TRAINPLANE_VICTIMS": "pod,program"}
    whole = {"TRAINPLANE_FAULTS": str(len(VICTIMS)), "TRAINPLANE_SEED": str(SEED)}
    asked = whole if "TRAINPLANE_FAULTS" in os.environ else quick
    passes_as_plain("-k", "outlives", str(Path(__file__)), **asked)


def nothing_stays(clusters: Clusters, before: set[str]) -> None:
    """Stop the cluster, and look for what it leaves."""
    processes, groups = below(cluster_process(clusters)), groups_of(clusters.folder())
    clusters.run("down")
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in processes), "all processes end")
    assert mounts_of(clusters.folder()) == []
    assert links() == before
    assert not any(group.exists() for group in groups)
    assert os.listdir(clusters.folder() / "node" / "pods") == []
