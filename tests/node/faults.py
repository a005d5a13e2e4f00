"""What tests of faults look at: the processes below a cluster, and what is on the machine besides."""

import json
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path

from tests.patience import PATIENCE

ENGINES = ("br-", "cni", "docker", "podman", "veth")
"""How links are called that container engines make, which may come and go meanwhile."""


def mounts_of(cluster: Path) -> list[str]:
    """What is mounted from or into a cluster's folder."""
    mounts = Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()
    return [line for line in mounts if str(cluster) in line]


def links() -> set[str]:
    """The links of the machine's network."""
    return {name for _, name in socket.if_nameindex() if not name.startswith(ENGINES)}


def groups_of(cluster: Path) -> list[Path]:
    """The control groups that a cluster has noted as its own."""
    notes = [json.loads(file.read_text(encoding="utf-8")) for file in cluster.rglob("server.json")]
    return [Path(group) for note in notes for group in note["groups"]]


def below(pid: int) -> dict[int, str]:
    """Every process that a process has started, itself or through others, with what it is called."""
    parents: dict[int, int] = {}
    names: dict[int, str] = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        try:
            name, _, rest = (folder / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")
        except OSError:
            continue
        parents[int(folder.name)] = int(rest.split()[1])
        names[int(folder.name)] = name.partition("(")[2]
    found: dict[int, str] = {}
    fresh = [pid]
    while fresh:
        fresh = [child for child, parent in parents.items() if parent in fresh]
        found |= {child: names[child] for child in fresh}
    return found


def marked(mark: str) -> list[int]:
    """The processes whose surroundings have this mark in them."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdecimal() and mark.encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return [pid for pid in found if pid != os.getpid()]


def until(holds: Callable[[], object], what: str, *, within: float = PATIENCE) -> None:
    """Wait until something holds; fail after a while."""
    end = time.monotonic() + within
    while not holds():
        assert time.monotonic() < end, f"{what} did not happen within {within:.0f} s"
        time.sleep(0.05)
