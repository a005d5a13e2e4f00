"""Quotas: what a new object would use of a namespace's ResourceQuotas, refused where it is too much.

What is used is counted from the objects themselves. The quota is written together with the object that it admits, so
that of two objects which fit only one at a time the second is counted again.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from trainplane.api.core import FAILED, SUCCEEDED
from trainplane.api.kinds import Kind
from trainplane.api.meta import Raw
from trainplane.api.quantity import ZERO, Amount, amounts, parse, spell, total
from trainplane.api.raw import look
from trainplane.api.requests import pod_requests
from trainplane.cluster.errors import Forbidden
from trainplane.cluster.log import Stored, Write, body
from trainplane.cluster.store import Store
from trainplane.cluster.strategy import quality_of_service

_STANDARD = ("cpu", "memory", "ephemeral-storage")


def charges(store: Store, row: Kind, new: Raw) -> list[Write]:
    """The quotas as they are with a new object; raises Forbidden where one has no room for it."""
    namespace, name = new["metadata"].get("namespace", ""), new["metadata"].get("name", "")
    if not namespace or not store.count("resourcequotas", namespace=namespace):
        return []
    writes = []
    for stored in store.list("resourcequotas", namespace=namespace).items:
        quota = stored.object
        hard = amounts(look(quota, "spec", "hard") or {})
        asked = {key: amount for key, amount in _used_by([new], row, quota).items() if key in hard}
        if row.kind == "Pod" and not row.group and in_scope(new, quota.get("spec") or {}):
            _check_given(new, hard, quota["metadata"]["name"], name)
        if not asked:
            continue
        used = _used(store, row, quota, hard)
        over = [key for key in sorted(asked) if used.get(key, ZERO) + asked[key] > hard[key]]
        if over:
            parts = (f"exceeded quota: {quota['metadata']['name']}", f"requested: {_shown(over, asked)}")
            words = ", ".join((*parts, f"used: {_shown(over, used)}", f"limited: {_shown(over, hard)}"))
            raise Forbidden.of(row.resource, name, words)
        writes.append(_charged(stored, hard, total([used, asked])))
    return writes


def _shown(names: Iterable[str], values: Mapping[str, Amount]) -> str:
    return ",".join(f"{name}={values.get(name, ZERO)}" for name in names)


def _charged(stored: Stored, hard: Mapping[str, Amount], used: Mapping[str, Amount]) -> Write:
    quota = stored.object
    before = look(quota, "status", "used") or {}
    told = {name: str(used[name]) if name in used else before.get(name, "0") for name in hard}
    return Write(stored.key, body({**quota, "status": {"hard": spell(hard), "used": told}}), stored.revision)


def _used(store: Store, row: Kind, quota: Raw, hard: Mapping[str, Amount]) -> dict[str, Amount]:
    """What the objects that are there use of a quota, as far as objects of this kind use any."""
    namespace = quota["metadata"]["namespace"]
    found = [stored.object for stored in store.list(row.resource, namespace=namespace).items]
    used = _used_by(found, row, quota)
    return {name: used.get(name, ZERO) for name in hard}


def _used_by(objects: Iterable[Raw], row: Kind, quota: Raw) -> dict[str, Amount]:
    """What objects of a kind use of a quota."""
    spec = quota.get("spec") or {}
    if row.kind == "Pod" and not row.group:
        return total(_pod_use(pod) for pod in objects if _counts(pod) and in_scope(pod, spec))
    if spec.get("scopes") or spec.get("scopeSelector"):
        return {}
    return total(_object_use(raw, row) for raw in objects)


def _counts(pod: Raw) -> bool:
    return look(pod, "status", "phase") not in (SUCCEEDED, FAILED)


def _pod_use(pod: Raw) -> dict[str, Amount]:
    one, spec = parse(1), pod.get("spec") or {}
    used = {"pods": one, "count/pods": one}
    for name, amount in pod_requests(spec).items():
        used[f"requests.{name}"] = amount
        if name in _STANDARD:
            used[name] = amount
    limits = total(amounts(look(each, "resources", "limits") or {}) for each in spec.get("containers") or ())
    return used | {f"limits.{name}": amount for name, amount in limits.items()}


def _object_use(raw: Raw, row: Kind) -> dict[str, Amount]:
    one = parse(1)
    used = {f"count/{row.resource}": one}
    if not row.group:
        used[row.plural] = one
    if row.kind == "PersistentVolumeClaim":
        used["requests.storage"] = parse(look(raw, "spec", "resources", "requests", "storage") or 0)
    kind = look(raw, "spec", "type") if row.kind == "Service" and not row.group else None
    if kind == "LoadBalancer":
        used["services.loadbalancers"] = one
    if kind in ("NodePort", "LoadBalancer"):
        used["services.nodeports"] = parse(len(look(raw, "spec", "ports") or ()))
    return used


def _check_given(pod: Raw, hard: Mapping[str, Amount], quota: str, name: str) -> None:
    """Refuse a pod whose containers do not say how much they need of what is limited; raises Forbidden."""
    lacking: dict[str, list[str]] = {}
    for container in (pod.get("spec") or {}).get("containers") or ():
        resources = container.get("resources") or {}
        for key in hard:
            part, _, resource = key.partition(".") if "." in key else ("requests", "", key)
            if part in ("requests", "limits") and resource in _STANDARD and resource not in (resources.get(part) or {}):
                lacking.setdefault(key, []).append(str(container.get("name")))
    if lacking:
        told = "; ".join(f"{key} for: {','.join(names)}" for key, names in sorted(lacking.items()))
        raise Forbidden.of("pods", name, f"failed quota: {quota}: must specify {told}")


def in_scope(pod: Raw, quota: Mapping[str, Any]) -> bool:
    """Whether a quota speaks of a pod."""
    expressions = look(quota, "scopeSelector", "matchExpressions") or ()
    return all(_in(pod, scope) for scope in quota.get("scopes") or ()) and all(
        _matches(pod, each) for each in expressions
    )


def _in(pod: Raw, scope: str) -> bool:
    spec = pod.get("spec") or {}
    match scope:
        case "BestEffort":
            return quality_of_service(spec) == "BestEffort"
        case "NotBestEffort":
            return quality_of_service(spec) != "BestEffort"
        case "Terminating":
            return spec.get("activeDeadlineSeconds") is not None
        case "NotTerminating":
            return spec.get("activeDeadlineSeconds") is None
        case "PriorityClass":
            return bool(spec.get("priorityClassName"))
    return False


def _matches(pod: Raw, expression: Mapping[str, Any]) -> bool:
    scope, operator = str(expression.get("scopeName", "")), expression.get("operator")
    name, values = (pod.get("spec") or {}).get("priorityClassName"), expression.get("values") or ()
    match operator:
        case "In":
            return name in values if scope == "PriorityClass" else False
        case "NotIn":
            return name not in values if scope == "PriorityClass" else False
        case "DoesNotExist":
            return not _in(pod, scope)
    return _in(pod, scope)
