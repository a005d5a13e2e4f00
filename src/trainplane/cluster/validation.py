"""What the API server refuses in objects of built-in kinds, beyond their shape."""

from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator

import orjson

from trainplane.api.core import NAMESPACE_FINALIZER
from trainplane.api.kinds import Kind
from trainplane.api.meta import Raw
from trainplane.api.quantity import parse
from trainplane.api.raw import look
from trainplane.cluster.autoscaler_causes import autoscaler_causes
from trainplane.cluster.causes import (
    Cause,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)
from trainplane.cluster.endpoint_causes import endpoints_causes, slice_causes
from trainplane.cluster.env_causes import config_key_faults
from trainplane.cluster.event_causes import event_causes
from trainplane.cluster.go_structs import difference
from trainplane.cluster.job_validation import job_causes
from trainplane.cluster.limit_ranges import limit_range_causes
from trainplane.cluster.names import key_faults, label_faults, subdomain_faults
from trainplane.cluster.node_causes import node_causes
from trainplane.cluster.placement_causes import placement_causes
from trainplane.cluster.pod_security import label_causes
from trainplane.cluster.pod_validation import pod_causes
from trainplane.cluster.rbac_causes import rbac_causes
from trainplane.cluster.selector_causes import selector_causes
from trainplane.cluster.service_causes import service_causes

Check = Callable[[Raw, Raw | None, str], Iterable[Cause]]
"""The new object, the old one if there is one, and the part that is written."""

MEBIBYTE = 1_048_576
HIGHEST_PRIORITY = 1_000_000_000
SYSTEM_PRIORITIES = ("system-cluster-critical", "system-node-critical")
_SECRET_KEYS = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/dockercfg": (".dockercfg",),
}
_ACCOUNT = "kubernetes.io/service-account.name"
_FIXED_DATA = "field is immutable when `immutable` is set"
_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_SCOPES = (
    *("BestEffort", "CrossNamespacePodAffinity", "NotBestEffort", "NotTerminating", "PriorityClass", "Terminating"),
    "VolumeAttributesClass",
)


def kind_causes(row: Kind, new: Raw, old: Raw | None, *, subresource: str = "") -> Iterable[Cause]:
    """What is wrong with an object of a built-in kind, by itself and against what it was."""
    check = _CHECKS.get((row.group, row.kind))
    return check(new, old, subresource) if check else ()


def _key_causes(names: Iterable[str], at: str) -> Iterator[Cause]:
    for name in names:
        for fault in config_key_faults(name):
            yield invalid(f"{at}[{name}]", name, fault)


def _config_map(new: Raw, old: Raw | None, _: str) -> Iterator[Cause]:
    data, binary = new.get("data") or {}, new.get("binaryData") or {}
    yield from _key_causes(data, "data")
    yield from _key_causes(binary, "binaryData")
    for name in sorted(data.keys() & binary.keys()):
        yield invalid(f"data[{name}]", name, "duplicate of key present in binaryData")
    if sum(len(text.encode()) for text in data.values()) + sum(map(_decoded_size, binary.values())) > MEBIBYTE:
        yield Cause("FieldValueTooLong", "[]", too_long("", MEBIBYTE).message)
    yield from _immutable_data(new, old, ("data", "binaryData"))


def _immutable_data(new: Raw, old: Raw | None, names: tuple[str, ...]) -> Iterator[Cause]:
    if old is None or not old.get("immutable"):
        return
    if not new.get("immutable"):
        yield forbidden("immutable", _FIXED_DATA)
    for name in names:
        if (new.get(name) or {}) != (old.get(name) or {}):
            yield forbidden(name, _FIXED_DATA)


def _decoded_size(text: str) -> int:
    return len(text) * 3 // 4


def _secret(new: Raw, old: Raw | None, _: str) -> Iterator[Cause]:
    data, kind = new.get("data") or {}, new.get("type", "")
    yield from _key_causes(data, "data")
    if sum(map(_decoded_size, data.values())) > MEBIBYTE:
        yield too_long("data", MEBIBYTE)
    for name in _SECRET_KEYS.get(kind, ()):
        if name not in data:
            yield required(f"data[{name}]")
        elif kind.startswith("kubernetes.io/docker"):
            yield from _json_causes(data[name], f"data[{name}]")
    if kind == "kubernetes.io/basic-auth" and not data.keys() & {"username", "password"}:
        yield required("data[username]")
        yield required("data[password]")
    if kind == "kubernetes.io/service-account-token" and not look(new, "metadata", "annotations", _ACCOUNT):
        yield required(f"metadata.annotations[{_ACCOUNT}]")
    if old is not None and kind != old.get("type", ""):
        yield invalid("type", kind, "field is immutable")
    yield from _immutable_data(new, old, ("data",))


def _json_causes(text: str, at: str) -> Iterator[Cause]:
    content = b64decode(text)
    try:
        orjson.loads(content)
    except orjson.JSONDecodeError:
        first = content[:1].decode(errors="replace")
        words = (
            f"invalid character '{first}' looking for beginning of value" if first else "unexpected end of JSON input"
        )
        yield invalid(at, "<secret contents redacted>", words)


