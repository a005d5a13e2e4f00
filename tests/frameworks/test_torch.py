"""torch on two nodes × two processes: the numbers are those that one process comes to."""

import threading
import time
from collections.abc import Callable

import pytest

from tests.frameworks.conftest import PATIENCE, PROGRAMS, Lab

DDP = str(PROGRAMS / "ddp.py")
SIZE = ("--nodes", "2", "--nproc", "2", "--image", "torch/test")


@pytest.fixture(scope="module")
def torch(lab: Lab) -> Lab:
    lab.up("torch")
    return lab


def test_ddp_comes_to_the_weights_of_one_process(torch: Lab) -> None:
    said = torch.run(*SIZE, "--job-name", "ddp", DDP)
    assert said["world"] == 4
    assert said["ranks"] == 6
    assert said["difference"] < 1e-5
    assert said["loss"] < 0.1
    assert (torch.clusters.folder() / "jobs" / "default" / "ddp" / "output" / "model.pt").stat().st_size > 0


def test_fsdp_holds_a_part_on_each_rank_and_comes_to_the_same(torch: Lab) -> None:
    said = torch.run(*SIZE, str(PROGRAMS / "fsdp.py"))
    assert said["world"] == 4
    assert said["parts"] > 3
    assert said["difference"] < 1e-5


def test_deepspeed_zero_learns(torch: Lab) -> None:
    said = torch.run(*SIZE, str(PROGRAMS / "zero.py"))
    assert said["world"] == 4
    assert said["last"] < said["first"] / 2


def test_two_jobs_with_the_same_port_do_not_disturb_each_other(torch: Lab) -> None:
    found: list[dict[str, float]] = []

    def one(name: str) -> None:
        found.append(torch.run("--nodes", "2", "--nproc", "1", "--image", "torch/test", "--job-name", name, DDP))

    threads = [threading.Thread(target=one, args=(name,)) for name in ("left", "right")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert [said["world"] for said in found] == [2, 2]
    assert all(said["difference"] < 1e-5 for said in found)


def test_an_elastic_job_grows_shrinks_and_survives_the_loss_of_a_worker_and_of_a_pod(torch: Lab) -> None:
    """The steps go on from the last checkpoint, whoever comes and goes, and are counted once each."""
    clusters = torch.clusters
    words = ("--elastic", "1:2", "--nodes", "1", "--nproc", "1", "--image", "torch/test", "--job-name", "elastic")
    clusters.run("run", *words, "--detach", "-e", "STEPS=40", "-e", "HELD=20", str(PROGRAMS / "elastic.py"))
    reached(torch, lambda lines: "world 1 from step 0" in lines)
    reached(torch, lambda lines: any(line.startswith("step 3 ") for line in lines))
    clusters.run("scale", "elastic", "--nodes", "2")
    reached(torch, lambda lines: _both(lines) >= 1)
    clusters.run(
        "exec", "--rank", "1", "elastic", "--", "sh", "-c", "kill -9 $(pgrep -f 'elastic.py$' | tail -1)", code=None
    )
    before = _both(reached(torch, lambda lines: _both(lines) >= 2))
    second = "jobset.sigs.k8s.io/jobset-name=elastic,batch.kubernetes.io/job-completion-index=1"
    clusters.kubectl("delete", "pod", "-l", second, "--force", "--grace-period=0")
    reached(torch, lambda lines: _both(lines) > before)
    clusters.run("scale", "elastic", "--nodes", "1")
    reached(torch, lambda lines: _last_world(lines) == 1)
    (clusters.folder() / "jobs" / "default" / "elastic" / "output" / "go-on").touch()
    lines = reached(torch, lambda lines: any(line.startswith("result") for line in lines))
    steps = [int(line.split()[1]) for line in lines if line.startswith("step ")]
    begun = [int(line.rsplit(" ", 1)[1]) for line in lines if line.startswith("world ")]
    assert begun == sorted(begun)
    assert begun[1] > 0
    assert set(steps) == set(range(1, 41))
    assert '"step": 40, "total": 40.0' in lines[-1]


def _both(lines: list[str]) -> int:
    """How often both nodes have begun together."""
    return sum(line.startswith("world 2 from step") for line in lines)


def _last_world(lines: list[str]) -> int:
    return int([line for line in lines if line.startswith("world ")][-1].split()[1])


def reached(torch: Lab, met: Callable[[list[str]], bool]) -> list[str]:
    """What rank 0 has written, once it says what is waited for."""
    until = time.monotonic() + PATIENCE
    while True:
        said = torch.clusters.run("logs", "elastic").stdout
        lines = [line.partition("| ")[2] for line in said.splitlines()]
        if met(lines):
            return lines
        assert time.monotonic() < until, said
        time.sleep(0.5)
