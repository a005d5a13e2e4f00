"""namespaced: the Runner that gives each container namespaces of its own, as root and as an ordinary user."""

import asyncio
import contextlib
import os
import signal as signals
import socket
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import msgspec

from trainplane.control import clock
from trainplane.node.namespaced import cgroups, early, minder
from trainplane.node.namespaced.abilities import Found, abilities
from trainplane.node.namespaced.addresses import GATEWAY, Addresses, host_address
from trainplane.node.namespaced.channel import Message
from trainplane.node.namespaced.client import LOG, ForkServer, Line, Lost, Unable, ranges
from trainplane.node.namespaced.gateway import Gateway
from trainplane.node.namespaced.leftovers import Notes
from trainplane.node.namespaced.orders import Orders, box_order, has_filters
from trainplane.node.namespaced.trial import Trial
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

_REASONS = {minder.START: START_ERROR, minder.CREATE: CREATE_ERROR}
_EXITS = 4096
_LONGEST_NAME = 64
"""Of a host; the kernel takes no more."""
_SYSCTLS = ("net.", "kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue.")
"""Those that belong to a namespace; all others are the whole machine's."""


class _Made(msgspec.Struct):
    """A box, as long as there is one."""

    box: Box
    addresses: tuple[str, ...]
    ids: list[str] = msgspec.field(default_factory=list)
    network: Path | None = None
    """The network namespace that somebody else has made for it."""