def _lease(new: Raw, _: Raw | None, __: str) -> Iterator[Cause]:
    spec = new.get("spec") or {}
    seconds, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if seconds is not None and seconds <= 0:
        yield invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0")
    if transitions is not None and transitions < 0:
        yield invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0")


def _claim(new: Raw, old: Raw | None, subresource: str) -> Iterator[Cause]:
    spec = new.get("spec") or {}
    if subresource == "status":
        return
    if old is not None:
        before, after = (_claim_fixed(each) for each in (old, new))
        if not before.get("volumeName"):
            # A volume is found once.
            after.pop("volumeName", None)
        if before != after:
            words = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound"
            yield forbidden("spec", f"{words} claims\n{difference(before, after, 'ClaimSpec')}")
        had, has = (look(each, "spec", "resources", "requests", "storage") for each in (old, new))
        if had is not None and parse(has or 0) < parse(had):
            yield forbidden("spec.resources.requests.storage", "field can not be less than status.capacity")
    modes = spec.get("accessModes") or ()
    if not modes:
        yield required("spec.accessModes", "at least 1 access mode is required")
    for mode in modes:
        if mode not in _ACCESS_MODES:
            yield not_supported("spec.accessModes", mode, _ACCESS_MODES)
    if "ReadWriteOncePod" in modes and len(modes) > 1:
        yield forbidden("spec.accessModes", "may not use ReadWriteOncePod with other access modes")
    yield from selector_causes(spec.get("selector") or {}, "spec.selector")
    class_, mode = spec.get("storageClassName"), spec.get("volumeMode")
    for fault in subdomain_faults(class_) if class_ else ():
        yield invalid("spec.storageClassName", class_, fault)
    if mode not in (None, "Block", "Filesystem"):
        yield not_supported("spec.volumeMode", mode, ("Block", "Filesystem"))
    attributes = spec.get("volumeAttributesClassName")
    for fault in subdomain_faults(attributes) if attributes else ():
        yield invalid("spec.volumeAttributesClassName", attributes, fault)
    if spec.get("dataSourceRef") is not None:
        yield from _origin_causes(spec["dataSourceRef"], "spec.dataSourceRef")
    storage = look(spec, "resources", "requests", "storage")
    if storage is None:
        yield required("spec.resources[storage]")
    elif parse(storage) <= parse(0):
        yield invalid("spec.resources[storage]", str(storage), "must be greater than zero")


