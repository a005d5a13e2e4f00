"""What each kind makes of a create or an update beyond its schema: fields of the server's own, and generations."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import msgspec

from trainplane.api.core import NAMESPACE_FINALIZER, PENDING
from trainplane.api.kinds import Kind
from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.cluster.armor import armored
from trainplane.cluster.claim_causes import with_origins
from trainplane.cluster.defaults import labelled, secret_kept
from trainplane.cluster.new_pods import ungated, with_label_keys
from trainplane.cluster.node_causes import with_ranges
from trainplane.cluster.pod_totals import has_totals
from trainplane.cluster.resources import resource_of
from trainplane.cluster.services import changed_service, new_service

_WITH_GENERATION = {
    ("", "Pod"),
    ("batch", "Job"),
    ("discovery.k8s.io", "EndpointSlice"),
    ("scheduling.k8s.io", "PriorityClass"),
}
_MADE_BY_UPDATE = {
    ("", "Event"),
    ("events.k8s.io", "Event"),
    ("", "Endpoints"),
    ("", "LimitRange"),
    ("", "Service"),
    ("coordination.k8s.io", "Lease"),
    ("node.k8s.io", "RuntimeClass"),
    ("rbac.authorization.k8s.io", "ClusterRole"),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
    ("rbac.authorization.k8s.io", "Role"),
    ("rbac.authorization.k8s.io", "RoleBinding"),
}
_SHOWN_WHEN_DELETED = {"Namespace", "PersistentVolumeClaim", "Pod", "ResourceQuota", "Service", "ServiceAccount"}
_JOB_LABELS = ("batch.kubernetes.io/controller-uid", "controller-uid")
_JOB_NAMES = ("batch.kubernetes.io/job-name", "job-name")


class Strategy(msgspec.Struct, frozen=True):
    """The ways of one kind."""

    row: Kind
    custom: bool
    generation: bool
    """Whether metadata.generation counts changes of the spec."""
    made_by_update: bool
    """Whether a PUT of a missing object makes it."""
    needs_version: bool
    """Whether a PUT must name a resourceVersion."""
    shown_when_deleted: bool
    """Whether a delete answers with the object that it took away."""


@cache
def strategy_of(row: Kind) -> Strategy:
    """The ways of a kind."""
    key, custom = (row.group, row.kind), resource_of(row).custom
    return Strategy(
        row,
        custom,
        generation=custom or key in _WITH_GENERATION,
        made_by_update=key in _MADE_BY_UPDATE,
        needs_version=custom or row.kind in ("Lease", "RuntimeClass"),
        shown_when_deleted=not row.group and row.kind in _SHOWN_WHEN_DELETED,
    )


def prepared(raw: Raw, row: Kind, *, place: Callable[[int], int]) -> Raw:
    """A new object with what its kind adds when it is made; `place` picks a number below the one it is given."""
    if row.status and row.kind != "Node":
        raw = {name: item for name, item in raw.items() if name != "status"}
    step = _CREATE.get((row.group, row.kind))
    return step(raw, place) if step else raw


def read_back(raw: Raw, row: Kind) -> Raw:
    """A new object as it is stored, with what is filled in whenever it is read: that is not judged before."""
    if (row.group, row.kind) == ("", "Pod"):
        return armored(raw)
    return labelled(raw) if (row.group, row.kind) == ("batch", "Job") else raw


def changed(new: Raw, old: Raw, row: Kind, *, subresource: str = "") -> Raw:
    """An update of the main object or of a part of it: everything that it may not touch is as it was."""
    if subresource == "ephemeralcontainers":
        spec = _keep(old.get("spec") or {}, new.get("spec") or {}, "ephemeralContainers")
        made = {**old, "spec": spec, "metadata": {**old["metadata"], **_version(new)}}
        return _counted(made, old, row)
    if subresource in ("", "resize"):
        made = _keep(new, old, "status") if row.status else new
        step = _UPDATE.get((row.group, row.kind))
        made = step(made, old) if step else made
        return _counted(made, old, row)
    if subresource == "finalize":
        return {**old, "spec": new.get("spec") or {}, "metadata": {**old["metadata"], **_version(new)}}
    if subresource == "status":
        return _status(new, old, row)
    return new


def _version(raw: Raw) -> Raw:
    return {name: raw["metadata"][name] for name in ("managedFields",) if name in raw["metadata"]}


def with_status_of(old: Raw | None, new: Raw) -> Raw:
    """The new object with the status that the old one has, if any: it is not for who writes the rest."""
    return _keep(new, old or {}, "status")


def _keep(new: Raw, old: Raw, name: str) -> Raw:
    made = {key: item for key, item in new.items() if key != name}
    return {**made, name: old[name]} if name in old else made


def _status(new: Raw, old: Raw, row: Kind) -> Raw:
    metadata = dict(old["metadata"])
    sent = new["metadata"]
    taken = ["managedFields"]
    if not resource_of(row).custom:
        taken += ["labels", "annotations", "finalizers"]
        taken += [] if row.kind == "Pod" else ["ownerReferences"]
    for name in taken:
        metadata.pop(name, None)
        if name in sent:
            metadata[name] = sent[name]
    made = {name: item for name, item in old.items() if name not in ("status", "metadata")}
    made["metadata"] = metadata
    said, blank = new.get("status"), None if resource_of(row).custom else _BLANK_STATUS.get(row.kind)
    if blank is not None:
        made["status"] = {**blank, **(said or {})}
    elif said is not None:
        made["status"] = said
    step = _STATUS.get((row.group, row.kind))
    return step(made, old) if step else made


def _counted(new: Raw, old: Raw, row: Kind) -> Raw:
    """The object with its generation counted on, where something other than metadata and status changed."""
    if not strategy_of(row).generation:
        return new
    before = look(old, "metadata", "generation") or 0
    same = _substance(new, row) == _substance(old, row)
    return {**new, "metadata": {**new["metadata"], "generation": before if same else before + 1}}


def _substance(raw: Raw, row: Kind) -> Any:
    if row.kind == "EndpointSlice":
        labels = raw["metadata"].get("labels") or {}
        return {**{name: item for name, item in raw.items() if name != "metadata"}, "labels": labels}
    if not resource_of(row).custom:
        return raw.get("spec")
    left_out = ("metadata", "status") if row.status else ("metadata",)
    return {name: item for name, item in raw.items() if name not in left_out}


def quality_of_service(spec: Mapping[str, Any]) -> str:
    """A pod's qosClass, by its own requests and limits or by those of its containers."""
    guaranteed, any_given = True, False
    containers = (*(spec.get("containers") or ()), *(spec.get("initContainers") or ()))
    for container in (spec,) if has_totals(spec) else containers:
        resources = container.get("resources") or {}
        limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
        for name in ("cpu", "memory"):
            any_given = any_given or name in limits or name in requests
            if name not in limits or requests.get(name, limits[name]) != limits[name]:
                guaranteed = False
    if not any_given:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def _new_pod(raw: Raw, _: Callable[[int], int]) -> Raw:
    spec = with_label_keys(ungated(raw.get("spec") or {}), raw["metadata"].get("labels") or {})
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        spec = {**spec, "terminationGracePeriodSeconds": 1}
    status: Raw = {"phase": PENDING, "qosClass": quality_of_service(spec)}
    if spec.get("schedulingGates"):
        condition = {"type": "PodScheduled", "status": "False", "lastProbeTime": None}
        condition["lastTransitionTime"] = raw["metadata"]["creationTimestamp"]
        words = "Scheduling is blocked due to non-empty scheduling gates"
        status["conditions"] = [{**condition, "reason": "SchedulingGated", "message": words}]
    return {**raw, "spec": spec, "status": status}


