"""Machine: the nodes that are slices of this machine, the Runner they share, and the names that pods have."""

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import msgspec

from trainplane.api.kinds import KINDS, Kind
from trainplane.api.meta import Raw
from trainplane.api.quantity import parse
from trainplane.api.ref import Ref
from trainplane.cluster.client import Client
from trainplane.cluster.errors import NotFound
from trainplane.control.live import Live
from trainplane.control.record import Clock
from trainplane.control.reflector import Reflector, Scope
from trainplane.control.unseen import Unseen
from trainplane.node import devices, heartbeat
from trainplane.node.agent import Agent
from trainplane.node.home import Folders, Home, Token
from trainplane.node.images import ImageMapping
from trainplane.node.logs import KEPT, Logs
from trainplane.node.names import named, names
from trainplane.node.process import ProcessRunner
from trainplane.node.reclaim import reclaim
from trainplane.node.restarts import Pace
from trainplane.node.runner import CONTAINER, ENGINE_NOTE, Runner, Unable
from trainplane.node.streams import NodeStreams
from trainplane.node.use import Use

AUTO, NAMESPACED, PROCESS = "auto", "namespaced", "process"
RUNNERS = (AUTO, NAMESPACED, CONTAINER, PROCESS)
STATE = "node"
"""The folder of what nodes keep for themselves."""
ISOLATED = "namespaced"
"""The folder in it of a Runner that isolates pods."""
PRUNE = 300.0
"""Seconds between two looks at how much is kept of pods that are gone."""
MEASURE = 10.0
"""Seconds between two looks at what pods use."""
CALM = 0.01
"""Seconds in which changes of names are gathered."""

_log = logging.getLogger(__name__)


class Settings(msgspec.Struct, frozen=True):
    """How the nodes of this machine are."""

    nodes: int
    runner: str = AUTO
    engine: str = ""
    """The container engine that is wanted; "" is the first that works."""
    prefix: str = "node-"
    images: tuple[ImageMapping, ...] = ()
    egress: bool = True
    """Whether pods may reach what is outside the cluster."""
    kept_logs: int = KEPT
    """How many bytes are kept of the logs of pods that are gone."""
    pace: Pace = Pace()
    refresh: float = 60.0
    """Seconds after which volumes follow what they are made of."""
    grace: float = 3.0
    """Seconds that pods have to end when the nodes are shut down."""


async def choose(settings: Settings, folder: Path) -> Runner:
    """The Runner that was asked for, or the best that works here, found by trying; a former life's pods are ended.

    Raises Unable where the one that was asked for cannot work.
    """
    plain, ended = ProcessRunner(folder / STATE), await sweep_engines(folder)
    ended += await plain.sweep()
    runner: Runner = plain
    if settings.runner != PROCESS and sys.platform == "linux":
        best = _best(settings, folder / STATE / ISOLATED)
        try:
            ended += await best.sweep()
            runner = best
        except Unable as error:
            if settings.runner != AUTO:
                raise
            _log.warning("pods run as plain processes, without isolation: %s", error)
    elif settings.runner not in (AUTO, PROCESS):
        raise Unable(f"pods cannot run {settings.runner} here: that is Linux's; use --runner process")
    if ended:
        _log.warning("%d pods still ran from a former start, and were ended", len(set(ended)))
    return runner


async def sweep_engines(folder: Path) -> list[str]:
    """End what a former life of the cluster in this folder has left in a container engine; the uids of its pods."""
    if sys.platform != "linux" or not (folder / STATE / ISOLATED / ENGINE_NOTE).exists():
        return []
    from trainplane.node import engines

    return await engines.sweep(folder / STATE / ISOLATED)


def _best(settings: Settings, folder: Path) -> Runner:
    """The Runner that isolates pods, of the sort that was asked for."""
    # Only here: what they lean on is Linux's own.
    if settings.runner == CONTAINER:
        from trainplane.node.container import ContainerRunner

        return ContainerRunner(folder, egress=settings.egress, engine=settings.engine)
    from trainplane.node.namespaced.runner import NamespacedRunner

    return NamespacedRunner(folder, egress=settings.egress)


