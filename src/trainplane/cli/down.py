"""`trainplane down`: stop a cluster, and keep its data."""

import asyncio

import click

from trainplane.cli.clusters import Cluster, count, of_cluster
from trainplane.cli.keeper import holder, stop


@click.command()
@of_cluster
def down(cluster: Cluster) -> None:
    """Stop a cluster that `up` has started; its data stays.

    Returns when it has stopped. Where none runs there is nothing to do, and that is no error.

    \b
    trainplane down
    trainplane down --name experiments
    """
    keeper = holder(cluster)
    if keeper is None:
        left = _sweep(cluster)
        was = f"; it had left {count(left, 'pod')} running, now ended" if left else ""
        click.echo(f"already clean: cluster {cluster.name} is not running{was}")
        return
    stop(cluster, keeper)
    click.echo(f"cluster {cluster.name} is stopped; {cluster.command('up')} starts it again with the same data")


def _sweep(cluster: Cluster) -> int:
    """End what a cluster that was killed has left in a container engine; returns how many pods that were.

    All else ends with its process.
    """
    if not cluster.engine.exists():
        return 0
    from trainplane.node.machine import sweep_engines

    return len(asyncio.run(sweep_engines(cluster.folder)))
