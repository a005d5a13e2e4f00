"""What the Jobs of a JobSet look like: names, labels, annotations, and what is added to their pods."""

import hashlib
from typing import Any

import pytest

from tests.jobset.worlds import KEY, NS, Stage, admitted, jobset, rjob
from trainplane.jobset.fields import total_replicas
from trainplane.jobset.jobs import global_index, group_index, group_replicas, job
from trainplane.reconcile.view import Ref

Raw = dict[str, Any]
ALPHA = "alpha.jobset.sigs.k8s.io/"
EXCLUSIVE = {ALPHA + "exclusive-topology": "rack"}
RESERVED = {**EXCLUSIVE, ALPHA + "node-selector": "true"}
TOLERATION = {"key": ALPHA + "no-schedule", "operator": "Exists", "effect": "NoSchedule"}


def only(raw: Raw, index: int = 0, *, of: int = 0) -> Raw:
    """One Job of an admitted JobSet."""
    stored = admitted(raw)
    stored["metadata"]["uid"] = "js-uid"
    return job(stored, stored["spec"]["replicatedJobs"][of], index)


def pod(raw: Raw) -> Raw:
    found: Raw = raw["spec"]["template"]["spec"]
    return found


def test_a_job_carries_its_place_as_labels_and_annotations_and_so_do_its_pods() -> None:
    made = only(jobset(rjob("a", 2), rjob("b", 3), rjob("c", 4, groupName="late")), 1, of=1)
    key = hashlib.sha1(b"ns/js-b-1").hexdigest()
    marks = {
        KEY + "jobset-name": "js",
        KEY + "jobset-uid": "js-uid",
        KEY + "replicatedjob-name": "b",
        KEY + "replicatedjob-replicas": "3",
        KEY + "global-replicas": "9",
        KEY + "job-index": "1",
        KEY + "job-global-index": "3",
        KEY + "job-key": key,
        KEY + "restart-attempt": "0",
        KEY + "group-name": "default",
        KEY + "group-replicas": "5",
        KEY + "job-group-index": "3",
    }
    for metadata in (made["metadata"], made["spec"]["template"]["metadata"]):
        assert metadata["labels"] == metadata["annotations"] == marks
    assert made["metadata"]["name"] == "js-b-1"
    assert made["metadata"]["namespace"] == NS
    assert made["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "jobset.x-k8s.io/v1alpha2",
            "kind": "JobSet",
            "name": "js",
            "uid": "js-uid",
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]


def test_labels_and_annotations_of_the_templates_stay_under_those_of_the_jobset() -> None:
    mine = {"mine": "1", KEY + "job-index": "99"}
    template = {
        "metadata": {"name": "ignored", "labels": mine, "annotations": mine},
        "spec": {"template": {"metadata": {"labels": {"pod": "1"}, "annotations": {"pod": "2"}}}},
    }
    made = only(jobset(rjob("a", template=template)))
    assert made["metadata"]["name"] == "js-a-0"
    for kind in ("labels", "annotations"):
        assert made["metadata"][kind]["mine"] == "1"
        assert made["metadata"][kind][KEY + "job-index"] == "0"
        assert "mine" not in made["spec"]["template"]["metadata"][kind]
    assert made["spec"]["template"]["metadata"]["labels"]["pod"] == "1"
    assert made["spec"]["template"]["metadata"]["annotations"]["pod"] == "2"


@pytest.mark.parametrize("suspend", [True, False])
def test_jobs_are_suspended_as_their_jobset_is_whatever_their_template_says(suspend: bool) -> None:
    made = only(jobset(rjob("a", job={"suspend": not suspend}), suspend=suspend))
    assert made["spec"]["suspend"] is suspend


def test_jobs_of_a_jobset_that_says_nothing_run() -> None:
    assert only(jobset())["spec"]["suspend"] is False


@pytest.mark.parametrize(
    ("network", "expected"),
    [
        pytest.param(None, "js", id="names are given unless they are not wanted"),
        pytest.param({"subdomain": "team"}, "team", id="in the subdomain that is named"),
        pytest.param({"enableDNSHostnames": False}, None, id="no names wanted"),
    ],
)
def test_pods_are_in_the_subdomain_of_the_service(network: Raw | None, expected: str | None) -> None:
    spec = {"network": network} if network else {}
    assert pod(only(jobset(rjob("a"), **spec))).get("subdomain") == expected


