"""Containers: what they run, see, may use and may do, and how they are watched."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

import msgspec
from msgspec import UNSET, UnsetType

from trainplane.api.meta import ATOMIC, ATOMIC_MAP, BY_NAME, Field, Int32, Int64, IntOrString, Quantity, Strings, Wire
from trainplane.api.references import ObjectFieldSelector, ResourceFieldSelector

BY_PORT = Field(list_type="map", keys=("containerPort", "protocol"), merge_key="containerPort", patch_strategy="merge")
BY_DEVICE_PATH = Field(list_type="map", keys=("devicePath",), merge_key="devicePath", patch_strategy="merge")
BY_MOUNT_PATH = Field(list_type="map", keys=("mountPath",), merge_key="mountPath", patch_strategy="merge")


class ConfigMapKeySelector(Wire, frozen=True):
    """One key of a ConfigMap."""

    SCHEMA: ClassVar[Field] = ATOMIC_MAP

    key: str
    name: Annotated[str, Field(default="")] | UnsetType = UNSET
    optional: bool | UnsetType = UNSET


class SecretKeySelector(Wire, frozen=True):
    """One key of a Secret."""

    SCHEMA: ClassVar[Field] = ATOMIC_MAP

    key: str
    name: Annotated[str, Field(default="")] | UnsetType = UNSET
    optional: bool | UnsetType = UNSET


class FileKeySelector(Wire, frozen=True):
    """One key of a file of variables in a volume."""

    SCHEMA: ClassVar[Field] = ATOMIC_MAP

    key: str
    path: str
    volume_name: str
    optional: Annotated[bool, Field(default=False)] | UnsetType = UNSET


class EnvVarSource(Wire, frozen=True):
    """Where a variable gets its value."""

    config_map_key_ref: ConfigMapKeySelector | UnsetType = UNSET
    field_ref: ObjectFieldSelector | UnsetType = UNSET
    file_key_ref: FileKeySelector | UnsetType = UNSET
    resource_field_ref: ResourceFieldSelector | UnsetType = UNSET
    secret_key_ref: SecretKeySelector | UnsetType = UNSET


class EnvVar(Wire, frozen=True):
    """One environment variable."""

    name: str
    value: str | UnsetType = UNSET
    value_from: EnvVarSource | UnsetType = UNSET


class ConfigMapEnvSource(Wire, frozen=True):
    """All keys of a ConfigMap."""

    name: Annotated[str, Field(default="")] | UnsetType = UNSET
    optional: bool | UnsetType = UNSET


class SecretEnvSource(Wire, frozen=True):
    """All keys of a Secret."""

    name: Annotated[str, Field(default="")] | UnsetType = UNSET
    optional: bool | UnsetType = UNSET


class EnvFromSource(Wire, frozen=True):
    """Variables taken from a ConfigMap or Secret as a whole."""

    config_map_ref: ConfigMapEnvSource | UnsetType = UNSET
    prefix: str | UnsetType = UNSET
    secret_ref: SecretEnvSource | UnsetType = UNSET


class ContainerPort(Wire, frozen=True):
    """A port that the container listens on."""

    container_port: Int32
    name: str | UnsetType = UNSET
    host_ip: str | UnsetType = msgspec.field(name="hostIP", default=UNSET)
    host_port: Int32 | UnsetType = UNSET
    protocol: Annotated[str, Field(default="TCP")] | UnsetType = UNSET


class ResourceClaim(Wire, frozen=True):
    """A claim of the pod that this container uses."""

    name: str
    request: str | UnsetType = UNSET


class ResourceRequirements(Wire, frozen=True):
    """What a container asks for and may use at most."""

    claims: Annotated[tuple[ResourceClaim, ...], Field(list_type="map", keys=("name",))] | UnsetType = UNSET
    limits: Mapping[str, Quantity] | UnsetType = UNSET
    requests: Mapping[str, Quantity] | UnsetType = UNSET


class ContainerResizePolicy(Wire, frozen=True):
    """Whether a change of a resource restarts the container."""

    resource_name: str
    restart_policy: str


class ContainerRestartRuleOnExitCodes(Wire, frozen=True):
    """The exit codes a restart rule is about."""

    operator: str
    values: Annotated[tuple[Int32, ...], Field(list_type="set")] | UnsetType = UNSET


class ContainerRestartRule(Wire, frozen=True):
    """What to do after an exit that matches."""

    action: str
    exit_codes: ContainerRestartRuleOnExitCodes | UnsetType = UNSET


class VolumeMount(Wire, frozen=True):
    """Where a volume appears in the container."""

    name: str
    mount_path: str
    mount_propagation: str | UnsetType = UNSET
    read_only: bool | UnsetType = UNSET
    recursive_read_only: str | UnsetType = UNSET
    sub_path: str | UnsetType = UNSET
    sub_path_expr: str | UnsetType = UNSET


class VolumeDevice(Wire, frozen=True):
    """Where a raw block device appears in the container."""

    name: str
    device_path: str


class ExecAction(Wire, frozen=True):
    """A command to run in the container."""

    command: Strings | UnsetType = UNSET


class HTTPHeader(Wire, frozen=True):
    """A header to send."""

    name: str
    value: str


class HTTPGetAction(Wire, frozen=True):
    """An HTTP request to make."""

    port: IntOrString
    host: str | UnsetType = UNSET
    http_headers: Annotated[tuple[HTTPHeader, ...], ATOMIC] | UnsetType = UNSET
    path: str | UnsetType = UNSET
    scheme: str | UnsetType = UNSET


class TCPSocketAction(Wire, frozen=True):
    """A TCP connection to open."""

    port: IntOrString
    host: str | UnsetType = UNSET


class GRPCAction(Wire, frozen=True):
    """A gRPC health check to make."""

    port: Int32
    service: Annotated[str, Field(default="")] | UnsetType = UNSET


class SleepAction(Wire, frozen=True):
    """A pause."""

    seconds: Int64


class Probe(Wire, frozen=True):
    """A check made again and again on a running container."""

    exec: ExecAction | UnsetType = UNSET
    failure_threshold: Int32 | UnsetType = UNSET
    grpc: GRPCAction | UnsetType = UNSET
    http_get: HTTPGetAction | UnsetType = UNSET
    initial_delay_seconds: Int32 | UnsetType = UNSET
    period_seconds: Int32 | UnsetType = UNSET
    success_threshold: Int32 | UnsetType = UNSET
    tcp_socket: TCPSocketAction | UnsetType = UNSET
    termination_grace_period_seconds: Int64 | UnsetType = UNSET
    timeout_seconds: Int32 | UnsetType = UNSET


class LifecycleHandler(Wire, frozen=True):
    """What to do at a point of a container's life."""

    exec: ExecAction | UnsetType = UNSET
    http_get: HTTPGetAction | UnsetType = UNSET
    sleep: SleepAction | UnsetType = UNSET
    tcp_socket: TCPSocketAction | UnsetType = UNSET


