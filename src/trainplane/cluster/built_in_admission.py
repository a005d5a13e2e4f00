"""Admission of built-in kinds: what a cluster adds to pods for where they run, and what a namespace does not allow."""

from collections.abc import Iterator

from trainplane.api.kinds import Kind
from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.api.ref import Ref
from trainplane.cluster import pod_security
from trainplane.cluster.errors import Forbidden
from trainplane.cluster.ground import Ground, Note
from trainplane.cluster.limit_ranges import breaches, with_defaults
from trainplane.cluster.pod_accounts import with_account
from trainplane.cluster.runtime_class import classed

_TOLERATED = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_SYSTEM_PRIORITIES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


def admitted(new: Raw, old: Raw | None, *, ground: Ground, row: Kind) -> Raw:
    """The object with what a cluster adds to it; raises Forbidden."""
    if row.group or row.kind != "Pod":
        return new
    if old is not None:
        tolerations = _tolerations(new["spec"])
        if tolerations == new["spec"].get("tolerations"):
            return new
        return {**new, "spec": {**new["spec"], "tolerations": tolerations}}
    new = with_defaults(new, _ranges(new, ground))
    new = with_account(new, ground.lookup, place=ground.place)
    spec = _prioritised(dict(new["spec"]), new, ground)
    spec = {**spec, "tolerations": _tolerations(spec)}
    return {**new, "spec": classed(spec, ground.lookup, pod=new["metadata"].get("name", ""))}


def checked(new: Raw, old: Raw | None, *, ground: Ground, row: Kind, subresource: str = "") -> tuple[str, ...]:
    """What to warn of in an object that is right in itself; raises Forbidden where its namespace does not allow it."""
    key = (row.group, row.kind)
    if key == ("", "Pod"):
        return tuple(_checked_pod(new, old, ground, subresource))
    if key == ("", "PersistentVolumeClaim") and old is None:
        _check_limits(new, ground, row.resource)
    if key == ("batch", "Job") and not subresource:
        template = look(new, "spec", "template", "spec") or {}
        if old is None or template != look(old, "spec", "template", "spec"):
            return tuple(
                _would_violate(template, ground.lookup(Ref("", "Namespace", "", new["metadata"]["namespace"])))
            )
    if key == ("", "Namespace") and old is not None and not subresource:
        pods = (stored.object for stored in ground.store.list("pods", namespace=new["metadata"]["name"]).items)
        return tuple(pod_security.warnings_of_pods(new, old, pods))
    return ()


def _checked_pod(new: Raw, old: Raw | None, ground: Ground, subresource: str) -> Iterator[str]:
    if subresource not in ("", "ephemeralcontainers") or (old is not None and _images(new) == _images(old)):
        return
    name, spec = new["metadata"].get("name", ""), new.get("spec") or {}
    namespace = ground.lookup(Ref("", "Namespace", "", new["metadata"].get("namespace", "")))
    enforced = pod_security.policy(namespace, pod_security.ENFORCE)
    if found := pod_security.violations(spec, enforced):
        raise Forbidden.of("pods", name, f'violates PodSecurity "{enforced}": {pod_security.told(found)}')
    yield from _would_violate(spec, namespace, kept=enforced)
    if old is None:
        _check_limits(new, ground, "pods")


def _would_violate(spec: Raw, namespace: Raw | None, *, kept: pod_security.Policy | None = None) -> Iterator[str]:
    for mode in (pod_security.WARN, pod_security.AUDIT):
        wanted = pod_security.policy(namespace, mode)
        if wanted == kept:
            continue
        if found := pod_security.violations(spec, wanted):
            words = f'would violate PodSecurity "{wanted}": {pod_security.told(found)}'
            yield Note(words) if mode == pod_security.AUDIT else words


def _images(pod: Raw) -> list[tuple[object, object]]:
    """What of a pod may change and matters to its security."""
    spec = pod.get("spec") or {}
    kinds = ("initContainers", "containers", "ephemeralContainers")
    return [(each.get("name"), each.get("image")) for kind in kinds for each in spec.get(kind) or ()]


def _check_limits(new: Raw, ground: Ground, resource: str) -> None:
    if found := breaches(new, _ranges(new, ground)):
        raise Forbidden.of(resource, new["metadata"].get("name", ""), _listed(found))


def _listed(found: list[str]) -> str:
    return found[0] if len(found) == 1 else f"[{', '.join(found)}]"


def _ranges(new: Raw, ground: Ground) -> list[Raw]:
    place = new["metadata"].get("namespace", "")
    if not ground.store.count("limitranges", namespace=place):
        return []
    return [stored.object for stored in ground.store.list("limitranges", namespace=place).items]


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
    said = spec.get("preemptionPolicy")
    if said is not None and said != policy:
        words = (
            f"the string value of PreemptionPolicy ({said}) must not be provided in pod spec; "
            f"priority admission controller computed {policy} from the given PriorityClass name"
        )
        raise Forbidden.of("pods", new["metadata"].get("name", ""), words)
    named = {"priorityClassName": name} if name else {}
    return {**spec, **named, "priority": value, "preemptionPolicy": spec.get("preemptionPolicy") or policy}


def _global_default(ground: Ground) -> tuple[str, int, str] | None:
    if not ground.store.count("priorityclasses.scheduling.k8s.io"):
        return None
    for stored in ground.store.list("priorityclasses.scheduling.k8s.io").items:
        raw = stored.object
        if raw.get("globalDefault"):
            return raw["metadata"]["name"], raw.get("value", 0), raw.get("preemptionPolicy", "PreemptLowerPriority")
    return None
