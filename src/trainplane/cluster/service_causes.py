"""What the API server refuses in Services."""

from collections.abc import Iterator, Mapping
from typing import Any

from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.cluster.addresses import address_faults, place_faults, range_faults, read_address
from trainplane.cluster.causes import Cause, duplicate, forbidden, invalid, not_supported, required
from trainplane.cluster.endpoint_causes import PORT_WORDS
from trainplane.cluster.names import key_faults, label_faults, subdomain_faults, value_faults
from trainplane.cluster.probe_causes import port_name_faults
from trainplane.cluster.services import NODE_PORTS

TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_NEAR = ("PreferClose", "PreferSameZone", "PreferSameNode")
_DAY = 86_400
_NO_ADDRESS = ("clusterIPs", "ipFamilies", "ipFamilyPolicy")
"""What only a Service with an address, or without one of its own, has."""
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_WORDS = {
    "sessionAffinity": ("ClientIP", "None"),
    "ipFamilyPolicy": ("PreferDualStack", "RequireDualStack", "SingleStack"),
    "internalTrafficPolicy": ("Cluster", "Local"),
}


def service_causes(new: Raw, old: Raw | None, subresource: str) -> Iterator[Cause]:
    """What is wrong with a Service, by itself and against what it was."""
    spec = new.get("spec") or {}
    if subresource:
        if look(new, "status", "loadBalancer", "ingress") and spec.get("type") != "LoadBalancer":
            at = "status.loadBalancer.ingress"
            yield forbidden(at, "may only be used when `spec.type` is 'LoadBalancer'")
        return
    kind, address = spec.get("type"), spec.get("clusterIP")
    if kind not in TYPES:
        yield not_supported("spec.type", kind, TYPES)
    ports = spec.get("ports") or ()
    if not ports and kind != "ExternalName" and address != "None":
        yield required("spec.ports")
    if kind == "ExternalName":
        name = (spec.get("externalName") or "").removesuffix(".")
        if not name:
            yield required("spec.externalName")
        for fault in subdomain_faults(name) if name else ():
            yield invalid("spec.externalName", name, fault)
    yield from _port_causes(ports, kind)
    for name, known in _WORDS.items():
        if spec.get(name) not in (None, *known) and not (kind == "ExternalName" and name in _NO_ADDRESS):
            yield not_supported(f"spec.{name}", spec[name], known)
    outside = spec.get("externalTrafficPolicy")
    reached = kind in ("LoadBalancer", "NodePort") or (kind == "ClusterIP" and spec.get("externalIPs"))
    if outside and not reached:
        yield invalid("spec.externalTrafficPolicy", outside, "may only be set for externally-accessible services")
    elif outside and outside not in ("Cluster", "Local"):
        yield not_supported("spec.externalTrafficPolicy", outside, ("Cluster", "Local"))
    seconds = look(spec, "sessionAffinityConfig", "clientIP", "timeoutSeconds")
    if spec.get("sessionAffinity") == "ClientIP" and seconds is not None and not 0 < seconds <= _DAY:
        words = f"must be greater than 0 and less than {_DAY}"
        yield invalid("spec.sessionAffinityConfig.clientIP.timeoutSeconds", seconds, words)
    for key, value in (spec.get("selector") or {}).items():
        for fault in key_faults(key):
            yield invalid("spec.selector", key, fault)
        for fault in value_faults(value):
            yield invalid("spec.selector", value, fault)
    yield from _address_causes(spec, old)
    yield from _outside_causes(spec, kind)
    before = look(old, "spec") or {}
    name = spec.get("loadBalancerClass")
    if kind == before.get("type") == "LoadBalancer" and name != before.get("loadBalancerClass"):
        yield invalid("spec.loadBalancerClass", name, "may not change once set")


def _outside_causes(spec: Mapping[str, Any], kind: Any) -> Iterator[Cause]:
    """What is wrong with how a Service is reached from elsewhere."""
    for index, address in enumerate(spec.get("externalIPs") or ()):
        for fault in (*address_faults(address), *place_faults(address)):
            yield invalid(f"spec.externalIPs[{index}]", address, fault)
    families = spec.get("ipFamilies") or ()
    for index, family in enumerate(families):
        if family in families[:index]:
            yield duplicate(f"spec.ipFamilies[{index}]", family)
        if family not in ("IPv4", "IPv6"):
            yield not_supported(f"spec.ipFamilies[{index}]", family, ("IPv4", "IPv6"))
    ranges = spec.get("loadBalancerSourceRanges") or ()
    for index, text in enumerate(ranges):
        for fault in range_faults(text.strip()):
            yield invalid(f"spec.LoadBalancerSourceRanges[{index}]", text.strip(), fault)
    if kind != "LoadBalancer":
        for name in ("loadBalancerSourceRanges", "loadBalancerClass", "allocateLoadBalancerNodePorts"):
            if spec.get(name) is not None:
                at = f"spec.{name[0].upper()}{name[1:]}" if name == "loadBalancerSourceRanges" else f"spec.{name}"
                yield forbidden(at, "may only be used when `type` is 'LoadBalancer'")
    if spec.get("healthCheckNodePort") and (kind != "LoadBalancer" or spec.get("externalTrafficPolicy") != "Local"):
        words = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        yield invalid("spec.healthCheckNodePort", spec["healthCheckNodePort"], words)
    elif spec.get("healthCheckNodePort") and not 1 <= spec["healthCheckNodePort"] <= 65535:
        yield invalid("spec.healthCheckNodePort", spec["healthCheckNodePort"], PORT_WORDS)
    if spec.get("loadBalancerClass") is not None and kind == "LoadBalancer":
        for fault in key_faults(spec["loadBalancerClass"]):
            yield invalid("spec.loadBalancerClass", spec["loadBalancerClass"], fault)
    near = spec.get("trafficDistribution")
    if near is not None and near not in _NEAR:
        yield not_supported("spec.trafficDistribution", near, _NEAR)