def _origin_causes(origin: Raw, at: str) -> Iterator[Cause]:
    """What is wrong with what a claim is filled from."""
    kind, group = origin.get("kind") or "", origin.get("apiGroup") or ""
    for name in ("name", "kind"):
        if not origin.get(name):
            yield required(f"{at}.{name}")
    if not group and kind != "PersistentVolumeClaim":
        yield invalid(at, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup")
    for fault in subdomain_faults(group) if group else ():
        yield invalid(f"{at}.apiGroup", group, fault)


def _claim_fixed(raw: Raw) -> Raw:
    spec = dict(raw.get("spec") or {})
    if look(raw, "status", "phase") == "Bound":
        spec.pop("resources", None)
        spec.pop("volumeAttributesClassName", None)
    return spec


def _priority_class(new: Raw, old: Raw | None, _: str) -> Iterator[Cause]:
    name, value = new["metadata"].get("name") or "", new.get("value") or 0
    if old is not None:
        if value != (old.get("value") or 0):
            yield forbidden("value", "may not be changed in an update.")
        if new.get("preemptionPolicy") != old.get("preemptionPolicy"):
            yield invalid("preemptionPolicy", new.get("preemptionPolicy"), "field is immutable")
        return
    policy = new.get("preemptionPolicy")
    if policy not in (None, "PreemptLowerPriority", "Never"):
        yield not_supported("preemptionPolicy", policy, ("PreemptLowerPriority", "Never"))
    if name.startswith("system-"):
        if name not in SYSTEM_PRIORITIES:
            words = "priority class names with 'system-' prefix are reserved for system use only. error: "
            yield forbidden("metadata.name", f"{words}{name} is not a known system priority class")
    elif value > HIGHEST_PRIORITY:
        yield forbidden("value", f"maximum allowed value of a user defined priority is {HIGHEST_PRIORITY}")


def _rbac(new: Raw, old: Raw | None, _: str) -> Iterator[Cause]:
    return rbac_causes(new, old)


def _runtime_class(new: Raw, old: Raw | None, _: str) -> Iterator[Cause]:
    handler = new.get("handler") or ""
    if not handler:
        yield required("handler")
    else:
        for fault in label_faults(handler):
            yield invalid("handler", handler, fault)
    if old is not None and handler != old.get("handler"):
        yield invalid("handler", handler, "field is immutable")
    for name, amount in (look(new, "overhead", "podFixed") or {}).items():
        if parse(amount) < parse(0):
            yield invalid(f"overhead.limits[{name}]", str(amount), "must be greater than or equal to 0")
    yield from placement_causes(new.get("scheduling") or {}, "scheduling")


def _quota(new: Raw, old: Raw | None, subresource: str) -> Iterator[Cause]:
    spec = new.get("spec") or {}
    if subresource:
        for part in ("hard", "used"):
            for name, amount in (look(new, "status", part) or {}).items():
                if parse(amount) < parse(0):
                    yield invalid(f"status.{part}[{name}]", str(amount), "must be greater than or equal to 0")
        return
    for name, amount in (spec.get("hard") or {}).items():
        at = f"spec.hard[{name}]"
        if not _is_counted(name):
            yield invalid(at, name, "must be a standard resource type or fully qualified")
            yield invalid(at, name, "must be a standard resource for quota")
        elif parse(amount) < parse(0):
            yield invalid(at, str(amount), "must be greater than or equal to 0")
        elif (name in _WHOLE or name.startswith("count/")) and parse(amount).nano % 10**9:
            yield invalid(at, str(parse(amount)), "must be an integer")
    yield from _scope_causes(look(spec, "scopeSelector", "matchExpressions") or ())
    scopes = spec.get("scopes") or []
    if any(scope not in _SCOPES for scope in scopes):
        yield invalid("spec.scopes", scopes, "unsupported scope")
    elif "BestEffort" in scopes and any(name != "pods" for name in spec.get("hard") or {}):
        yield invalid("spec.scopes", scopes, "unsupported scope applied to resource")
    elif any(set(pair) <= set(scopes) for pair in _CONFLICTING):
        yield invalid("spec.scopes", scopes, "conflicting scopes")
    if old is not None and sorted(scopes) != sorted(look(old, "spec", "scopes") or []):
        yield invalid("spec.scopes", scopes, "field is immutable")


def _scope_causes(expressions: Iterable[Raw]) -> Iterator[Cause]:
    at = "spec.scopeSelector.matchExpressions"
    for each in expressions:
        scope, operator = each.get("scopeName") or "", each.get("operator") or ""
        if scope not in _SCOPES:
            yield invalid(f"{at}.scopeName", scope, "unsupported scope")
        if operator in ("In", "NotIn") and not each.get("values"):
            words = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            yield required(f"{at}.values", words)
        if operator not in ("In", "NotIn", "Exists", "DoesNotExist"):
            yield invalid(f"{at}.operator", operator, "not a valid selector operator")


_WHOLE = (
    "configmaps",
    "persistentvolumeclaims",
    "pods",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "services",
)
_CONFLICTING = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
_COUNTED = (
    *("configmaps", "cpu", "ephemeral-storage", "limits.cpu", "limits.ephemeral-storage", "limits.memory", "memory"),
    *("persistentvolumeclaims", "pods", "replicationcontrollers", "requests.cpu", "requests.ephemeral-storage"),
    *("requests.memory", "requests.storage", "resourcequotas", "secrets", "services", "services.loadbalancers"),
    "services.nodeports",
)


def _is_counted(name: str) -> bool:
    return "/" in name or name in _COUNTED or name.startswith(("hugepages-", "requests.hugepages-"))


def _namespace(new: Raw, _: Raw | None, subresource: str) -> Iterator[Cause]:
    yield from label_causes(new["metadata"].get("labels") or {})
    for index, name in enumerate(look(new, "spec", "finalizers") or ()):
        at = f"spec.finalizers[{index}]" if subresource == "finalize" else "spec.finalizers"
        for fault in key_faults(name):
            yield invalid("spec.finalizers", name, fault)
        if "/" not in name and name != NAMESPACE_FINALIZER:
            yield invalid(at, name, "name is neither a standard finalizer name nor is it fully qualified")
    phase, going = look(new, "status", "phase"), look(new, "metadata", "deletionTimestamp")
    if subresource == "status" and not going and phase not in (None, "", "Active"):
        yield invalid("status.Phase", phase, "may only be 'Active' if `deletionTimestamp` is empty")
    if subresource == "status" and going and phase != "Terminating":
        yield invalid("status.Phase", phase, "may only be 'Terminating' if `deletionTimestamp` is not empty")


_CHECKS: dict[tuple[str, str], Check] = {
    ("", "ConfigMap"): _config_map,
    ("", "Endpoints"): endpoints_causes,
    ("", "Event"): event_causes,
    ("", "LimitRange"): limit_range_causes,
    ("", "Namespace"): _namespace,
    ("", "Node"): node_causes,
    ("", "PersistentVolumeClaim"): _claim,
    ("", "Pod"): pod_causes,
    ("", "ResourceQuota"): _quota,
    ("", "Secret"): _secret,
    ("", "Service"): service_causes,
    ("autoscaling", "HorizontalPodAutoscaler"): autoscaler_causes,
    ("batch", "Job"): job_causes,
    ("coordination.k8s.io", "Lease"): _lease,
    ("discovery.k8s.io", "EndpointSlice"): slice_causes,
    ("node.k8s.io", "RuntimeClass"): _runtime_class,
    ("rbac.authorization.k8s.io", "ClusterRole"): _rbac,
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): _rbac,
    ("rbac.authorization.k8s.io", "Role"): _rbac,
    ("rbac.authorization.k8s.io", "RoleBinding"): _rbac,
    ("scheduling.k8s.io", "PriorityClass"): _priority_class,
}
