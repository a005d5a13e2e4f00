"""A quota says how much of it is used, by the rules of its scopes."""

from datetime import timedelta

import pytest

from tests.upkeep.town import NOON, Raw
from trainplane.reconcile.decision import SetStatus
from trainplane.reconcile.view import Ref, View
from trainplane.upkeep.quota_status import quotas, reconcile


def quota(hard: Raw, **spec: object) -> Raw:
    """A quota of the namespace ns."""
    metadata = {"name": "q", "namespace": "ns", "uid": "1"}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": {"hard": hard, **spec}}


def pod(
    name: str, *, phase: str = "Running", namespace: str = "ns", resources: Raw | None = None, **spec: object
) -> Raw:
    """A pod that asks for two CPUs and may use four."""
    given = (
        {"requests": {"cpu": "2", "nvidia.com/gpu": "1"}, "limits": {"cpu": "4"}} if resources is None else resources
    )
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"containers": [{"name": "c", "resources": given}], **spec},
        "status": {"phase": phase},
    }


def claim(name: str, size: str, class_name: str) -> Raw:
    """A volume claim."""
    spec = {"storageClassName": class_name, "resources": {"requests": {"storage": size}}}
    metadata = {"name": name, "namespace": "ns"}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}


def used(raw: Raw, *others: Raw) -> Raw:
    """What the quota comes to say is used."""
    (action,) = reconcile(raw, View.of(raw, *others), NOON).actions
    assert isinstance(action, SetStatus)
    used: Raw = action.status["used"]
    return used


def test_pods_that_have_not_ended_are_counted_in_their_namespace() -> None:
    hard = {
        "pods": "9",
        "requests.cpu": "9",
        "cpu": "9",
        "limits.cpu": "9",
        "requests.nvidia.com/gpu": "9",
        "memory": "1Gi",
    }
    ended = [pod("c", phase="Succeeded"), pod("d", phase="Failed"), pod("e", namespace="other")]
    assert used(quota(hard), pod("a"), pod("b", phase="Pending"), *ended) == {
        "pods": "2",
        "requests.cpu": "4",
        "cpu": "4",
        "limits.cpu": "8",
        "requests.nvidia.com/gpu": "2",
        "memory": "0",
    }


def test_objects_and_claims_are_counted() -> None:
    hard = {
        "count/jobs.batch": "1",
        "count/trainjobs.trainer.kubeflow.org": "3",
        "persistentvolumeclaims": "9",
        "requests.storage": "1Ti",
        "fast.storageclass.storage.k8s.io/requests.storage": "1Ti",
        "fast.storageclass.storage.k8s.io/persistentvolumeclaims": "9",
    }
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "ns"}}
    assert used(quota(hard), job, claim("a", "1Gi", "fast"), claim("b", "2Gi", "slow")) == {
        "count/jobs.batch": "1",
        "count/trainjobs.trainer.kubeflow.org": "0",
        "persistentvolumeclaims": "2",
        "requests.storage": "3Gi",
        "fast.storageclass.storage.k8s.io/requests.storage": "1Gi",
        "fast.storageclass.storage.k8s.io/persistentvolumeclaims": "1",
    }


@pytest.mark.parametrize(
    ("spec", "names"),
    [
        pytest.param({"scopes": ["BestEffort"]}, "b", id="BestEffort"),
        pytest.param({"scopes": ["NotBestEffort"]}, "acd", id="NotBestEffort"),
        pytest.param({"scopes": ["Terminating"]}, "c", id="Terminating"),
        pytest.param({"scopes": ["NotTerminating"]}, "abd", id="NotTerminating"),
        pytest.param(
            {
                "scopeSelector": {
                    "matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}]
                }
            },
            "d",
            id="PriorityClass",
        ),
    ],
)
def test_scopes_choose_pods(spec: Raw, names: str) -> None:
    pods = [
        pod("a"),
        pod("b", resources={}),
        pod("c", activeDeadlineSeconds=60),
        pod("d", priorityClassName="high"),
    ]
    assert used(quota({"pods": "9"}, **spec), *pods) == {"pods": str(len(names))}


def test_a_status_that_is_right_is_not_written_again() -> None:
    right = {**quota({"pods": "9"}), "status": {"hard": {"pods": "9"}, "used": {"pods": "1"}}}
    decision = reconcile(right, View.of(right, pod("a")), NOON)
    assert decision.actions == ()
    assert decision.again == timedelta(minutes=5)


def test_a_pod_wakes_the_quotas_of_its_namespace() -> None:
    raw = quota({"pods": "9"})
    assert list(quotas(pod("a"), View.of(raw))) == [Ref("", "ResourceQuota", "ns", "q")]
    assert list(quotas(pod("a", namespace="other"), View.of(raw))) == []
