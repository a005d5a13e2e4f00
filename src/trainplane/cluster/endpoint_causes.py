"""What the API server refuses in Endpoints and EndpointSlices."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from trainplane.api.meta import Raw
from trainplane.cluster.addresses import address_faults, place_faults, read_address
from trainplane.cluster.causes import Cause, duplicate, invalid, not_supported, required
from trainplane.cluster.names import key_faults, label_faults, subdomain_faults, value_faults

PORT_WORDS = "must be between 1 and 65535, inclusive"
PROTOCOLS = ("SCTP", "TCP", "UDP")
_ADDRESS_TYPES = ("FQDN", "IPv4", "IPv6")


def faulty(at: str, value: Any, faults: Callable[[str], Iterable[str]]) -> Iterator[Cause]:
    """What is wrong with a text, if there is one."""
    if value is not None:
        for fault in faults(value):
            yield invalid(at, value, fault)


def endpoints_causes(new: Raw, _: Raw | None, __: str) -> Iterator[Cause]:
    """What is wrong with an Endpoints object."""
    for index, subset in enumerate(new.get("subsets") or ()):
        at = f"subsets[{index}]"
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            yield required(at, "must specify `addresses` or `notReadyAddresses`")
        for name in ("addresses", "notReadyAddresses"):
            for number, address in enumerate(subset.get(name) or ()):
                yield from _endpoint_address(address, f"{at}.{name}[{number}]")
        ports = subset.get("ports") or ()
        for number, port in enumerate(ports):
            where = f"{at}.ports[{number}]"
            if len(ports) > 1 and not port.get("name"):
                yield required(f"{where}.name")
            elif port.get("name"):
                yield from faulty(f"{where}.name", port["name"], label_faults)
            number_given = port.get("port") or 0
            if not 1 <= number_given <= 65535:
                yield invalid(f"{where}.port", number_given, PORT_WORDS)
            if port.get("protocol", "TCP") not in PROTOCOLS:
                yield not_supported(f"{where}.protocol", port["protocol"], PROTOCOLS)
            yield from faulty(f"{where}.appProtocol", port.get("appProtocol"), key_faults)


def _endpoint_address(address: Mapping[str, Any], at: str) -> Iterator[Cause]:
    text = address.get("ip") or ""
    yield from faulty(f"{at}.ip", text, address_faults)
    if read_address(text) is None:
        # The second of the API server's two looks at an address knows no examples.
        yield invalid(f"{at}.ip", text, "must be a valid IP address")
    yield from faulty(f"{at}.ip", text, place_faults)
    if address.get("hostname"):
        yield from faulty(f"{at}.hostname", address["hostname"], label_faults)
    yield from faulty(f"{at}.nodeName", address.get("nodeName"), subdomain_faults)


def slice_causes(new: Raw, old: Raw | None, _: str) -> Iterator[Cause]:
    """What is wrong with an EndpointSlice, by itself and against what it was."""
    kind = new.get("addressType") or ""
    if not kind:
        yield required("addressType")
    elif kind not in _ADDRESS_TYPES:
        yield not_supported("addressType", kind, _ADDRESS_TYPES)
    if old is not None and kind != old.get("addressType"):
        yield invalid("addressType", kind, "field is immutable")
    for index, endpoint in enumerate(new.get("endpoints") or ()):
        yield from _endpoint(endpoint, f"endpoints[{index}]", kind)
    names: set[str] = set()
    for index, port in enumerate(new.get("ports") or ()):
        yield from _slice_port(port, f"ports[{index}]", names)


def _endpoint(endpoint: Mapping[str, Any], at: str, kind: str) -> Iterator[Cause]:
    addresses = endpoint.get("addresses") or ()
    if not addresses:
        yield required(f"{at}.addresses", "must contain at least 1 address")
    for number, address in enumerate(addresses):
        where = f"{at}.addresses[{number}]"
        if kind == "FQDN":
            yield from _domain(address, where)
        elif kind in ("IPv4", "IPv6"):
            yield from faulty(where, address, address_faults)
            yield from faulty(where, address, place_faults)
            found = read_address(address)
            if found is not None and f"IPv{found.version}" != kind and ":ffff:" not in address:
                yield invalid(f"{at}.addresses", address, f"must be an {kind} address")
    yield from faulty(f"{at}.hostname", endpoint.get("hostname"), label_faults)
    yield from faulty(f"{at}.nodeName", endpoint.get("nodeName"), subdomain_faults)
    hints = endpoint.get("hints") or {}
    for name in ("forNodes", "forZones"):
        seen: set[Any] = set()
        for number, each in enumerate(hints.get(name) or ()):
            if each.get("name") in seen:
                yield duplicate(f"{at}.hints.{name}[{number}].name", each["name"])
            seen.add(each.get("name"))
    for number, node in enumerate(hints.get("forNodes") or ()):
        yield from faulty(f"{at}.hints.forNodes[{number}].name", node.get("name") or "", subdomain_faults)
    for number, zone in enumerate(hints.get("forZones") or ()):
        yield from faulty(f"{at}.hints.forZones[{number}].name", zone.get("name") or "", value_faults)


def _domain(name: str, at: str) -> Iterator[Cause]:
    """What is wrong with a domain with all its parts."""
    if not name:
        yield required(at)
        return
    name = name.removesuffix(".")
    faults = list(subdomain_faults(name))
    for fault in faults:
        yield invalid(at, name, fault)
    if not faults and "." not in name:
        yield invalid(at, name, "should be a domain with at least two segments separated by dots")


def _slice_port(port: Mapping[str, Any], at: str, names: set[str]) -> Iterator[Cause]:
    name = port.get("name") or ""
    if name in names:
        yield duplicate(f"{at}.name", name)
    names.add(name)
    if name:
        yield from faulty(f"{at}.name", name, label_faults)
    if port.get("protocol", "TCP") not in PROTOCOLS:
        yield not_supported(f"{at}.protocol", port["protocol"], PROTOCOLS)
    yield from faulty(f"{at}.appProtocol", port.get("appProtocol"), key_faults)
