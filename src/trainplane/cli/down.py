"""`trainplane down`: stop a cluster, and keep its data."""

import click

from trainplane.cli.clusters import Cluster, of_cluster
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
        click.echo(f"already clean: cluster {cluster.name} is not running")
        return
    stop(cluster, keeper)
    click.echo(f"cluster {cluster.name} is stopped; {cluster.command('up')} starts it again with the same data")
