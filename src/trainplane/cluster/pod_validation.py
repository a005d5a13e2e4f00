"""What the API server refuses in pods and in the templates of pods."""

import json
import re
from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from typing import Any

from trainplane.api.meta import Raw
from trainplane.api.quantity import QuantityError, parse
from trainplane.api.raw import look
from trainplane.cluster.causes import Cause, duplicate, forbidden, invalid, not_found, not_supported, required
from trainplane.cluster.go_structs import difference
from trainplane.cluster.names import key_faults, label_faults, value_faults

_ENV_NAME = re.compile(r"[ -<>-~]+\Z")
_STANDARD = ("cpu", "memory", "ephemeral-storage")
_UPDATE = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_FIELD_PATHS = re.compile(
    r"metadata\.(name|namespace|uid|labels|annotations|(labels|annotations)\['[^']+'\])"
    r"|spec\.(nodeName|serviceAccountName)|status\.(hostIPs?|podIPs?)\Z"
)
_MOST = 2**31 - 1


def pod_causes(new: Raw, old: Raw | None, subresource: str) -> Iterator[Cause]:
    """What is wrong with a pod, by itself and against what it was."""
    spec = new.get("spec") or {}
    if subresource in ("binding", "eviction"):
        return
    if subresource == "status":
        yield from _status_causes(new.get("status") or {})
        return
    if old is not None and spec is old.get("spec"):
        return
    yield from spec_causes(spec, "spec")
    if old is None:
        if spec.get("ephemeralContainers"):
            yield forbidden("spec.ephemeralContainers", "cannot be set on create")
    else:
        yield from _change_causes(spec, old.get("spec") or {}, subresource)


