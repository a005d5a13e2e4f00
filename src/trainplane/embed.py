"""A whole cluster in this process: the Store, the API over it, its HTTP face, and the controllers."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from importlib.resources import files
from pathlib import Path

import msgspec
from aiohttp import web

from trainplane import __version__
from trainplane.api.documents import parse
from trainplane.api.meta import Raw
from trainplane.cluster import kubeconfig
from trainplane.cluster.access import AUTHENTICATED
from trainplane.cluster.account_tokens import AccountTokens
from trainplane.cluster.api import Api
from trainplane.cluster.certificates import Certificates
from trainplane.cluster.errors import AlreadyExists
from trainplane.cluster.http.app import App, Served, start
from trainplane.cluster.http.questions import Access, Questions
from trainplane.cluster.identity import Identity, signing_key
from trainplane.cluster.log import Key
from trainplane.cluster.ready_roles import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES
from trainplane.cluster.resources import SERVED_KINDS
from trainplane.cluster.sqlite import Disk
from trainplane.cluster.store import Store
from trainplane.cluster.tokens import Tokens
from trainplane.control import clock
from trainplane.control.loop import run
from trainplane.control.metrics import Metrics
from trainplane.controllers import admission, controllers

SYSTEM = "kubeflow-system"
"""Where Kubeflow's clients look for what a Trainer says of itself."""
NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system", SYSTEM)
PUBLIC = "kubeflow-trainer-public"
TRAINER_VERSION = "v2.3.0"
"""The Kubeflow Trainer whose API is served."""
ROOT_CERTIFICATE = "kube-root-ca.crt"
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
    with Disk(config.folder / "store", now=clock.seconds) as disk:
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
        admission=admission(config.gates),
        now=clock.now,
        companions=lambda _: companions(authority),
    )
    if not store.revision:
        await furnish(api)
        # A new cluster begins here: nobody can have seen what was before.
        await store.compact(store.revision)
    else:
        await furnish(api)
    port_file = config.folder / "port"
    app, runner, port = await _start(config, api, certificates, port=config.port or _last_port(port_file))
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
        metrics = Metrics()
        async with asyncio.TaskGroup() as deciders:
            loop = deciders.create_task(run(controllers(config.gates), api, clock, metrics=metrics), name="controllers")
            try:
                yield Running(api, metrics, server, path)
            finally:
                loop.cancel()
    finally:
        app.closing.set()
        await runner.cleanup()


async def _start(
    config: Config, api: Api, certificates: Certificates, *, port: int
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
    served = Served(api, identity, questions, access, clock.now, __version__, SERVED_KINDS)
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


def companions(authority: str) -> list[Raw]:
    """What every namespace holds from the start."""
    return [
        {"kind": "ServiceAccount", "apiVersion": "v1", "metadata": {"name": "default"}},
        {
            "kind": "ConfigMap",
            "apiVersion": "v1",
            "metadata": {"name": ROOT_CERTIFICATE},
            "data": {"ca.crt": authority},
        },
    ]


async def furnish(api: Api) -> None:
    """Make what every cluster has, where it is missing."""
    spaces: list[Raw] = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in NAMESPACES]
    for group in ((*spaces, *CLUSTER_ROLES, *CLUSTER_ROLE_BINDINGS), (*public(), *runtimes())):
        async with asyncio.TaskGroup() as makers:
            for raw in group:
                makers.create_task(_ensure(api, raw))


def public() -> list[Raw]:
    """What everybody may read of the Trainer that is here."""
    rbac, metadata = "rbac.authorization.k8s.io", {"name": PUBLIC, "namespace": SYSTEM}
    rule = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": [PUBLIC], "verbs": ["get"]}
    return [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata,
            "data": {"kubeflow_trainer_version": TRAINER_VERSION},
        },
        {"apiVersion": f"{rbac}/v1", "kind": "Role", "metadata": metadata, "rules": [rule]},
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": rbac, "kind": "Role", "name": PUBLIC},
            "subjects": [{"apiGroup": rbac, "kind": "Group", "name": AUTHENTICATED}],
        },
    ]


def runtimes() -> list[Raw]:
    """The built-in runtimes."""
    folder = files("trainplane").joinpath("runtimes")
    texts = [file.read_bytes() for file in folder.iterdir() if file.name.endswith(".yaml")]
    return [document.value for text in texts for document in parse(text).documents]


async def _ensure(api: Api, raw: Raw) -> None:
    with suppress(AlreadyExists):
        await api.create(raw)
