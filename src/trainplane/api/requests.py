"""What one pod asks of a node: the sum over its containers as Kubernetes counts it."""

from collections.abc import Iterable, Mapping
from typing import Any

from trainplane.api.quantity import Amount, amounts, largest, total


def pod_requests(spec: Mapping[str, Any], *, overhead: Mapping[str, Any] | None = None) -> dict[str, Amount]:
    """The requests of a pod; a limit counts as a request where none is given, as the API server fills it in.

    Init containers run before the others, so the larger of both counts; those that restart always run beside them.
    `overhead` is the RuntimeClass's, used where the pod does not spell its own.
    """
    running = total(requests(container) for container in spec.get("containers") or ())
    sidecars: dict[str, Amount] = {}
    largest_start: dict[str, Amount] = {}
    for container in spec.get("initContainers") or ():
        asked = requests(container)
        if container.get("restartPolicy") == "Always":
            sidecars = total([sidecars, asked])
            largest_start = largest([largest_start, sidecars])
        else:
            largest_start = largest([largest_start, total([sidecars, asked])])
    asked = largest([total([running, sidecars]), largest_start])
    # Resources of the pod as a whole take the place of the containers' sum, resource by resource.
    asked = {**asked, **requests(spec)}
    return total([asked, amounts(spec.get("overhead") or overhead or {})])


def requests(holder: Mapping[str, Any]) -> dict[str, Amount]:
    """The requests of one container, or of a pod as a whole, with limits where no request is given."""
    resources = holder.get("resources") or {}
    return {**amounts(resources.get("limits") or {}), **amounts(resources.get("requests") or {})}


def times(count: int, resources: Mapping[str, Amount]) -> dict[str, Amount]:
    """The same resources for `count` pods."""
    return {name: amount * count for name, amount in resources.items()}


def together(lists: Iterable[Mapping[str, Amount]]) -> dict[str, str]:
    """The sum of resource lists, spelt for the wire."""
    return {name: str(amount) for name, amount in total(lists).items()}
