"""The defaults of pods: what an API server fills into their specs and statuses when they are read."""

from collections.abc import Callable, Mapping
from typing import Any

from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.cluster.images import is_newest
from trainplane.cluster.pod_totals import with_totals

_MODE = 420
"""0644, the mode of files in volumes."""
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_OTHER_VOLUMES: dict[str, Raw] = {
    "azureDisk": {"cachingMode": "ReadWrite", "kind": "Shared", "fsType": "ext4", "readOnly": False},
    "iscsi": {"iscsiInterface": "default", "lun": 0},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs", "secretRef": None},
}
"""What is filled into volumes of vendors."""
_STATUSES = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")


def under(raw: Raw, **defaults: Any) -> Raw:
    """The object with these fields where it has none of that name; those given come after."""
    return {**raw, **{name: item for name, item in defaults.items() if name not in raw}}


def at(raw: Raw, name: str, step: Callable[[Raw], Raw], *, made: bool = False) -> Raw:
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
    filled = under(
        filled,
        restartPolicy="Always",
        terminationGracePeriodSeconds=30,
        dnsPolicy="ClusterFirst",
        securityContext={},
        schedulerName="default-scheduler",
    )
    if look(filled, "affinity", "nodeAffinity", _PREFERRED):
        filled["affinity"] = _with_preferences(filled["affinity"])
    if filled.get("serviceAccountName") or filled.get("serviceAccount"):
        name = filled.get("serviceAccountName") or filled["serviceAccount"]
        filled |= {"serviceAccountName": name, "serviceAccount": name}
    return filled


def _with_preferences(affinity: Raw) -> Raw:
    nodes = affinity["nodeAffinity"]
    preferred = [under(each, preference={}) for each in nodes[_PREFERRED]]
    return {**affinity, "nodeAffinity": {**nodes, _PREFERRED: preferred}}


def _of_a_pod(spec: Raw) -> Raw:
    """What only pods get, and templates do not: requests that follow limits, and ports of the host's network."""
    filled = under(pod_spec(spec), enableServiceLinks=True)
    for name in ("initContainers", "containers"):
        if filled.get(name):
            filled[name] = [{**each, "resources": _resources(each["resources"])} for each in filled[name]]
            if filled.get("hostNetwork"):
                filled[name] = [_host_ports(each) for each in filled[name]]
    if filled.get("resources"):
        filled = with_totals(filled)
    return filled


def _container(raw: Raw) -> Raw:
    filled = dict(raw)
    for name in _PROBES:
        if name in raw:
            filled[name] = under(raw[name], **_PROBE)
            if "grpc" in filled[name]:
                filled[name]["grpc"] = under(filled[name]["grpc"], service="")
            if "httpGet" in filled[name]:
                filled[name]["httpGet"] = _http(filled[name]["httpGet"])
    if raw.get("lifecycle"):
        filled["lifecycle"] = {name: _handler(each) for name, each in raw["lifecycle"].items()}
    if raw.get("env"):
        filled["env"] = [_env(each) if "valueFrom" in each or each.get("value") == "" else each for each in raw["env"]]
    filled["resources"] = raw.get("resources") or {}
    return under(
        filled,
        terminationMessagePath="/dev/termination-log",
        terminationMessagePolicy="File",
        imagePullPolicy=_pulled(raw.get("image") or ""),
    )


def _pulled(image: str) -> str:
    return "Always" if is_newest(image) else "IfNotPresent"


def _env(raw: Raw) -> Raw:
    if raw.get("value") == "":
        # An empty value says as much as none, and a server keeps none.
        raw = {name: item for name, item in raw.items() if name != "value"}
    source = raw.get("valueFrom")
    return {**raw, "valueFrom": _told({**source})} if isinstance(source, Mapping) else raw


def _told(raw: Raw) -> Raw:
    """What the downward API tells: a field of the pod, or a resource of a container."""
    if isinstance(raw.get("fieldRef"), Mapping):
        raw = {**raw, "fieldRef": under(raw["fieldRef"], apiVersion="v1")}
    if isinstance(raw.get("resourceFieldRef"), Mapping):
        raw = {**raw, "resourceFieldRef": under(raw["resourceFieldRef"], divisor="0")}
    return raw


