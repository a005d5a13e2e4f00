"""The ResourceQuota controller: how much of each quota is used, so that people and admission can see it."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from trainplane.api.core import FAILED, SUCCEEDED
from trainplane.api.kinds import KINDS, Kind
from trainplane.api.meta import Raw
from trainplane.api.quantity import ZERO, Amount, QuantityError, amounts, largest, parse, spell, total
from trainplane.api.raw import look
from trainplane.api.requests import pod_requests
from trainplane.reconcile.controller import Controller
from trainplane.reconcile.decision import NOTHING, Decision, SetStatus
from trainplane.reconcile.view import Ref, View

RESYNC = timedelta(minutes=5)
OLD_NAMES = (
    "configmaps",
    "persistentvolumeclaims",
    "pods",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "services",
)
"""Kinds of core that may be counted by their name alone."""
STANDARD = ("cpu", "memory", "ephemeral-storage")
"""Requests that may be named without `requests.` before them."""


def reconcile(quota: Raw, view: View, now: datetime) -> Decision:  # noqa: ARG001 - every controller is told the time
    """What a quota's status should say."""
    if quota["metadata"].get("deletionTimestamp"):
        return NOTHING
    hard = look(quota, "spec", "hard") or {}
    namespace = quota["metadata"].get("namespace", "")
    pods = [pod for pod in view.all("", "Pod", namespace=namespace) if counts(pod) and in_scope(pod, quota["spec"])]
    asked = used_by(pods)
    used = {name: str(amount_of(name, asked, view, namespace=namespace)) for name in hard}
    status = {"hard": spell(hard), "used": used}
    if status == (quota.get("status") or {}):
        return Decision(again=RESYNC)
    return Decision((SetStatus(Ref.of(quota), status, quota["metadata"].get("uid", "")),), again=RESYNC)


def amount_of(name: str, pods: Mapping[str, Amount], view: View, *, namespace: str) -> Amount:
    """How much of one resource of a quota is used; what pods use is given."""
    if name in pods:
        return pods[name]
    if name.startswith("count/") or name in OLD_NAMES:
        return counted(name.removeprefix("count/"), view, namespace)
    if name == "requests.storage" or ".storageclass.storage.k8s.io/" in name:
        return storage(name, view, namespace)
    if name.startswith("services."):
        services = view.all("", "Service", namespace=namespace)
        wanted = {"services.loadbalancers": "LoadBalancer", "services.nodeports": "NodePort"}.get(name)
        return parse(sum(look(one, "spec", "type") == wanted for one in services))
    return ZERO


def counted(plural: str, view: View, namespace: str) -> Amount:
    """How many objects of a kind there are, by its plural and group."""
    row = _ROWS.get(plural)
    return ZERO if row is None else parse(sum(1 for _ in view.all(row.group, row.kind, namespace=namespace)))


_ROWS: dict[str, Kind] = {row.resource: row for row in KINDS if row.namespaced}


def storage(name: str, view: View, namespace: str) -> Amount:
    """What claims ask for in all, or those of one storage class; and how many those are."""
    prefix, _, what = name.rpartition("/") if "/" in name else ("", "", name)
    class_name = prefix.partition(".storageclass.")[0] if prefix else ""
    claims = [
        claim
        for claim in view.all("", "PersistentVolumeClaim", namespace=namespace)
        if not class_name or look(claim, "spec", "storageClassName") == class_name
    ]
    if what == "persistentvolumeclaims":
        return parse(len(claims))
    asked = (look(claim, "spec", "resources", "requests", "storage") for claim in claims)
    return total({"storage": one} for one in asked if one is not None).get("storage", ZERO)


def used_by(pods: list[Raw]) -> dict[str, Amount]:
    """What pods use, by every name that a quota may have for it."""
    requests: list[dict[str, Amount]] = []
    limits: list[dict[str, Amount]] = []
    for pod in pods:
        try:
            requests.append(pod_requests(pod["spec"]))
            limits.append(pod_limits(pod["spec"]))
        except QuantityError:
            # Admission takes no such pod; one that is there all the same must not hide what the others use.
            continue
    used: dict[str, Amount] = {"pods": parse(len(pods)), "count/pods": parse(len(pods))}
    for name, amount in total(requests).items():
        used[f"requests.{name}"] = amount
        if name in STANDARD:
            used[name] = amount
    used |= {f"limits.{name}": amount for name, amount in total(limits).items()}
    return used