def test_the_subdomain_that_a_pod_asks_for_is_overwritten() -> None:
    asked = {"containers": [{"name": "c", "image": "i"}], "subdomain": "mine"}
    assert pod(only(jobset(rjob("a", pod=asked))))["subdomain"] == "js"


def test_everyone_is_told_the_coordinator() -> None:
    counted = rjob("a", job={"parallelism": 2, "completions": 2})
    raw = jobset(counted, rjob("b"), coordinator={"replicatedJob": "a", "podIndex": 1}, network={"subdomain": "net"})
    made = only(raw, of=1)
    for metadata in (made["metadata"], made["spec"]["template"]["metadata"]):
        assert metadata["labels"][KEY + "coordinator"] == "js-a-0-1.net"
        assert metadata["annotations"][KEY + "coordinator"] == "js-a-0-1.net"


class TestExclusivePlacement:
    """What Jobs and pods are told of the part of the cluster that they want for themselves."""

    def test_asked_for_by_one_template_it_is_told_to_its_jobs_alone(self) -> None:
        raw = jobset(rjob("a", template={"metadata": {"annotations": EXCLUSIVE}}), rjob("b"))
        asked, plain = only(raw), only(raw, of=1)
        for metadata in (asked["metadata"], asked["spec"]["template"]["metadata"]):
            assert metadata["annotations"][ALPHA + "exclusive-topology"] == "rack"
            assert ALPHA + "exclusive-topology" not in metadata["labels"]
        assert ALPHA + "exclusive-topology" not in plain["metadata"]["annotations"]
        assert "nodeSelector" not in pod(asked)

    def test_asked_for_by_the_jobset_it_is_told_to_all(self) -> None:
        raw = jobset(rjob("a"), rjob("b"), annotations=EXCLUSIVE)
        for of in (0, 1):
            assert only(raw, of=of)["metadata"]["annotations"][ALPHA + "exclusive-topology"] == "rack"

    def test_a_template_is_heard_before_the_jobset(self) -> None:
        finer = {ALPHA + "exclusive-topology": "block"}
        raw = jobset(rjob("a", template={"metadata": {"annotations": finer}}), annotations=EXCLUSIVE)
        assert only(raw)["spec"]["template"]["metadata"]["annotations"][ALPHA + "exclusive-topology"] == "block"

    def test_reserved_nodes_are_selected_and_their_taint_is_borne(self) -> None:
        raw = jobset(rjob("a", template={"metadata": {"annotations": RESERVED}}), rjob("b"))
        spec = pod(only(raw))
        assert spec["nodeSelector"] == {ALPHA + "namespaced-job": "ns_js-a-0"}
        assert spec["tolerations"] == [TOLERATION]
        assert spec["subdomain"] == "js"
        assert "nodeSelector" not in pod(only(raw, of=1))

    def test_reserved_nodes_for_all_jobs(self) -> None:
        raw = jobset(rjob("a"), rjob("b", 2), annotations=RESERVED)
        assert pod(only(raw))["nodeSelector"] == {ALPHA + "namespaced-job": "ns_js-a-0"}
        assert pod(only(raw, 1, of=1))["nodeSelector"] == {ALPHA + "namespaced-job": "ns_js-b-1"}

    def test_the_strategy_without_a_topology_is_nothing(self) -> None:
        raw = jobset(rjob("a"), annotations={ALPHA + "node-selector": "true"})
        made = only(raw)
        assert "nodeSelector" not in pod(made)
        assert ALPHA + "node-selector" not in made["metadata"]["annotations"]


ONE_JOB = {"maxRestarts": 3, "rules": [{"name": "One", "action": "RestartJob"}]}


class TestRestartsOfSingleJobs:
    """The label that counts them is on every Job where the gate is open, and on none where it is closed."""

    def test_each_job_carries_its_own_count(self) -> None:
        stage = Stage(jobset(rjob("a", 2), failurePolicy=ONE_JOB), restart_job=True)
        stage.fails("js-a-0")
        stage.collect()
        counts = {name: raw["metadata"]["labels"][KEY + "job-restart-attempt"] for name, raw in stage.jobs.items()}
        assert counts == {"js-a-0": "1", "js-a-1": "0"}
        assert stage.jobs["js-a-0"]["spec"]["template"]["metadata"]["annotations"][KEY + "job-restart-attempt"] == "1"

    @pytest.mark.parametrize("gate", [False, True])
    def test_the_gate_decides_about_the_label(self, gate: bool) -> None:
        stage = Stage(jobset(rjob("a", 2), failurePolicy={"maxRestarts": 3}), restart_job=gate)
        labels = [raw["metadata"]["labels"].get(KEY + "job-restart-attempt") for raw in stage.jobs.values()]
        assert labels == (["0", "0"] if gate else [None, None])


