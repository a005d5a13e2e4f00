"""Gangs: pods that start together or not at all, as many as their PodGroup says; a lone pod is a gang of one."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

import msgspec

from trainplane.api.meta import Raw
from trainplane.api.quantity import QuantityError
from trainplane.api.ref import Ref
from trainplane.api.scheduling import (
    DEFAULT_QUEUE,
    QUEUE_NAME_ANNOTATION,
    SYSTEM_CLUSTER_CRITICAL,
    SYSTEM_NODE_CRITICAL,
)
from trainplane.gang.fit import VOLCANO, GroupKey, Pod, counted
from trainplane.gang.ledger import Ledger
from trainplane.reconcile.view import View

_SLACK = 64
"""How many pods that are gone may be remembered."""
SYSTEM_PRIORITIES = {SYSTEM_CLUSTER_CRITICAL: 2_000_000_000, SYSTEM_NODE_CRITICAL: 2_000_001_000}


class Gang(msgspec.Struct, eq=False):
    """Pods that wait for nodes together."""

    name: str
    """namespace/name of the PodGroup, or of the pod that has none."""
    ref: Ref
    queue: str
    priority: int
    created: str
    waiting: list[Pod]
    placed: list[Pod]
    quorum: int
    group: Raw | None = None
    near: bool = False
    least: Mapping[str, int] | None = None
    """minResources, in billionths."""
    classed: bool = False
    """Whether its PodGroup names a class: that may change its value, so such a gang is read anew."""
    trouble: str = ""
    """Why it cannot even be tried."""
    heard: datetime | None = None
    """When its pods may next be told why they wait, once somebody has worked it out."""
    patience: datetime | None = None
    """Until when it wanted to wait, once somebody has worked it out."""
    told: object = None
    """The words that its pods have on them, once somebody has looked."""
    _signature: tuple[object, ...] = ()

    @property
    def need(self) -> int:
        """How many more pods must find room before any may be bound."""
        return max(0, self.quorum - len(self.placed))

    @property
    def order(self) -> tuple[int, str, str]:
        """Its place within a queue: priority, then age, then name."""
        return -self.priority, self.created, self.name

    @property
    def may_preempt(self) -> bool:
        """Whether it may send others away."""
        return all(pod.may_preempt for pod in self.waiting)

    @property
    def signature(self) -> tuple[object, ...]:
        """Two gangs of one signature find room or not alike; a gang whose neighbours matter is like no other."""
        if not self._signature:
            if any(pod.shape.sociable for pod in self.waiting):
                self._signature = (self.queue, self.name, *(pod.uid for pod in self.waiting))
            else:
                shapes = tuple(id(pod.shape) for pod in self.waiting)
                least = tuple(sorted((self.least or {}).items()))
                self._signature = (self.queue, shapes, self.need, self.near, least)
        return self._signature

    def requests(self) -> dict[str, int]:
        """What its quorum asks together, the first pods counted."""
        return requested(self.waiting[: max(self.need, 1)])


def requested(pods: list[Pod]) -> dict[str, int]:
    """What pods ask together, in billionths."""
    total: dict[str, int] = {}
    for pod in pods:
        for name, amount in pod.shape.requests.items():
            total[name] = total.get(name, 0) + amount
    return total


Known = dict[GroupKey | str, Gang | None]
"""The gangs of the last look, by PodGroup or by the uid of a lone pod, None where no pod of the PodGroup waited; good
for PodGroups whose pods did not move, and for lone pods that are the same."""


def gangs(ledger: Ledger, view: View, known: Known, *, schedulers: frozenset[str]) -> Iterator[Gang]:
    """Every gang with pods that wait for a node; `known` is brought up to date."""
    for pod in ledger.singles.values():
        if pod.scheduler in schedulers:
            lone = known.get(pod.uid)
            if lone is None or lone.waiting[0] is not pod:
                queue = pod.queue or DEFAULT_QUEUE
                lone = Gang(_full(pod.ref), pod.ref, queue, pod.priority, pod.created, [pod], [], 1)
                known[pod.uid] = lone
            yield lone
    if len(known) > len(ledger.queued) + len(ledger.singles) + _SLACK:
        for gone in [key for key in known if isinstance(key, str) and key not in ledger.singles]:
            del known[gone]
    for key in ledger.moved:
        known.pop(key, None)
    for key in ledger.queued:
        found = known.get(key)
        if found is not None and not found.classed:
            yield found
            continue
        if found is None and key in known:
            continue
        members = ledger.groups[key]
        waiting = [pod for pod in members.values() if pod.waiting and pod.scheduler in schedulers]
        found = known[key] = gang(key, list(members.values()), waiting, view) if waiting else None
        if found is not None:
            yield found


def forget(known: Known, changed: Iterable[Ref]) -> None:
    """Let gangs be read anew whose PodGroups have changed."""
    for ref in changed:
        known.pop((ref.group, ref.namespace, ref.name), None)


def gang(key: GroupKey, members: list[Pod], waiting: list[Pod], view: View) -> Gang:
    """The gang of a PodGroup; one whose PodGroup is missing can never be tried."""
    group_api, namespace, name = key
    ref = Ref(group_api, "PodGroup", namespace, name)
    group = view.get(ref)
    # A pod that failed or is going holds no place in the quorum; one that has done its work does.
    placed = [pod for pod in members if pod.node and pod.phase != "Failed" and not pod.deleting]
    if len(waiting) > 1:
        waiting.sort(key=lambda pod: (-pod.priority, pod.created, pod.ref.name))
    spec = (group or {}).get("spec") or {}
    found = Gang(
        f"{namespace}/{name}",
        ref,
        _queue(group or {}, spec, waiting[0]),
        priority(group_api, spec, waiting, view),
        str(((group or {}).get("metadata") or {}).get("creationTimestamp") or waiting[0].created),
        waiting,
        placed,
        spec.get("minMember") or 1,
        group,
        bool(spec.get("networkTopology")),
        classed=bool(spec.get("priorityClassName")),
    )
    if group is None:
        found.trouble = f"PodGroup {found.name} not found"
        return found
    missing = found.quorum - len(placed) - len(waiting)
    if missing > 0:
        there, word = len(placed) + len(waiting), "pod" if found.quorum == 1 else "pods"
        gated = sum(pod.gated for pod in members)
        found.trouble = f"PodGroup {found.name} needs {found.quorum} {word} at once, and only {there} exist" + (
            f" beside {gated} behind scheduling gates" if gated else ""
        )
    if spec.get("minResources") and found.need > 1:
        try:
            found.least = counted(spec["minResources"])
        except QuantityError as error:
            found.trouble = f"PodGroup {found.name}: spec.minResources: {error}"
    return found


def _queue(group: Raw, spec: Raw, pod: Pod) -> str:
    annotations = (group.get("metadata") or {}).get("annotations") or {}
    return spec.get("queue") or annotations.get(QUEUE_NAME_ANNOTATION) or pod.queue or DEFAULT_QUEUE


def priority(group_api: str, spec: Raw, pods: list[Pod], view: View) -> int:
    """The priority of a gang: that of its PodGroup's class where Volcano names one, else the highest of its pods."""
    name = spec.get("priorityClassName") if group_api == VOLCANO else None
    if name in SYSTEM_PRIORITIES:
        return SYSTEM_PRIORITIES[name]
    found = view.get(Ref("scheduling.k8s.io", "PriorityClass", "", name)) if name else None
    if found is not None:
        return int(found.get("value") or 0)
    return max(pod.priority for pod in pods)


def _full(ref: Ref) -> str:
    return f"{ref.namespace}/{ref.name}"
