"""What an API server warns of in objects of built-in kinds that it takes: what is deprecated, useless or surprising."""

from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from trainplane.api.kinds import Kind
from trainplane.api.meta import Raw
from trainplane.api.quantity import parse
from trainplane.api.raw import look
from trainplane.cluster.addresses import address_faults, read_address
from trainplane.cluster.armor import ARMOR, armor_warnings
from trainplane.cluster.names import is_label, label_faults, value_faults
from trainplane.cluster.volume_causes import volume_warnings

_LABELS = {
    "beta.kubernetes.io/arch": ("v1.14", "kubernetes.io/arch"),
    "beta.kubernetes.io/instance-type": ("v1.17", "node.kubernetes.io/instance-type"),
    "beta.kubernetes.io/os": ("v1.14", "kubernetes.io/os"),
    "failure-domain.beta.kubernetes.io/region": ("v1.17", "topology.kubernetes.io/region"),
    "failure-domain.beta.kubernetes.io/zone": ("v1.17", "topology.kubernetes.io/zone"),
    "failure-domain.kubernetes.io/region": ("v1.17", "topology.kubernetes.io/region"),
    "failure-domain.kubernetes.io/zone": ("v1.17", "topology.kubernetes.io/zone"),
}
"""Labels of nodes that have other names now."""
_NO_USE = {
    "scheduler.alpha.kubernetes.io/critical-pod": ("v1.16", "priorityClassName"),
    "seccomp.security.alpha.kubernetes.io/pod": ("v1.27", "seccompProfile"),
    "security.alpha.kubernetes.io/sysctls": ("v1.11", "sysctls"),
    "security.alpha.kubernetes.io/unsafe-sysctls": ("v1.11", "sysctls"),
}
"""Annotations that nobody reads: since when, and the field that took their place."""
_SECCOMP = "container.seccomp.security.alpha.kubernetes.io/"
_TLS = "kubernetes.io/tls"
_NO_POD = "a null labelSelector results in matching no pod"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_BYTES = ("memory", "ephemeral-storage")
_SURPRISING = "which can result in surprising behavior; a DNS label is recommended"
_VOLUMES = {
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "storageOS": "deprecated in v1.22, non-functional in v1.25+",
}
Part = Mapping[str, Any]


def kind_warnings(row: Kind, new: Raw, old: Raw | None) -> Iterator[str]:
    """What to warn of in an object of a built-in kind that is made, or changed in what counts."""
    counted = old is None or look(old, "metadata", "generation") != look(new, "metadata", "generation")
    found = _KINDS.get((row.group, row.kind))
    if found and (old is None or row.kind == "Service" or (row.kind == "Job" and counted)):
        yield from found(new)


def early_warnings(row: Kind, new: Raw) -> Iterator[str]:
    """What to warn of in a new object of a built-in kind even if it is refused."""
    if (row.group, row.kind) == ("", "Pod"):
        yield from armor_warnings(new["metadata"], new.get("spec") or {}, "metadata.annotations")


def _pod(new: Raw) -> Iterator[str]:
    yield from _name(new, "this is used in the Pod's hostname")
    yield from _annotations(new["metadata"], "metadata.annotations")
    yield from armor_warnings(new["metadata"], new.get("spec") or {}, "metadata.annotations")
    yield from _spec(new.get("spec") or {}, "spec")


def _job(new: Raw) -> Iterator[str]:
    template = look(new, "spec", "template") or {}
    yield from _name(new, "this is used in Pod names and hostnames")
    where = "spec.template.metadata.annotations"
    yield from _annotations(template.get("metadata") or {}, where, armor=True)
    yield from _spec(template.get("spec") or {}, "spec.template.spec")


def _name(new: Raw, use: str) -> Iterator[str]:
    name = new["metadata"].get("name") or ""
    if name and not is_label(name):
        yield f"metadata.name: {use}, {_SURPRISING}: [{' '.join(label_faults(name))}]"


def _annotations(metadata: Part, at: str, *, armor: bool = False) -> Iterator[str]:
    """What is said in annotations that have no meaning any more, or should be said in a field."""
    for key in metadata.get("annotations") or ():
        where = f"{at}[{key}]"
        if key in _NO_USE:
            since, field = _NO_USE[key]
            yield f'{where}: non-functional in {since}+; use the "{field}" field instead'
        elif key.startswith(_SECCOMP):
            yield f'{where}: non-functional in v1.27+; use the "seccompProfile" field instead'
        elif armor and key.startswith(ARMOR):
            yield f'{where}: deprecated since v1.30; use the "appArmorProfile" field instead'


