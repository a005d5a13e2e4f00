"""The defaults of built-in kinds: what an API server fills in when an object is read, before anyone owns it."""

from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Any

from trainplane.api.compiled import filler
from trainplane.api.kinds import Kind
from trainplane.api.meta import Raw
from trainplane.api.schema import Schema, openapi
from trainplane.cluster.resources import resource_of

_MODE = 420
"""0644, the mode of files in volumes."""
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_STATUSES = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
NEVER_LIMIT = 2**31 - 1


def defaulted(raw: Raw, row: Kind) -> Raw:
    """The object with what its schema and its kind fill in."""
    # What built-in kinds hold has its shape by now, so that only fields with defaults need be looked at.
    filled = fill(raw, openapi(row.type)) if resource_of(row).custom else filler(row.type)(raw)
    step = _STEPS.get((row.group, row.kind))
    return step(filled) if step else filled


def _with_times(raw: Raw) -> Raw:
    """The conditions of pods and Jobs have both their times, though they may be null."""
    conditions = (raw.get("status") or {}).get("conditions")
    if not conditions:
        return raw
    timed = [_under(each, lastProbeTime=None, lastTransitionTime=None) for each in conditions]
    return {**raw, "status": {**raw["status"], "conditions": timed}}


def _with_states(raw: Raw) -> Raw:
    """The statuses of containers have both their states, though nothing may be known of them."""
    status = dict(raw.get("status") or {})
    found = [name for name in _STATUSES if status.get(name)]
    for name in found:
        status[name] = [_under(each, state={}, lastState={}) for each in status[name]]
    return {**raw, "status": status} if found else raw


def fill(value: Any, schema: Schema) -> Any:
    """A value with its schema's defaults; what has none is shared and not copied."""
    if isinstance(value, dict):
        properties, others = schema.get("properties"), schema.get("additionalProperties")
        if properties is None:
            return {name: fill(item, others) for name, item in value.items()} if others else value
        filled = {name: fill(item, properties[name]) if name in properties else item for name, item in value.items()}
        for name, child in properties.items():
            if "default" in child and filled.get(name) is None:
                filled[name] = child["default"]
        return filled
    if isinstance(value, list) and "items" in schema:
        return [fill(item, schema["items"]) for item in value]
    return value


def _under(raw: Raw, **defaults: Any) -> Raw:
    """The object with these fields where it has none of that name; those given come after."""
    return {**raw, **{name: item for name, item in defaults.items() if name not in raw}}


def _at(raw: Raw, name: str, step: Callable[[Raw], Raw], *, made: bool = False) -> Raw:
    """The object with one field put through a step, if it is there or is to be made."""
    inner = raw.get(name)
    if inner is None and not made:
        return raw
    return {**raw, name: step(inner or {})}


def pod_spec(spec: Raw) -> Raw:
    """A pod's spec."""
    filled = dict(spec)
    for name in ("initContainers", "containers", "ephemeralContainers"):
        if spec.get(name):
            filled[name] = [_container(each) for each in spec[name]]
    if spec.get("volumes"):
        filled["volumes"] = [_volume(each) for each in spec["volumes"]]
    filled = _under(
        filled,
        restartPolicy="Always",
        terminationGracePeriodSeconds=30,
        dnsPolicy="ClusterFirst",
        securityContext={},
        schedulerName="default-scheduler",
    )
    if filled.get("serviceAccountName") or filled.get("serviceAccount"):
        name = filled.get("serviceAccountName") or filled["serviceAccount"]
        filled |= {"serviceAccountName": name, "serviceAccount": name}
    return filled


def _of_a_pod(spec: Raw) -> Raw:
    """What only pods get, and templates do not: requests that follow limits, and ports of the host's network."""
    filled = _under(pod_spec(spec), enableServiceLinks=True)
    for name in ("initContainers", "containers"):
        if filled.get(name):
            filled[name] = [{**each, "resources": _resources(each["resources"])} for each in filled[name]]
            if filled.get("hostNetwork"):
                filled[name] = [_host_ports(each) for each in filled[name]]
    return filled


def _container(raw: Raw) -> Raw:
    filled = dict(raw)
    for name in _PROBES:
        if name in raw:
            filled[name] = _under(raw[name], **_PROBE)
            if "httpGet" in filled[name]:
                filled[name]["httpGet"] = _under(filled[name]["httpGet"], path="/", scheme="HTTP")
    if raw.get("lifecycle"):
        filled["lifecycle"] = {name: _handler(each) for name, each in raw["lifecycle"].items()}
    if raw.get("env"):
        filled["env"] = [_env(each) if "valueFrom" in each or each.get("value") == "" else each for each in raw["env"]]
    filled["resources"] = raw.get("resources") or {}
    image = raw.get("image") or ""
    last = image.rpartition("/")[2]
    newest = "@" not in last and (":" not in last or last.endswith(":latest"))
    return _under(
        filled,
        terminationMessagePath="/dev/termination-log",
        terminationMessagePolicy="File",
        imagePullPolicy="Always" if newest else "IfNotPresent",
    )


