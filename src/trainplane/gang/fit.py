"""What a pod asks and what a node has, read once and counted in whole numbers."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from trainplane.api.affinity import Toleration
from trainplane.api.conditions import condition
from trainplane.api.core import POD_SCHEDULED
from trainplane.api.meta import Raw
from trainplane.api.quantity import amounts
from trainplane.api.ref import Ref
from trainplane.api.requests import pod_requests
from trainplane.api.scheduling import (
    GROUP_NAME_ANNOTATION,
    POD_GROUP_LABEL,
    QUEUE_NAME_ANNOTATION,
    VOLCANO_GROUP_NAME_ANNOTATION,
)
from trainplane.api.selectors import NodeQuery, NodeTerm, from_node_selector, from_node_term
from trainplane.gang.affinity import NOBODY, PREFERRED, REQUIRED, Neighbours, neighbours, selecting_keys
from trainplane.gang.spread import Spread, spreads
from trainplane.reconcile.view import View

NANO: Final = 10**9
PODS: Final = "pods"
CPU: Final = "cpu"
MEMORY: Final = "memory"
USUAL: Final = {CPU: NANO // 10, MEMORY: 200 * 2**20 * NANO}
"""What a container that asks for nothing counts as when nodes are scored, as upstream has it."""

COSCHEDULING: Final = "scheduling.x-k8s.io"
VOLCANO: Final = "scheduling.volcano.sh"
FINISHED: Final = ("Succeeded", "Failed")

Port = tuple[str, str, int]
"""hostIP, protocol and number."""
GroupKey = tuple[str, str, str]
"""API group, namespace and name of a PodGroup."""


class Shape(msgspec.Struct, eq=False):
    """All that a pod's spec says about where it may go; pods of one template share it."""

    requests: dict[str, int]
    """Billionths by resource, `pods` among them; nothing that is zero."""
    usual: dict[str, int]
    """cpu and memory as they count for scores."""
    selector: Mapping[str, str] = msgspec.field(default_factory=dict)
    required: NodeQuery | None = None
    preferred: tuple[tuple[int, NodeTerm], ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    ports: frozenset[Port] = frozenset()
    neighbours: Neighbours = NOBODY
    spreads: tuple[Spread, ...] = ()
    claims: tuple[str, ...] = ()
    verdicts: dict[int, str] = msgspec.field(default_factory=dict)
    """By edition of a node: why it can never take such a pod, "" where it can."""

    @property
    def sociable(self) -> bool:
        """Whether other pods or claims decide where it may go, not the node alone."""
        return bool(self.neighbours or self.spreads or self.claims)


class Pod(msgspec.Struct, eq=False):
    """A pod as the scheduler sees it."""

    view: View
    """Where the rest of it is to be seen: there may be many pods, and nobody looks again at most of them."""
    ref: Ref
    uid: str
    created: str
    """When it was made, as the API writes it."""
    labels: Mapping[str, str]
    shape: Shape
    priority: int
    may_preempt: bool
    node: str
    group: GroupKey | None
    queue: str
    phase: str
    deleting: bool
    gated: bool
    scheduler: str
    said: tuple[str, str] = ("", "")
    """The reason why it has no node, as its status has it, and when that was last told."""

    @property
    def namespace(self) -> str:
        """The namespace."""
        return self.ref.namespace

    @property
    def raw(self) -> Raw:
        """The pod itself."""
        return self.view.get(self.ref) or {"metadata": {}, "spec": {}}

    @property
    def finished(self) -> bool:
        """Whether it has ended and holds nothing any more."""
        return self.phase in FINISHED

    @property
    def waiting(self) -> bool:
        """Whether it wants a node now."""
        return not (self.node or self.finished or self.deleting or self.gated)


class Node(msgspec.Struct, eq=False):
    """A node and what is left of it."""

    name: str
    order: int
    edition: int
    """Changes whenever the node does, and never twice the same."""
    labels: Mapping[str, str]
    taints: tuple[tuple[str, str, str], ...]
    """key, value, effect."""
    unschedulable: bool
    allocatable: dict[str, int]
    free: dict[str, int]
    usual: dict[str, int]
    """cpu and memory of its pods as they count for scores."""
    ports: dict[Port, int] = msgspec.field(default_factory=dict)
    pods: dict[str, Pod] = msgspec.field(default_factory=dict)
    version: int = 0
    """Grows whenever its pods change."""


class Shapes:
    """Every Shape there is, so that pods of one template share theirs."""

    def __init__(self) -> None:
        self._by_key: dict[bytes, Shape] = {}

    def __len__(self) -> int:
        """How many."""
        return len(self._by_key)

    def clear(self) -> None:
        """Forget all; pods keep those they have."""
        self._by_key.clear()

    def of(self, raw: Raw) -> Shape:
        """The Shape of a pod; raises QuantityError or SelectorError where its spec cannot be understood."""
        metadata, spec = raw["metadata"], raw["spec"]
        namespace, labels = metadata.get("namespace", ""), metadata.get("labels") or {}
        key = _key(spec, namespace, labels)
        shape = self._by_key.get(key)
        if shape is None:
            shape = self._by_key[key] = _shape(spec, namespace, labels)
        return shape


def _key(spec: Raw, namespace: str, labels: Mapping[str, str]) -> bytes:
    get = spec.get
    affinity, constraints = get("affinity"), get("topologySpreadConstraints")
    parts: list[Any] = [
        [(each.get("resources"), each.get("ports")) for each in get("containers") or ()],
        [(each.get("resources"), each.get("ports"), each.get("restartPolicy")) for each in get("initContainers") or ()],
        get("nodeSelector"),
        get("tolerations"),
        get("resources"),
        get("overhead"),
        get("hostNetwork"),
        list(_claims(spec, "")),
    ]
    if affinity or constraints:
        keys = [*selecting_keys(affinity)]
        keys += [key for one in constraints or () for key in one.get("matchLabelKeys") or ()]
        parts += [affinity, constraints, namespace, [(key, labels.get(key)) for key in keys]]
    return msgspec.json.encode(parts)


def _shape(spec: Raw, namespace: str, labels: Mapping[str, str]) -> Shape:
    asked = {name: amount.nano for name, amount in pod_requests(spec).items() if amount.nano > 0}
    count = len(spec.get("containers") or ())
    affinity = spec.get("affinity") or {}
    nodes = affinity.get("nodeAffinity") or {}
    required = nodes.get(REQUIRED)
    return Shape(
        {**asked, PODS: NANO},
        {name: asked.get(name, least * count) for name, least in USUAL.items()},
        spec.get("nodeSelector") or {},
        None if required is None else from_node_selector(required),
        tuple((one["weight"], from_node_term(one["preference"])) for one in nodes.get(PREFERRED) or ()),
        tuple(msgspec.convert(one, Toleration) for one in spec.get("tolerations") or ()),
        frozenset(_ports(spec)),
        neighbours(affinity, namespace=namespace, labels=labels),
        spreads(spec.get("topologySpreadConstraints"), namespace=namespace, labels=labels),
        tuple(_claims(spec, "")),
    )


def _ports(spec: Raw) -> Iterator[Port]:
    sidecars = (one for one in spec.get("initContainers") or () if one.get("restartPolicy") == "Always")
    for container in (*(spec.get("containers") or ()), *sidecars):
        for port in container.get("ports") or ():
            number = port.get("hostPort") or (port.get("containerPort") if spec.get("hostNetwork") else 0)
            if number:
                yield port.get("hostIP") or "0.0.0.0", port.get("protocol") or "TCP", number  # noqa: S104 - a fact


def _claims(spec: Raw, pod: str) -> Iterator[str]:
    for volume in spec.get("volumes") or ():
        if claim := volume.get("persistentVolumeClaim"):
            yield claim["claimName"]
        elif volume.get("ephemeral"):
            yield f"{pod}-{volume['name']}"


def claims(pod: Pod) -> list[str]:
    """The claims that a pod mounts, those made for it alone included."""
    return list(_claims(pod.raw["spec"], pod.ref.name))


def conflict(ports: frozenset[Port], taken: Mapping[Port, int]) -> bool:
    """Whether a port is taken already; an address of all zeros stands for every address."""
    return any(
        number == other and protocol == kind and (ip == where or "0.0.0.0" in (ip, where))  # noqa: S104
        for ip, protocol, number in ports
        for where, kind, other in taken
    )


def read_pod(raw: Raw, shapes: Shapes, view: View) -> Pod:
    """The pod; raises QuantityError or SelectorError where its spec cannot be understood."""
    metadata, spec, status = raw["metadata"], raw["spec"], raw.get("status") or {}
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    return Pod(
        view,
        Ref("", "Pod", metadata.get("namespace", ""), metadata["name"]),
        metadata.get("uid") or f"{metadata.get('namespace', '')}/{metadata['name']}",
        metadata.get("creationTimestamp") or "",
        labels,
        shapes.of(raw),
        spec.get("priority") or 0,
        spec.get("preemptionPolicy") != "Never",
        spec.get("nodeName") or "",
        group_of(metadata.get("namespace", ""), labels, annotations),
        annotations.get(QUEUE_NAME_ANNOTATION) or "",
        status.get("phase") or "Pending",
        metadata.get("deletionTimestamp") is not None,
        bool(spec.get("schedulingGates")),
        spec.get("schedulerName") or "",
        ("", "") if spec.get("nodeName") else _said(status),
    )


def _said(status: Raw) -> tuple[str, str]:
    told = condition(status, POD_SCHEDULED) or {}
    return told.get("reason") or "", told.get("lastProbeTime") or told.get("lastTransitionTime") or ""


def group_of(namespace: str, labels: Mapping[str, str], annotations: Mapping[str, str]) -> GroupKey | None:
    """The PodGroup that a pod says it belongs to."""
    if name := labels.get(POD_GROUP_LABEL):
        return COSCHEDULING, namespace, name
    if name := annotations.get(GROUP_NAME_ANNOTATION) or annotations.get(VOLCANO_GROUP_NAME_ANNOTATION):
        return VOLCANO, namespace, name
    return None


def read_node(raw: Raw, *, order: int, edition: int) -> Node:
    """The node with nothing on it; raises QuantityError."""
    spec, status = raw.get("spec") or {}, raw.get("status") or {}
    allocatable = counted(status.get("allocatable") or {})
    return Node(
        raw["metadata"]["name"],
        order,
        edition,
        raw["metadata"].get("labels") or {},
        tuple((taint["key"], taint.get("value") or "", taint["effect"]) for taint in spec.get("taints") or ()),
        bool(spec.get("unschedulable")),
        allocatable,
        dict(allocatable),
        dict.fromkeys(USUAL, 0),
    )


def counted(resources: Mapping[str, Any]) -> dict[str, int]:
    """A resource list in billionths."""
    return {name: amount.nano for name, amount in amounts(resources).items()}
