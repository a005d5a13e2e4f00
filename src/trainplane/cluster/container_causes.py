"""What the API server refuses in the containers of pods."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from trainplane.cluster.causes import Cause, duplicate, forbidden, invalid, not_found, not_supported, required, too_many
from trainplane.cluster.env_causes import env_causes, env_from_causes
from trainplane.cluster.names import entry_name_causes
from trainplane.cluster.paths import path_faults
from trainplane.cluster.probe_causes import PROBES, handler_causes, port_name_faults, probe_causes
from trainplane.cluster.resource_causes import resource_causes
from trainplane.cluster.security_causes import container_context_causes

_MOUNT_WORDS = {
    "mountPropagation": ("Bidirectional", "HostToContainer", "None"),
    "recursiveReadOnly": ("Disabled", "Enabled", "IfPossible"),
}
_RESTARTS = ("Always", "Never", "OnFailure")
_RULE_ACTIONS = ("Restart", "RestartAllContainers")
_MOST_RULES = 20
_MOST_CODES = 255
_RESIZES = ("NotRequired", "RestartContainer")
Part = Mapping[str, Any]


class Around(msgspec.Struct):
    """What a container is judged beside: the pod's volumes by name, its claims and policies, and names in use."""

    volumes: Mapping[str, Part]
    claims: Sequence[str] = ()
    grace: int | None = None
    restart: str = "Always"
    seen: set[str] = msgspec.field(default_factory=set)


def container_causes(raw: Part, at: str, around: Around) -> Iterator[Cause]:
    """What is wrong with a container that stands at a path."""
    seen = around.seen
    name, image = raw.get("name") or "", raw.get("image") or ""
    yield from entry_name_causes(name, f"{at}.name", seen)
    seen.add(name)
    if not image:
        yield required(f"{at}.image")
    elif image != image.strip() and ".template." not in at:  # of a template's, only the pods are refused
        yield invalid(f"{at}.image", image, "must not have leading or trailing whitespace")
    for field, known in (
        ("imagePullPolicy", ("Always", "IfNotPresent", "Never")),
        ("terminationMessagePolicy", ("File", "FallbackToLogsOnError")),
    ):
        if raw.get(field) not in (None, *known):
            yield not_supported(f"{at}.{field}", raw[field], known)
    yield from _ports(raw.get("ports") or (), f"{at}.ports")
    yield from env_causes(raw.get("env") or (), f"{at}.env", volumes=around.volumes)
    yield from env_from_causes(raw.get("envFrom") or (), f"{at}.envFrom")
    yield from _mounts(raw, at, around.volumes)
    for probe in PROBES:
        if raw.get(probe) is not None:
            yield from probe_causes(raw[probe], f"{at}.{probe}", kind=probe)
    for hook, handler in (raw.get("lifecycle") or {}).items():
        if isinstance(handler, Mapping):
            yield from handler_causes(handler, f"{at}.lifecycle.{hook}", grace=around.grace)
    yield from _restart(raw, at, around)
    yield from resource_causes(raw.get("resources") or {}, f"{at}.resources", claims=around.claims)
    yield from container_context_causes(raw.get("securityContext") or {}, f"{at}.securityContext")


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


def _mounts(raw: Part, at: str, volumes: Mapping[str, Part]) -> Iterator[Cause]:
    mounts: set[str] = set()
    given = raw.get("volumeMounts") or ()
    for index, mount in enumerate(given):
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
        for field in ("subPath", "subPathExpr"):
            for fault in path_faults(mount.get(field) or ""):
                yield invalid(f"{at}.volumeMounts.{field}", mount[field], fault)
        yield from _mount_causes(mount, at, where, raw)
    yield from _devices(raw, at, volumes, {mount.get("name"): mount.get("mountPath") for mount in given})


