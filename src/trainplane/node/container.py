"""container: the Runner that has podman make containers of real images, in the pod network that Trainplane makes.

A box is one of the Runner `namespaced`, held by a process that only sleeps; podman's containers join its namespaces. So
addresses, names, the way out and what is kept from whom are the same with both, and nothing is added to the host.
"""

import asyncio
import contextlib
import ctypes
import os
import shutil
import signal as signals
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from trainplane.control import clock
from trainplane.node.namespaced.addresses import GATEWAY
from trainplane.node.namespaced.leftovers import label
from trainplane.node.namespaced.runner import NamespacedRunner
from trainplane.node.podman import Failed, Podman
from trainplane.node.podman_words import CLUSTER, POD, Wording
from trainplane.node.pulls import Pulls
from trainplane.node.runner import (
    CONTAINER,
    CREATE_ERROR,
    START_ERROR,
    Ability,
    Box,
    Exit,
    NotStarted,
    Program,
    Started,
    Stdio,
    Unable,
    Use,
)

SANDBOX = "sandbox"
EXITS = 1024
BEGINS = 100
NOT_BEGUN = ("created", "initialized")
ENTERS = (1, 2)
"""The first version of runc that joins the pod network before it becomes one of the container's users."""
_SUBREAPER = 36
_NEEDS = "use --runner namespaced, which needs no engine"


@dataclass(slots=True)
class _Held:
    """A box, the process that holds it, and the engine's containers in it."""

    box: Box
    addresses: tuple[str, ...]
    sandbox: Started
    names: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Running:
    """A process in a container, by the engine's command that stands for it."""

    name: str
    """Of the container, as the engine has it."""
    command: asyncio.subprocess.Process
    ended: asyncio.Task[Exit]
    is_first: bool
    is_limited: bool = False
    is_killed: bool = False
    has_begun: bool = False
    """Whether the engine was seen to have started it."""


