"""Pod with its status, and the small objects of core/v1: Namespace, ConfigMap, Secret, ServiceAccount."""

from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

from trainplane.api.containers import BY_MOUNT_PATH, ResourceRequirements
from trainplane.api.meta import (
    ATOMIC,
    BY_NAME,
    BY_TYPE,
    Base64,
    Field,
    Int32,
    Int64,
    ObjectMeta,
    Quantity,
    Strings,
    Time,
    Wire,
    always,
)
from trainplane.api.pod import BY_IP, BY_NAME_WHOLE, PodSpec
from trainplane.api.references import LocalObjectReference, ObjectReference

PENDING = "Pending"
RUNNING = "Running"
SUCCEEDED = "Succeeded"
FAILED = "Failed"

POD_SCHEDULED = "PodScheduled"
INITIALIZED = "Initialized"
CONTAINERS_READY = "ContainersReady"
READY = "Ready"
DISRUPTION_TARGET = "DisruptionTarget"

DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"
"""An annotation: the container that `kubectl logs` and `exec` mean."""
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
NAMESPACE_FINALIZER = "kubernetes"
NAMESPACE_NAME = "kubernetes.io/metadata.name"
"""A label that every namespace has, with its own name."""


class ContainerStateWaiting(Wire, frozen=True):
    """Not running yet, and why."""

    message: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET


class ContainerStateRunning(Wire, frozen=True):
    """Running since."""

    started_at: Time | UnsetType = UNSET


class ContainerStateTerminated(Wire, frozen=True):
    """Ended, how and when."""

    exit_code: Int32
    container_id: str | UnsetType = msgspec.field(name="containerID", default=UNSET)
    finished_at: Time | UnsetType = UNSET
    message: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    signal: Int32 | UnsetType = UNSET
    started_at: Time | UnsetType = UNSET


class ContainerState(Wire, frozen=True):
    """One of waiting, running and terminated."""

    running: ContainerStateRunning | UnsetType = UNSET
    terminated: ContainerStateTerminated | UnsetType = UNSET
    waiting: ContainerStateWaiting | UnsetType = UNSET


class LinuxContainerUser(Wire, frozen=True):
    """The ids of the first process."""

    gid: Int64
    uid: Int64
    supplemental_groups: Annotated[tuple[Int64, ...], ATOMIC] | UnsetType = UNSET


class ContainerUser(Wire, frozen=True):
    """As whom the first process runs."""

    linux: LinuxContainerUser | UnsetType = UNSET


class ImageVolumeStatus(Wire, frozen=True):
    """The image a volume was made of."""

    image_ref: str


class VolumeStatus(Wire, frozen=True):
    """What is known of a mounted volume, by its source."""

    image: ImageVolumeStatus | UnsetType = UNSET


class VolumeMountStatus(Wire, frozen=True):
    """A volume mount as it was made."""

    name: str
    mount_path: str
    read_only: bool | UnsetType = UNSET
    recursive_read_only: str | UnsetType = UNSET
    volume_status: VolumeStatus | UnsetType = UNSET


class ResourceHealth(Wire, frozen=True):
    """Whether one allotted device is healthy."""

    resource_id: str = msgspec.field(name="resourceID")
    health: str | UnsetType = UNSET
    message: str | UnsetType = UNSET


class ResourceStatus(Wire, frozen=True):
    """The health of the devices of one resource."""

    name: str
    resources: Annotated[tuple[ResourceHealth, ...], Field(list_type="map", keys=("resourceID",))] | UnsetType = UNSET


class ContainerStatus(Wire, frozen=True):
    """How one container is."""

    name: str
    image: str
    image_id: str = msgspec.field(name="imageID")
    ready: bool
    restart_count: Int32
    allocated_resources: Mapping[str, Quantity] | UnsetType = UNSET
    allocated_resources_status: Annotated[tuple[ResourceStatus, ...], BY_NAME] | UnsetType = UNSET
    container_id: str | UnsetType = msgspec.field(name="containerID", default=UNSET)
    last_state: ContainerState | UnsetType = UNSET
    resources: ResourceRequirements | UnsetType = UNSET
    started: bool | UnsetType = UNSET
    state: ContainerState | UnsetType = UNSET
    stop_signal: str | UnsetType = UNSET
    user: ContainerUser | UnsetType = UNSET
    volume_mounts: Annotated[tuple[VolumeMountStatus, ...], BY_MOUNT_PATH] | UnsetType = UNSET


class HostIP(Wire, frozen=True):
    """An address of the node."""

    ip: str


class PodIP(Wire, frozen=True):
    """An address of the pod."""

    ip: str


class PodCondition(Wire, frozen=True):
    """One observed aspect of a pod."""

    status: str
    type: str
    last_probe_time: Time | UnsetType = UNSET
    last_transition_time: Time | UnsetType = UNSET
    message: str | UnsetType = UNSET
    observed_generation: Int64 | UnsetType = UNSET
    reason: str | UnsetType = UNSET


class PodResourceClaimStatus(Wire, frozen=True):
    """The claim made for an entry of resourceClaims."""

    name: str
    resource_claim_name: str | UnsetType = UNSET


