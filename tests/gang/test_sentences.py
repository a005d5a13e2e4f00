"""Why a pod waits, word for word, and where it goes when it may."""

from datetime import timedelta
from typing import Any

import pytest

from tests.gang.worlds import T0, binds, decide, gang, group, messages, node, pod, stamp
from trainplane.reconcile.decision import Record

Raw = dict[str, Any]
HELPLESS = "preemption: 0/{0} nodes are available: {0} Preemption is not helpful for scheduling."
VICTIMLESS = "preemption: 0/{0} nodes are available: {0} No preemption victims found for incoming pod."
TAINT = {"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]}
HARD = "requiredDuringSchedulingIgnoredDuringExecution"


def near(kind: str, app: str, key: str = "kubernetes.io/hostname", **more: Any) -> Raw:
    """An affinity that a pod must have."""
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}, **more}
    return {"affinity": {kind: {HARD: [term]}}}


def select(operator: str, *values: str, key: str = "size") -> Raw:
    """A node affinity with one expression."""
    expression: Raw = {"key": key, "operator": operator, **({"values": list(values)} if values else {})}
    return {"affinity": {"nodeAffinity": {HARD: {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}}}


def spread(skew: int = 1, **more: Any) -> Raw:
    """A spread over zones that must hold."""
    one = {
        "maxSkew": skew,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "a"}},
        **more,
    }
    return {"topologySpreadConstraints": [one]}


def ported(port: int) -> Raw:
    """A container with a host port."""
    return {"containers": [{"name": "main", "ports": [{"containerPort": port, "hostPort": port}]}]}


def test_every_reason_is_counted_by_node() -> None:
    """The sentence has each reason with its nodes, sorted as upstream sorts them."""
    world = [node("a", 1), node("b", 1), node("c", spec=TAINT), node("d", labels={"disk": "hdd"})]
    for raw in world[:3]:
        raw["metadata"]["labels"]["disk"] = "ssd"
    decision = decide(*world, pod("p", 2, spec={"nodeSelector": {"disk": "ssd"}}))
    assert messages(decision) == {
        "p": "0/4 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, "
        "1 node(s) had untolerated taint {k: v}, 2 Insufficient cpu. " + HELPLESS.format(4)
    }
    notes = {action.note for action in decision.actions if isinstance(action, Record)}
    assert notes == {messages(decision)["p"]}


@pytest.mark.parametrize(
    ("nodes", "others", "spec", "reason"),
    [
        pytest.param([node("a", spec={"unschedulable": True})], [], {}, "node(s) were unschedulable", id="cordoned"),
        pytest.param([node("a", spec=TAINT)], [], {}, "node(s) had untolerated taint {k: v}", id="taint"),
        pytest.param(
            [node("a", labels={"size": "3"})],
            [],
            select("Gt", "3"),
            "node(s) didn't match Pod's node affinity/selector",
            id="not greater",
        ),
        pytest.param(
            [node("a", labels={"zone": "z"})],
            [pod("o", on="a", labels={"app": "b"})],
            near("podAffinity", "a", "zone"),
            "node(s) didn't match pod affinity rules",
            id="nobody to be near",
        ),
        pytest.param(
            [node("a")],
            [],
            spread(),
            "node(s) didn't match pod topology spread constraints (missing required label)",
            id="no label to spread over",
        ),
    ],
)
def test_what_no_eviction_mends(nodes: list[Raw], others: list[Raw], spec: Raw, reason: str) -> None:
    """Reasons that lie in the node itself."""
    decision = decide(*nodes, *others, pod("p", labels={"app": "x"}, spec=spec))
    assert messages(decision) == {"p": f"0/1 nodes are available: 1 {reason}. {HELPLESS.format(1)}"}


@pytest.mark.parametrize(
    ("others", "mine", "reason"),
    [
        pytest.param([pod("o", 8, on="a")], {}, "Insufficient cpu", id="cpu"),
        pytest.param(
            [pod("o", on="a", spec=ported(80))],
            ported(80),
            "node(s) didn't have free ports for the requested pod ports",
            id="port",
        ),
        pytest.param(
            [pod("o", on="a", labels={"app": "b"})],
            near("podAntiAffinity", "b"),
            "node(s) didn't match pod anti-affinity rules",
            id="apart from another",
        ),
        pytest.param(
            [pod("o", on="a", spec=near("podAntiAffinity", "a"))],
            {},
            "node(s) didn't satisfy existing pods anti-affinity rules",
            id="another apart from it",
        ),
        pytest.param(
            [pod("o", on="a", labels={"app": "a"}), pod("o2", on="a", labels={"app": "a"})],
            {**spread(), "nodeSelector": {"zone": "z"}, "tolerations": []},
            "",
            id="one zone is never uneven",
        ),
    ],
)
def test_what_another_pod_keeps(others: list[Raw], mine: Raw, reason: str) -> None:
    """Reasons that lie in the pods around."""
    decision = decide(node("a", labels={"zone": "z"}), *others, pod("p", labels={"app": "a"}, spec=mine))
    told = {"p": f"0/1 nodes are available: 1 {reason}. {VICTIMLESS.format(1)}"} if reason else {}
    assert messages(decision) == told


def test_too_many_pods_and_extended_resources() -> None:
    """Each resource has its word, several on one node are all named."""
    small = node("a", 4, pods=1)
    decision = decide(small, pod("o", on="a"), pod("p", 1))
    assert messages(decision)["p"].startswith("0/1 nodes are available: 1 Too many pods. ")
    gpu = {"containers": [{"name": "m", "resources": {"limits": {"nvidia.com/gpu": 2, "cpu": 9}}}]}
    decision = decide(node("a", 4, **{"nvidia.com/gpu": 1}), pod("p", spec=gpu))
    assert messages(decision)["p"] == (
        "0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient nvidia.com/gpu. " + HELPLESS.format(1)
    )


