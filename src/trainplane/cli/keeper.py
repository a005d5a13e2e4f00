"""The process that keeps a cluster: whether there is one, what it says of itself, and how it is stopped."""

import fcntl
import os
import select
import signal
import socket
import time
from pathlib import Path

import msgspec

from trainplane.cli.clusters import Cluster, Refused
from trainplane.cluster.folder import Holder
from trainplane.cluster.private_files import read_private, write_private

_STARTING = 5.0
_STOPPING = 60.0
_STEP = 0.05


class Record(msgspec.Struct, frozen=True):
    """What `up` writes down when it serves: how it is reached, and that it is `up` and may be stopped."""

    pid: int
    server: str
    detached: bool = False
    for_one_job: bool = False
    """Whether it ends with the job that it was started for."""


def holder(cluster: Cluster) -> Holder | None:
    """The process that has the cluster's data now.

    It is the one that the lock names, if that one has the lock open. To try the lock would tell as much, but a start
    at that moment would find it taken.
    """
    lock = cluster.store / "lock"
    try:
        said = msgspec.json.decode(lock.read_bytes(), type=Holder)
        if said.host == socket.gethostname():
            return said if _has_open(said.pid, lock) else None
        return said if _is_locked(lock) else None
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def record(cluster: Cluster) -> Record | None:
    """What the last `up` wrote down; it may be gone since."""
    content = read_private(cluster.record)
    try:
        return msgspec.json.decode(content, type=Record) if content else None
    except msgspec.DecodeError:
        return None


def write_record(cluster: Cluster, record: Record) -> None:
    """Write down that this process serves the cluster."""
    # It means nothing after a loss of power: nobody serves then.
    write_private(cluster.record, msgspec.json.encode(record), durable=False)


def stop(cluster: Cluster, keeper: Holder) -> None:
    """Ask the process that `up` started to stop, and return when it has; raises Refused."""
    if keeper.host != socket.gethostname():
        raise Refused(f"cluster {cluster.name} is kept by {keeper}; stop it on that machine")
    try:
        # From here on the number cannot come to mean another process.
        process = os.pidfd_open(keeper.pid)
    except ProcessLookupError:
        return
    try:
        deadline = time.monotonic() + _STARTING
        while not _is_up(cluster, keeper):
            if holder(cluster) != keeper:
                return
            if time.monotonic() > deadline:
                who = f"{keeper}, which `up` did not start, or which is still starting"
                raise Refused(f"cluster {cluster.name} is kept by {who}; end that program, or repeat")
            time.sleep(_STEP)
        signal.pidfd_send_signal(process, signal.SIGTERM)
        if not select.select([process], [], [], _STOPPING)[0]:
            raise Refused(
                f"{keeper} has not stopped within {_STOPPING:.0f} seconds; "
                f"`kill -9 {keeper.pid}` ends it, and loses nothing that was confirmed"
            )
    finally:
        os.close(process)


def _is_up(cluster: Cluster, keeper: Holder) -> bool:
    said = record(cluster)
    return said is not None and said.pid == keeper.pid and holder(cluster) == keeper


def _has_open(pid: int, file: Path) -> bool:
    about = file.stat()
    try:
        descriptors = os.listdir(f"/proc/{pid}/fd")
    except (FileNotFoundError, PermissionError):
        # It has ended, or the number is another's by now.
        return False
    for descriptor in descriptors:
        try:
            open_file = os.stat(f"/proc/{pid}/fd/{descriptor}")
        except OSError:
            continue
        if (open_file.st_dev, open_file.st_ino) == (about.st_dev, about.st_ino):
            return True
    return False


def _is_locked(file: Path) -> bool:
    descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
