"""Exclusive placement: what pods are given when they are created, and which are deleted because they went astray."""

from typing import Any

import pytest

from tests.jobset.worlds import KEY, NS, START
from trainplane.jobset.placement import (
    Misplaced,
    admit_default,
    admit_validate,
    default_pod,
    leader_of,
    reconcile,
    validate_pod,
)
from trainplane.reconcile.decision import NOTHING, Delete, Patch
from trainplane.reconcile.view import View

Raw = dict[str, Any]
ALPHA = "alpha.jobset.sigs.k8s.io/"
RACK = "rack"


def pod(
    index: int = 0, *, suffix: str = "abcde", owner: str | None = "job-uid", priority: int | None = None, **how: Any
) -> Raw:
    """A pod of the Job js-a-0; `topology`, `node`, `selector`, `phase`, `going` and `annotations` as keywords."""
    annotations = {KEY + "jobset-name": "js", "batch.kubernetes.io/job-completion-index": str(index)}
    if how.get("topology", True):
        annotations[ALPHA + "exclusive-topology"] = RACK
    owners = [{"kind": "Job", "name": "js-a-0", "uid": owner, "controller": True}] if owner else []
    metadata = {
        "name": f"js-a-0-{index}-{suffix}",
        "namespace": NS,
        "uid": f"pod-{index}-{suffix}",
        "ownerReferences": owners,
        "annotations": {**annotations, **how.get("annotations", {})},
        "labels": {
            KEY + "jobset-name": "js",
            KEY + "replicatedjob-name": "a",
            KEY + "job-index": "0",
            KEY + "job-key": "key",
        },
    }
    if how.get("going"):
        metadata["deletionTimestamp"] = "2026-01-02T03:04:05Z"
    spec: Raw = {
        key: item for key, item in (("nodeName", how.get("node")), ("nodeSelector", how.get("selector"))) if item
    }
    if priority is not None:
        spec["priority"] = priority
    status = {"phase": how.get("phase", "Pending"), "conditions": how.get("conditions", [])}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def node(name: str = "n1", **labels: str) -> Raw:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


NODE = node(rack="r1")
LEADER = pod(node="n1")


class TestCreation:
    @pytest.mark.parametrize(
        "raw",
        [
            pytest.param(
                {"metadata": {"name": "x", "namespace": NS}, "spec": {"priority": 5}}, id="no pod of a JobSet"
            ),
            pytest.param(pod(priority=5, annotations={ALPHA + "node-selector": "true"}), id="nodes set aside by hand"),
            pytest.param(pod(topology=False), id="no place of its own, no priority"),
        ],
    )
    def test_left_as_it_is(self, raw: Raw) -> None:
        assert default_pod(raw, View.of()) == raw

    def test_the_priority_becomes_a_label(self) -> None:
        made = default_pod(pod(topology=False, priority=100), View.of())
        assert made["metadata"]["labels"][KEY + "priority"] == "100"
        assert "affinity" not in made["spec"]

    def test_the_first_pod_keeps_away_from_other_jobs_of_its_priority(self) -> None:
        affinity = default_pod(pod(priority=100), View.of())["spec"]["affinity"]
        required = "requiredDuringSchedulingIgnoredDuringExecution"
        (near,), (far,) = affinity["podAffinity"][required], affinity["podAntiAffinity"][required]
        own = {"key": KEY + "job-key", "operator": "In", "values": ["key"]}
        assert near == {"labelSelector": {"matchExpressions": [own]}, "topologyKey": RACK, "namespaceSelector": {}}
        assert far["labelSelector"]["matchExpressions"] == [
            {"key": KEY + "job-key", "operator": "Exists"},
            {**own, "operator": "NotIn"},
            {"key": KEY + "priority", "operator": "In", "values": ["100"]},
        ]

    def test_affinities_that_it_has_stay(self) -> None:
        raw = pod()
        term = {"labelSelector": {}, "topologyKey": "zone"}
        raw["spec"]["affinity"] = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        made = default_pod(raw, View.of())["spec"]["affinity"]["podAffinity"]
        assert made["requiredDuringSchedulingIgnoredDuringExecution"][0] == term

    def test_the_others_wait_for_the_first(self) -> None:
        view = View.of(pod())
        follower = pod(1)
        assert default_pod(follower, view) == follower
        (problem,) = validate_pod(follower, view)
        assert "has no node yet" in problem.what

    def test_and_follow_it(self) -> None:
        view = View.of(LEADER, NODE)
        made = default_pod(pod(1), view)
        assert made["spec"]["nodeSelector"] == {RACK: "r1"}
        assert not list(validate_pod(made, view))

    def test_one_that_does_not_say_where_it_goes_is_refused(self) -> None:
        assert list(validate_pod(pod(1), View.of(LEADER, NODE)))

    def test_the_first_is_never_refused(self) -> None:
        assert not list(validate_pod(pod(), View.of()))

    @pytest.mark.parametrize("nodes", [[], [node()]], ids=["the node is gone", "the node has no such label"])
    def test_a_place_that_cannot_be_told_is_an_error(self, nodes: list[Raw]) -> None:
        with pytest.raises(Misplaced, match="n1"):
            default_pod(pod(1), View.of(LEADER, *nodes))


