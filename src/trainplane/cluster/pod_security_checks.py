"""The checks of Pod Security, each a function from a pod's spec to what is wrong with it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from trainplane.api.raw import look

PRIVILEGED = "privileged"
BASELINE = "baseline"
RESTRICTED = "restricted"
LATEST = 10_000
USER_NAMESPACES = 35
"""The version since which a pod with users of its own may be root among them."""
Spec = Mapping[str, Any]
_CAPABILITIES = frozenset(
    (
        *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP"),
        *("SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
    )
)
_SYSCTLS = {
    0: (
        *("kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.ip_unprivileged_port_start"),
        *("net.ipv4.ping_group_range", "net.ipv4.tcp_syncookies"),
    ),
    27: ("net.ipv4.ip_local_reserved_ports",),
    29: (
        *("net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes"),
        "net.ipv4.tcp_keepalive_time",
    ),
    32: ("net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"),
}
"""The sysctls that pods may set, by the version that came to allow them."""
_SELINUX_TYPES = ("", "container_t", "container_init_t", "container_kvm_t", "container_engine_t")
_VOLUMES = ("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret")
"""The volumes of the restricted level."""
_SECCOMP = ("RuntimeDefault", "Localhost")
_HOSTS = ("hostNetwork", "hostPID", "hostIPC")
_TOLD = frozenset(("securityContext", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle"))
"""Of a container, what the baseline level has something to say of, but for its ports."""


class Violation(NamedTuple):
    """What is not allowed, and where."""

    name: str
    detail: str

    def __str__(self) -> str:
        """As refusals tell it."""
        return f"{self.name} ({self.detail})"


class Check(NamedTuple):
    """A check of one level, since one version; the name of one that it takes the place of."""

    name: str
    level: str
    check: Callable[[Spec, int], Violation | None]
    since: int = 0
    replaces: str = ""


def _containers(spec: Spec) -> Iterator[Spec]:
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        yield from spec.get(kind) or ()


def asks_nothing(spec: Spec) -> bool:
    """Whether a pod has none of what the checks of the baseline level look at, as nearly all have not."""
    if spec.get("securityContext") or any(map(spec.get, _HOSTS)):
        return False
    if any("hostPath" in each for each in spec.get("volumes") or ()):
        return False
    return all(_TOLD.isdisjoint(each) and not _host_port(each) for each in _containers(spec))


def _host_port(container: Spec) -> bool:
    return any(port.get("hostPort") for port in container.get("ports") or ())


def _where(spec: Spec, is_bad: Callable[[Spec], Any]) -> list[str]:
    """The names of the containers of which something is true."""
    return [str(each.get("name")) for each in _containers(spec) if is_bad(each)]


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _many(word: str, names: list[str]) -> str:
    return f"{word}{'s' if len(names) > 1 else ''} {_quoted(names)}"


def _setters(names: list[str], *, pod: Any) -> str:
    """`pod and container "a"`, or either."""
    return " and ".join([*(["pod"] if pod else []), *([_many("container", names)] if names else [])])


def _apparmor(spec: Spec, _: int) -> Violation | None:
    def profile(holder: Spec) -> Any:
        return look(holder, "securityContext", "appArmorProfile", "type") == "Unconfined"

    names = _where(spec, profile)
    if not names and not profile(spec):
        return None
    words = f'{_setters(names, pod=profile(spec))} must not set AppArmor profile type to "Unconfined"'
    return Violation("forbidden AppArmor profile", words)


def _added(container: Spec, allowed: Iterable[str]) -> set[str]:
    return set(look(container, "securityContext", "capabilities", "add") or ()) - set(allowed)


def _too_capable(spec: Spec, allowed: Iterable[str]) -> str:
    names = _where(spec, lambda each: _added(each, allowed))
    added = sorted({name for each in _containers(spec) for name in _added(each, allowed)})
    where = f"{_many('container', names)} must not include {_quoted(added)}"
    return f"{where} in securityContext.capabilities.add" if names else ""


def _capabilities(spec: Spec, _: int) -> Violation | None:
    words = _too_capable(spec, _CAPABILITIES)
    return Violation("non-default capabilities", words) if words else None


def _host_namespaces(spec: Spec, _: int) -> Violation | None:
    found = [f"{name}=true" for name in _HOSTS if spec.get(name)]
    return Violation("host namespaces", ", ".join(found)) if found else None


def _host_path(spec: Spec, _: int) -> Violation | None:
    names = [str(each.get("name")) for each in spec.get("volumes") or () if each.get("hostPath") is not None]
    return Violation("hostPath volumes", _many("volume", names)) if names else None


def _host_ports(spec: Spec, _: int) -> Violation | None:
    def ports(container: Spec) -> list[str]:
        return [str(port["hostPort"]) for port in container.get("ports") or () if port.get("hostPort")]

    names = _where(spec, ports)
    found = sorted({port for each in _containers(spec) for port in ports(each)})
    verb = "use" if len(names) > 1 else "uses"
    word = "hostPorts" if len(found) > 1 else "hostPort"
    return Violation("hostPort", f"{_many('container', names)} {verb} {word} {', '.join(found)}") if names else None


def _probe_hosts(spec: Spec, _: int) -> Violation | None:
    def hosts(container: Spec) -> list[str]:
        probes = [container.get(name) for name in ("livenessProbe", "readinessProbe", "startupProbe")]
        probes += [look(container, "lifecycle", name) for name in ("postStart", "preStop")]
        said = [look(probe, way, "host") for probe in probes for way in ("httpGet", "tcpSocket")]
        return [str(host) for host in said if host and host not in ("127.0.0.1", "::1")]

    names = _where(spec, hosts)
    found = sorted({host for each in _containers(spec) for host in hosts(each)})
    verb = "use" if len(names) > 1 else "uses"
    word = "hosts" if len(found) > 1 else "host"
    words = f"{_many('container', names)} {verb} probe or lifecycle {word} {_quoted(found)}"
    return Violation("probe or lifecycle host", words) if names else None


def _privileged(spec: Spec, _: int) -> Violation | None:
    names = _where(spec, lambda each: look(each, "securityContext", "privileged"))
    words = f"{_many('container', names)} must not set securityContext.privileged=true"
    return Violation("privileged", words) if names else None


def _proc_mount(spec: Spec, minor: int) -> Violation | None:
    if minor >= USER_NAMESPACES and spec.get("hostUsers") is False:
        return None
    return _masked(spec, minor)


def _masked(spec: Spec, _: int) -> Violation | None:
    names = _where(spec, lambda each: look(each, "securityContext", "procMount") not in (None, "Default"))
    kinds = {str(look(each, "securityContext", "procMount")) for each in _containers(spec)} - {"None", "Default"}
    words = f"{_many('container', names)} must not set securityContext.procMount to {_quoted(sorted(kinds))}"
    return Violation("procMount", words) if names else None


def _selinux(spec: Spec, _: int) -> Violation | None:
    def options(holder: Spec) -> Mapping[str, Any]:
        return look(holder, "securityContext", "seLinuxOptions") or {}

    def is_bad(holder: Spec) -> bool:
        said = options(holder)
        return bool(said.get("type", "") not in _SELINUX_TYPES or said.get("user") or said.get("role"))

    names = _where(spec, is_bad)
    if not names and not is_bad(spec):
        return None
    holders = [options(each) for each in (spec, *_containers(spec))]
    types = sorted({str(each["type"]) for each in holders if each.get("type", "") not in _SELINUX_TYPES})
    said = [_many("type", types)] if types else []
    said += [f"{name} may not be set" for name in ("user", "role") if any(each.get(name) for each in holders)]
    where = _setters(names, pod=is_bad(spec))
    return Violation("seLinuxOptions", f"{where} set forbidden securityContext.seLinuxOptions: {'; '.join(said)}")


def _seccomp(holder: Spec) -> Any:
    return look(holder, "securityContext", "seccompProfile", "type")


def _unconfined(spec: Spec, _: int) -> Violation | None:
    def is_bad(holder: Spec) -> bool:
        return _seccomp(holder) not in (None, *_SECCOMP)

    names = _where(spec, is_bad)
    if not names and not is_bad(spec):
        return None
    kinds = sorted({str(_seccomp(each)) for each in (spec, *_containers(spec)) if is_bad(each)})
    where = _setters(names, pod=is_bad(spec))
    return Violation("seccompProfile", f"{where} must not set securityContext.seccompProfile.type to {_quoted(kinds)}")


def _sysctls(spec: Spec, minor: int) -> Violation | None:
    allowed = {name for since, names in _SYSCTLS.items() if since <= minor for name in names}
    said = [str(each.get("name")) for each in look(spec, "securityContext", "sysctls") or ()]
    found = [name for name in said if name not in allowed]
    return Violation("forbidden sysctls", ", ".join(found)) if found else None


def _host_process(spec: Spec, _: int) -> Violation | None:
    def is_bad(holder: Spec) -> Any:
        return look(holder, "securityContext", "windowsOptions", "hostProcess")

    names = _where(spec, is_bad)
    if not names and not is_bad(spec):
        return None
    where = _setters(names, pod=is_bad(spec))
    return Violation("hostProcess", f"{where} must not set securityContext.windowsOptions.hostProcess=true")


def _is_windows(spec: Spec, minor: int) -> bool:
    return bool(minor >= 25 and look(spec, "os", "name") == "windows")


def _escalation(spec: Spec, minor: int) -> Violation | None:
    names = _where(spec, lambda each: look(each, "securityContext", "allowPrivilegeEscalation") is not False)
    if not names or _is_windows(spec, minor):
        return None
    words = f"{_many('container', names)} must set securityContext.allowPrivilegeEscalation=false"
    return Violation("allowPrivilegeEscalation != false", words)


def _few_capabilities(spec: Spec, minor: int) -> Violation | None:
    if _is_windows(spec, minor):
        return None
    keeping = _where(spec, lambda each: "ALL" not in (look(each, "securityContext", "capabilities", "drop") or ()))
    words = [f'{_many("container", keeping)} must set securityContext.capabilities.drop=["ALL"]'] if keeping else []
    words += filter(None, [_too_capable(spec, ("NET_BIND_SERVICE",))])
    return Violation("unrestricted capabilities", "; ".join(words)) if words else None


def _few_volumes(spec: Spec, _: int) -> Violation | None:
    found = [each for each in spec.get("volumes") or () if not any(kind in each for kind in _VOLUMES)]
    if not found:
        return None
    names = [str(each.get("name")) for each in found]
    kinds = sorted({next((kind for kind in each if kind != "name"), "unknown") for each in found})
    verb = "use" if len(names) > 1 else "uses"
    words = f"{_many('volume', names)} {verb} {_many('restricted volume type', kinds)}"
    return Violation("restricted volume types", words)


def _not_root(spec: Spec, minor: int) -> Violation | None:
    def said(holder: Spec) -> Any:
        return look(holder, "securityContext", "runAsNonRoot")

    if minor >= USER_NAMESPACES and spec.get("hostUsers") is False:
        return None
    bad, pod = _where(spec, lambda each: said(each) is False), said(spec)
    if bad or pod is False:
        where = _setters(bad, pod=pod is False)
        return Violation("runAsNonRoot != true", f"{where} must not set securityContext.runAsNonRoot=false")
    silent = [] if pod else _where(spec, lambda each: said(each) is None)
    words = f"pod or {_many('container', silent)} must set securityContext.runAsNonRoot=true"
    return Violation("runAsNonRoot != true", words) if silent else None


def _not_zero(spec: Spec, minor: int) -> Violation | None:
    def is_bad(holder: Spec) -> bool:
        return bool(look(holder, "securityContext", "runAsUser") == 0)

    names = _where(spec, is_bad)
    relaxed = minor >= USER_NAMESPACES and spec.get("hostUsers") is False
    if relaxed or (not names and not is_bad(spec)):
        return None
    return Violation("runAsUser=0", f"{_setters(names, pod=is_bad(spec))} must not set runAsUser=0")


def _confined(spec: Spec, minor: int) -> Violation | None:
    if _is_windows(spec, minor):
        return None
    if bad := _unconfined(spec, minor):
        return bad
    silent = [] if _seccomp(spec) else _where(spec, lambda each: _seccomp(each) is None)
    words = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return Violation("seccompProfile", f"pod or {_many('container', silent)} {words}") if silent else None


CHECKS = (
    Check("apparmor", BASELINE, _apparmor),
    Check("capabilities", BASELINE, _capabilities),
    Check("host-namespaces", BASELINE, _host_namespaces),
    Check("host-path", BASELINE, _host_path),
    Check("host-ports", BASELINE, _host_ports),
    Check("probe-hosts", BASELINE, _probe_hosts, since=34),
    Check("privileged", BASELINE, _privileged),
    Check("proc-mount", BASELINE, _proc_mount),
    Check("selinux", BASELINE, _selinux),
    Check("seccomp", BASELINE, _unconfined),
    Check("sysctls", BASELINE, _sysctls),
    Check("host-process", BASELINE, _host_process),
    Check("escalation", RESTRICTED, _escalation, since=8),
    Check("few-capabilities", RESTRICTED, _few_capabilities, since=22, replaces="capabilities"),
    Check("masked", RESTRICTED, _masked, since=USER_NAMESPACES, replaces="proc-mount"),
    Check("few-volumes", RESTRICTED, _few_volumes, replaces="host-path"),
    Check("not-root", RESTRICTED, _not_root),
    Check("not-zero", RESTRICTED, _not_zero, since=23),
    Check("confined", RESTRICTED, _confined, since=19, replaces="seccomp"),
)
"""In the order in which violations are told."""
