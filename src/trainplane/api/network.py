"""Service, Endpoints and EndpointSlice."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

import msgspec
from msgspec import UNSET, UnsetType

from trainplane.api.meta import (
    ATOMIC,
    ATOMIC_MAP,
    BY_TYPE,
    Condition,
    Field,
    Int32,
    IntOrString,
    ObjectMeta,
    Strings,
    Wire,
    always,
)
from trainplane.api.references import ObjectReference

SERVICE_NAME = "kubernetes.io/service-name"
"""The label by which an EndpointSlice names its Service."""
SLICE_MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
HEADLESS = "None"
"""The clusterIP of a Service that is only names."""
BY_PORT = Field(list_type="map", keys=("port", "protocol"), merge_key="port", patch_strategy="merge")


class ServicePort(Wire, frozen=True):
    """A port of a service and where it leads."""

    port: Int32
    name: str | UnsetType = UNSET
    app_protocol: str | UnsetType = UNSET
    node_port: Int32 | UnsetType = UNSET
    protocol: Annotated[str, Field(default="TCP")] | UnsetType = UNSET
    target_port: IntOrString | UnsetType = UNSET


class ClientIPConfig(Wire, frozen=True):
    """How long a client stays with one pod."""

    timeout_seconds: Int32 | UnsetType = UNSET


class SessionAffinityConfig(Wire, frozen=True):
    """How clients stay with one pod."""

    client_ip: ClientIPConfig | UnsetType = msgspec.field(name="clientIP", default=UNSET)


class ServiceSpec(Wire, frozen=True):
    """Which pods a service stands for, and how it is reached."""

    type: str | UnsetType = UNSET
    allocate_load_balancer_node_ports: bool | UnsetType = UNSET
    cluster_ip: str | UnsetType = msgspec.field(name="clusterIP", default=UNSET)
    cluster_ips: Strings | UnsetType = msgspec.field(name="clusterIPs", default=UNSET)
    external_ips: Strings | UnsetType = msgspec.field(name="externalIPs", default=UNSET)
    external_name: str | UnsetType = UNSET
    external_traffic_policy: str | UnsetType = UNSET
    health_check_node_port: Int32 | UnsetType = UNSET
    internal_traffic_policy: str | UnsetType = UNSET
    ip_families: Strings | UnsetType = UNSET
    ip_family_policy: str | UnsetType = UNSET
    load_balancer_class: str | UnsetType = UNSET
    load_balancer_ip: str | UnsetType = msgspec.field(name="loadBalancerIP", default=UNSET)
    load_balancer_source_ranges: Strings | UnsetType = UNSET
    ports: Annotated[tuple[ServicePort, ...], BY_PORT] | UnsetType = UNSET
    publish_not_ready_addresses: bool | UnsetType = UNSET
    selector: Annotated[Mapping[str, str], ATOMIC_MAP] | UnsetType = UNSET
    session_affinity: str | UnsetType = UNSET
    session_affinity_config: SessionAffinityConfig | UnsetType = UNSET
    traffic_distribution: str | UnsetType = UNSET


class PortStatus(Wire, frozen=True):
    """A port of a load balancer."""

    port: Int32
    protocol: str
    error: str | UnsetType = UNSET


class LoadBalancerIngress(Wire, frozen=True):
    """One way in through a load balancer."""

    hostname: str | UnsetType = UNSET
    ip: str | UnsetType = UNSET
    ip_mode: str | UnsetType = UNSET
    ports: Annotated[tuple[PortStatus, ...], ATOMIC] | UnsetType = UNSET


class LoadBalancerStatus(Wire, frozen=True):
    """The ways in through a load balancer."""

    ingress: Annotated[tuple[LoadBalancerIngress, ...], ATOMIC] | UnsetType = UNSET


class ServiceStatus(Wire, frozen=True):
    """What a service has got."""

    conditions: Annotated[tuple[Condition, ...], BY_TYPE] | UnsetType = UNSET
    load_balancer: LoadBalancerStatus | UnsetType = UNSET


class Service(Wire, frozen=True, kw_only=True):
    """A name for a set of pods."""

    api_version: str = always("v1")
    kind: str = always("Service")
    metadata: ObjectMeta = ObjectMeta()
    spec: ServiceSpec = ServiceSpec()
    status: ServiceStatus = ServiceStatus()


class EndpointAddress(Wire, frozen=True):
    """One address behind a service."""

    SCHEMA: ClassVar[Field] = ATOMIC_MAP

    ip: str
    hostname: str | UnsetType = UNSET
    node_name: str | UnsetType = UNSET
    target_ref: ObjectReference | UnsetType = UNSET


class EndpointPort(Wire, frozen=True):
    """A port behind a service."""

    SCHEMA: ClassVar[Field] = ATOMIC_MAP

    port: Int32
    name: str | UnsetType = UNSET
    app_protocol: str | UnsetType = UNSET
    protocol: str | UnsetType = UNSET


class EndpointSubset(Wire, frozen=True):
    """Addresses that share ports."""

    addresses: Annotated[tuple[EndpointAddress, ...], ATOMIC] | UnsetType = UNSET
    not_ready_addresses: Annotated[tuple[EndpointAddress, ...], ATOMIC] | UnsetType = UNSET
    ports: Annotated[tuple[EndpointPort, ...], ATOMIC] | UnsetType = UNSET


class Endpoints(Wire, frozen=True, kw_only=True):
    """The addresses behind a service; EndpointSlice replaces it."""

    api_version: str = always("v1")
    kind: str = always("Endpoints")
    metadata: ObjectMeta = ObjectMeta()
    subsets: Annotated[tuple[EndpointSubset, ...], ATOMIC] | UnsetType = UNSET


class EndpointConditions(Wire, frozen=True):
    """Whether an endpoint takes traffic."""

    ready: bool | UnsetType = UNSET
    serving: bool | UnsetType = UNSET
    terminating: bool | UnsetType = UNSET


class ForZone(Wire, frozen=True):
    """A zone that should use the endpoint."""

    name: str


class ForNode(Wire, frozen=True):
    """A node that should use the endpoint."""

    name: str


class EndpointHints(Wire, frozen=True):
    """Who should use the endpoint."""

    for_nodes: Annotated[tuple[ForNode, ...], ATOMIC] | UnsetType = UNSET
    for_zones: Annotated[tuple[ForZone, ...], ATOMIC] | UnsetType = UNSET


class Endpoint(Wire, frozen=True):
    """One pod behind a service."""

    addresses: Annotated[tuple[str, ...], Field(list_type="set")]
    conditions: EndpointConditions | UnsetType = UNSET
    deprecated_topology: Mapping[str, str] | UnsetType = UNSET
    hints: EndpointHints | UnsetType = UNSET
    hostname: str | UnsetType = UNSET
    node_name: str | UnsetType = UNSET
    target_ref: ObjectReference | UnsetType = UNSET
    zone: str | UnsetType = UNSET


class SlicePort(Wire, frozen=True):
    """A port that all endpoints of a slice share."""

    SCHEMA: ClassVar[Field] = ATOMIC_MAP

    name: str | UnsetType = UNSET
    app_protocol: str | UnsetType = UNSET
    port: Int32 | UnsetType = UNSET
    protocol: str | UnsetType = UNSET


class EndpointSlice(Wire, frozen=True, kw_only=True):
    """Some of the endpoints behind a service."""

    api_version: str = always("discovery.k8s.io/v1")
    kind: str = always("EndpointSlice")
    metadata: ObjectMeta = ObjectMeta()
    address_type: str
    endpoints: Annotated[tuple[Endpoint, ...], ATOMIC] | UnsetType = UNSET
    ports: Annotated[tuple[SlicePort, ...], ATOMIC] | UnsetType = UNSET
