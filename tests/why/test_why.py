"""The sentence reaches status.summary, says no more than can be seen, and survives objects of any shape."""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.why.worlds import CASES, Raw, read, world
from trainplane.reconcile.view import Ref, View
from trainplane.trainjob.summary import Scene, summarize
from trainplane.why.why import cause_of, why

NEEDED = {"apiVersion", "kind", "metadata", "name", "ownerReferences", "uid", "regarding"}
"""Without these it is no object of the API."""


def case(name: str) -> Raw:
    """A case by its name."""
    (path,) = (path for path in CASES if path.name == name)
    return read(path / "in.yaml")


def test_the_sentence_is_the_summary_of_a_job_that_waits() -> None:
    made = world(case("gang-waiting"))
    jobset = made.view.get(Ref("jobset.x-k8s.io", "JobSet", "ns", "job"))
    scene = Scene(job=made.job, jobset=jobset, view=made.view, now=made.now, entry="node")
    summary = summarize({}, scene, why=why)["summary"]
    assert summary["state"] == "Pending"
    assert "stage node needs 2 × (2 CPU, 4Gi) together" in summary["message"]
    assert "train-77 (4 CPU)" in summary["message"]


def test_who_cannot_see_nodes_repeats_the_scheduler() -> None:
    words = "0/9 nodes are available: 9 Insufficient nvidia.com/gpu."
    blind = {"change": {"Node/*": None, "Pod/*": {"status": {"conditions": [{**_SAID, "message": words}]}}}}
    made = world(case("gang-waiting"), blind)
    cause = cause_of(made.job, made.view, made.now)
    assert cause is not None
    assert cause.id == "Unschedulable"
    assert words in cause.sentence


_SAID = {"type": "PodScheduled", "status": "False", "lastTransitionTime": "2026-01-31T12:00:10Z"}


def test_events_that_are_over_are_not_told() -> None:
    refused = case("quota-exhausted")
    made = world({"add": refused["add"]})
    assert why(made.job, made.view, made.now) == "", "the pods are there now"


def test_a_pod_that_was_replaced_is_not_told() -> None:
    failed = copy.deepcopy(case("pod-failed"))
    made = world(failed)
    assert why(made.job, made.view, made.now)
    replaced = copy.deepcopy(next(raw for raw in made.view.all("", "Pod") if raw["metadata"]["uid"] == "pod-0"))
    replaced["metadata"] |= {"name": "job-node-0-1-again", "uid": "pod-2"}
    made = world(failed, {"add": [replaced]})
    assert why(made.job, made.view, made.now) == ""


def test_another_jobs_jobset_is_not_ours() -> None:
    made = world({"change": {"JobSet/job": {"metadata": {"ownerReferences": [{"kind": "TrainJob", "uid": "other"}]}}}})
    cause = cause_of(made.job, made.view, made.now)
    assert cause is not None
    assert cause.id == "ControllerSilent"


def test_a_job_is_given_time_before_anybody_is_called_silent() -> None:
    for name in ("controller-silent", "jobset-controller-silent", "job-controller-silent"):
        made = world({**case(name), "now": "2026-01-31T12:00:20Z"})
        assert why(made.job, made.view, made.now) == ""


def holes(value: Any) -> Iterator[Any]:
    """The same JSON value with one of its members gone, each in turn."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key not in NEEDED:
                yield {other: kept for other, kept in value.items() if other != key}
            for hole in holes(item):
                yield {**value, key: hole}
    elif isinstance(value, list):
        for index, item in enumerate(value):
            for hole in holes(item):
                yield [*value[:index], hole, *value[index + 1 :]]


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.name)
def test_a_field_that_is_missing_breaks_nothing(path: Path) -> None:
    made = world(read(path / "in.yaml"))
    objects = [
        raw
        for kind in (
            "TrainJob",
            "ClusterTrainingRuntime",
            "JobSet",
            "Job",
            "Pod",
            "Node",
            "Event",
            "PodGroup",
            "Workload",
        )
        for group in ("", "batch", "jobset.x-k8s.io", "trainer.kubeflow.org", "events.k8s.io", "scheduling.x-k8s.io")
        for raw in made.view.all(group, kind)
    ]
    for index, raw in enumerate(objects):
        for hole in holes(raw):
            others = [*objects[:index], hole, *objects[index + 1 :]]
            job = next(one for one in others if one["kind"] == "TrainJob")
            cause = cause_of(job, View(others), made.now)
            assert cause is None or cause.told()
