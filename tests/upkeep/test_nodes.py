"""A node that is silent is marked, its pods leave in their time, and all is well again when it speaks."""

from datetime import timedelta

import pytest

from tests.upkeep.town import NOON, Raw, Town, node, play, pod
from trainplane.api.ref import Ref
from trainplane.cluster.client import Patch
from trainplane.reconcile.decision import Delete, Record, SetStatus
from trainplane.reconcile.view import View
from trainplane.upkeep.eviction import EVICTION, on_node, reconcile
from trainplane.upkeep.node_health import NODE_HEALTH

CHORES = (NODE_HEALTH, EVICTION)
N = Ref("", "Node", "", "n")
READY = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-31T12:00:00Z"}
RUNNING = {"phase": "Running", "startTime": "2026-01-31T12:00:00Z", "conditions": [READY]}


def lease(renewed: str) -> Raw:
    """The lease of the node n."""
    metadata = {"name": "n", "namespace": "kube-node-lease"}
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": metadata,
        "spec": {"renewTime": renewed},
    }


def taints(raw: Raw) -> set[tuple[str, str]]:
    """Key and effect of a node's taints."""
    return {(one["key"], one["effect"]) for one in raw["spec"].get("taints") or ()}


def said(raw: Raw, type_: str) -> Raw:
    """A condition."""
    return next((one for one in raw["status"]["conditions"] if one["type"] == type_), {})


LOST = {("node.kubernetes.io/unreachable", "NoSchedule"), ("node.kubernetes.io/unreachable", "NoExecute")}


def test_a_node_that_speaks_is_left_alone() -> None:
    async def story(town: Town) -> None:
        await town.make(node("n"), pod("p", node="n", status=RUNNING))
        assert await town.settle(CHORES) == timedelta(seconds=60)
        town.now += timedelta(seconds=70)
        await town.make(lease("2026-01-31T12:01:00.000000Z"))
        assert await town.settle(CHORES) == timedelta(seconds=40), "the lease counts as much as a report"
        assert town.writes == 0

    play(story)


def test_of_a_node_that_is_deleted_it_is_noted_when_it_went() -> None:
    gone = {**node("n"), "metadata": {"name": "n", "uid": "1"}}
    another = {**node("n"), "metadata": {"name": "n", "uid": "2"}}
    note = "Node n event: Removing Node n from Controller"
    for view in (View(), View([another])):
        assert NODE_HEALTH.reconcile(gone, view, NOON).actions == (Record(N, "Normal", "RemovingNode", note),)
    assert NODE_HEALTH.outlives, "it is asked about nodes that are gone"


def test_a_silent_node_is_lost_and_its_pods_leave_after_five_minutes() -> None:
    async def story(town: Town) -> None:
        await town.make(node("n"), pod("p", node="n", status=RUNNING))
        town.now += timedelta(seconds=61)
        await town.settle(CHORES)
        lost = await town.api.get(N)
        assert (said(lost, "Ready")["status"], said(lost, "Ready")["reason"]) == ("Unknown", "NodeStatusUnknown")
        assert said(lost, "MemoryPressure")["reason"] == "NodeStatusNeverUpdated"
        assert taints(lost) == LOST
        p = await town.api.get(Ref("", "Pod", "ns", "p"))
        assert said(p, "Ready")["status"] == "False", "nobody should be sent to a pod of a lost node"
        assert "deletionTimestamp" not in p["metadata"]
        town.now += timedelta(seconds=299)
        assert await town.settle(CHORES) == timedelta(seconds=1)
        town.now += timedelta(seconds=1)
        await town.settle(CHORES)
        p = await town.api.get(Ref("", "Pod", "ns", "p"))
        assert p["metadata"]["deletionTimestamp"], "the pod is told to go, and waits for its node"
        assert said(p, "DisruptionTarget")["reason"] == "DeletionByTaintManager"
        assert ("Pod/p", "TaintManagerEviction", "Marking for deletion Pod ns/p") in town.said

    play(story)


def test_a_node_that_speaks_again_is_as_before() -> None:
    async def story(town: Town) -> None:
        await town.make(node("n"))
        town.now += timedelta(seconds=61)
        await town.settle(CHORES)
        await town.api.set_status(N, node("n", heard="2026-01-31T12:01:05Z")["status"])
        await town.settle(CHORES)
        assert taints(await town.api.get(N)) == set()

    play(story)


def test_a_renewed_lease_alone_does_not_make_a_lost_node_ready() -> None:
    async def story(town: Town) -> None:
        await town.make(node("n"))
        town.now += timedelta(seconds=61)
        await town.settle(CHORES)
        await town.make(lease("2026-01-31T12:01:00.000000Z"))
        await town.settle(CHORES)
        assert taints(await town.api.get(N)) == LOST

    play(story)


