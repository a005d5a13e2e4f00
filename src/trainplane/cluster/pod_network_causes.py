"""What the API server refuses in what pods say of their names and of how they find those of others."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from trainplane.api.raw import look
from trainplane.cluster.addresses import address_faults
from trainplane.cluster.causes import Cause, forbidden, invalid, not_supported, required, too_long
from trainplane.cluster.names import label_faults, subdomain_faults

_SEARCH_FORM = r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*"
_SEARCH = re.compile(rf"{_SEARCH_FORM}\Z")
_SEARCH_WORDS = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must "
    f"start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SEARCH_FORM}')"
)
_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_MOST_SERVERS = 3
_MOST_SEARCHES = 32
_LONGEST_SEARCHES = 2048
_LONGEST_HOSTNAME = 64
Spec = Mapping[str, Any]


def network_causes(spec: Spec, at: str) -> Iterator[Cause]:
    """What is wrong with a pod's spec that stands at a path."""
    for name in ("hostname", "subdomain"):
        if text := spec.get(name):
            for fault in label_faults(text):
                yield invalid(f"{at}.{name}", text, fault)
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        where, address = f"{at}.hostAliases[{index}]", alias.get("ip") or ""
        for fault in address_faults(address):
            yield invalid(f"{where}.ip", address, fault)
        for number, name in enumerate(alias.get("hostnames") or ()):
            for fault in subdomain_faults(name):
                yield invalid(f"{where}.hostnames[{number}]", name, fault)
    if spec.get("hostnameOverride") is not None:
        yield from _override_causes(spec, f"{at}.hostnameOverride")
    policy = spec.get("dnsPolicy")
    if policy not in (None, *_POLICIES):
        yield not_supported(f"{at}.dnsPolicy", policy, _POLICIES)
    if policy == "None" or spec.get("dnsConfig"):
        yield from _dns_causes(spec, f"{at}.dnsConfig")
    if spec.get("hostNetwork"):
        yield from _host_port_causes(spec, at)


def _override_causes(spec: Spec, at: str) -> Iterator[Cause]:
    name = spec["hostnameOverride"]
    for fault in subdomain_faults(name):
        yield invalid(at, name, fault)
    if len(name) > _LONGEST_HOSTNAME:
        yield too_long(at, _LONGEST_HOSTNAME)
    if spec.get("hostNetwork"):
        yield forbidden(at, "may not be specified when hostNetwork is true")
    if spec.get("setHostnameAsFQDN"):
        yield forbidden(at, "may not be specified when setHostnameAsFQDN is true")


def _dns_causes(spec: Spec, at: str) -> Iterator[Cause]:
    config = spec.get("dnsConfig")
    if spec.get("dnsPolicy") == "None":
        if config is None:
            yield required(at, "must provide `dnsConfig` when `dnsPolicy` is None")
        elif not config.get("nameservers"):
            words = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            yield required(f"{at}.nameservers", words)
    servers, searches = look(config, "nameservers") or [], look(config, "searches") or []
    if len(servers) > _MOST_SERVERS:
        yield invalid(f"{at}.nameservers", servers, f"must not have more than {_MOST_SERVERS} nameservers")
    for index, server in enumerate(servers):
        for fault in address_faults(server):
            yield invalid(f"{at}.nameservers[{index}]", server, fault)
    if len(searches) > _MOST_SEARCHES:
        yield invalid(f"{at}.searches", searches, f"must not have more than {_MOST_SEARCHES} search paths")
    if len(" ".join(searches)) > _LONGEST_SEARCHES:
        words = f"must not have more than {_LONGEST_SEARCHES} characters (including spaces) in the search list"
        yield invalid(f"{at}.searches", searches, words)
    for index, text in enumerate(searches):
        name = text.removesuffix(".")
        if text != "." and len(name) > 253:
            yield invalid(f"{at}.searches[{index}]", name, "must be no more than 253 characters")
        if text != "." and not _SEARCH.match(name):
            yield invalid(f"{at}.searches[{index}]", name, _SEARCH_WORDS)
    for index, option in enumerate(look(config, "options") or ()):
        if not option.get("name"):
            yield required(f"{at}.options[{index}]", "must not be empty")


def _host_port_causes(spec: Spec, at: str) -> Iterator[Cause]:
    for kind in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(kind) or ()):
            for number, port in enumerate(container.get("ports") or ()):
                outer = port.get("hostPort")
                if outer and outer != port.get("containerPort"):
                    where = f"{at}.{kind}[{index}].ports[{number}].hostPort"
                    yield invalid(where, outer, "must match `containerPort` when `hostNetwork` is true")
