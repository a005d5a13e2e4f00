"""The defaults of built-in kinds: what an API server fills in when an object is read, before anyone owns it."""

from base64 import b64encode
from collections.abc import Callable
from typing import Any, NamedTuple

from trainplane.api.compiled import filler
from trainplane.api.kinds import Kind
from trainplane.api.meta import Raw
from trainplane.api.schema import Schema, openapi
from trainplane.cluster.pod_defaults import PROBED, at, pod, pod_spec, pod_status, under, with_conditions
from trainplane.cluster.resources import resource_of

NEVER_LIMIT = 2**31 - 1


def defaulted(raw: Raw, row: Kind) -> Raw:
    """The object with what its schema and its kind fill in."""
    # What built-in kinds hold has its shape by now, so that only fields with defaults need be looked at.
    filled = fill(raw, openapi(row.type)) if resource_of(row).custom else filler(row.type, blank=False)(raw)
    step = _STEPS.get((row.group, row.kind))
    return step(filled) if step else filled


_EXPLAINED: Raw = {"type": "", "status": "", "lastTransitionTime": None, "reason": "", "message": ""}
_BEATING: Raw = {"type": "", "status": "", "lastHeartbeatTime": None, "lastTransitionTime": None}
"""What conditions of Services and of Nodes have, though nothing may be said of them."""


def filled(made: Raw, row: Kind, old: Raw | None = None) -> Raw:
    """The object with its defaults, as they are when who owns them is noted; a spec that stays has them."""
    spec = made.get("spec")
    if old is None or spec is None or spec is not old.get("spec"):
        return defaulted(made, row)
    if (row.group, row.kind) == ("", "Pod"):
        return pod_status(made)
    return {**defaulted({**made, "spec": {}}, row), "spec": spec}


def fill(value: Any, schema: Schema) -> Any:
    """A value with its schema's defaults; what has none is shared and not copied."""
    found = _defaults_of(schema)
    if not found.any:
        return value
    if isinstance(value, dict):
        if "properties" not in schema:
            others = schema.get("additionalProperties")
            return {name: fill(item, others) for name, item in value.items()} if others else value
        filled = dict(value)
        for name, child in found.below:
            if name in value:
                filled[name] = fill(value[name], child)
        for name, default in found.own:
            if filled.get(name) is None:
                filled[name] = default
        return filled
    if isinstance(value, list) and "items" in schema:
        return [fill(item, schema["items"]) for item in value]
    return value


class _Defaults(NamedTuple):
    """The defaults of a schema, which is kept too, so that no other can come to have its identity."""

    schema: Schema
    any: bool
    """Whether it has some, or anything below it has."""
    own: tuple[tuple[str, Any], ...]
    below: tuple[tuple[str, Schema], ...]
    """The fields below which there are some."""


_KNOWN: dict[int, _Defaults] = {}


def _defaults_of(schema: Schema) -> _Defaults:
    known = _KNOWN.get(id(schema))
    if known is None:
        properties: Schema = schema.get("properties", {})
        own = tuple((name, child["default"]) for name, child in properties.items() if "default" in child)
        below = tuple((name, child) for name, child in properties.items() if _defaults_of(child).any)
        inner = (schema.get("additionalProperties"), schema.get("items"))
        deeper = any(child and ("default" in child or _defaults_of(child).any) for child in inner)
        known = _KNOWN[id(schema)] = _Defaults(schema, bool(own or below or deeper), own, below)
    return known


def _template(raw: Raw) -> Raw:
    return {**raw, "metadata": raw.get("metadata") or {}, "spec": pod_spec(raw.get("spec") or {})}


def _job_spec(spec: Raw) -> Raw:
    filled = at(spec, "template", _template, made=True)
    if "completions" not in spec and "parallelism" not in spec:
        filled |= {"completions": 1, "parallelism": 1}
    filled = under(filled, parallelism=1)
    per_index = spec.get("backoffLimitPerIndex") is not None
    failing = spec.get("podFailurePolicy") is not None
    filled = under(
        filled,
        backoffLimit=NEVER_LIMIT if per_index else 6,
        completionMode="NonIndexed",
        suspend=False,
        manualSelector=False,
        podReplacementPolicy="Failed" if failing else "TerminatingOrFailed",
    )
    if failing:
        filled["podFailurePolicy"] = _failure_policy(spec["podFailurePolicy"])
    return filled


