"""ResourceQuota: what the pods of a namespace ask for together, and whether one more is allowed."""

from collections.abc import Iterable, Mapping
from typing import Any

from trainplane.api.meta import Raw
from trainplane.api.problem import Problem
from trainplane.api.quantity import ZERO, Amount, amounts, spell, total
from trainplane.api.requests import pod_requests
from trainplane.gang.fit import FINISHED
from trainplane.gang.rules import OVER_QUOTA, QUOTA_WANTS_FIGURES

PLAIN = ("cpu", "memory", "ephemeral-storage")
"""Resources that a quota may name without the word `requests.`."""
Used = Mapping[str, Mapping[str, Amount]]
"""What is used, by name of the quota."""


def usage(pod: Raw) -> dict[str, Amount]:
    """What one pod counts in the words of quotas; nothing once it has ended."""
    if (pod.get("status") or {}).get("phase") in FINISHED:
        return {}
    spec = pod["spec"]
    asked, most = pod_requests(spec), _limits(spec)
    found = {"pods": Amount(10**9), "count/pods": Amount(10**9)}
    found |= {f"requests.{name}": amount for name, amount in asked.items()}
    found |= {f"limits.{name}": amount for name, amount in most.items()}
    return found | {name: asked[name] for name in PLAIN if name in asked}


def used(quota: Raw, pods: Iterable[Raw]) -> dict[str, Amount]:
    """What of a quota the pods of its namespace use, for each resource that it limits."""
    mine = [usage(pod) for pod in pods if in_scope(quota, pod)]
    return {name: sum((one.get(name, ZERO) for one in mine), ZERO) for name in _hard(quota)}


def status(quota: Raw, pods: Iterable[Raw]) -> Raw:
    """The status that a quota should have: its limits, and what is used of those that pods count towards."""
    return {"hard": spell(_hard(quota)), "used": spell(used(quota, pods))}


def admit_pod(pod: Raw, quotas: Iterable[Raw], used: Used) -> list[Problem]:
    """Why quotas refuse a new pod, in the words of the API server; [] where none does."""
    found = []
    wanted = usage(pod)
    for quota in sorted(quotas, key=lambda quota: str(quota["metadata"]["name"])):
        if not in_scope(quota, pod):
            continue
        name, hard = quota["metadata"]["name"], _hard(quota)
        if lacking := _lacking(pod["spec"], hard):
            what = f"failed quota: {name}: must specify {lacking}"
            found.append(Problem(QUOTA_WANTS_FIGURES, ("spec", "containers"), what))
            continue
        taken = used.get(name) or {}
        over = sorted(
            key
            for key, most in hard.items()
            if wanted.get(key, ZERO) > ZERO and taken.get(key, ZERO) + wanted[key] > most
        )
        if over:
            words = [_listed(over, figures) for figures in (wanted, taken, hard)]
            what = f"exceeded quota: {name}, requested: {words[0]}, used: {words[1]}, limited: {words[2]}"
            found.append(Problem(OVER_QUOTA, ("spec", "containers"), what))
    return found


def in_scope(quota: Raw, pod: Raw) -> bool:
    """Whether a quota counts the pod."""
    spec = quota.get("spec") or {}
    asked = (spec.get("scopeSelector") or {}).get("matchExpressions") or ()
    rows = [(scope, "Exists", ()) for scope in spec.get("scopes") or ()]
    rows += [(one["scopeName"], one["operator"], tuple(one.get("values") or ())) for one in asked]
    return all(_is_of(pod, scope, operator, values) for scope, operator, values in rows)


def _is_of(pod: Raw, scope: str, operator: str, values: tuple[str, ...]) -> bool:
    spec = pod["spec"]
    if scope == "PriorityClass":
        name = spec.get("priorityClassName")
        if operator in ("In", "NotIn"):
            return (name in values) == (operator == "In")
        return bool(name) == (operator == "Exists")
    match scope:
        case "Terminating":
            return spec.get("activeDeadlineSeconds") is not None
        case "NotTerminating":
            return spec.get("activeDeadlineSeconds") is None
        case "BestEffort":
            return _is_best_effort(spec)
        case "NotBestEffort":
            return not _is_best_effort(spec)
        case "CrossNamespacePodAffinity":
            return _crosses(spec.get("affinity") or {})
        case _:
            return False


def _is_best_effort(spec: Raw) -> bool:
    holders = [spec, *(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    resources = [each.get("resources") or {} for each in holders]
    return not any(
        (one.get(kind) or {}).keys() & {"cpu", "memory"} for one in resources for kind in ("requests", "limits")
    )


def _crosses(value: Any) -> bool:
    """Whether any affinity term speaks of other namespaces."""
    if isinstance(value, Mapping):
        return "namespaces" in value or "namespaceSelector" in value or any(map(_crosses, value.values()))
    return isinstance(value, list) and any(map(_crosses, value))


def _lacking(spec: Raw, hard: Mapping[str, Amount]) -> str:
    """Which containers do not say how much of a limited resource they need: `limits.memory for: a,b; cpu for: a`."""
    wanted = [
        name
        for name in sorted(hard)
        if name in PLAIN or (name.startswith(("limits.", "requests.")) and name.partition(".")[2] in PLAIN)
    ]
    parts = []
    whole = spec.get("resources") or {}
    for name in wanted:
        kind, _, resource = name.rpartition(".")
        kind = kind or "requests"
        if resource in (whole.get(kind) or {}):
            continue
        without = [
            container["name"]
            for container in [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
            if resource not in _said(container, kind)
        ]
        if without:
            parts.append(f"{name} for: {','.join(sorted(without))}")
    return "; ".join(parts)


def _said(container: Raw, kind: str) -> Mapping[str, Any]:
    resources = container.get("resources") or {}
    limits: Mapping[str, Any] = resources.get("limits") or {}
    return limits if kind == "limits" else {**limits, **(resources.get("requests") or {})}


def _limits(spec: Raw) -> dict[str, Amount]:
    """The limits of a pod, counted as its requests are."""

    def only(holder: Raw) -> Raw:
        return {**holder, "resources": {"requests": (holder.get("resources") or {}).get("limits") or {}}}

    holders = {field: [only(each) for each in spec.get(field) or ()] for field in ("containers", "initContainers")}
    found = pod_requests({**only(spec), **holders, "overhead": {}})
    overhead = amounts(spec.get("overhead") or {})
    # Overhead counts only where there is a limit to add it to.
    return total([found, {name: amount for name, amount in overhead.items() if name in found}])


def _hard(quota: Raw) -> dict[str, Amount]:
    return amounts((quota.get("spec") or {}).get("hard") or {})


def _listed(names: Iterable[str], figures: Mapping[str, Amount]) -> str:
    return ",".join(f"{name}={figures.get(name, ZERO)}" for name in names)