def spec_causes(spec: Mapping[str, Any], at: str) -> Iterator[Cause]:
    """What is wrong with a pod's spec, which stands at a path."""
    volumes = [each.get("name") for each in spec.get("volumes") or ()]
    yield from _volume_causes(spec.get("volumes") or (), f"{at}.volumes")
    seen: set[str] = set()
    if not spec.get("containers"):
        yield required(f"{at}.containers")
    for kind in ("containers", "initContainers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(kind) or ()):
            yield from _container_causes(container, f"{at}.{kind}[{index}]", volumes=volumes, seen=seen)
    policy = spec.get("restartPolicy")
    if policy not in (None, "Always", "OnFailure", "Never"):
        yield not_supported(f"{at}.restartPolicy", policy, ("Always", "OnFailure", "Never"))
    policy = spec.get("dnsPolicy")
    known = ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None")
    if policy not in (None, *known):
        yield not_supported(f"{at}.dnsPolicy", policy, known)
    for name in ("hostname", "subdomain"):
        if text := spec.get(name):
            for fault in ("must not contain dots",) if "." in text else label_faults(text):
                yield invalid(f"{at}.{name}", text, fault)
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= _MOST:
        yield invalid(f"{at}.activeDeadlineSeconds", deadline, f"must be between 1 and {_MOST}, inclusive")
    yield from _placement_causes(spec, at)


def _placement_causes(spec: Mapping[str, Any], at: str) -> Iterator[Cause]:
    for key, value in (spec.get("nodeSelector") or {}).items():
        for fault in key_faults(key):
            yield invalid(f"{at}.nodeSelector", key, fault)
        for fault in value_faults(value):
            yield invalid(f"{at}.nodeSelector", value, fault)
    for index, toleration in enumerate(spec.get("tolerations") or ()):
        operator = toleration.get("operator") or "Equal"
        where = f"{at}.tolerations[{index}].operator"
        if operator not in ("Equal", "Exists"):
            yield not_supported(where, operator, ("Equal", "Exists"))
        elif not toleration.get("key") and operator != "Exists":
            words = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            yield invalid(where, operator, words)


def _volume_causes(volumes: Any, at: str) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, volume in enumerate(volumes):
        where = f"{at}[{index}]"
        for source in [name for name in volume if name != "name"][1:]:
            yield forbidden(f"{where}.{source}", "may not specify more than 1 volume type")
        name = volume.get("name") or ""
        if not name:
            yield required(f"{where}.name")
        elif faults := list(label_faults(name)):
            for fault in faults:
                yield invalid(f"{where}.name", name, fault)
        elif name in seen:
            yield duplicate(f"{where}.name", name)
        if len(volume) <= 2:
            seen.add(name)


def _container_causes(raw: Mapping[str, Any], at: str, *, volumes: list[Any], seen: set[str]) -> Iterator[Cause]:
    name = raw.get("name") or ""
    if not name:
        yield required(f"{at}.name")
    elif faults := list(label_faults(name)):
        for fault in faults:
            yield invalid(f"{at}.name", name, fault)
    elif name in seen:
        yield duplicate(f"{at}.name", name)
    seen.add(name)
    if not raw.get("image"):
        yield required(f"{at}.image")
    policy = raw.get("imagePullPolicy")
    if policy not in (None, "Always", "IfNotPresent", "Never"):
        yield not_supported(f"{at}.imagePullPolicy", policy, ("Always", "IfNotPresent", "Never"))
    yield from _port_causes(raw.get("ports") or (), f"{at}.ports")
    yield from _env_causes(raw.get("env") or (), f"{at}.env")
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
    yield from _resource_causes(raw.get("resources") or {}, f"{at}.resources")


def _port_causes(ports: Any, at: str) -> Iterator[Cause]:
    names: set[str] = set()
    for index, port in enumerate(ports):
        where = f"{at}[{index}]"
        name, number = port.get("name"), port.get("containerPort")
        if name:
            if len(name) > 15:
                yield invalid(f"{where}.name", name, "must be no more than 15 characters")
            if name in names:
                yield duplicate(f"{where}.name", name)
            names.add(name)
        if not number:
            yield required(f"{where}.containerPort")
        elif not 1 <= number <= 65535:
            yield invalid(f"{where}.containerPort", number, "must be between 1 and 65535, inclusive")
        if port.get("protocol") not in (None, "TCP", "UDP", "SCTP"):
            yield not_supported(f"{where}.protocol", port["protocol"], ("SCTP", "TCP", "UDP"))


def _env_causes(env: Any, at: str) -> Iterator[Cause]:
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
            if not source:
                yield invalid(
                    f"{where}.valueFrom",
                    "",
                    "must specify one of: `fieldRef`, `resourceFieldRef`, "
                    "`configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
                )
            path = look(source, "fieldRef", "fieldPath")
            if path and not _FIELD_PATHS.match(path):
                words = f"error converting fieldPath: field label not supported: {path}"
                yield invalid(f"{where}.valueFrom.fieldRef.fieldPath", path, words)


def _resource_causes(resources: Mapping[str, Any], at: str) -> Iterator[Cause]:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for part, amounts in (("limits", limits), ("requests", requests)):
        for name, amount in amounts.items():
            where = f"{at}.{part}[{name}]"
            if "/" not in name and name not in _STANDARD and not name.startswith("hugepages-"):
                yield invalid(where, name, "must be a standard resource type or fully qualified")
                yield invalid(where, name, "must be a standard resource for containers")
            elif _amount(amount) < parse(0):
                yield invalid(where, str(amount), "must be greater than or equal to 0")
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


def _status_causes(status: Mapping[str, Any]) -> Iterator[Cause]:
    addresses = [each.get("ip") for each in status.get("podIPs") or ()]
    first = status.get("podIP")
    if first and (not addresses or addresses[0] != first):
        addresses = [first]
    for index, text in enumerate(addresses):
        try:
            ip_address(text)
        except ValueError:
            words = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
            yield invalid(f"status.podIPs[{index}]", text, words)


def _change_causes(spec: Raw, old: Raw, subresource: str) -> Iterator[Cause]:
    if subresource == "ephemeralcontainers":
        yield from _ephemeral_causes(spec, old)
        return
    for kind in ("containers", "initContainers"):
        if len(spec.get(kind) or ()) != len(old.get(kind) or ()):
            yield forbidden(f"spec.{kind}", "pod updates may not add or remove containers")
            return
    before, after = old.get("activeDeadlineSeconds"), spec.get("activeDeadlineSeconds")
    if before is not None and before != after:
        if after is None:
            yield invalid("spec.activeDeadlineSeconds", None, "must not update from a positive integer to nil value")
            return
        if after > before:
            yield invalid("spec.activeDeadlineSeconds", after, "must be less than or equal to previous value")
            return
    if _fixed(spec, old) != _fixed(old, old):
        yield forbidden("spec", f"{_UPDATE}\n{difference(old, _munged(spec, old), 'PodSpec')}")


def _munged(spec: Raw, old: Raw) -> Raw:
    """A pod's spec as it would be had only that changed which may not."""
    names = ("activeDeadlineSeconds", "tolerations")
    munged = {name: item for name, item in spec.items() if name not in names}
    munged |= {name: old[name] for name in names if name in old}
    for kind in ("containers", "initContainers"):
        pairs = zip(spec.get(kind) or (), old.get(kind) or (), strict=True)
        munged[kind] = [{**new, "image": before.get("image")} for new, before in pairs] or None
    return munged


def _fixed(spec: Raw, old: Raw) -> str:
    """The part of a pod's spec that may not change, in a form that can be compared."""
    kept = {name: item for name, item in spec.items() if name not in ("activeDeadlineSeconds", "tolerations")}
    for kind in ("containers", "initContainers"):
        if spec.get(kind):
            kept[kind] = [{name: item for name, item in each.items() if name != "image"} for each in spec[kind]]
    if (old.get("terminationGracePeriodSeconds") or 0) < 0 and spec.get("terminationGracePeriodSeconds") == 1:
        kept["terminationGracePeriodSeconds"] = old["terminationGracePeriodSeconds"]
    if spec.get("schedulingGates") is not None or old.get("schedulingGates") is not None:
        kept.pop("schedulingGates", None)
        kept.pop("nodeSelector", None)
    missing = [each for each in old.get("tolerations") or () if each not in (spec.get("tolerations") or ())]
    return json.dumps([kept, missing], sort_keys=True)


def _ephemeral_causes(spec: Raw, old: Raw) -> Iterator[Cause]:
    names = [each.get("name") for each in spec.get("ephemeralContainers") or ()]
    for each in old.get("ephemeralContainers") or ():
        if each.get("name") not in names:
            words = f'existing ephemeral containers "{each.get("name")}" may not be removed\n'
            yield forbidden("spec.ephemeralContainers", words)
