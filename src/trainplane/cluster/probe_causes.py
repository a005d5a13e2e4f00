"""What the API server refuses in probes and in the hooks of containers."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from trainplane.cluster.causes import Cause, forbidden, invalid, not_supported, required

PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_COUNTS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_PORTS = "must be between 1 and 65535, inclusive"
_HEADER = re.compile(r"[-A-Za-z0-9]+\Z")
_HEADER_WORDS = (
    "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for "
    "validation is '[-A-Za-z0-9]+')"
)
_PORT_NAME = re.compile(r"[a-z0-9-]+\Z")
Part = Mapping[str, Any]


def port_name_faults(name: str) -> Iterator[str]:
    """What is wrong with the name of a port."""
    if len(name) > 15:
        yield "must be no more than 15 characters"
    if not _PORT_NAME.match(name):
        yield "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"
    if not re.search("[a-z]", name):
        yield "must contain at least one letter (a-z)"
    if "--" in name:
        yield "must not contain consecutive hyphens"
    if name.startswith("-") or name.endswith("-"):
        yield "must not begin or end with a hyphen"


def probe_causes(probe: Part, at: str, *, kind: str) -> Iterator[Cause]:
    """What is wrong with a probe of a kind that stands at a path."""
    yield from handler_causes(probe, at)
    for name in _COUNTS:
        value = probe.get(name)
        if value is not None and value < 0:
            yield invalid(f"{at}.{name}", value, "must be greater than or equal to 0")
    threshold, grace = probe.get("successThreshold"), probe.get("terminationGracePeriodSeconds")
    if kind != "readinessProbe" and threshold not in (None, 0, 1):
        yield invalid(f"{at}.successThreshold", threshold, "must be 1")
    if grace is not None:
        if kind == "readinessProbe":
            yield invalid(f"{at}.terminationGracePeriodSeconds", grace, "must not be set for readinessProbes")
        if grace <= 0:
            yield invalid(f"{at}.terminationGracePeriodSeconds", grace, "must be greater than 0")


def handler_causes(raw: Part, at: str, *, grace: int | None = None) -> Iterator[Cause]:
    """What is wrong with what a probe or a hook does; `grace` is how long a pod has to end."""
    given = [kind for kind in _HANDLERS if raw.get(kind) is not None]
    if not given:
        yield required(at, "must specify a handler type")
    for kind in given[1:]:
        yield forbidden(f"{at}.{kind}", "may not specify more than 1 handler type")
    for kind in given[:1]:
        where = f"{at}.{kind}"
        if kind == "exec" and not raw["exec"].get("command"):
            yield required(f"{where}.command")
        if kind in ("httpGet", "tcpSocket", "grpc"):
            port = raw[kind].get("port")
            yield from _port(0 if port is None else port, f"{where}.port")
        if kind == "sleep" and grace is not None:
            seconds = raw[kind].get("seconds") or 0
            if not 0 <= seconds <= grace:
                words = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
                yield invalid(where, seconds, words)
        if kind == "httpGet":
            scheme = raw[kind].get("scheme")
            if scheme not in (None, "HTTP", "HTTPS"):
                yield not_supported(f"{where}.scheme", scheme, ("HTTP", "HTTPS"))
            for header in raw[kind].get("httpHeaders") or ():
                if not _HEADER.match(header.get("name") or ""):
                    yield invalid(f"{where}.httpHeaders", header.get("name") or "", _HEADER_WORDS)


def _port(port: Any, at: str) -> Iterator[Cause]:
    if isinstance(port, str):
        for fault in port_name_faults(port):
            yield invalid(at, port, fault)
    elif not 1 <= port <= 65535:
        yield invalid(at, port, _PORTS)