def _failure_policy(raw: Raw) -> Raw:
    rules = []
    for rule in raw.get("rules") or ():
        conditions = rule.get("onPodConditions")
        if conditions:
            rule = {**rule, "onPodConditions": [under(each, status="True") for each in conditions]}
        rules.append(rule)
    return {**raw, "rules": rules or None}


def _job(raw: Raw) -> Raw:
    return labelled(with_conditions(at(raw, "spec", _job_spec, made=True), PROBED))


def labelled(job: Raw) -> Raw:
    """A Job that has no labels, with those of its template: they are one and the same, as they are in a real server."""
    labels = (job["spec"]["template"].get("metadata") or {}).get("labels")
    if not labels or job["metadata"].get("labels"):
        return job
    return {**job, "metadata": {**job["metadata"], "labels": labels}}


def _service_spec(spec: Raw) -> Raw:
    filled = under(spec, sessionAffinity="None", type="ClusterIP")
    if spec.get("ports"):
        filled["ports"] = [
            {**under(port, protocol="TCP"), "targetPort": port.get("targetPort") or port.get("port") or 0}
            for port in spec["ports"]
        ]
    if filled["type"] in ("NodePort", "LoadBalancer") or (filled["type"] == "ClusterIP" and spec.get("externalIPs")):
        filled = under(filled, externalTrafficPolicy="Cluster")
    if filled["type"] == "LoadBalancer":
        filled = under(filled, allocateLoadBalancerNodePorts=True)
    if filled["type"] != "ExternalName":
        filled = under(filled, internalTrafficPolicy="Cluster")
    if filled["sessionAffinity"] == "ClientIP":
        config = (spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}
        filled["sessionAffinityConfig"] = {"clientIP": under(config, timeoutSeconds=10800)}
    elif filled["sessionAffinity"] == "None":
        filled.pop("sessionAffinityConfig", None)
    return filled


def _service(raw: Raw) -> Raw:
    return with_conditions(at(raw, "spec", _service_spec, made=True), _EXPLAINED)


def _secret(raw: Raw) -> Raw:
    """A Secret has its stringData in its data before it is noted who owns that."""
    return under(secret_kept(raw), type="Opaque")


def secret_kept(raw: Raw) -> Raw:
    """A Secret as it is stored: what stringData says is in data."""
    said = raw.get("stringData")
    if said is None:
        return raw
    kept = {name: item for name, item in raw.items() if name not in ("stringData", "data", "type")}
    encoded = {name: b64encode(text.encode()).decode() for name, text in said.items()}
    data = {**(raw.get("data") or {}), **encoded}
    return {**kept, **({"data": data} if data else {}), "type": raw.get("type", "Opaque")}


def _namespace(raw: Raw) -> Raw:
    name = raw["metadata"].get("name")
    labels = {**(raw["metadata"].get("labels") or {})}
    if name:
        labels["kubernetes.io/metadata.name"] = name
    raw = with_conditions(raw)
    return {**raw, "metadata": {**raw["metadata"], **({"labels": labels} if labels else {})}}


def _claim(raw: Raw) -> Raw:
    return with_conditions(at(raw, "spec", lambda spec: under(spec, volumeMode="Filesystem"), made=True), PROBED)


def _limit_range(raw: Raw) -> Raw:
    def item(limit: Raw) -> Raw:
        if limit.get("type") != "Container":
            return limit
        filled = dict(limit)
        most, least = limit.get("max") or {}, limit.get("min") or {}
        default = {**most, **(limit.get("default") or {})}
        request = {**least, **default, **(limit.get("defaultRequest") or {})}
        if default:
            filled["default"] = default
        if request:
            filled["defaultRequest"] = request
        return filled

    def spec(given: Raw) -> Raw:
        return {**given, "limits": [item(each) for each in given.get("limits") or ()] or None}

    return at(raw, "spec", spec, made=True)


def _priority_class(raw: Raw) -> Raw:
    return under(raw, value=0, preemptionPolicy="PreemptLowerPriority")


