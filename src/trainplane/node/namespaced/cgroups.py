"""Limits by control groups: version 2 where it is delegated, version 1 where it can be written, else none."""

import contextlib
import errno
import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

PERIOD = 100_000
_PREFIX = "trainplane-"
_ASIDE = "-own"
_CONTROLLERS = ("memory", "cpu", "cpuacct", "pids")
_REMOVAL_SECONDS = 20.0


class Limits(NamedTuple):
    """How much a group may use: cores, bytes, and its weight when the machine is busy, in cores."""

    cpus: float | None = None
    memory: int | None = None
    request: float = 0.0


class Cgroups(Protocol):
    """A place in the tree of control groups below which pods have theirs."""

    version: int
    folders: list[str]
    """Where the groups of pods are made: one folder, or one per controller."""

    def describe(self) -> dict[str, Any]:
        """What `restored` needs to find it again."""
        ...

    def make(self, name: str, limits: Limits) -> None:
        """Make the group `pod` or `pod/container`."""
        ...

    def doors(self, name: str) -> Sequence[str]:
        """The files to write 0 into to move oneself in."""
        ...

    def kills(self, name: str) -> int:
        """How many processes of a group the kernel has killed for want of memory."""
        ...

    def use(self, name: str) -> tuple[float, int]:
        """Seconds of CPU and bytes of memory that a group has used and uses."""
        ...


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def _read(path: str) -> str:
    with open(path, encoding="ascii") as file:
        return file.read()


def _most_processes() -> int:
    """How many processes and threads a pod may have: half of what the machine can, so that others can act."""
    return int(_read("/proc/sys/kernel/pid_max")) // 2


def _counter(path: str, name: str) -> int:
    with contextlib.suppress(OSError):
        for line in _read(path).splitlines():
            key, _, value = line.partition(" ")
            if key == name:
                return int(value)
    return 0


class Version2:
    """One tree for all controllers."""

    version = 2

    def __init__(self, folder: str, controllers: Sequence[str]) -> None:
        self._folder = folder
        self._controllers = tuple(controllers)
        self.folders = [folder]

    def describe(self) -> dict[str, Any]:
        """The folder and its controllers."""
        return {"version": 2, "folder": self._folder, "controllers": list(self._controllers)}

    def make(self, name: str, limits: Limits) -> None:
        """Make the group of a pod, or of a container in it."""
        pod, _, container = name.partition("/")
        path = f"{self._folder}/{name}"
        if container:
            self._share(f"{self._folder}/{pod}")
        else:
            self._share(self._folder)
        os.makedirs(path, exist_ok=True)
        if "memory" in self._controllers and limits.memory is not None:
            _write(f"{path}/memory.max", str(limits.memory))
            with contextlib.suppress(OSError):
                _write(f"{path}/memory.swap.max", "0")
        if "pids" in self._controllers and not container:
            _write(f"{path}/pids.max", str(_most_processes()))
        if "cpu" in self._controllers:
            if limits.cpus is not None:
                _write(f"{path}/cpu.max", f"{max(1000, int(limits.cpus * PERIOD))} {PERIOD}")
            if limits.request:
                _write(f"{path}/cpu.weight", str(min(10_000, max(1, int(limits.request * 39)))))

    def _share(self, folder: str) -> None:
        os.makedirs(folder, exist_ok=True)
        words = " ".join(f"+{name}" for name in self._controllers)
        if words and _read(f"{folder}/cgroup.subtree_control").split() != sorted(self._controllers):
            _write(f"{folder}/cgroup.subtree_control", words)

    def doors(self, name: str) -> Sequence[str]:
        """The file to write 0 into to move oneself in."""
        return [f"{self._folder}/{name}/cgroup.procs"]

    def kills(self, name: str) -> int:
        """How often the kernel has killed in a group for want of memory."""
        return _counter(f"{self._folder}/{name}/memory.events", "oom_kill")

    def use(self, name: str) -> tuple[float, int]:
        """Seconds of CPU so far and bytes of memory now."""
        path = f"{self._folder}/{name}"
        memory = 0
        with contextlib.suppress(OSError):
            memory = int(_read(f"{path}/memory.current")) - _counter(f"{path}/memory.stat", "inactive_file")
        return _counter(f"{path}/cpu.stat", "usage_usec") / 1e6, max(0, memory)


