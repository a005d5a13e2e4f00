"""What the API server refuses in the containers of pods."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from trainplane.api.quantity import QuantityError, parse
from trainplane.api.raw import look
from trainplane.cluster.causes import Cause, duplicate, forbidden, invalid, not_found, not_supported, required
from trainplane.cluster.go_structs import as_go
from trainplane.cluster.names import label_faults, subdomain_faults
from trainplane.cluster.volume_causes import path_faults

_ENV_NAME = re.compile(r"[ -<>-~]+\Z")
_PORT_NAME = re.compile(r"[a-z0-9-]+\Z")
_STANDARD = ("cpu", "memory", "ephemeral-storage")
_FIELD_PATHS = re.compile(
    r"metadata\.(name|namespace|uid|labels|annotations|(labels|annotations)\['[^']+'\])"
    r"|spec\.(nodeName|serviceAccountName)|status\.(hostIPs?|podIPs?)\Z"
)
_RESOURCES = tuple(
    f"{side}.{name}" for side in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory")
)
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_COUNTS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
MOST = 2**31 - 1
Part = Mapping[str, Any]


def container_causes(raw: Part, at: str, *, volumes: list[Any], seen: set[str]) -> Iterator[Cause]:
    """What is wrong with a container that stands at a path; `seen` are the names of those before it."""
    name, image = raw.get("name") or "", raw.get("image") or ""
    if not name:
        yield required(f"{at}.name")
    elif faults := list(label_faults(name)):
        for fault in faults:
            yield invalid(f"{at}.name", name, fault)
    elif name in seen:
        yield duplicate(f"{at}.name", name)
    seen.add(name)
    if not image:
        yield required(f"{at}.image")
    elif image != image.strip():
        yield invalid(f"{at}.image", image, "must not have leading or trailing whitespace")
    for field, known in (
        ("imagePullPolicy", ("Always", "IfNotPresent", "Never")),
        ("terminationMessagePolicy", ("File", "FallbackToLogsOnError")),
    ):
        if raw.get(field) not in (None, *known):
            yield not_supported(f"{at}.{field}", raw[field], known)
    yield from _ports(raw.get("ports") or (), f"{at}.ports")
    yield from _env(raw.get("env") or (), f"{at}.env")
    yield from _env_from(raw.get("envFrom") or (), f"{at}.envFrom")
    yield from _mounts(raw, at, volumes)
    for probe in _PROBES:
        if raw.get(probe) is not None:
            yield from _probe(raw[probe], f"{at}.{probe}", once=probe != "readinessProbe")
    for hook, handler in (raw.get("lifecycle") or {}).items():
        if isinstance(handler, Mapping):
            yield from _handler(handler, f"{at}.lifecycle.{hook}")
    yield from resource_causes(raw.get("resources") or {}, f"{at}.resources")
    yield from _security(raw.get("securityContext") or {}, f"{at}.securityContext")


def _ports(ports: Any, at: str) -> Iterator[Cause]:
    names: set[str] = set()
    for index, port in enumerate(ports):
        where = f"{at}[{index}]"
        name, number, host = port.get("name"), port.get("containerPort"), port.get("hostPort")
        if name:
            for fault in port_name_faults(name):
                yield invalid(f"{where}.name", name, fault)
            if name in names:
                yield duplicate(f"{where}.name", name)
            names.add(name)
        if not number:
            yield required(f"{where}.containerPort")
        elif not 1 <= number <= 65535:
            yield invalid(f"{where}.containerPort", number, "must be between 1 and 65535, inclusive")
        if host and not 1 <= host <= 65535:
            yield invalid(f"{where}.hostPort", host, "must be between 1 and 65535, inclusive")
        if port.get("protocol") not in (None, "TCP", "UDP", "SCTP"):
            yield not_supported(f"{where}.protocol", port["protocol"], ("SCTP", "TCP", "UDP"))


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


def _env(env: Any, at: str) -> Iterator[Cause]:
    for index, each in enumerate(env):
        where = f"{at}[{index}]"
        name, source = each.get("name") or "", each.get("valueFrom")
        if not name:
            yield required(f"{where}.name")
        elif not _ENV_NAME.match(name):
            words = "a valid environment variable name must consist only of printable ASCII characters other than '='"
            yield invalid(f"{where}.name", name, words)
        if source is not None:
            if each.get("value"):
                yield invalid(f"{where}.valueFrom", "", "may not be specified when `value` is not empty")
            yield from _source(source, f"{where}.valueFrom")


def _source(source: Part, at: str) -> Iterator[Cause]:
    if not source:
        kinds = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        yield invalid(at, "", f"must specify one of: {kinds}")
    elif len(source) > 1:
        yield invalid(at, "", "may not have more than one field specified at a time")
    path, resource = look(source, "fieldRef", "fieldPath"), look(source, "resourceFieldRef", "resource")
    if path and not _FIELD_PATHS.match(path):
        words = f"error converting fieldPath: field label not supported: {path}"
        yield invalid(f"{at}.fieldRef.fieldPath", path, words)
    hugepages = str(resource).startswith(("limits.hugepages-", "requests.hugepages-"))
    if resource and resource not in _RESOURCES and not hugepages:
        yield not_supported(f"{at}.resourceFieldRef.resource", resource, _RESOURCES)
    for kind in ("configMapKeyRef", "secretKeyRef"):
        reference = source.get(kind)
        if reference is None:
            continue
        name = reference.get("name") or ""
        for fault in subdomain_faults(name):
            yield invalid(f"{at}.{kind}.name", name, fault)
        if not reference.get("key"):
            yield required(f"{at}.{kind}.key")


def _env_from(sources: Any, at: str) -> Iterator[Cause]:
    for index, each in enumerate(sources):
        given = [kind for kind in ("configMapRef", "secretRef") if each.get(kind) is not None]
        if not given:
            yield invalid(at, "", "must specify one of: `configMapRef` or `secretRef`")
        for kind in given:
            if not each[kind].get("name"):
                yield required(f"{at}[{index}].{kind}.name")


def _mounts(raw: Part, at: str, volumes: list[Any]) -> Iterator[Cause]:
    mounts: set[str] = set()
    for index, mount in enumerate(raw.get("volumeMounts") or ()):
        where = f"{at}.volumeMounts[{index}]"
        if not mount.get("name"):
            yield required(f"{where}.name")
        elif mount["name"] not in volumes:
            yield not_found(f"{where}.name", mount["name"])
        path = mount.get("mountPath") or ""
        if not path:
            yield required(f"{where}.mountPath")
        elif path in mounts:
            yield invalid(f"{where}.mountPath", path, "must be unique")
        mounts.add(path)
        for fault in path_faults(mount.get("subPath") or ""):
            yield invalid(f"{at}.volumeMounts.subPath", mount["subPath"], fault)
    for index, device in enumerate(raw.get("volumeDevices") or ()):
        if device.get("name") and device["name"] not in volumes:
            yield not_found(f"{at}.volumeDevices[{index}].name", device["name"])


def _probe(probe: Part, at: str, *, once: bool) -> Iterator[Cause]:
    yield from _handler(probe, at)
    for name in _COUNTS:
        value = probe.get(name)
        if value is not None and value < 0:
            yield invalid(f"{at}.{name}", value, "must be greater than or equal to 0")
    threshold = probe.get("successThreshold")
    if once and threshold not in (None, 0, 1):
        yield invalid(f"{at}.successThreshold", threshold, "must be 1")


def _handler(raw: Part, at: str) -> Iterator[Cause]:
    given = [kind for kind in _HANDLERS if raw.get(kind) is not None]
    if not given:
        yield required(at, "must specify a handler type")
    for kind in given[1:]:
        yield forbidden(f"{at}.{kind}", "may not specify more than 1 handler type")
    for kind in given[:1]:
        if kind == "exec" and not raw["exec"].get("command"):
            yield required(f"{at}.exec.command")
        port = raw[kind].get("port") if kind in ("httpGet", "tcpSocket") else None
        if isinstance(port, int) and not 1 <= port <= 65535:
            yield invalid(f"{at}.{kind}.port", port, "must be between 1 and 65535, inclusive")
        elif isinstance(port, str):
            for fault in port_name_faults(port):
                yield invalid(f"{at}.{kind}.port", port, fault)


def _security(raw: Part, at: str) -> Iterator[Cause]:
    for name in ("runAsUser", "runAsGroup"):
        value = raw.get(name)
        if value is not None and not 0 <= value <= MOST:
            yield invalid(f"{at}.{name}", value, f"must be between 0 and {MOST}, inclusive")
    if raw.get("allowPrivilegeEscalation") is False and raw.get("privileged"):
        shown = as_go(raw, "SecurityContext")
        yield invalid(at, shown, "cannot set `allowPrivilegeEscalation` to false and `privileged` to true")


def resource_causes(resources: Part, at: str) -> Iterator[Cause]:
    """What is wrong with requests and limits that stand at a path."""
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for part, amounts in (("limits", limits), ("requests", requests)):
        for name, amount in amounts.items():
            where = f"{at}.{part}[{name}]"
            if "/" not in name and name not in _STANDARD and not name.startswith("hugepages-"):
                yield invalid(where, name, "must be a standard resource type or fully qualified")
                yield invalid(where, name, "must be a standard resource for containers")
            elif _amount(amount) < parse(0):
                yield invalid(where, str(amount), "must be greater than or equal to 0")
            elif "/" in name and _amount(amount).nano % 10**9:
                yield invalid(where, str(_amount(amount)), "must be an integer")
    for name, amount in requests.items():
        limit = limits.get(name)
        if limit is None:
            if "/" in name and not name.startswith("kubernetes.io/"):
                yield required(f"{at}.limits", "Limit must be set for non overcommitable resources")
        elif "/" in name and _amount(amount) != _amount(limit):
            yield invalid(f"{at}.requests", str(amount), f"must be equal to {name} limit of {limit}")
        elif _amount(amount) > _amount(limit):
            yield invalid(f"{at}.requests", str(amount), f"must be less than or equal to {name} limit of {limit}")


def _amount(text: Any) -> Any:
    try:
        return parse(text)
    except QuantityError:
        return parse(0)