def _node(raw: Raw) -> Raw:
    """A Node gives what it has unless it says otherwise."""
    raw = with_conditions(raw, _BEATING)
    status = raw.get("status") or {}
    if status.get("capacity") and not status.get("allocatable"):
        return {**raw, "status": {**status, "allocatable": status["capacity"]}}
    return raw


def _binding(raw: Raw) -> Raw:
    group = "rbac.authorization.k8s.io"
    filled = at(raw, "roleRef", lambda ref: under(ref, apiGroup=group), made=True)
    if raw.get("subjects"):
        filled["subjects"] = [_subject(each, group) for each in raw["subjects"]]
    return filled


def _subject(raw: Raw, group: str) -> Raw:
    return raw if raw.get("kind") == "ServiceAccount" else under(raw, apiGroup=group)


def _autoscaler(raw: Raw) -> Raw:
    def spec(given: Raw) -> Raw:
        filled = under(given, minReplicas=1)
        if not given.get("metrics"):
            target = {"type": "Utilization", "averageUtilization": 80}
            filled["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
        return at(filled, "behavior", _behavior)

    return with_conditions(at(raw, "spec", spec, made=True))


def _behavior(raw: Raw) -> Raw:
    """How fast an autoscaler goes up and down where it says anything of that."""
    up = {"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": _UP}
    down = {"selectPolicy": "Max", "policies": _DOWN}
    return {
        **raw,
        "scaleUp": under(raw.get("scaleUp") or {}, **up),
        "scaleDown": under(raw.get("scaleDown") or {}, **down),
    }


_UP = [{"type": "Pods", "value": 4, "periodSeconds": 15}, {"type": "Percent", "value": 100, "periodSeconds": 15}]
_DOWN = [{"type": "Percent", "value": 100, "periodSeconds": 15}]


def _role(raw: Raw) -> Raw:
    """A role has rules, though they may be null."""
    return {**raw, "rules": raw.get("rules") or None}


def _slice(raw: Raw) -> Raw:
    """An EndpointSlice has endpoints and ports, though they may be null."""
    endpoints = [under(each, conditions={}) for each in raw.get("endpoints") or ()]
    ports = [under(each, name="", protocol="TCP") for each in raw.get("ports") or ()]
    return {**raw, "endpoints": endpoints or None, "ports": ports or None}


def _endpoints(raw: Raw) -> Raw:
    if not raw.get("subsets"):
        return raw
    subsets = []
    for subset in raw["subsets"]:
        ports = [under(each, protocol="TCP") for each in subset.get("ports") or ()]
        subsets.append({**subset, "ports": ports} if ports else subset)
    return {**raw, "subsets": subsets}


def _event(raw: Raw) -> Raw:
    times: Raw = {"firstTimestamp": None, "lastTimestamp": None, "eventTime": None}
    raw = at(raw, "series", lambda series: under(series, lastObservedTime=None))
    return under(raw, involvedObject={}, source={}, reportingComponent="", reportingInstance="", **times)


_STEPS: dict[tuple[str, str], Callable[[Raw], Raw]] = {
    ("", "Pod"): pod,
    ("batch", "Job"): _job,
    ("", "Event"): _event,
    ("", "Endpoints"): _endpoints,
    ("discovery.k8s.io", "EndpointSlice"): _slice,
    ("", "Service"): _service,
    ("coordination.k8s.io", "Lease"): lambda raw: under(raw, spec={}),
    ("", "Node"): _node,
    ("", "ResourceQuota"): lambda raw: under(raw, spec={}),
    ("", "Secret"): _secret,
    ("", "Namespace"): _namespace,
    ("", "PersistentVolumeClaim"): _claim,
    ("", "LimitRange"): _limit_range,
    ("scheduling.k8s.io", "PriorityClass"): _priority_class,
    ("rbac.authorization.k8s.io", "ClusterRole"): _role,
    ("rbac.authorization.k8s.io", "Role"): _role,
    ("rbac.authorization.k8s.io", "RoleBinding"): _binding,
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): _binding,
    ("autoscaling", "HorizontalPodAutoscaler"): _autoscaler,
}
