"""What a pod asks for that it does not get here, so that it is told and not found out. Pure."""

from collections.abc import Iterable, Iterator

from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.node.downward import containers
from trainplane.node.lifecycle import Said
from trainplane.node.runner import Ability

NOT_HONOURED = "NotHonoured"


def not_honoured(pod: Raw, abilities: Iterable[Ability]) -> Iterator[Said]:
    """A warning for each thing that a pod asks for and does not get."""
    wanted = set(asked(pod))
    for ability in abilities:
        if ability.name in wanted and not ability.honoured:
            yield Said("Warning", NOT_HONOURED, f"{ability.name}: {ability.message}")


def asked(pod: Raw) -> Iterator[str]:
    """What a pod asks for, by the names of abilities."""
    spec, whole = pod["spec"], pod["spec"].get("securityContext") or {}
    if spec.get("hostNetwork"):
        yield "HostNetwork"
    if spec.get("shareProcessNamespace"):
        yield "ShareProcessNamespace"
    if whole.get("fsGroup") is not None or whole.get("supplementalGroups"):
        yield "FSGroup"
    for container in containers(pod):
        own, limits = container.get("securityContext") or {}, look(container, "resources", "limits") or {}
        both = {**whole, **own}
        for name, is_asked in (
            ("RunAsUser", both.get("runAsUser") is not None or both.get("runAsGroup") is not None),
            ("Capabilities", bool(own.get("capabilities"))),
            ("ReadOnlyRootFilesystem", bool(own.get("readOnlyRootFilesystem"))),
            ("NoNewPrivileges", own.get("allowPrivilegeEscalation") is False),
            ("Seccomp", both.get("seccompProfile") is not None),
            ("CPULimits", limits.get("cpu") is not None),
            ("MemoryLimits", limits.get("memory") is not None),
        ):
            if is_asked:
                yield name