class NamespacedRunner:
    """Runs containers in namespaces, through a fork server."""

    name = "namespaced"
    gateway = GATEWAY

    def __init__(self, folder: Path, *, egress: bool = True, environment: Mapping[str, str] = os.environ) -> None:
        """`folder` is the Runner's own, and outlives it: by it the next life finds what this one left.

        `environment` names the proxy that the machine itself uses, where it has one.
        """
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._notes = Notes(folder)
        self._egress = egress
        self._rootless = os.geteuid() != 0
        self._ranges = ranges() if self._rootless else None
        self._groups: cgroups.Cgroups | None = None
        self._server = ForkServer(folder / LOG, hear=self._hear, lost=self._lost)
        self._starting = asyncio.Lock()
        self._orders: Orders | None = None
        self._addresses = Addresses()
        self._boxes: dict[str, _Made] = {}
        self._begun: dict[str, asyncio.Future[None]] = {}
        self._pids: dict[str, int] = {}
        self._ended: dict[str, asyncio.Future[Exit]] = {}
        self._homeless: dict[str, _Made] = {}
        """Boxes that were lost with the fork server; they are made again when a container is started in one."""
        self._gateway = Gateway(
            listen=self._listener,
            connect=partial(self._connect, ""),
            box_at=self._box_at,
            egress=egress,
            environment=environment,
        )

    @property
    def abilities(self) -> Sequence[Ability]:
        """What pods can ask for; known after `sweep`."""
        version = self._groups.version if self._groups else None
        has_ranges, has_users = self._ranges is not None, self._server.has_users
        return abilities(Found(self._rootless, has_ranges, has_users, version, self._egress, has_filters()))

    @property
    def processes(self) -> Sequence[int]:
        """The processes that hold everything up: one that waits, and the fork server."""
        return tuple(self._server.pids)

    @property
    def control_groups(self) -> Sequence[str]:
        """The folders below which the control groups of pods lie; none where there are none."""
        return tuple(self._groups.folders) if self._groups else ()

    def owner(self, box: Box, *, uid: int | None, gid: int | None) -> tuple[int, int]:
        """The user and group of the host that files must have to be theirs in a pod."""
        if self._rootless:
            return os.getuid(), os.getgid()
        return self._known_orders().owner(box, uid, gid)

    async def sweep(self) -> Sequence[str]:
        """End what a former life has left, then start the fork server; raises Unable where the machine refuses it."""
        begun = early.taken(self._folder)
        if begun is None:
            uids, self._groups = await asyncio.to_thread(early.swept, self._folder)
        else:
            uids, self._groups = begun.swept, begun.groups
        try:
            await self._serve_somehow(begun.trial if begun else None)
        except Unable:
            await self.close()
            raise
        return uids

    async def _serve_somehow(self, trial: Trial | None) -> None:
        try:
            await self._serve(partial(self._try, trial=trial))
        except Unable:
            if self._ranges is None:
                raise
            # What /etc/subuid promises is not to be had; one user is better than none.
            self._ranges = None
            await self._serve(self._try)

    def _try(self, line: Line, trial: Trial | None = None) -> None:
        """Find out whether containers can be made, by a trial that is under way or another; raises Unable."""
        address = self._addresses.take()
        try:
            if trial:
                with contextlib.suppress(Unable):
                    # What was asked for before all was known of the machine may be refused for that alone.
                    trial.judge(line)
                    return
            trial = Trial(self._folder, address=address)
            trial.ask(line, self._known_orders())
            trial.judge(line)
        finally:
            self._addresses.give_back(address)

    async def _serve(self, first: Callable[[Line], None] = lambda _: None) -> None:
        """Have a fork server, with the pods' name server and the way out beside it; `first` asks before all others."""
        async with self._starting:
            if self._server.runs:
                return
            hello = early.hello(self._groups, rootless=self._rootless, ranges=self._ranges)
            await self._server.start(hello, first=partial(self._meet, then=first))
            if not self._gateway.is_open:
                await self._gateway.open()

    def _meet(self, line: Line, then: Callable[[Line], None]) -> None:
        """Take note of a new fork server, which nobody has asked for anything yet."""
        self._notes.server(self._server.pids, self.control_groups)
        self._orders = Orders(
            self._folder,
            rootless=self._rootless,
            has_ranges=self._ranges is not None,
            has_users=self._server.has_users,
            has_egress=self._egress,
        )
        then(line)

    def _known_orders(self) -> Orders:
        if self._orders is None:
            raise RuntimeError("sweep comes first")
        return self._orders

    async def _listener(self, port: int, *, datagrams: bool = False) -> socket.socket:
        _, passed = await self._server.ask("listen", port=port, datagrams=datagrams)
        found = socket.socket(fileno=passed[0])
        found.setblocking(False)
        return found

    def has(self, box: Box) -> bool:
        """Whether there is a box; it may have been lost with the fork server."""
        return box.uid in self._boxes

    async def make(self, box: Box, *, network: Path | None = None) -> tuple[str, ...]:
        """Make a box: namespaces for network, names and shared memory, with an address.

        `network` is a network namespace that it joins instead of having one made; in another one it is made again.
        """
        if foreign := [name for name in box.sysctls if not name.startswith(_SYSCTLS)]:
            raise NotStarted(CREATE_ERROR, f"a pod has no sysctl {', '.join(foreign)} of its own; remove it")
        if len(box.nodename) > _LONGEST_NAME:
            too_long = f"the full name {box.nodename} has {len(box.nodename)} letters, and a host has {_LONGEST_NAME}"
            raise NotStarted(CREATE_ERROR, f"{too_long} at most; use shorter names, or leave setHostnameAsFQDN out")
        if network and (known := self._boxes.get(box.uid) or self._homeless.get(box.uid)):
            known.network = network
            return (await self._make(known)).addresses
        try:
            addresses = (host_address() if box.host_network else self._addresses.take(),)
        except OSError as error:
            raise NotStarted(CREATE_ERROR, f"{error.strerror}; remove pods that have ended") from error
        return (await self._make(_Made(box, addresses, network=network))).addresses

    async def _make(self, made: _Made) -> _Made:
        box, networks = made.box, list[int]()
        try:
            if made.network and not box.host_network:
                networks.append(os.open(made.network, os.O_RDONLY | os.O_CLOEXEC))
            await self._serve()
            self._notes.made(box.uid)
            order = box_order(box, address="" if box.host_network else made.addresses[0])
            await self._server.ask("make", files=networks, **order)
        except (OSError, Unable, Lost) as error:
            self._forget(made)
            said = error.strerror if isinstance(error, OSError) else str(error)
            raise NotStarted(CREATE_ERROR, f"the pod's surroundings cannot be made: {said}") from error
        finally:
            for each in networks:
                os.close(each)
        self._homeless.pop(box.uid, None)
        self._boxes[box.uid] = made
        return made

    async def start(self, box: Box, program: Program, stdio: Stdio) -> Started:
        """Start a container of a box."""
        made = self._boxes.get(box.uid)
        if made is None and box.uid in self._homeless:
            made = await self._make(self._homeless[box.uid])
        if made is None:
            raise NotStarted(CREATE_ERROR, f"the pod {box.pod.name} has no box any more")
        order = self._known_orders().container_order(box, program, stdio, addresses=made.addresses)
        return await self._begin("start", made, program.container, stdio, **order)

    async def exec(
        self, started: Started, argv: Sequence[str], stdio: Stdio, *, env: Mapping[str, str] | None = None
    ) -> Started:
        """Start another process in a container that runs."""
        made = self._boxes.get(started.pod_uid)
        ended = self._ended.get(started.id)
        if made is None or ended is None or ended.done():
            raise NotStarted(START_ERROR, f"the container {started.container} is not running")
        order = {"argv": list(argv), "terminal": stdio.terminal, "more_env": dict(env or {})}
        return await self._begin("exec", made, started.container, stdio, uid=made.box.uid, order=order, of=started.id)

    async def _begin(self, verb: str, made: _Made, container: str, stdio: Stdio, **fields: object) -> Started:
        name = uuid.uuid4().hex
        loop = asyncio.get_running_loop()
        begun = self._begun[name] = loop.create_future()
        self._ended[name] = loop.create_future()
        made.ids.append(name)
        try:
            files = (stdio.stdin, stdio.stdout, stdio.stderr)
            await self._server.ask(verb, files=files, id=name, **fields)
            await begun
        except (OSError, Lost) as error:
            self._ended.pop(name, None)
            said = error.strerror if isinstance(error, OSError) else str(error)
            raise NotStarted(CREATE_ERROR, f"the container {container} cannot be made: {said}") from error
        except NotStarted:
            self._ended.pop(name, None)
            raise
        finally:
            self._begun.pop(name, None)
            pid = self._pids.pop(name, 0)
        return Started(name, made.box.uid, container, pid, clock.now())

    def _hear(self, message: Message, pid: int) -> None:
        """Note what the fork server reports."""
        begun, ended = self._begun.get(message["id"]), self._ended.get(message["id"])
        if message["event"] == "named" and begun:
            self._pids[message["id"]] = pid
        elif message["event"] == "started" and begun and not begun.done():
            begun.set_result(None)
        elif message["event"] == "failed" and begun and not begun.done():
            begun.set_exception(NotStarted(_REASONS[message["reason"]], message["message"]))
        elif message["event"] == "exit" and ended and not ended.done():
            ended.set_result(Exit(clock.now(), message["code"], message["signal"], message["oom"]))

    def _lost(self) -> None:
        """The fork server is gone, and with it every container; the pods' network is kept for the next one."""
        for begun in self._begun.values():
            if not begun.done():
                begun.set_exception(NotStarted(CREATE_ERROR, "the fork server has ended"))
        for ended in self._ended.values():
            if not ended.done():
                ended.set_result(Exit(clock.now(), signal=signals.SIGKILL, lost=True))
        self._homeless |= self._boxes
        self._boxes.clear()

    def _forget(self, made: _Made) -> None:
        self._boxes.pop(made.box.uid, None)
        self._homeless.pop(made.box.uid, None)
        if not made.box.host_network:
            self._addresses.give_back(made.addresses[0])
        self._notes.removed(made.box.uid)
        while len(self._ended) > _EXITS and next(iter(self._ended.values())).done():
            self._ended.pop(next(iter(self._ended)))

    async def wait(self, started: Started) -> Exit:
        """Wait until a process ends."""
        ended = self._ended.get(started.id)
        return await asyncio.shield(ended) if ended else Exit(clock.now(), signal=signals.SIGKILL)

    async def kill(self, started: Started, signal: int) -> None:
        """Send a signal; SIGKILL to a container's first process ends all of it."""
        ended = self._ended.get(started.id)
        if ended is not None and not ended.done():
            with contextlib.suppress(Lost):
                await self._server.ask("signal", id=started.id, signal=int(signal))

    async def dial(self, box: Box, port: int) -> socket.socket:
        """Connect to a port of the pod: at its loopback, or at its address."""
        made = self._boxes.get(box.uid)
        if made is None:
            raise ConnectionRefusedError(111, f"the pod {box.pod.name} is gone")
        try:
            return await self._connect(box.uid, "127.0.0.1", port)
        except ConnectionRefusedError:
            return await self._connect(box.uid, made.addresses[0], port)

    async def _connect(self, uid: str, host: str, port: int) -> socket.socket:
        try:
            _, passed = await self._server.ask("socket", uid=uid)
        except Lost as error:
            raise ConnectionRefusedError(111, str(error)) from error
        found = socket.socket(fileno=passed[0])
        found.setblocking(False)
        try:
            await asyncio.get_running_loop().sock_connect(found, (host, port))
        except BaseException:
            found.close()
            raise
        return found

    async def listen(self, port: int) -> socket.socket:
        """Listen at the gateway."""
        try:
            await self._serve()
            return await self._listener(port)
        except (Lost, Unable) as error:
            raise OSError(111, str(error)) from error

    async def resolve(self, names: Mapping[str, tuple[str, ...]]) -> None:
        """Let the pods' name server know these names."""
        self._gateway.names.set(names)

    async def use(self, box: Box) -> Use:
        """What a pod uses now."""
        try:
            found, _ = await self._server.ask("use", uid=box.uid)
        except (OSError, Lost):
            return Use(0.0, 0)
        return Use(found["seconds"], found["memory"])

    async def remove(self, box: Box) -> None:
        """End everything in a box."""
        made = self._boxes.get(box.uid) or self._homeless.get(box.uid)
        if made is None:
            return
        with contextlib.suppress(OSError, Lost):
            await self._server.ask("remove", uid=box.uid)
        self._forget(made)

    async def close(self) -> None:
        """End everything, the fork server too."""
        self._gateway.close()
        await self._server.stop()
        await asyncio.to_thread(self._notes.sweep)

    def _box_at(self, address: str) -> Box | None:
        return next((made.box for made in self._boxes.values() if address in made.addresses), None)
