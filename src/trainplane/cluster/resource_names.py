"""The names of resources such as `cpu` and `nvidia.com/gpu`: what is wrong with them, and what they stand for."""

from functools import lru_cache

from trainplane.cluster.names import key_faults

HUGE_PAGES = "hugepages-"
OF_CONTAINERS = ("cpu", "memory", "ephemeral-storage")
COUNTED = frozenset(
    (
        *("configmaps", "persistentvolumeclaims", "pods", "replicationcontrollers", "resourcequotas", "secrets"),
        *("services", "services.loadbalancers", "services.nodeports"),
    )
)
"""Objects that quotas count."""
STANDARD = COUNTED | {
    *(f"{side}{name}" for side in ("", "limits.", "requests.") for name in OF_CONTAINERS),
    *("requests.storage", "storage"),
}


def is_standard(name: str) -> bool:
    """Whether every cluster knows the resource."""
    return name in STANDARD or name.startswith((HUGE_PAGES, f"requests.{HUGE_PAGES}"))


def is_native(name: str) -> bool:
    """Whether the resource is Kubernetes' own, and not that of a vendor."""
    return "/" not in name or "kubernetes.io/" in name


@lru_cache(maxsize=1024)
def is_extended(name: str) -> bool:
    """Whether the resource is a vendor's, so that only whole ones of it are given."""
    return not is_native(name) and not name.startswith("requests.") and not any(key_faults(f"requests.{name}"))


def is_whole(name: str) -> bool:
    """Whether there are only whole ones of the resource."""
    return name in COUNTED or is_extended(name)


@lru_cache(maxsize=1024)
def resource_name_faults(name: str) -> tuple[str, ...]:
    """What keeps a text from being the name of a resource."""
    faults = tuple(key_faults(name))
    if not faults and "/" not in name and not is_standard(name):
        return ("must be a standard resource type or fully qualified",)
    return faults
