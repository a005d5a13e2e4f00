"""Where pods go: scores, gangs and their members, queues, and who makes room."""

from datetime import timedelta
from typing import Any

import pytest

from tests.gang.worlds import (
    T0,
    VOLCANO_NAME,
    Day,
    binds,
    decide,
    deleted,
    gang,
    group,
    messages,
    node,
    pod,
    queue,
    volcano,
)
from trainplane.gang.schedule import Scheduler
from trainplane.gang.score import Strategy
from trainplane.reconcile.decision import Patch, SetStatus
from trainplane.reconcile.view import View

Raw = dict[str, Any]
SOFT = "preferredDuringSchedulingIgnoredDuringExecution"


def test_the_emptiest_node_is_taken_first() -> None:
    """LeastAllocated, as upstream's default; MostAllocated where it is asked for."""
    world = [node("a"), node("b"), pod("o", 4, on="a"), pod("p")]
    assert binds(decide(*world)) == {"p": "b"}
    packed = Scheduler(strategy=Strategy.MOST_ALLOCATED).schedule(View(world), T0)
    assert binds(packed) == {"p": "a"}


def test_equal_nodes_go_by_name() -> None:
    """No dice."""
    assert binds(decide(node("c"), node("b"), pod("p"))) == {"p": "b"}


@pytest.mark.parametrize(
    ("spec", "to"),
    [
        pytest.param(
            {
                "affinity": {
                    "nodeAffinity": {
                        SOFT: [
                            {
                                "weight": 1,
                                "preference": {
                                    "matchExpressions": [{"key": "zone", "operator": "In", "values": ["y"]}]
                                },
                            }
                        ]
                    }
                }
            },
            "b",
            id="a preferred node",
        ),
        pytest.param(
            {
                "affinity": {
                    "podAffinity": {
                        SOFT: [
                            {
                                "weight": 9,
                                "podAffinityTerm": {
                                    "topologyKey": "zone",
                                    "labelSelector": {"matchLabels": {"app": "o"}},
                                },
                            }
                        ]
                    }
                }
            },
            "b",
            id="preferred company",
        ),
        pytest.param(
            {
                "topologySpreadConstraints": [
                    {
                        "maxSkew": 1,
                        "topologyKey": "zone",
                        "whenUnsatisfiable": "ScheduleAnyway",
                        "labelSelector": {"matchLabels": {"app": "o"}},
                    }
                ]
            },
            "a",
            id="a preferred spread",
        ),
        pytest.param({}, "a", id="no wish"),
    ],
)
def test_preferences_weigh_more_than_room(spec: Raw, to: str) -> None:
    """Each preference moves the pod from where room alone would put it."""
    world = [node("a", labels={"zone": "x"}), node("b", labels={"zone": "y"}), pod("o", on="b", labels={"app": "o"})]
    assert binds(decide(*world, pod("p", spec=spec))) == {"p": to}


def test_a_discouraging_taint_is_avoided_but_not_forbidden() -> None:
    """PreferNoSchedule is a matter of score."""
    taint = {"taints": [{"key": "k", "effect": "PreferNoSchedule"}]}
    assert binds(decide(node("a", spec=taint), node("b"), pod("o", 7, on="b"), pod("p"))) == {"p": "b"}
    assert binds(decide(node("a", spec=taint), pod("p"))) == {"p": "a"}


