"""Heartbeat: a node says that it is there, what it has, and what it can do."""

import asyncio
import logging
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from trainplane import __version__
from trainplane.api.meta import Raw, micro_time
from trainplane.api.nodes import ARCH, HOSTNAME, NODE_LEASE_NAMESPACE, OS
from trainplane.api.raw import look
from trainplane.api.ref import Ref
from trainplane.api.times import stamp
from trainplane.cluster.client import Client, Patch
from trainplane.cluster.errors import AlreadyExists, ApiError, NotFound
from trainplane.control.record import Clock
from trainplane.node.devices import GPU, Devices
from trainplane.node.honour import NOT_HERE
from trainplane.node.runner import Ability

BEAT = 10.0
"""Seconds between two renewals of the lease."""
LEASE_SECONDS = 40
STATUS = 300.0
"""Seconds after which a status that has not changed is written again."""
PODS = 110
LOCAL, YES = "trainplane.dev/local", "true"
"""A label of nodes that are slices of the machine that the cluster runs on."""
_GOARCH = {"x86_64": "amd64", "aarch64": "arm64"}
_CALM = (
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)
FULL = 0.02
"""The share of a disk below which what is free is too little."""

_log = logging.getLogger(__name__)


class Machine(msgspec.Struct, frozen=True):
    """What a machine has, of which each node is a slice."""

    cpus: int
    memory: int
    disk: int

    @classmethod
    def this(cls, folder: Path) -> "Machine":
        """The machine that we run on, and the disk of a folder."""
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        disk = os.statvfs(folder)
        return cls(
            len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
            memory,
            disk.f_blocks * disk.f_frsize,
        )

    def slice(self, nodes: int, devices: Devices) -> dict[str, str]:
        """What one of so many nodes has."""
        held = {
            "cpu": f"{self.cpus * 1000 // nodes}m" if self.cpus % nodes else str(self.cpus // nodes),
            "ephemeral-storage": f"{self.disk // nodes // 1024}Ki",
            "memory": f"{self.memory // nodes // 1024}Ki",
            "pods": str(PODS),
        }
        if devices.capacity:
            held[GPU] = str(devices.capacity)
        return held


class Heartbeat:
    """Keeps one Node, and its Lease."""

    def __init__(
        self,
        name: str,
        client: Client,
        clock: Clock,
        *,
        capacity: Mapping[str, Any],
        devices: Devices,
        address: str,
        runner: str,
        abilities: Callable[[], Sequence[Ability]],
        folder: Path,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.ready = asyncio.Event()
        """Set when the API has the node."""
        self._client = client
        self._clock = clock
        self._capacity = capacity
        self._devices = devices
        self._address = address
        self._runner = runner
        self._abilities = abilities
        self._folder = folder
        self._labels = labels or {}
        self._written: Raw | None = None
        self._written_at = 0.0

    async def run(self) -> None:
        """Beat until cancelled."""
        while True:
            wait = BEAT
            try:
                await self.beat()
                self.ready.set()
            except (ApiError, OSError) as error:
                _log.warning("the node %s cannot tell that it is there, and tries again: %s", self.name, error)
                wait = 1.0
            await asyncio.sleep(wait)

    async def beat(self) -> None:
        """Say once that the node is there, and how it is where that has changed."""
        if self._written is None:
            await self._register()
        status, time = self._status(), asyncio.get_running_loop().time()
        before = self._written
        stale = before is None or time - self._written_at > STATUS or _gist(before) != _gist(status)
        if stale or await self._is_given_up():
            status = _with_times(status, before, stamp(self._clock.now()))
            await self._client.patch(
                Ref("", "Node", "", self.name), Patch.strategic({"status": status}), subresource="status"
            )
            self._written, self._written_at = status, time
        await self._renew()

    async def _is_given_up(self) -> bool:
        """Whether the cluster has taken the node for lost, as it does with one that was silent for long."""
        try:
            found = await self._client.get(Ref("", "Node", "", self.name))
        except NotFound:
            await self._register()
            return True
        conditions = look(found, "status", "conditions") or ()
        return not any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)

    async def _register(self) -> None:
        arch = _GOARCH.get(platform.machine(), platform.machine())
        labels = {ARCH: arch, HOSTNAME: self.name, OS: platform.system().lower(), LOCAL: YES, **self._labels}
        metadata: Raw = {
            "name": self.name,
            "labels": {**labels, "beta.kubernetes.io/arch": arch, "beta.kubernetes.io/os": labels[OS]},
        }
        node: Raw = {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {}}
        try:
            await self._client.create(node)
        except AlreadyExists:
            await self._client.patch(
                Ref("", "Node", "", self.name), Patch.merge({"metadata": {"labels": metadata["labels"]}})
            )

    def _status(self) -> Raw:
        allocatable = dict(self._capacity)
        if self._devices.capacity:
            allocatable[GPU] = str(self._devices.allocatable)
        conditions = [_condition(kind, "False", reason, message) for kind, reason, message in _CALM]
        if problem := self._disk_problem():
            conditions[1] = _condition("DiskPressure", "True", "KubeletHasDiskPressure", problem)
        conditions.append(_condition("Ready", "True", "KubeletReady", "kubelet is posting ready status"))
        for ability in (*self._abilities(), NOT_HERE):
            truth = "True" if ability.honoured else "False"
            conditions.append(_condition(ability.name, truth, ability.reason, ability.message))
        sick = [each.id for each in self._devices.devices if not each.healthy]
        if self._devices.capacity:
            note = f"not healthy: {', '.join(sick)}" if sick else "every GPU answers"
            conditions.append(_condition("GPUsHealthy", "False" if sick else "True", "NVML", note))
        return {
            "addresses": [
                {"type": "InternalIP", "address": self._address},
                {"type": "Hostname", "address": self.name},
            ],
            "capacity": dict(self._capacity),
            "allocatable": allocatable,
            "conditions": conditions,
            "nodeInfo": {
                "architecture": _GOARCH.get(platform.machine(), platform.machine()),
                "bootID": _read("/proc/sys/kernel/random/boot_id"),
                "containerRuntimeVersion": f"{self._runner}://{__version__}",
                "kernelVersion": platform.release(),
                "kubeProxyVersion": "",
                "kubeletVersion": f"v{__version__}",
                "machineID": _read("/etc/machine-id"),
                "operatingSystem": platform.system().lower(),
                "osImage": _os_image(),
                "systemUUID": "",
            },
        }

    def _disk_problem(self) -> str:
        with suppress(OSError):
            disk = os.statvfs(self._folder)
            if disk.f_blocks and disk.f_bavail / disk.f_blocks < FULL:
                free = disk.f_bavail * disk.f_frsize // 1024**2
                return f"{free} MiB are free at {self._folder}; remove what is no longer needed"
        return ""

    async def _renew(self) -> None:
        now = micro_time(self._clock.now())
        ref = Ref("coordination.k8s.io", "Lease", NODE_LEASE_NAMESPACE, self.name)
        spec = {"holderIdentity": self.name, "leaseDurationSeconds": LEASE_SECONDS, "renewTime": now}
        try:
            await self._client.patch(ref, Patch.merge({"spec": spec}))
        except NotFound:
            lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": spec}
            await self._client.create({**lease, "metadata": {"name": self.name, "namespace": NODE_LEASE_NAMESPACE}})


def _condition(kind: str, status: str, reason: str, message: str) -> Raw:
    return {"type": kind, "status": status, "reason": reason, "message": message}


def _with_times(status: Raw, before: Raw | None, now: str) -> Raw:
    old = {each["type"]: each for each in (before or {}).get("conditions") or ()}
    timed = []
    for each in status["conditions"]:
        same = old.get(each["type"], {}).get("status") == each["status"]
        since = old[each["type"]]["lastTransitionTime"] if same else now
        timed.append({**each, "lastHeartbeatTime": now, "lastTransitionTime": since})
    return {**status, "conditions": timed}


def _gist(status: Raw) -> Raw:
    """A status without the times of its conditions."""
    times = ("lastHeartbeatTime", "lastTransitionTime")
    plain = [{key: value for key, value in each.items() if key not in times} for each in status["conditions"]]
    return {**status, "conditions": plain}


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _os_image() -> str:
    with suppress(OSError):
        return str(platform.freedesktop_os_release().get("PRETTY_NAME", platform.system()))
    return platform.system()