def _env(raw: Raw) -> Raw:
    if raw.get("value") == "":
        # An empty value says as much as none, and a server keeps none.
        raw = {name: item for name, item in raw.items() if name != "value"}
    source = raw.get("valueFrom")
    return {**raw, "valueFrom": _told({**source})} if isinstance(source, Mapping) else raw


def _told(raw: Raw) -> Raw:
    """What the downward API tells: a field of the pod, or a resource of a container."""
    if isinstance(raw.get("fieldRef"), Mapping):
        raw = {**raw, "fieldRef": _under(raw["fieldRef"], apiVersion="v1")}
    if isinstance(raw.get("resourceFieldRef"), Mapping):
        raw = {**raw, "resourceFieldRef": _under(raw["resourceFieldRef"], divisor="0")}
    return raw


def _handler(raw: Any) -> Any:
    if not isinstance(raw, Mapping) or not isinstance(raw.get("httpGet"), Mapping):
        return raw
    return {**raw, "httpGet": _under({**raw["httpGet"]}, path="/", scheme="HTTP")}


def _resources(raw: Raw) -> Raw:
    """Requests follow limits where only these are given."""
    limits, requests = raw.get("limits"), raw.get("requests") or {}
    if not limits:
        return raw
    return {**raw, "requests": {**{name: limits[name] for name in limits if name not in requests}, **requests}}


def _host_ports(raw: Raw) -> Raw:
    if not raw.get("ports"):
        return raw
    ports = [
        _under(port, hostPort=port["containerPort"]) if port.get("containerPort") else port for port in raw["ports"]
    ]
    return {**raw, "ports": ports}


def _volume(raw: Raw) -> Raw:
    if set(raw) <= {"name"}:
        return {**raw, "emptyDir": {}}
    filled = dict(raw)
    for name in ("secret", "configMap", "downwardAPI", "projected"):
        if isinstance(raw.get(name), Mapping):
            filled[name] = _under(raw[name], defaultMode=_MODE)
    if isinstance(raw.get("hostPath"), Mapping):
        filled["hostPath"] = _under(raw["hostPath"], type="")
    if isinstance(raw.get("downwardAPI"), Mapping):
        filled["downwardAPI"] = _with_files(filled["downwardAPI"])
    if isinstance(raw.get("projected"), Mapping):
        filled["projected"] = _at(filled["projected"], "sources", _sources)
    return filled


def _with_files(raw: Raw) -> Raw:
    return {**raw, "items": [_told(each) for each in raw["items"]]} if raw.get("items") else raw


def _sources(raw: Any) -> Any:
    return [_source(each) for each in raw]


def _source(raw: Raw) -> Raw:
    filled = _at(raw, "downwardAPI", _with_files)
    return _at(filled, "serviceAccountToken", lambda token: _under(token, expirationSeconds=3600))


def _pod(raw: Raw) -> Raw:
    made = _at(raw, "spec", _of_a_pod, made=True)
    return _with_states(_with_times(made))


def _template(raw: Raw) -> Raw:
    return {**raw, "metadata": raw.get("metadata") or {}, "spec": pod_spec(raw.get("spec") or {})}