def _new_job(raw: Raw, _: Callable[[int], int]) -> Raw:
    spec, metadata = raw["spec"], raw["metadata"]
    spec = {**spec, "template": {**spec["template"], "spec": ungated(spec["template"].get("spec") or {})}}
    made = {**raw, "spec": spec, "status": {}}
    if spec.get("manualSelector"):
        return made
    ours = dict.fromkeys(_JOB_LABELS, metadata["uid"]) | dict.fromkeys(_JOB_NAMES, metadata.get("name") or "")
    ours = dict(sorted(ours.items()))
    template = spec["template"]
    inner = template.get("metadata") or {}
    # What the author wrote stays, and is refused in a moment where it is wrong.
    named = {**template, "metadata": {**inner, "labels": {**ours, **(inner.get("labels") or {})}}}
    selector = {**(spec.get("selector") or {})}
    selector["matchLabels"] = {_JOB_LABELS[0]: metadata["uid"], **(selector.get("matchLabels") or {})}
    if metadata.get("labels") is not None and metadata["labels"] is inner.get("labels"):
        made["metadata"] = {**metadata, "labels": named["metadata"]["labels"]}
    made["spec"] = {**spec, "template": named, "selector": selector}
    return made


_NODE_INFO = (
    *("architecture", "bootID", "containerRuntimeVersion", "kernelVersion", "kubeProxyVersion", "kubeletVersion"),
    *("machineID", "operatingSystem", "osImage", "systemUUID"),
)
_CHOOSING = ("strategy", "preferredHolder")


