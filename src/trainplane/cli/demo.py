"""`trainplane demo`: a real training on four nodes of this machine, which leaves a model behind and nothing running."""

import shutil
import subprocess
import sys
from importlib.resources import as_file, files
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trainplane.cli.clusters import Cluster, Refused, folder_of
from trainplane.cli.keeper import holder
from trainplane.cli.places import configured
from trainplane.cli.server import Server, Session

if TYPE_CHECKING:
    from trainplane.embed import Running
    from trainplane.node.images import ImageMapping

NAME = "demo"
NODES, PROCESSES = 2, 2
"""Of the training; the cluster has twice as many nodes."""


@click.command()
@click.option(
    "--environment",
    type=click.Path(path_type=Path),
    help="A virtual environment that has torch; that of trainplane itself by default.",
)
@click.option("--steps", type=click.IntRange(1, 100_000), default=200, show_default=True, help="How long to train.")
def demo(environment: Path | None, steps: int) -> int:
    """Train a small model with torch on several nodes of this machine, and show what happens.

    A private cluster with four nodes is started and stopped again; torch DDP trains on two of them with two processes
    each. The model stays, and the end says where. The program is plain torch, and the folder of this command shows all
    of it.

    \b
    trainplane demo
    trainplane demo --environment ~/envs/torch
    """
    cluster = Cluster(NAME, folder_of(NAME))
    images = configured() if environment is None else ()
    if environment is None and not images and find_spec("torch") is None:
        raise Refused(
            "torch is not installed beside trainplane; install it (pip install torch), "
            "or name an environment that has it with --environment"
        )
    if environment is not None:
        _must_have_torch(environment)
    if keeper := holder(cluster):
        raise Refused(f"another demo is running: {keeper}; wait for it, or stop it")
    for path in cluster.disposable:
        # Each demo begins with a new cluster; what earlier ones have trained stays.
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
    return _play(cluster, (*images, _otherwise(environment)), steps)


def _play(cluster: Cluster, images: "tuple[ImageMapping, ...]", steps: int) -> int:
    from trainplane.cli.alone import work_alone
    from trainplane.cli.run import packed, submit_script, watch

    with as_file(files("trainplane").joinpath("demo")) as folder:
        script = folder / "train.py"
        archive = packed(script)

        def greet(serving: "Running") -> None:
            _say(f"   it is at {serving.server}, and kubectl can talk to it: export KUBECONFIG={serving.kubeconfig}")
            _say(f"2. A script of plain torch becomes a TrainJob on {NODES} nodes × {PROCESSES} processes:")
            _say(f"   trainplane run --nodes {NODES} --nproc {PROCESSES} train.py --steps {steps}")

        async def work(session: Session) -> int:
            said = _asked(nodes=NODES, nproc=PROCESSES)
            return await watch(
                session, await submit_script(session, script, ["--steps", str(steps)], archive=archive, **said)
            )

        _say("1. A cluster of four nodes starts in this process.")
        server = Server(cluster.kubeconfig, cluster=cluster, is_stopped=True)
        code = work_alone(server, work, images=images, greet=greet, nodes=2 * NODES)
    _say("3. The cluster is stopped, and nothing of it runs any more.")
    if code == 0:
        _say("Next:")
        _say("   trainplane up --nodes 4 --detach")
        _say("   trainplane run --nodes 2 --nproc 2 your_script.py")
        _say("   trainplane get jobs")
    return code


def _asked(**said: object) -> dict[str, object]:
    nothing = {
        "runtime": "",
        "job_name": "",
        "gpus": 0,
        "cpus": "",
        "memory": "",
        "elastic": None,
        "image": "",
        "env": {},
    }
    return {**nothing, **said}


def _must_have_torch(environment: Path) -> None:
    python, asks = (
        environment / "bin" / "python",
        "import importlib.util, sys; sys.exit(not importlib.util.find_spec('torch'))",
    )
    try:
        code = subprocess.run([python, "-c", asks], stdin=subprocess.DEVNULL, capture_output=True).returncode  # noqa: S603 - as named
    except OSError:
        raise Refused(f"{environment} is no virtual environment: it has no bin/python; name another one") from None
    if code:
        raise Refused(f"{environment} has no torch; install it there: {python} -m pip install torch")


def _otherwise(environment: Path | None) -> "ImageMapping":
    """What every image is that the settings say nothing of."""
    from trainplane.node.images import ImageMapping

    return ImageMapping("*", environment=(environment or Path(sys.prefix)).absolute())


def _say(text: str) -> None:
    click.echo(click.style(text, bold=not text.startswith(" ")), err=True)