class ContainerRunner:
    """Runs containers with podman."""

    name = CONTAINER
    gateway = GATEWAY

    def __init__(self, folder: Path, *, egress: bool = True, environment: Mapping[str, str] = os.environ) -> None:
        """`folder` is the Runner's own, and outlives it; `environment` is what podman is run with."""
        # What podman leaves to run goes to whoever adopts orphans, and that must be one who buries them.
        ctypes.CDLL(None).prctl(_SUBREAPER, 0, 0, 0, 0)
        self._ground = NamespacedRunner(folder, egress=egress, environment=environment)
        self._folder = folder
        self._label = label(folder)
        owner = partial(self._ground.owner, uid=0, gid=0)
        self._wording = Wording(self._label, egress=egress, owner=owner)
        self._podman = Podman(environment, folder=folder)
        self._pulls = Pulls(self._podman)
        self._boxes: dict[str, _Held] = {}
        self._running: dict[str, _Running] = {}
        self._count = 0
        self._cannot_enter = ""
        """Why no other process can join a container whose users are not the host's, where that is so."""

    @property
    def abilities(self) -> Sequence[Ability]:
        """What pods can ask for: what the pod network gives them, and what the engine does."""
        memory = (
            "the engine holds limits with control groups; a container that was killed over its limit is told by that"
        )
        own = {
            "MemoryLimits": Ability("MemoryLimits", True, "Engine", memory),
            "CPULimits": Ability("CPULimits", True, "Engine", "the engine holds limits with control groups"),
        }
        logins = "podman's own logins are used to pull images, and no Secrets; run podman login as the user of the node"
        user = "whom an image runs as is not looked at; set runAsUser"
        less = [
            Ability("ImagePullSecrets", False, "Engine", logins),
            Ability("RunAsNonRoot", False, "Engine", user),
        ]
        return [*(own.get(each.name, each) for each in self._ground.abilities), *less]

    def owner(self, box: Box, *, uid: int | None, gid: int | None) -> tuple[int, int]:
        """The user and group of the host that files must have to be theirs in a pod; an image's user is root."""
        return self._ground.owner(box, uid=uid or 0, gid=gid if gid is not None else uid or 0)

    async def sweep(self) -> Sequence[str]:
        """End what a former life has left, and try whether podman works here; raises Unable."""
        if os.geteuid() != 0:
            raise Unable(f"only root can have podman join the pod network; run as root, or {_NEEDS}")
        if not self._podman.path:
            beside = " (docker is there, but cannot join a network that it has not made)" * bool(shutil.which("docker"))
            raise Unable(f"podman was looked for and is not on the PATH{beside}; install it, or {_NEEDS}")
        uids = list(await self._ground.sweep())
        try:
            left = await self._podman.containers(f"{CLUSTER}={self._label}")
            await self._podman.remove([name for name, _ in left])
            await self._try()
            name, version = await self._podman.runtime()
            if name == "runc" and version < ENTERS:
                self._cannot_enter = (
                    f"{name} {'.'.join(map(str, version))} cannot enter containers with users of their own"
                )
        except Failed as error:
            await self._ground.close()
            raise Unable(f"podman cannot make containers here: {error}; mend that, or {_NEEDS}") from error
        shutil.rmtree(self._wording.memory, ignore_errors=True)
        return sorted({*uids, *(labels.get(POD, "") for _, labels in left)} - {""})

    async def _try(self) -> None:
        """Make a container around a program that does not exist: where only that is missing, all the rest works."""
        root = self._folder / "trial-root"
        root.mkdir(exist_ok=True)
        name = f"trainplane-{self._label}-trial"
        await self._podman.remove([name])
        try:
            trial = ["--name", name, "--network", "none", "--rootfs", str(root), "/none"]
            await self._podman.ask("create", "--label", f"{CLUSTER}={self._label}", *trial)
            await self._podman.ask("init", name)
        except Failed as error:
            if not error.is_missing_program:
                raise
        finally:
            await self._podman.remove([name])
            shutil.rmtree(root, ignore_errors=True)

    async def make(self, box: Box) -> tuple[str, ...]:
        """Make a box, and have a process hold it."""
        addresses = await self._ground.make(box)
        self._boxes[box.uid] = _Held(box, addresses, await self._hold(box))
        return addresses

    async def _hold(self, box: Box) -> Started:
        sleep = shutil.which("sleep") or "/bin/sleep"
        with open(os.devnull, "r+b") as nothing:
            stdio = Stdio(nothing.fileno(), nothing.fileno(), nothing.fileno())
            return await self._ground.start(box, Program(SANDBOX, (sleep, "infinity"), {}), stdio)

    async def start(self, box: Box, program: Program, stdio: Stdio) -> Started:
        """Have the engine make a container that joins the box, and start it."""
        held = self._boxes.get(box.uid)
        if held is None:
            raise NotStarted(CREATE_ERROR, f"the pod {box.pod.name} has no box any more")
        if not os.path.exists(f"/proc/{held.sandbox.pid}/ns/net"):
            # It went with the fork server, which makes the box anew.
            held.sandbox = await self._hold(box)
        if program.image is None and program.root is None:
            message = "the image stands for an environment of this machine, and containers have images or root folders"
            raise NotStarted(CREATE_ERROR, f"{message}; map it to a root folder or not at all, or {_NEEDS}")
        if program.image:
            await self._pulls.get(program.image)
        self._count += 1
        name = f"trainplane-{self._label}-{box.uid[:8]}-{program.container}-{self._count}"
        held.names.append(name)
        try:
            words, extra = self._wording.words(
                box,
                program,
                name=name,
                addresses=held.addresses,
                sandbox=held.sandbox.pid,
                terminal=stdio.terminal,
            )
            await self._podman.ask("create", *words, environment=extra)
        except (Failed, OSError) as error:
            raise NotStarted(CREATE_ERROR, f"the container {program.container} cannot be made: {error}") from error
        try:
            await self._podman.ask("init", name)
            pid = int((await self._podman.state(name))["Pid"])
        except Failed as error:
            reason = START_ERROR if error.is_missing_program else CREATE_ERROR
            raise NotStarted(reason, str(error)) from error
        command = await self._podman.begin("start", "--attach", "--interactive", "--sig-proxy=false", name, stdio=stdio)
        running = self._follow(name, command, box=box, is_first=True)
        running.is_limited = program.memory is not None
        return Started(name, box.uid, program.container, pid, clock.now())

    async def exec(
        self, started: Started, argv: Sequence[str], stdio: Stdio, *, env: Mapping[str, str] | None = None
    ) -> Started:
        """Start another process in a container that runs."""
        first = self._running.get(started.id)
        held = self._boxes.get(started.pod_uid)
        if first is None or held is None or first.ended.done():
            raise NotStarted(START_ERROR, f"the container {started.container} is not running")
        if self._cannot_enter and not held.box.host_users:
            todo = "install crun or a newer runc, or label the namespace trainplane.dev/users: host"
            raise NotStarted(START_ERROR, f"{self._cannot_enter}; {todo}")
        await self._begun(first)
        words = [word for name, value in (env or {}).items() for word in ("--env", f"{name}={value}")]
        words += ["--tty"] * stdio.terminal
        command = await self._podman.begin("exec", "--interactive", *words, first.name, *argv, stdio=stdio)
        self._count += 1
        name = f"{first.name}/{self._count}"
        self._follow(name, command, box=held.box, is_first=False)
        return Started(name, started.pod_uid, started.container, command.pid, clock.now())

    async def _begun(self, running: _Running) -> None:
        """Wait until the engine has started a container that it was told to start: nobody can join it before."""
        for _ in range(BEGINS):
            if running.has_begun or running.ended.done():
                return
            try:
                state = await self._podman.state(running.name)
            except Failed as error:
                raise NotStarted(START_ERROR, str(error)) from error
            running.has_begun = state.get("Status") not in NOT_BEGUN
        raise NotStarted(START_ERROR, f"podman has not started {running.name} yet; try again")

    def _follow(self, name: str, command: asyncio.subprocess.Process, *, box: Box, is_first: bool) -> _Running:
        async def ended() -> Exit:
            code = await command.wait()
            if not is_first:
                return Exit(clock.now(), max(code, 0), max(-code, 0))
            return await self._exit(name, running)

        # Awaited by `wait` and `remove`.
        running = _Running(name, command, asyncio.create_task(ended(), name=f"{box.pod.name}/{name}"), is_first)
        self._running[name] = running
        while len(self._running) > EXITS and next(iter(self._running.values())).ended.done():
            self._running.pop(next(iter(self._running)))
        return running

    async def _exit(self, name: str, running: _Running) -> Exit:
        """How a container ended, as the engine says."""
        try:
            state = await self._podman.state(name)
            if state.get("Running"):
                # Only the command has ended that told us what it says.
                await self._podman.ask("wait", name)
                state = await self._podman.state(name)
        except Failed:
            return Exit(clock.now(), signal=signals.SIGKILL)
        code = int(state.get("ExitCode") or 0)
        # Not every runtime of the engine reports this; who has a limit and was killed by nobody else met it.
        oom = bool(state.get("OOMKilled")) or (code == 128 + signals.SIGKILL and running.is_limited)
        return Exit(clock.now(), code, oom=oom and not running.is_killed)

    async def wait(self, started: Started) -> Exit:
        """Wait until a process ends."""
        running = self._running.get(started.id)
        return await asyncio.shield(running.ended) if running else Exit(clock.now(), signal=signals.SIGKILL)

    async def kill(self, started: Started, signal: int) -> None:
        """Send a signal; one for a process that has joined a container reaches the command that stands for it."""
        running = self._running.get(started.id)
        if running is None or running.ended.done():
            return
        if not running.is_first:
            with contextlib.suppress(ProcessLookupError):
                running.command.send_signal(signal)
            return
        running.is_killed = running.is_killed or signal == signals.SIGKILL
        with contextlib.suppress(Failed):
            await self._podman.ask("kill", "--signal", str(int(signal)), running.name)

    async def dial(self, box: Box, port: int) -> socket.socket:
        """Connect to a port of the pod."""
        return await self._ground.dial(box, port)

    async def listen(self, port: int) -> socket.socket:
        """Listen at the gateway."""
        return await self._ground.listen(port)

    async def resolve(self, names: Mapping[str, tuple[str, ...]]) -> None:
        """Let the pods' name server know these names."""
        await self._ground.resolve(names)

    async def use(self, box: Box) -> Use:
        """What the engine counts for the containers of a pod."""
        held = self._boxes.get(box.uid)
        there = [name for name in (held.names if held else ()) if name in self._running]
        return await self._podman.use([name for name in there if not self._running[name].ended.done()])

    async def remove(self, box: Box) -> None:
        """Remove the engine's containers, then the box."""
        held = self._boxes.pop(box.uid, None)
        try:
            if held is not None:
                await self._podman.remove(held.names)
                for name in held.names:
                    if running := self._running.get(name):
                        await running.ended
        except Failed as error:
            raise NotStarted(CREATE_ERROR, f"the containers of the pod {box.pod.name} do not go: {error}") from error
        finally:
            shutil.rmtree(self._wording.memory / box.uid, ignore_errors=True)
            await self._ground.remove(box)

    async def close(self) -> None:
        """End everything."""
        for held in list(self._boxes.values()):
            with contextlib.suppress(NotStarted):
                await self.remove(held.box)
        shutil.rmtree(self._wording.memory, ignore_errors=True)
        await self._ground.close()