def _new_namespace(raw: Raw, _: Callable[[int], int]) -> Raw:
    spec = raw.get("spec") or {}
    finalizers = list(spec.get("finalizers") or ())
    finalizers += [] if NAMESPACE_FINALIZER in finalizers else [NAMESPACE_FINALIZER]
    metadata = raw["metadata"]
    labels = {**(metadata.get("labels") or {}), "kubernetes.io/metadata.name": metadata.get("name") or ""}
    return {
        **raw,
        "metadata": {**metadata, "labels": labels},
        "spec": {**spec, "finalizers": finalizers},
        "status": {"phase": "Active"},
    }


def _new_claim(raw: Raw, _: Callable[[int], int]) -> Raw:
    metadata = raw["metadata"]
    protected = list(dict.fromkeys((*(metadata.get("finalizers") or ()), "kubernetes.io/pvc-protection")))
    made = {**raw, "metadata": {**metadata, "finalizers": protected}, "status": {"phase": PENDING}}
    return {**made, "spec": with_origins(raw["spec"])} if raw.get("spec") else made


def _new_secret(raw: Raw, _: Callable[[int], int]) -> Raw:
    return secret_kept(raw)


def _with_status(raw: Raw, _: Callable[[int], int]) -> Raw:
    return {**raw, "status": {}}


def _node_status(raw: Raw, _: Callable[[int], int]) -> Raw:
    info = dict.fromkeys(_NODE_INFO, "")
    given = {name: item for name, item in (raw.get("spec") or {}).items() if name != "configSource"}
    status = raw.get("status") or {}
    ends = status.get("daemonEndpoints") or {"kubeletEndpoint": {"Port": 0}}
    filled = {**status, "daemonEndpoints": ends, "nodeInfo": {**info, **(status.get("nodeInfo") or {})}}
    return {**raw, "spec": with_ranges(given), "status": filled}


def _account(raw: Raw, _: Any) -> Raw:
    """A ServiceAccount knows its secrets by their names alone."""
    secrets = raw.get("secrets")
    if not secrets:
        return raw
    return {**raw, "secrets": [{"name": each["name"]} if each.get("name") else {} for each in secrets]}


def _lease(raw: Raw, _: Any) -> Raw:
    """A Lease without what only servers that choose among candidates keep."""
    spec = raw.get("spec") or {}
    return {**raw, "spec": {name: item for name, item in spec.items() if name not in _CHOOSING}}


