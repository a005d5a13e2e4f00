"""What pods can ask for on this machine, as the Runner has found by trying."""

from collections.abc import Sequence

import msgspec

from trainplane.node.runner import Ability


class Found(msgspec.Struct, frozen=True):
    """What was found at the start."""

    rootless: bool
    has_ranges: bool
    has_users: bool
    cgroups: int | None
    """The version of the control groups that can be used."""
    has_egress: bool
    has_filters: bool


def abilities(found: Found) -> Sequence[Ability]:
    """One for each thing that a pod can ask for."""
    return (*_isolation(), _filters(found), *_users(found), *_limits(found), *_network(found))


def _yes(name: str, reason: str, message: str) -> Ability:
    return Ability(name, honoured=True, reason=reason, message=message)


def _no(name: str, reason: str, message: str) -> Ability:
    return Ability(name, honoured=False, reason=reason, message=message)


def _isolation() -> Sequence[Ability]:
    return (
        _yes("ProcessIsolation", "Namespaces", "a container sees its own processes only"),
        _yes("VolumeMounts", "Namespaces", "volumes are mounted where the pod says"),
        _yes("ReadOnlyRootFilesystem", "Namespaces", "the root is mounted read-only where the pod says so"),
        _yes("NoNewPrivileges", "Kernel", "allowPrivilegeEscalation: false is honoured"),
        _yes("ShareProcessNamespace", "Namespaces", "containers see each other's processes where the pod says so"),
    )


def _filters(found: Found) -> Ability:
    if found.has_filters:
        message = "containers are kept from calls of the kernel that reach beyond them, unless they are Unconfined"
        return _yes("Seccomp", "Kernel", message)
    message = "containers may make every call of the kernel; use a kernel with CONFIG_SECCOMP_FILTER on x86-64 or arm64"
    return _no("Seccomp", "NoFilters", message)


def _users(found: Found) -> Sequence[Ability]:
    if not found.rootless:
        if found.has_users:
            message = "a pod's users are unprivileged ones of its namespace on the host"
            user = _yes("RunAsUser", "UserNamespaces", message)
        else:
            message = "pods run as unprivileged users of their namespace, and see other numbers than they ask for"
            user = _no("RunAsUser", "NoUserNamespaces", f"{message}; set the sysctl user.max_user_namespaces above 0")
        groups = _yes("FSGroup", "Root", "fsGroup and supplementalGroups are set")
        capabilities = _yes("Capabilities", "Kernel", "a container's root has the capabilities that the pod leaves it")
        return user, groups, capabilities
    user = _yes("RunAsUser", "UserNamespaces", "a pod sees itself as the user it asks for; on the host it is you")
    capabilities = _no(
        "Capabilities",
        "OrdinaryUser",
        "dropped capabilities are gone; added ones reach only what the pod itself owns; run as root for more",
    )
    if found.has_ranges:
        return user, _yes("FSGroup", "SubordinateUsers", "fsGroup and supplementalGroups are set"), capabilities
    message = "a pod has one user and one group; fsGroup changes nothing, because its volumes are its user's anyway"
    remedy = "for more install uidmap and give yourself 65536 users in /etc/subuid and /etc/subgid"
    return user, _no("FSGroup", "OneUser", f"{message}; {remedy}"), capabilities


def _limits(found: Found) -> Sequence[Ability]:
    if found.cgroups is not None:
        reason = f"CgroupV{found.cgroups}"
        return (
            _yes("MemoryLimits", reason, f"held by the kernel's control groups, version {found.cgroups}"),
            _yes("CPULimits", reason, f"held by the kernel's control groups, version {found.cgroups}"),
        )
    remedy = "run as root, or under `systemd-run --user --scope -p Delegate=yes`"
    return (
        _no(
            "MemoryLimits",
            "Watched",
            f"no control groups can be made; a container is looked at every second and killed over its limit; {remedy}",
        ),
        _no("CPULimits", "Affinity", f"no control groups can be made; limits are rounded up to whole cores; {remedy}"),
    )


def _network(found: Found) -> Sequence[Ability]:
    if found.has_egress:
        way_out = _yes("Egress", "Proxy", "pods reach the outside by the proxy that HTTP_PROXY and HTTPS_PROXY name")
    else:
        way_out = _no("Egress", "TurnedOff", "pods reach nothing outside the cluster; start without --no-egress")
    if found.rootless:
        host = _no("HostNetwork", "OrdinaryUser", "only root can give a pod the host's network; run as root")
    else:
        host = _yes("HostNetwork", "Root", "hostNetwork is honoured")
    return _yes("NetworkIsolation", "Namespaces", "each pod has an address and ports of its own"), way_out, host
