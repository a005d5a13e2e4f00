"""How many processes a node runs: GPUs and CPUs counted from a container's resources."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from trainplane.api.meta import Raw
from trainplane.api.quantity import QuantityError, parse
from trainplane.api.roles import Role
from trainplane.trainjob.plan import Plan

_SHARE_OF_A_GPU = re.compile(r"gpu[-_.]?(mem|core|percent)", re.IGNORECASE)
"""Resources that measure a part of a GPU, such as nvidia.com/gpumem; counting them would count megabytes."""


class Processes(msgspec.Struct, frozen=True):
    """The processes on each node: as torchrun is told, as a number, and why."""

    text: str
    known: int
    note: str = ""
    certain: bool = True
    """Whether the number is more than a guess."""


def gpus(resources: Mapping[str, Any]) -> int:
    """The GPUs a container has: the requests whose name contains gpu, or the limits where none is requested."""
    for what in ("requests", "limits"):
        amounts = resources.get(what) or {}
        count = sum(_whole(amounts[name]) for name in amounts if _is_gpu(name))
        if count:
            return count
    return 0


def cpus(resources: Mapping[str, Any]) -> int:
    """The CPUs a container has, rounded up: its request, else its limit, and at least one."""
    counts = (_whole((resources.get(what) or {}).get("cpu", 0)) for what in ("requests", "limits"))
    return next((count for count in counts if count > 0), 1)


def resolve(asked: int | str, resources: Mapping[str, Any]) -> Processes:
    """What `numProcPerNode` means on this container: a number, or `auto`, `gpu` or `cpu`."""
    count = gpus(resources)
    if isinstance(asked, str) and asked not in ("gpu", "cpu") and not asked.isdecimal():
        asked = "auto"
    if asked == "gpu" and not count:
        return Processes("gpu", 1, "as many as the GPUs that torchrun finds", certain=False)
    if asked == "gpu":
        return Processes(str(count), count, f"one for each of {_counted(count, 'GPU')}")
    if asked == "auto" and count:
        return Processes("auto", count, f"torchrun starts one for each of {_counted(count, 'GPU')}")
    if asked in ("auto", "cpu"):
        number = cpus(resources)
        return Processes(str(number), number, f"one for each of {_counted(number, 'CPU')}")
    return Processes(str(asked), int(asked))


def merged(resources: Iterable[Mapping[str, Any]]) -> Raw:
    """Resource requirements laid over each other, name by name; later ones win."""
    out: Raw = {"limits": {}, "requests": {}}
    for one in resources:
        for what, amounts in out.items():
            given = one.get(what)
            amounts.update(given if isinstance(given, Mapping) else {})
    return out


def resources_of(plan: Plan, role: Role | None) -> Raw:
    """The resources of a role's container as they are rendered."""
    if role is None or role.container is None:
        return {}
    container = plan.container(role.index, role.container.name) or {}
    return container.get("resources") or {}


def _is_gpu(name: str) -> bool:
    return "gpu" in name.casefold() and not _SHARE_OF_A_GPU.search(name)


def _whole(amount: Any) -> int:
    try:
        return parse(amount).value()
    except QuantityError:
        return 0  # validation says what is wrong with it


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
