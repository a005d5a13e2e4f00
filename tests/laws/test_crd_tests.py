"""What the quick tests of a CRD's schema call fine, the close look finds nothing wrong with."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainplane.api.jobset import JobSet
from trainplane.api.meta import Raw, Wire
from trainplane.api.trainer import TrainJob
from trainplane.cluster.crd_causes import is_fine, shape_causes

CONTAINER = {
    "name": "node",
    "image": "example.test/trainer:1",
    "env": [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
    "ports": [{"containerPort": 29500, "protocol": "TCP"}],
    "resources": {"requests": {"cpu": 1, "memory": "4Gi"}},
}
POD = {"metadata": {"labels": {"a": "b"}}, "spec": {"restartPolicy": "Never", "containers": [CONTAINER]}}
JOB = {"spec": {"parallelism": 2, "completions": 2, "completionMode": "Indexed", "backoffLimit": 0, "template": POD}}
CONDITION = {"type": "Completed", "status": "True", "lastTransitionTime": "2026-01-31T12:00:00Z"}
CASES: list[tuple[type[Wire], Raw]] = [
    (
        JobSet,
        {
            "apiVersion": "jobset.x-k8s.io/v1alpha2",
            "kind": "JobSet",
            "spec": {
                "replicatedJobs": [{"name": "node", "replicas": 1, "template": JOB}],
                "failurePolicy": {"maxRestarts": 3, "rules": [{"name": "r", "action": "FailJobSet"}]},
                "successPolicy": {"operator": "All"},
            },
            "status": {"restarts": 1, "conditions": [{**CONDITION, "reason": "r", "message": "m"}]},
        },
    ),
    (
        TrainJob,
        {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "TrainJob",
            "spec": {
                "runtimeRef": {"name": "torch-distributed", "kind": "ClusterTrainingRuntime"},
                "trainer": {"numNodes": 2, "image": "trainer", "resourcesPerNode": {"requests": {"cpu": "1"}}},
                "suspend": False,
            },
            "status": {"conditions": [{**CONDITION, "reason": "r", "message": "m"}]},
        },
    ),
]
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
ODD = SCALARS | st.sampled_from([2**31, -1, 0, "", "x" * 300, "2026-01-31", [], {}, [1, 1], ["a", "a"], {"a": None}])


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for step, item in inner for place in places(item, (*path, step)))]


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    step, rest = path[0], path[1:]
    if isinstance(value, list):
        return [changed(item, rest, new) if index == step else item for index, item in enumerate(value)]
    return {**value, step: changed(value[step], rest, new)}


@pytest.mark.parametrize(("kind", "raw"), CASES, ids=lambda case: getattr(case, "__name__", ""))
def test_what_is_right_needs_no_close_look(kind: type[Wire], raw: Raw) -> None:
    assert is_fine(kind, raw, None)
    assert shape_causes(kind, raw) == []


@given(st.data())
def test_what_is_called_fine_is_fine(data: st.DataObject) -> None:
    kind, raw = data.draw(st.sampled_from(CASES))
    for _ in range(data.draw(st.integers(1, 2))):
        path = data.draw(st.sampled_from([place for place in places(raw) if place]))
        kept = data.draw(st.booleans()) and isinstance(path[-1], int)
        # Now and then an item is there twice.
        raw = changed(raw, path[:-1], 2 * _at(raw, path[:-1])) if kept else changed(raw, path, data.draw(ODD))
    if is_fine(kind, raw, None):
        assert shape_causes(kind, raw) == []


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        value = value[step]
    return value