class TestAdmission:
    """The same in the form in which an API server asks."""

    @staticmethod
    def admitted(raw: Raw, *seen: Raw, old: Raw | None = None) -> tuple[Raw, list[str]]:
        made = admit_default(raw, old, None, now=START, see=lambda _: View(seen))
        return made, [problem.what for problem in admit_validate(made, old, None, see=lambda _: View(seen))]

    def test_a_follower_goes_where_the_first_pod_is(self) -> None:
        made, refused = self.admitted(pod(1), LEADER, NODE)
        assert made["spec"]["nodeSelector"] == {RACK: "r1"}
        assert refused == []

    def test_a_follower_whose_place_cannot_be_told_is_refused_with_the_reason(self) -> None:
        made, refused = self.admitted(pod(1), LEADER, node())
        assert made == pod(1)
        assert refused == ["the node n1 has no label rack; label it, or ask for another topology"]

    def test_a_follower_before_the_first_pod_is_refused(self) -> None:
        assert self.admitted(pod(1))[1] == ["there is no pod js-a-0-0 to follow"]

    def test_what_is_there_already_is_left_alone(self) -> None:
        raw = pod(1)
        assert self.admitted(raw, old=raw) == (raw, [])

    def test_pods_and_nodes_are_not_looked_for_where_they_do_not_matter(self) -> None:
        def see(_: Raw) -> View:
            raise AssertionError("nobody needs to look")

        made = admit_default(pod(topology=False, priority=7), None, None, now=START, see=see)
        assert made["metadata"]["labels"][KEY + "priority"] == "7"
        assert not list(admit_validate(made, None, None, see=see))


def without_label(raw: Raw) -> Raw:
    del raw["metadata"]["labels"][KEY + "job-index"]
    return raw


@pytest.mark.parametrize(
    ("follower", "pods", "found"),
    [
        pytest.param(pod(1), [LEADER], True, id="one"),
        pytest.param(without_label(pod(1)), [LEADER], False, id="a label is missing"),
        pytest.param(pod(1), [], False, id="none"),
        pytest.param(pod(1), [LEADER, pod(suffix="fghij")], False, id="two"),
        pytest.param(pod(1), [pod(going=True)], False, id="one that goes"),
        pytest.param(pod(1), [LEADER, pod(suffix="fghij", phase="Failed")], True, id="and one that failed"),
        pytest.param(pod(1), [LEADER, pod(suffix="fghij", phase="Succeeded")], True, id="and one that succeeded"),
        pytest.param(pod(1), [pod(owner="other")], False, id="of another Job"),
        pytest.param(pod(1, owner=None), [LEADER], False, id="the follower is nobody's"),
        pytest.param(pod(1), [pod(owner=None)], False, id="the first is nobody's"),
    ],
)
def test_finding_the_first_pod(follower: Raw, pods: list[Raw], found: bool) -> None:
    assert (not isinstance(leader_of(follower, View(pods)), str)) is found


class TestStrays:
    def test_all_in_one_place(self) -> None:
        follower = pod(1, selector={RACK: "r1"})
        assert reconcile(LEADER, View.of(LEADER, follower, NODE), START) == NOTHING

    @pytest.mark.parametrize("selector", [None, {}, {RACK: "r2"}])
    def test_one_elsewhere_takes_all_followers_along(self, selector: Raw | None) -> None:
        stray, good = pod(1, selector=selector), pod(2, selector={RACK: "r1"})
        actions = reconcile(LEADER, View.of(LEADER, stray, good, NODE), START).actions
        assert [type(one) for one in actions] == [Patch, Delete, Patch, Delete]
        told = actions[0].patch["status"]["conditions"][0]
        assert (told["type"], told["status"], told["reason"]) == (
            "DisruptionTarget",
            "True",
            "ExclusivePlacementViolation",
        )
        assert {one.uid for one in actions} == {"pod-1-abcde", "pod-2-abcde"}

    def test_only_its_own_condition_is_set(self) -> None:
        stray = pod(
            1, conditions=[{"type": "Ready", "status": "False"}, {"type": "DisruptionTarget", "status": "False"}]
        )
        told = reconcile(LEADER, View.of(LEADER, stray, NODE), START).actions[0]
        assert [(one["type"], one["status"]) for one in told.patch["status"]["conditions"]] == [
            ("DisruptionTarget", "True")
        ]
        assert told.keyed

    @pytest.mark.parametrize("nodes", [[], [node()]], ids=["the node is gone", "the node has no such label"])
    def test_nothing_is_deleted_where_the_place_cannot_be_told(self, nodes: list[Raw]) -> None:
        with pytest.raises(Misplaced):
            reconcile(LEADER, View.of(LEADER, pod(1), *nodes), START)

    @pytest.mark.parametrize(
        "leader",
        [
            pytest.param(pod(), id="it has no node"),
            pytest.param(pod(1, node="n1"), id="it is not the first"),
            pytest.param(pod(node="n1", going=True), id="it goes"),
            pytest.param(pod(node="n1", topology=False), id="it wants no place of its own"),
            pytest.param(pod(node="n1", annotations={ALPHA + "node-selector": ""}), id="nodes are set aside by hand"),
        ],
    )
    def test_only_the_first_pod_with_a_node_is_looked_at(self, leader: Raw) -> None:
        assert reconcile(leader, View.of(leader, pod(2), NODE), START) == NOTHING

    @pytest.mark.parametrize("owner", ["other", None])
    def test_pods_of_others_are_none_of_its_business(self, owner: str | None) -> None:
        assert reconcile(LEADER, View.of(LEADER, pod(1, owner=owner), NODE), START) == NOTHING
