"""Space: what nodes have, what is left of it, and who holds the rest; counted once a second for all who ask."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

import msgspec

from trainplane.api.core import FAILED, SUCCEEDED
from trainplane.api.meta import Raw
from trainplane.api.nodes import UNSCHEDULABLE
from trainplane.api.quantity import Amount, QuantityError, amounts
from trainplane.api.raw import look
from trainplane.api.requests import pod_requests
from trainplane.api.selectors import NodeQuery, SelectorError, from_node_selector
from trainplane.reconcile.view import View
from trainplane.why.scene import jobset_of

NANO: Final = 10**9
REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
Counts = dict[str, int]
"""Billionths by resource; `pods` among them."""


class Room(msgspec.Struct):
    """A node, what it has, and what is left of it."""

    node: Raw
    has: Counts
    free: Counts
    labels: Mapping[str, str]
    taints: tuple[Raw, ...]
    """Those that keep pods away; a cordoned node has one more."""
    holders: dict[str, Counts] = msgspec.field(default_factory=dict)
    """What the pods of each TrainJob hold, by its name."""

    @property
    def name(self) -> str:
        """The node's name."""
        return str(self.node["metadata"]["name"])


class Part:
    """The nodes that pods of one kind may use; what many of them ask is counted once."""

    def __init__(self, rooms: Sequence[Room]) -> None:
        self.rooms = rooms
        self._fits: dict[tuple[tuple[str, int], ...], tuple[int, str]] = {}
        self._left: dict[str, dict[str, int]] = {}
        self._holders: dict[str, list[tuple[str, int]]] = {}

    def fit(self, asked: Counts) -> tuple[int, str]:
        """How many pods that ask for so much find room now, and the resource that lets the fewest in."""
        key = tuple(asked.items())
        if key not in self._fits:
            fit = sum(capacity(room.free, asked) for room in self.rooms)
            self._fits[key] = fit, scarcest((room.free for room in self.rooms), asked)
        return self._fits[key]

    def left(self, resource: str) -> dict[str, int]:
        """What is left of a resource, by the name of the node, where anything is."""
        if resource not in self._left:
            free = ((room.name, room.free.get(resource, 0)) for room in self.rooms)
            self._left[resource] = {name: nano for name, nano in free if nano > 0}
        return self._left[resource]

    def holders(self, resource: str, *, but: str) -> list[tuple[str, int]]:
        """Which other jobs hold most of a resource on these nodes."""
        if resource not in self._holders:
            held: Counter[str] = Counter()
            for room in self.rooms:
                for name, counts in room.holders.items():
                    held[name] += counts.get(resource, 0)
            self._holders[resource] = held.most_common(3)
        return [(name, amount) for name, amount in self._holders[resource] if amount and name != but]


class _Second(NamedTuple):
    """What was counted in a second, and for whom."""

    at: datetime
    rooms: tuple[Room, ...]
    parts: dict[bytes, Part]


_KEPT: WeakKeyDictionary[View, _Second] = WeakKeyDictionary()


def rooms(view: View, now: datetime) -> tuple[Room, ...]:
    """Every node with what is left of it.

    A queue of many jobs asks for all of them at once, and an answer that is a second old explains as well.
    """
    return _second(view, now).rooms


def usable(pod: Raw, view: View, now: datetime) -> Part:
    """The nodes that a pod may be on, room or not."""
    second, wishes = _second(view, now), Wishes.of(pod)
    part = second.parts.get(wishes.key)
    if part is None:
        part = second.parts[wishes.key] = Part([room for room in second.rooms if wishes.admit(room)])
    return part


def _second(view: View, now: datetime) -> _Second:
    second = now.replace(microsecond=0)
    kept = _KEPT.get(view)
    if kept is None or kept.at != second:
        kept = _KEPT[view] = _Second(second, _counted(view), {})
    return kept