class Lifecycle(Wire, frozen=True):
    """What to do after a container starts and before it stops."""

    post_start: LifecycleHandler | UnsetType = UNSET
    pre_stop: LifecycleHandler | UnsetType = UNSET
    stop_signal: str | UnsetType = UNSET


class Capabilities(Wire, frozen=True):
    """Linux capabilities to add and drop."""

    add: Strings | UnsetType = UNSET
    drop: Strings | UnsetType = UNSET


class SELinuxOptions(Wire, frozen=True):
    """The SELinux context."""

    type: str | UnsetType = UNSET
    level: str | UnsetType = UNSET
    role: str | UnsetType = UNSET
    user: str | UnsetType = UNSET


class WindowsSecurityContextOptions(Wire, frozen=True):
    """Identity on Windows nodes."""

    gmsa_credential_spec: str | UnsetType = UNSET
    gmsa_credential_spec_name: str | UnsetType = UNSET
    host_process: bool | UnsetType = UNSET
    run_as_user_name: str | UnsetType = UNSET


class SeccompProfile(Wire, frozen=True):
    """Which system calls are allowed."""

    type: str
    localhost_profile: str | UnsetType = UNSET


class AppArmorProfile(Wire, frozen=True):
    """The AppArmor profile."""

    type: str
    localhost_profile: str | UnsetType = UNSET


