"""The columns and cells of Kubernetes' own kinds, as its users know them from `kubectl get`."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from trainplane.api.meta import Raw
from trainplane.cluster.ages import age, duration, parse_time
from trainplane.cluster.metric_cells import targets
from trainplane.cluster.pod_cells import NONE, pod_cells

UNSET = "<unset>"
UNKNOWN = "<unknown>"
_SHOWN = 3

Cells = Callable[[Mapping[str, Any], datetime], list[Any]]


class Shown(msgspec.Struct, frozen=True):
    """One column of a table."""

    name: str
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0


class Printer(msgspec.Struct, frozen=True):
    """A kind's columns, and the cells of one object."""

    columns: tuple[Shown, ...]
    cells: Cells


NAME = Shown("Name", format="name", description="The object's name.")
AGE = Shown("Age", description="How long ago the object was created.")
_CREATED_AT = Shown("Created At", "date", description="When the object was created.")


def _columns(*names: str, wide: Iterable[str] = ()) -> tuple[Shown, ...]:
    return (NAME, *(AGE if name == "Age" else Shown(name) for name in names), *(Shown(n, priority=1) for n in wide))


def _name(obj: Mapping[str, Any]) -> Any:
    return obj["metadata"].get("name", "")


def _age(obj: Mapping[str, Any], now: datetime) -> str:
    return age(obj["metadata"].get("creationTimestamp"), now)


def created_cells(obj: Mapping[str, Any], _now: datetime) -> list[Any]:
    """Name and Created At."""
    return [_name(obj), obj["metadata"].get("creationTimestamp", "")]


def plain_cells(obj: Mapping[str, Any], now: datetime) -> list[Any]:
    """Name and Age."""
    return [_name(obj), _age(obj, now)]


def labels_text(labels: Mapping[str, str] | None) -> str:
    """`a=1,b=2`, or `<none>`."""
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or NONE


def _some(texts: list[str], empty: str) -> str:
    """The first three texts, and how many more there are."""
    if not texts:
        return empty
    more = f" + {len(texts) - _SHOWN} more..." if len(texts) > _SHOWN else ""
    return ",".join(texts[:_SHOWN]) + more


def _node(obj: Mapping[str, Any], now: datetime) -> list[Any]:
    status, labels = obj.get("status", {}), obj["metadata"].get("labels") or {}
    ready = next((c for c in status.get("conditions", ()) if c.get("type") == "Ready"), None)
    word = "Unknown" if ready is None else "Ready" if ready.get("status") == "True" else "NotReady"
    if obj.get("spec", {}).get("unschedulable"):
        word += ",SchedulingDisabled"
    prefix = "node-role.kubernetes.io/"
    roles = {key.removeprefix(prefix) for key in labels if key.startswith(prefix)} | {labels.get("kubernetes.io/role")}
    info: Raw = status.get("nodeInfo") or {}
    kernel, machine = info.get("kernelVersion"), info.get("architecture")
    return [
        _name(obj),
        word,
        ",".join(sorted(filter(None, roles))) or NONE,
        _age(obj, now),
        info.get("kubeletVersion", ""),
        _address(status, "InternalIP"),
        _address(status, "ExternalIP"),
        info.get("osImage") or UNKNOWN,
        f"{kernel} ({machine})" if kernel and machine else kernel or UNKNOWN,
        info.get("containerRuntimeVersion") or UNKNOWN,
    ]


def _address(status: Mapping[str, Any], type_: str) -> str:
    return next((a["address"] for a in status.get("addresses", ()) if a.get("type") == type_), NONE)


def _service(obj: Mapping[str, Any], now: datetime) -> list[Any]:
    spec = obj.get("spec", {})
    ports = [
        f"{port['port']}{':' + str(port['nodePort']) if port.get('nodePort') else ''}/{port.get('protocol', 'TCP')}"
        for port in spec.get("ports", ())
    ]
    return [
        _name(obj),
        spec.get("type", "ClusterIP"),
        spec.get("clusterIP") or NONE,
        _outside(spec, obj.get("status", {})),
        ",".join(ports) or NONE,
        _age(obj, now),
        labels_text(spec.get("selector")),
    ]


def _outside(spec: Mapping[str, Any], status: Mapping[str, Any]) -> str:
    given = list(spec.get("externalIPs", ()))
    match spec.get("type"):
        case "ExternalName":
            return str(spec.get("externalName", ""))
        case "LoadBalancer":
            ingress = (status.get("loadBalancer") or {}).get("ingress") or ()
            found = sorted({point.get("ip") or point.get("hostname", "") for point in ingress} - {""})
            return ",".join([*found, *given]) or "<pending>"
        case _:
            return ",".join(given) or NONE


