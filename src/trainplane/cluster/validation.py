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
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)
from trainplane.cluster.claim_causes import claim_causes
from trainplane.cluster.endpoint_causes import endpoints_causes, slice_causes
from trainplane.cluster.env_causes import config_key_faults
from trainplane.cluster.event_causes import event_causes
from trainplane.cluster.go_structs import as_go
from trainplane.cluster.job_validation import job_causes
from trainplane.cluster.limit_ranges import limit_range_causes
from trainplane.cluster.names import key_faults, label_faults
from trainplane.cluster.node_causes import node_causes
from trainplane.cluster.placement_causes import placement_causes
from trainplane.cluster.pod_security import label_causes
from trainplane.cluster.pod_validation import pod_causes
from trainplane.cluster.rbac_causes import rbac_causes
from trainplane.cluster.resource_causes import NEGATIVE, resource_causes
from trainplane.cluster.resource_names import is_whole, resource_name_faults
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
        if not data.get(name) and (name not in data or kind == "kubernetes.io/ssh-auth"):
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


def _priority_class(new: Raw, old: Raw | None, _: str) -> Iterator[Cause]:
    name, value = new["metadata"].get("name") or "", new.get("value") or 0
    if old is not None:
        if value != (old.get("value") or 0):
            yield forbidden("value", "may not be changed in an update.")
        if new.get("preemptionPolicy") != old.get("preemptionPolicy"):
            yield invalid("preemptionPolicy", new.get("preemptionPolicy"), "field is immutable")
        return
    policy = new.get("preemptionPolicy")
    if policy == "":
        yield required("preemptionPolicy")
    elif policy not in (None, "PreemptLowerPriority", "Never"):
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
    yield from resource_causes({"limits": look(new, "overhead", "podFixed") or {}}, "overhead")
    yield from placement_causes(new.get("scheduling") or {}, "scheduling")
    tolerations = look(new, "scheduling", "tolerations") or ()
    for index, each in enumerate(tolerations):
        if each in tolerations[:index]:
            yield duplicate(f"scheduling.tolerations[{index}]", as_go(each, "Toleration"))


def _quota(new: Raw, old: Raw | None, subresource: str) -> Iterator[Cause]:
    spec = new.get("spec") or {}
    if subresource:
        for part in ("hard", "used"):
            for name, amount in (look(new, "status", part) or {}).items():
                if parse(amount) < parse(0):
                    yield invalid(f"status.{part}[{name}]", str(amount), "must be greater than or equal to 0")
        return
    hard = spec.get("hard") or {}
    for name, amount in hard.items():
        at = f"spec.hard[{name}]"
        for fault in resource_name_faults(name):
            yield invalid(at, name, fault)
        if "/" not in name and not _is_counted(name):
            yield invalid(at, name, "must be a standard resource for quota")
        if parse(amount) < parse(0):
            yield invalid(at, str(amount), NEGATIVE)
        if is_whole(name) and parse(amount).nano % 10**9:
            yield invalid(at, str(parse(amount)), "must be an integer")
    selected = look(spec, "scopeSelector", "matchExpressions") or ()
    yield from _scope_causes(selected)
    known = [scope for each in selected if (scope := each.get("scopeName")) in _SCOPES]
    if not all(_is_limited(name, scope) for scope in known for name in hard):
        shown = {"MatchExpressions": as_go(selected, "ScopeRequirement")}
        at = "spec.scopeSelector.matchExpressions"
        yield invalid(at, shown, "unsupported scope applied to resource")
    scopes = spec.get("scopes") or []
    if any(scope not in _SCOPES for scope in scopes):
        yield invalid("spec.scopes", scopes, "unsupported scope")
    elif not all(_is_limited(name, scope) for scope in scopes for name in hard):
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


_CONFLICTING = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
_COUNTED = (
    *("configmaps", "cpu", "ephemeral-storage", "limits.cpu", "limits.ephemeral-storage", "limits.memory", "memory"),
    *("persistentvolumeclaims", "pods", "replicationcontrollers", "requests.cpu", "requests.ephemeral-storage"),
    *("requests.memory", "requests.storage", "resourcequotas", "secrets", "services", "services.loadbalancers"),
    "services.nodeports",
)


_OF_PODS = ("pods", *(f"{side}{name}" for side in ("", "limits.", "requests.") for name in ("cpu", "memory")))


def _is_limited(name: str, scope: str) -> bool:
    """Whether what a scope picks out has the resource; vendors' are nobody's business."""
    if scope == "BestEffort":
        return name == "pods"
    return not _is_counted(name) or "/" in name or name in _OF_PODS or scope == "VolumeAttributesClass"


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
    ("", "PersistentVolumeClaim"): claim_causes,
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
