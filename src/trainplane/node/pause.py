"""Pause: a program of some two hundred bytes that holds a pod's namespaces, and an archive with nothing but it.

It is process 1 of a pod whose containers share their processes, so it lets the kernel bury what ends, and it waits.
"""

import hashlib
import io
import platform
import struct
import tarfile

NAME = "pause"
_BASE = 0x400000
_ELF, _PART = 64, 56
"""The sizes of the two headers that a program has."""
_SIGCHLD, _IGNORE = 17, 1
# rt_sigaction(SIGCHLD, {SIG_IGN}, NULL, 8), then pause() for ever; {SIG_IGN} is what follows the instructions.
_X86_64 = bytes.fromhex("b80d000000 bf11000000 488d3517000000 31d2 41ba08000000 0f05 b822000000 0f05 ebf7 9090 9090")
# The same, with ppoll(NULL, 0, NULL, NULL, 0) for a call that there is not.
_AARCH64 = (
    *(0xD28010C8, 0xD2800220, 0x100001A1, 0xD2800002, 0xD2800103, 0xD4000001),
    *(0xD2800928, 0xD2800000, 0xD2800001, 0xD2800002, 0xD2800003, 0xD2800004, 0xD4000001, 0x17FFFFF9, 0xD503201F),
)
_MACHINES = {"x86_64": (62, _X86_64), "aarch64": (183, struct.pack(f"<{len(_AARCH64)}I", *_AARCH64))}


def is_known(machine: str) -> bool:
    """Whether there is such a program for a sort of processor."""
    return machine in _MACHINES


def program(machine: str) -> bytes:
    """The program, in the form that Linux runs: one part that holds everything."""
    number, instructions = _MACHINES[machine]
    size = _ELF + _PART + len(instructions) + 32
    header = struct.pack(
        "<4s5B7xHHIQQQIHHHHHH", b"\x7fELF", 2, 1, 1, 0, 0, 2, number, 1, _BASE + _ELF + _PART, _ELF, 0, 0, _ELF, _PART,
        1, 0, 0, 0,
    )  # fmt: skip
    part = struct.pack("<IIQQQQQQ", 1, 5, 0, _BASE, _BASE, size, size, 0x1000)
    return header + part + instructions + struct.pack("<QQQQ", _IGNORE, 0, 0, 0)


def archive() -> bytes:
    """What an image is made of that holds this machine's program, and nothing else."""
    content, made = program(platform.machine()), io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        about = tarfile.TarInfo(NAME)
        about.size, about.mode = len(content), 0o555
        tar.addfile(about, io.BytesIO(content))
    return made.getvalue()


def digest() -> str:
    """What tells this program apart from those of other versions."""
    return hashlib.sha256(program(platform.machine())).hexdigest()[:12]