def _mount_causes(mount: Part, at: str, where: str, raw: Part) -> Iterator[Cause]:
    """What is wrong with how a volume is mounted, beside other things that its container says."""
    if mount.get("subPath") and mount.get("subPathExpr"):
        words = "subPathExpr and subPath are mutually exclusive"
        yield invalid(f"{where}.subPathExpr", mount["subPathExpr"], words)
    devices = raw.get("volumeDevices") or ()
    if any(mount.get("name") == each.get("name") for each in devices):
        yield invalid(f"{where}.name", mount["name"], "must not already exist in volumeDevices")
    if any(mount.get("mountPath") == each.get("devicePath") for each in devices):
        yield invalid(f"{where}.mountPath", mount["mountPath"], "must not already exist as a path in volumeDevices")
    spread, read = mount.get("mountPropagation"), mount.get("recursiveReadOnly")
    if spread == "Bidirectional" and not (raw.get("securityContext") or {}).get("privileged"):
        words = "Bidirectional mount propagation is available only to privileged containers"
        yield forbidden(f"{at}.volumeMounts.mountPropagation", words)
    if read in ("Enabled", "IfPossible"):
        if not mount.get("readOnly"):
            yield forbidden(f"{at}.volumeMounts.recursiveReadOnly", "may only be specified when readOnly is true")
        if spread not in (None, "None"):
            words = "may only be specified when mountPropagation is None or not specified"
            yield forbidden(f"{at}.volumeMounts.recursiveReadOnly", words)


def _devices(raw: Part, at: str, volumes: Mapping[str, Part], mounted: Part) -> Iterator[Cause]:
    """What is wrong with the volumes that a container has as devices, beside those that it has mounted."""
    names: set[str] = set()
    paths: set[str] = set()
    for index, device in enumerate(raw.get("volumeDevices") or ()):
        where, name, path = f"{at}.volumeDevices[{index}]", device.get("name") or "", device.get("devicePath") or ""
        if not name:
            yield required(f"{where}.name")
        if name in names:
            yield invalid(f"{where}.name", name, "must be unique")
        if name not in volumes:
            yield not_found(f"{where}.name", name)
        elif not volumes[name].keys() & {"persistentVolumeClaim", "ephemeral"}:
            words = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            yield invalid(f"{where}.name", name, words)
        if not path:
            yield required(f"{where}.devicePath")
        elif path in paths:
            yield invalid(f"{where}.devicePath", path, "must be unique")
        if ".." in path.split("/"):
            yield invalid(f"{where}.devicePath", path, "can not contain backsteps ('..')")
        elif path and path in mounted.values():
            yield invalid(f"{where}.devicePath", path, "must not already exist as a path in volumeMounts")
        if name and name in mounted:
            yield invalid(f"{where}.name", name, "must not already exist in volumeMounts")
        names.add(name)
        paths.add(path)


def _restart(raw: Part, at: str, around: Around) -> Iterator[Cause]:
    """What is wrong with how a container is started again by itself."""
    policy = raw.get("restartPolicy")
    if policy is not None and policy not in _RESTARTS:
        yield not_supported(f"{at}.restartPolicy", policy, _RESTARTS)
    rules = raw.get("restartPolicyRules") or ()
    if rules and policy is None:
        yield required(f"{at}.restartPolicy", "must specify restartPolicy when restart rules are used")
    if len(rules) > _MOST_RULES:
        yield too_many(f"{at}.restartPolicyRules", len(rules), _MOST_RULES)
    for index, rule in enumerate(rules):
        where, codes = f"{at}.restartPolicyRules[{index}]", rule.get("exitCodes")
        if rule.get("action") not in _RULE_ACTIONS:
            yield not_supported(f"{where}.action", rule.get("action") or "", _RULE_ACTIONS)
        if codes is None:
            yield required(f"{where}.exitCodes", "must be specified")
            continue
        if codes.get("operator") not in ("In", "NotIn"):
            yield not_supported(f"{where}.exitCodes.operator", codes.get("operator") or "", ("In", "NotIn"))
        if len(codes.get("values") or ()) > _MOST_CODES:
            yield too_many(f"{where}.exitCodes.values", len(codes["values"]), _MOST_CODES)
    resized: set[Any] = set()
    for index, rule in enumerate(raw.get("resizePolicy") or ()):
        if rule.get("resourceName") in resized:
            yield duplicate(f"{at}.resizePolicy[{index}]", rule["resourceName"])
        resized.add(rule.get("resourceName"))
        for name, known in (("resourceName", ("cpu", "memory")), ("restartPolicy", _RESIZES)):
            if not rule.get(name):
                yield required(f"{at}.resizePolicy")
            elif rule[name] not in known:
                yield not_supported(f"{at}.resizePolicy", rule[name], known)
        if around.restart == "Never" and rule.get("restartPolicy") == "RestartContainer":
            words = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            yield invalid(f"{at}.resizePolicy", rule["restartPolicy"], words)
