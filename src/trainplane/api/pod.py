"""PodSpec and PodTemplateSpec: what a pod is made of."""

from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

from trainplane.api.affinity import Affinity, Toleration, TopologySpreadConstraint
from trainplane.api.containers import (
    AppArmorProfile,
    Container,
    ContainerPort,
    EnvFromSource,
    EnvVar,
    EnvVarSource,
    EphemeralContainer,
    Probe,
    ResourceRequirements,
    SeccompProfile,
    SecurityContext,
    SELinuxOptions,
    VolumeMount,
    WindowsSecurityContextOptions,
)
from trainplane.api.meta import (
    ATOMIC,
    ATOMIC_MAP,
    BY_NAME,
    EmbeddedMeta,
    Field,
    Int32,
    Int64,
    Quantity,
    Strings,
    Wire,
)
from trainplane.api.references import LocalObjectReference
from trainplane.api.volumes import Volume

# The words of every pod template, so that readers find them in one place.
__all__ = [
    "Affinity",
    "Container",
    "ContainerPort",
    "EnvFromSource",
    "EnvVar",
    "EnvVarSource",
    "EphemeralContainer",
    "HostAlias",
    "LocalObjectReference",
    "PodDNSConfig",
    "PodDNSConfigOption",
    "PodOS",
    "PodReadinessGate",
    "PodResourceClaim",
    "PodSchedulingGate",
    "PodSchedulingGroup",
    "PodSecurityContext",
    "PodSpec",
    "PodTemplateSpec",
    "Probe",
    "ResourceRequirements",
    "SecurityContext",
    "Sysctl",
    "Toleration",
    "TopologySpreadConstraint",
    "Volume",
    "VolumeMount",
]

BY_IP = Field(list_type="map", keys=("ip",), merge_key="ip", patch_strategy="merge")
BY_NAME_WHOLE = Field(list_type="map", keys=("name",), merge_key="name", patch_strategy="merge,retainKeys")
BY_TOPOLOGY = Field(
    list_type="map", keys=("topologyKey", "whenUnsatisfiable"), merge_key="topologyKey", patch_strategy="merge"
)


class HostAlias(Wire, frozen=True):
    """Names to add to the hosts file."""

    ip: str
    hostnames: Strings | UnsetType = UNSET


class PodDNSConfigOption(Wire, frozen=True):
    """One resolver option."""

    name: str | UnsetType = UNSET
    value: str | UnsetType = UNSET


class PodDNSConfig(Wire, frozen=True):
    """Resolver settings of the pod."""

    nameservers: Strings | UnsetType = UNSET
    options: Annotated[tuple[PodDNSConfigOption, ...], ATOMIC] | UnsetType = UNSET
    searches: Strings | UnsetType = UNSET


class PodOS(Wire, frozen=True):
    """The operating system of the containers."""

    name: str


class PodReadinessGate(Wire, frozen=True):
    """A condition that must be True before the pod counts as ready."""

    condition_type: str


class PodResourceClaim(Wire, frozen=True):
    """A device claim that containers refer to by name."""

    name: str
    resource_claim_name: str | UnsetType = UNSET
    resource_claim_template_name: str | UnsetType = UNSET


class PodSchedulingGate(Wire, frozen=True):
    """A reason not to schedule the pod yet."""

    name: str


class PodSchedulingGroup(Wire, frozen=True):
    """The PodGroup that the pod is scheduled with."""

    pod_group_name: str | UnsetType = UNSET


class Sysctl(Wire, frozen=True):
    """A kernel parameter."""

    name: str
    value: str


