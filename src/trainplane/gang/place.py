"""Placing: the best node for a pod, and room for a whole gang at once or for none of it."""

from collections import Counter
from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush

import msgspec

from trainplane.api.nodes import REGION, ZONE
from trainplane.gang.filters import (
    NOT_APART,
    NOT_NEAR,
    OTHER_VOLUME,
    UNWELCOME,
    crowded,
    holds,
    selected,
    untolerated,
    verdict,
)
from trainplane.gang.fit import Node, Pod, Shape
from trainplane.gang.ledger import Ledger
from trainplane.gang.score import Strategy, company, evenly, room, standing
from trainplane.gang.spread import Evenness, evenness

_MOST_TOUCHES = 200_000
_MOST_RANKINGS = 1_024
_MOST_STEPS = 2_000
"""How many placements a search for a mixed gang tries before it gives up."""
NETWORK = ("network.topology.nvidia.com/accelerator", "network.topology.nvidia.com/block", ZONE, REGION)
"""Labels whose values are parts of a network, the nearest first."""

Allowed = Callable[[Node], bool]


class Ranking(msgspec.Struct):
    """The nodes that may take pods of one shape, best first; looks again only at nodes whose room changed."""

    shape: Shape
    epoch: int
    standing: dict[int, int]
    heap: list[tuple[float, int, int]]
    position: int


