"""The reservation: where the first gang that waits will have room, so that those who pass it do not delay it.

Pods leave in an order: those told to go, then those whose end is known, then the rest by age. The first gang has room
once enough of them have left; what it will take there is kept from all who would still hold it then.
"""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta

import msgspec

from trainplane.gang.fit import Node, Pod
from trainplane.gang.gangs import Gang, requested
from trainplane.gang.ledger import Ledger
from trainplane.gang.place import Placer

Ends = Callable[[Pod], datetime | None]
"""When a pod will have ended at the latest, where that is known."""


class Reservation(msgspec.Struct, frozen=True):
    """When the gang has room, if that is known, and what must be kept from others until then, by node."""

    gang: Gang
    at: datetime | None
    leaving: tuple[Pod, ...]
    kept: tuple[tuple[Node, dict[str, int]], ...]


def deadline(pod: Pod) -> datetime | None:
    """The end that a pod's activeDeadlineSeconds sets."""
    spec, status = pod.raw["spec"], pod.raw.get("status") or {}
    seconds, start = (
        spec.get("activeDeadlineSeconds"),
        status.get("startTime") or pod.raw["metadata"].get("creationTimestamp"),
    )
    if seconds is None or not start:
        return None
    return moment(start) + timedelta(seconds=seconds)


def moment(text: str) -> datetime:
    """A time as the API writes it."""
    return datetime.fromisoformat(text).astimezone(UTC)


def departures(placer: Placer, ends: Ends) -> list[tuple[Pod, datetime | None]]:
    """Every pod that holds a node, in the order in which they are taken to leave."""
    rows = []
    for node in placer.ledger.nodes:
        for pod in node.pods.values():
            end = None if pod.deleting else ends(pod)
            stamp = end.timestamp() if end else 0.0
            rows.append(
                ((not pod.deleting, end is None, stamp, pod.created, pod.ref.namespace, pod.ref.name), pod, end)
            )
    rows.sort(key=lambda row: row[0])
    return [(pod, end) for _, pod, end in rows]


def reserve(placer: Placer, gang: Gang, ends: Ends) -> Reservation | None:
    """Where and when the gang will have room; None where it never will, so that nobody waits for it."""
    own = {pod.uid for pod in gang.placed}
    rows = [(pod, end) for pod, end in departures(placer, ends) if pod.uid not in own]
    low, high = 0, len(rows)
    if _room(placer, gang, [pod for pod, _ in rows]) is None:
        return None
    while low < high:
        middle = (low + high) // 2
        if _room(placer, gang, [pod for pod, _ in rows[:middle]]) is None:
            low = middle + 1
        else:
            high = middle
    leaving = [pod for pod, _ in rows[:low]]
    placed = _room(placer, gang, leaving)
    if placed is None:
        return None
    known = [end for _, end in rows[:low]]
    last = max((end for end in known if end is not None), default=None)
    at = last if all(end is not None for end in known) else None
    return Reservation(gang, at, tuple(leaving), kept(placed, leaving, placer.ledger))


def kept(
    placed: Iterable[tuple[Pod, Node]], leaving: Iterable[Pod], ledger: Ledger
) -> tuple[tuple[Node, dict[str, int]], ...]:
    """What of each node must be kept from others: what is wanted there less what those who leave give back."""
    wanted: dict[str, list[Pod]] = {}
    freed: dict[str, list[Pod]] = {}
    for pod, node in placed:
        wanted.setdefault(node.name, []).append(pod)
    for pod in leaving:
        freed.setdefault(ledger.where[pod.uid].name, []).append(pod)
    found = []
    for name, pods in wanted.items():
        back = requested(freed.get(name, []))
        rest = {resource: amount - back.get(resource, 0) for resource, amount in requested(pods).items()}
        found.append((ledger.by_name[name], {resource: amount for resource, amount in rest.items() if amount > 0}))
    return tuple(found)


def _room(placer: Placer, gang: Gang, leaving: list[Pod]) -> list[tuple[Pod, Node]] | None:
    ledger = placer.ledger
    mark = ledger.mark()
    for pod in leaving:
        ledger.remove(pod)
    placed = placer.together(gang.waiting, max(gang.need, 1), near=gang.near)
    ledger.undo(mark)
    return placed


def still_holds(placer: Placer, reservation: Reservation) -> bool:
    """Whether the gang would still have room once the same pods have left."""
    return _room(placer, reservation.gang, list(reservation.leaving)) is not None