def _slice(raw: Raw, _: Any) -> Raw:
    """An EndpointSlice without the words of versions before."""
    endpoints = [
        {name: item for name, item in each.items() if name != "deprecatedTopology"}
        for each in raw.get("endpoints") or ()
    ]
    return {**raw, "endpoints": endpoints or None}


def _pod_status(new: Raw, old: Raw) -> Raw:
    """A pod's status: its class stays where none is said, and its first address is told twice."""
    status = dict(new["status"])
    if not status.get("qosClass"):
        status["qosClass"] = look(old, "status", "qosClass") or quality_of_service(new.get("spec") or {})
    addresses = status.get("podIPs") or ()
    if addresses and not status.get("podIP"):
        status["podIP"] = addresses[0].get("ip")
    elif status.get("podIP") and (not addresses or addresses[0].get("ip") != status["podIP"]):
        status["podIPs"] = [{"ip": status["podIP"]}]
    return {**new, "status": status}


def _changed_namespace(new: Raw, old: Raw) -> Raw:
    """A namespace's finalizers change through its own subresource alone."""
    finalizers = look(old, "spec", "finalizers")
    spec = {name: item for name, item in (new.get("spec") or {}).items() if name != "finalizers"}
    return {**new, "spec": {**spec, "finalizers": finalizers} if finalizers else spec}


def _changed_secret(new: Raw, _: Raw) -> Raw:
    return secret_kept(new)


def _changed_pod(new: Raw, old: Raw) -> Raw:
    """What admission and the scheduler filled in stays where an update leaves it out."""
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    filled = ("nodeName", "serviceAccountName", "serviceAccount", "priority", "preemptionPolicy", "tolerations")
    missing = {name: before[name] for name in filled if name in before and name not in spec}
    made = ungated({**missing, **spec} if missing else spec)
    return new if made is new.get("spec") else {**new, "spec": made}


_BLANK_STATUS: dict[str, Raw] = {
    "Job": {},
    "Namespace": {"phase": "Active"},
    "PersistentVolumeClaim": {"phase": PENDING},
    "Pod": {},
    "ResourceQuota": {},
    "Service": {"loadBalancer": {}},
    "HorizontalPodAutoscaler": {"desiredReplicas": 0, "currentMetrics": None},
}
"""What the status of a built-in kind holds where nothing is said."""
_STATUS: dict[tuple[str, str], Callable[[Raw, Raw], Raw]] = {
    ("", "Pod"): _pod_status,
    ("batch", "Job"): lambda new, _: labelled(new),
}
_CREATE: dict[tuple[str, str], Callable[[Raw, Callable[[int], int]], Raw]] = {
    ("", "Pod"): _new_pod,
    ("batch", "Job"): _new_job,
    ("", "Service"): new_service,
    ("", "Namespace"): _new_namespace,
    ("", "PersistentVolumeClaim"): _new_claim,
    ("", "Secret"): _new_secret,
    ("", "ResourceQuota"): _with_status,
    ("", "Node"): _node_status,
    ("", "ServiceAccount"): _account,
    ("coordination.k8s.io", "Lease"): _lease,
    ("discovery.k8s.io", "EndpointSlice"): _slice,
    ("autoscaling", "HorizontalPodAutoscaler"): lambda raw, _: {
        **raw,
        "status": {"desiredReplicas": 0, "currentMetrics": None},
    },
}
_UPDATE: dict[tuple[str, str], Callable[[Raw, Raw], Raw]] = {
    ("", "Namespace"): _changed_namespace,
    ("", "Service"): changed_service,
    ("", "Secret"): _changed_secret,
    ("", "Pod"): _changed_pod,
    ("batch", "Job"): lambda new, _: labelled(new),
    ("", "ServiceAccount"): _account,
    ("coordination.k8s.io", "Lease"): _lease,
    ("discovery.k8s.io", "EndpointSlice"): _slice,
}
