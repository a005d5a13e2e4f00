"""The folder that holds a cluster's data: for its owner's eyes alone, and for one process at a time."""

import errno
import fcntl
import os
import socket
import stat
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

import msgspec

from trainplane.cluster.log import DiskFault, DiskFull, DiskReadOnly, StoreError, Unwritable

_FAULTS: dict[int | None, type[Unwritable]] = {
    errno.ENOSPC: DiskFull,
    errno.EDQUOT: DiskFull,
    errno.EROFS: DiskReadOnly,
    errno.EACCES: DiskReadOnly,
}


class Open(StoreError):
    """Others than us may enter the folder."""


class Held(StoreError):
    """Another process has the folder."""

    def __init__(self, folder: Path, holder: "Holder | None") -> None:
        """Say who holds it, and since when."""
        who = str(holder) if holder else "another process that has not said who it is"
        super().__init__(f"{folder} is in use by {who}; stop that one, or name another folder")
        self.holder = holder


class Holder(msgspec.Struct, frozen=True):
    """The process that has a folder."""

    pid: int
    host: str
    since: str

    def __str__(self) -> str:
        """`process 123 on host since 2026-01-31T12:00:00+00:00`."""
        return f"process {self.pid} on {self.host} since {self.since}"


class Folder:
    """A folder that this process alone has, until it is closed; it is made where there is none."""

    def __init__(self, path: Path, *, now: Callable[[], float]) -> None:
        """Take the folder, or raise Held, Open or what is wrong with the disk."""
        self.path = path
        try:
            _make(path)
            # A forked child would hold the lock on; one that executes another program does not.
            self._lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise fault(path, error) from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            since = datetime.fromtimestamp(now(), UTC).isoformat(timespec="seconds")
            os.ftruncate(self._lock, 0)
            os.pwrite(self._lock, msgspec.json.encode(Holder(os.getpid(), socket.gethostname(), since)), 0)
        except BlockingIOError:
            holder = _holder(os.pread(self._lock, 4096, 0))
            os.close(self._lock)
            raise Held(path, holder) from None
        except OSError as error:
            os.close(self._lock)
            raise fault(path, error) from error

    def close(self) -> None:
        """Let others have it."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def __enter__(self) -> "Folder":
        """Itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Let others have it."""
        self.close()


def _make(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        about = path.stat()
        mode = stat.S_IMODE(about.st_mode)
        if about.st_uid != os.geteuid():
            raise Open(f"{path} belongs to the user with id {about.st_uid}; name a folder of your own") from None
        if mode & 0o077:
            raise Open(f"{path} has mode {mode:04o}, so others may enter; `chmod 700 {path}` or name another") from None
    else:
        sync(path.parent)


def _holder(text: bytes) -> Holder | None:
    try:
        return msgspec.json.decode(text, type=Holder)
    except msgspec.DecodeError:
        return None


def sync(path: Path) -> None:
    """Have the disk keep a file, or the names in a folder, before going on."""
    opened = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def fault(path: Path, error: OSError) -> Unwritable:
    """The error of the operating system as ours."""
    kind = _FAULTS.get(error.errno, DiskFault)
    return kind(f"{path}: {error.strerror}; make room there or make it writable, or name another place")