def _counted(view: View) -> tuple[Room, ...]:
    found = {}
    for node in view.all("", "Node"):
        has = nanos(look(node, "status", "allocatable") or look(node, "status", "capacity") or {})
        labels = node["metadata"].get("labels") or {}
        found[str(node["metadata"]["name"])] = Room(node, has, dict(has), labels, tuple(_taints(node)))
    for pod in view.all("", "Pod"):
        room = found.get(look(pod, "spec", "nodeName") or "")
        if room is None or look(pod, "status", "phase") in (SUCCEEDED, FAILED):
            continue
        asked = needs(pod)
        held = room.holders.setdefault(jobset_of(pod) or str(pod["metadata"]["name"]), {})
        for name, amount in asked.items():
            room.free[name] = room.free.get(name, 0) - amount
            held[name] = held.get(name, 0) + amount
    return tuple(found.values())


def needs(pod: Raw) -> Counts:
    """What a pod asks of a node."""
    try:
        asked = {name: amount.nano for name, amount in pod_requests(look(pod, "spec") or {}).items() if amount.nano > 0}
    except QuantityError:
        asked = {}
    return {**asked, "pods": NANO}


def nanos(resources: Mapping[str, Any]) -> Counts:
    """A resource list in billionths; what cannot be read counts as nothing."""
    try:
        return {name: amount.nano for name, amount in amounts(resources).items()}
    except QuantityError:
        return {}


def spelt(counts: Counts) -> dict[str, Amount]:
    """Amounts that can be printed, memory in the powers of 1024 that people use for it."""
    return {name: amount_of(name, nano) for name, nano in counts.items()}


def amount_of(name: str, nano: int) -> Amount:
    """An amount of a resource that can be printed."""
    (found,) = amounts(
        {name: f"{nano // NANO // 2**20}Mi"} if name in ("memory", "ephemeral-storage") else {name: Amount(nano)}
    ).values()
    return found


def capacity(counts: Counts, asked: Counts) -> int:
    """How many pods that ask for so much fit."""
    return max(0, min(counts.get(name, 0) // amount for name, amount in asked.items()))


def scarcest(there: Iterable[Counts], asked: Counts) -> str:
    """The resource that lets the fewest pods in."""
    every = list(there)
    fitting = {name: sum(max(0, counts.get(name, 0)) // amount for counts in every) for name, amount in asked.items()}
    return min(fitting, key=lambda name: (fitting[name], name == "pods", name))


class Wishes(msgspec.Struct):
    """Which nodes a pod takes, read once for all of them."""

    selector: Mapping[str, str]
    required: NodeQuery | None
    tolerations: Sequence[Raw]
    key: bytes
    """The same for pods of the same wishes."""

    @classmethod
    def of(cls, pod: Raw) -> "Wishes":
        """The wishes of a pod; an affinity that cannot be understood takes no node."""
        required = look(pod, "spec", "affinity", "nodeAffinity", REQUIRED)
        try:
            query = None if required is None else from_node_selector(required)
        except SelectorError:
            query = NodeQuery()
        selector, tolerations = look(pod, "spec", "nodeSelector") or {}, look(pod, "spec", "tolerations") or ()
        return cls(selector, query, tolerations, msgspec.json.encode((selector, required, tolerations)))

    def select(self, room: Room) -> bool:
        """Whether nodeSelector and required node affinity take this node."""
        if any(room.labels.get(key) != value for key, value in self.selector.items()):
            return False
        return self.required is None or self.required.matches(room.name, room.labels)

    def repelled(self, room: Room) -> Raw | None:
        """The taint of the node that keeps the pod away, if one does."""
        for taint in room.taints:
            if not any(tolerates(one, taint) for one in self.tolerations):
                return taint
        return None

    def admit(self, room: Room) -> bool:
        """Whether the pod may be on this node, room or not."""
        return self.select(room) and self.repelled(room) is None


def _taints(node: Raw) -> Iterator[Raw]:
    for taint in look(node, "spec", "taints") or ():
        if taint.get("effect") in ("NoSchedule", "NoExecute"):
            yield taint
    if look(node, "spec", "unschedulable"):
        yield {"key": UNSCHEDULABLE, "effect": "NoSchedule"}


def tolerates(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    """Whether a toleration is about this taint."""
    if toleration.get("effect") not in (None, "", taint.get("effect")):
        return False
    if toleration.get("key") not in (None, "", taint.get("key")):
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return True
    return bool(toleration.get("key")) and (toleration.get("value") or "") == (taint.get("value") or "")