def _handler(raw: Any) -> Any:
    if not isinstance(raw, Mapping):
        return raw
    if isinstance(raw.get("sleep"), Mapping):
        return {**raw, "sleep": under({**raw["sleep"]}, seconds=0)}
    if not isinstance(raw.get("httpGet"), Mapping):
        return raw
    return {**raw, "httpGet": _http({**raw["httpGet"]})}


def _http(raw: Raw) -> Raw:
    filled = under(raw, path="/", scheme="HTTP")
    if raw.get("httpHeaders"):
        filled["httpHeaders"] = [under(each, name="", value="") for each in raw["httpHeaders"]]
    return filled


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
        under(port, hostPort=port["containerPort"]) if port.get("containerPort") else port for port in raw["ports"]
    ]
    return {**raw, "ports": ports}


def _volume(raw: Raw) -> Raw:
    if set(raw) <= {"name"}:
        return {**raw, "emptyDir": {}}
    filled = dict(raw)
    for name in ("secret", "configMap", "downwardAPI", "projected"):
        if isinstance(raw.get(name), Mapping):
            filled[name] = under(raw[name], defaultMode=_MODE)
    if isinstance(raw.get("hostPath"), Mapping):
        filled["hostPath"] = under(raw["hostPath"], type="")
    if isinstance(raw.get("downwardAPI"), Mapping):
        filled["downwardAPI"] = _with_files(filled["downwardAPI"])
    if isinstance(raw.get("projected"), Mapping):
        filled["projected"] = at(under(filled["projected"], sources=None), "sources", _sources)
    for name in _OTHER_VOLUMES.keys() & raw.keys():
        if isinstance(raw[name], Mapping):
            filled[name] = under(raw[name], **_OTHER_VOLUMES[name])
    if isinstance(raw.get("image"), Mapping):
        filled["image"] = under(raw["image"], pullPolicy=_pulled(raw["image"].get("reference") or ""))
    if isinstance(look(raw, "ephemeral", "volumeClaimTemplate"), Mapping):
        template = under(raw["ephemeral"]["volumeClaimTemplate"], metadata={})
        template = at(template, "spec", lambda spec: under(spec, volumeMode="Filesystem"), made=True)
        filled["ephemeral"] = {**raw["ephemeral"], "volumeClaimTemplate": template}
    return filled


def _with_files(raw: Raw) -> Raw:
    return {**raw, "items": [_told(each) for each in raw["items"]]} if raw.get("items") else raw


def _sources(raw: Any) -> Any:
    return [_source(each) for each in raw]


def _source(raw: Raw) -> Raw:
    filled = at(raw, "downwardAPI", _with_files)
    return at(filled, "serviceAccountToken", lambda token: under(token, expirationSeconds=3600))


def pod(raw: Raw) -> Raw:
    """A pod."""
    return pod_status(at(raw, "spec", _of_a_pod, made=True))


def pod_status(raw: Raw) -> Raw:
    """A pod whose spec has its defaults."""
    return _with_states(with_conditions(raw, PROBED))


_CONDITION: Raw = {"type": "", "status": "", "lastTransitionTime": None}
PROBED: Raw = {**_CONDITION, "lastProbeTime": None}
"""What a condition of a pod, a Job or a claim has, though nothing may be said of it."""


def with_conditions(raw: Raw, blank: Raw = _CONDITION) -> Raw:
    """The object, whose conditions have all that conditions of its kind have."""
    conditions = (raw.get("status") or {}).get("conditions")
    if not conditions or all(blank.keys() <= each.keys() for each in conditions):
        return raw
    return {**raw, "status": {**raw["status"], "conditions": [under(each, **blank) for each in conditions]}}


def _with_states(raw: Raw) -> Raw:
    """The statuses of containers have both their states, though nothing may be known of them."""
    status = dict(raw.get("status") or {})
    found = [name for name in _STATUSES if status.get(name)]
    for name in found:
        status[name] = [under(each, state={}, lastState={}) for each in status[name]]
    return {**raw, "status": status} if found else raw
