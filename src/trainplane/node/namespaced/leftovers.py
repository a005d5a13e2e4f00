"""What a former life may have left behind: a note of what was made, and how to end it."""

import contextlib
import hashlib
import json
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trainplane.node.namespaced import cgroups

_WAIT_SECONDS = 30.0


def label(folder: Path) -> str:
    """A short name for what belongs to a folder, told apart from that of every other one."""
    return hashlib.sha256(os.fsencode(folder.absolute())).hexdigest()[:12]


def _since(pid: int) -> str:
    """When a process began, as the kernel counts, with the boot it counts from; "" where there is none."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else f"{boot} {fields[19]}"


class Notes:
    """The notes of a Runner: which processes and control groups are its own, and which pods it runs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._boxes = folder / "boxes"
        self._server = folder / "server.json"
        self._boxes.mkdir(parents=True, exist_ok=True)

    def server(self, pids: Sequence[int], groups: Sequence[str]) -> None:
        """Note the processes of the fork server, and the folders of control groups."""
        known = {"pids": {str(pid): _since(pid) for pid in pids}, "groups": list(groups)}
        partial = self._server.with_suffix(".new")
        partial.write_text(json.dumps(known), encoding="utf-8")
        partial.replace(self._server)

    def made(self, uid: str) -> None:
        """Note that a pod has a box."""
        (self._boxes / uid).touch()

    def removed(self, uid: str) -> None:
        """Note that a pod's box is gone."""
        (self._boxes / uid).unlink(missing_ok=True)

    def sweep(self) -> list[str]:
        """End what is noted; returns the pods that had boxes."""
        known: dict[str, Any] = {"pids": {}, "groups": []}
        with contextlib.suppress(FileNotFoundError, ValueError):
            known = json.loads(self._server.read_text(encoding="utf-8"))
        for pid, since in known["pids"].items():
            if since and _since(int(pid)) == since:
                _end(int(pid), since)
        for group in known["groups"]:
            cgroups.remove(group)
        cgroups.step_back(known["groups"])
        uids = sorted(each.name for each in self._boxes.iterdir())
        for uid in uids:
            self.removed(uid)
        self._server.unlink(missing_ok=True)
        return uids


def _end(pid: int, since: str) -> None:
    """Kill a process and wait until it is gone; with it goes what is in its namespaces."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + _WAIT_SECONDS
    while _since(pid) == since and time.monotonic() < deadline:
        time.sleep(0.01)
