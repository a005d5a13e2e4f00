"""Room: whether a node has it for a pod, and whether a pod's volumes keep to theirs."""

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from trainplane.api.meta import Raw
from trainplane.api.quantity import ZERO, Amount, parse, total
from trainplane.api.raw import look
from trainplane.api.requests import pod_requests

STORAGE = "ephemeral-storage"
_COUNTED = ("cpu", "memory", STORAGE, "pods")


def out_of(pod: Raw, others: Iterable[Raw], allocatable: Mapping[str, Any]) -> tuple[str, str] | None:
    """The reason and the message where a node has too little left for a pod, or None."""
    taken = list(others)
    used = {**total(pod_requests(each["spec"]) for each in taken), "pods": parse(len(taken))}
    asked = {**pod_requests(pod["spec"]), "pods": parse(1)}
    for name in _COUNTED:
        want, has, held = asked.get(name, ZERO), parse(allocatable.get(name, 0)), used.get(name, ZERO)
        if want and want + held > has:
            figures = [_figure(name, amount) for amount in (want, held, has)]
            message = "Node didn't have enough resource: {}, requested: {}, used: {}, capacity: {}"
            return f"OutOf{name}", message.format(name, *figures)
    return None


def _figure(name: str, amount: Amount) -> int:
    return amount.milli() if name == "cpu" else amount.value()


def size_limits(pod: Raw) -> dict[str, str]:
    """The volumes of a pod that may hold only so much, and how much; memory is held by the kernel."""
    return {
        volume["name"]: str(limit)
        for volume in pod["spec"].get("volumes") or ()
        if (limit := look(volume, "emptyDir", "sizeLimit")) is not None
        and look(volume, "emptyDir", "medium") != "Memory"
    }


def outgrown(folder: Path, limits: Mapping[str, str]) -> str:
    """What is to be said of a volume that holds more than it may, or "" where none does."""
    for name, limit in limits.items():
        if _size(folder / name) > parse(limit).value():
            return f'Usage of EmptyDir volume "{name}" exceeds the limit "{limit}".'
    return ""


def storage_limits(pod: Raw) -> dict[str, str]:
    """The containers of a pod that may have only so much on disk, and how much."""
    limits = ((each["name"], look(each, "resources", "limits", STORAGE)) for each in pod["spec"]["containers"])
    return {name: str(limit) for name, limit in limits if limit is not None}


def overfull(folder: Path, logs: Path, limits: Mapping[str, str]) -> str:
    """What is to be said of a pod whose containers have more on disk than they may, or "" where that is not so.

    What is kept for later is not counted: it is nobody's for a time. What lies in memory is counted as that.
    """
    for name, limit in limits.items():
        if _size(folder / "box" / "temporary" / name) + _size(logs / name) > parse(limit).value():
            return f'Container {name} exceeded its local ephemeral storage limit "{limit}". '
    most = total([{STORAGE: parse(limit)} for limit in limits.values()]).get(STORAGE, ZERO)
    if limits and _size(folder) + _size(logs) > most.value():
        return f"Pod ephemeral local storage usage exceeds the total limit of containers {most}. "
    return ""


def _size(folder: Path) -> int:
    found = 0
    for place, _, files in os.walk(folder):
        for file in files:
            with suppress(OSError):
                found += os.lstat(os.path.join(place, file)).st_blocks * 512
    return found