class Placer:
    """Finds nodes on a Ledger."""

    def __init__(self, ledger: Ledger, strategy: Strategy = Strategy.LEAST_ALLOCATED) -> None:
        self.ledger = ledger
        self.strategy = strategy
        self.bound_claims: Callable[[Pod], Allowed | None] = lambda _: None
        """Where the volumes of a pod are, if they are somewhere."""
        self._rankings: dict[int, Ranking] = {}

    def best(self, pod: Pod, among: Allowed | None = None) -> Node | None:
        """The best node that can take the pod now."""
        if among is None and not pod.shape.sociable and not self._is_talked_about(pod):
            return self._first(pod.shape)
        fitting = self._fitting(pod, among)
        if not fitting:
            return None
        shape = pod.shape
        columns = [
            standing(shape, fitting),
            company(self.ledger, pod, fitting),
            evenly(self.ledger, pod, fitting),
            [room(shape, node, self.strategy) for node in fitting],
        ]
        totals = [sum(scores) for scores in zip(*columns, strict=True)]
        return fitting[totals.index(max(totals))]

    def fits(self, pod: Pod, node: Node) -> bool:
        """Whether this node can take the pod now, by every filter."""
        return not self.reasons(pod, [node])[0]

    def reasons(self, pod: Pod, nodes: Sequence[Node], among: Allowed | None = None) -> list[list[str]]:
        """Why each node cannot take the pod, as the first filter that refuses it says; [] where it can."""
        shape, social = pod.shape, self._social(pod)
        volumes = among or (self.bound_claims(pod) if shape.claims else None)
        found = []
        for node in nodes:
            if word := verdict(shape, node):
                found.append([word])
            elif words := crowded(shape, node):
                found.append(words)
            elif volumes is not None and not volumes(node):
                found.append([OTHER_VOLUME])
            else:
                word = social(node)
                found.append([word] if word else [])
        return found

    def _is_talked_about(self, pod: Pod) -> bool:
        ledger = self.ledger
        return any(
            term.selects(pod.namespace, pod.labels, ledger.namespaces)
            for terms in (ledger.keepers, ledger.fondness)
            for term in terms
        )

    def _first(self, shape: Shape) -> Node | None:
        ranking = self._ranking(shape)
        nodes, heap = self.ledger.nodes, ranking.heap
        while heap:
            _, order, version = heap[0]
            if nodes[order].version == version:
                return nodes[order]
            heappop(heap)
        return None

    def _ranking(self, shape: Shape) -> Ranking:
        ledger = self.ledger
        if len(ledger.touched) > _MOST_TOUCHES or len(self._rankings) > _MOST_RANKINGS:
            ledger.touched.clear()
            self._rankings.clear()
        ranking = self._rankings.get(id(shape))
        fresh = ranking is not None and ranking.epoch == ledger.epoch and ranking.shape is shape
        if ranking is None or not fresh or len(ranking.heap) > 4 * len(ledger.nodes) + 64:
            nodes = [node for node in ledger.nodes if not verdict(shape, node)]
            scores = {node.order: score for node, score in zip(nodes, standing(shape, nodes), strict=True)}
            ranking = Ranking(shape, ledger.epoch, scores, [], len(ledger.touched))
            for order in scores:
                self._rank(ranking, order, push=False)
            heapify(ranking.heap)
            self._rankings[id(shape)] = ranking
        elif ranking.position < len(ledger.touched):
            for order in set(ledger.touched[ranking.position :]):
                if order in ranking.standing:
                    self._rank(ranking, order, push=True)
            ranking.position = len(ledger.touched)
        return ranking

    def _rank(self, ranking: Ranking, order: int, *, push: bool) -> None:
        node = self.ledger.nodes[order]
        if not holds(ranking.shape, node):
            return
        entry = (-(ranking.standing[order] + room(ranking.shape, node, self.strategy)), order, node.version)
        if push:
            heappush(ranking.heap, entry)
        else:
            ranking.heap.append(entry)

    def _fitting(self, pod: Pod, among: Allowed | None) -> list[Node]:
        shape = pod.shape
        volumes = self.bound_claims(pod) if shape.claims else None
        nodes = [
            node
            for node in self.ledger.nodes
            if not verdict(shape, node)
            and holds(shape, node)
            and (among is None or among(node))
            and (volumes is None or volumes(node))
        ]
        if not nodes:
            return nodes
        social = self._social(pod)
        return [node for node in nodes if not social(node)]

    def _social(self, pod: Pod) -> Callable[[Node], str]:
        """Why a node cannot take the pod because of the pods around it."""
        ledger, asked = self.ledger, pod.shape.neighbours
        even = [self._evenness(pod, i) for i, one in enumerate(pod.shape.spreads) if one.hard]
        keeping = [
            (term.key, {ledger.by_name[name].labels.get(term.key) for name in counts} - {None})
            for term, counts in ledger.keepers.items()
            if term.selects(pod.namespace, pod.labels, ledger.namespaces)
        ]
        apart = [(term.key, ledger.domains((term,), term.key)) for term in asked.apart]
        near = [(term.key, ledger.domains(asked.near, term.key)) for term in asked.near]
        # The first of pods that want to be together has nobody to join yet.
        first = not any(counts for _, counts in near) and all(
            term.selects(pod.namespace, pod.labels, ledger.namespaces) for term in asked.near
        )

        def reason(node: Node) -> str:
            labels = node.labels
            for one in even:
                if word := one.reason(labels):
                    return word
            for key, counts in near:
                if key not in labels or not (first or labels[key] in counts):
                    return NOT_NEAR
            for key, counts in apart:
                if labels.get(key) in counts:
                    return NOT_APART
            for key, values in keeping:
                if labels.get(key) in values:
                    return UNWELCOME
            return ""

        return reason

    def _evenness(self, pod: Pod, index: int) -> Evenness:
        ledger, shape = self.ledger, pod.shape
        one = shape.spreads[index]
        keys = [other.term.key for other in shape.spreads if other.hard]
        tally = ledger.tally((one.term,))
        counts: dict[str, int] = {}
        for node in ledger.nodes:
            if any(key not in node.labels for key in keys):
                continue
            if one.honours_selector and not selected(shape, node):
                continue
            if one.honours_taints and any(untolerated(shape, node, ("NoSchedule", "NoExecute"))):
                continue
            value = node.labels[one.term.key]
            counts[value] = counts.get(value, 0) + tally.get(node.name, 0)
        itself = one.term.selects(pod.namespace, pod.labels, ledger.namespaces)
        return evenness(one, counts=counts, itself=itself)

    def together(self, pods: Sequence[Pod], need: int, *, near: bool = False) -> list[tuple[Pod, Node]] | None:
        """Place at least `need` of the pods on trial, or none and None; `near` tries one part of the network first."""
        if near:
            for key in NETWORK:
                for value in sorted({node.labels[key] for node in self.ledger.nodes if key in node.labels}):
                    found = self._greedy(pods, need, lambda node, k=key, v=value: node.labels.get(k) == v)  # type: ignore[misc]
                    if found is not None:
                        return found
        found = self._greedy(pods, need, None)
        if found is None and need > 1 and _is_mixed(pods) and self._could(pods, need):
            found = _Search(self, pods, need).run()
        return found

    def _greedy(self, pods: Sequence[Pod], need: int, among: Allowed | None) -> list[tuple[Pod, Node]] | None:
        mark = self.ledger.mark()
        placed: list[tuple[Pod, Node]] = []
        hopeless: set[int] = set()
        for i, pod in enumerate(pods):
            if len(placed) >= need:
                break
            if len(placed) + len(pods) - i < need:
                break
            # Another of the same shape fits no better, unless those around it decide.
            node = None if id(pod.shape) in hopeless else self.best(pod, among)
            if node is None:
                if not pod.shape.sociable:
                    hopeless.add(id(pod.shape))
                continue
            self.ledger.place(pod, node)
            placed.append((pod, node))
        if len(placed) >= need:
            return placed
        self.ledger.undo(mark)
        return None

    def _could(self, pods: Sequence[Pod], need: int) -> bool:
        """Whether the smallest `need` pods fit by sum, so that a search has a chance."""
        free: Counter[str] = Counter()
        for node in self.ledger.nodes:
            free.update({name: amount for name, amount in node.free.items() if amount > 0})
        names = {name for pod in pods for name in pod.shape.requests}
        return all(sum(sorted(pod.shape.requests.get(name, 0) for pod in pods)[:need]) <= free[name] for name in names)


