"""PodGroup of the coscheduling plugin, PodGroup and Queue of Volcano, and PriorityClass; with their keys."""

from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

from trainplane.api.meta import Field, Int32, LabelSelector, ObjectMeta, Quantity, Time, Wire, always

POD_GROUP_LABEL = "scheduling.x-k8s.io/pod-group"
"""The label by which coscheduling knows the members of a PodGroup."""
COSCHEDULING_SCHEDULER = "scheduler-plugins-scheduler"
"""The schedulerName under which the coscheduling plugin is usually installed."""

VOLCANO_SCHEDULER = "volcano"
GROUP_NAME_ANNOTATION = "scheduling.k8s.io/group-name"
"""The annotation by which Volcano knows the members of a PodGroup."""
VOLCANO_GROUP_NAME_ANNOTATION = "scheduling.volcano.sh/group-name"
"""A second name of the same annotation."""
QUEUE_NAME_ANNOTATION = "scheduling.volcano.sh/queue-name"
DEFAULT_QUEUE = "default"

SYSTEM_CLUSTER_CRITICAL = "system-cluster-critical"
SYSTEM_NODE_CRITICAL = "system-node-critical"


class PriorityClass(Wire, frozen=True):
    """A name for a pod priority."""

    api_version: str = always("scheduling.k8s.io/v1")
    kind: str = always("PriorityClass")
    metadata: ObjectMeta = ObjectMeta()
    value: Int32 | UnsetType = UNSET
    global_default: bool | UnsetType = UNSET
    preemption_policy: str | UnsetType = UNSET
    description: str | UnsetType = UNSET


class PodGroupSpec(Wire, frozen=True):
    """How many pods must find room before any of them runs."""

    min_member: Annotated[Int32, Field(minimum=1)] | UnsetType = UNSET
    min_resources: Mapping[str, Quantity] | UnsetType = UNSET
    schedule_timeout_seconds: Int32 | UnsetType = UNSET


class PodGroupStatus(Wire, frozen=True):
    """How far the members have come."""

    phase: str | UnsetType = UNSET
    occupied_by: str | UnsetType = UNSET
    running: Int32 | UnsetType = UNSET
    succeeded: Int32 | UnsetType = UNSET
    failed: Int32 | UnsetType = UNSET
    schedule_start_time: Time | UnsetType = UNSET


class PodGroup(Wire, frozen=True):
    """Pods that start together or not at all, as the coscheduling plugin has it."""

    api_version: str = always("scheduling.x-k8s.io/v1alpha1")
    kind: str = always("PodGroup")
    metadata: ObjectMeta = ObjectMeta()
    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()


class NetworkTopologySpec(Wire, frozen=True):
    """How near to each other in the network the members must be."""

    mode: Annotated[str, Field(default="hard", enum=("hard", "soft"))] | UnsetType = UNSET
    highest_tier_allowed: Annotated[int, Field(default=1)] | UnsetType = UNSET
    highest_tier_name: str | UnsetType = UNSET


class SubGroupPolicySpec(Wire, frozen=True):
    """Members that form smaller gangs within the gang."""

    name: str | UnsetType = UNSET
    network_topology: NetworkTopologySpec | UnsetType = UNSET
    sub_group_size: Annotated[Int32, Field(minimum=1)] | UnsetType = UNSET
    min_sub_groups: Annotated[Int32, Field(minimum=0)] | UnsetType = UNSET
    label_selector: LabelSelector | UnsetType = UNSET
    match_label_keys: tuple[str, ...] | UnsetType = UNSET


class VolcanoPodGroupSpec(Wire, frozen=True):
    """How many pods must find room before any of them runs, and from which queue."""

    min_member: Int32 | UnsetType = UNSET
    min_task_member: Mapping[str, Int32] | UnsetType = UNSET
    queue: Annotated[str, Field(default=DEFAULT_QUEUE)] | UnsetType = UNSET
    priority_class_name: str | UnsetType = UNSET
    min_resources: Mapping[str, Quantity] | UnsetType = UNSET
    network_topology: NetworkTopologySpec | UnsetType = UNSET
    sub_group_policy: tuple[SubGroupPolicySpec, ...] | UnsetType = UNSET
    preemptable: bool | UnsetType = UNSET


