"""process: the Runner for machines that allow nothing else: plain processes, addresses of the loopback, no isolation.

Pods see the whole host and each other. Instead of mounting volumes and naming hosts, it writes the real places into
command lines and variables; what a program reads from a file it finds there as it was written.
"""

import asyncio
import contextlib
import ctypes
import fcntl
import hashlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from trainplane.control import clock
from trainplane.node.processes import MARK, Processes
from trainplane.node.rewrite import Rewrite
from trainplane.node.runner import (
    CREATE_ERROR,
    START_ERROR,
    Ability,
    Box,
    Exit,
    NotStarted,
    Program,
    Started,
    Stdio,
    Use,
)

LOOPBACK = "127.0.0.1"
WATCH = 0.5
"""Seconds between two looks at what containers with a limit use."""
EXITS = 1024
_KILL = signal.SIGKILL
_SUBREAPER = 36
_NOT_HERE = (
    ("NetworkIsolation", "pods share the host's network; jobs get a port of their own instead"),
    ("ProcessIsolation", "pods see the host's processes and files"),
    ("VolumeMounts", "volumes are folders whose places are written into commands and variables"),
    ("RunAsUser", "every container runs as the user who runs Trainplane"),
    ("RunAsNonRoot", "every container runs as the user who runs Trainplane, root or not"),
    ("Capabilities", "containers have the capabilities of the user who runs Trainplane"),
    ("ReadOnlyRootFilesystem", "containers can write wherever the user who runs Trainplane can"),
    ("CPULimits", "containers use as many cores as there are"),
    ("NoNewPrivileges", "allowPrivilegeEscalation is not looked at"),
    ("Seccomp", "containers make every call of the kernel that the user who runs Trainplane may"),
    ("FSGroup", "volumes belong to the user who runs Trainplane"),
    ("Sysctls", "the kernel's settings are the whole machine's"),
    ("NameLookup", "names are looked up as this machine does it; hostAliases and dnsConfig change nothing"),
    ("HostNetwork", "every pod is in the host's network, at an address of the loopback"),
)
_REMEDY = "for isolation run on Linux with user namespaces enabled"


class _Place(msgspec.Struct, frozen=True):
    """Where a process runs, and with it all that join it."""

    mark: str
    env: Mapping[str, str]
    cwd: str
    rewrite: Rewrite


class _Running(msgspec.Struct):
    """A process that was started."""

    started: Started
    popen: subprocess.Popen[bytes]
    place: _Place
    is_first: bool
    """Whether its end is the container's."""
    ended: asyncio.Future[Exit]
    memory: int | None = None
    oom: bool = False


class _Held(msgspec.Struct):
    """A box, and what was started in it."""

    address: str
    job: str
    running: dict[str, _Running] = msgspec.field(default_factory=dict)


