"""container: the Runner that has podman or docker make containers of images, in the pod network that Trainplane makes.

A box is one of the Runner `namespaced`, and the engine's containers join its network. So addresses, names, the way out
and what is kept from whom are the same with both, and nothing is added to the host.
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
from pathlib import Path

from trainplane.control import clock
from trainplane.node import engines
from trainplane.node.engine import Engine, Failed, Sandbox, end
from trainplane.node.engine_words import Wording
from trainplane.node.joined import MARK, kill_joined
from trainplane.node.namespaced import cgroups
from trainplane.node.namespaced.addresses import GATEWAY
from trainplane.node.namespaced.runner import NamespacedRunner
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

EXITS = 1024
BEGINS = 100
LATE = 2.0
"""Seconds that a command in a container may take to hear that this is gone."""
ENDS, ENDS_STEP = 200, 0.05
"""How often, and how many seconds apart, a process is looked for that must end: the engine may not have begun it."""
NOT_BEGUN = ("created", "initialized")
_SUBREAPER = 36


@dataclass(slots=True)
class _Held:
    """A box, what holds it, and the engine's containers in it."""

    box: Box
    sandbox: Sandbox
    names: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Running:
    """A process in a container, by the engine's command that stands for it."""

    name: str
    """Of the container, as the engine has it."""
    command: asyncio.subprocess.Process
    ended: asyncio.Task[Exit]
    is_first: bool
    pid: int = 0
    """Of the container's first process."""
    is_limited: bool = False
    is_killed: bool = False
    has_begun: bool = False
    """Whether the engine was seen to have started it."""


