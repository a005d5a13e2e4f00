"""The runtime snapshot: what it holds, what it is worth after an edit, and where runtimes are looked for."""

import json
from typing import Any

import pytest
import yaml

from tests.trainjob.stories import API, runtime, trainjob
from tests.trainjob.worlds import replicated
from trainplane.reconcile.view import Ref, View
from trainplane.trainjob import default, snapshot

JOB = {**trainjob(), "metadata": {"name": "job", "namespace": "ns", "uid": "u1"}}
STAMPED = {
    "name": "rt",
    "namespace": "ns",
    "uid": "u2",
    "resourceVersion": "7",
    "generation": 3,
    "creationTimestamp": "2026-01-01T00:00:00Z",
    "managedFields": [{"manager": "kubectl"}],
    "labels": {"kept": "yes"},
}
RUNTIME = default.runtime({**runtime(), "metadata": STAMPED})


def holding(text: Any) -> View:
    taken = snapshot.take(JOB, RUNTIME)
    return View.of({**taken, "data": {"runtime": text}})


def test_it_holds_the_runtime_without_what_the_server_wrote_into_it() -> None:
    """Upstream stores uid, resourceVersion and managedFields as well."""
    taken = snapshot.take(JOB, RUNTIME)
    held = json.loads(taken["data"]["runtime"])
    assert held["metadata"] == {"name": "rt", "namespace": "ns", "labels": {"kept": "yes"}}
    assert held["spec"] == RUNTIME["spec"]
    assert taken["metadata"]["name"] == "job-runtime-snapshot"
    (owner,) = taken["metadata"]["ownerReferences"]
    assert (owner["apiVersion"], owner["kind"], owner["uid"]) == (API, "TrainJob", "u1")


def test_what_was_taken_is_recalled() -> None:
    recalled = snapshot.recall(JOB, View.of(snapshot.take(JOB, RUNTIME)))
    assert recalled is not None
    assert recalled["spec"] == RUNTIME["spec"]
    assert snapshot.recall(JOB, View()) is None


def test_upstreams_own_snapshot_is_understood() -> None:
    """It is YAML, with the server's stamps in it, so a running job survives the change of its controller."""
    recalled = snapshot.recall(JOB, holding(yaml.safe_dump(RUNTIME)))
    assert recalled is not None
    assert recalled["spec"] == RUNTIME["spec"]


def test_fields_that_a_newer_version_wrote_do_not_make_it_useless() -> None:
    newer = {**RUNTIME, "spec": {**RUNTIME["spec"], "invented": {"later": True}}}
    assert snapshot.recall(JOB, holding(json.dumps(newer))) is not None


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(None, id="no text"),
        pytest.param("", id="empty"),
        pytest.param("{", id="broken"),
        pytest.param("[" * 100_000, id="deep"),
        pytest.param("[]", id="a list"),
        pytest.param("kind: TrainingRuntime", id="no metadata"),
        pytest.param(json.dumps({**RUNTIME, "spec": []}), id="no spec"),
        pytest.param(json.dumps({**RUNTIME, "spec": {"mlPolicy": {}}}), id="nothing to run"),
        pytest.param(json.dumps({**RUNTIME, "spec": {"mlPolicy": {"numNodes": "two"}}}), id="a wrong number"),
        pytest.param(json.dumps({**RUNTIME, "spec": {"template": {"spec": {"replicatedJobs": [3]}}}}), id="no job"),
    ],
)
def test_nonsense_is_refused_with_a_way_out(text: Any) -> None:
    with pytest.raises(snapshot.Unusable, match="delete it to take a new snapshot"):
        snapshot.recall(JOB, holding(text))


def test_another_runtime_is_refused() -> None:
    other = {**RUNTIME, "metadata": {"name": "other"}}
    with pytest.raises(snapshot.Unusable, match="holds another runtime than rt"):
        snapshot.recall(JOB, holding(json.dumps(other)))


def test_a_strangers_config_map_is_refused() -> None:
    taken = snapshot.take({**JOB, "metadata": {**JOB["metadata"], "uid": "someone"}}, RUNTIME)
    with pytest.raises(snapshot.Unusable, match="is not this TrainJob's"):
        snapshot.recall(JOB, View.of(taken))


def test_a_runtime_of_a_dialect_is_found_and_read_in_the_hubs_words() -> None:
    ome = {
        **runtime({"torch": {}}, replicated("node", {"name": "trainer", "image": "x"})),
        "apiVersion": "ome.io/v1beta1",
    }
    ome["metadata"] = {"name": "rt", "namespace": "ns"}
    found = snapshot.find_runtime(JOB, View.of(ome).get)
    assert found is not None
    assert found["apiVersion"] == API


def test_the_group_that_is_named_wins() -> None:
    named = {**JOB, "spec": {"runtimeRef": {"name": "rt", "kind": "TrainingRuntime", "apiGroup": "ome.io"}}}
    refs = snapshot.runtime_refs(named)
    assert refs[0] == Ref("ome.io", "TrainingRuntime", "ns", "rt")
    assert refs[1].group == "trainer.kubeflow.org"


def test_a_runtime_that_is_none_is_said_to_be_none() -> None:
    broken = {**runtime(), "metadata": {"name": "rt", "namespace": "ns"}, "spec": {"mlPolicy": []}}
    with pytest.raises(snapshot.Unusable, match="has not the shape of a runtime"):
        snapshot.find_runtime(JOB, View.of(broken).get)


@pytest.mark.parametrize(
    ("kind", "other"),
    [("TrainingRuntime", "ClusterTrainingRuntime"), ("ClusterTrainingRuntime", "TrainingRuntime")],
)
def test_a_runtime_of_the_other_kind_is_hinted_at(kind: str, other: str) -> None:
    there = {**runtime(), "kind": other, "metadata": {"name": "rt"}}
    if other == "TrainingRuntime":
        there["metadata"]["namespace"] = "ns"
    wanted = {**JOB, "spec": {"runtimeRef": {"name": "rt", "kind": kind}}}
    problem = snapshot.not_found(wanted, View.of(there).get)
    assert problem.todo == f"there is a {other} of that name: set spec.runtimeRef.kind to {other}"
    assert problem.field == "spec.runtimeRef"
