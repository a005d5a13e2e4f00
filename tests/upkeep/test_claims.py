"""A claim is bound when a pod on a node first uses it; deleted, it stays as long as one does, and goes then."""

import pytest

from tests.upkeep.town import NOON, Raw
from trainplane.reconcile.decision import Patch, SetStatus
from trainplane.reconcile.view import Ref, View
from trainplane.upkeep.claims import of_pod, reconcile


def claim(*finalizers: str, going: bool = True) -> Raw:
    """A volume claim."""
    metadata: Raw = {"name": "data", "namespace": "ns", "uid": "1", "resourceVersion": "7"}
    metadata["finalizers"] = ["kubernetes.io/pvc-protection", *finalizers]
    if going:
        metadata["deletionTimestamp"] = "2026-01-31T12:00:00Z"
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata}


def pod(*, volume: str = "data", node: str = "n", phase: str = "Running", namespace: str = "ns") -> Raw:
    """A pod with a claim for a volume."""
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": volume}}, {"name": "tmp", "emptyDir": {}}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": namespace, "uid": "2"},
        "spec": {"volumes": volumes, **({"nodeName": node} if node else {})},
        "status": {"phase": phase},
    }


@pytest.mark.parametrize(
    ("found", "there", "goes"),
    [
        pytest.param(claim(), [], True, id="nobody uses it"),
        pytest.param(claim(), [pod()], False, id="a pod runs with it"),
        pytest.param(claim(), [pod(phase="Pending")], False, id="a pod is started with it"),
        pytest.param(claim(), [pod(phase="Succeeded")], True, id="its pod has ended"),
        pytest.param(claim(), [pod(node="")], True, id="its pod has no node"),
        pytest.param(claim(), [pod(volume="other")], True, id="pods use another"),
        pytest.param(claim(), [pod(namespace="other")], True, id="pods of another namespace"),
        pytest.param(claim(going=False), [], False, id="nobody deletes it"),
    ],
)
def test_a_claim(found: Raw, there: list[Raw], goes: bool) -> None:
    decision = reconcile(found, View(there), NOON)
    assert [type(one) for one in decision.actions] == ([Patch] if goes else [])


def test_finalizers_of_others_stay() -> None:
    (action,) = reconcile(claim("example.test/mine"), View(), NOON).actions
    assert isinstance(action, Patch)
    assert action.patch == {"metadata": {"finalizers": ["example.test/mine"], "resourceVersion": "7"}}


def test_the_end_of_a_pod_wakes_only_claims_that_wait_for_it() -> None:
    ref = Ref("", "PersistentVolumeClaim", "ns", "data")
    assert list(of_pod(pod(), View([claim()]))) == [ref]
    assert list(of_pod(pod(), View([bound()]))) == []


def bound() -> Raw:
    """A claim that has its volume."""
    return {**claim(going=False), "spec": {"volumeName": "folder-1"}, "status": {"phase": "Bound"}}


def test_a_pod_on_a_node_binds_its_claim() -> None:
    fresh = {
        **claim(going=False),
        "spec": {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    named, told = reconcile(fresh, View([pod(phase="Pending")]), NOON).actions
    assert isinstance(named, Patch)
    assert named.patch == {"spec": {"volumeName": "folder-1"}}
    assert isinstance(told, SetStatus)
    assert told.status == {"phase": "Bound", "accessModes": ["ReadWriteMany"], "capacity": {"storage": "1Gi"}}
    assert reconcile(fresh, View([pod(node="")]), NOON).actions == ()
    assert reconcile(bound(), View([pod()]), NOON).actions == ()
