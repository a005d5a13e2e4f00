"""What is said of a Plan: its numbers, what was replaced, what had no effect, its objects in short."""

from typing import Any

import pytest

from tests.trainjob.worlds import replicated, runtime, trainjob
from trainplane.api.meta import Raw
from trainplane.trainjob.explain import (
    Stage,
    arithmetic,
    in_creation_order,
    replaced,
    short,
    training_pods,
    without,
    without_effect,
)
from trainplane.trainjob.pipeline import build, build_with_blame

GPUS = {"limits": {"nvidia.com/gpu": "8", "cpu": "1500m"}}


def container(name: str = "node", **rest: Any) -> Raw:
    """A container."""
    return {"name": name, "image": "train:1", **rest}


def staged() -> Raw:
    """A runtime whose trainer waits for its data."""
    return runtime(
        {"numNodes": 2, "torch": {"numProcPerNode": 8}},
        replicated(
            "node", container(resources=GPUS), step="trainer", dependsOn=[{"name": "data", "status": "Complete"}]
        ),
        replicated("data", container("fetch", resources={"requests": {"memory": "1Gi"}})),
    )


def test_the_numbers_add_up() -> None:
    sums = arithmetic(build(trainjob({"numNodes": 3}), staged()))
    assert (sums.nodes, sums.procs, sums.processes, sums.world) == (3, "8", 8, 24)
    assert [(part.name, part.role, part.pods) for part in sums.parts] == [("node", "trainer", 3), ("data", "", 1)]
    assert sums.total == {"nvidia.com/gpu": "24", "cpu": "4500m", "memory": "1Gi"}


def test_stages_are_told_in_the_order_in_which_they_start() -> None:
    assert arithmetic(build(trainjob(), staged())).stages == (
        Stage(("data",), ()),
        Stage(("node",), (("data", "Complete"),)),
    )


def test_a_launcher_that_trains_is_counted() -> None:
    policy = {"numNodes": 3, "mpi": {"numProcPerNode": 2, "runLauncherAsNode": True}}
    jobs = replicated("node", container()), replicated("launcher", container(), step="trainer")
    plan = build(trainjob(), runtime(policy, *jobs))
    assert (training_pods(plan), plan.size.world) == (3, 6)


def test_what_was_replaced_is_told_with_both_values() -> None:
    _, chains = build_with_blame(trainjob({"image": "mine:1", "args": ["a", "b"]}), runtime({}, *JOBS))
    told = {each.path[-1]: (each.old, each.new) for each in replaced(chains)}
    assert told == {"image": ("train:1", "mine:1"), "args": (["x", "y"], ["a", "b"])}


def test_amounts_that_are_only_spelt_otherwise_are_not_replaced() -> None:
    _, chains = build_with_blame(trainjob({"resourcesPerNode": {"limits": {"cpu": "1000m"}}}), runtime({}))
    assert replaced(chains) == []


JOBS = (replicated("node", container(args=["x", "y"], env=[{"name": "A", "value": "1"}]), step="trainer"),)


@pytest.mark.parametrize(
    ("trainer", "idle"),
    [
        ({"image": "train:1"}, [("spec", "trainer", "image")]),
        ({"image": "mine:1"}, []),
        ({"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "1"}]}, [("spec", "trainer", "env", 0)]),
        ({"numProcPerNode": 4}, [("spec", "trainer", "numProcPerNode")]),
        ({"args": []}, []),
    ],
    ids=str,
)
def test_settings_without_effect_are_found(trainer: Raw, idle: list[Any]) -> None:
    given = runtime({}, *JOBS)
    assert list(without_effect(trainjob(trainer), lambda job: build(job, given).objects)) == idle


def test_resources_reach_nothing_where_a_runtime_has_no_policy() -> None:
    given = runtime(None, *JOBS)
    job = trainjob({"resourcesPerNode": {"limits": {"cpu": "1"}}})
    (path,) = without_effect(job, lambda job: build(job, given).objects)
    assert path == ("spec", "trainer", "resourcesPerNode", "limits", "cpu")


def test_without_leaves_the_rest() -> None:
    tree = {"a": [{"b": 1, "c": 2}, 3], "d": 4}
    assert without(tree, ("a", 0, "b")) == {"a": [{"c": 2}, 3], "d": 4}
    assert without(tree, ("a", 1)) == {"a": [{"b": 1, "c": 2}], "d": 4}
    assert tree == {"a": [{"b": 1, "c": 2}, 3], "d": 4}


def test_objects_come_before_those_that_need_them() -> None:
    kinds = ["JobSet", "Other", "PodGroup", "Secret", "ConfigMap"]
    assert [raw["kind"] for raw in in_creation_order([{"kind": kind} for kind in kinds])] == [
        "ConfigMap",
        "Secret",
        "PodGroup",
        "JobSet",
        "Other",
    ]


def test_a_long_script_is_cut_to_one_line() -> None:
    script = "set -e\n" + "echo hello\n" * 50
    plan = build(trainjob({"command": ["bash", "-c", script]}), runtime({}))
    (line,) = [line for line in short(plan.jobset) if "runs" in line]
    assert "\n" not in line
    assert line.endswith("…")


def test_what_pods_are_marked_with_is_shown() -> None:
    scraped = {"prometheus.io/scrape": "true", "prometheus.io/port": "9090"}
    pods = {"metadata": {"labels": {"gang": "a"}, "annotations": scraped}, "spec": {"containers": []}}
    job = {"name": "node", "template": {"spec": {"template": pods}}}
    lines = list(short({"kind": "JobSet", "metadata": {"name": "j"}, "spec": {"replicatedJobs": [job]}}))
    assert "    labels gang=a" in lines
    assert "    annotations prometheus.io/scrape=true, prometheus.io/port=9090" in lines
