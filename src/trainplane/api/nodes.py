"""Node, and the RuntimeClass and Lease that go with it."""

from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

from trainplane.api.affinity import Taint, Toleration
from trainplane.api.meta import (
    ATOMIC,
    ATOMIC_MAP,
    BY_TYPE,
    Field,
    Int32,
    Int64,
    MicroTime,
    ObjectMeta,
    Quantity,
    Strings,
    Time,
    Wire,
    always,
)

HOSTNAME = "kubernetes.io/hostname"
ARCH = "kubernetes.io/arch"
OS = "kubernetes.io/os"
ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
INSTANCE_TYPE = "node.kubernetes.io/instance-type"

NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
"""Taints; the first two with effect NoExecute send pods away."""
NODE_LEASE_NAMESPACE = "kube-node-lease"
REMOVING_NODE = "RemovingNode"
"""The reason of the event about a node that is no more."""


class NodeAddress(Wire, frozen=True):
    """A way to reach the node."""

    type: str
    address: str


class NodeCondition(Wire, frozen=True):
    """One observed aspect of a node."""

    status: str
    type: str
    last_heartbeat_time: Time | UnsetType = UNSET
    last_transition_time: Time | UnsetType = UNSET
    message: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET


class ConfigMapNodeConfigSource(Wire, frozen=True):
    """A ConfigMap with kubelet settings; no longer used."""

    name: str
    namespace: str
    kubelet_config_key: str
    resource_version: str | UnsetType = UNSET
    uid: str | UnsetType = UNSET


class NodeConfigSource(Wire, frozen=True):
    """Where kubelet settings come from; no longer used."""

    config_map: ConfigMapNodeConfigSource | UnsetType = UNSET


class NodeConfigStatus(Wire, frozen=True):
    """Which kubelet settings are in use; no longer used."""

    active: NodeConfigSource | UnsetType = UNSET
    assigned: NodeConfigSource | UnsetType = UNSET
    error: str | UnsetType = UNSET
    last_known_good: NodeConfigSource | UnsetType = UNSET


class DaemonEndpoint(Wire, frozen=True):
    """A port of a daemon."""

    port: Int32 = msgspec.field(name="Port")


class NodeDaemonEndpoints(Wire, frozen=True):
    """Ports of the node's daemons."""

    kubelet_endpoint: DaemonEndpoint | UnsetType = UNSET


class NodeFeatures(Wire, frozen=True):
    """What the container runtime can do."""

    supplemental_groups_policy: bool | UnsetType = UNSET


class NodeRuntimeHandlerFeatures(Wire, frozen=True):
    """What a runtime handler can do."""

    recursive_read_only_mounts: bool | UnsetType = UNSET
    user_namespaces: bool | UnsetType = UNSET


class NodeRuntimeHandler(Wire, frozen=True):
    """A runtime handler of the node."""

    name: str | UnsetType = UNSET
    features: NodeRuntimeHandlerFeatures | UnsetType = UNSET


class NodeSwapStatus(Wire, frozen=True):
    """How much swap there is."""

    capacity: Int64 | UnsetType = UNSET


class NodeSystemInfo(Wire, frozen=True):
    """Versions and ids of the machine."""

    architecture: str
    boot_id: str = msgspec.field(name="bootID")
    container_runtime_version: str
    kernel_version: str
    kube_proxy_version: str
    kubelet_version: str
    machine_id: str = msgspec.field(name="machineID")
    operating_system: str
    os_image: str
    system_uuid: str = msgspec.field(name="systemUUID")
    swap: NodeSwapStatus | UnsetType = UNSET


class ContainerImage(Wire, frozen=True):
    """An image on the node."""

    names: Strings | UnsetType = UNSET
    size_bytes: Int64 | UnsetType = UNSET


class AttachedVolume(Wire, frozen=True):
    """A volume attached to the node."""

    name: str
    device_path: str


class NodeSpec(Wire, frozen=True):
    """Taints and whether pods may come."""

    config_source: NodeConfigSource | UnsetType = UNSET
    external_id: str | UnsetType = msgspec.field(name="externalID", default=UNSET)
    pod_cidr: str | UnsetType = msgspec.field(name="podCIDR", default=UNSET)
    pod_cidrs: Annotated[tuple[str, ...], Field(list_type="set", patch_strategy="merge")] | UnsetType = msgspec.field(
        name="podCIDRs", default=UNSET
    )
    provider_id: str | UnsetType = msgspec.field(name="providerID", default=UNSET)
    taints: Annotated[tuple[Taint, ...], ATOMIC] | UnsetType = UNSET
    unschedulable: bool | UnsetType = UNSET


class NodeStatus(Wire, frozen=True):
    """What a node has and how it is."""

    addresses: Annotated[tuple[NodeAddress, ...], BY_TYPE] | UnsetType = UNSET
    allocatable: Mapping[str, Quantity] | UnsetType = UNSET
    capacity: Mapping[str, Quantity] | UnsetType = UNSET
    conditions: Annotated[tuple[NodeCondition, ...], BY_TYPE] | UnsetType = UNSET
    config: NodeConfigStatus | UnsetType = UNSET
    daemon_endpoints: NodeDaemonEndpoints | UnsetType = UNSET
    declared_features: Strings | UnsetType = UNSET
    features: NodeFeatures | UnsetType = UNSET
    images: Annotated[tuple[ContainerImage, ...], ATOMIC] | UnsetType = UNSET
    node_info: NodeSystemInfo | UnsetType = UNSET
    phase: str | UnsetType = UNSET
    runtime_handlers: Annotated[tuple[NodeRuntimeHandler, ...], ATOMIC] | UnsetType = UNSET
    volumes_attached: Annotated[tuple[AttachedVolume, ...], ATOMIC] | UnsetType = UNSET
    volumes_in_use: Strings | UnsetType = UNSET


class Node(Wire, frozen=True, kw_only=True):
    """A machine that runs pods."""

    api_version: str = always("v1")
    kind: str = always("Node")
    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class Overhead(Wire, frozen=True):
    """What each pod of the class costs beyond its containers."""

    pod_fixed: Mapping[str, Quantity] | UnsetType = UNSET


class Scheduling(Wire, frozen=True):
    """Which nodes support the class."""

    node_selector: Annotated[Mapping[str, str], ATOMIC_MAP] | UnsetType = UNSET
    tolerations: Annotated[tuple[Toleration, ...], ATOMIC] | UnsetType = UNSET


class RuntimeClass(Wire, frozen=True, kw_only=True):
    """A way to run containers."""

    api_version: str = always("node.k8s.io/v1")
    kind: str = always("RuntimeClass")
    metadata: ObjectMeta = ObjectMeta()
    handler: str
    overhead: Overhead | UnsetType = UNSET
    scheduling: Scheduling | UnsetType = UNSET


class LeaseSpec(Wire, frozen=True):
    """Who holds the lease and until when."""

    acquire_time: MicroTime | UnsetType = UNSET
    holder_identity: str | UnsetType = UNSET
    lease_duration_seconds: Int32 | UnsetType = UNSET
    lease_transitions: Int32 | UnsetType = UNSET
    preferred_holder: str | UnsetType = UNSET
    renew_time: MicroTime | UnsetType = UNSET
    strategy: str | UnsetType = UNSET


class Lease(Wire, frozen=True, kw_only=True):
    """A heartbeat, or the seat of a leader."""

    api_version: str = always("coordination.k8s.io/v1")
    kind: str = always("Lease")
    metadata: ObjectMeta = ObjectMeta()
    spec: LeaseSpec = LeaseSpec()
