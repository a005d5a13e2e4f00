"""What the processes of a PID namespace use, read from /proc; the way where there are no control groups."""

import contextlib
import os

_TICK = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


def memory_and_seconds(minder: int) -> tuple[int, float]:
    """Bytes of memory and seconds of CPU of the processes in the PID namespace of a container's minder."""
    memory, seconds = 0, 0.0
    with contextlib.suppress(OSError):
        wanted = os.readlink(f"/proc/{minder}/ns/pid")
        for name in os.listdir("/proc"):
            if name.isdigit() and int(name) != minder:
                more = _one(name, wanted)
                memory, seconds = memory + more[0], seconds + more[1]
    return memory, seconds


def _one(pid: str, wanted: str) -> tuple[int, float]:
    try:
        if os.readlink(f"/proc/{pid}/ns/pid") != wanted:
            return 0, 0.0
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            _, resident, shared, *_ = file.read().split()
    except OSError:
        return 0, 0.0  # It has ended in between.
    return (int(resident) - int(shared)) * _PAGE, sum(int(fields[at]) for at in (11, 12, 13, 14)) / _TICK
