"""Pod Security: what pods may not ask of the machine, by the level that their namespace's label sets.

Without a label the level is baseline, since every namespace here is on a machine that people share; only who may
label namespaces can allow more.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.cluster.errors import Forbidden

LABEL = "pod-security.kubernetes.io/enforce"
PRIVILEGED = "privileged"
BASELINE = "baseline"
RESTRICTED = "restricted"
_CAPABILITIES = frozenset(
    (
        *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP"),
        *("SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
    )
)
_SYSCTLS = frozenset(
    (
        *("kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.ip_local_reserved_ports"),
        *("net.ipv4.ip_unprivileged_port_start", "net.ipv4.ping_group_range", "net.ipv4.tcp_fin_timeout"),
        *("net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_keepalive_time"),
        *("net.ipv4.tcp_rmem", "net.ipv4.tcp_syncookies", "net.ipv4.tcp_wmem"),
    )
)
_VOLUMES = ("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret")
"""The volumes of the restricted level."""


def check(pod: Raw, namespace: Raw | None) -> None:
    """Refuse a pod that its namespace does not allow; raises Forbidden."""
    level = look(namespace, "metadata", "labels", LABEL) or BASELINE
    if level == PRIVILEGED:
        return
    spec = pod.get("spec") or {}
    found = list(_baseline(spec))
    if level == RESTRICTED:
        found += _restricted(spec)
    if found:
        words = f'violates PodSecurity "{level}:latest": {", ".join(found)}'
        raise Forbidden.of("pods", pod["metadata"].get("name", ""), words)


def _containers(spec: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        yield from spec.get(kind) or ()


def _named(names: list[str], noun: str) -> str:
    quoted = ", ".join(f'"{name}"' for name in names)
    return f"{noun}{'s' if len(names) > 1 else ''} {quoted}"


def _baseline(spec: Mapping[str, Any]) -> Iterator[str]:
    added = [
        each["name"]
        for each in _containers(spec)
        if set(look(each, "securityContext", "capabilities", "add") or ()) - _CAPABILITIES
    ]
    if added:
        words = "must not include more in securityContext.capabilities.add"
        yield f"non-default capabilities ({_named(added, 'container')} {words})"
    hosts = [f"{name}=true" for name in ("hostNetwork", "hostPID", "hostIPC") if spec.get(name)]
    if hosts:
        yield f"host namespaces ({', '.join(hosts)})"
    volumes = [each["name"] for each in spec.get("volumes") or () if "hostPath" in each]
    if volumes:
        yield f"hostPath volumes ({_named(volumes, 'volume')})"
    ports = [
        each["name"] for each in _containers(spec) if any(port.get("hostPort") for port in each.get("ports") or ())
    ]
    if ports:
        yield f"hostPort ({_named(ports, 'container')} uses hostPorts)"
    mighty = [each["name"] for each in _containers(spec) if look(each, "securityContext", "privileged")]
    if mighty:
        yield f"privileged ({_named(mighty, 'container')} must not set securityContext.privileged=true)"
    masks = [each["name"] for each in _containers(spec) if look(each, "securityContext", "procMount") == "Unmasked"]
    if masks:
        yield f'procMount ({_named(masks, "container")} must not set securityContext.procMount to "Unmasked")'
    if any(
        look(each, "securityContext", "seccompProfile", "type") == "Unconfined" for each in (spec, *_containers(spec))
    ):
        yield 'seccompProfile (must not set securityContext.seccompProfile.type to "Unconfined")'
    wanted = [each.get("name") for each in look(spec, "securityContext", "sysctls") or ()]
    if forbidden := [str(name) for name in wanted if name not in _SYSCTLS]:
        yield f"forbidden sysctls ({', '.join(forbidden)})"


def _restricted(spec: Mapping[str, Any]) -> Iterator[str]:
    names = [each["name"] for each in _containers(spec)]
    open_ = [
        each["name"]
        for each in _containers(spec)
        if look(each, "securityContext", "allowPrivilegeEscalation") is not False
    ]
    if open_:
        words = "must set securityContext.allowPrivilegeEscalation=false"
        yield f"allowPrivilegeEscalation != false ({_named(open_, 'container')} {words})"
    kept = [
        each["name"]
        for each in _containers(spec)
        if "ALL" not in (look(each, "securityContext", "capabilities", "drop") or ())
    ]
    if kept:
        words = 'must set securityContext.capabilities.drop=["ALL"]'
        yield f"unrestricted capabilities ({_named(kept, 'container')} {words})"
    other = [each["name"] for each in spec.get("volumes") or () if not any(kind in each for kind in _VOLUMES)]
    if other:
        yield f"restricted volume types ({_named(other, 'volume')} uses a restricted volume type)"
    whole = look(spec, "securityContext", "runAsNonRoot")
    if not whole and not all(look(each, "securityContext", "runAsNonRoot") for each in _containers(spec)):
        yield f"runAsNonRoot != true (pod or {_named(names, 'container')} must set securityContext.runAsNonRoot=true)"
    if look(spec, "securityContext", "seccompProfile", "type") not in ("RuntimeDefault", "Localhost"):
        words = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
        yield f"seccompProfile (pod or {_named(names, 'container')} {words})"
