"""A whole cluster in this process: the Store, the API over it, its HTTP face, the controllers, and nodes."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from trainplane import __version__
from trainplane.api.meta import Raw
from trainplane.cluster import kubeconfig
from trainplane.cluster.account_tokens import AccountTokens
from trainplane.cluster.api import Api
from trainplane.cluster.audit import AuditLog
from trainplane.cluster.collector import give_back, rarely
from trainplane.cluster.credentials import Credentials, credentials
from trainplane.cluster.folder import Folder
from trainplane.cluster.http.face import Face, listening
from trainplane.cluster.http.questions import Access, Questions
from trainplane.cluster.identity import Identity, signing_key
from trainplane.cluster.log import Key
from trainplane.cluster.resources import SERVED_KINDS
from trainplane.cluster.sqlite import Disk
from trainplane.cluster.store import Store
from trainplane.cluster.tokens import Tokens
from trainplane.control import clock
from trainplane.control.loop import Loop
from trainplane.control.metrics import Metrics
from trainplane.controllers import admission, controllers
from trainplane.furniture import companions, furnish
from trainplane.node.machine import Nodes, Settings, choose
from trainplane.node.namespaced.addresses import GATEWAY
from trainplane.node.runner import Runner, Unable
from trainplane.node.simulated import Size, simulated
from trainplane.node.use import Use
from trainplane.trainjob.plans import Plans
from trainplane.upkeep.companions import keeper
from trainplane.upkeep.history import KEPT

if TYPE_CHECKING:
    from trainplane.cluster.http.app import App

KUBECONFIG, STORE = "kubeconfig", "store"
Told = dict[str, Any]
"""What a server is told of besides the API."""
MOMENT = 0.05
"""Seconds for which work waits for nodes that are on their way."""
API_PORT = 443
"""Where pods reach the API, at the gateway of their network."""


class Config(msgspec.Struct, frozen=True):
    """Where a cluster keeps its data, and where it is reached."""

    folder: Path
    name: str = "trainplane"
    host: str = "127.0.0.1"
    port: int = 0
    """0 is any that is free, and the same one again after a restart where it still is."""
    gates: frozenset[str] = frozenset()
    """Of `controllers.GATES`, those that are open."""
    nodes: int = 0
    """How many nodes are simulated."""
    size: Size = Size()
    """What each of them has."""
    machine: Settings | None = None
    """The nodes that run pods on this machine; None where there are none."""
    audit: Path | None = None
    """Where every request is noted; None is nowhere."""
    waits: bool = False
    """Whether work can begin before all is there: what answers requests is loaded when the first one comes, and nodes
    join when it is known how they run pods."""
    durable: bool = True
    """Whether a loss of power takes nothing that was confirmed; else what was written since the start may go."""
    records: int = KEPT
    """How many records are kept of jobs that have ended; the oldest go."""


class Running(msgspec.Struct, frozen=True):
    """A cluster that serves."""

    api: Api
    metrics: Metrics
    server: str
    kubeconfig: Path
    nodes: Nodes | None = None
    """Those that run pods on this machine."""


async def embed(config: Config, *, ready: Callable[[Running], Awaitable[None]]) -> None:
    """Serve until cancelled; `ready` is told when requests are answered."""
    async with running(config) as cluster:
        await ready(cluster)
        await asyncio.Event().wait()


@asynccontextmanager
async def running(config: Config, *, held: Folder | None = None) -> AsyncIterator[Running]:
    """A cluster that serves as long as the context lasts; `held` is the folder of its store, where we have it."""
    names = (GATEWAY,) if config.machine else ()
    with Disk(config.folder / STORE, now=clock.seconds, durable=config.durable, held=held) as disk, rarely():
        store = Store(disk, now=clock.seconds)
        async with asyncio.TaskGroup() as house, _choosing(config) as choosing:
            house.create_task(store.run(), name="store")
            freeing = house.create_task(give_back(lambda: store.revision), name="memory")
            try:
                shown = await asyncio.to_thread(
                    credentials, config.folder / "pki", name=config.name, now=clock.now(), extra_names=names
                )
                async with _serving(config, store, shown, choosing=choosing, fold=disk.fold) as cluster:
                    yield cluster
            finally:
                freeing.cancel()
                store.close()


@asynccontextmanager
async def _choosing(config: Config) -> AsyncIterator["asyncio.Task[Runner] | None"]:
    """Find the Runner while all else is made, which takes other processes as long; nothing of it is left after this."""
    if not config.machine:
        yield None
        return
    choosing = asyncio.create_task(choose(config.machine, config.folder), name="runner")
    try:
        yield choosing
    finally:
        with suppress(Unable):
            await (await choosing).close()


@asynccontextmanager
async def _serving(
    config: Config,
    store: Store,
    shown: Credentials,
    *,
    choosing: "asyncio.Task[Runner] | None",
    fold: Callable[[], Coroutine[None, None, None]],
) -> AsyncIterator[Running]:
    authority, plans = shown.authority.decode(), Plans()
    api = Api(
        store,
        kinds=SERVED_KINDS,
        admission=admission(store, config.gates, plans=plans),
        now=clock.now,
        companions=lambda _: companions(authority),
    )
    if not store.revision:
        await furnish(api)
        # A new cluster begins here: nobody can have seen what was before.
        await store.compact(store.revision)
    else:
        await furnish(api)
    deciders = (
        *controllers(config.gates, records=config.records, plans=plans),
        keeper(companions(authority)),
        *simulated(config.nodes, config.size),
    )
    loop = Loop(deciders, api, clock, scopes={}, kinds=SERVED_KINDS)
    use = Use(loop.live, clock)
    port_file = config.folder / "port"
    audit = AuditLog(config.audit, now=clock.now) if config.audit else None
    nodes = Nodes(config.machine, api, clock, folder=config.folder, use=use) if config.machine else None
    streams = nodes.streams if nodes else None
    told: Told = {"measures": use, "metrics": loop.metrics.text, "audit": audit, "streams": streams}
    door = listening(config.host, config.port or _last_port(port_file), else_any=not config.port)
    port = door.getsockname()[1]
    face, questions = _face(config, api, shown, port=port, told=told)
    try:
        await face.answer_at(door)
        port_file.touch(mode=0o600)
        port_file.write_text(f"{port}\n", encoding="utf-8")
        server = f"https://{config.host}:{port}"
        path = config.folder / KUBECONFIG
        kubeconfig.write(
            path,
            kubeconfig.kubeconfig(
                config.name,
                server=server,
                authority=shown.authority,
                certificate=shown.certificate,
                key=shown.key,
            ),
        )
        async with asyncio.TaskGroup() as house:
            there, gone = asyncio.Event(), asyncio.Event()
            if nodes and choosing:
                if config.waits:
                    # The first pod wants a token, and this fills the time in which others are waited for.
                    house.create_task(asyncio.to_thread(questions.prepare), name="tokens")

                async def keep(nodes: Nodes, choosing: "asyncio.Task[Runner]") -> None:
                    # Whoever leaves before has it found all the same, and closed.
                    runner = await asyncio.shield(choosing)
                    reached = await _let_pods_in(face, (config.host, port), runner)
                    async with _with_nodes(nodes, runner, questions, reached=reached):
                        there.set()
                        await gone.wait()

                house.create_task(keep(nodes, choosing), name="nodes")
                if config.waits:
                    # A job that comes before its nodes is looked at twice; most often they are there in a moment.
                    with suppress(TimeoutError):
                        async with asyncio.timeout(MOMENT):
                            await there.wait()
                            await nodes.settled()
                else:
                    await there.wait()
            async with asyncio.TaskGroup() as tasks:
                at_work = (tasks.create_task(loop.run(), name="controllers"), tasks.create_task(use.run(), name="use"))
                try:
                    yield Running(api, loop.metrics, server, path, nodes)
                finally:
                    for task in at_work:
                        task.cancel()
            gone.set()
            # While nodes leave: both wait for others.
            house.create_task(fold(), name="fold")
    finally:
        await face.close()
        if audit:
            audit.close()


@asynccontextmanager
async def _with_nodes(
    nodes: Nodes,
    runner: Runner,
    questions: Questions,
    *,
    reached: tuple[str, int],
) -> AsyncIterator[None]:
    """Have nodes run pods as long as the context lasts."""

    async def token(namespace: str, account: str, spec: Raw) -> str:
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        return str(questions.token(namespace, account, request)["status"]["token"])

    async with nodes.running(runner, token=token, api=reached):
        yield


async def _let_pods_in(face: Face, own: tuple[str, int], runner: Runner) -> tuple[str, int]:
    """Where pods reach the API: at its own address, or at the gateway of a network that is theirs alone."""
    if runner.gateway == own[0]:
        return own
    await face.answer_at(await runner.listen(API_PORT))
    return runner.gateway, API_PORT


def _face(config: Config, api: Api, shown: Credentials, *, port: int, told: Told) -> tuple[Face, Questions]:
    """What answers requests, and who makes the tokens of pods."""
    folder, ground = config.folder / "pki", api.ground

    def uid(plural: str, namespace: str, name: str) -> str | None:
        stored = ground.find(Key(plural, namespace, name))
        return stored.object["metadata"]["uid"] if stored else None

    accounts = AccountTokens(partial(signing_key, folder), issuer=f"https://kubernetes.default.svc.{config.name}")
    identity = Identity(Tokens(folder), accounts, uid=uid)
    access = Access(ground)
    questions = Questions(ground, access=access, identity=identity, accounts=accounts, now=clock.now)

    def app() -> "App":
        from trainplane.cluster.http.app import App, Served

        served = Served(api, identity, questions, access, clock.now, __version__, SERVED_KINDS, **told)
        return App(served, address=f"{config.host}:{port}")

    return Face(app, tls=shown.server_context, waits=config.waits), questions


def _last_port(file: Path) -> int:
    try:
        return int(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return 0