class TestWhichAreMissing:
    """A Job is made where its name is free, whatever became of the one that has it."""

    def test_all_at_first(self) -> None:
        assert sorted(Stage(jobset(rjob("a"), rjob("b", 2))).jobs) == ["js-a-0", "js-b-0", "js-b-1"]

    @pytest.mark.parametrize("state", ["active", "succeeded", "failed", "going"])
    def test_only_the_one_that_is_not_there(self, state: str) -> None:
        stage = Stage(jobset(rjob("a", 2), successPolicy={"operator": "All"}, failurePolicy={"maxRestarts": 3}))
        if state == "succeeded":
            stage.succeeds("js-a-0")
        if state in ("failed", "going"):
            stage.fails("js-a-0")
        if state == "going":
            stage.collect("js-a-1")
            assert sorted(stage.jobs) == ["js-a-0", "js-a-1"]
            assert stage.attempts == {"0": 1, "1": 1}
            return
        del stage.objects[Ref("batch", "Job", NS, "js-a-1")]
        stage.settle()
        assert sorted(stage.jobs) == ["js-a-0", "js-a-1"]

    def test_a_job_of_another_uid_does_not_count_and_its_name_is_taken(self) -> None:
        stranger = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {
                "name": "js-a-0",
                "namespace": NS,
                "uid": "old",
                "ownerReferences": [{"kind": "JobSet", "name": "js", "uid": "old-js", "controller": True}],
            },
            "spec": {},
        }
        stage = Stage(jobset(rjob("a", 2)), stranger)
        assert stage.told == [("Warning", "JobCreationFailed")]
        assert stage.status == {}, "what a pass found is not written where the pass was broken off"
        assert stage.jobs["js-a-0"] == stranger
        del stage.objects[Ref("batch", "Job", NS, "js-a-0")]
        stage.settle()
        assert sorted(stage.jobs) == ["js-a-0", "js-a-1"]
        assert stage.counts == {"a": {}}


@pytest.mark.parametrize(
    ("sizes", "name", "index", "expected"),
    [
        pytest.param([3], "r0", 1, "1", id="one replicated job"),
        pytest.param([2, 4, 1], "r1", 3, "5", id="those before it count"),
        pytest.param([2], "other", 0, "", id="no such replicated job"),
    ],
)
def test_global_index(sizes: list[int], name: str, index: int, expected: str) -> None:
    raw = jobset(*(rjob(f"r{i}", size) for i, size in enumerate(sizes)))
    assert global_index(raw, name, index) == expected


@pytest.mark.parametrize(("sizes", "expected"), [([], 0), ([3], 3), ([2, 5], 7)])
def test_global_replicas(sizes: list[int], expected: int) -> None:
    raw = jobset()
    raw["spec"]["replicatedJobs"] = [rjob(f"r{i}", size) for i, size in enumerate(sizes)]
    assert total_replicas(raw) == expected


GROUPS = jobset(rjob("r0", 1, groupName="A"), rjob("r1", 2, groupName="B"), rjob("r2", 3, groupName="A"))


@pytest.mark.parametrize(
    ("group", "name", "index", "expected"),
    [
        pytest.param("A", "r0", 0, "0", id="first of its group"),
        pytest.param("A", "r2", 1, "2", id="others of the group before it count"),
        pytest.param("A", "r1", 0, "", id="in another group"),
        pytest.param("A", "r9", 0, "", id="no such replicated job"),
        pytest.param("C", "r0", 0, "", id="no such group"),
    ],
)
def test_group_index(group: str, name: str, index: int, expected: str) -> None:
    assert group_index(GROUPS, group, name=name, index=index) == expected


@pytest.mark.parametrize(("group", "expected"), [("A", "4"), ("B", "2"), ("C", "0")])
def test_group_replicas(group: str, expected: str) -> None:
    assert group_replicas(GROUPS, group) == expected