class ContainerExtendedResourceRequest(Wire, frozen=True):
    """Which request of a claim serves a container's extended resource."""

    container_name: str
    request_name: str
    resource_name: str


class PodExtendedResourceClaimStatus(Wire, frozen=True):
    """The claim made for the pod's extended resources."""

    request_mappings: Annotated[tuple[ContainerExtendedResourceRequest, ...], ATOMIC]
    resource_claim_name: str


class NodeAllocatableResourceClaimStatus(Wire, frozen=True):
    """What a claim takes of the node's own resources."""

    resource_claim_name: str
    resources: Mapping[str, Quantity]
    containers: Annotated[tuple[str, ...], Field(list_type="set")] | UnsetType = UNSET


class PodStatus(Wire, frozen=True):
    """How a pod is."""

    allocated_resources: Mapping[str, Quantity] | UnsetType = UNSET
    conditions: Annotated[tuple[PodCondition, ...], BY_TYPE] | UnsetType = UNSET
    container_statuses: Annotated[tuple[ContainerStatus, ...], ATOMIC] | UnsetType = UNSET
    ephemeral_container_statuses: Annotated[tuple[ContainerStatus, ...], ATOMIC] | UnsetType = UNSET
    extended_resource_claim_status: PodExtendedResourceClaimStatus | UnsetType = UNSET
    host_ip: str | UnsetType = msgspec.field(name="hostIP", default=UNSET)
    host_ips: (
        Annotated[tuple[HostIP, ...], Field(list_type="atomic", merge_key="ip", patch_strategy="merge")] | UnsetType
    ) = msgspec.field(name="hostIPs", default=UNSET)
    init_container_statuses: Annotated[tuple[ContainerStatus, ...], ATOMIC] | UnsetType = UNSET
    message: str | UnsetType = UNSET
    node_allocatable_resource_claim_statuses: (
        Annotated[tuple[NodeAllocatableResourceClaimStatus, ...], ATOMIC] | UnsetType
    ) = UNSET
    nominated_node_name: str | UnsetType = UNSET
    observed_generation: Int64 | UnsetType = UNSET
    phase: str | UnsetType = UNSET
    pod_ip: str | UnsetType = msgspec.field(name="podIP", default=UNSET)
    pod_ips: Annotated[tuple[PodIP, ...], BY_IP] | UnsetType = msgspec.field(name="podIPs", default=UNSET)
    qos_class: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    resize: str | UnsetType = UNSET
    resource_claim_statuses: Annotated[tuple[PodResourceClaimStatus, ...], BY_NAME_WHOLE] | UnsetType = UNSET
    resources: ResourceRequirements | UnsetType = UNSET
    start_time: Time | UnsetType = UNSET


class Pod(Wire, frozen=True, kw_only=True):
    """Containers that share a place, a network and a life."""

    api_version: str = always("v1")
    kind: str = always("Pod")
    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec
    status: PodStatus = PodStatus()


class NamespaceSpec(Wire, frozen=True):
    """What keeps a namespace from going."""

    finalizers: Strings | UnsetType = UNSET


class NamespaceCondition(Wire, frozen=True):
    """One observed aspect of a namespace."""

    status: str
    type: str
    last_transition_time: Time | UnsetType = UNSET
    message: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET


class NamespaceStatus(Wire, frozen=True):
    """Whether a namespace is active or going."""

    conditions: Annotated[tuple[NamespaceCondition, ...], BY_TYPE] | UnsetType = UNSET
    phase: str | UnsetType = UNSET


class Namespace(Wire, frozen=True, kw_only=True):
    """A room for names."""

    api_version: str = always("v1")
    kind: str = always("Namespace")
    metadata: ObjectMeta = ObjectMeta()
    spec: NamespaceSpec = NamespaceSpec()
    status: NamespaceStatus = NamespaceStatus()


class ConfigMap(Wire, frozen=True, kw_only=True):
    """Settings, as keys and values."""

    api_version: str = always("v1")
    kind: str = always("ConfigMap")
    metadata: ObjectMeta = ObjectMeta()
    binary_data: Mapping[str, Base64] | UnsetType = UNSET
    data: Mapping[str, str] | UnsetType = UNSET
    immutable: bool | UnsetType = UNSET


class Secret(Wire, frozen=True, kw_only=True):
    """Settings not to be shown, as keys and values."""

    api_version: str = always("v1")
    kind: str = always("Secret")
    metadata: ObjectMeta = ObjectMeta()
    type: str | UnsetType = UNSET
    data: Mapping[str, Base64] | UnsetType = UNSET
    immutable: bool | UnsetType = UNSET
    string_data: Mapping[str, str] | UnsetType = UNSET


class ServiceAccount(Wire, frozen=True, kw_only=True):
    """An identity for pods."""

    api_version: str = always("v1")
    kind: str = always("ServiceAccount")
    metadata: ObjectMeta = ObjectMeta()
    automount_service_account_token: bool | UnsetType = UNSET
    image_pull_secrets: Annotated[tuple[LocalObjectReference, ...], ATOMIC] | UnsetType = UNSET
    secrets: Annotated[tuple[ObjectReference, ...], BY_NAME] | UnsetType = UNSET
