"""`trainplane kubeconfig`: where the kubeconfig of a cluster is."""

import click

from trainplane.cli.clusters import folder_of, named


@click.command()
@named
def kubeconfig(name: str) -> None:
    """Print the path of a cluster's kubeconfig, and nothing else.

    \b
    kubectl --kubeconfig "$(trainplane kubeconfig)" get trainjobs
    """
    path = folder_of(name) / "kubeconfig"
    if not path.exists():
        flag = "" if name == "trainplane" else f" --name {name}"
        raise click.ClickException(f"there is no cluster {name} yet; start it with: trainplane up{flag}")
    click.echo(path)
