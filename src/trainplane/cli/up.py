"""`trainplane up`: a cluster on this machine, until it is told to stop."""

import asyncio
import os
import shlex
import signal
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from trainplane.cli.background import Ready, start
from trainplane.cli.certifying import certifying
from trainplane.cli.clusters import Cluster, count, of_cluster
from trainplane.cli.importing import importing
from trainplane.cli.keeper import Record, write_record
from trainplane.cli.places import configured, images_option
from trainplane.cli.starting import prepare, refusing
from trainplane.cluster.collector import rarely

if TYPE_CHECKING:
    from trainplane.embed import Running
    from trainplane.node.images import ImageMapping
    from trainplane.node.machine import Settings

INTERRUPTED = 130
_NO_NODES = "nodes: there are none, and pods wait; --nodes 1 has one that runs them"


class Asked(NamedTuple):
    """What a cluster was asked to be."""

    port: int
    gates: frozenset[str]
    nodes: int
    """How many nodes are simulated."""
    cpu: str
    memory: str
    gpus: int
    audit: Path | None
    records: int
    machine: "Settings | None"
    """How the nodes are that run pods on this machine."""


def _gates(context: click.Context, option: click.Parameter, value: str) -> frozenset[str]:
    """The gates to open; `Name=true` is taken too, as Kubernetes' own commands write it."""
    if not value:
        return frozenset()
    from trainplane.controllers import GATES

    said = [part.strip().partition("=") for part in value.split(",") if part.strip()]
    for name, _, state in said:
        if name not in GATES or state not in ("", "true", "false"):
            known = " and ".join(GATES)
            raise click.BadParameter(f"{name or value!r} is not a gate to open; there are {known}", context, option)
    return frozenset(name for name, _, state in said if state != "false")


def _quantity(context: click.Context, option: click.Parameter, value: str) -> str:
    from trainplane.api.quantity import QuantityError, parse

    try:
        enough = parse(value).nano > 0
    except QuantityError as error:
        raise click.BadParameter(str(error), context, option) from None
    if not enough:
        raise click.BadParameter("a node needs more than nothing", context, option)
    return value


