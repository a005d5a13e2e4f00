"""`trainplane backup`: all objects of a cluster in one file."""

from pathlib import Path

import click

from trainplane.cli.clusters import Cluster, count, of_cluster, readable_size


@click.command(no_args_is_help=True)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@of_cluster
def backup(cluster: Cluster, file: Path) -> None:
    """Copy all objects of a cluster into FILE, whether it runs or not.

    The copy is of one moment, and a cluster that runs goes on meanwhile. It is checked, and readable by you alone: it
    holds Secrets. Certificates and tokens are not in it, nor the folders behind persistent volume claims.

    \b
    trainplane backup before-upgrade.db
    """
    from trainplane.cli.contents import back_up

    snapshot = back_up(cluster.must_exist(), file)
    size = readable_size(file.stat().st_size)
    click.echo(f"{file}: {count(len(snapshot.items), 'object')} at revision {snapshot.revision}, {size}")
