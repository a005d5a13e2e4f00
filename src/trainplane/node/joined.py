"""Joined: the processes that joined a container of an engine, which ends them with the container and not before."""

import os
from contextlib import suppress

MARK = "TRAINPLANE_JOINED"
"""The variable by which such a process is known, and so are all that it starts."""


def kill_joined(name: str, signal: int) -> None:
    """Send a signal to every process with this name for a mark; they are seen as root."""
    mark = f"{MARK}={name}".encode()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            with open(f"/proc/{pid}/environ", "rb") as file:
                is_marked = mark in file.read().split(b"\0")
            if is_marked:
                os.kill(int(pid), signal)
