"""Processes: which processes of the machine belong to a container, by a mark in their environment; what they use."""

import asyncio
import os
import signal
from collections.abc import Iterable, Iterator
from contextlib import suppress

from trainplane.node.runner import Use

MARK = "TRAINPLANE_CONTAINER"
"""The variable by which a process is known to belong to a container, and so are all that it starts."""
PROC = "/proc"
ROUNDS = 200
PAUSE = 0.005
"""How often, and how many seconds apart, processes are looked for that must be gone: a second in all."""
_MARK = MARK.encode() + b"="
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Processes:
    """The processes that this one has started, however far they have run; needs /proc."""

    def __init__(self) -> None:
        self.can_look = os.path.isdir(f"{PROC}/self")
        self._strays: set[int] = set()
        """Those that became our children when their parents ended, and so are ours to bury."""

    def of(self, prefix: str) -> list[int]:
        """Our descendants whose mark begins so."""
        return [pid for pid in _descendants(os.getpid()) if _mark(pid).startswith(prefix)]

    def kill(self, prefix: str, *, known: Iterable[int] = ()) -> int:
        """Kill our descendants whose mark begins so; returns how many there were. `known` bury themselves."""
        found, buried = self.of(prefix), set(known)
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
            if pid not in buried:
                self._strays.add(pid)
        return len(found)

    async def end(self, prefix: str, *, known: Iterable[int] = ()) -> None:
        """Kill our descendants whose mark begins so until none is left; one that forks meanwhile is met again."""
        buried = list(known)
        for _ in range(ROUNDS):
            if not self.kill(prefix, known=buried):
                break
            await asyncio.sleep(PAUSE)
            self.reap()
        self.reap()

    async def end_everywhere(self, prefix: str) -> set[str]:
        """Kill every process of the machine whose mark begins so, whoever started it; returns their marks."""
        ended = set[str]()
        for _ in range(ROUNDS):
            found = dict(_marked(prefix))
            if not found:
                break
            ended.update(found.values())
            for pid in found:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            self._strays.update(found)
            await asyncio.sleep(PAUSE)
            self.reap()
        return ended

    def reap(self) -> None:
        """Bury the strays that have ended."""
        for pid in list(self._strays):
            try:
                done, _ = os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                done = 0 if os.path.isdir(f"{PROC}/{pid}") else pid
            if done:
                self._strays.discard(pid)

    def use(self, prefix: str) -> Use:
        """What our descendants use whose mark begins so."""
        cpu, memory = 0.0, 0
        for pid in self.of(prefix):
            with suppress(OSError, ValueError, IndexError):
                with open(f"{PROC}/{pid}/stat", "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
                cpu += (int(fields[11]) + int(fields[12])) / _TICKS
                memory += int(fields[21]) * _PAGE
        return Use(cpu, memory)


def _descendants(pid: int) -> Iterator[int]:
    """The children of a process and theirs."""
    waiting = list(_children(pid))
    seen = set(waiting)
    while waiting:
        child = waiting.pop()
        yield child
        for each in _children(child):
            if each not in seen:
                seen.add(each)
                waiting.append(each)


def _children(pid: int) -> Iterator[int]:
    # Children belong to the thread that made them.
    with suppress(OSError):
        for thread in os.listdir(f"{PROC}/{pid}/task"):
            with suppress(OSError), open(f"{PROC}/{pid}/task/{thread}/children", "rb") as file:
                yield from map(int, file.read().split())


def _marked(prefix: str) -> Iterator[tuple[int, str]]:
    """Every process of the machine whose mark begins so."""
    for name in os.listdir(PROC):
        if name.isdigit() and (mark := _mark(int(name))).startswith(prefix):
            yield int(name), mark


def _mark(pid: int) -> str:
    try:
        with open(f"{PROC}/{pid}/environ", "rb") as file:
            environ = file.read()
    except OSError:
        return ""
    for variable in environ.split(b"\0"):
        if variable.startswith(_MARK):
            return variable[len(_MARK) :].decode(errors="replace")
    return ""