def _job(obj: Mapping[str, Any], now: datetime) -> list[Any]:
    spec, status = obj.get("spec", {}), obj.get("status", {})
    done = status.get("succeeded", 0)
    parallel = spec.get("parallelism") or 0
    completions = f"{done}/{spec['completions']}" if spec.get("completions") is not None else f"{done}/1"
    if spec.get("completions") is None and parallel > 1:
        completions += f" of {parallel}"
    start, end = parse_time(status.get("startTime")), parse_time(status.get("completionTime"))
    containers = spec.get("template", {}).get("spec", {}).get("containers", ())
    return [
        _name(obj),
        job_status(obj),
        completions,
        "" if start is None else duration(((end or now) - start).total_seconds()),
        _age(obj, now),
        ",".join(c.get("name", "") for c in containers),
        ",".join(c.get("image", "") for c in containers),
        labels_text((spec.get("selector") or {}).get("matchLabels")),
    ]


def job_status(job: Mapping[str, Any]) -> str:
    """The word in a Job's Status column."""
    true = {c.get("type") for c in job.get("status", {}).get("conditions", ()) if c.get("status") == "True"}
    for word in ("Complete", "Failed"):
        if word in true:
            return word
    if job["metadata"].get("deletionTimestamp"):
        return "Terminating"
    return next((word for word in ("Suspended", "FailureTarget", "SuccessCriteriaMet") if word in true), "Running")


def _event(obj: Mapping[str, Any], now: datetime) -> list[Any]:
    about: Raw = obj.get("involvedObject") or obj.get("regarding") or {}
    source: Raw = obj.get("source") or obj.get("deprecatedSource") or {}
    first = obj.get("firstTimestamp") or obj.get("deprecatedFirstTimestamp") or obj.get("eventTime")
    last = obj.get("lastTimestamp") or obj.get("deprecatedLastTimestamp") or first
    count = obj.get("count") or obj.get("deprecatedCount") or 1
    series: Raw = obj.get("series") or {}
    if series:
        last, count = series.get("lastObservedTime"), series.get("count", 0)
    by = source.get("component") or obj.get("reportingComponent") or obj.get("reportingController") or ""
    where = source.get("host") or obj.get("reportingInstance")
    return [
        age(last, now),
        obj.get("type", ""),
        obj.get("reason", ""),
        f"{about.get('kind', '').lower()}/{about.get('name', '')}",
        about.get("fieldPath", ""),
        f"{by}, {where}" if where else by,
        (obj.get("message") or obj.get("note") or "").strip(),
        age(first, now),
        count,
        _name(obj),
    ]


_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


def _claim(obj: Mapping[str, Any], now: datetime) -> list[Any]:
    metadata, spec, status = obj["metadata"], obj.get("spec", {}), obj.get("status", {})
    bound = bool(spec.get("volumeName"))
    modes = [short for mode, short in _MODES.items() if mode in status.get("accessModes", ())]
    beta = (metadata.get("annotations") or {}).get("volume.beta.kubernetes.io/storage-class")
    return [
        _name(obj),
        "Terminating" if metadata.get("deletionTimestamp") else status.get("phase", ""),
        spec.get("volumeName", ""),
        str((status.get("capacity") or {}).get("storage", "0")) if bound else "",
        ",".join(modes) if bound else "",
        beta or spec.get("storageClassName") or "",
        spec.get("volumeAttributesClassName") or UNSET,
        _age(obj, now),
        spec.get("volumeMode") or UNSET,
    ]


def _quota(obj: Mapping[str, Any], now: datetime) -> list[Any]:
    hard: Raw = obj.get("spec", {}).get("hard") or {}
    used: Raw = obj.get("status", {}).get("used") or {}
    said = {key: f"{key}: {used.get(key, '0')}/{hard[key]}" for key in sorted(hard)}
    limits = ", ".join(text for key, text in said.items() if key.startswith("limits."))
    requests = ", ".join(text for key, text in said.items() if not key.startswith("limits."))
    return [_name(obj), requests, limits, _age(obj, now)]


def _binding(obj: Mapping[str, Any], now: datetime) -> list[Any]:
    by_kind: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for subject in obj.get("subjects") or ():
        account = subject.get("kind") == "ServiceAccount"
        name = f"{subject.get('namespace', '')}/{subject['name']}" if account else subject["name"]
        by_kind.setdefault(subject.get("kind", ""), []).append(name)
    role: Raw = obj.get("roleRef") or {}
    users, groups, accounts = (", ".join(by_kind[kind]) for kind in ("User", "Group", "ServiceAccount"))
    return [_name(obj), f"{role.get('kind')}/{role.get('name')}", _age(obj, now), users, groups, accounts]


def _endpoints(obj: Mapping[str, Any], now: datetime) -> list[Any]:
    found: list[str] = []
    for subset in obj.get("subsets") or ():
        addresses = [address["ip"] for address in subset.get("addresses") or ()]
        ports = subset.get("ports") or ()
        found += [f"{ip}:{port['port']}" for port in ports for ip in addresses] if ports else addresses
    return [_name(obj), _some(found, NONE), _age(obj, now)]


def _slice(obj: Mapping[str, Any], now: datetime) -> list[Any]:
    ports = [str(port.get("port", "*")) for port in obj.get("ports") or ()]
    addresses = [address for point in obj.get("endpoints") or () for address in point.get("addresses", ())]
    return [_name(obj), obj.get("addressType", ""), _some(ports, UNSET), _some(addresses, UNSET), _age(obj, now)]