class Nodes:
    """The nodes of this machine."""

    def __init__(
        self, settings: Settings, client: Client, clock: Clock, *, folder: Path, use: Use | None = None
    ) -> None:
        """What they keep lies in the folder: logs, what jobs leave behind, and what claims hold.

        What their pods use is reported to `use`.
        """
        self._use = use
        self.agents: Sequence[Agent] = ()
        self.runner: Runner | None = None
        """Neither before `running`."""
        self.folders = Folders(folder / STATE, folder / "jobs", folder / "volumes")
        self.logs = Logs(folder / STATE / "logs", kept=settings.kept_logs)
        self.streams = NodeStreams(client, lambda: self.agents)
        self._settings = settings
        self._client = client
        self._clock = clock
        self._folder = folder

    @asynccontextmanager
    async def running(self, runner: Runner, *, token: Token, api: tuple[str, int]) -> AsyncIterator[None]:
        """Run pods as long as the context lasts; `api` is where they reach the cluster's API.

        The Runner, which `choose` has found, is closed at the end.
        """
        try:
            self.folders.state.mkdir(parents=True, exist_ok=True)
            self.runner = runner
            await self._remove_others()
            self.agents = self._agents(runner, token=token, api=api)
            async with asyncio.TaskGroup() as tasks:
                work = [tasks.create_task(agent.run(), name=agent.home.node) for agent in self.agents]
                work.append(tasks.create_task(_name(self._client, runner), name="names"))
                work.append(tasks.create_task(reclaim(self._client, self.folders.claims), name="reclaim"))
                work.append(tasks.create_task(self._prune(), name="logs"))
                if self._use:
                    work.append(tasks.create_task(self._measure(runner, self._use), name="use"))
                try:
                    yield
                    async with asyncio.TaskGroup() as ends:
                        for agent in self.agents:
                            ends.create_task(agent.shut_down(within=self._settings.grace))
                finally:
                    for task in work:
                        task.cancel()
        finally:
            await runner.close()

    async def settled(self) -> None:
        """Wait until the API knows of the nodes that run, and they of their pods."""
        for agent in self.agents:
            await agent.settled()

    async def _prune(self) -> None:
        """Bound what is kept of pods that are gone, again and again."""
        for agent in self.agents:
            await agent.synced.wait()
        while True:
            alive = set[str]().union(*(agent.logged() for agent in self.agents))
            await asyncio.to_thread(self.logs.prune, alive)
            await asyncio.sleep(PRUNE)

    async def _remove_others(self) -> None:
        """Let nodes go that this machine had at a former start, and has no more."""
        own = {f"{self._settings.prefix}{i}" for i in range(self._settings.nodes)}
        page = await self._client.list(_kind("Node"), labels=f"{heartbeat.LOCAL}={heartbeat.YES}")
        for node in page.items:
            name = str(node["metadata"]["name"])
            if name.startswith(self._settings.prefix) and name not in own:
                with suppress(NotFound):
                    await self._client.delete(Ref("", "Node", "", name))

    async def _measure(self, runner: Runner, use: Use) -> None:
        """Report what pods use, again and again."""
        before: dict[str, tuple[float, float]] = {}
        time = asyncio.get_running_loop().time
        while True:
            await asyncio.sleep(MEASURE)
            seen: dict[str, tuple[float, float]] = {}
            for worker in [each for agent in self.agents for each in agent.workers.values() if each.living]:
                found, now = await runner.use(worker.box), time()
                seen[worker.uid] = (found.cpu_seconds, now)
                last = before.get(worker.uid)
                if last is None:
                    continue
                cores = max(found.cpu_seconds - last[0], 0.0) / max(now - last[1], 0.001)
                # The Runner counts a pod's processes together; they are told of as its first container's.
                first, *others = (each["name"] for each in worker.pod["spec"]["containers"])
                amounts = {"cpu": parse(f"{cores * 1000:.0f}m"), "memory": parse(found.memory)}
                nothing = dict.fromkeys(amounts, parse(0))
                use.report(worker.pod, {first: amounts, **dict.fromkeys(others, nothing)})
            for uid in before.keys() - seen.keys():
                use.forget(uid)
            before = seen

    def _agents(self, runner: Runner, *, token: Token, api: tuple[str, int]) -> list[Agent]:
        count, machine = self._settings.nodes, heartbeat.Machine.this(self._folder)
        agents = list[Agent]()
        for i, share in enumerate(devices.share(devices.find(), count)):
            own, name = devices.Devices(share), f"{self._settings.prefix}{i}"
            capacity = machine.slice(count, own)
            home = Home(
                name,
                self._client,
                runner,
                self._clock,
                self.logs,
                self.folders,
                token=token,
                devices=own,
                address=runner.gateway,
                allocatable=capacity,
                api_host=api[0],
                api_port=api[1],
                images=self._settings.images,
                pace=self._settings.pace,
                egress=self._settings.egress,
                refresh=self._settings.refresh,
            )
            beat = heartbeat.Heartbeat(
                name,
                self._client,
                self._clock,
                capacity=capacity,
                devices=own,
                address=runner.gateway,
                runner=runner.name,
                abilities=lambda: runner.abilities,
                folder=self._folder,
            )
            agents.append(Agent(home, beat))
        return agents


async def _name(client: Client, runner: Runner) -> None:
    """Keep the Runner informed of who has which name."""
    # Pods are followed by their changes alone: nobody asks for one.
    live, changed = Live(hot=1), asyncio.Event()
    unseen = Unseen(live, asyncio.get_running_loop().time)

    pods: dict[Ref, bytes] = {}

    def tell(before: Raw | None, after: Raw | None) -> None:
        ref = Ref.of(after or before or {})
        if ref.kind == "Pod":
            # There may be many, and most of their changes leave their names alone; as JSON they take little room.
            about = named(after) if after else None
            small = msgspec.json.encode(about) if about else None
            if pods.get(ref) == small:
                return
            pods.pop(ref, None)
            if small:
                pods[ref] = small
        changed.set()

    async with asyncio.TaskGroup() as tasks:
        reflectors = [
            Reflector(Scope(_kind(kind)), client, live, unseen=unseen, tell=tell) for kind in ("Service", "Pod")
        ]
        for reflector in reflectors:
            tasks.create_task(reflector.run(), name=f"names of {reflector.scope.kind.plural}")
        for reflector in reflectors:
            await reflector.synced.wait()
        told = None
        while True:
            services = list(live.all("", "Service"))
            spaces = {service["metadata"].get("namespace", "") for service in services}
            found = (msgspec.json.decode(small) for ref, small in pods.items() if ref.namespace in spaces)
            known = names(services, found, gateway=runner.gateway)
            if known != told:
                await runner.resolve(known)
                told = known
            await changed.wait()
            await asyncio.sleep(CALM)
            changed.clear()


def _kind(name: str) -> Kind:
    return next(kind for kind in KINDS if kind.kind == name and not kind.group)
