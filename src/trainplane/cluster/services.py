"""What a Service is given when it is made or changes: its addresses, their families, and ports of the nodes.

What goes with one type goes when the type does, unless the same change says otherwise of it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from trainplane.api.meta import Raw

NODE_PORTS = range(30_000, 32_768)
_NETWORK = "10.96."
"""Addresses of services are of 10.96.0.0/16, as kubeadm's are."""
_ADDRESSES = 65_000
_FAMILIES: Raw = {"ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack"}
_ALL_FAMILIES: Raw = {"ipFamilies": ["IPv4", "IPv6"], "ipFamilyPolicy": "RequireDualStack"}
"""Those of a Service that has neither an address nor pods of its own."""
_ADDRESSED = ("clusterIP", "clusterIPs")
_OUTSIDE = ("NodePort", "LoadBalancer")
"""The types that have ports of the nodes."""
_BALANCED = ("allocateLoadBalancerNodePorts", "loadBalancerClass")


def new_service(raw: Raw, place: Callable[[int], int]) -> Raw:
    """A new Service; `place` picks a number below the one that it is given."""
    spec = dict(raw["spec"])
    if spec.get("type") != "ExternalName":
        _address(spec, place)
        if _has_node_ports(spec):
            spec["ports"] = [
                {**port, "nodePort": port.get("nodePort") or NODE_PORTS[place(2_767)]}
                for port in spec.get("ports") or ()
            ]
        if _is_checked(spec) and not spec.get("healthCheckNodePort"):
            spec["healthCheckNodePort"] = NODE_PORTS[place(2_767)]
    return {**raw, "spec": spec, "status": {"loadBalancer": {}}}


def changed_service(new: Raw, old: Raw) -> Raw:
    """A Service that changed, with what it keeps of the old one and without what its type has no use for."""
    spec, before = dict(new.get("spec") or {}), old.get("spec") or {}
    _release(spec, before)
    if spec.get("type") != "ExternalName":
        for name in (*_ADDRESSED, *_FAMILIES):
            if not spec.get(name) and name in before:
                spec[name] = before[name]
        if spec.get("clusterIP") != before.get("clusterIP") and spec.get("clusterIPs") == before.get("clusterIPs"):
            # Who knows one address alone means the first of them.
            spec["clusterIPs"] = [spec.get("clusterIP"), *(spec.get("clusterIPs") or ())[1:]]
        # Its own number, so that a change which is tried again comes to the same address.
        _address(spec, lambda size: int(old["metadata"]["uid"][:8], 16) % size)
    if spec.get("type") in _OUTSIDE:
        spec["ports"] = _with_node_ports(spec.get("ports") or (), before.get("ports") or ())
        if _is_checked(spec) and not spec.get("healthCheckNodePort"):
            kept = before.get("healthCheckNodePort")
            spec["healthCheckNodePort"] = kept or _free(spec["ports"], before.get("ports") or ())
    elif not spec.get("externalIPs") and spec.get("externalTrafficPolicy") == before.get("externalTrafficPolicy"):
        # What goes with being reached from outside goes with it.
        spec.pop("externalTrafficPolicy", None)
    return {**new, "spec": spec}


def _address(spec: Raw, place: Callable[[int], int]) -> None:
    """Give the Service an address, if it has none and is not to have none."""
    if not spec.get("clusterIP") and not spec.get("clusterIPs"):
        number = place(_ADDRESSES) + 256
        spec["clusterIP"] = f"{_NETWORK}{number // 256}.{number % 256}"
    spec["clusterIPs"] = spec.get("clusterIPs") or [spec["clusterIP"]]
    families = _FAMILIES if spec.get("clusterIP") != "None" or spec.get("selector") else _ALL_FAMILIES
    spec |= {name: given for name, given in families.items() if spec.get(name) in (None, [])}


def _release(spec: Raw, before: Raw) -> None:
    """Take from the Service what only its old type had use for, where it is as it was."""
    kind, was = spec.get("type"), before.get("type")
    gone: list[str] = []
    if kind == "ExternalName":
        if spec.get("internalTrafficPolicy") in ("Cluster", "Local"):
            del spec["internalTrafficPolicy"]
        if was != "ExternalName":
            # Who takes one of the addresses away means both.
            same = all(spec.get(name) in (None, "", [], before.get(name)) for name in _ADDRESSED)
            gone += [*(_ADDRESSED if same else ()), *_FAMILIES]
    if was == "LoadBalancer" and kind != was:
        gone += _BALANCED
    if _is_checked(before) and not _is_checked(spec):
        gone.append("healthCheckNodePort")
    for name in gone:
        if name in _ADDRESSED or spec.get(name) == before.get(name):
            spec.pop(name, None)
    if was in _OUTSIDE and kind not in _OUTSIDE and spec.get("ports"):
        spec["ports"] = _without_node_ports(spec["ports"], before.get("ports") or ())


def _without_node_ports(ports: list[Raw], before: Sequence[Raw]) -> list[Raw]:
    if [port.get("nodePort") for port in ports] != [port.get("nodePort") for port in before]:
        return ports
    return [{name: item for name, item in port.items() if name != "nodePort"} for port in ports]


def _has_node_ports(spec: Raw) -> bool:
    balanced = spec["type"] == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is not False
    return spec["type"] == "NodePort" or balanced


def _is_checked(spec: Raw) -> bool:
    """Whether somebody outside asks the nodes whether pods of the Service are there."""
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def _with_node_ports(ports: Sequence[Raw], before: Sequence[Raw]) -> list[Raw]:
    """The ports with a number on the nodes: the one that they had, or one that none of them has."""
    kept = {(port.get("protocol"), port.get("port")): port.get("nodePort") for port in before}
    free = _unused((*ports, *before))
    return [
        {
            **port,
            "nodePort": port.get("nodePort") or kept.pop((port.get("protocol"), port.get("port")), None) or next(free),
        }
        for port in ports
    ]


def _free(*ports: Sequence[Raw]) -> int:
    return next(_unused([port for each in ports for port in each]))


def _unused(ports: Iterable[Raw]) -> Iterator[int]:
    taken = {port.get("nodePort") for port in ports}
    return (number for number in NODE_PORTS if number not in taken)