class Version1:
    """A tree per controller."""

    version = 1

    def __init__(self, folders: Mapping[str, str]) -> None:
        self._folders = dict(folders)
        self.folders = list(self._folders.values())

    def describe(self) -> dict[str, Any]:
        """The folders by controller."""
        return {"version": 1, "folders": self._folders}

    def make(self, name: str, limits: Limits) -> None:
        """Make the groups of a pod, or of a container in it."""
        for folder in self.folders:
            os.makedirs(f"{folder}/{name}", exist_ok=True)
        if "memory" in self._folders and limits.memory is not None:
            path = f"{self._folders['memory']}/{name}"
            _write(f"{path}/memory.limit_in_bytes", str(limits.memory))
            with contextlib.suppress(OSError):
                _write(f"{path}/memory.memsw.limit_in_bytes", str(limits.memory))
        if "pids" in self._folders and "/" not in name:
            _write(f"{self._folders['pids']}/{name}/pids.max", str(_most_processes()))
        if "cpu" in self._folders:
            path = f"{self._folders['cpu']}/{name}"
            if limits.cpus is not None:
                _write(f"{path}/cpu.cfs_period_us", str(PERIOD))
                _write_unless_less(f"{path}/cpu.cfs_quota_us", str(max(1000, int(limits.cpus * PERIOD))))
            if limits.request:
                _write(f"{path}/cpu.shares", str(max(2, int(limits.request * 1024))))

    def doors(self, name: str) -> Sequence[str]:
        """The files to write 0 into to move oneself in, one per controller."""
        # A process of one thread moves by `tasks` too, without the lock that every fork waits for: 0.1 ms, not 10.
        return [f"{folder}/{name}/tasks" for folder in self.folders]

    def kills(self, name: str) -> int:
        """How often the kernel has killed in a group for want of memory."""
        if "memory" not in self._folders:
            return 0
        return _counter(f"{self._folders['memory']}/{name}/memory.oom_control", "oom_kill")

    def use(self, name: str) -> tuple[float, int]:
        """Seconds of CPU so far and bytes of memory now."""
        seconds, memory = 0.0, 0
        with contextlib.suppress(KeyError, OSError):
            seconds = int(_read(f"{self._folders['cpuacct']}/{name}/cpuacct.usage")) / 1e9
        with contextlib.suppress(KeyError, OSError):
            path = f"{self._folders['memory']}/{name}"
            cached = _counter(f"{path}/memory.stat", "total_inactive_file")
            memory = max(0, int(_read(f"{path}/memory.usage_in_bytes")) - cached)
        return seconds, memory


def restored(description: Mapping[str, Any] | None) -> Cgroups | None:
    """The groups that another process has found."""
    if description is None:
        return None
    if description["version"] == 1:
        return Version1(description["folders"])
    return Version2(description["folder"], description["controllers"])


def _write_unless_less(file: str, text: str) -> None:
    """Write a limit; one that is above those of the groups around it is refused, and holds by theirs."""
    try:
        _write(file, text)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise


def _mounts() -> Iterator[tuple[str, str, set[str]]]:
    """The cgroup file systems that are mounted: where, which version, which options."""
    for line in _read("/proc/self/mounts").splitlines():
        _, where, kind, options, *_ = line.split(" ")
        if kind in ("cgroup", "cgroup2"):
            yield where, kind, set(options.split(","))