def _address_causes(spec: Mapping[str, Any], old: Raw | None) -> Iterator[Cause]:
    kind, address = spec.get("type"), spec.get("clusterIP")
    at, before = "spec.clusterIPs[0]", look(old, "spec") or {}
    if kind == "ExternalName":
        for name in _NO_ADDRESS:
            if spec.get(name) or (name == "clusterIPs" and address):
                yield forbidden(f"spec.{name}", "may not be set for ExternalName services")
        return
    if address == "None" and kind in ("NodePort", "LoadBalancer"):
        yield invalid(at, address, f"may not be set to 'None' for {kind} services")
        found = []
    else:
        found = list(_own_address_causes(spec))
        yield from found
    if before and not found:
        yield from _family_causes(spec, before)
        if before.get("clusterIP") and address != before["clusterIP"]:
            yield invalid(at, spec.get("clusterIPs") or [], "may not change once set")


def _family_causes(spec: Mapping[str, Any], before: Mapping[str, Any]) -> Iterator[Cause]:
    """What is wrong with other families than before, in a cluster whose addresses are of one."""
    families, policy = spec.get("ipFamilies") or [], spec.get("ipFamilyPolicy")
    had = before.get("ipFamilies") or []
    if (families, policy) == (had, before.get("ipFamilyPolicy")):
        return
    at = "spec.ipFamilyPolicy"
    if len(families) > 1 and policy == "SingleStack":
        words = "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified"
        yield invalid(at, policy, words)
    elif len(families) < len(had) and policy != "SingleStack":
        yield invalid(at, policy, "must be 'SingleStack' to release the secondary IP family")
    elif spec.get("clusterIP") != "None" or spec.get("selector"):
        for index, family in enumerate(families):
            if family == "IPv6":
                yield invalid(f"spec.ipFamilies[{index}]", family, "not configured on this cluster")
        if policy == "RequireDualStack":
            yield invalid(at, policy, "this cluster is not configured for dual-stack services")


def _own_address_causes(spec: Mapping[str, Any]) -> Iterator[Cause]:
    """What is wrong with the addresses of a Service that has some, or none of its own."""
    address, given = spec.get("clusterIP"), spec.get("clusterIPs") or []
    if given and not address:
        yield invalid("spec.clusterIPs", given, "must be empty when `clusterIP` is not specified")
    elif given and given[0] != address:
        yield invalid("spec.clusterIPs", given, "first value must match `clusterIP`")
    families = spec.get("ipFamilies") or ()
    found = []
    for index, text in enumerate(given):
        at = f"spec.clusterIPs[{index}]"
        if text == "None":
            continue
        faults = list(address_faults(text))
        for fault in faults:
            yield invalid(at, text, fault)
        read = None if faults else read_address(text)
        wanted = families[index] if index < len(families) else ""
        if read is not None and wanted in ("IPv4", "IPv6") and wanted != f"IPv{read.version}":
            yield invalid(at, text, f"expected an {wanted} value as indicated by `ipFamilies[{index}]`")
        found += [read.version] if read else []
    if len(found) == len(given) > len(set(found)):
        yield invalid("spec.clusterIPs", given, "may specify no more than one IP for each IP family")


def _port_causes(ports: Any, kind: Any) -> Iterator[Cause]:
    names: set[str] = set()
    taken: set[tuple[Any, Any]] = set()
    outers: set[tuple[Any, Any]] = set()
    for index, port in enumerate(ports):
        at, number, target = f"spec.ports[{index}]", port.get("port"), port.get("targetPort")
        name, protocol, outer = port.get("name") or "", port.get("protocol"), port.get("nodePort")
        if not name and len(ports) > 1:
            yield required(f"{at}.name")
        elif name:
            for fault in label_faults(name):
                yield invalid(f"{at}.name", name, fault)
            if name in names:
                yield duplicate(f"{at}.name", name)
        names.add(name)
        if not number or not 1 <= number <= 65535:
            yield invalid(f"{at}.port", number or 0, PORT_WORDS)
        if protocol not in _PROTOCOLS:
            yield not_supported(f"{at}.protocol", protocol, _PROTOCOLS)
        if isinstance(target, int | None) and not 1 <= (target or 0) <= 65535:
            yield invalid(f"{at}.targetPort", target or 0, PORT_WORDS)
        elif isinstance(target, str):
            for fault in port_name_faults(target):
                yield invalid(f"{at}.targetPort", target, fault)
        for fault in key_faults(port["appProtocol"]) if port.get("appProtocol") is not None else ():
            yield invalid(f"{at}.appProtocol", port["appProtocol"], fault)
        if outer and kind == "ClusterIP":
            yield forbidden(f"{at}.nodePort", "may not be used when `type` is 'ClusterIP'")
        if outer and kind in ("NodePort", "LoadBalancer") and outer not in NODE_PORTS:
            words = "provided port is not in the valid range. The range of valid ports is 30000-32767"
            yield invalid(f"{at}.nodePort", outer, words)
        if outer and kind != "ClusterIP" and (outer, protocol) in outers:
            yield duplicate(f"{at}.nodePort", outer)
        outers.add((outer, protocol))
        if (number, protocol) in taken:
            blank = {"AppProtocol": None, "Port": number, "TargetPort": 0, "NodePort": 0}
            yield duplicate(at, {"Name": "", "Protocol": protocol, **blank})
        taken.add((number, protocol))