@click.command()
@of_cluster
@click.option("--detach", "-d", is_flag=True, help="Serve in the background; return when the cluster is ready.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port to serve at; any free one by default.")
@click.option("--merge-kubeconfig", "merge", is_flag=True, help="Add the cluster's context to your own kubeconfig too.")
@click.option(
    "--feature-gates",
    "gates",
    metavar="NAME,…",
    callback=_gates,
    default="",
    help="What upstream's JobSet leaves closed: RestartJob, ElasticJobSet.",
)
@click.option(
    "--nodes", type=click.IntRange(0, 5000), default=1, show_default=True, help="How many nodes share this machine."
)
@click.option(
    "--runner",
    type=click.Choice(("auto", "namespaced", "container", "process")),
    default="auto",
    show_default=True,
    help="How pods are run: isolated in namespaces, from real images, as plain processes, or as fits best.",
)
@click.option(
    "--engine",
    type=click.Choice(("podman", "docker")),
    help="What makes containers for --runner container; by itself the first of them that works.",
)
@images_option("--image")
@click.option("--no-egress", is_flag=True, help="Keep pods from reaching anything outside the cluster.")
@click.option("--simulate", is_flag=True, help="Have pods only seem to run, as their annotations say.")
@click.option("--node-cpu", default="8", callback=_quantity, show_default=True, help="CPUs of a simulated node.")
@click.option("--node-memory", default="32Gi", callback=_quantity, show_default=True, help="Memory of one.")
@click.option("--node-gpus", type=click.IntRange(0, 64), default=0, show_default=True, help="GPUs of one.")
@click.option(
    "--audit-log",
    "audit",
    is_flag=False,
    flag_value="",
    metavar="[FILE]",
    help="Note every request, one line each, in FILE, or in audit.log among the cluster's data.",
)
@click.option(
    "--records",
    type=click.IntRange(0),
    default=1000,
    show_default=True,
    help="How many ended jobs `trainplane history` remembers; the oldest are forgotten.",
)
def up(
    cluster: Cluster,
    *,
    detach: bool,
    port: int,
    merge: bool,
    gates: frozenset[str],
    nodes: int,
    runner: str,
    engine: str | None,
    images: "tuple[ImageMapping, ...]",
    no_egress: bool,
    simulate: bool,
    node_cpu: str,
    node_memory: str,
    node_gpus: int,
    audit: str | None,
    records: int,
) -> int:
    """Start a cluster on this machine, and serve it until Ctrl-C.

    It serves on the loopback address alone, and every request needs the certificate of its kubeconfig or a token of
    `trainplane token`. The kubeconfig is a file of the cluster's own; yours is not touched unless you ask for it. The
    one line on the standard output is for pasting; all else goes to the standard error.

    Data is kept under the user's state folder, and is there again at the next start. A cluster that was killed loses
    nothing that it had confirmed.

    Pods run here, as processes: isolated from each other and from you where the machine allows that, and with the
    programs and the Python environment of this machine unless --image says what an image is. What a job writes to
    $TRAINPLANE_OUTPUT is kept in the folder `jobs` of the cluster's data.

    On simulated nodes no program runs: a pod takes as long, and ends as well, as its annotations say;
    docs/simulation.md lists them.

    \b
    trainplane up
    trainplane up --nodes 4 --image 'pytorch/*=~/envs/torch'
    trainplane up --nodes 4 --simulate --node-gpus 8
    eval "$(trainplane up --detach)"
    trainplane up --name experiments --port 6443
    """
    if engine and runner != "container":
        raise click.UsageError("--engine goes with --runner container: nothing else uses one")
    prepare(cluster)

    def asked() -> Asked:
        from trainplane.node.machine import Settings

        count, known = nodes if simulate else 0, (*images, *configured())
        wanted = Settings(nodes, runner, engine or "", images=known, egress=not no_egress)
        machine = wanted if nodes and not simulate else None
        noted = None if audit is None else Path(audit) if audit else cluster.audit
        return Asked(port, gates, count, node_cpu, node_memory, node_gpus, noted, records, machine)

    def serve(ready: Callable[[Ready], None]) -> int:
        with certifying(cluster, in_pods=bool(nodes and not simulate)), importing():
            # All that serves is imported here; below it is only named.
            import trainplane.cluster.http.connections
            import trainplane.embed  # noqa: F401

            config = asked()
        return _serve(cluster, ready, config=config, merge=merge, detached=detach)

    if not detach:
        return serve(partial(_tell, cluster))
    # The other process loads what serves: this one only waits, and should be gone at once when it has its answer.
    _tell(cluster, start(cluster, serve), detached=True)
    return 0


@rarely()
def _serve(cluster: Cluster, ready: Callable[[Ready], None], *, config: Asked, merge: bool, detached: bool) -> int:
    """Serve until a signal; returns the exit code. Raises Refused where there is nothing to serve."""
    with refusing(cluster, port=config.port):
        return asyncio.run(_until_stopped(cluster, ready, config=config, merge=merge, detached=detached))


async def _until_stopped(
    cluster: Cluster, ready: Callable[[Ready], None], *, config: Asked, merge: bool, detached: bool
) -> int:
    from trainplane.cli.door import open_door
    from trainplane.embed import Config, running
    from trainplane.node.simulated import Size

    stopped: asyncio.Future[signal.Signals] = asyncio.get_running_loop().create_future()
    last_port = _last_port(cluster)
    _listen(stopped)
    asked = Config(
        cluster.folder,
        name=cluster.name,
        port=config.port,
        gates=config.gates,
        nodes=config.nodes,
        size=Size(cpu=config.cpu, memory=config.memory, gpus=config.gpus),
        audit=config.audit,
        records=config.records,
        machine=config.machine,
    )
    async with running(asked) as serving:
        async with open_door(cluster, serving.api):
            write_record(cluster, Record(os.getpid(), serving.server, detached))
            try:
                notes = _notes(cluster, serving, port=config.port or last_port, merge=merge)
                ready(_ready(serving, [*([] if config.nodes or config.machine else [_NO_NODES]), *notes]))
                word = await stopped
            finally:
                # While the data is still ours: after that the record may be another's.
                cluster.record.unlink(missing_ok=True)
        click.echo("stopping", err=True)
    click.echo(f"stopped; the data stays in {cluster.folder}", err=True)
    return INTERRUPTED if word is signal.SIGINT else 0