def _autoscaler(obj: Mapping[str, Any], now: datetime) -> list[Any]:
    spec = obj.get("spec", {})
    target: Raw = spec.get("scaleTargetRef") or {}
    least = spec.get("minReplicas")
    return [
        _name(obj),
        f"{target.get('kind')}/{target.get('name')}",
        targets(obj),
        UNSET if least is None else str(least),
        spec.get("maxReplicas", 0),
        obj.get("status", {}).get("currentReplicas", 0),
        _age(obj, now),
    ]


def scale_cells(obj: Mapping[str, Any], now: datetime) -> list[Any]:
    """Name, Desired, Available and Age of a Scale."""
    wanted, there = (obj.get(part, {}).get("replicas", 0) for part in ("spec", "status"))
    return [_name(obj), wanted, there, _age(obj, now)]


_EVENT_COLUMNS = (
    *(Shown(name) for name in ("Last Seen", "Type", "Reason", "Object")),
    *(Shown(name, priority=1) for name in ("Subobject", "Source")),
    Shown("Message"),
    *(Shown(name, priority=1) for name in ("First Seen", "Count")),
    Shown("Name", format="name", description=NAME.description, priority=1),
)
_EVENTS = Printer(_EVENT_COLUMNS, _event)
_CREATED = Printer((NAME, _CREATED_AT), created_cells)
_BINDINGS = Printer(_columns("Role", "Age", wide=("Users", "Groups", "ServiceAccounts")), _binding)
PLAIN = Printer((NAME, AGE), plain_cells)
SCALE = Printer((Shown("Name"), Shown("Desired", "integer"), Shown("Available", "integer"), AGE), scale_cells)

PRINTERS: dict[tuple[str, str], Printer] = {
    ("", "Pod"): Printer(
        _columns("Ready", "Status", "Restarts", "Age", wide=("IP", "Node", "Nominated Node", "Readiness Gates")),
        pod_cells,
    ),
    ("", "Node"): Printer(
        _columns(
            *("Status", "Roles", "Age", "Version"),
            wide=("Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime"),
        ),
        _node,
    ),
    ("", "Service"): Printer(
        _columns("Type", "Cluster-IP", "External-IP", "Port(s)", "Age", wide=("Selector",)), _service
    ),
    ("", "Namespace"): Printer(
        _columns("Status", "Age"), lambda o, now: [_name(o), o.get("status", {}).get("phase", ""), _age(o, now)]
    ),
    ("", "ConfigMap"): Printer(
        _columns("Data", "Age"),
        lambda o, now: [_name(o), len(o.get("data") or ()) + len(o.get("binaryData") or ()), _age(o, now)],
    ),
    ("", "Secret"): Printer(
        _columns("Type", "Data", "Age"),
        lambda o, now: [_name(o), o.get("type", "Opaque"), len(o.get("data") or ()), _age(o, now)],
    ),
    ("", "ServiceAccount"): PLAIN,
    ("", "PersistentVolumeClaim"): Printer(
        _columns(
            *("Status", "Volume", "Capacity", "Access Modes", "StorageClass", "VolumeAttributesClass", "Age"),
            wide=("VolumeMode",),
        ),
        _claim,
    ),
    ("", "ResourceQuota"): Printer(_columns("Request", "Limit", "Age"), _quota),
    ("", "LimitRange"): _CREATED,
    ("", "Endpoints"): Printer(_columns("Endpoints", "Age"), _endpoints),
    ("", "Event"): _EVENTS,
    ("events.k8s.io", "Event"): _EVENTS,
    ("batch", "Job"): Printer(
        _columns("Status", "Completions", "Duration", "Age", wide=("Containers", "Images", "Selector")), _job
    ),
    ("discovery.k8s.io", "EndpointSlice"): Printer(_columns("AddressType", "Ports", "Endpoints", "Age"), _slice),
    ("coordination.k8s.io", "Lease"): Printer(
        _columns("Holder", "Age"), lambda o, now: [_name(o), o.get("spec", {}).get("holderIdentity", ""), _age(o, now)]
    ),
    ("scheduling.k8s.io", "PriorityClass"): Printer(
        (
            NAME,
            Shown("Value", "integer"),
            Shown("Global-Default", "boolean"),
            AGE,
            Shown("PreemptionPolicy"),
        ),
        lambda o, now: [
            _name(o),
            o.get("value", 0),
            o.get("globalDefault", False),
            _age(o, now),
            o.get("preemptionPolicy", "PreemptLowerPriority"),
        ],
    ),
    ("node.k8s.io", "RuntimeClass"): Printer(
        _columns("Handler", "Age"), lambda o, now: [_name(o), o.get("handler", ""), _age(o, now)]
    ),
    ("autoscaling", "HorizontalPodAutoscaler"): Printer(
        _columns("Reference", "Targets", "MinPods", "MaxPods", "Replicas", "Age"), _autoscaler
    ),
    ("rbac.authorization.k8s.io", "Role"): _CREATED,
    ("rbac.authorization.k8s.io", "ClusterRole"): _CREATED,
    ("rbac.authorization.k8s.io", "RoleBinding"): _BINDINGS,
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): _BINDINGS,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _CREATED,
}
