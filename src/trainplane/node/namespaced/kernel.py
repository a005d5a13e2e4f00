"""The calls of the Linux kernel that Python 3.11 has no names for."""

import contextlib
import ctypes
import errno
import os
import platform
import struct
from collections.abc import Collection
from typing import Any

NEW_MOUNT = 0x20000
NEW_UTS = 0x4000000
NEW_IPC = 0x8000000
NEW_USER = 0x10000000
NEW_PID = 0x20000000
NEW_NET = 0x40000000

MS_RDONLY = 0x1
MS_NOSUID = 0x2
MS_NODEV = 0x4
MS_NOEXEC = 0x8
MS_REMOUNT = 0x20
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 0x40000
DETACH = 2
_TIMES = 0x1C00
"""The flags that say when the time of the last access is written."""

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_NAME = 15
_PR_SET_SECCOMP = 22
PR_CAPBSET_DROP = 24
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38

_KEYCTL = {"x86_64": 250, "aarch64": 219, "riscv64": 219, "ppc64le": 271, "s390x": 280}
_JOIN_SESSION = 1
_FILTER = 2
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41, "ppc64le": 203, "s390x": 217}
_OPENAT2 = 437
_CLOSE_RANGE = 436
_MOUNT_SETATTR = 442
_MOUNT_ATTR_RDONLY = 0x1
_MOUNT_ATTR_NOSUID = 0x2
_MOUNT_ATTR_NODEV = 0x4
_AT_RECURSIVE = 0x8000
_AT_FDCWD = -100
_HIGHEST = 0x7FFFFFFF
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_BENEATH = 0x08
_RESOLVE_IN_ROOT = 0x10
_TRIES = 1000

_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)
    return result


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else os.fsencode(text)


def unshare(flags: int) -> None:
    """Move this process into new namespaces."""
    _checked(_libc.unshare(flags), "unshare")


def setns(descriptor: int, kind: int) -> None:
    """Join a namespace that an open file stands for."""
    _checked(_libc.setns(descriptor, kind), "setns")


def mount(source: str | None, target: str, *, kind: str | None = None, flags: int = 0, data: str = "") -> None:
    """Mount something at a path."""
    words = (_bytes(source), _bytes(target), _bytes(kind), ctypes.c_ulong(flags), _bytes(data) or None)
    _checked(_libc.mount(*words), target)


def unmount(target: str) -> None:
    """Take a mount away, at once from sight and in full when nobody uses it."""
    _checked(_libc.umount2(os.fsencode(target), DETACH), target)


def restrict(target: str, *, read_only: bool, recursive: bool = True) -> None:
    """Let nothing on a mount, and on those below it, be a device or run as its owner; and nothing be written."""
    wanted = _MOUNT_ATTR_NOSUID | _MOUNT_ATTR_NODEV | (_MOUNT_ATTR_RDONLY if read_only else 0)
    attributes = struct.pack("=QQQQ", wanted, 0, 0, 0)
    flags = _AT_RECURSIVE if recursive else 0
    words: tuple[Any, ...] = (_MOUNT_SETATTR, _AT_FDCWD, os.fsencode(target), flags, attributes, len(attributes))
    if _libc.syscall(*words) < 0:
        # Before Linux 5.12 only one mount at a time can be changed, and what is set on it already must be said again.
        kept = os.statvfs(target).f_flag & (MS_RDONLY | MS_NOEXEC | _TIMES)
        more = MS_RDONLY if read_only else 0
        mount(None, target, flags=MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV | more | kept)


def pivot_root() -> None:
    """Make the current folder the root, and let go of the old one."""
    number = _PIVOT_ROOT.get(platform.machine())
    if number is None:
        raise OSError(38, f"the number of pivot_root on {platform.machine()} is not known")
    _checked(_libc.syscall(number, b".", b"."), "pivot_root")
    unmount(".")
    os.chdir("/")


def open_beneath(folder: int, path: str, flags: int, *, as_root: bool) -> int:
    """Open a path below a folder without ever leaving it.

    With `as_root` the folder is what symbolic links take for the root; without it a link that leads out is an error.
    """
    resolve = _RESOLVE_NO_MAGICLINKS | (_RESOLVE_IN_ROOT if as_root else _RESOLVE_BENEATH)
    how = struct.pack("=QQQ", flags | os.O_CLOEXEC, 0, resolve)
    words = (_OPENAT2, folder, os.fsencode(path.lstrip("/") or "."), how, len(how))
    for _ in range(_TRIES):
        # A path through ".." cannot be vouched for while anybody on the machine mounts or renames anything.
        with contextlib.suppress(BlockingIOError):
            return _checked(_libc.syscall(*words), path)
    return _checked(_libc.syscall(*words), path)


def close_all_but(kept: Collection[int]) -> None:
    """Close every open file but these and the first three."""
    start = 3
    for number in (*sorted(number for number in set(kept) if number >= start), _HIGHEST + 1):
        if start < number and _libc.syscall(_CLOSE_RANGE, start, number - 1, 0) < 0:
            os.closerange(start, min(number, os.sysconf("SC_OPEN_MAX")))
        start = number + 1


def set_hostname(name: str) -> None:
    """Name the UTS namespace this process is in."""
    text = name.encode()
    _checked(_libc.sethostname(text, len(text)), "sethostname")


def prctl(option: int, value: int | bytes) -> None:
    """Change something about this process."""
    number = value if isinstance(value, bytes) else ctypes.c_ulong(value)
    _checked(_libc.prctl(option, number, 0, 0, 0), "prctl")


def leave_session_keys() -> None:
    """Have a keyring for this process and those that it starts, instead of the one of the session it was started in."""
    number = _KEYCTL.get(platform.machine())
    if number is not None:
        _checked(_libc.syscall(number, _JOIN_SESSION, None), "keyctl")


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def can_filter() -> bool:
    """Whether the kernel takes filters of calls; to be asked for none at all is then a bad address, else a bad word."""
    return bool(_libc.prctl(_PR_SET_SECCOMP, _FILTER, 0, 0, 0) < 0 and ctypes.get_errno() == errno.EFAULT)


def filter_calls(instructions: bytes) -> None:
    """Let this process, and those that it starts, make only the calls that a filter lets through."""
    program = _Program(len(instructions) // 8, instructions)
    _checked(_libc.prctl(_PR_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0), "seccomp")


def die_with_parent() -> None:
    """Have the kernel kill this process when its parent ends."""
    prctl(PR_SET_PDEATHSIG, 9)
