"""A whole cluster in a process of its own, which can be measured, starved and killed."""

import subprocess
import sys
import time
from pathlib import Path

from tests.patience import PATIENCE


class Process:
    """`trainplane up` in the foreground, in a folder of its own; each start goes on with what is there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "cluster"
        self.kubeconfig = self.folder / "kubeconfig"
        self.log = folder / "log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The number of the process that runs now."""
        assert self._process
        return self._process.pid

    @property
    def is_up(self) -> bool:
        """Whether it runs."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it, and return when it serves."""
        with self.log.open("wb") as log:
            command = [sys.executable, "-m", "trainplane", "up", "--data", str(self.folder)]
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        end = time.monotonic() + PATIENCE
        while "is ready" not in self.log.read_text():
            assert self.is_up, self.log.read_text()
            assert time.monotonic() < end, "it does not come up"
            time.sleep(0.02)

    def kill(self) -> None:
        """End it as a lost power line does."""
        assert self._process
        self._process.kill()
        self._process.wait(PATIENCE)

    def stop(self) -> None:
        """End it as Ctrl-C does."""
        if self._process and self.is_up:
            self._process.terminate()
            self._process.wait(PATIENCE)
