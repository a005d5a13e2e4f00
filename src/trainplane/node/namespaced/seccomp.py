"""Which calls of the kernel a container may make: a filter that keeps it from those that reach beyond it. Pure.

It forbids what the default profiles of container runtimes forbid, and leaves the rest to the kernel's own checks: a
container that has a capability may make the calls that need it.
"""

import struct
from collections.abc import Collection, Iterator
from functools import cache

from trainplane.node.namespaced.identity import CAPABILITIES

_SYS_ADMIN = "SYS_ADMIN"
_NEVER = ""
_OF = {
    _NEVER: (
        "add_key", "io_uring_enter", "io_uring_register", "io_uring_setup", "kexec_file_load", "kexec_load", "keyctl",
        "nfsservctl", "pivot_root", "request_key", "swapoff", "swapon", "userfaultfd",
    ),
    _SYS_ADMIN: (
        "bpf", "fanotify_init", "fsconfig", "fsmount", "fsopen", "fspick", "lookup_dcookie", "mount", "mount_setattr",
        "move_mount", "open_tree", "perf_event_open", "quotactl", "quotactl_fd", "setdomainname", "sethostname",
        "setns", "syslog", "umount2", "unshare",
    ),
    "DAC_READ_SEARCH": ("open_by_handle_at",),
    "SYS_BOOT": ("reboot",),
    "SYS_MODULE": ("delete_module", "finit_module", "init_module"),
    "SYS_PACCT": ("acct",),
    "SYS_PTRACE": ("kcmp", "pidfd_getfd", "process_madvise"),
    "SYS_RAWIO": ("ioperm", "iopl"),
    "SYS_TIME": ("clock_settime", "settimeofday"),
    "SYS_TTY_CONFIG": ("vhangup",),
}  # fmt: skip
"""By the capability that a call needs: the calls that nobody makes without it."""
_EITHER = {"bpf": "BPF", "perf_event_open": "PERFMON", "syslog": "SYSLOG"}
"""A second capability that is enough."""

_NEWER = {
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428, "move_mount": 429,
    "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "clone3": 435, "pidfd_getfd": 438,
    "process_madvise": 440, "mount_setattr": 442, "quotactl_fd": 443,
}  # fmt: skip
"""Calls that have the same number everywhere."""
_NUMBERS = {
    "x86_64": {
        "socket": 41, "clone": 56, "syslog": 103, "vhangup": 153, "pivot_root": 155, "acct": 163, "settimeofday": 164,
        "mount": 165, "umount2": 166, "swapon": 167, "swapoff": 168, "reboot": 169, "sethostname": 170,
        "setdomainname": 171, "iopl": 172, "ioperm": 173, "init_module": 175, "delete_module": 176, "quotactl": 179,
        "nfsservctl": 180, "lookup_dcookie": 212, "clock_settime": 227, "kexec_load": 246, "add_key": 248,
        "request_key": 249, "keyctl": 250, "unshare": 272, "perf_event_open": 298, "fanotify_init": 300,
        "open_by_handle_at": 304, "setns": 308, "kcmp": 312, "finit_module": 313, "kexec_file_load": 320, "bpf": 321,
        "userfaultfd": 323, **_NEWER,
    },
    "aarch64": {
        "lookup_dcookie": 18, "umount2": 39, "mount": 40, "pivot_root": 41, "nfsservctl": 42, "vhangup": 58,
        "quotactl": 60, "acct": 89, "unshare": 97, "kexec_load": 104, "init_module": 105, "delete_module": 106,
        "clock_settime": 112, "syslog": 116, "reboot": 142, "sethostname": 161, "setdomainname": 162,
        "settimeofday": 170, "socket": 198, "add_key": 217, "request_key": 218, "keyctl": 219, "clone": 220,
        "swapon": 224, "swapoff": 225, "perf_event_open": 241, "fanotify_init": 262, "open_by_handle_at": 265,
        "setns": 268, "kcmp": 272, "finit_module": 273, "bpf": 280, "userfaultfd": 282, "kexec_file_load": 294,
        **_NEWER,
    },
}  # fmt: skip
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32 = 0x40000000
"""Where the numbers of another set of calls begin, which would be a way around this one."""
_NEW_NAMESPACES = 0x7E020000
_VSOCK = 40
"""Sockets to the machine's own host, which no network namespace holds back."""

_LOAD, _EQUAL, _AT_LEAST, _HAS_ANY, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_EPERM, _ENOSYS, _EAFNOSUPPORT = 1, 38, 97


def is_known(machine: str) -> bool:
    """Whether there is a filter for machines of this kind."""
    return machine in _NUMBERS


@cache
def program(machine: str, capabilities: tuple[int, ...]) -> bytes:
    """The filter for a container that keeps these capabilities, as the kernel takes it."""
    kept = {CAPABILITIES[number] for number in capabilities}
    return b"".join(struct.pack("=HBBI", *each) for each in _instructions(machine, kept))


def forbidden(capabilities: Collection[str]) -> Iterator[str]:
    """The calls that a container with these capabilities may not make, whatever their arguments."""
    for needed, calls in _OF.items():
        if needed not in capabilities:
            yield from (call for call in calls if _EITHER.get(call) not in capabilities)


def _instructions(machine: str, kept: Collection[str]) -> Iterator[tuple[int, int, int, int]]:
    numbers = _NUMBERS[machine]
    yield _LOAD, 0, 0, _ARCHITECTURE
    yield _EQUAL, 1, 0, _ARCHITECTURES[machine]
    yield _RETURN, 0, 0, _ERRNO | _ENOSYS
    yield _LOAD, 0, 0, _NUMBER
    if machine == "x86_64":
        yield _AT_LEAST, 0, 1, _X32
        yield _RETURN, 0, 0, _ERRNO | _ENOSYS
    for call in forbidden(kept):
        if call in numbers:
            yield _EQUAL, 0, 1, numbers[call]
            yield _RETURN, 0, 0, _ERRNO | _EPERM
    if _SYS_ADMIN not in kept:
        # Its arguments lie in memory, where no filter can look; who is told that it is missing uses clone.
        yield _EQUAL, 0, 1, numbers["clone3"]
        yield _RETURN, 0, 0, _ERRNO | _ENOSYS
        yield from _unless(numbers["clone"], (_HAS_ANY, 0, 1, _NEW_NAMESPACES), _EPERM)
    yield from _unless(numbers["socket"], (_EQUAL, 0, 1, _VSOCK), _EAFNOSUPPORT)
    yield _RETURN, 0, 0, _ALLOW


def _unless(number: int, wrong: tuple[int, int, int, int], error: int) -> Iterator[tuple[int, int, int, int]]:
    """A call that fails where its first argument is wrong."""
    yield _LOAD, 0, 0, _NUMBER
    yield _EQUAL, 0, 3, number
    yield _LOAD, 0, 0, _FIRST_ARGUMENT
    yield wrong
    yield _RETURN, 0, 0, _ERRNO | error