@pytest.mark.parametrize(
    ("condition", "spec", "expected"),
    [
        pytest.param(
            {"type": "Ready", "status": "False"},
            {},
            {("node.kubernetes.io/not-ready", "NoSchedule"), ("node.kubernetes.io/not-ready", "NoExecute")},
            id="a node that says it is not ready",
        ),
        pytest.param(
            {"type": "DiskPressure", "status": "True"},
            {},
            {("node.kubernetes.io/disk-pressure", "NoSchedule")},
            id="pressure keeps new pods away",
        ),
        pytest.param(
            {"type": "DiskPressure", "status": "False"},
            {"unschedulable": True},
            {("node.kubernetes.io/unschedulable", "NoSchedule")},
            id="a cordoned node",
        ),
        pytest.param(
            {"type": "DiskPressure", "status": "False"},
            {"taints": [{"key": "team", "value": "a", "effect": "NoSchedule"}]},
            {("team", "NoSchedule")},
            id="the taints of others stay",
        ),
    ],
)
def test_conditions_become_taints(condition: Raw, spec: Raw, expected: set[tuple[str, str]]) -> None:
    async def story(town: Town) -> None:
        raw = node("n", **spec)
        others = [one for one in raw["status"]["conditions"] if one["type"] != condition["type"]]
        heard = {"lastHeartbeatTime": "2026-01-31T12:00:00Z", "lastTransitionTime": "2026-01-31T12:00:00Z"}
        raw["status"]["conditions"] = [*others, {**condition, **heard}]
        await town.make(raw)
        await town.settle(CHORES)
        assert taints(await town.api.get(N)) == expected

    play(story)


TAINT = {"key": "maintenance", "value": "tonight", "effect": "NoExecute", "timeAdded": "2026-01-31T12:00:00Z"}


@pytest.mark.parametrize(
    ("tolerations", "seconds", "goes", "again"),
    [
        pytest.param([], 0, True, None, id="not tolerated: at once"),
        pytest.param([{"operator": "Exists"}], 999, False, None, id="everything tolerated: for ever"),
        pytest.param([{"key": "maintenance", "value": "tonight"}], 999, False, None, id="this one tolerated"),
        pytest.param([{"key": "maintenance", "value": "today"}], 0, True, None, id="another value"),
        pytest.param(
            [{"key": "maintenance", "operator": "Exists", "effect": "NoSchedule"}], 0, True, None, id="effect"
        ),
        pytest.param(
            [{"key": "maintenance", "operator": "Exists", "tolerationSeconds": 60}], 20, False, 40, id="for a while"
        ),
        pytest.param(
            [{"key": "maintenance", "operator": "Exists", "tolerationSeconds": 60}], 60, True, None, id="while is over"
        ),
    ],
)
def test_pods_stay_as_long_as_they_tolerate(
    tolerations: list[Raw], seconds: int, goes: bool, again: int | None
) -> None:
    raw = pod("p", node="n", tolerations=tolerations, status={"phase": "Running"})
    view = View.of(raw, node("n", taints=[TAINT]))
    decision = reconcile(raw, view, NOON + timedelta(seconds=seconds))
    assert any(isinstance(one, Delete) for one in decision.actions) is goes
    assert decision.again == (None if again is None else timedelta(seconds=again))


def test_pods_of_a_node_that_is_gone_fail_and_go() -> None:
    async def story(town: Town) -> None:
        await town.make(node("n"), pod("p", node="n", status=RUNNING))
        await town.api.delete(N)
        assert await town.settle(CHORES) == timedelta(seconds=40)
        await town.api.patch(
            Ref("", "Pod", "ns", "p"), Patch.merge({"metadata": {"finalizers": ["batch.kubernetes.io/job-tracking"]}})
        )
        town.now += timedelta(seconds=40)
        await town.settle(CHORES)
        p = await town.api.get(Ref("", "Pod", "ns", "p"))
        assert p["status"]["phase"] == "Failed", "whoever counts it sees how it ended"
        assert said(p, "DisruptionTarget")["reason"] == "DeletionByPodGC"
        await town.api.patch(Ref("", "Pod", "ns", "p"), Patch.merge({"metadata": {"finalizers": None}}))
        assert await town.there("Pod") == []

    play(story)


def test_a_finished_pod_is_nobodys_concern() -> None:
    raw = pod("p", node="gone", status={"phase": "Succeeded", "startTime": "2026-01-31T11:00:00Z"})
    assert reconcile(raw, View.of(raw), NOON).actions == ()


def test_a_node_that_is_well_wakes_no_pods() -> None:
    raw = pod("p", node="n")
    well, ill = node("n"), node("n", ready="False")
    assert list(on_node(well, View.of(raw, well))) == []
    assert list(on_node(ill, View.of(raw, ill))) == [Ref.of(raw)]
    assert list(on_node(well, View.of(raw))) == [Ref.of(raw)]
    assert not any(isinstance(one, SetStatus) for one in reconcile(raw, View.of(raw, ill), NOON).actions)
