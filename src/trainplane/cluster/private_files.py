"""Files that nobody else may read: written whole or not at all, in a folder of their owner's alone."""

import os
import stat
from pathlib import Path

FOLDER_MODE = 0o700
FILE_MODE = 0o600


class NotPrivate(OSError):
    """A folder or file that others could read or have put there; the message says what to do."""


def private_folder(folder: Path) -> Path:
    """Make the folder, and make sure that it is ours and closed to others."""
    folder.mkdir(parents=True, exist_ok=True, mode=FOLDER_MODE)
    about = folder.lstat()
    if not stat.S_ISDIR(about.st_mode):
        raise NotPrivate(f"{folder} is not a folder; move it away or give another --data folder")
    if about.st_uid != os.geteuid():
        raise NotPrivate(f"{folder} belongs to the user with id {about.st_uid}; give a folder of your own")
    if stat.S_IMODE(about.st_mode) != FOLDER_MODE:
        folder.chmod(FOLDER_MODE)
    return folder


def write_private(path: Path, content: bytes, *, durable: bool = True) -> None:
    """Put a file in place in one step, on disk before it is seen, readable by its owner alone.

    One that is not `durable` may be empty after a loss of power, and need not be waited for.
    """
    beside = path.with_name(f".{path.name}.{os.urandom(6).hex()}")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, FILE_MODE)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    if durable:
        _sync_folder(path.parent)


def read_private(path: Path) -> bytes | None:
    """The content of a file that is ours, or None where there is none; one that others could read is closed first."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        about = os.fstat(file.fileno())
        if about.st_uid != os.geteuid():
            raise NotPrivate(f"{path} belongs to the user with id {about.st_uid}; remove it, and it is made anew")
        if stat.S_IMODE(about.st_mode) & 0o077:
            os.fchmod(file.fileno(), FILE_MODE)
        return file.read()


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
