"""Machine: the nodes that are slices of this machine, the Runner they share, and the names that pods have."""

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from trainplane.api.kinds import KINDS, Kind
from trainplane.api.meta import Raw
from trainplane.cluster.client import Client
from trainplane.control.live import Live
from trainplane.control.record import Clock
from trainplane.control.reflector import Reflector, Scope
from trainplane.control.unseen import Unseen
from trainplane.node import devices, heartbeat
from trainplane.node.agent import Agent
from trainplane.node.home import Folders, Home, Token
from trainplane.node.images import Mapping as ImageMapping
from trainplane.node.logs import KEPT, Logs
from trainplane.node.names import names
from trainplane.node.namespaced.client import Unable
from trainplane.node.namespaced.runner import NamespacedRunner
from trainplane.node.process import ProcessRunner
from trainplane.node.restarts import Pace
from trainplane.node.runner import Runner
from trainplane.node.streams import NodeStreams

AUTO, NAMESPACED, PROCESS = "auto", "namespaced", "process"
RUNNERS = (AUTO, NAMESPACED, PROCESS)
CALM = 0.01
"""Seconds in which changes of names are gathered."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Settings:
    """How the nodes of this machine are."""

    nodes: int
    runner: str = AUTO
    prefix: str = "node-"
    images: Sequence[ImageMapping] = ()
    egress: bool = True
    kept_logs: int = KEPT
    pace: Pace = field(default_factory=Pace)


async def choose(settings: Settings, folder: Path) -> Runner:
    """The Runner that was asked for, or the best that works here, found by trying; a former life's pods are ended.

    Raises Unable where the one that was asked for cannot work.
    """
    plain, ended = ProcessRunner(folder), list[str]()
    ended += await plain.sweep()
    runner: Runner = plain
    if settings.runner != PROCESS and sys.platform == "linux":
        best = NamespacedRunner(folder / "namespaced", egress=settings.egress)
        try:
            ended += await best.sweep()
            runner = best
        except Unable as error:
            if settings.runner == NAMESPACED:
                raise
            _log.warning("pods run as plain processes, without isolation: %s", error)
    if ended:
        _log.warning("%d pods still ran from a former start, and were ended", len(set(ended)))
    return runner


@dataclass(frozen=True, slots=True)
class Running:
    """Nodes that run pods."""

    runner: Runner
    agents: Sequence[Agent]
    streams: NodeStreams
    folders: Folders


@asynccontextmanager
async def running(
    settings: Settings,
    client: Client,
    clock: Clock,
    *,
    folder: Path,
    runner: Runner,
    token: Token,
    api: tuple[str, int],
) -> AsyncIterator[Running]:
    """Nodes that run pods as long as the context lasts; `api` is where pods reach the cluster's API.

    The Runner, which `choose` has found, is closed at the end.
    """
    folders = Folders(folder / "run", folder / "jobs", folder / "claims")
    for each in (folders.state, folders.jobs, folders.claims):
        each.mkdir(parents=True, exist_ok=True)
    machine, logs = heartbeat.Machine.this(folder), Logs(folder / "logs", kept=settings.kept_logs)
    shares = devices.share(devices.find(), settings.nodes)
    agents = list[Agent]()
    for i in range(settings.nodes):
        own = devices.Devices(shares[i])
        capacity, name = machine.slice(settings.nodes, own), f"{settings.prefix}{i}"
        home = Home(
            name,
            client,
            runner,
            clock,
            logs,
            folders,
            say=lambda _pod, _said: None,
            token=token,
            devices=own,
            address=runner.gateway,
            allocatable=capacity,
            api_host=api[0],
            api_port=api[1],
            images=settings.images,
            pace=settings.pace,
            egress=settings.egress,
        )
        beat = heartbeat.Heartbeat(
            name,
            client,
            clock,
            capacity=capacity,
            devices=own,
            address=runner.gateway,
            runner=runner.name,
            abilities=lambda: runner.abilities,
            folder=folder,
        )
        agents.append(Agent(home, beat))
    try:
        async with asyncio.TaskGroup() as tasks:
            work = [tasks.create_task(agent.run(), name=agent.home.node) for agent in agents]
            work.append(tasks.create_task(_name(client, runner), name="names"))
            try:
                yield Running(runner, agents, NodeStreams(client, lambda: agents), folders)
            finally:
                for task in work:
                    task.cancel()
    finally:
        await runner.close()


async def _name(client: Client, runner: Runner) -> None:
    """Keep the Runner informed of who has which name."""
    live, changed = Live(), asyncio.Event()
    unseen = Unseen(live, asyncio.get_running_loop().time)

    def tell(_before: Raw | None, _after: Raw | None) -> None:
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
            known = names(live.all("", "Service"), live.all("", "Pod"), gateway=runner.gateway)
            if known != told:
                await runner.resolve(known)
                told = known
            await changed.wait()
            await asyncio.sleep(CALM)
            changed.clear()


def _kind(name: str) -> Kind:
    return next(kind for kind in KINDS if kind.kind == name and not kind.group)
