"""Admission of built-in kinds: what a cluster adds to pods for where they run, and limits that a namespace sets."""

from trainplane.api.kinds import Kind
from trainplane.api.meta import Raw
from trainplane.api.ref import Ref
from trainplane.cluster import pod_security
from trainplane.cluster.errors import Forbidden
from trainplane.cluster.ground import Ground
from trainplane.cluster.runtime_class import classed

_TOLERATED = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_SYSTEM_PRIORITIES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
DEFAULT_ACCOUNT = "default"
LIMIT_NOTE = "kubernetes.io/limit-ranger"


def admitted(new: Raw, old: Raw | None, *, ground: Ground, row: Kind) -> Raw:
    """The object with what a cluster adds to it; raises Forbidden."""
    if row.group or row.kind != "Pod" or old is not None:
        return new
    spec = dict(new.get("spec") or {})
    name = spec.get("serviceAccountName") or DEFAULT_ACCOUNT
    spec |= {"serviceAccountName": name, "serviceAccount": name}
    place = new["metadata"].get("namespace", "")
    if ground.lookup(Ref("", "ServiceAccount", place, name)) is None:
        words = f'error looking up service account {place}/{name}: serviceaccount "{name}" not found'
        raise Forbidden.of("pods", new["metadata"].get("name", ""), words)
    pod_security.check(new, ground.lookup(Ref("", "Namespace", "", place)))
    new = limited(new, [stored.object for stored in ground.store.list("limitranges", namespace=place).items])
    spec = {**spec, "containers": (new.get("spec") or {}).get("containers") or []}
    spec = _prioritised(spec, new, ground)
    spec = {**spec, "tolerations": _tolerations(spec)}
    return {**new, "spec": classed(spec, ground.lookup, pod=new["metadata"].get("name", ""))}


def limited(new: Raw, ranges: list[Raw]) -> Raw:
    """The pod with the defaults that a namespace's LimitRanges give containers, and a note of them."""
    notes: list[str] = []
    containers = list((new.get("spec") or {}).get("containers") or ())
    for raw in ranges:
        for limit in (raw.get("spec") or {}).get("limits") or ():
            if limit.get("type") == "Container":
                containers = [_given(each, limit, notes) for each in containers]
    if not notes:
        return new
    told = f"LimitRanger plugin set: {'; '.join(notes)}"
    annotations = {**(new["metadata"].get("annotations") or {}), LIMIT_NOTE: told}
    metadata = {**new["metadata"], "annotations": annotations}
    return {**new, "metadata": metadata, "spec": {**new["spec"], "containers": containers}}


def _given(container: Raw, limit: Raw, notes: list[str]) -> Raw:
    resources = dict(container.get("resources") or {})
    for part, word, defaults in (
        ("requests", "request", limit.get("defaultRequest") or {}),
        ("limits", "limit", limit.get("default") or {}),
    ):
        given = resources.get(part) or {}
        added = {name: amount for name, amount in sorted(defaults.items()) if name not in given}
        if added:
            resources[part] = {**given, **added}
            notes.append(f"{', '.join(added)} {word} for container {container.get('name')}")
    return {**container, "resources": resources}


def _tolerations(spec: Raw) -> list[Raw]:
    given = list(spec.get("tolerations") or ())
    for key in _TOLERATED:
        if not any(_covers(each, key) for each in given):
            given.append({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300})
    return given


def _covers(toleration: Raw, key: str) -> bool:
    return bool(toleration.get("key", key) == key and toleration.get("effect", "NoExecute") == "NoExecute")


def _prioritised(spec: Raw, new: Raw, ground: Ground) -> Raw:
    """The spec with the number that its priority class stands for."""
    name = spec.get("priorityClassName")
    value, policy = 0, "PreemptLowerPriority"
    if name in _SYSTEM_PRIORITIES:
        value = _SYSTEM_PRIORITIES[name]
    elif name:
        found = ground.lookup(Ref("scheduling.k8s.io", "PriorityClass", "", name))
        if found is None:
            raise Forbidden.of("pods", new["metadata"].get("name", ""), f"no PriorityClass with name {name} was found")
        value, policy = found.get("value", 0), found.get("preemptionPolicy", policy)
    else:
        name, value, policy = _global_default(ground) or (name, value, policy)
    given = spec.get("priority")
    if given is not None and given != value:
        words = (
            f"the integer value of priority ({given}) must not be provided in pod spec; "
            f"priority admission controller computed {value} from the given PriorityClass name"
        )
        raise Forbidden.of("pods", new["metadata"].get("name", ""), words)
    named = {"priorityClassName": name} if name else {}
    return {**spec, **named, "priority": value, "preemptionPolicy": spec.get("preemptionPolicy") or policy}


def _global_default(ground: Ground) -> tuple[str, int, str] | None:
    for stored in ground.store.list("priorityclasses.scheduling.k8s.io").items:
        raw = stored.object
        if raw.get("globalDefault"):
            return raw["metadata"]["name"], raw.get("value", 0), raw.get("preemptionPolicy", "PreemptLowerPriority")
    return None
