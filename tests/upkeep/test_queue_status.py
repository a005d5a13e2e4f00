"""A queue says how many gangs are in it, how far they are, and what they hold."""

from tests.upkeep.town import NOON, Raw
from trainplane.reconcile.decision import SetStatus
from trainplane.reconcile.view import Ref, View
from trainplane.upkeep.queue_status import of_group, of_pod, reconcile

VOLCANO = "scheduling.volcano.sh"
REF = Ref(VOLCANO, "Queue", "", "vision")


def queue(**status: object) -> Raw:
    """A queue."""
    raw: Raw = {
        "apiVersion": f"{VOLCANO}/v1beta1",
        "kind": "Queue",
        "metadata": {"name": "vision", "uid": "q"},
        "spec": {},
    }
    return {**raw, "status": status} if status else raw


def group(name: str, phase: str = "", *, in_queue: str = "vision", volcano: bool = True) -> Raw:
    """A gang."""
    api = f"{VOLCANO}/v1beta1" if volcano else "scheduling.x-k8s.io/v1alpha1"
    annotations = {} if volcano else {"scheduling.volcano.sh/queue-name": in_queue}
    return {
        "apiVersion": api,
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "ns", "annotations": annotations},
        "spec": {"minMember": 1, **({"queue": in_queue} if volcano else {})},
        "status": {"phase": phase} if phase else {},
    }


def pod(name: str, *, gang: str = "", node: str = "n", phase: str = "Running", volcano: bool = True) -> Raw:
    """A pod that asks for two CPUs."""
    metadata: Raw = {"name": name, "namespace": "ns", "uid": name}
    if gang and volcano:
        metadata["annotations"] = {"scheduling.k8s.io/group-name": gang}
    elif gang:
        metadata["labels"] = {"scheduling.x-k8s.io/pod-group": gang}
    spec: Raw = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2", "memory": "1Gi"}}}]}
    if node:
        spec["nodeName"] = node
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": phase}}


def said(*world: Raw, of: Raw | None = None) -> Raw:
    """What a queue comes to say; what it says already where that is right."""
    mine = of or queue()
    actions = reconcile(mine, View([mine, *world]), NOON).actions
    if not actions:
        return dict(mine["status"])
    (action,) = actions
    assert isinstance(action, SetStatus)
    return action.status


def test_an_empty_queue_is_open() -> None:
    assert said() == {"state": "Open", "allocated": {}}


def test_gangs_are_counted_by_how_far_they_are_and_those_of_other_queues_are_not() -> None:
    world = [
        group("a", "Running"),
        group("b", "Inqueue"),
        group("c", "Pending"),
        group("d", "Completed"),
        group("e"),
        group("f", "Running", volcano=False),
        group("g", "Running", in_queue="other"),
    ]
    status = said(*world)
    assert {key: status[key] for key in ("running", "inqueue", "pending", "completed")} == {
        "running": 2,
        "inqueue": 1,
        "pending": 2,
        "completed": 1,
    }


def test_what_pods_on_nodes_hold_is_added_up() -> None:
    world = [
        group("a", "Running"),
        group("f", "Running", volcano=False),
        pod("p0", gang="a"),
        pod("p1", gang="a", phase="Pending"),
        pod("p2", gang="f", volcano=False),
        pod("p3", gang="a", node=""),
        pod("p4", gang="a", phase="Succeeded"),
        pod("p5"),
    ]
    assert said(*world)["allocated"] == {"cpu": "6", "memory": "3Gi"}


def test_nothing_is_written_where_nothing_has_changed_and_a_closed_queue_stays_closed() -> None:
    closed = queue(state="Closed", allocated={}, running=1)
    assert reconcile(closed, View([closed, group("a", "Running")]), NOON).actions == ()


def test_a_gang_and_its_pods_wake_their_queue_and_no_other() -> None:
    world = View([queue(), group("a")])
    assert list(of_group(group("a"), world)) == [REF]
    assert list(of_group(group("b", in_queue="other"), world)) == []
    assert list(of_pod(pod("p", gang="a"), world)) == [REF]
    assert list(of_pod(pod("p"), View())) == []
