"""A pod's ephemeral volume has a claim as soon as the pod is there, whether or not there is a node for it."""

import asyncio

import pytest

from tests.upkeep.town import NOON, Raw
from trainplane.cluster.errors import NotFound
from trainplane.control import virtual
from trainplane.node.reclaim import is_unwanted
from trainplane.reconcile.decision import Create, Record
from trainplane.reconcile.view import Ref, View
from trainplane.simulate import world
from trainplane.upkeep.ephemeral import EPHEMERAL, PATIENCE, claim, reconcile

CLAIM = Ref("", "PersistentVolumeClaim", "ns", "p-scratch")
POD = Ref("", "Pod", "ns", "p")
SPEC = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


def pod(**metadata: str) -> Raw:
    """A pod with an ephemeral volume and one of another sort."""
    template = {"metadata": {"labels": {"k": "v"}, "annotations": {"q": "r"}}, "spec": SPEC}
    volumes = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}, {"name": "tmp", "emptyDir": {}}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "ns", "uid": "2", **metadata},
        "spec": {"volumes": volumes, "containers": [{"name": "c", "image": "i"}]},
        "status": {"phase": "Pending"},
    }


def test_the_claim_is_the_templates_and_the_pods() -> None:
    """As the controller of Kubernetes 1.36 makes it."""
    (made,) = reconcile(pod(), View(), NOON).actions
    assert isinstance(made, Create)
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "2", "controller": True, "blockOwnerDeletion": True}
    assert made.object["metadata"] == {
        "name": "p-scratch",
        "namespace": "ns",
        "labels": {"k": "v"},
        "annotations": {"q": "r"},
        "ownerReferences": [owner],
    }
    assert made.object["spec"] == SPEC
    assert is_unwanted(made.object), "its folder goes with it"


@pytest.mark.parametrize(
    "gone",
    [
        pytest.param(pod(deletionTimestamp="2026-01-31T12:00:00Z"), id="on its way out"),
        pytest.param({**pod(), "status": {"phase": "Succeeded"}}, id="ended"),
    ],
)
def test_nothing_is_made_for_a_pod_that_needs_it_no_more(gone: Raw) -> None:
    assert not reconcile(gone, View(), NOON).actions


def test_a_claim_that_is_there_serves() -> None:
    there = claim(pod(), pod()["spec"]["volumes"][0])
    assert not reconcile(pod(), View([there]), NOON).actions


def test_a_strangers_claim_is_told_of_once_and_not_used() -> None:
    """In the words of Kubernetes, and looked for again."""
    stranger = {**claim(pod(), pod()["spec"]["volumes"][0])}
    stranger["metadata"] = {"name": "p-scratch", "namespace": "ns", "uid": "7"}
    decision = reconcile(pod(), View([stranger]), NOON)
    note = "ephemeral volume scratch: PVC ns/p-scratch was not created for pod ns/p (pod is not owner)"
    assert decision.actions == (Record(POD, "Warning", "FailedBinding", note),)
    assert decision.again == PATIENCE
    regarding = {"kind": "Pod", "name": "p", "namespace": "ns", "uid": "2"}
    told = {"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e", "namespace": "ns"}}
    told |= {"regarding": regarding, "reason": "FailedBinding", "note": note}
    assert not reconcile(pod(), View([stranger, told]), NOON).actions


def test_only_pods_with_such_volumes_are_looked_at() -> None:
    plain = {**pod(), "spec": {"volumes": [{"name": "tmp", "emptyDir": {}}]}}
    assert EPHEMERAL.cares(pod(), View())
    assert not EPHEMERAL.cares(plain, View())


def test_it_is_made_without_a_node_and_again_where_it_is_lost_and_goes_with_its_pod() -> None:
    async def main() -> None:
        async with world(nodes=0) as made, made.controlled():
            await made.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns"}})
            await made.api.create({**pod(), "metadata": {"name": "p", "namespace": "ns"}})
            await asyncio.sleep(2)
            first = await made.api.get(CLAIM)
            assert first["status"]["phase"] == "Pending"
            await made.api.delete(CLAIM)
            await asyncio.sleep(2)
            assert (await made.api.get(CLAIM))["metadata"]["uid"] != first["metadata"]["uid"]
            await made.api.delete(POD)
            await asyncio.sleep(5)
            with pytest.raises(NotFound):
                await made.api.get(CLAIM)

    virtual.run(main())


def test_a_pod_with_one_runs_to_its_end() -> None:
    async def main() -> None:
        async with world(nodes=1) as made, made.controlled():
            await made.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns"}})
            spec = {**pod()["spec"], "restartPolicy": "Never"}
            await made.api.create({**pod(), "metadata": {"name": "p", "namespace": "ns"}, "spec": spec})
            await asyncio.sleep(30)
            assert (await made.api.get(CLAIM))["status"]["phase"] == "Bound"
            assert (await made.api.get(POD))["spec"]["nodeName"]

    virtual.run(main())