def test_a_pod_that_cannot_be_understood() -> None:
    """It is told once, and places nobody else in danger."""
    broken = pod(
        "p", spec={"nodeSelector": {}, "containers": [{"name": "m", "resources": {"requests": {"cpu": "much"}}}]}
    )
    decision = decide(node("a"), broken, pod("q"))
    assert messages(decision)["p"].startswith("the pod cannot be understood: cpu: 'much' is no quantity")
    assert binds(decision) == {"q": "a"}
    status = {"phase": "Pending", **decision.actions[0].patch["status"]}  # type: ignore[union-attr]
    assert messages(decide(node("a"), {**broken, "status": status})) == {}


def test_no_nodes() -> None:
    """A cluster without nodes says so."""
    assert messages(decide(pod("p"))) == {"p": "no nodes available to schedule pods"}


def test_a_missing_claim() -> None:
    """A claim that does not exist is the reason, not the nodes."""
    volumes = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}
    assert messages(decide(node("a"), pod("p", spec=volumes))) == {
        "p": '0/1 nodes are available: persistentvolumeclaim "data" not found. ' + HELPLESS.format(1)
    }


def test_a_claim_on_one_node() -> None:
    """A pod goes where its volume is."""
    claim: Raw = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": "ml", "annotations": {"volume.kubernetes.io/selected-node": "b"}},
        "spec": {},
    }
    volumes = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}
    assert binds(decide(node("a"), node("b", 2), claim, pod("p", spec=volumes))) == {"p": "b"}


def test_never_preempting_is_said() -> None:
    """A pod that may send nobody away is told so."""
    decision = decide(node("a", 1), pod("p", 2, spec={"preemptionPolicy": "Never"}))
    assert messages(decision)["p"].endswith(" preemption: not eligible due to preemptionPolicy=Never.")


def test_a_gated_pod() -> None:
    """A pod behind a gate is not placed, and its condition has upstream's reason."""
    decision = decide(node("a"), pod("p", spec={"schedulingGates": [{"name": "wait"}]}))
    assert binds(decision) == {}
    assert messages(decision) == {"p": "Scheduling is blocked due to non-empty scheduling gates"}


def test_a_gang_says_how_many_find_room() -> None:
    """The number that fits, not just that the gang does not."""
    decision = decide(node("a", 4), *gang("g", 3, 2))
    assert binds(decision) == {}
    assert messages(decision)["g-0"] == (
        "0/1 nodes are available: 1 Insufficient cpu. "
        + VICTIMLESS.format(1)
        + " PodGroup ml/g needs room for 3 pods at once, and 2 of them find it."
    )


def test_a_gang_that_is_not_complete() -> None:
    """Pods that are missing are counted, and so are those behind gates."""
    world = [node("a"), *gang("g", 2, least=3), pod("g-x", group="g", spec={"schedulingGates": [{"name": "w"}]})]
    decision = decide(*world)
    want = "PodGroup ml/g needs 3 pods at once, and only 2 exist beside 1 behind scheduling gates."
    assert messages(decision)["g-0"] == want


def test_a_gang_beyond_its_timeout_waits_and_says_so() -> None:
    """The timeout changes the sentence, nothing else."""
    world = [node("a", 1), group("g", 2, scheduleTimeoutSeconds=60), *gang("g", 2)[1:]]
    assert messages(decide(*world))["g-0"].endswith(" It has waited longer than its scheduleTimeoutSeconds of 60.")


def test_a_pod_that_has_just_come_is_not_told_yet() -> None:
    """Within its first second nobody reads it; the scheduler comes back to tell."""
    decision = decide(node("a", 1), pod("p", 2, made=T0))
    assert messages(decision) == {}
    assert decision.again == timedelta(seconds=1)


def test_news_come_ever_more_rarely() -> None:
    """A pod that was told after an hour hears of a change an hour later, not at every look."""
    told = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "old"}
    for ago, heard in ((30, False), (60, True)):
        at = {**told, "lastProbeTime": stamp(T0 - timedelta(minutes=ago))}
        waiting = pod("p", 2, made=T0 - timedelta(minutes=ago + 60), status={"phase": "Pending", "conditions": [at]})
        assert bool(messages(decide(node("a", 1), waiting))) is heard


def test_a_pod_of_another_scheduler_is_left_alone() -> None:
    """Only pods of our names are placed."""
    assert decide(node("a"), pod("p", spec={"schedulerName": "somebody"})).actions == ()


def test_gangs_of_one_kind_are_each_told_of_themselves() -> None:
    told = messages(decide(node("a", 1), *gang("one", 2), *gang("two", 2)))
    assert len(told) == 4
    for name, text in told.items():
        own = name.partition("-")[0]
        assert f"PodGroup ml/{own} needs room for 2 pods at once, and 1 of them find it." in text


def test_who_waits_for_others_to_leave_is_told_so() -> None:
    """A pod that was promised room does not hear that nobody could make any."""
    leaving = pod("old", 8, on="a")
    leaving["metadata"]["deletionTimestamp"] = stamp(T0)
    waits = pod("p", 8, priority=5, status={"phase": "Pending", "nominatedNodeName": "a"})
    coming = "preemption: not eligible due to a terminating pod on the nominated node."
    assert messages(decide(node("a"), leaving, waits)) == {
        "p": f"0/1 nodes are available: 1 Insufficient cpu. {coming}"
    }