def test_pods_of_a_gang_that_want_to_be_together_start_somewhere() -> None:
    """The first of them has nobody to join yet, and the others follow it."""
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "g"}}}
    spec = {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    world = [node("a", 3, labels={"zone": "x"}), node("b", 3, labels={"zone": "y"}), node("c", 3, labels={"zone": "y"})]
    found = binds(decide(*world, *gang("g", 3, 2, labels={"app": "g"}, least=2, spec=spec)))
    assert set(found.values()) == {"b", "c"}


def test_a_gang_of_mixed_pods_finds_the_only_way() -> None:
    """Taking the emptiest node each time fails here, and a search succeeds."""
    pods = [pod(f"g-{i}", cpu, group="g") for i, cpu in enumerate((2, 2, 2, 3, 3))]
    found = binds(decide(node("a", 6), node("b", 6), group("g", 5), *pods))
    assert len(found) == 5


def test_members_beyond_the_quorum_come_one_by_one() -> None:
    """Three of five fit; the quorum is two."""
    assert len(binds(decide(node("a", 3), *gang("g", 5, least=2)))) == 3


def test_a_replacement_joins_a_running_gang() -> None:
    """While the others run, one pod is enough."""
    world = [node("a", 3), group("g", 3), *(pod(f"g-{i}", group="g", on="a") for i in range(2)), pod("g-2", group="g")]
    assert binds(decide(*world)) == {"g-2": "a"}


def test_a_failed_member_holds_no_place_in_the_quorum() -> None:
    """Two failed and one came back: the gang waits for the other."""
    failed = [pod(f"f-{i}", group="g", on="a", status={"phase": "Failed"}) for i in range(2)]
    world = [node("a", 3), group("g", 3), pod("g-0", group="g", on="a"), *failed, pod("g-1", group="g")]
    assert binds(decide(*world)) == {}


def test_a_volcano_gang_with_a_queue_nobody_made() -> None:
    """The queue's name is the reason, and the others are named."""
    member = pod("p", annotations={VOLCANO_NAME: "g"})
    decision = decide(node("a"), queue("research"), volcano("g", 1, queue="reserch"), member)
    assert messages(decision) == {"p": "queue reserch does not exist; there are default, research."}


def test_a_queue_holds_no_more_than_its_capability() -> None:
    """What is held and wanted is said with its figures."""
    mark = {VOLCANO_NAME: "g"}
    world = [node("a"), queue("q", capability={"cpu": "3"}), volcano("g", 2, queue="q")]
    decision = decide(*world, pod("p", 2, annotations=mark), pod("r", 2, annotations=mark))
    assert messages(decision)["p"] == "queue q may hold 3 of cpu: 0 are held and 4 more are wanted."


def test_the_next_gang_comes_from_the_queue_with_least_of_its_share() -> None:
    """By dominant share against weight, whoever came first."""
    name = "scheduling.volcano.sh/queue-name"
    held = [pod(f"o{i}", 2, on="a", annotations={name: who}) for i, who in enumerate(("x", "y"))]
    waiting = [
        pod("x", 4, annotations={name: "x"}, made=T0 - timedelta(days=1)),
        pod("y", 4, annotations={name: "y"}),
    ]
    assert binds(decide(node("a"), queue("x", 1), queue("y", 2), *held, *waiting)) == {"y": "a"}


def test_a_gang_near_in_the_network() -> None:
    """With networkTopology a gang stays within one zone where it can, though other nodes are emptier."""
    zones = [node(f"{zone}{i}", 2, labels={"topology.kubernetes.io/zone": zone}) for zone in "xy" for i in range(2)]
    pods = [pod(f"g-{i}", 2, annotations={VOLCANO_NAME: "g"}) for i in range(2)]
    world = [*zones, pod("o", 1, on="x0"), volcano("g", 2, networkTopology={"mode": "soft"}), *pods]
    assert set(binds(decide(*world)).values()) == {"y0", "y1"}


def test_preemption_takes_the_fewest_gangs_whole() -> None:
    """One gang of two pods goes rather than two single pods, gently and with a reason, and only what is needed."""
    low = [pod(f"l-{i}", 4, group="l", on=where) for i, where in enumerate("ab")]
    singles = [pod("s-0", 4, on="a"), pod("s-1", 4, on="b"), pod("t", 8, on="c", priority=3)]
    world = [node("a"), node("b"), node("c"), group("l", 2), *low, *singles]
    decision = decide(*world, *gang("h", 2, 4, priority=5))
    assert deleted(decision) == {"l-0", "l-1"}
    assert binds(decision) == {}
    patches = [action.patch["status"] for action in decision.actions if isinstance(action, Patch)]
    reasons = [one["reason"] for status in patches for one in status.get("conditions", ())]
    assert reasons == ["PreemptionByScheduler"] * 2
    assert {status.get("nominatedNodeName") for status in patches} == {None, "a", "b"}


def test_nobody_is_evicted_for_an_equal() -> None:
    """Nor where it would not help."""
    assert deleted(decide(node("a"), pod("o", 8, on="a", priority=5), pod("p", 8, priority=5))) == set()
    assert deleted(decide(node("a"), pod("o", 8, on="a"), pod("p", 9, priority=5))) == set()
    equal = pod("o", 8, on="a", priority=5)
    assert deleted(decide(node("a"), node("b", 2), equal, pod("l", 2, on="b"), pod("p", 8, priority=5))) == set()


def test_nobody_more_is_evicted_while_victims_leave() -> None:
    """Room that comes by itself is waited for, and kept from those behind."""
    leaving = pod("o", 8, on="a")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T12:00:00Z"
    world = [node("a"), node("b"), leaving, pod("q", 6, on="b"), pod("p", 8, priority=5), pod("s", 2)]
    decision = decide(*world)
    assert deleted(decision) == set()
    assert binds(decision) == {"s": "b"}


def test_the_first_gang_is_not_starved_by_small_pods() -> None:
    """Small pods keep coming; the gang of two whole nodes starts as soon as two nodes could be free."""
    running = [pod(f"r{i}", 4, on=name) for i, name in enumerate("abc")]
    small = [pod(f"s{i:02}", 4, made=T0 - timedelta(minutes=5)) for i in range(20)]
    day = Day(
        [node("a"), node("b"), node("c"), *running, *gang("g", 2, 8, made=T0 - timedelta(minutes=9)), *small],
        lambda name: 50 if name.startswith("s") else 60,
    )
    day.run()
    assert day.started["g-0"] == T0 + timedelta(seconds=60)
    assert day.started["s00"] == T0


@pytest.mark.parametrize(
    ("phases", "phase"),
    [
        pytest.param(("Pending",), "Pending", id="too few pods"),
        pytest.param(("Pending", "Pending"), "Scheduling", id="enough pods"),
        pytest.param(("Running", "Running"), "Running", id="all run"),
        pytest.param(("Running", "Failed"), "Failed", id="one failed"),
        pytest.param(("Succeeded", "Succeeded"), "Finished", id="all done"),
    ],
)
def test_a_group_says_how_far_its_pods_are(phases: tuple[str, ...], phase: str) -> None:
    """The phases of coscheduling."""
    pods = [
        pod(f"g-{i}", 9, group="g", on="" if word == "Pending" else "a", status={"phase": word})
        for i, word in enumerate(phases)
    ]
    decision = decide(node("a"), group("g", 2), *pods)
    (said,) = [action for action in decision.actions if isinstance(action, SetStatus)]
    assert said.status["phase"] == phase
    again = {**group("g", 2), "status": said.status}
    assert not [action for action in decide(node("a"), again, *pods).actions if isinstance(action, SetStatus)]


def test_a_node_that_shrinks_is_seen() -> None:
    """A scheduler with a memory sees a node change, pods go and nodes come."""
    scheduler = Scheduler()
    assert binds(scheduler.schedule(View.of(node("a", 2), pod("o", 1, on="a"), pod("p", 2)), T0)) == {}
    assert binds(scheduler.schedule(View.of(node("a", 2), pod("p", 2)), T0)) == {"p": "a"}
    assert binds(scheduler.schedule(View.of(node("a", 1), pod("p", 2)), T0)) == {}
    assert binds(scheduler.schedule(View.of(node("a", 1), node("b", 4), pod("p", 2)), T0)) == {"p": "b"}
