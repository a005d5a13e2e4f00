"""Names: which names of the cluster have which addresses, as its DNS would say. Pure."""

from collections.abc import Iterable, Mapping

from trainplane.api.core import FAILED, SUCCEEDED
from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.node.home import CLUSTER_DOMAIN, hostname_of

KUBERNETES = f"kubernetes.default.svc.{CLUSTER_DOMAIN}"


def names(services: Iterable[Raw], pods: Iterable[Raw], *, gateway: str) -> dict[str, tuple[str, ...]]:
    """The full name of every service and of every pod that a service names, with their addresses.

    A service leads straight to its pods: nothing stands between them here.
    """
    services = list(services)
    by_namespace: dict[str, list[Raw]] = {service["metadata"].get("namespace", ""): [] for service in services}
    for pod in pods:
        found_by = by_namespace.get(pod["metadata"].get("namespace", ""))
        if found_by is None:
            # Nobody calls it by name, and there may be many.
            continue
        if look(pod, "status", "podIP") and look(pod, "status", "phase") not in (SUCCEEDED, FAILED):
            found_by.append(pod)
    found: dict[str, tuple[str, ...]] = {KUBERNETES: (gateway,)}
    for service in services:
        namespace, name = service["metadata"].get("namespace", ""), service["metadata"]["name"]
        spec, full = service.get("spec") or {}, f"{name}.{namespace}.svc.{CLUSTER_DOMAIN}"
        if full == KUBERNETES or not spec.get("selector"):
            continue
        early = bool(spec.get("publishNotReadyAddresses"))
        chosen = [
            pod
            for pod in by_namespace.get(namespace, ())
            if _matches(pod, spec["selector"]) and (early or _is_ready(pod))
        ]
        found[full] = tuple(sorted(str(pod["status"]["podIP"]) for pod in chosen))
        for pod in chosen:
            if pod["spec"].get("subdomain") == name:
                found[f"{hostname_of(pod)}.{full}"] = (str(pod["status"]["podIP"]),)
    return found


def named(pod: Raw) -> Raw | None:
    """What of a pod its names depend on; None where it has no address, or has ended."""
    status = pod.get("status") or {}
    if not status.get("podIP") or status.get("phase") in (SUCCEEDED, FAILED):
        return None
    kept = {
        "metadata": ("name", "namespace", "labels"),
        "spec": ("hostname", "subdomain"),
        "status": ("podIP", "phase"),
    }
    small = {part: {key: pod[part][key] for key in keys if key in pod[part]} for part, keys in kept.items()}
    small["status"]["conditions"] = [{"type": "Ready", "status": "True"}] if _is_ready(pod) else []
    return small


def _matches(pod: Raw, selector: Mapping[str, str]) -> bool:
    labels = pod["metadata"].get("labels") or {}
    return all(labels.get(key) == value for key, value in selector.items())


def _is_ready(pod: Raw) -> bool:
    return any(each["type"] == "Ready" and each["status"] == "True" for each in look(pod, "status", "conditions") or ())
