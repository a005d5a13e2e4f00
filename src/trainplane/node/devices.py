"""Devices: which GPUs the machine has, how they are, and which pod has which."""

from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

GPU = "nvidia.com/gpu"
_COMMON = ("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset")


class Device(msgspec.Struct, frozen=True):
    """One GPU."""

    id: str
    """As CUDA_VISIBLE_DEVICES takes it."""
    file: str
    name: str = ""
    memory: int = 0
    group: str = ""
    """GPUs that reach each other fastest have the same."""
    healthy: bool = True


class NoDevice(Exception):
    """More GPUs are asked for than are free; says how many there are."""


class Devices:
    """The GPUs of one node, each to one pod at a time."""

    def __init__(self, devices: Sequence[Device] = ()) -> None:
        self.devices = tuple(devices)
        self._holder: dict[str, str] = {}

    @property
    def capacity(self) -> int:
        """How many GPUs there are."""
        return len(self.devices)

    @property
    def allocatable(self) -> int:
        """How many of them are healthy."""
        return sum(each.healthy for each in self.devices)

    def take(self, pod_uid: str, container: str, count: int) -> tuple[Device, ...]:
        """Give GPUs to a container, near each other where that can be; the same ones when it starts again."""
        key = f"{pod_uid}/{container}"
        held = tuple(each for each in self.devices if self._holder.get(each.id) == key)
        if held or not count:
            return held
        free = [each for each in self.devices if each.healthy and each.id not in self._holder]
        if len(free) < count:
            raise NoDevice(f"{count} of {GPU} asked for, {len(free)} of {self.capacity} free")
        near = {
            group: [each for each in free if each.group == group]
            for group in dict.fromkeys(each.group for each in free)
        }
        fitting = sorted((each for each in near.values() if len(each) >= count), key=len)
        chosen = tuple((fitting[0] if fitting else free)[:count])
        self._holder.update({each.id: key for each in chosen})
        return chosen

    def give_back(self, pod_uid: str) -> None:
        """Take back what a pod had."""
        self._holder = {id_: key for id_, key in self._holder.items() if not key.startswith(f"{pod_uid}/")}


def variables(devices: Sequence[Device]) -> dict[str, str]:
    """What tells a container which GPUs are its own; none at all hides those of others."""
    visible = ",".join(each.id for each in devices)
    return {"CUDA_VISIBLE_DEVICES": visible, "NVIDIA_VISIBLE_DEVICES": visible or "void"}


def files(devices: Sequence[Device]) -> tuple[str, ...]:
    """The device files that go with GPUs."""
    if not devices:
        return ()
    return (*(each.file for each in devices), *(path for path in _COMMON if Path(path).exists()))


def share(devices: Sequence[Device], nodes: int) -> list[tuple[Device, ...]]:
    """The devices dealt out to nodes that are slices of one machine, neighbours together."""
    each, more = divmod(len(devices), max(nodes, 1))
    sizes = [each + (i < more) for i in range(nodes)]
    starts = [sum(sizes[:i]) for i in range(nodes)]
    return [tuple(devices[start : start + size]) for start, size in zip(starts, sizes, strict=True)]


def find() -> tuple[Device, ...]:
    """The GPUs of this machine; none where NVML is not installed or finds none."""
    try:
        nvml: Any = import_module("pynvml")
        nvml.nvmlInit()
    except ImportError:
        return ()
    except nvml.NVMLError:
        return ()
    try:
        handles = [nvml.nvmlDeviceGetHandleByIndex(i) for i in range(nvml.nvmlDeviceGetCount())]
        return tuple(_device(nvml, i, handles) for i in range(len(handles)))
    except nvml.NVMLError:
        return ()
    finally:
        with suppress(nvml.NVMLError):
            nvml.nvmlShutdown()


def _device(nvml: Any, index: int, handles: Sequence[Any]) -> Device:
    handle = handles[index]
    minor = nvml.nvmlDeviceGetMinorNumber(handle)
    group, near = str(index), getattr(nvml, "NVML_TOPOLOGY_HOSTBRIDGE", 30)
    for other in range(index):
        with suppress(nvml.NVMLError):
            if nvml.nvmlDeviceGetTopologyCommonAncestor(handle, handles[other]) <= near:
                group = str(other)
                break
    lost = False
    try:
        memory = int(nvml.nvmlDeviceGetMemoryInfo(handle).total)
    except nvml.NVMLError:
        memory, lost = 0, True
    name = nvml.nvmlDeviceGetName(handle)
    return Device(
        _text(nvml.nvmlDeviceGetUUID(handle)),
        f"/dev/nvidia{minor}",
        _text(name),
        memory,
        group,
        healthy=not lost,
    )


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
