"""Which process a rank is, and whether a job may be profiled."""

from dataclasses import replace
from typing import Any

import pytest

from trainplane.sdk.profile import Answer, Process, choose, is_enabled, is_starting, refusal, trainers


def process(pid: int, *, place: int = 0, parent: int = 0, **rest: Any) -> Process:
    return Process(f"pod-{place}", place, pid, parent, rest.pop("cpu", 1), "python", **rest)


@pytest.mark.parametrize(
    ("processes", "rank", "pid"),
    [
        pytest.param([process(5), process(5, place=1)], 1, 5, id="a process in each pod: the pod's place"),
        pytest.param([process(5)], 1, None, id="no pod at that place"),
        pytest.param(
            [process(5), process(6, parent=5, rank=0), process(7, parent=5, rank=1)], 1, 7, id="torchrun's workers"
        ),
        pytest.param(
            [process(5), process(6, parent=5, rank=2, place=1), process(7, parent=5, rank=3, place=1)],
            1,
            None,
            id="ranks are told, and this one is not among them",
        ),
        pytest.param([process(6, rank=0), process(9, parent=6, rank=0, cpu=99)], 0, 6, id="not its loader of data"),
        pytest.param([process(1, own=False, cpu=99), process(5)], 0, 5, id="not the one that minds the container"),
        pytest.param([process(1, own=False)], 0, 1, id="that one, where it is all there is"),
        pytest.param([process(5), process(6, cpu=50)], 0, 6, id="of two the busier"),
        pytest.param([], 0, None, id="nobody runs Python"),
    ],
)
def test_the_process_of_a_rank(processes: list[Process], rank: int, pid: int | None) -> None:
    found = choose(processes, rank)
    assert (found.pid if found else None) == pid


def test_torchrun_is_not_one_of_its_ranks() -> None:
    launcher = replace(process(5), command="python /env/bin/torchrun train.py")
    assert is_starting([launcher])
    assert not is_starting([launcher, process(6, parent=5, rank=0)])
    assert not is_starting([process(5)])


@pytest.mark.parametrize(
    ("annotation", "variable", "is_so"),
    [("true", False, True), ("false", False, False), (None, True, True), (None, False, False)],
)
def test_the_job_or_its_runtime_enables_it(annotation: str | None, variable: bool, is_so: bool) -> None:
    job = {"metadata": {"annotations": {"ome.io/profiling-enabled": annotation} if annotation else None}}
    env = [{"name": "TRAINPLANE_PROFILER_ADDRESS", "value": "127.0.0.1:8081"}] if variable else None
    assert is_enabled(job, {"spec": {"containers": [{"name": "node", "env": env}]}}) == is_so


def test_only_running_pods_of_the_trainer_are_asked() -> None:
    def pod(name: str, step: str, phase: str) -> dict[str, Any]:
        labels = {"trainer.kubeflow.org/trainjob-ancestor-step": step}
        return {"metadata": {"name": name, "labels": labels}, "status": {"phase": phase}}

    pods = [pod("a", "dataset-initializer", "Running"), pod("b", "trainer", "Running"), pod("c", "trainer", "Failed")]
    assert [each["metadata"]["name"] for each in trainers(pods)] == ["b"]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "Permission Denied: Try running again with elevated permissions by going 'sudo env \"PATH=$PATH\" !!'",
            "may not be looked into; add the capability SYS_PTRACE to the trainer's container, or set the node's",
        ),
        (
            "Error: Failed to get process executable name. Check that the process is running.\n\nCaused by:\n  0: No",
            "ended before it could be profiled; profile a job that still runs",
        ),
        (
            "Error: Unsupported version of Python: 9.9\nStack backtrace:\n 0: x",
            "Unsupported version of Python: 9.9; see",
        ),
    ],
)
def test_what_py_spy_says_becomes_a_cause_and_a_remedy(said: str, told: str) -> None:
    assert told in refusal(Answer(1, b"", said), process(5))