class PodSecurityContext(Wire, frozen=True):
    """What the containers of a pod may do and as whom, unless they say otherwise."""

    app_armor_profile: AppArmorProfile | UnsetType = UNSET
    fs_group: Int64 | UnsetType = UNSET
    fs_group_change_policy: str | UnsetType = UNSET
    run_as_group: Int64 | UnsetType = UNSET
    run_as_non_root: bool | UnsetType = UNSET
    run_as_user: Int64 | UnsetType = UNSET
    se_linux_change_policy: str | UnsetType = UNSET
    se_linux_options: SELinuxOptions | UnsetType = UNSET
    seccomp_profile: SeccompProfile | UnsetType = UNSET
    supplemental_groups: Annotated[tuple[Int64, ...], ATOMIC] | UnsetType = UNSET
    supplemental_groups_policy: str | UnsetType = UNSET
    sysctls: Annotated[tuple[Sysctl, ...], ATOMIC] | UnsetType = UNSET
    windows_options: WindowsSecurityContextOptions | UnsetType = UNSET


class PodSpec(Wire, frozen=True):
    """What a pod runs, where, and how."""

    containers: Annotated[tuple[Container, ...], BY_NAME]
    active_deadline_seconds: Int64 | UnsetType = UNSET
    affinity: Affinity | UnsetType = UNSET
    automount_service_account_token: bool | UnsetType = UNSET
    dns_config: PodDNSConfig | UnsetType = UNSET
    dns_policy: str | UnsetType = UNSET
    enable_service_links: bool | UnsetType = UNSET
    ephemeral_containers: Annotated[tuple[EphemeralContainer, ...], BY_NAME] | UnsetType = UNSET
    host_aliases: Annotated[tuple[HostAlias, ...], BY_IP] | UnsetType = UNSET
    host_ipc: bool | UnsetType = msgspec.field(name="hostIPC", default=UNSET)
    host_network: bool | UnsetType = UNSET
    host_pid: bool | UnsetType = msgspec.field(name="hostPID", default=UNSET)
    host_users: bool | UnsetType = UNSET
    hostname: str | UnsetType = UNSET
    hostname_override: str | UnsetType = UNSET
    image_pull_secrets: Annotated[tuple[LocalObjectReference, ...], BY_NAME] | UnsetType = UNSET
    init_containers: Annotated[tuple[Container, ...], BY_NAME] | UnsetType = UNSET
    node_name: str | UnsetType = UNSET
    node_selector: Annotated[Mapping[str, str], ATOMIC_MAP] | UnsetType = UNSET
    os: PodOS | UnsetType = UNSET
    overhead: Mapping[str, Quantity] | UnsetType = UNSET
    preemption_policy: str | UnsetType = UNSET
    priority: Int32 | UnsetType = UNSET
    priority_class_name: str | UnsetType = UNSET
    readiness_gates: Annotated[tuple[PodReadinessGate, ...], ATOMIC] | UnsetType = UNSET
    resource_claims: Annotated[tuple[PodResourceClaim, ...], BY_NAME_WHOLE] | UnsetType = UNSET
    resources: ResourceRequirements | UnsetType = UNSET
    restart_policy: str | UnsetType = UNSET
    runtime_class_name: str | UnsetType = UNSET
    scheduler_name: str | UnsetType = UNSET
    scheduling_gates: Annotated[tuple[PodSchedulingGate, ...], BY_NAME] | UnsetType = UNSET
    scheduling_group: PodSchedulingGroup | UnsetType = UNSET
    security_context: PodSecurityContext | UnsetType = UNSET
    service_account: str | UnsetType = UNSET
    service_account_name: str | UnsetType = UNSET
    set_hostname_as_fqdn: bool | UnsetType = msgspec.field(name="setHostnameAsFQDN", default=UNSET)
    share_process_namespace: bool | UnsetType = UNSET
    subdomain: str | UnsetType = UNSET
    termination_grace_period_seconds: Int64 | UnsetType = UNSET
    tolerations: Annotated[tuple[Toleration, ...], ATOMIC] | UnsetType = UNSET
    topology_spread_constraints: Annotated[tuple[TopologySpreadConstraint, ...], BY_TOPOLOGY] | UnsetType = UNSET
    volumes: Annotated[tuple[Volume, ...], BY_NAME_WHOLE] | UnsetType = UNSET


class PodTemplateSpec(Wire, frozen=True):
    """Pods to be made."""

    metadata: EmbeddedMeta | UnsetType = UNSET
    spec: PodSpec | UnsetType = UNSET
