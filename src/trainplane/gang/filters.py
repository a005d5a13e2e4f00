"""Why a node cannot take a pod: the filters in Kubernetes' order and words, "" where it can."""

from collections.abc import Iterator, Mapping

from trainplane.api.affinity import Toleration
from trainplane.api.meta import or_else
from trainplane.api.nodes import UNSCHEDULABLE
from trainplane.gang.fit import PODS, Node, Shape, conflict

CORDONED = "node(s) were unschedulable"
SELECTOR = "node(s) didn't match Pod's node affinity/selector"
NO_PORT = "node(s) didn't have free ports for the requested pod ports"
FULL = "Too many pods"
OTHER_VOLUME = "node(s) didn't match PersistentVolume's node affinity"
NOT_NEAR = "node(s) didn't match pod affinity rules"
NOT_APART = "node(s) didn't match pod anti-affinity rules"
UNWELCOME = "node(s) didn't satisfy existing pods anti-affinity rules"

KEEPS_OUT = ("NoSchedule", "NoExecute")
DISCOURAGES = "PreferNoSchedule"


def tolerates(toleration: Toleration, taint: tuple[str, str, str]) -> bool:
    """Whether a toleration covers a taint of this key, value and effect."""
    key, value, effect = taint
    if or_else(toleration.effect, "") not in ("", effect) or or_else(toleration.key, "") not in ("", key):
        return False
    operator = or_else(toleration.operator, "") or "Equal"
    if operator == "Exists":
        return True
    # An empty key goes with Exists alone.
    return operator == "Equal" and bool(or_else(toleration.key, "")) and or_else(toleration.value, "") == value


def untolerated(shape: Shape, node: Node, effects: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
    """The node's taints of these effects that the pod does not put up with."""
    for taint in node.taints:
        if taint[2] in effects and not any(tolerates(one, taint) for one in shape.tolerations):
            yield taint


def selected(shape: Shape, node: Node) -> bool:
    """Whether nodeSelector and required node affinity choose the node."""
    return all(node.labels.get(key) == value for key, value in shape.selector.items()) and (
        shape.required is None or shape.required.matches(node.name, node.labels)
    )


def verdict(shape: Shape, node: Node) -> str:
    """Why the node can never take such a pod, whatever runs there."""
    known = shape.verdicts.get(node.edition)
    if known is None:
        known = shape.verdicts[node.edition] = _verdict(shape, node)
    return known


def _verdict(shape: Shape, node: Node) -> str:
    if node.unschedulable and not any(tolerates(one, (UNSCHEDULABLE, "", "NoSchedule")) for one in shape.tolerations):
        return CORDONED
    for key, value, _ in untolerated(shape, node, KEEPS_OUT):
        return f"node(s) had untolerated taint {{{key}: {value}}}"
    return "" if selected(shape, node) else SELECTOR


def lacking(requests: Mapping[str, int], free: Mapping[str, int]) -> list[str]:
    """Each resource of which there is too little, in upstream's words."""
    short = [name for name, amount in requests.items() if free.get(name, 0) < amount]
    # Upstream counts the pods first, then cpu and memory before the rest.
    rank = {PODS: 0, "cpu": 1, "memory": 2, "ephemeral-storage": 3}
    short.sort(key=lambda name: (rank.get(name, 4), name))
    return [FULL if name == PODS else f"Insufficient {name}" for name in short]


def holds(shape: Shape, node: Node) -> bool:
    """Whether the node has room for the pod now: resources and ports."""
    free = node.free
    for name, amount in shape.requests.items():
        if free.get(name, 0) < amount:
            return False
    return not (shape.ports and node.ports and conflict(shape.ports, node.ports))


def crowded(shape: Shape, node: Node) -> list[str]:
    """Why the node has no room for the pod now; [] where it has."""
    if shape.ports and conflict(shape.ports, node.ports):
        return [NO_PORT]
    return lacking(shape.requests, node.free)


def never_holds(shape: Shape, node: Node) -> bool:
    """Whether the node is too small even when empty."""
    return any(node.allocatable.get(name, 0) < amount for name, amount in shape.requests.items())
