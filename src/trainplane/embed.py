"""A whole cluster in this process: the Store, the API over it, its HTTP face, and the controllers."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import msgspec
from aiohttp import web

from trainplane import __version__
from trainplane.cluster import kubeconfig
from trainplane.cluster.account_tokens import AccountTokens
from trainplane.cluster.api import Api
from trainplane.cluster.audit import AuditLog
from trainplane.cluster.certificates import Certificates
from trainplane.cluster.collector import rarely
from trainplane.cluster.http.app import App, Served
from trainplane.cluster.http.connections import start
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
from trainplane.node.simulated import Size, simulated
from trainplane.node.use import PERIOD, Use

KUBECONFIG = "kubeconfig"


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
    audit: Path | None = None
    """Where every request is noted; None is nowhere."""


class Running(msgspec.Struct, frozen=True):
    """A cluster that serves."""

    api: Api
    metrics: Metrics
    server: str
    kubeconfig: Path


async def embed(config: Config, *, ready: Callable[[Running], Awaitable[None]]) -> None:
    """Serve until cancelled; `ready` is told when requests are answered."""
    async with running(config) as cluster:
        await ready(cluster)
        await asyncio.Event().wait()


@asynccontextmanager
async def running(config: Config) -> AsyncIterator[Running]:
    """A cluster that serves as long as the context lasts."""
    certificates = Certificates(config.folder / "pki", name=config.name, now=clock.now())
    with Disk(config.folder / "store", now=clock.seconds) as disk, rarely():
        store = Store(disk, now=clock.seconds)
        async with asyncio.TaskGroup() as house:
            house.create_task(store.run(), name="store")
            try:
                async with _serving(config, store, certificates) as cluster:
                    yield cluster
            finally:
                store.close()


@asynccontextmanager
async def _serving(config: Config, store: Store, certificates: Certificates) -> AsyncIterator[Running]:
    authority = certificates.authority.certificate_pem.decode()
    api = Api(
        store,
        kinds=SERVED_KINDS,
        admission=admission(store, config.gates),
        now=clock.now,
        companions=lambda _: companions(authority),
    )
    if not store.revision:
        await furnish(api)
        # A new cluster begins here: nobody can have seen what was before.
        await store.compact(store.revision)
    else:
        await furnish(api)
    deciders = (*controllers(config.gates), *simulated(config.nodes, config.size))
    loop = Loop(deciders, api, clock, scopes={}, kinds=SERVED_KINDS)
    use = Use(loop.live, clock)
    port_file = config.folder / "port"
    audit = AuditLog(config.audit, now=clock.now) if config.audit else None
    told = partial(Served, measures=use, metrics=loop.metrics.text, audit=audit)
    app, runner, port = await _start(config, api, certificates, port=config.port or _last_port(port_file), told=told)
    try:
        port_file.write_text(f"{port}\n", encoding="utf-8")
        server = f"https://{config.host}:{port}"
        path = config.folder / KUBECONFIG
        admin = certificates.admin
        kubeconfig.write(
            path,
            kubeconfig.kubeconfig(
                config.name,
                server=server,
                authority=certificates.authority.certificate_pem,
                certificate=admin.certificate_pem,
                key=admin.key_pem,
            ),
        )
        async with asyncio.TaskGroup() as tasks:
            at_work = (tasks.create_task(loop.run(), name="controllers"), tasks.create_task(measure(use), name="use"))
            try:
                yield Running(api, loop.metrics, server, path)
            finally:
                for task in at_work:
                    task.cancel()
    finally:
        app.closing.set()
        await runner.cleanup()
        if audit:
            audit.close()


async def measure(use: Use) -> None:
    """Have autoscalers know what pods use, until cancelled."""
    while True:
        await asyncio.sleep(PERIOD.total_seconds())
        use.show()


async def _start(
    config: Config, api: Api, certificates: Certificates, *, port: int, told: Callable[..., Served]
) -> tuple[App, web.ServerRunner, int]:
    """The server, at a port or at any other where that is taken."""
    folder, ground = config.folder / "pki", api.ground

    def uid(plural: str, namespace: str, name: str) -> str | None:
        stored = ground.find(Key(plural, namespace, name))
        return stored.object["metadata"]["uid"] if stored else None

    accounts = AccountTokens(signing_key(folder), issuer=f"https://kubernetes.default.svc.{config.name}")
    identity = Identity(Tokens(folder), accounts, uid=uid)
    access = Access(ground)
    questions = Questions(ground, access=access, identity=identity, accounts=accounts, now=clock.now)
    served = told(api, identity, questions, access, clock.now, __version__, SERVED_KINDS)
    app = App(served, address=f"{config.host}:{port}")
    tls = certificates.server_context()
    try:
        runner, bound = await start(app, host=config.host, port=port, tls=tls)
    except OSError:
        if config.port:
            raise
        runner, bound = await start(app, host=config.host, port=0, tls=tls)
    return app, runner, bound


def _last_port(file: Path) -> int:
    try:
        return int(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return 0
