"""`trainplane reset`: delete a cluster, and say first what that means."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import click

from trainplane.cli.clusters import Cluster, Refused, confirm, count, of_cluster, readable_size, size_of
from trainplane.cli.keeper import holder, stop
from trainplane.cluster.folder import Folder
from trainplane.cluster.log import StoreError
from trainplane.control import clock


@click.command()
@of_cluster
@click.option("--volumes", is_flag=True, help="Delete the folders behind persistent volume claims too.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
def reset(cluster: Cluster, volumes: bool, yes: bool) -> None:
    """Delete a cluster: its objects, certificates and tokens.

    It says what will go and asks first. A cluster that runs is stopped. The folders behind persistent volume claims
    are kept unless --volumes says otherwise, and so is whatever else lies in the folder.

    \b
    trainplane backup last.db && trainplane reset
    """
    there = [path for path in cluster.disposable if path.exists()]
    if volumes and cluster.volumes.exists():
        there.append(cluster.volumes)
    if not there:
        click.echo(f"already clean: there is no cluster {cluster.name} in {cluster.folder}")
        return
    losses = "\n".join(f"  {loss}" for loss in _losses(cluster, volumes=volumes))
    confirm(f"This deletes cluster {cluster.name}:\n{losses}\nDelete it?", yes=yes)
    if keeper := holder(cluster):
        stop(cluster, keeper)
    _forget_context(cluster)
    with _alone(cluster):
        # The objects go first: what is left of a reset that was cut short must not look like a cluster.
        for path in there:
            _remove(path)
    with suppress(OSError):
        cluster.folder.rmdir()
    kept = f"; kept: {', '.join(map(str, sorted(cluster.folder.iterdir())))}" if cluster.folder.exists() else ""
    click.echo(f"cluster {cluster.name} is deleted{kept}")


@contextmanager
def _alone(cluster: Cluster) -> Iterator[None]:
    """Keep others from starting the cluster meanwhile."""
    if not cluster.store.exists():
        yield
        return
    try:
        folder = Folder(cluster.store, now=clock.seconds)
    except StoreError as error:
        raise Refused(str(error)) from None
    with folder:
        yield


def _losses(cluster: Cluster, *, volumes: bool) -> Iterator[str]:
    """What a reset takes away, a line each."""
    from trainplane.cli.contents import count_objects
    from trainplane.cluster.tokens import Tokens, TokensError

    if keeper := holder(cluster):
        yield f"{keeper} is stopped"
    if cluster.exists():
        try:
            objects = count_objects(cluster).objects
            few = ", ".join(f"{number} {resource}" for resource, number in objects.items())
            yield f"{count(sum(objects.values()), 'object')} in {cluster.store}" + (f": {few}" if few else "")
        except Refused as error:
            yield f"all objects in {cluster.store} ({error.message})"
    if cluster.pki.exists():
        try:
            tokens = count(len(Tokens(cluster.pki).list()), "token")
        except TokensError:
            tokens = "all tokens"
        yield f"the certificates and {tokens} in {cluster.pki}: kubeconfigs with them hold no longer"
    if _own_context(cluster):
        yield f"the context {cluster.name} in {_own_context(cluster)}"
    if cluster.volumes.exists():
        what = f"{cluster.volumes}, the folders behind claims ({readable_size(size_of(cluster.volumes))})"
        yield what if volumes else f"kept: {what}"
    if cluster.jobs.exists():
        yield f"kept: {cluster.jobs}, what jobs have left ({readable_size(size_of(cluster.jobs))})"


def _own_context(cluster: Cluster) -> Path | None:
    """The user's own kubeconfig, where a context in it is this cluster's."""
    from trainplane.cli.kubeconfig import own
    from trainplane.cluster.kubeconfig import KubeconfigError, load

    path = own()
    try:
        if not path.samefile(cluster.kubeconfig):
            theirs, ours = load([path], context=cluster.name), load([cluster.kubeconfig])
            return path if theirs.authority == ours.authority else None
    except (OSError, KubeconfigError):
        # Neither a file that is not there nor one that cannot be read has anything of ours to be found.
        pass
    return None


def _forget_context(cluster: Cluster) -> None:
    from trainplane.cluster.kubeconfig import remove_from

    if path := _own_context(cluster):
        remove_from(path, cluster.name)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
