"""torch on two nodes × two processes: the numbers are those that one process comes to."""

import threading

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
