"""`trainplane kubeconfig`: where the kubeconfig of a cluster is."""

import os
from pathlib import Path

import click

from trainplane.cli.clusters import Cluster, Refused, of_cluster


@click.command()
@of_cluster
@click.option("--merge", is_flag=True, help="Add the cluster's context to your own kubeconfig, and print that path.")
@click.option("--use", is_flag=True, help="With --merge: make it the current context there.")
def kubeconfig(cluster: Cluster, merge: bool, use: bool) -> None:
    """Print the path of a cluster's kubeconfig, and nothing else.

    Your own is the first file of KUBECONFIG, or ~/.kube/config. Other entries in it stay as they are; its comments are
    lost, as with kubectl.

    \b
    kubectl --kubeconfig "$(trainplane kubeconfig)" get trainjobs
    trainplane kubeconfig --merge --use
    """
    if use and not merge:
        raise click.UsageError("--use goes with --merge: the cluster's own kubeconfig has one context only")
    if not cluster.kubeconfig.exists():
        raise Refused(f"there is no cluster {cluster.name} in {cluster.folder}; start it with: {cluster.command('up')}")
    if not merge:
        click.echo(cluster.kubeconfig)
        return
    from trainplane.cluster.kubeconfig import KubeconfigError

    try:
        path = merge_into_own(cluster, use=use)
    except KubeconfigError as error:
        raise Refused(str(error)) from None
    click.echo(path)


def own() -> Path:
    """The user's own kubeconfig, whether it is there or not."""
    from trainplane.cluster.kubeconfig import files

    return files(os.environ, home=Path.home())[0]


def merge_into_own(cluster: Cluster, *, use: bool) -> Path:
    """Add the cluster's context to the user's own kubeconfig; returns its path. Raises KubeconfigError."""
    import yaml

    from trainplane.cluster.kubeconfig import merge_into

    path = own()
    if not path.exists() or not path.samefile(cluster.kubeconfig):
        merge_into(path, yaml.load(cluster.kubeconfig.read_bytes(), Loader=yaml.CSafeLoader), use=use)
    return path
