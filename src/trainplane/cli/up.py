"""`trainplane up`: a cluster on this machine, until it is told to stop."""

import asyncio
import signal

import click

from trainplane.cli.clusters import folder_of, named
from trainplane.cluster.log import StoreError
from trainplane.embed import Config, Running, running


@click.command()
@named
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port to serve at; any free one by default.")
def up(name: str, port: int) -> None:
    """Start a cluster on this machine, and serve it until Ctrl-C.

    Its data is kept under the user's state folder, and is there again at the next start. The kubeconfig is a file of
    its own: yours is not touched. It serves on the loopback address alone.

    \b
    trainplane up
    trainplane up --name experiments
    """
    try:
        asyncio.run(_serve(Config(folder_of(name), name=name, port=port)))
    except* StoreError as group:
        raise click.ClickException("; ".join(str(each) for each in group.exceptions)) from None
    except* OSError as group:
        raise click.ClickException("; ".join(str(each) for each in group.exceptions)) from None


async def _serve(config: Config) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for word in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(word, stopped.set)
    async with running(config) as cluster:
        _tell(cluster)
        await stopped.wait()
        click.echo("stopping", err=True)


def _tell(cluster: Running) -> None:
    click.echo(f"export KUBECONFIG={cluster.kubeconfig}")
    click.echo(f"serving at {cluster.server}; stop with Ctrl-C", err=True)