def _own(pid: int | str = "self") -> dict[str, str]:
    """The group a process is in, by controller; that of version 2 is under ""."""
    found: dict[str, str] = {}
    for line in _read(f"/proc/{pid}/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        for name in controllers.split(","):
            found[name] = path
    return found


def use_of(pid: int) -> tuple[float, int]:
    """Seconds of CPU and bytes of memory of the group that a process is in, whoever made it; 0 where it is gone."""
    separate = dict[str, str]()
    try:
        own = _own(pid)
    except OSError:
        return 0.0, 0
    for where, kind, options in _mounts():
        if kind == "cgroup2" and os.path.exists(f"{where}{own.get('', '')}/memory.current"):
            return Version2(where, ()).use(own[""].lstrip("/"))
        separate |= {name: f"{where}{own[name]}" for name in options & set(_CONTROLLERS) & set(own)}
    return Version1(separate).use(".")


def _place(where: str, own: str, label: str) -> str:
    """A folder for groups of this label below the group of this process."""
    path = f"{where}{own}".rstrip("/").removesuffix(f"/{_PREFIX}{label}{_ASIDE}")
    # In a container the group may be told by its name on the host, and be the top of what is mounted.
    return f"{path if os.path.isdir(path) else where}/{_PREFIX}{label}"


def find(label: str) -> Cgroups | None:
    """The control groups that can be used here, found by making one; None where there are none."""
    own, separate = _own(), dict[str, str]()
    for where, kind, options in _mounts():
        if kind == "cgroup2" and (found := _find_version2(where, own.get("", "/"), label)):
            return found
        for name in options & set(_CONTROLLERS) & set(own):
            folder = _place(where, own[name], label)
            with contextlib.suppress(OSError):
                os.makedirs(folder, exist_ok=True)
                separate[name] = folder
    return Version1(separate) if "memory" in separate else None


def _find_version2(where: str, own: str, label: str) -> Version2 | None:
    """Below the group of this process, or below the nearest one above it that lets us."""
    folder = _place(where, own, label)
    if found := _try_version2(folder, is_own=True):
        return found
    parent = os.path.dirname(folder)
    while parent != where and parent.startswith(where):
        parent = os.path.dirname(parent)
        if found := _try_version2(f"{parent}/{_PREFIX}{label}", is_own=False):
            return found
    return None


def _try_version2(folder: str, *, is_own: bool) -> Version2 | None:
    parent = os.path.dirname(folder)
    try:
        wanted = set(_read(f"{parent}/cgroup.controllers").split()) & set(_CONTROLLERS)
        if "memory" not in wanted or not os.access(f"{parent}/cgroup.procs", os.W_OK):
            return None
        os.makedirs(folder, exist_ok=True)
        if not wanted <= set(_read(f"{parent}/cgroup.subtree_control").split()):
            if is_own:
                _step_aside(folder)
            _write(f"{parent}/cgroup.subtree_control", " ".join(f"+{name}" for name in sorted(wanted)))
        _write(f"{folder}/cgroup.subtree_control", " ".join(f"+{name}" for name in sorted(wanted)))
    except OSError:
        remove(folder)
        step_back([folder])
        return None
    return Version2(folder, sorted(wanted))


def _step_aside(folder: str) -> None:
    """A group with processes in it cannot share out its controllers: move into one beside the pods'."""
    if os.path.exists(f"{os.path.dirname(folder)}/cgroup.type"):  # The root of the tree is free of that rule.
        os.makedirs(f"{folder}{_ASIDE}", exist_ok=True)
        _write(f"{folder}{_ASIDE}/cgroup.procs", "0")


def step_back(folders: Sequence[str]) -> None:
    """Undo that, or what a former life has left of it; whoever else is in there stays."""
    for folder in folders:
        parent, aside = os.path.dirname(folder), f"{folder}{_ASIDE}"
        if not os.path.isdir(aside):
            continue
        with contextlib.suppress(OSError):
            names = _read(f"{parent}/cgroup.subtree_control").split()
            _write(f"{parent}/cgroup.subtree_control", " ".join(f"-{name}" for name in names))
            if str(os.getpid()) in _read(f"{aside}/cgroup.procs").split():
                _write(f"{parent}/cgroup.procs", "0")
        with contextlib.suppress(OSError):
            os.rmdir(aside)


def remove(folder: str) -> list[str]:
    """End whatever is in a group and below it, and remove them; returns the names of the groups that lay in it."""
    found: list[str] = []
    if not os.path.isdir(folder):
        return found
    # The names of groups are folders; everything else in them is the kernel's.
    for path, folders, _ in os.walk(folder, topdown=False):
        if path == folder:
            found = sorted(folders)
        _empty(path)
        _remove_one(path)
    return found


def _empty(path: str) -> None:
    with contextlib.suppress(OSError):
        _write(f"{path}/cgroup.kill", "1")
        return
    with contextlib.suppress(OSError):
        for pid in _read(f"{path}/cgroup.procs").split():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(int(pid), signal.SIGKILL)


def _remove_one(path: str) -> None:
    deadline = time.monotonic() + _REMOVAL_SECONDS
    while True:
        try:
            os.rmdir(path)
        except FileNotFoundError:
            return
        except OSError:
            if time.monotonic() > deadline:
                return
            time.sleep(0.005)
            _empty(path)
        else:
            return
