"""What objects use of a ResourceQuota, in the words of quotas, and which pods a quota speaks of."""

from collections.abc import Iterable, Mapping
from typing import Any

from trainplane.api.core import FAILED, SUCCEEDED
from trainplane.api.kinds import Kind
from trainplane.api.meta import Raw
from trainplane.api.quantity import ZERO, Amount, amounts, largest, parse, total
from trainplane.api.raw import look
from trainplane.api.requests import pod_requests

STANDARD = ("cpu", "memory", "ephemeral-storage")
"""Requests that a quota may name without `requests.` before them."""
_ONE = parse(1)
_OF_CLASS = ".storageclass.storage.k8s.io/"


def pod_use(pod: Raw) -> dict[str, Amount]:
    """What one pod uses, by every name that a quota may have for it; nothing once it has ended."""
    if look(pod, "status", "phase") in (SUCCEEDED, FAILED):
        return {}
    spec = pod.get("spec") or {}
    used = {"pods": _ONE, "count/pods": _ONE}
    for name, amount in pod_requests(spec).items():
        used[f"requests.{name}"] = amount
        if name in STANDARD:
            used[name] = amount
    return used | {f"limits.{name}": amount for name, amount in pod_limits(spec).items()}


def object_use(raw: Raw, row: Kind) -> dict[str, Amount]:
    """What one object of a kind that is not a pod uses."""
    used = {f"count/{row.resource}": _ONE}
    if row.group:
        return used
    used[row.plural] = _ONE
    match row.kind:
        case "PersistentVolumeClaim":
            size = parse(look(raw, "spec", "resources", "requests", "storage") or 0)
            used["requests.storage"] = size
            if name := look(raw, "spec", "storageClassName"):
                used[f"{name}{_OF_CLASS}requests.storage"] = size
                used[f"{name}{_OF_CLASS}persistentvolumeclaims"] = _ONE
        case "Service":
            kind, ports = look(raw, "spec", "type"), parse(len(look(raw, "spec", "ports") or ()))
            if kind == "LoadBalancer":
                used["services.loadbalancers"] = _ONE
            if kind == "NodePort" or (
                kind == "LoadBalancer" and look(raw, "spec", "allocateLoadBalancerNodePorts") is not False
            ):
                used["services.nodeports"] = ports
    return used


def used_by(objects: Iterable[Raw], row: Kind, spec: Mapping[str, Any]) -> dict[str, Amount]:
    """What objects of a kind use together of a quota with this spec."""
    if row.kind == "Pod" and not row.group:
        return total(pod_use(pod) for pod in objects if in_scope(pod, spec))
    if spec.get("scopes") or spec.get("scopeSelector"):
        return {}
    return total(object_use(raw, row) for raw in objects)


def pod_limits(spec: Mapping[str, Any]) -> dict[str, Amount]:
    """The limits of a pod, counted as its requests are; overhead counts only where there is a limit to add it to."""
    running = total(_limits(one) for one in spec.get("containers") or ())
    sidecars: dict[str, Amount] = {}
    starting: dict[str, Amount] = {}
    for container in spec.get("initContainers") or ():
        if container.get("restartPolicy") == "Always":
            sidecars = total([sidecars, _limits(container)])
            starting = largest([starting, sidecars])
        else:
            starting = largest([starting, total([sidecars, _limits(container)])])
    found = {**largest([total([running, sidecars]), starting]), **_limits(spec)}
    overhead = amounts(spec.get("overhead") or {})
    return {name: amount + overhead.get(name, ZERO) for name, amount in found.items()}


def _limits(holder: Mapping[str, Any]) -> dict[str, Amount]:
    return amounts((holder.get("resources") or {}).get("limits") or {})


def lacking(spec: Mapping[str, Any], hard: Iterable[str]) -> str:
    """Which containers do not say how much they need of what is limited: `limits.memory for: a,b; cpu for: a`."""
    parts = []
    whole = spec.get("resources") or {}
    for name in sorted(hard):
        part, _, resource = name.rpartition(".")
        side = part or "requests"
        if resource not in STANDARD or side not in ("requests", "limits") or resource in (whole.get(side) or {}):
            continue
        containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
        without = [
            str(one.get("name")) for one in containers if resource not in ((one.get("resources") or {}).get(side) or {})
        ]
        if without:
            parts.append(f"{name} for: {','.join(sorted(without))}")
    return "; ".join(parts)


def in_scope(pod: Raw, spec: Mapping[str, Any]) -> bool:
    """Whether a quota with this spec counts a pod."""
    wanted = [{"scopeName": name, "operator": "Exists"} for name in spec.get("scopes") or ()]
    wanted += look(spec, "scopeSelector", "matchExpressions") or []
    return all(_is_of(pod, one) for one in wanted)


def _is_of(pod: Raw, scope: Mapping[str, Any]) -> bool:
    spec = pod.get("spec") or {}
    match scope.get("scopeName"):
        case "Terminating":
            return _has_deadline(spec)
        case "NotTerminating":
            return not _has_deadline(spec)
        case "BestEffort":
            return is_best_effort(spec)
        case "NotBestEffort":
            return not is_best_effort(spec)
        case "PriorityClass":
            return _of_priority(str(spec.get("priorityClassName") or ""), scope)
        case "CrossNamespacePodAffinity":
            return _crosses_namespaces(spec)
    return False


def _has_deadline(spec: Mapping[str, Any]) -> bool:
    deadline = spec.get("activeDeadlineSeconds")
    return deadline is not None and deadline >= 0


def is_best_effort(spec: Mapping[str, Any]) -> bool:
    """Whether no container of the pod asks for cpu or memory."""
    holders = [spec, *(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    return not any(
        parse(value)
        for holder in holders
        for side in ("requests", "limits")
        for name, value in (look(holder, "resources", side) or {}).items()
        if name in ("cpu", "memory")
    )


def _of_priority(name: str, scope: Mapping[str, Any]) -> bool:
    values = scope.get("values") or ()
    match scope.get("operator"):
        case "In":
            return name in values
        case "NotIn":
            return name not in values
        case "DoesNotExist":
            return not name
    return bool(name)


def _crosses_namespaces(spec: Mapping[str, Any]) -> bool:
    """Whether the pod's affinity looks at pods of other namespaces."""
    terms: list[Raw] = []
    for side in ("podAffinity", "podAntiAffinity"):
        found = look(spec, "affinity", side) or {}
        terms += found.get("requiredDuringSchedulingIgnoredDuringExecution") or []
        preferred = found.get("preferredDuringSchedulingIgnoredDuringExecution") or []
        terms += [one.get("podAffinityTerm") or {} for one in preferred]
    return any(term.get("namespaces") or term.get("namespaceSelector") is not None for term in terms)
