"""What the API server refuses in pods and in the templates of pods."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.cluster.addresses import address_faults
from trainplane.cluster.armor import match_causes
from trainplane.cluster.causes import Cause, duplicate, forbidden, invalid, not_supported, required
from trainplane.cluster.container_causes import Around, container_causes
from trainplane.cluster.ephemeral_causes import ephemeral_causes
from trainplane.cluster.names import key_faults, subdomain_faults
from trainplane.cluster.outlines import judged
from trainplane.cluster.placement_causes import placement_causes
from trainplane.cluster.pod_annotation_causes import annotation_causes
from trainplane.cluster.pod_changes import pod_change_causes
from trainplane.cluster.pod_network_causes import network_causes
from trainplane.cluster.pod_totals import total_causes
from trainplane.cluster.resource_causes import claim_causes, resource_causes
from trainplane.cluster.security_causes import pod_context_causes
from trainplane.cluster.volume_causes import volume_causes
from trainplane.cluster.windows_causes import system_causes

_PREEMPTS = ("PreemptLowerPriority", "Never")
_MOST = 2**31 - 1


def pod_causes(new: Raw, old: Raw | None, subresource: str) -> Iterator[Cause]:
    """What is wrong with a pod, by itself and against what it was."""
    spec = new.get("spec") or {}
    if subresource in ("binding", "eviction"):
        return
    if subresource == "status":
        yield from _status_causes(new.get("status") or {})
        quality = look(new, "status", "qosClass")
        if quality != (look(old, "status", "qosClass") or quality):
            yield invalid("status.qosClass", quality, "field is immutable")
        return
    metadata = new.get("metadata") or {}
    if metadata.get("annotations") != look(old, "metadata", "annotations"):
        yield from annotation_causes(metadata, spec, "metadata.annotations")
    if old is not None and spec is old.get("spec"):
        return
    yield from spec_causes(spec, "spec")
    if old is None:
        yield from match_causes(metadata, spec, "spec")
        if spec.get("ephemeralContainers"):
            yield forbidden("spec.ephemeralContainers", "cannot be set on create")
    else:
        yield from pod_change_causes(spec, old.get("spec") or {}, subresource)


def spec_causes(spec: Raw, at: str) -> Iterable[Cause]:
    """What is wrong with a pod's spec, which stands at a path; nothing, where one with its outline was right."""
    return judged(spec, lambda: fresh_causes(spec, at))


def fresh_causes(spec: Raw, at: str) -> Iterator[Cause]:
    """What is wrong with a pod's spec, whatever was judged before."""
    volumes: dict[str, Mapping[str, Any]] = {}
    yield from volume_causes(spec.get("volumes") or (), f"{at}.volumes", good=volumes)
    claims = spec.get("resourceClaims") or ()
    yield from claim_causes(claims, f"{at}.resourceClaims")
    names = [each["name"] for each in claims if each.get("name")]
    around = Around(
        volumes,
        claims=names,
        grace=spec.get("terminationGracePeriodSeconds"),
        restart=spec.get("restartPolicy") or "",
    )
    if not spec.get("containers"):
        yield required(f"{at}.containers")
    for kind in ("containers", "initContainers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(kind) or ()):
            yield from container_causes(container, f"{at}.{kind}[{index}]", around)
    if spec.get("ephemeralContainers"):
        yield from ephemeral_causes(spec, at)
    policy = spec.get("restartPolicy")
    if policy not in (None, "Always", "OnFailure", "Never"):
        yield not_supported(f"{at}.restartPolicy", policy, ("Always", "OnFailure", "Never"))
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= _MOST:
        yield invalid(f"{at}.activeDeadlineSeconds", deadline, f"must be between 1 and {_MOST}, inclusive")
    yield from network_causes(spec, at)
    yield from placement_causes(spec, at)
    yield from _whole_causes(spec, at)


def _whole_causes(spec: Mapping[str, Any], at: str) -> Iterator[Cause]:
    """What is wrong with what a pod says of itself as a whole."""
    for name in ("nodeName", "serviceAccountName"):
        if text := spec.get(name):
            for fault in subdomain_faults(text):
                yield invalid(f"{at}.{name}", text, fault)
    preempts = spec.get("preemptionPolicy")
    if preempts == "":
        yield required(f"{at}.preemptionPolicy")
    elif preempts not in (None, *_PREEMPTS):
        yield not_supported(f"{at}.preemptionPolicy", preempts, _PREEMPTS)
    if spec.get("overhead"):
        yield from resource_causes({"limits": spec["overhead"]}, f"{at}.overhead")
    if spec.get("resources"):
        yield from total_causes(spec, f"{at}.resources")
    system = look(spec, "os", "name")
    if spec.get("os") is not None and not system:
        yield required(f"{at}.os.name")
    elif system is not None and system not in ("linux", "windows"):
        yield not_supported(f"{at}.os", system, ("linux", "windows"))
    yield from system_causes(spec, at)
    if spec.get("hostUsers") is False:
        for name, shown in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
            if spec.get(name):
                yield forbidden(f"{at}.{shown}", "when `hostUsers` is false")
    yield from pod_context_causes(spec, f"{at}.securityContext")
    yield from _shared_causes(spec, at)
    for index, container in enumerate(spec.get("initContainers") or ()):
        if container.get("restartPolicy") == "Always":
            continue
        for name in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
            if container.get(name) is not None:
                words = "may not be set for init containers without restartPolicy=Always"
                yield forbidden(f"{at}.initContainers[{index}].{name}", words)


def _shared_causes(spec: Mapping[str, Any], at: str) -> Iterator[Cause]:
    """What is wrong with what containers want of the machine, of which there is one."""
    taken: set[str] = set()
    for kind in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(kind) or ()):
            where = f"{at}.{kind}[{index}]"
            if look(container, "securityContext", "procMount") == "Unmasked" and spec.get("hostUsers") is not False:
                words = "`hostUsers` must be false to use `Unmasked`"
                yield invalid(f"{where}.securityContext.procMount", "Unmasked", words)
            if container.get("volumeDevices") and spec.get("hostUsers") is False:
                yield forbidden(f"{where}.volumeDevices", "when `hostUsers` is false")
            for number, port in enumerate(container.get("ports") or () if kind == "containers" else ()):
                if not port.get("hostPort"):
                    continue
                place = f"{port.get('protocol', 'TCP')}/{port.get('hostIP', '')}/{port['hostPort']}"
                if place in taken:
                    yield duplicate(f"{where}.ports[{number}].hostPort", place)
                taken.add(place)


def _status_causes(status: Mapping[str, Any]) -> Iterator[Cause]:
    addresses = [each.get("ip") for each in status.get("podIPs") or ()]
    first = status.get("podIP")
    if first and (not addresses or addresses[0] != first):
        addresses = [first]
    for index, text in enumerate(addresses):
        for fault in address_faults(str(text)):
            yield invalid(f"status.podIPs[{index}]", text, fault)
    for index, condition in enumerate(status.get("conditions") or ()):
        for fault in key_faults(condition.get("type") or ""):
            yield invalid(f"status.conditions[{index}].Type", condition.get("type") or "", fault)
