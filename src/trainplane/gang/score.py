"""How good a node is for a pod: Kubernetes' scores and weights, of 100 each; ties go to the first name."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from math import log
from typing import Final

from trainplane.gang.filters import DISCOURAGES, untolerated
from trainplane.gang.fit import CPU, MEMORY, Node, Pod, Shape
from trainplane.gang.ledger import Ledger

BEST: Final = 100
TAINTS, NODE_AFFINITY, SPREAD, NEIGHBOURS = 3, 2, 2, 2
"""Weights; room and balance have 1."""


class Strategy(StrEnum):
    """Whether pods fill the emptiest node or the fullest."""

    LEAST_ALLOCATED = "LeastAllocated"
    MOST_ALLOCATED = "MostAllocated"


def room(shape: Shape, node: Node, strategy: Strategy) -> float:
    """The score that changes with the pods on the node: what is left, and how evenly cpu and memory are used."""
    score = count = 0
    with_pod, without = [], []
    for name in (CPU, MEMORY):
        there = node.allocatable.get(name, 0)
        if there <= 0:
            continue
        before = node.usual[name]
        used = before + shape.usual[name]
        count += 1
        if used <= there:
            score += (there - used if strategy is Strategy.LEAST_ALLOCATED else used) * BEST // there
        with_pod.append(min(1.0, used / there))
        without.append(min(1.0, before / there))
    allocated = score // count if count else 0
    return allocated + int(50 + (_balance(with_pod) - _balance(without)) / 2)


def _balance(fractions: list[float]) -> float:
    # Of two figures the standard deviation is half of what lies between them.
    spread = abs(fractions[0] - fractions[1]) / 2 if len(fractions) == 2 else 0.0
    return (1 - spread) * BEST


def standing(shape: Shape, nodes: Sequence[Node]) -> list[int]:
    """The scores that pods do not change: taints that discourage, and preferred node affinity."""
    disliked = [sum(1 for _ in untolerated(shape, node, (DISCOURAGES,))) for node in nodes]
    liked = [sum(weight for weight, term in shape.preferred if term.matches(node.name, node.labels)) for node in nodes]
    worst, most = max(disliked, default=0), max(liked, default=0)
    return [
        TAINTS * (BEST - (bad * BEST // worst if worst else 0)) + NODE_AFFINITY * (good * BEST // most if most else 0)
        for bad, good in zip(disliked, liked, strict=True)
    ]


def company(ledger: Ledger, pod: Pod, nodes: Sequence[Node]) -> list[int]:
    """The scores that the pods nearby make: preferences of this pod and of those already there."""
    by_domain: dict[tuple[str, str], int] = {}

    def weigh(key: str, counts: Mapping[str, int], weight: int) -> None:
        for name, count in counts.items():
            value = ledger.by_name[name].labels.get(key)
            if value is not None:
                by_domain[key, value] = by_domain.get((key, value), 0) + weight * count

    for weight, term in pod.shape.neighbours.likes:
        weigh(term.key, ledger.tally((term,)), weight)
    for term, weights in ledger.fondness.items():
        if term.selects(pod.namespace, pod.labels, ledger.namespaces):
            weigh(term.key, weights, 1)
    if not by_domain:
        return [0] * len(nodes)
    raw = [sum(by_domain.get(label, 0) for label in node.labels.items()) for node in nodes]
    low, high = min(raw), max(raw)
    return [NEIGHBOURS * ((one - low) * BEST // (high - low)) if high > low else 0 for one in raw]


def evenly(ledger: Ledger, pod: Pod, nodes: Sequence[Node]) -> list[int]:
    """The scores of spread constraints that only wish."""
    soft = [one for one in pod.shape.spreads if not one.hard]
    if not soft:
        return [0] * len(nodes)
    raw = [0.0] * len(nodes)
    for one in soft:
        values = {node.labels.get(one.term.key) for node in nodes} - {None}
        weight, counts = log(len(values) + 2), ledger.domains((one.term,), one.term.key)
        for i, node in enumerate(nodes):
            value = node.labels.get(one.term.key)
            # A node without the label is as bad as the fullest.
            count = max(counts.values(), default=0) + 1 if value is None else counts.get(value, 0)
            raw[i] += count * weight + one.max_skew - 1
    low, high = min(raw), max(raw)
    return [SPREAD * int(BEST * (high + low - one) / high) if high else SPREAD * BEST for one in raw]
