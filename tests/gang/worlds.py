"""Nodes, pods, PodGroups and queues for tests, as an API server would hold them; and a day of a cluster's life."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from trainplane.control.live import Live
from trainplane.gang.fit import COSCHEDULING, VOLCANO
from trainplane.gang.schedule import Scheduler
from trainplane.reconcile.decision import Bind, Decision, Delete, Patch
from trainplane.reconcile.view import Ref, View

Raw = dict[str, Any]
T0 = datetime(2026, 1, 1, 12, tzinfo=UTC)
LABEL = "scheduling.x-k8s.io/pod-group"
VOLCANO_NAME = "scheduling.k8s.io/group-name"


def stamp(when: datetime) -> str:
    """A time as the API writes it."""
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


def node(name: str, cpu: int | str = 8, *, labels: Raw | None = None, spec: Raw | None = None, **more: Any) -> Raw:
    """A node; `more` are further resources."""
    allocatable = {"cpu": str(cpu), "memory": "32Gi", "pods": "110", **{key: str(value) for key, value in more.items()}}
    marks = {"kubernetes.io/hostname": name, **(labels or {})}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": marks},
        "spec": spec or {},
        "status": {"allocatable": allocatable},
    }


def pod(
    name: str,
    cpu: int | str | None = 1,
    *,
    group: str = "",
    on: str = "",
    priority: int = 0,
    made: datetime = T0 - timedelta(hours=1),
    labels: Raw | None = None,
    annotations: Raw | None = None,
    spec: Raw | None = None,
    status: Raw | None = None,
) -> Raw:
    """A pod of one container, waiting or on a node."""
    resources = {} if cpu is None else {"requests": {"cpu": str(cpu), "memory": "1Gi"}}
    more = {LABEL: group} if group else {}
    body: Raw = {
        "priority": priority,
        "schedulerName": "default-scheduler",
        "containers": [{"name": "main", "image": "train:1", "resources": resources}],
        **(spec or {}),
    }
    if on:
        body["nodeName"] = on
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "ml",
            "uid": f"uid-{name}",
            "creationTimestamp": stamp(made),
            "labels": {**more, **(labels or {})},
            "annotations": annotations or {},
        },
        "spec": body,
        "status": status or {"phase": "Running" if on else "Pending"},
    }


def group(name: str, least: int, *, made: datetime = T0 - timedelta(hours=1), **spec: Any) -> Raw:
    """A PodGroup of coscheduling."""
    metadata = {"name": name, "namespace": "ml", "uid": f"uid-group-{name}", "creationTimestamp": stamp(made)}
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": metadata,
        "spec": {"minMember": least, **spec},
    }


def volcano(name: str, least: int, **spec: Any) -> Raw:
    """A PodGroup of Volcano."""
    return {**group(name, least, **spec), "apiVersion": "scheduling.volcano.sh/v1beta1"}


def queue(name: str, weight: int = 1, **spec: Any) -> Raw:
    """A Queue of Volcano."""
    body = {"weight": weight, **spec}
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name, "uid": f"uid-queue-{name}"},
        "spec": body,
    }


def gang(name: str, size: int, cpu: int = 1, *, least: int | None = None, **more: Any) -> list[Raw]:
    """A PodGroup with its pods."""
    made = {"made": more["made"]} if "made" in more else {}
    pods = [pod(f"{name}-{i}", cpu, group=name, **more) for i in range(size)]
    return [group(name, size if least is None else least, **made), *pods]


def decide(*objects: Raw, now: datetime = T0) -> Decision:
    """What a scheduler that knows nothing else decides."""
    return Scheduler().schedule(View(objects), now)


def binds(decision: Decision) -> dict[str, str]:
    """Which pod goes to which node."""
    return {action.pod.name: action.node for action in decision.actions if isinstance(action, Bind)}


def messages(decision: Decision) -> dict[str, str]:
    """What each waiting pod is told."""
    found = {}
    for action in decision.actions:
        if isinstance(action, Patch):
            for each in action.patch["status"].get("conditions", ()):
                if each["type"] == "PodScheduled":
                    found[action.ref.name] = each["message"]
    return found


def deleted(decision: Decision) -> set[str]:
    """Who has to go."""
    return {action.ref.name for action in decision.actions if isinstance(action, Delete)}


KINDS = (("", "Pod"), ("", "Node"), ("", "Namespace"), (COSCHEDULING, "PodGroup"), (VOLCANO, "PodGroup"))


class Day:
    """A cluster on virtual time: pods run for as long as they are told, and the scheduler looks whenever one ends."""

    def __init__(self, objects: Iterable[Raw], lengths: Callable[[str], int]) -> None:
        self.objects = {Ref.of(raw): raw for raw in objects}
        self.lengths = lengths
        self.scheduler = Scheduler()
        self.live = Live()
        self.now = T0
        self.started: dict[str, datetime] = {}
        self.ends: dict[Ref, datetime] = {}
        for ref, raw in self.objects.items():
            if ref.kind == "Pod" and raw["spec"].get("nodeName"):
                self._start(ref)

    def _start(self, ref: Ref) -> None:
        self.started[ref.name] = self.now
        self.ends[ref] = self.now + timedelta(seconds=self.lengths(ref.name))

    def look(self) -> Decision:
        """Let the scheduler decide, and do as it says."""
        for gone in {Ref.of(raw) for kind in KINDS for raw in self.live.all(*kind)} - self.objects.keys():
            self.live.remove(gone)
        for ref, raw in self.objects.items():
            if self.live.get(ref) is not raw:
                self.live.put(raw)
        decision = self.scheduler.schedule(self.live, self.now)
        for action in decision.actions:
            if isinstance(action, Bind):
                raw = self.objects[action.pod]
                status = {"phase": "Running", "startTime": stamp(self.now)}
                self.objects[action.pod] = {**raw, "spec": {**raw["spec"], "nodeName": action.node}, "status": status}
                self._start(action.pod)
            elif isinstance(action, Delete):
                del self.objects[action.ref]
                self.ends.pop(action.ref, None)
        return decision

    def step(self) -> bool:
        """Go to the moment when the next pods end, and take them away; False where none runs."""
        if not self.ends:
            return False
        self.now = min(self.ends.values())
        for ref in [ref for ref, end in self.ends.items() if end <= self.now]:
            del self.ends[ref]
            del self.objects[ref]
        return True

    def run(self, steps: int = 200) -> None:
        """Live until nothing runs any more."""
        for _ in range(steps):
            self.look()
            if not self.step():
                return