def _renamed(label: str) -> str:
    since, now = _LABELS[label]
    return f'deprecated since {since}; use "{now}" instead'


def _spec(spec: Part, at: str) -> Iterator[str]:
    for label in spec.get("nodeSelector") or ():
        if label in _LABELS:
            yield f"{at}.nodeSelector[{label}]: {_renamed(label)}"
    if spec.get("affinity"):
        yield from _affinity(spec["affinity"], f"{at}.affinity")
    for index, each in enumerate(spec.get("topologySpreadConstraints") or ()):
        where, key = f"{at}.topologySpreadConstraints[{index}]", each.get("topologyKey")
        if key in _LABELS:
            yield f"{where}.topologyKey: {key} is {_renamed(key)}"
        if each.get("labelSelector") is None:
            yield f"{where}.labelSelector: {_NO_POD}"
    yield from _twice(spec.get("hostAliases"), "ip", f"{at}.hostAliases")
    yield from _twice(spec.get("imagePullSecrets"), "name", f"{at}.imagePullSecrets")
    if spec.get("volumes"):
        yield from _volumes(spec["volumes"], f"{at}.volumes")
    taken: dict[tuple[Any, ...], list[str]] = {}
    for kind in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(kind) or ()):
            yield from _container(container, f"{at}.{kind}[{index}]", taken if kind == "containers" else {})


def _affinity(affinity: Part, at: str) -> Iterator[str]:
    nodes = affinity.get("nodeAffinity") or {}
    wanted = [
        (f"{at}.nodeAffinity.{_REQUIRED}.nodeSelectorTerms[{index}]", term)
        for index, term in enumerate(look(nodes, _REQUIRED, "nodeSelectorTerms") or ())
    ]
    wanted += [
        (f"{at}.nodeAffinity.{_PREFERRED}[{index}].preference", each.get("preference") or {})
        for index, each in enumerate(nodes.get(_PREFERRED) or ())
    ]
    for where, term in wanted:
        for index, each in enumerate(term.get("matchExpressions") or ()):
            if each.get("key") in _LABELS:
                yield f"{where}.matchExpressions[{index}].key: {each['key']} is {_renamed(each['key'])}"
            for number, value in enumerate(each.get("values") or ()):
                for fault in value_faults(value):
                    # Where nodes are only preferred, a value that no label can have is not refused.
                    yield f"{where}.matchExpressions[{index}].values[{number}]: {value} is invalid, {fault}"
    for side in ("podAffinity", "podAntiAffinity"):
        pods = affinity.get(side) or {}
        for index, term in enumerate(pods.get(_REQUIRED) or ()):
            if term.get("labelSelector") is None:
                yield f"{at}.{side}.{_REQUIRED}[{index}].labelSelector: {_NO_POD}"
        for index, each in enumerate(pods.get(_PREFERRED) or ()):
            if look(each, "podAffinityTerm", "labelSelector") is None:
                yield f"{at}.{side}.{_PREFERRED}[{index}].podAffinityTerm.labelSelector: {_NO_POD}"


def _twice(items: Any, name: str, at: str) -> Iterator[str]:
    seen: set[str] = set()
    for index, each in enumerate(items or ()):
        value = each.get(name) or ""
        if not value and name == "name":
            yield f'{at}[{index}].{name}: invalid empty name ""'
        elif value in seen:
            yield f'{at}[{index}].{name}: duplicate {name} "{value}"'
        seen.add(value)


def _volumes(volumes: Any, at: str) -> Iterator[str]:
    for index, volume in enumerate(volumes):
        for kind, words in _VOLUMES.items():
            if volume.get(kind) is not None or volume.get(kind.lower()) is not None:
                yield f"{at}[{index}].{kind}: {words}"
        claim = look(volume, "ephemeral", "volumeClaimTemplate", "spec", "resources", "requests") or {}
        where = f"{at}[{index}].ephemeral.volumeClaimTemplate.spec.resources.requests"
        yield from _fractions(claim, where, ("storage",))
    yield from volume_warnings(volumes)


