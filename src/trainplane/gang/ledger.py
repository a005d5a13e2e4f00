"""The ledger: which pods hold what on which node, kept up from View to View, and changed on trial in between."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from trainplane.api.meta import Raw
from trainplane.api.quantity import QuantityError
from trainplane.api.selectors import SelectorError
from trainplane.gang.affinity import Term
from trainplane.gang.fit import GroupKey, Node, Pod, Shape, Shapes, read_node, read_pod
from trainplane.reconcile.news import News
from trainplane.reconcile.view import Ref, View

_MOST_TALLIES = 256
_MOST_SHAPES = 8192

Terms = tuple[Term, ...]


class Ledger:
    """Pods, nodes, and what is left of them; `refresh` brings it up to a View, `undo` takes trials back."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        """In the order of their names."""
        self.total: dict[str, int] = {}
        """What all of them have to give."""
        self.free: dict[str, int] = {}
        """What is left of that: a node with less than nothing left counts as full."""
        self.by_name: dict[str, Node] = {}
        self.pods: dict[str, Pod] = {}
        self.groups: dict[GroupKey, dict[str, Pod]] = defaultdict(dict)
        self.where: dict[str, Node] = {}
        """The node of every pod that holds one, on trial or for good."""
        self.singles: dict[str, Pod] = {}
        """Pods without a PodGroup that wait for a node."""
        self.queued: dict[GroupKey, int] = {}
        """How many pods of a PodGroup wait for a node, where any does."""
        self.gated: dict[str, Pod] = {}
        self.unreadable: dict[str, tuple[Raw, str]] = {}
        """Pods that cannot be understood, and why."""
        self.moved: set[GroupKey] = set()
        """PodGroups whose pods changed since somebody last asked."""
        self.namespaces: dict[str, Mapping[str, str]] = {}
        self.shapes = Shapes()
        self.touched: list[int] = []
        """The order of every node whose room changed, since the rankings were last thrown away."""
        self.keepers: dict[Term, dict[str, int]] = {}
        """Required anti-affinity of placed pods: how many have the term on which node."""
        self.fondness: dict[Term, dict[str, int]] = {}
        """Preferences and required affinity of placed pods: their weight by node."""
        self.epoch = 0
        """Grows when nodes come, go or change: rankings of another epoch are worthless."""
        self._editions = 0
        self._node_facts: dict[str, tuple[Any, ...]] = {}
        self._tallies: dict[Terms, dict[str, int]] = {}
        self._journal: list[Callable[[], None]] = []
        self._news = News()
        self._uids: dict[Ref, str] = {}

    def refresh(self, view: View) -> None:
        """Bring everything up to the View; what did not change costs nothing where the View tells of changes."""
        if len(self.shapes) > _MOST_SHAPES:
            self.shapes.clear()
        if self._news.of(view, "", "Node") != []:
            self._refresh_nodes(view)
        if self._news.of(view, "", "Namespace") != []:
            self._refresh_namespaces(view)
        changed = self._news.of(view, "", "Pod")
        if changed is None:
            there = {Ref.of(raw): raw for raw in view.all("", "Pod")}
            for ref in self._uids.keys() - there.keys():
                self._forget(self._uids.pop(ref))
            for ref, raw in there.items():
                self._note(ref, raw, view)
        else:
            for ref in changed:
                found = view.get(ref)
                if found is not None:
                    self._note(ref, found, view)
                elif ref in self._uids:
                    self._forget(self._uids.pop(ref))

    def _refresh_nodes(self, view: View) -> None:
        raws = sorted(view.all("", "Node"), key=lambda raw: str(raw["metadata"]["name"]))
        facts = {raw["metadata"]["name"]: _facts(raw) for raw in raws}
        if facts == self._node_facts:
            return
        self._node_facts = facts
        self.epoch += 1
        self.touched.clear()
        self._tallies.clear()
        self.keepers.clear()
        self.fondness.clear()
        self.nodes = []
        self.where.clear()
        for raw in raws:
            try:
                self._editions += 1
                self.nodes.append(read_node(raw, order=len(self.nodes), edition=self._editions))
            except QuantityError:
                # A node that does not say what it has is not one to place pods on.
                continue
        self.by_name = {node.name: node for node in self.nodes}
        self.total = {}
        for node in self.nodes:
            for name, amount in node.allocatable.items():
                self.total[name] = self.total.get(name, 0) + amount
        self.free = {}
        for node in self.nodes:
            for name, amount in node.free.items():
                self.free[name] = self.free.get(name, 0) + max(0, amount)
        for pod in self.pods.values():
            pod.shape.verdicts.clear()
            self._hold(pod)

    def _refresh_namespaces(self, view: View) -> None:
        now = {raw["metadata"]["name"]: raw["metadata"].get("labels") or {} for raw in view.all("", "Namespace")}
        if now != self.namespaces:
            self.namespaces = now
            self._tallies.clear()

    def _note(self, ref: Ref, raw: Raw, view: View) -> None:
        uid = raw["metadata"].get("uid") or f"{ref.namespace}/{ref.name}"
        known = self.pods.get(uid)
        if known is not None and known.view is not view and known.raw is raw:
            known.view = view
            return
        # Another pod of the same name may have taken its place.
        self._forget(self._uids.get(ref, uid))
        self._uids[ref] = uid
        try:
            pod = read_pod(raw, self.shapes, view)
        except (QuantityError, SelectorError) as error:
            self.unreadable[uid] = raw, str(error)
            return
        self.pods[uid] = pod
        if pod.gated:
            self.gated[uid] = pod
        if pod.group is not None:
            self.groups[pod.group][uid] = pod
            self.moved.add(pod.group)
            if pod.waiting:
                _add(self.queued, pod.group, 1)
        elif pod.waiting:
            self.singles[uid] = pod
        self._hold(pod)

    def _hold(self, pod: Pod) -> None:
        if pod.node and not pod.finished and pod.node in self.by_name:
            self._place(pod, self.by_name[pod.node])

    def _forget(self, uid: str) -> None:
        self.unreadable.pop(uid, None)
        pod = self.pods.pop(uid, None)
        if pod is None:
            return
        self.gated.pop(uid, None)
        if pod.group is None:
            self.singles.pop(uid, None)
        else:
            self.moved.add(pod.group)
            members = self.groups[pod.group]
            members.pop(uid, None)
            if not members:
                del self.groups[pod.group]
            if pod.waiting:
                _add(self.queued, pod.group, -1)
        if node := self.where.get(uid):
            self._remove(pod, node)

    def place(self, pod: Pod, node: Node) -> None:
        """Place a pod on trial."""
        self._place(pod, node)
        self._journal.append(partial(self._remove, pod, node))

    def remove(self, pod: Pod) -> None:
        """Take a pod off its node on trial."""
        node = self.where.get(pod.uid)
        if node is not None:
            self._remove(pod, node)
            self._journal.append(partial(self._place, pod, node))

    def hold(self, node: Node, resources: Mapping[str, int]) -> None:
        """Keep resources of a node from everyone, on trial."""
        self._take(node, resources, 1)
        self._journal.append(partial(self._take, node, resources, -1))

    def mark(self) -> int:
        """A point to go back to."""
        return len(self._journal)

    def undo(self, mark: int = 0) -> None:
        """Take back every trial since the mark."""
        while len(self._journal) > mark:
            self._journal.pop()()

    def _take(self, node: Node, resources: Mapping[str, int], sign: int) -> None:
        free, left = node.free, self.free
        for name, amount in resources.items():
            before = free.get(name, 0)
            after = free[name] = before - sign * amount
            left[name] = left.get(name, 0) + max(0, after) - max(0, before)
        node.version += 1
        self.touched.append(node.order)

    def _place(self, pod: Pod, node: Node) -> None:
        self._count(pod, node, 1)
        node.pods[pod.uid] = pod
        self.where[pod.uid] = node

    def _remove(self, pod: Pod, node: Node) -> None:
        self._count(pod, node, -1)
        del node.pods[pod.uid]
        del self.where[pod.uid]

    def _count(self, pod: Pod, node: Node, sign: int) -> None:
        shape = pod.shape
        self._take(node, shape.requests, sign)
        for name, amount in shape.usual.items():
            node.usual[name] += sign * amount
        for port in shape.ports:
            _add(node.ports, port, sign)
        for terms, tally in self._tallies.items():
            if self._answers(terms, pod):
                _add(tally, node.name, sign)
        if shape.neighbours:
            self._count_neighbours(shape, node, sign)

    def _count_neighbours(self, shape: Shape, node: Node, sign: int) -> None:
        for term in shape.neighbours.apart:
            _add(self.keepers.setdefault(term, {}), node.name, sign)
            if not self.keepers[term]:
                del self.keepers[term]
        fond = [*shape.neighbours.likes, *((1, term) for term in shape.neighbours.near)]
        for weight, term in fond:
            _add(self.fondness.setdefault(term, {}), node.name, sign * weight)
            if not self.fondness[term]:
                del self.fondness[term]

    def _answers(self, terms: Terms, pod: Pod) -> bool:
        return all(term.selects(pod.namespace, pod.labels, self.namespaces) for term in terms)

    def tally(self, terms: Iterable[Term]) -> dict[str, int]:
        """How many placed pods answer to all of the terms, by node; kept up while pods come and go."""
        key = tuple(terms)
        tally = self._tallies.get(key)
        if tally is None:
            if len(self._tallies) >= _MOST_TALLIES:
                self._tallies.clear()
            tally = self._tallies[key] = {}
            for node in self.nodes:
                found = sum(self._answers(key, pod) for pod in node.pods.values())
                if found:
                    tally[node.name] = found
        return tally

    def domains(self, terms: Iterable[Term], key: str) -> dict[str, int]:
        """How many placed pods answer to all of the terms, by the value of a node label."""
        found: dict[str, int] = {}
        for name, count in self.tally(terms).items():
            value = self.by_name[name].labels.get(key)
            if value is not None:
                found[value] = found.get(value, 0) + count
        return found


def _facts(raw: Raw) -> tuple[Any, ...]:
    spec, status = raw.get("spec") or {}, raw.get("status") or {}
    return raw["metadata"].get("labels"), spec.get("taints"), spec.get("unschedulable"), status.get("allocatable")


def _add(counts: dict[Any, int], key: Any, amount: int) -> None:
    total = counts.get(key, 0) + amount
    if total:
        counts[key] = total
    else:
        counts.pop(key, None)
