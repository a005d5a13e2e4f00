"""Preemption: the fewest whole gangs of lower priority whose leaving makes room, and nobody besides."""

from collections.abc import Iterable, Sequence
from itertools import combinations, islice

import msgspec

from trainplane.gang.fit import GroupKey, Node, Pod
from trainplane.gang.gangs import Gang, priority
from trainplane.gang.ledger import Ledger
from trainplane.gang.place import Placer
from trainplane.reconcile.view import View

_MOST_TRIALS = 400
"""How many sets of victims are tried for the fewest before the least important are taken one by one."""


class Victim(msgspec.Struct, frozen=True):
    """A running gang, or a lone pod, that may be sent away."""

    name: str
    priority: int
    started: str
    pods: tuple[Pod, ...]

    @property
    def importance(self) -> tuple[int, int, str]:
        """Less comes first: priority, then fewer pods, then the youngest."""
        return self.priority, len(self.pods), "".join(chr(0x10FFFF - ord(letter)) for letter in self.started)


class Preemption(msgspec.Struct, frozen=True):
    """Who has to go, and where the gang will be."""

    victims: tuple[Victim, ...]
    placed: tuple[tuple[Pod, Node], ...]


def running(ledger: Ledger, view: View) -> list[Victim]:
    """Every gang that holds nodes, least important first."""
    by_gang: dict[GroupKey | str, list[Pod]] = {}
    for node in ledger.nodes:
        for pod in node.pods.values():
            # A pod of this very decision is not running yet.
            if pod.node and not pod.deleting:
                by_gang.setdefault(pod.group or pod.uid, []).append(pod)
    found = []
    for key, pods in by_gang.items():
        if isinstance(key, str):
            name, rank = f"{pods[0].namespace}/{pods[0].ref.name}", pods[0].priority
        else:
            group = view.get(pods[0].ref._replace(group=key[0], kind="PodGroup", name=key[2])) or {}
            name, rank = f"{key[1]}/{key[2]}", priority(key[0], group.get("spec") or {}, pods, view)
        started = min(str((pod.raw.get("status") or {}).get("startTime") or pod.created) for pod in pods)
        pods.sort(key=lambda pod: pod.ref)
        found.append(Victim(name, rank, started, tuple(pods)))
    return sorted(found, key=lambda victim: (*victim.importance, victim.name))


def preempt(placer: Placer, gang: Gang, victims: Sequence[Victim]) -> Preemption | None:
    """Whom the gang may send away to have room at once; None where that helps nothing or is not allowed."""
    if not gang.may_preempt:
        return None
    lower = [victim for victim in victims if victim.priority < gang.priority]
    if not lower or _placed(placer, gang, lower) is None:
        return None
    useful = [victim for victim in lower if _touches(placer, gang, victim)]
    trials = 0
    for size in range(1, len(useful)):
        sets = [*islice(combinations(useful, size), _MOST_TRIALS - trials + 1)]
        trials += len(sets)
        if trials > _MOST_TRIALS:
            break
        fitting = [chosen for chosen in sets if _placed(placer, gang, chosen) is not None]
        if fitting:
            return _decided(placer, gang, min(fitting, key=_cost))
    return _decided(placer, gang, _reprieved(placer, gang, lower))


def _cost(chosen: Sequence[Victim]) -> tuple[object, ...]:
    return (
        max(victim.priority for victim in chosen),
        sum(victim.priority for victim in chosen),
        sum(len(victim.pods) for victim in chosen),
        tuple(victim.importance for victim in chosen),
        tuple(victim.name for victim in chosen),
    )


def _touches(placer: Placer, gang: Gang, victim: Victim) -> bool:
    """Whether the victim is on a node that any of the waiting pods could have."""
    nodes = [placer.ledger.by_name[pod.node] for pod in victim.pods]
    shapes = {id(pod.shape): pod for pod in gang.waiting}.values()
    return any(pod.shape.sociable or not pod.shape.verdicts.get(node.edition) for pod in shapes for node in nodes)


def _reprieved(placer: Placer, gang: Gang, lower: Sequence[Victim]) -> tuple[Victim, ...]:
    """The victims that are left when everyone who need not go stays, the most important asked first."""
    chosen = list(lower)
    for victim in reversed(lower):
        without = [one for one in chosen if one is not victim]
        if _placed(placer, gang, without) is not None:
            chosen = without
    return tuple(chosen)


def _placed(placer: Placer, gang: Gang, victims: Iterable[Victim]) -> list[tuple[Pod, Node]] | None:
    ledger = placer.ledger
    mark = ledger.mark()
    # Those told to go leave whoever else does.
    for node in ledger.nodes:
        for pod in [pod for pod in node.pods.values() if pod.deleting]:
            ledger.remove(pod)
    for victim in victims:
        for pod in victim.pods:
            ledger.remove(pod)
    placed = placer.together(gang.waiting, max(gang.need, 1), near=gang.near)
    ledger.undo(mark)
    return placed


def _decided(placer: Placer, gang: Gang, chosen: Sequence[Victim]) -> Preemption | None:
    placed = _placed(placer, gang, chosen)
    return None if placed is None else Preemption(tuple(chosen), tuple(placed))
