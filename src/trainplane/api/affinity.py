"""Where pods like to be: affinity, node selectors, topology spread, tolerations and taints."""

from typing import Annotated, ClassVar

from msgspec import UNSET, UnsetType

from trainplane.api.meta import ATOMIC, ATOMIC_MAP, Field, Int32, Int64, LabelSelector, Strings, Time, Wire


class NodeSelectorRequirement(Wire, frozen=True):
    """One condition on a node's labels or fields."""

    key: str
    operator: str
    values: Strings | UnsetType = UNSET


class NodeSelectorTerm(Wire, frozen=True):
    """Conditions that a node must all meet."""

    SCHEMA: ClassVar[Field] = ATOMIC_MAP

    match_expressions: Annotated[tuple[NodeSelectorRequirement, ...], ATOMIC] | UnsetType = UNSET
    match_fields: Annotated[tuple[NodeSelectorRequirement, ...], ATOMIC] | UnsetType = UNSET


class NodeSelector(Wire, frozen=True):
    """Terms of which a node must meet one."""

    SCHEMA: ClassVar[Field] = ATOMIC_MAP

    node_selector_terms: Annotated[tuple[NodeSelectorTerm, ...], ATOMIC]


class PreferredSchedulingTerm(Wire, frozen=True):
    """A node term and how much it weighs."""

    preference: NodeSelectorTerm
    weight: Int32


class NodeAffinity(Wire, frozen=True):
    """Which nodes a pod needs, and which it would rather have."""

    preferred_during_scheduling_ignored_during_execution: (
        Annotated[tuple[PreferredSchedulingTerm, ...], ATOMIC] | UnsetType
    ) = UNSET
    required_during_scheduling_ignored_during_execution: NodeSelector | UnsetType = UNSET


class PodAffinityTerm(Wire, frozen=True):
    """Pods, and the topology within which to be near them or away from them."""

    topology_key: str
    label_selector: LabelSelector | UnsetType = UNSET
    match_label_keys: Strings | UnsetType = UNSET
    mismatch_label_keys: Strings | UnsetType = UNSET
    namespace_selector: LabelSelector | UnsetType = UNSET
    namespaces: Strings | UnsetType = UNSET


class WeightedPodAffinityTerm(Wire, frozen=True):
    """A pod term and how much it weighs."""

    pod_affinity_term: PodAffinityTerm
    weight: Int32


class PodAffinity(Wire, frozen=True):
    """Which pods to be near."""

    preferred_during_scheduling_ignored_during_execution: (
        Annotated[tuple[WeightedPodAffinityTerm, ...], ATOMIC] | UnsetType
    ) = UNSET
    required_during_scheduling_ignored_during_execution: Annotated[tuple[PodAffinityTerm, ...], ATOMIC] | UnsetType = (
        UNSET
    )


class PodAntiAffinity(Wire, frozen=True):
    """Which pods to stay away from."""

    preferred_during_scheduling_ignored_during_execution: (
        Annotated[tuple[WeightedPodAffinityTerm, ...], ATOMIC] | UnsetType
    ) = UNSET
    required_during_scheduling_ignored_during_execution: Annotated[tuple[PodAffinityTerm, ...], ATOMIC] | UnsetType = (
        UNSET
    )


class Affinity(Wire, frozen=True):
    """All that a pod asks of its neighbourhood."""

    node_affinity: NodeAffinity | UnsetType = UNSET
    pod_affinity: PodAffinity | UnsetType = UNSET
    pod_anti_affinity: PodAntiAffinity | UnsetType = UNSET


class TopologySpreadConstraint(Wire, frozen=True):
    """How evenly matching pods spread over the values of a node label."""

    max_skew: Int32
    topology_key: str
    when_unsatisfiable: str
    label_selector: LabelSelector | UnsetType = UNSET
    match_label_keys: Strings | UnsetType = UNSET
    min_domains: Int32 | UnsetType = UNSET
    node_affinity_policy: str | UnsetType = UNSET
    node_taints_policy: str | UnsetType = UNSET


class Toleration(Wire, frozen=True):
    """A taint that the pod puts up with."""

    effect: str | UnsetType = UNSET
    key: str | UnsetType = UNSET
    operator: str | UnsetType = UNSET
    toleration_seconds: Int64 | UnsetType = UNSET
    value: str | UnsetType = UNSET


class Taint(Wire, frozen=True):
    """A mark on a node that keeps pods away unless they tolerate it."""

    effect: str
    key: str
    time_added: Time | UnsetType = UNSET
    value: str | UnsetType = UNSET
