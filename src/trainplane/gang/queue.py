"""Queues: whose turn it is. Higher priority first, then the queue with the least of its share, then the oldest gang."""

from collections.abc import Iterable, Mapping

import msgspec

from trainplane.api.meta import Raw
from trainplane.api.quantity import Amount, QuantityError
from trainplane.api.ref import Ref
from trainplane.api.scheduling import DEFAULT_QUEUE, QUEUE_NAME_ANNOTATION
from trainplane.gang.fit import PODS, VOLCANO, Pod, counted
from trainplane.gang.gangs import Gang
from trainplane.gang.ledger import Ledger
from trainplane.reconcile.view import View


class Queue(msgspec.Struct):
    """A queue of gangs, its weight, the most it may hold, and what it holds."""

    name: str
    weight: int = 1
    capability: Mapping[str, int] = msgspec.field(default_factory=dict)
    closed: bool = False
    held: dict[str, int] = msgspec.field(default_factory=dict)

    def share(self, total: Mapping[str, int]) -> float:
        """Its dominant share: of the resource that it holds most of, which part of the cluster."""
        parts = (amount / total[name] for name, amount in self.held.items() if name != PODS and total.get(name))
        return max(parts, default=0.0)

    def turn(self, total: Mapping[str, int]) -> float:
        """The dominant share against the weight; the lowest is next."""
        return self.share(total) / self.weight

    def take(self, resources: Mapping[str, int], sign: int = 1) -> None:
        """Count resources as held, or no longer."""
        for name, amount in resources.items():
            self.held[name] = self.held.get(name, 0) + sign * amount

    def excess(self, resources: Mapping[str, int]) -> str:
        """Which limit the resources would break, in words; "" where none."""
        for name, most in sorted(self.capability.items()):
            wanted = resources.get(name, 0)
            if wanted and self.held.get(name, 0) + wanted > most:
                held = self.held.get(name, 0)
                words = f"{Amount(held)} are held and {Amount(wanted)} more are wanted"
                return f"queue {self.name} may hold {Amount(most)} of {name}: {words}"
        return ""


class Queues:
    """Every queue there is; `default` always is."""

    def __init__(self, view: View, ledger: Ledger) -> None:
        self.by_name = {DEFAULT_QUEUE: Queue(DEFAULT_QUEUE)}
        for raw in view.all(VOLCANO, "Queue"):
            self.by_name[raw["metadata"]["name"]] = read_queue(raw)
        self.total = ledger.total
        if len(self.by_name) == 1 and not self.by_name[DEFAULT_QUEUE].capability:
            # One queue without a limit has nothing to be compared with.
            return
        for node in ledger.nodes:
            for pod in node.pods.values():
                queue = self.by_name.get(queue_of(pod, view))
                if queue is not None:
                    queue.take(pod.shape.requests)

    def trouble(self, gang: Gang) -> str:
        """Why no gang may come from its queue; "" where it may."""
        queue = self.by_name.get(gang.queue)
        if queue is None:
            return f"queue {gang.queue} does not exist; there are {', '.join(sorted(self.by_name))}"
        return f"queue {gang.queue} is closed" if queue.closed else ""

    def next(self, heads: Iterable[Gang]) -> Gang:
        """Whose turn it is among the first gangs of the queues."""
        return min(
            heads,
            key=lambda gang: (-gang.priority, self.by_name[gang.queue].turn(self.total), gang.created, gang.name),
        )


def queue_of(pod: Pod, view: View) -> str:
    """The queue that a placed pod counts to."""
    if pod.group is not None:
        api, namespace, name = pod.group
        group = view.get(Ref(api, "PodGroup", namespace, name)) or {}
        given = (group.get("spec") or {}).get("queue")
        annotations = (group.get("metadata") or {}).get("annotations") or {}
        return given or annotations.get(QUEUE_NAME_ANNOTATION) or pod.queue or DEFAULT_QUEUE
    return pod.queue or DEFAULT_QUEUE


def read_queue(raw: Raw) -> Queue:
    """A Queue of Volcano; a capability that cannot be read closes it, lest it take everything."""
    spec, status = raw.get("spec") or {}, raw.get("status") or {}
    closed = status.get("state") in ("Closed", "Closing")
    try:
        capability = counted(spec.get("capability") or {})
    except QuantityError:
        capability, closed = {}, True
    return Queue(raw["metadata"]["name"], max(1, spec.get("weight") or 1), capability, closed)
