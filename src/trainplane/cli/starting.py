"""What a cluster's start may meet: data that another process has, a folder that is not ours, a port that is taken."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from trainplane.cli.clusters import Cluster, Refused
from trainplane.cli.keeper import holder, record
from trainplane.cluster.folder import Held, Holder
from trainplane.cluster.private_files import NotPrivate, private_folder


def prepare(cluster: Cluster) -> None:
    """Refuse what runs already and folders that are not ours; make the folder, closed to others."""
    if keeper := holder(cluster):
        raise Refused(_running_already(cluster, keeper))
    ours = {path.name for path in (*cluster.disposable, cluster.volumes, cluster.jobs)}
    try:
        others = sorted(entry.name for entry in cluster.folder.iterdir() if entry.name not in ours)
    except FileNotFoundError:
        others = []
    except OSError as error:
        raise Refused(f"{cluster.folder}: {error.strerror}; name another folder with --data") from None
    if others and not cluster.exists():
        raise Refused(
            f"{cluster.folder} has other things in it, such as {others[0]}; name a folder that is empty or new"
        )
    try:
        private_folder(cluster.folder)
    except NotPrivate as error:
        raise Refused(str(error)) from None
    except OSError as error:
        raise Refused(f"{cluster.folder}: {error.strerror}; name another folder with --data") from None


@contextmanager
def refusing(cluster: Cluster, *, port: int = 0) -> Iterator[None]:
    """Have what goes wrong refused in a sentence, where there is one for it; all else comes as it is."""
    try:
        yield
    except Exception as error:
        causes = list(_causes(error))
        for cause in causes:
            if sentence := _sentence(cause, cluster, port):
                raise Refused(sentence) from error
        raise causes[0] from error


def _causes(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _causes(each)
    else:
        yield error


def _sentence(error: BaseException, cluster: Cluster, port: int) -> str:
    """What went wrong and what to do, or "" where that is not known."""
    from trainplane.cluster.log import StoreError
    from trainplane.node.runner import Unable

    match error:
        case Held():
            return _running_already(cluster, error.holder) if error.holder else str(error)
        case BrokenPipeError():
            return ""
        case StoreError() | NotPrivate() | ValueError() | Unable():
            return str(error)
        case OSError(errno=errno.EADDRINUSE):
            return f"port {port} is taken by another program; give another --port, or none to have any free one"
        case OSError(errno=errno.EACCES) if port:
            return f"port {port} is not for this user to serve at; give --port a number above 1023"
        case OSError():
            where = error.filename or cluster.folder
            return f"{where}: {error.strerror or error}; make it writable, or name another folder with --data"
    return ""


def _running_already(cluster: Cluster, keeper: Holder) -> str:
    said = record(cluster)
    is_up = said is not None and said.pid == keeper.pid
    how = f"is running already: {keeper} at {said.server}" if said and is_up else f"is in use by {keeper}"
    return f"cluster {cluster.name} {how}; stop it with: {cluster.command('down')}"