class ContainerRunner:
    """Runs containers with an engine."""

    name = CONTAINER
    gateway = GATEWAY

    def __init__(
        self, folder: Path, *, egress: bool = True, environment: Mapping[str, str] = os.environ, engine: str = ""
    ) -> None:
        """`folder` is the Runner's own, and outlives it; `environment` is what the engine is run with.

        `engine` is the name of the one that is wanted; "" is the first that works.
        """
        # What podman leaves to run goes to whoever adopts orphans, and that must be one who buries them.
        ctypes.CDLL(None).prctl(_SUBREAPER, 0, 0, 0, 0)
        self._ground = NamespacedRunner(folder, egress=egress, environment=environment)
        self._folder = folder
        self._egress = egress
        self._environment = environment
        self._wanted = engine
        self._found: tuple[Engine, Wording, Pulls] | None = None
        self._boxes: dict[str, _Held] = {}
        self._running: dict[str, _Running] = {}
        self._count = 0

    @property
    def engine(self) -> Engine:
        """The engine that was found to work; `sweep` comes first."""
        return self._known()[0]

    def _known(self) -> tuple[Engine, Wording, Pulls]:
        if self._found is None:
            raise RuntimeError("sweep comes first")
        return self._found

    @property
    def abilities(self) -> Sequence[Ability]:
        """What pods can ask for: what the pod network gives them, and what the engine does."""
        name = self.engine.name
        memory = f"{name} holds limits with control groups; a container that was killed over its limit is told by that"
        own = [
            Ability("MemoryLimits", True, "Engine", memory),
            Ability("CPULimits", True, "Engine", f"{name} holds limits with control groups"),
            *self.engine.abilities,
        ]
        logins = (
            f"{name}'s own logins are used to pull images, and no Secrets; run {name} login as the user of the node"
        )
        user = "whom an image runs as is not looked at; set runAsUser"
        less = [
            Ability("ImagePullSecrets", False, "Engine", logins),
            Ability("RunAsNonRoot", False, "Engine", user),
        ]
        instead = {each.name: each for each in own}
        return [*(instead.get(each.name, each) for each in self._ground.abilities), *less]

    def owner(self, box: Box, *, uid: int | None, gid: int | None) -> tuple[int, int]:
        """The user and group of the host that files must have to be theirs in a pod; an image's user is root."""
        return self._ground.owner(box, uid=uid or 0, gid=gid if gid is not None else uid or 0)

    async def sweep(self) -> Sequence[str]:
        """End what a former life has left, and find an engine that works here; raises Unable."""
        if os.geteuid() != 0:
            todo = f"run as root, or {engines.OTHERWISE}"
            raise Unable(f"only root can have an engine's containers join the pod network; {todo}")
        left = await engines.sweep(self._folder, self._environment)
        try:
            uids = list(await self._ground.sweep())
            engine = await engines.find(self._wanted, self._environment, folder=self._folder, ground=self._ground)
        except BaseException:
            # Whoever is told to stop now has no Runner yet that could be closed.
            await self._ground.close()
            raise
        self._found = engine, Wording(engine, egress=self._egress), Pulls(engine)
        shutil.rmtree(self._found[1].memory, ignore_errors=True)
        return sorted({*uids, *left})

    async def make(self, box: Box) -> tuple[str, ...]:
        """Make a box, and have something hold it."""
        try:
            sandbox = await self.engine.hold(box)
        except Failed as error:
            raise NotStarted(CREATE_ERROR, f"the pod's surroundings cannot be made: {error}") from error
        self._boxes[box.uid] = _Held(box, sandbox)
        return sandbox.addresses

    async def start(self, box: Box, program: Program, stdio: Stdio) -> Started:
        """Have the engine make a container that joins the box, and start it."""
        engine, wording, pulls = self._known()
        held = self._boxes.get(box.uid)
        if held is None:
            raise NotStarted(CREATE_ERROR, f"the pod {box.pod.name} has no box any more")
        if program.image is None and program.root is None:
            message = "the image stands for an environment of this machine, and containers have images or root folders"
            todo = f"map it to a root folder or not at all, or {engines.OTHERWISE}"
            raise NotStarted(CREATE_ERROR, f"{message}; {todo}")
        if program.image:
            await pulls.get(program.image)
        self._count += 1
        name = f"trainplane-{engine.label}-{box.uid[:8]}-{program.container}-{self._count}"
        held.names.append(name)
        try:
            held.sandbox = await engine.keep(box, held.sandbox)
            words, extra = await wording.words(box, program, name=name, sandbox=held.sandbox, terminal=stdio.terminal)
            await engine.create(*words, environment=extra)
        except (Failed, OSError) as error:
            raise NotStarted(CREATE_ERROR, f"the container {program.container} cannot be made: {error}") from error
        try:
            command, pid = await engine.start(name, stdio)
        except Failed as error:
            reason = START_ERROR if error.is_missing_program else CREATE_ERROR
            raise NotStarted(reason, str(error)) from error
        running = self._follow(name, command, box=box, is_first=True)
        running.pid = pid
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
        if why := self.engine.why_not_joined(held.box):
            raise NotStarted(START_ERROR, why)
        await self._begun(first)
        self._count += 1
        name = f"{first.name}/{self._count}"
        own = {**(env or {}), MARK: name}
        words = [word for key, value in own.items() for word in ("--env", f"{key}={value}")]
        words += ["--tty"] * stdio.terminal
        command = await self.engine.begin("exec", "--interactive", *words, first.name, *argv, stdio=stdio)
        self._follow(name, command, box=held.box, is_first=False)
        return Started(name, started.pod_uid, started.container, command.pid, clock.now())

    async def _begun(self, running: _Running) -> None:
        """Wait until the engine has started a container that it was told to start: nobody can join it before."""
        for _ in range(BEGINS):
            if running.has_begun or running.ended.done():
                return
            try:
                state = await self.engine.state(running.name)
            except Failed as error:
                raise NotStarted(START_ERROR, str(error)) from error
            running.has_begun = state.get("Status") not in NOT_BEGUN
        raise NotStarted(START_ERROR, f"{self.engine.name} has not started {running.name} yet; try again")

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
            state = await self.engine.state(name)
            if state.get("Running"):
                # Only the command has ended that told us what it says.
                await self.engine.ask("wait", name, patience=None)
                state = await self.engine.state(name)
        except Failed:
            return Exit(clock.now(), signal=signals.SIGKILL)
        if state.get("Status") in NOT_BEGUN:
            # The command was ended before it had started the container; nothing of that has run.
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
        """Send a signal; one for a process that has joined a container goes to all that it has started too."""
        running = self._running.get(started.id)
        if running is None or running.ended.done():
            return
        if not running.is_first:
            await self._end_joined(running, started.id, signal)
            return
        running.is_killed = running.is_killed or signal == signals.SIGKILL
        with contextlib.suppress(Failed):
            await self.engine.ask("kill", "--signal", str(int(signal)), running.name)

    async def _end_joined(self, running: _Running, name: str, signal: int) -> None:
        """Send a signal to what has joined a container; one that ends it is repeated, for the engine may be late."""
        for _ in range(ENDS if signal == signals.SIGKILL else 1):
            await asyncio.to_thread(kill_joined, name, signal)
            await asyncio.wait({running.ended}, timeout=ENDS_STEP)
            if running.ended.done():
                return
        with contextlib.suppress(ProcessLookupError):
            running.command.send_signal(signal)

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
        """What the control groups count that the engine has made for the containers of a pod."""
        held = self._boxes.get(box.uid)
        there = [self._running[name] for name in (held.names if held else ()) if name in self._running]
        found = [cgroups.use_of(each.pid) for each in there if each.pid and not each.ended.done()]
        return Use(sum(seconds for seconds, _ in found), sum(memory for _, memory in found))

    async def remove(self, box: Box) -> None:
        """Remove the engine's containers, then the box."""
        held = self._boxes.pop(box.uid, None)
        try:
            if held is not None:
                await self.engine.remove([*held.names, *filter(None, [held.sandbox.name])])
                for name in held.names:
                    if running := self._running.get(name):
                        await running.ended
                for name, running in list(self._running.items()):
                    if not running.is_first and name.rpartition("/")[0] in held.names:
                        await _end(running)
        except Failed as error:
            raise NotStarted(CREATE_ERROR, f"the containers of the pod {box.pod.name} do not go: {error}") from error
        finally:
            shutil.rmtree(self._known()[1].memory / box.uid, ignore_errors=True)
            await self._ground.remove(box)

    async def close(self) -> None:
        """End everything, with what was cut short while it was made or removed."""
        for held in list(self._boxes.values()):
            with contextlib.suppress(NotStarted):
                await self.remove(held.box)
        if self._found:
            shutil.rmtree(self._found[1].memory, ignore_errors=True)
            await self._leave(self.engine)
        await self._ground.close()

    async def _leave(self, engine: Engine) -> None:
        """Let an engine have nothing of ours any more; one that keeps something stays noted for the next life."""
        for running in list(self._running.values()):
            await end(running.command)
        ended = [running.ended for running in self._running.values()]
        try:
            await engine.sweep()
            engines.forget(self._folder, engine.name)
        except Failed:
            # Nobody knows when what is left will end.
            for each in ended:
                each.cancel()
        await asyncio.gather(*ended, return_exceptions=True)


async def _end(joined: _Running) -> None:
    """Wait for a command whose container is gone: it ends by itself, or is ended."""
    await asyncio.wait({joined.ended}, timeout=LATE)
    if not joined.ended.done():
        with contextlib.suppress(ProcessLookupError):
            joined.command.kill()
        await joined.ended