def _is_mixed(pods: Sequence[Pod]) -> bool:
    return len({id(pod.shape) for pod in pods}) > 1 or any(pod.shape.sociable for pod in pods)


class _Search:
    """A bounded search for room for a mixed gang, where taking the best node each time has failed."""

    def __init__(self, placer: Placer, pods: Sequence[Pod], need: int) -> None:
        self.placer = placer
        self.need = need
        self.steps = 0
        self.kinds: dict[int, list[Pod]] = {}
        # Largest first: what is hard to place is placed while there is room.
        for pod in sorted(pods, key=lambda pod: _size(placer.ledger, pod.shape), reverse=True):
            self.kinds.setdefault(id(pod.shape) if not pod.shape.sociable else id(pod), []).append(pod)

    def run(self) -> list[tuple[Pod, Node]] | None:
        """The placement, on trial, or None where none was found within the bound."""
        return self._from([], dict.fromkeys(self.kinds, 0))

    def _from(self, placed: list[tuple[Pod, Node]], used: dict[int, int]) -> list[tuple[Pod, Node]] | None:
        if len(placed) >= self.need:
            return placed
        ledger = self.placer.ledger
        for kind, pods in self.kinds.items():
            if used[kind] >= len(pods):
                continue
            pod, tried = pods[used[kind]], set()
            for node in self.placer._fitting(pod, None):
                state = (tuple(sorted(node.free.items())), tuple(sorted(node.labels.items())), len(node.pods))
                if state in tried and not pod.shape.sociable:
                    continue
                tried.add(state)
                self.steps += 1
                if self.steps > _MOST_STEPS:
                    return None
                mark = ledger.mark()
                ledger.place(pod, node)
                found = self._from([*placed, (pod, node)], {**used, kind: used[kind] + 1})
                if found is not None:
                    return found
                ledger.undo(mark)
        return None


def _size(ledger: Ledger, shape: Shape) -> float:
    """The largest part of an average node that the pod takes."""
    total: Counter[str] = Counter()
    for node in ledger.nodes:
        total.update(node.allocatable)
    return max((amount / total[name] for name, amount in shape.requests.items() if total[name]), default=0.0)