class ProcessRunner:
    """Runs containers as plain processes."""

    name = "process"
    gateway = LOOPBACK

    def __init__(self, folder: Path) -> None:
        """`folder` tells the clusters of a machine apart: what ran for this one is found by it after a crash."""
        self._cluster = hashlib.sha256(os.fsencode(folder.absolute())).hexdigest()[:16]
        self._processes = Processes()
        self._boxes: dict[str, _Held] = {}
        self._ports: dict[tuple[str, int], int] = {}
        self._exits: dict[str, Exit] = {}
        """Of processes that had joined a container and have ended, the latest."""
        self._life = f"{os.getpid():x}-{int(clock.seconds() * 1000):x}"
        self._count = 0
        self._alarm: asyncio.TimerHandle | None = None
        if sys.platform == "linux":
            # What a container leaves behind becomes our child, so that it can be found and ended.
            ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)

    @property
    def abilities(self) -> Sequence[Ability]:
        """What pods can ask for: next to nothing."""
        missing = [
            Ability(name, honoured=False, reason="PlainProcesses", message=f"{what}; {_REMEDY}")
            for name, what in _NOT_HERE
        ]
        looks = self._processes.can_look
        message = f"a container seen to use more than its limit is killed; it is looked at every {WATCH:g} s"
        memory = Ability("MemoryLimits", looks, "Polling" if looks else "NoProc", message if looks else _REMEDY)
        return [*missing, memory]

    def owner(self, box: Box, *, uid: int | None, gid: int | None) -> tuple[int, int]:  # noqa: ARG002 - all are one
        """Whoever runs Trainplane: every container is run by the same."""
        return os.getuid(), os.getgid()

    async def sweep(self) -> Sequence[str]:
        """End what a former life has left behind."""
        marks = await self._processes.end_everywhere(f"{self._cluster}/") if self._processes.can_look else set()
        return sorted({mark.split("/")[1] for mark in marks})

    async def make(self, box: Box) -> tuple[str, ...]:
        """Give the box an address of the loopback."""
        name = f"{box.hostname}.{box.domain}" if box.domain else box.uid
        held = self._boxes.setdefault(box.uid, _Held(address_of(name), box.job))
        return (held.address,)

    async def start(self, box: Box, program: Program, stdio: Stdio) -> Started:
        """Start a container as a process in a session of its own."""
        held = self._boxes.get(box.uid)
        if held is None:
            raise NotStarted(CREATE_ERROR, f"the pod {box.pod.name} has no box; make one first")
        self._count += 1
        mark = f"{self._cluster}/{box.uid}/{program.container}/{self._count}"
        try:
            rewrite = Rewrite(box, program, address=address_of, port=lambda port: self._port(box.job, port))
            rewrite.link_mounts()
        except OSError as error:
            raise NotStarted(CREATE_ERROR, f"a volume cannot be reached: {error}") from error
        env = {name: rewrite.variable(name, value) for name, value in program.env.items()} | {MARK: mark}
        argv, cwd = [rewrite.text(word) for word in program.argv], rewrite.path(program.cwd)
        popen = _spawn(argv, env=env, cwd=cwd, stdio=stdio)
        place = _Place(mark, env, cwd, rewrite)
        running = self._follow(held, popen, place, pod_uid=box.uid, container=program.container)
        running.memory = program.memory
        self._watch()
        return running.started

    async def exec(
        self, started: Started, argv: Sequence[str], stdio: Stdio, *, env: Mapping[str, str] | None = None
    ) -> Started:
        """Start another process beside the first one of a container."""
        held, first = self._boxes.get(started.pod_uid), self._find(started)
        if held is None or first is None or first.ended.done():
            raise NotStarted(START_ERROR, f"the container {started.container} is not running")
        place = first.place
        words = [place.rewrite.text(word) for word in argv]
        popen = _spawn(words, env={**place.env, **(env or {})}, cwd=place.cwd, stdio=stdio)
        uid, container = started.pod_uid, started.container
        return self._follow(held, popen, place, pod_uid=uid, container=container, is_first=False).started

    async def wait(self, started: Started) -> Exit:
        """Wait until a process ends."""
        running = self._find(started)
        if running is None:
            return self._exits.get(started.id) or Exit(clock.now(), signal=_KILL)
        return await asyncio.shield(running.ended)

    async def kill(self, started: Started, signal: int) -> None:
        """Send a signal; SIGKILL reaches whatever the container has started."""
        running = self._find(started)
        if running is None or running.ended.done():
            return
        running.popen.send_signal(signal)
        if signal == _KILL:
            _kill_group(running.popen)
        if signal == _KILL and running.is_first:
            await self._processes.end(running.place.mark, known=self._known())

    async def dial(self, box: Box, port: int) -> socket.socket:
        """Connect to a port of the pod: at its address, or at the loopback, where many servers listen."""
        held = self._boxes.get(box.uid)
        hosts = dict.fromkeys((held.address if held else LOOPBACK, LOOPBACK))
        ports = dict.fromkeys((self._ports.get((box.job, port), port), port))
        failure = OSError(f"nobody listens at port {port} of the pod {box.pod.name}")
        for place in [(host, number) for number in ports for host in hosts]:
            sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            sock.setblocking(False)
            try:
                await asyncio.get_running_loop().sock_connect(sock, place)
            except OSError as error:
                sock.close()
                failure = error
            except BaseException:
                sock.close()
                raise
            else:
                return sock
        raise failure

    async def listen(self, port: int) -> socket.socket:
        """Listen at the loopback."""
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind((LOOPBACK, port))
            sock.listen(128)
            sock.setblocking(False)
        except OSError:
            sock.close()
            raise
        return sock

    async def resolve(self, names: Mapping[str, tuple[str, ...]]) -> None:
        """Nothing to do: a pod's address follows from its name."""

    async def use(self, box: Box) -> Use:
        """What the processes of a box use together."""
        return self._processes.use(f"{self._cluster}/{box.uid}/")

    async def remove(self, box: Box) -> None:
        """End everything in a box."""
        await self._remove(box.uid)

    async def close(self) -> None:
        """End everything."""
        for uid in list(self._boxes):
            await self._remove(uid)
        if self._alarm:
            self._alarm.cancel()

    async def _remove(self, uid: str) -> None:
        held = self._boxes.get(uid)
        if held is None:
            return
        for running in held.running.values():
            if not running.ended.done():
                _kill_group(running.popen)
        await self._processes.end(f"{self._cluster}/{uid}/", known=self._known())
        for running in held.running.values():
            await running.ended
        self._boxes.pop(uid, None)
        if not any(each.job == held.job for each in self._boxes.values()):
            self._ports = {key: port for key, port in self._ports.items() if key[0] != held.job}

    def _port(self, job: str, port: int) -> int:
        """The port that a job has got for itself instead of this one."""
        if (job, port) not in self._ports:
            with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
                sock.bind((LOOPBACK, 0))
                self._ports[job, port] = int(sock.getsockname()[1])
        return self._ports[job, port]

    def _find(self, started: Started) -> _Running | None:
        held = self._boxes.get(started.pod_uid)
        return held.running.get(started.id) if held else None

    def _known(self) -> list[int]:
        """The processes whose end we wait for anyway."""
        return [each.popen.pid for held in self._boxes.values() for each in held.running.values()]

    def _follow(
        self,
        held: _Held,
        popen: subprocess.Popen[bytes],
        place: _Place,
        *,
        pod_uid: str,
        container: str,
        is_first: bool = True,
    ) -> _Running:
        self._count += 1
        started = Started(f"{self._life}-{self._count:x}", pod_uid, container, popen.pid, clock.now())
        ended: asyncio.Future[Exit] = asyncio.get_running_loop().create_future()
        running = _Running(started, popen, place, is_first, ended)
        held.running[started.id] = running
        _when_ended(popen, lambda: self._has_ended(held, running))
        return running

    def _has_ended(self, held: _Held, running: _Running) -> None:
        code = running.popen.wait()
        if running.is_first:
            # A container ends with its first process, whatever else that has started.
            _kill_group(running.popen)
            self._processes.kill(running.place.mark, known=self._known())
        self._processes.reap()
        exit_ = Exit(clock.now(), max(code, 0), max(-code, 0), running.oom)
        if not running.ended.done():
            running.ended.set_result(exit_)
        if not running.is_first:
            held.running.pop(running.started.id, None)
            self._exits[running.started.id] = exit_
            if len(self._exits) > EXITS:
                self._exits.pop(next(iter(self._exits)))

    def _watch(self) -> None:
        """Look at what containers with a limit use, as long as there are such."""
        limited = [each for held in self._boxes.values() for each in held.running.values() if _is_limited(each)]
        for running in limited:
            if running.memory is not None and self._processes.use(running.place.mark).memory > running.memory:
                running.oom = True
                _kill_group(running.popen)
                self._processes.kill(running.place.mark, known=[running.popen.pid])
        if self._alarm:
            self._alarm.cancel()
        self._alarm = asyncio.get_running_loop().call_later(WATCH, self._watch) if limited else None


