"""`trainplane restore`: the objects of a backup, in place of those of a cluster."""

from pathlib import Path

import click

from trainplane.cli.clusters import Cluster, Refused, confirm, count, of_cluster


@click.command(no_args_is_help=True)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@of_cluster
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
def restore(cluster: Cluster, file: Path, yes: bool) -> None:
    """Put the objects of a backup in place of those of a cluster, whether it runs or not.

    All of them are replaced at once or none. The revision moves on, never back: clients that watch are told that what
    they know is too old (410), and list again. Where there is no such cluster yet, the next `up` has the objects. Data
    that is damaged or of a newer version is set aside in the cluster's folder.

    \b
    trainplane restore before-upgrade.db
    """
    from trainplane.cli.contents import count_objects, look_into, put_back

    items = len(look_into(file).items)
    if cluster.exists():
        try:
            there = f"{count(sum(count_objects(cluster).objects.values()), 'object')} of cluster {cluster.name}"
        except Refused as error:
            there = f"what cannot be read of cluster {cluster.name} ({error.message})"
        confirm(f"Replace {there} by {count(items, 'object')} of {file}?", yes=yes)
    answer = put_back(cluster, file)
    click.echo(f"cluster {cluster.name} has {count(items, 'object')} of {file}, at revision {answer.revision}")
