"""What a pod asks for that it does not get here, so that it is told and not found out. Pure."""

from collections.abc import Iterable, Iterator, Mapping

from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.node.downward import containers
from trainplane.node.lifecycle import Said
from trainplane.node.runner import Ability

NOT_HONOURED = "NotHonoured"
REJECTED = "UnexpectedAdmissionError"
WRONG_SYSTEM = "PodOSNotSupported"
NOWHERE: Mapping[str, str] = {
    "appArmorProfile": "nodes load no profiles; seccompProfile is honoured",
    "dnsPolicy": "the name servers of this machine are not reached by pods; the cluster's is asked, and the proxy",
    "hostIPC": "a pod's shared memory is its own; give its containers a volume in memory",
    "hostPID": "a pod sees its own processes; look into another one with kubectl debug",
    "hostPort": "no port of this machine is opened for a pod; use kubectl port-forward",
    "hostUsers": "only in namespaces with the label trainplane.dev/users: host are users those of the host",
    "mountPropagation": "what is mounted later on one side is not seen on the other; mount it where it is needed",
    "probe host": "probes ask the pod itself, whatever host they name; leave it out",
    "runtimeClassName": "the node runs every container in the same way; its conditions say how",
    "schedulingGroup": "gangs are PodGroups that a label names; see docs/why.md",
    "seLinuxOptions": "nodes set no contexts; seccompProfile is honoured",
    "windowsOptions": "nodes run what runs on Linux; leave them out",
}
"""Fields that no Runner honours: what is instead, or what to do."""
NOT_HERE = Ability(
    "AllPodFields",
    honoured=False,
    reason="SomeAreNot",
    message=f"no node here honours {', '.join(NOWHERE)}; a pod that has such a field gets an event that says so",
)


def not_honoured(pod: Raw, abilities: Iterable[Ability], *, host_users: bool) -> Iterator[Said]:
    """A warning for each thing that a pod asks for and does not get; `host_users` is what its namespace allows."""
    wanted = set(asked(pod)) - ({"hostUsers"} if host_users else set())
    for ability in abilities:
        is_honoured = ability.honoured or (host_users and ability.with_host_users)
        if ability.name in wanted and not is_honoured:
            yield Said("Warning", NOT_HONOURED, f"{ability.name}: {ability.message}")
    for field in sorted(wanted & NOWHERE.keys()):
        yield Said("Warning", NOT_HONOURED, f"{field}: {NOWHERE[field]}")


def refused(pod: Raw) -> tuple[str, str] | None:
    """The reason and the message where a pod could do nothing on any node here, or None."""
    spec = pod["spec"]
    if (system := look(spec, "os", "name")) not in (None, "linux"):
        return WRONG_SYSTEM, f"the pod is for {system}, and nodes here run what runs on Linux"
    if spec.get("resourceClaims"):
        return REJECTED, "resourceClaims: there are no devices to claim here; ask for GPUs as nvidia.com/gpu in limits"
    for container in containers(pod):
        if container.get("volumeDevices"):
            what = f"containers[{container['name']}].volumeDevices"
            return REJECTED, f"{what}: volumes here are folders; mount them with volumeMounts"
    return None


def asked(pod: Raw) -> Iterator[str]:
    """What a pod asks for, by the names of abilities and fields."""
    spec, whole = pod["spec"], pod["spec"].get("securityContext") or {}
    policy = spec.get("dnsPolicy")
    for name, is_asked in (
        ("HostNetwork", spec.get("hostNetwork")),
        ("ShareProcessNamespace", spec.get("shareProcessNamespace")),
        ("FSGroup", whole.get("fsGroup") is not None or whole.get("supplementalGroups")),
        ("Sysctls", whole.get("sysctls")),
        ("NameLookup", spec.get("hostAliases") or spec.get("dnsConfig")),
        ("ImagePullSecrets", spec.get("imagePullSecrets")),
        ("dnsPolicy", policy == ("ClusterFirstWithHostNet" if spec.get("hostNetwork") else "Default")),
        ("hostIPC", spec.get("hostIPC")),
        ("hostPID", spec.get("hostPID")),
        ("hostUsers", spec.get("hostUsers")),
        ("runtimeClassName", spec.get("runtimeClassName")),
        ("schedulingGroup", spec.get("schedulingGroup")),
    ):
        if is_asked:
            yield name
    for container in containers(pod):
        yield from _asked(container, whole)


def _asked(container: Raw, whole: Raw) -> Iterator[str]:
    own, limits = container.get("securityContext") or {}, look(container, "resources", "limits") or {}
    both = {**whole, **own}
    for name, is_asked in (
        ("RunAsUser", both.get("runAsUser") is not None or both.get("runAsGroup") is not None),
        ("RunAsNonRoot", both.get("runAsNonRoot") and both.get("runAsUser") is None),
        ("Capabilities", own.get("capabilities")),
        ("ReadOnlyRootFilesystem", own.get("readOnlyRootFilesystem")),
        ("NoNewPrivileges", own.get("allowPrivilegeEscalation") is False),
        ("Seccomp", both.get("seccompProfile")),
        ("CPULimits", limits.get("cpu") is not None),
        ("MemoryLimits", limits.get("memory") is not None),
        ("appArmorProfile", look(both, "appArmorProfile", "type") not in (None, "Unconfined")),
        ("seLinuxOptions", both.get("seLinuxOptions")),
        ("windowsOptions", both.get("windowsOptions")),
        ("hostPort", any(port.get("hostPort") for port in container.get("ports") or ())),
        ("mountPropagation", any(map(_propagates, container.get("volumeMounts") or ()))),
        ("probe host", any(map(_names_host, _handlers(container)))),
    ):
        if is_asked:
            yield name


def _propagates(mount: Raw) -> bool:
    return mount.get("mountPropagation") not in (None, "None")


def _handlers(container: Raw) -> Iterator[Raw]:
    yield from (container[name] for name in ("livenessProbe", "readinessProbe", "startupProbe") if container.get(name))
    yield from (hook for hook in (container.get("lifecycle") or {}).values() if isinstance(hook, dict))


def _names_host(handler: Raw) -> bool:
    return any(look(handler, kind, "host") for kind in ("httpGet", "tcpSocket"))