def _job_spec(spec: Raw) -> Raw:
    filled = _at(spec, "template", _template, made=True)
    if "completions" not in spec and "parallelism" not in spec:
        filled |= {"completions": 1, "parallelism": 1}
    filled = _under(filled, parallelism=1)
    per_index = spec.get("backoffLimitPerIndex") is not None
    failing = spec.get("podFailurePolicy") is not None
    filled = _under(
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
            rule = {**rule, "onPodConditions": [_under(each, status="True") for each in conditions]}
        rules.append(rule)
    return {**raw, "rules": rules} if rules else raw


def _job(raw: Raw) -> Raw:
    return labelled(_with_times(_at(raw, "spec", _job_spec, made=True)))


def labelled(job: Raw) -> Raw:
    """A Job that has no labels, with those of its template: they are one and the same, as they are in a real server."""
    labels = (job["spec"]["template"].get("metadata") or {}).get("labels")
    if not labels or job["metadata"].get("labels"):
        return job
    return {**job, "metadata": {**job["metadata"], "labels": labels}}


def _service_spec(spec: Raw) -> Raw:
    filled = _under(spec, sessionAffinity="None", type="ClusterIP")
    if spec.get("ports"):
        filled["ports"] = [_under(port, protocol="TCP", targetPort=port.get("port") or 0) for port in spec["ports"]]
    if filled["type"] in ("NodePort", "LoadBalancer"):
        filled = _under(filled, externalTrafficPolicy="Cluster")
    if filled["type"] == "LoadBalancer":
        filled = _under(filled, allocateLoadBalancerNodePorts=True)
    if filled["type"] != "ExternalName":
        filled = _under(filled, internalTrafficPolicy="Cluster")
    if filled["sessionAffinity"] == "ClientIP":
        filled = _under(filled, sessionAffinityConfig={"clientIP": {"timeoutSeconds": 10800}})
    return filled


def _service(raw: Raw) -> Raw:
    return _at(raw, "spec", _service_spec, made=True)


def _secret(raw: Raw) -> Raw:
    """A Secret's stringData goes into its data; it is dropped later, when who owns it has been noted."""
    return _under(raw, type="Opaque")


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
    return {**raw, "metadata": {**raw["metadata"], **({"labels": labels} if labels else {})}}


def _claim(raw: Raw) -> Raw:
    return _at(raw, "spec", lambda spec: _under(spec, volumeMode="Filesystem"), made=True)


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

    return _at(raw, "spec", spec, made=True)


def _priority_class(raw: Raw) -> Raw:
    return _under(raw, value=0, preemptionPolicy="PreemptLowerPriority")


def _binding(raw: Raw) -> Raw:
    group = "rbac.authorization.k8s.io"
    filled = _at(raw, "roleRef", lambda ref: _under(ref, apiGroup=group), made=True)
    if raw.get("subjects"):
        filled["subjects"] = [_subject(each, group) for each in raw["subjects"]]
    return filled


def _subject(raw: Raw, group: str) -> Raw:
    return raw if raw.get("kind") == "ServiceAccount" else _under(raw, apiGroup=group)


def _autoscaler(raw: Raw) -> Raw:
    def spec(given: Raw) -> Raw:
        filled = _under(given, minReplicas=1)
        if not given.get("metrics"):
            target = {"type": "Utilization", "averageUtilization": 80}
            filled["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
        return _at(filled, "behavior", _behavior)

    return _at(raw, "spec", spec)


def _behavior(raw: Raw) -> Raw:
    """How fast an autoscaler goes up and down where it says anything of that."""
    up = {"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": _UP}
    down = {"selectPolicy": "Max", "policies": _DOWN}
    return {
        **raw,
        "scaleUp": _under(raw.get("scaleUp") or {}, **up),
        "scaleDown": _under(raw.get("scaleDown") or {}, **down),
    }


_UP = [{"type": "Pods", "value": 4, "periodSeconds": 15}, {"type": "Percent", "value": 100, "periodSeconds": 15}]
_DOWN = [{"type": "Percent", "value": 100, "periodSeconds": 15}]


def _role(raw: Raw) -> Raw:
    """A role has rules, though they may be null."""
    return {**raw, "rules": raw.get("rules") or None}


def _slice(raw: Raw) -> Raw:
    """An EndpointSlice has endpoints and ports, though they may be null."""
    endpoints = [_under(each, conditions={}) for each in raw.get("endpoints") or ()]
    ports = [_under(each, name="", protocol="TCP") for each in raw.get("ports") or ()]
    return {**raw, "endpoints": endpoints or None, "ports": ports or None}


def _endpoints(raw: Raw) -> Raw:
    if not raw.get("subsets"):
        return raw
    subsets = []
    for subset in raw["subsets"]:
        ports = [_under(each, protocol="TCP") for each in subset.get("ports") or ()]
        subsets.append({**subset, "ports": ports} if ports else subset)
    return {**raw, "subsets": subsets}


def _event(raw: Raw) -> Raw:
    times: Raw = {"firstTimestamp": None, "lastTimestamp": None, "eventTime": None}
    return _under(raw, involvedObject={}, source={}, reportingComponent="", reportingInstance="", **times)


_STEPS: dict[tuple[str, str], Callable[[Raw], Raw]] = {
    ("", "Pod"): _pod,
    ("batch", "Job"): _job,
    ("", "Event"): _event,
    ("", "Endpoints"): _endpoints,
    ("discovery.k8s.io", "EndpointSlice"): _slice,
    ("", "Service"): _service,
    ("coordination.k8s.io", "Lease"): lambda raw: _under(raw, spec={}),
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