def pod_limits(spec: Mapping[str, Any]) -> dict[str, Amount]:
    """The limits of a pod, counted as its requests are."""
    running = total(limits(one) for one in spec.get("containers") or ())
    sidecars: dict[str, Amount] = {}
    starting: dict[str, Amount] = {}
    for container in spec.get("initContainers") or ():
        if container.get("restartPolicy") == "Always":
            sidecars = total([sidecars, limits(container)])
            starting = largest([starting, sidecars])
        else:
            starting = largest([starting, total([sidecars, limits(container)])])
    found = {**largest([total([running, sidecars]), starting]), **limits(spec)}
    overhead = amounts(spec.get("overhead") or {})
    return {name: amount + overhead.get(name, ZERO) for name, amount in found.items()}


def limits(holder: Mapping[str, Any]) -> dict[str, Amount]:
    """The limits of one container, or of a pod as a whole."""
    return amounts((holder.get("resources") or {}).get("limits") or {})


def counts(pod: Raw) -> bool:
    """Whether a pod uses anything still: it has not ended."""
    return look(pod, "status", "phase") not in (SUCCEEDED, FAILED)


def in_scope(pod: Raw, spec: Mapping[str, Any]) -> bool:
    """Whether a quota counts this pod."""
    wanted = [{"scopeName": name, "operator": "Exists"} for name in spec.get("scopes") or ()]
    wanted += look(spec, "scopeSelector", "matchExpressions") or []
    return all(is_of(pod, one) for one in wanted)


def is_of(pod: Raw, scope: Mapping[str, Any]) -> bool:
    """Whether a pod is of one scope."""
    spec = pod["spec"]
    match scope["scopeName"]:
        case "Terminating":
            return (spec.get("activeDeadlineSeconds") or -1) >= 0
        case "NotTerminating":
            return (spec.get("activeDeadlineSeconds") or -1) < 0
        case "BestEffort":
            return is_best_effort(spec)
        case "NotBestEffort":
            return not is_best_effort(spec)
        case "PriorityClass":
            return of_priority(str(spec.get("priorityClassName") or ""), scope)
        case "CrossNamespacePodAffinity":
            return crosses_namespaces(spec)
    return False


def of_priority(name: str, scope: Mapping[str, Any]) -> bool:
    """Whether a priority class is one that a scope means."""
    values = scope.get("values") or ()
    match scope.get("operator"):
        case "In":
            return name in values
        case "NotIn":
            return name not in values
        case "DoesNotExist":
            return not name
    return bool(name)


def crosses_namespaces(spec: Mapping[str, Any]) -> bool:
    """Whether the pod's affinity looks at pods of other namespaces."""
    terms: list[Raw] = []
    for side in ("podAffinity", "podAntiAffinity"):
        found = look(spec, "affinity", side) or {}
        terms += found.get("requiredDuringSchedulingIgnoredDuringExecution") or []
        preferred = found.get("preferredDuringSchedulingIgnoredDuringExecution") or []
        terms += [one.get("podAffinityTerm") or {} for one in preferred]
    return any(term.get("namespaces") or term.get("namespaceSelector") is not None for term in terms)


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


def quotas(raw: Raw, view: View) -> Iterator[Ref]:
    """The quotas of an object's namespace."""
    for quota in view.all("", "ResourceQuota", namespace=raw["metadata"].get("namespace", "")):
        yield Ref.of(quota)


QUOTA_STATUS = Controller(
    name="quota-status",
    group="",
    kind="ResourceQuota",
    reconcile=reconcile,
    watches=tuple(
        ((row.group, row.kind), quotas)
        for row in KINDS
        if row.namespaced and row.kind not in ("Event", "Lease", "Endpoints", "EndpointSlice", "ResourceQuota")
    ),
)
"""The controller of what quotas say is used."""