class SecurityContext(Wire, frozen=True):
    """What one container may do and as whom."""

    allow_privilege_escalation: bool | UnsetType = UNSET
    app_armor_profile: AppArmorProfile | UnsetType = UNSET
    capabilities: Capabilities | UnsetType = UNSET
    privileged: bool | UnsetType = UNSET
    proc_mount: str | UnsetType = UNSET
    read_only_root_filesystem: bool | UnsetType = UNSET
    run_as_group: Int64 | UnsetType = UNSET
    run_as_non_root: bool | UnsetType = UNSET
    run_as_user: Int64 | UnsetType = UNSET
    se_linux_options: SELinuxOptions | UnsetType = UNSET
    seccomp_profile: SeccompProfile | UnsetType = UNSET
    windows_options: WindowsSecurityContextOptions | UnsetType = UNSET


class Container(Wire, frozen=True):
    """One process of a pod."""

    name: str
    image: str | UnsetType = UNSET
    command: Strings | UnsetType = UNSET
    args: Strings | UnsetType = UNSET
    env: Annotated[tuple[EnvVar, ...], BY_NAME] | UnsetType = UNSET
    env_from: Annotated[tuple[EnvFromSource, ...], ATOMIC] | UnsetType = UNSET
    image_pull_policy: str | UnsetType = UNSET
    lifecycle: Lifecycle | UnsetType = UNSET
    liveness_probe: Probe | UnsetType = UNSET
    ports: Annotated[tuple[ContainerPort, ...], BY_PORT] | UnsetType = UNSET
    readiness_probe: Probe | UnsetType = UNSET
    resize_policy: Annotated[tuple[ContainerResizePolicy, ...], ATOMIC] | UnsetType = UNSET
    resources: ResourceRequirements | UnsetType = UNSET
    restart_policy: str | UnsetType = UNSET
    restart_policy_rules: Annotated[tuple[ContainerRestartRule, ...], ATOMIC] | UnsetType = UNSET
    security_context: SecurityContext | UnsetType = UNSET
    startup_probe: Probe | UnsetType = UNSET
    stdin: bool | UnsetType = UNSET
    stdin_once: bool | UnsetType = UNSET
    termination_message_path: str | UnsetType = UNSET
    termination_message_policy: str | UnsetType = UNSET
    tty: bool | UnsetType = UNSET
    volume_devices: Annotated[tuple[VolumeDevice, ...], BY_DEVICE_PATH] | UnsetType = UNSET
    volume_mounts: Annotated[tuple[VolumeMount, ...], BY_MOUNT_PATH] | UnsetType = UNSET
    working_dir: str | UnsetType = UNSET


class EphemeralContainer(Wire, frozen=True):
    """A container added to a running pod for debugging."""

    name: str
    image: str | UnsetType = UNSET
    command: Strings | UnsetType = UNSET
    args: Strings | UnsetType = UNSET
    env: Annotated[tuple[EnvVar, ...], BY_NAME] | UnsetType = UNSET
    env_from: Annotated[tuple[EnvFromSource, ...], ATOMIC] | UnsetType = UNSET
    image_pull_policy: str | UnsetType = UNSET
    lifecycle: Lifecycle | UnsetType = UNSET
    liveness_probe: Probe | UnsetType = UNSET
    ports: Annotated[tuple[ContainerPort, ...], BY_PORT] | UnsetType = UNSET
    readiness_probe: Probe | UnsetType = UNSET
    resize_policy: Annotated[tuple[ContainerResizePolicy, ...], ATOMIC] | UnsetType = UNSET
    resources: ResourceRequirements | UnsetType = UNSET
    restart_policy: str | UnsetType = UNSET
    restart_policy_rules: Annotated[tuple[ContainerRestartRule, ...], ATOMIC] | UnsetType = UNSET
    security_context: SecurityContext | UnsetType = UNSET
    startup_probe: Probe | UnsetType = UNSET
    stdin: bool | UnsetType = UNSET
    stdin_once: bool | UnsetType = UNSET
    target_container_name: str | UnsetType = UNSET
    termination_message_path: str | UnsetType = UNSET
    termination_message_policy: str | UnsetType = UNSET
    tty: bool | UnsetType = UNSET
    volume_devices: Annotated[tuple[VolumeDevice, ...], BY_DEVICE_PATH] | UnsetType = UNSET
    volume_mounts: Annotated[tuple[VolumeMount, ...], BY_MOUNT_PATH] | UnsetType = UNSET
    working_dir: str | UnsetType = UNSET