def address_of(name: str) -> str:
    """The address of a pod, which follows from its name; where the loopback has but one, all have that."""
    if sys.platform != "linux":
        return LOOPBACK
    digest = hashlib.sha256(name.encode()).digest()
    return f"127.{1 + digest[0] % 254}.{digest[1]}.{1 + digest[2] % 254}"


def _spawn(argv: list[str], *, env: Mapping[str, str], cwd: str, stdio: Stdio) -> "subprocess.Popen[bytes]":
    if not os.path.isdir(cwd):
        raise NotStarted(START_ERROR, f'chdir to cwd ("{cwd}") failed: no such file or directory')
    program = argv[0] if argv else ""
    found = (
        shutil.which(program, path=env.get("PATH", os.defpath)) if "/" not in program else os.path.join(cwd, program)
    )
    if not found:
        raise NotStarted(START_ERROR, f'exec: "{program}": executable file not found in $PATH')
    try:
        return subprocess.Popen(  # noqa: S603 - running what the pod says is what this is for
            argv,
            executable=found,
            env=dict(env),
            cwd=cwd,
            stdin=stdio.stdin,
            stdout=stdio.stdout,
            stderr=stdio.stderr,
            start_new_session=True,
            preexec_fn=_take_terminal if stdio.terminal else None,
        )
    except (OSError, ValueError) as error:
        what = error.strerror.lower() if isinstance(error, OSError) and error.strerror else str(error)
        raise NotStarted(START_ERROR, f'exec: "{program}": {what}') from error


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _kill_group(popen: "subprocess.Popen[bytes]") -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(popen.pid, signal.SIGKILL)


def _is_limited(running: _Running) -> bool:
    return running.memory is not None and not running.ended.done()


def _when_ended(popen: "subprocess.Popen[bytes]", tell: Callable[[], None]) -> None:
    """Have the loop told when a process has ended."""
    loop = asyncio.get_running_loop()
    if not hasattr(os, "pidfd_open"):
        threading.Thread(target=lambda: (popen.wait(), loop.call_soon_threadsafe(tell)), daemon=True).start()
        return
    pidfd = os.pidfd_open(popen.pid)

    def readable() -> None:
        loop.remove_reader(pidfd)
        os.close(pidfd)
        tell()

    loop.add_reader(pidfd, readable)