def _listen(stopped: "asyncio.Future[signal.Signals]") -> None:
    loop = asyncio.get_running_loop()

    def heard(word: signal.Signals) -> None:
        if not stopped.done():
            stopped.set_result(word)
            # Whoever presses Ctrl-C again does not want to wait.
            loop.remove_signal_handler(signal.SIGINT)

    for word in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(word, heard, word)


def _ready(serving: "Running", notes: list[str]) -> Ready:
    store = serving.api.ground.store
    return Ready(
        serving.server,
        len(serving.api.kinds),
        len({kind.group for kind in serving.api.kinds}),
        sum(store.count(resource) for resource in store.resources()),
        tuple(notes),
        _nodes(serving),
    )


def _nodes(serving: "Running") -> str:
    """Which nodes run pods, and how."""
    nodes = serving.nodes
    if nodes is None or nodes.runner is None:
        return ""
    ways = {"namespaced": "in namespaces of their own", "container": "in containers"}
    how = ways.get(nodes.runner.name, "as plain processes, not isolated")
    if nodes.runner.name == "container":
        from trainplane.node.container import ContainerRunner

        how += f" of {nodes.runner.engine.name}" if isinstance(nodes.runner, ContainerRunner) else ""
    return f"pods on {count(len(nodes.agents), 'node')}, {how}; what jobs leave is in {nodes.folders.jobs}"


def _notes(cluster: Cluster, serving: "Running", *, port: int, merge: bool) -> Iterator[str]:
    from trainplane.cli.kubeconfig import merge_into_own
    from trainplane.cluster.kubeconfig import KubeconfigError

    if port and not serving.server.endswith(f":{port}"):
        yield f"port {port}, that of last time: another program has it; the kubeconfig says the new one"
    if merge:
        try:
            merge_into_own(cluster, use=False)
        except (KubeconfigError, OSError) as error:
            yield f"your own kubeconfig: {error}"


def _tell(cluster: Cluster, ready: Ready, *, detached: bool = False) -> None:
    """Say what to paste, what is served, what is not, and what to do next."""
    click.echo(f"export KUBECONFIG={shlex.quote(str(cluster.kubeconfig))}")
    sys.stdout.flush()
    stop = f"stop it with {cluster.command('down')}" if detached else "stop it with Ctrl-C"
    script = f"run a script of yours: {cluster.command('run')} train.py; " if ready.nodes else ""
    paste = "for kubectl, paste" if script else "paste"
    served = f"{count(ready.kinds, 'kind')} of {count(ready.groups, 'API group')}"
    lines = [
        f"cluster {cluster.name} is ready at {ready.server} ({_since_start():.2f} s); {stop}",
        f"  serves   {served}; {count(ready.objects, 'object')} in {cluster.folder}",
        *([f"  runs     {ready.nodes}"] if ready.nodes else []),
        *(f"  skipped  {note}" for note in ready.notes),
        f"  next     {script}{paste} the line above into a shell, and there: kubectl get trainjobs -A",
    ]
    click.echo("\n".join(lines), err=True)


def _last_port(cluster: Cluster) -> int:
    try:
        return int((cluster.folder / "port").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return 0


def _since_start() -> float:
    """Seconds since this process was started, the interpreter's own beginning included."""
    after_name = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    started = int(after_name[19]) / os.sysconf("SC_CLK_TCK")
    return time.clock_gettime(time.CLOCK_BOOTTIME) - started