def _container(container: Part, at: str, taken: dict[tuple[Any, ...], list[str]]) -> Iterator[str]:
    env = container.get("env") or ()
    seen: set[str] = set()
    repeats = len({each.get("name") for each in env}) < len(env)
    for index, each in enumerate(env if repeats else ()):
        name = each.get("name")
        if name in seen:
            yield f'{at}.env[{index}]: hides previous definition of "{name}", which may be dropped when using apply'
        seen.add(name)
    for part, amounts in (container.get("resources") or {}).items():
        if part in ("limits", "requests"):
            yield from _fractions(amounts, f"{at}.resources.{part}", _BYTES)
    for index, port in enumerate(container.get("ports") or ()):
        where = f"{at}.ports[{index}]"
        if port.get("hostIP") and not port.get("hostPort"):
            shown = f"{{Name:{port.get('name') or ''} HostPort:0 ContainerPort:{port.get('containerPort')}"
            shown += f" Protocol:{port.get('protocol', 'TCP')} HostIP:{port['hostIP']}}}"
            yield f"{where}: hostIP set without hostPort: {shown}"
        key = (port.get("containerPort"), port.get("protocol", "TCP"), port.get("hostPort"))
        for before in taken.setdefault(key, []):
            yield f"{where}: duplicate port definition with {before}"
        taken[key].append(where)


def _fractions(amounts: Part, at: str, names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        amount = amounts.get(name)
        if isinstance(amount, str) and amount.endswith("m") and parse(amount).nano % 10**9:
            yield f'{at}[{name}]: fractional byte value "{amount}" is invalid, must be an integer'


def _service(new: Raw) -> Iterator[str]:
    if look(new, "spec", "externalIPs") and look(new, "spec", "type") == "ExternalName":
        yield 'spec.externalIPs is ignored when spec.type is "ExternalName"'
    elif look(new, "spec", "externalIPs") and look(new, "spec", "clusterIP") != "None":
        yield "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
    if look(new, "spec", "trafficDistribution") == "PreferClose":
        yield 'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'
    address = look(new, "spec", "loadBalancerIP") or ""
    if (found := read_address(address)) and any(address_faults(address)):
        usual = getattr(found, "ipv4_mapped", None) or found
        yield f'spec.loadBalancerIP: non-standard IP address "{address}" is invalid: use "{usual}"'
    if look(new, "spec", "externalName") and look(new, "spec", "type") != "ExternalName":
        yield 'spec.externalName is ignored when spec.type is not "ExternalName"'
    if look(new, "spec", "clusterIP") == "None":
        if look(new, "spec", "loadBalancerIP"):
            yield "spec.loadBalancerIP is ignored for headless services"
        if look(new, "spec", "externalIPs"):
            yield "spec.externalIPs is ignored for headless services"
        if look(new, "spec", "sessionAffinity") not in (None, "None"):
            yield "spec.SessionAffinity is ignored for headless services"


def _account(new: Raw) -> Iterator[str]:
    key = "kubernetes.io/enforce-mountable-secrets"
    if key in (new["metadata"].get("annotations") or {}):
        words = "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
        yield f"metadata.annotations[{key}]: {words}"


def _claim(new: Raw) -> Iterator[str]:
    key = "volume.beta.kubernetes.io/storage-class"
    if key in (new["metadata"].get("annotations") or {}):
        yield f'metadata.annotations[{key}]: deprecated since v1.8; use "storageClassName" attribute instead'
    for side in ("requests", "limits"):
        yield from _fractions(look(new, "spec", "resources", side) or {}, f"spec.resources.{side}", ("storage",))


def _runtime_class(new: Raw) -> Iterator[str]:
    for label in look(new, "scheduling", "nodeSelector") or ():
        if label in _LABELS:
            yield f"scheduling.nodeSelector: {_renamed(label)}"


def _slice(new: Raw) -> Iterator[str]:
    if new.get("addressType") == "FQDN":
        yield "spec.addressType: FQDN endpoints are deprecated"


def _secret(new: Raw) -> Iterator[str]:
    data = new.get("data") or {}
    for name, word in (("tls.crt", "certificate"), ("tls.key", "key")) if new.get("type") == _TLS else ():
        if b"-----BEGIN" not in b64decode(data.get(name) or ""):
            yield f"tls: failed to find any PEM data in {word} input"
            return


_KINDS: dict[tuple[str, str], Callable[[Raw], Iterator[str]]] = {
    ("", "PersistentVolumeClaim"): _claim,
    ("", "Pod"): _pod,
    ("", "Secret"): _secret,
    ("", "Service"): _service,
    ("discovery.k8s.io", "EndpointSlice"): _slice,
    ("", "ServiceAccount"): _account,
    ("batch", "Job"): _job,
    ("node.k8s.io", "RuntimeClass"): _runtime_class,
}
