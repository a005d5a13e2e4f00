"""What the API server refuses in the containers of pods."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from trainplane.api.quantity import QuantityError, parse
from trainplane.api.raw import look
from trainplane.cluster.causes import Cause, duplicate, forbidden, invalid, not_found, not_supported, required
from trainplane.cluster.go_structs import as_go
from trainplane.cluster.names import label_faults, subdomain_faults
from trainplane.cluster.probe_causes import PROBES, handler_causes, port_name_faults, probe_causes
from trainplane.cluster.security_causes import profile_causes
from trainplane.cluster.volume_causes import path_faults

_ENV_NAME = re.compile(r"[ -<>-~]+\Z")
_STANDARD = ("cpu", "memory", "ephemeral-storage")
_FIELD_PATHS = re.compile(
    r"metadata\.(name|namespace|uid|labels|annotations|(labels|annotations)\['[^']+'\])"
    r"|spec\.(nodeName|serviceAccountName)|status\.(hostIPs?|podIPs?)\Z"
)
_RESOURCES = tuple(
    f"{side}.{name}" for side in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory")
)
_MOUNT_WORDS = {
    "mountPropagation": ("Bidirectional", "HostToContainer", "None"),
    "recursiveReadOnly": ("Disabled", "Enabled", "IfPossible"),
}
_RESTARTS = ("Always", "Never", "OnFailure")
_RULE_ACTIONS = ("Restart", "RestartAllContainers")
_RESIZES = ("NotRequired", "RestartContainer")
CONFIG_KEY = re.compile(r"[-._a-zA-Z0-9]+\Z")
CONFIG_KEY_WORDS = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
    "'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
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
    for probe in PROBES:
        if raw.get(probe) is not None:
            yield from probe_causes(raw[probe], f"{at}.{probe}", kind=probe)
    for hook, handler in (raw.get("lifecycle") or {}).items():
        if isinstance(handler, Mapping):
            yield from handler_causes(handler, f"{at}.lifecycle.{hook}")
    yield from _restart(raw, at)
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
    if source.get("fieldRef") is not None and not path:
        yield required(f"{at}.fieldRef.fieldPath")
    if source.get("resourceFieldRef") is not None and not resource:
        yield required(f"{at}.resourceFieldRef.resource")
    if path and not _FIELD_PATHS.match(path):
        words = f"error converting fieldPath: field label not supported: {path}"
        yield invalid(f"{at}.fieldRef.fieldPath", path, words)
    hugepages = str(resource).startswith(("limits.hugepages-", "requests.hugepages-"))
    if resource and resource not in _RESOURCES and not hugepages:
        yield not_supported(f"{at}.resourceFieldRef.resource", resource, _RESOURCES)
    if source.get("fileKeyRef") is not None:
        for name in ("volumeName", "path", "key"):
            if not source["fileKeyRef"].get(name):
                yield required(f"{at}.fileKeyRef.{name}")
    for kind in ("configMapKeyRef", "secretKeyRef"):
        reference = source.get(kind)
        if reference is None:
            continue
        name = reference.get("name") or ""
        for fault in subdomain_faults(name):
            yield invalid(f"{at}.{kind}.name", name, fault)
        yield from _key(reference.get("key") or "", f"{at}.{kind}.key")


def _key(key: str, at: str) -> Iterator[Cause]:
    if not key:
        yield required(at)
    elif not CONFIG_KEY.match(key):
        yield invalid(at, key, CONFIG_KEY_WORDS)


def _env_from(sources: Any, at: str) -> Iterator[Cause]:
    for index, each in enumerate(sources):
        given = [kind for kind in ("configMapRef", "secretRef") if each.get(kind) is not None]
        if not given:
            yield invalid(at, "", "must specify one of: `configMapRef` or `secretRef`")
        for kind in given:
            name = each[kind].get("name") or ""
            if not name:
                yield required(f"{at}[{index}].{kind}.name")
            for fault in subdomain_faults(name) if name else ():
                yield invalid(f"{at}[{index}].{kind}.name", name, fault)


def _mounts(raw: Part, at: str, volumes: list[Any]) -> Iterator[Cause]:
    mounts: set[str] = set()
    for index, mount in enumerate(raw.get("volumeMounts") or ()):
        where = f"{at}.volumeMounts[{index}]"
        name = mount.get("name") or ""
        if not name:
            yield required(f"{where}.name")
        if name not in volumes:
            yield not_found(f"{where}.name", name)
        for field, known in _MOUNT_WORDS.items():
            if mount.get(field) not in (None, *known):
                yield not_supported(f"{at}.volumeMounts.{field}", mount[field], known)
        path = mount.get("mountPath") or ""
        if not path:
            yield required(f"{where}.mountPath")
        elif path in mounts:
            yield invalid(f"{where}.mountPath", path, "must be unique")
        mounts.add(path)
        for fault in path_faults(mount.get("subPath") or ""):
            yield invalid(f"{at}.volumeMounts.subPath", mount["subPath"], fault)
    for index, device in enumerate(raw.get("volumeDevices") or ()):
        where, name = f"{at}.volumeDevices[{index}]", device.get("name") or ""
        if not name:
            yield required(f"{where}.name")
        if name not in volumes:
            yield not_found(f"{where}.name", name)
        if not device.get("devicePath"):
            yield required(f"{where}.devicePath")


def _restart(raw: Part, at: str) -> Iterator[Cause]:
    """What is wrong with how a container is started again by itself."""
    policy = raw.get("restartPolicy")
    if policy is not None and policy not in _RESTARTS:
        yield not_supported(f"{at}.restartPolicy", policy, _RESTARTS)
    rules = raw.get("restartPolicyRules") or ()
    if rules and policy is None:
        yield required(f"{at}.restartPolicy", "must specify restartPolicy when restart rules are used")
    for index, rule in enumerate(rules):
        where, codes = f"{at}.restartPolicyRules[{index}]", rule.get("exitCodes")
        if rule.get("action") not in _RULE_ACTIONS:
            yield not_supported(f"{where}.action", rule.get("action") or "", _RULE_ACTIONS)
        if codes is None:
            yield required(f"{where}.exitCodes", "must be specified")
        elif codes.get("operator") not in ("In", "NotIn"):
            yield not_supported(f"{where}.exitCodes.operator", codes.get("operator") or "", ("In", "NotIn"))
    for rule in raw.get("resizePolicy") or ():
        for name, known in (("resourceName", ("cpu", "memory")), ("restartPolicy", _RESIZES)):
            if not rule.get(name):
                yield required(f"{at}.resizePolicy")
            elif rule[name] not in known:
                yield not_supported(f"{at}.resizePolicy", rule[name], known)


def _security(raw: Part, at: str) -> Iterator[Cause]:
    for name in ("runAsUser", "runAsGroup"):
        value = raw.get(name)
        if value is not None and not 0 <= value <= MOST:
            yield invalid(f"{at}.{name}", value, f"must be between 0 and {MOST}, inclusive")
    yield from profile_causes(raw, at)
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
    given = {*limits, *requests}
    if any(name.startswith("hugepages-") for name in given) and not given & {"cpu", "memory"}:
        yield forbidden(at, "HugePages require cpu or memory")
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