class VolcanoPodGroupCondition(Wire, frozen=True):
    """One observed aspect of a Volcano PodGroup."""

    type: str | UnsetType = UNSET
    status: str | UnsetType = UNSET
    transition_id: str | UnsetType = msgspec.field(name="transitionID", default=UNSET)
    last_transition_time: Time | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    message: str | UnsetType = UNSET


class VolcanoPodGroupStatus(Wire, frozen=True):
    """How far the members have come."""

    phase: str | UnsetType = UNSET
    conditions: tuple[VolcanoPodGroupCondition, ...] | UnsetType = UNSET
    running: Int32 | UnsetType = UNSET
    succeeded: Int32 | UnsetType = UNSET
    failed: Int32 | UnsetType = UNSET


class VolcanoPodGroup(Wire, frozen=True):
    """Pods that start together or not at all, as Volcano has it."""

    api_version: str = always("scheduling.volcano.sh/v1beta1")
    kind: str = always("PodGroup")
    metadata: ObjectMeta = ObjectMeta()
    spec: VolcanoPodGroupSpec = VolcanoPodGroupSpec()
    status: VolcanoPodGroupStatus = VolcanoPodGroupStatus()


class QueueCluster(Wire, frozen=True):
    """Another cluster that a queue's jobs may be sent to."""

    name: str | UnsetType = UNSET
    weight: Int32 | UnsetType = UNSET
    capacity: Mapping[str, Quantity] | UnsetType = UNSET


class QueueGuarantee(Wire, frozen=True):
    """What is kept free for the queue."""

    resource: Mapping[str, Quantity] | UnsetType = UNSET


class NodeGroupTerms(Wire, frozen=True):
    """Groups of nodes, by name."""

    required_during_scheduling_ignored_during_execution: tuple[str, ...] | UnsetType = UNSET
    preferred_during_scheduling_ignored_during_execution: tuple[str, ...] | UnsetType = UNSET


class QueueAffinity(Wire, frozen=True):
    """Which groups of nodes a queue's pods go to, and which they avoid."""

    node_group_affinity: NodeGroupTerms | UnsetType = UNSET
    node_group_anti_affinity: NodeGroupTerms | UnsetType = UNSET


class QueueSpec(Wire, frozen=True):
    """A queue's share of the cluster."""

    weight: Annotated[Int32, Field(default=1, minimum=1, maximum=65535)] | UnsetType = UNSET
    capability: Mapping[str, Quantity] | UnsetType = UNSET
    deserved: Mapping[str, Quantity] | UnsetType = UNSET
    guarantee: QueueGuarantee | UnsetType = UNSET
    reclaimable: bool | UnsetType = UNSET
    parent: str | UnsetType = UNSET
    priority: Int32 | UnsetType = UNSET
    type: str | UnsetType = UNSET
    affinity: QueueAffinity | UnsetType = UNSET
    extend_clusters: tuple[QueueCluster, ...] | UnsetType = UNSET


class QueueReservation(Wire, frozen=True):
    """Nodes locked for the queue."""

    nodes: tuple[str, ...] | UnsetType = UNSET
    resource: Mapping[str, Quantity] | UnsetType = UNSET


class QueueStatus(Wire, frozen=True):
    """How many PodGroups of the queue are in which state, and what they hold."""

    allocated: Mapping[str, Quantity]
    state: str | UnsetType = UNSET
    unknown: Int32 | UnsetType = UNSET
    pending: Int32 | UnsetType = UNSET
    running: Int32 | UnsetType = UNSET
    inqueue: Int32 | UnsetType = UNSET
    completed: Int32 | UnsetType = UNSET
    reservation: QueueReservation | UnsetType = UNSET


class Queue(Wire, frozen=True):
    """PodGroups waiting for their turn in Volcano."""

    api_version: str = always("scheduling.volcano.sh/v1beta1")
    kind: str = always("Queue")
    metadata: ObjectMeta = ObjectMeta()
    spec: QueueSpec = QueueSpec()
    status: QueueStatus | UnsetType = UNSET
