"""What lint says of a container's image, variables and resources, in a runtime's template or in a TrainJob."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from trainplane.api.loose import object_at, objects_at, text_at
from trainplane.api.problem import Path, Problem
from trainplane.trainjob import pod_rules

if TYPE_CHECKING:
    from trainplane.api.quantity import Amount


def trainjob(obj: Mapping[str, Any]) -> Iterator[Problem]:
    """What a TrainJob says of its trainer's container, whatever its runtime is."""
    place: Path = ("spec", "trainer")
    trainer = object_at(obj, *place)
    yield from image(trainer, place)
    yield from interfaces(trainer, place)
    yield from resources(trainer.get("resourcesPerNode"), (*place, "resourcesPerNode"), whole=False)


def resources(given: Any, path: Path, *, whole: bool = True) -> Iterator[Problem]:
    """Requests that no server lets through; where it is not the whole of them, a missing limit may still come."""
    limits = object_at(given, "limits")
    for name, asked in object_at(given, "requests").items():
        device = isinstance(name, str) and ("/" in name or name.startswith("hugepages-"))
        if not isinstance(name, str) or (name not in limits and not device):
            continue
        request, limit = _amount(asked), _amount(limits.get(name))
        if request is None:
            continue
        place = (*path, "requests", name)
        if device:
            if limit is None and name not in limits and whole:
                what = f"{asked} of {name} are requested, and there is no limit"
                yield Problem(pod_rules.NO_LIMIT, place, what, f"write {name} under limits instead")
            elif limit is not None and limit != request:
                what = f"{asked} of {name} are requested, and the limit is {limits[name]}"
                yield Problem(pod_rules.UNEQUAL, place, what, "remove the request: it follows the limit")
        elif limit is not None and limit < request:
            what = f"{asked} of {name} are requested, and at most {limits[name]} are allowed"
            yield Problem(pod_rules.ABOVE_LIMIT, place, what, "lower the request, or raise the limit")


def _amount(value: Any) -> "Amount | None":
    # Most containers name no request beside a limit, and need not wait for this.
    from trainplane.api.quantity import QuantityError, parse

    try:
        return parse(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else None
    except QuantityError:
        return None  # the schema says what is wrong with it


def image(container: Mapping[str, Any], path: Path) -> Iterator[Problem]:
    """An image that can change under the same name."""
    name = text_at(container, "image")
    tag = name.rpartition("/")[2].partition(":")[2]
    if name and "@" not in name and tag in ("", "latest"):
        said = "has the tag latest" if tag else "has no tag"
        what = f"the image {said}, so what it is can change between two runs"
        yield Problem(pod_rules.FLOATING_IMAGE, (*path, "image"), what, "name a version that stays, or a digest")


def interfaces(container: Mapping[str, Any], path: Path) -> Iterator[Problem]:
    """A network interface that pods usually do not have."""
    for where, variable in objects_at(container, "env"):
        value = text_at(variable, "value")
        if variable.get("name") not in ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME") or not value:
            continue
        # NCCL reads prefixes, a ^ for "all but", and a = for "exactly".
        if not value.startswith("^") and not any(word.lstrip("=").startswith("eth") for word in value.split(",")):
            what = f"{variable['name']} is {value}, and the interface of a pod is usually eth0"
            todo = "write eth0, or leave it out, unless the pods have such an interface"
            yield Problem(pod_rules.INTERFACE, (*path, *where, "value"), what, todo)
