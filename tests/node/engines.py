"""Container engines for tests: podman as it works on this machine, and a docker daemon of the tests' own."""

import asyncio
import ctypes
import io
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.node.nodes import NAMESPACE, Nodes, container
from tests.patience import PATIENCE, STORY
from trainplane.api.ref import Ref
from trainplane.cluster.client import Patch
from trainplane.node.container import ContainerRunner
from trainplane.node.runner import Unable

NAMES = ("podman", "docker")
IMAGE = f"localhost/trainplane-test:{os.getpid()}"
"""Of this process alone: those that test side by side share an engine."""
TOOLS = (
    *("sh", "true", "sleep", "echo", "cat", "id", "hostname", "ls", "wget", "httpd", "touch", "dd", "grep", "mkdir"),
    *("kill", "ps", "stat", "tty"),
)
PLAIN = """\
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
"""
"""For machines whose root may not raise limits, or that have both versions of control groups."""
PLUGINS = Path("/opt/containerd")
"""Folders that a daemon makes, and leaves empty."""
UNPACKED = Path(sys.prefix) / "docker"
"""Where docker lies that `make test` has unpacked and not installed."""
# The daemon's mounts are its own, and so is what it writes beside its folders: nothing is left, however it ends.
DAEMON = """
mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /etc
exec dockerd --data-root "$0/data" --exec-root "$0/exec" --pidfile "$0/pid" --host "unix://$0/socket" \
  --bridge none --iptables=false --ip6tables=false --ip-masq=false --ip-forward=false \
  --storage-driver vfs --exec-opt native.cgroupdriver=cgroupfs --cgroup-parent "$1" --shutdown-timeout 2
"""


@dataclass(frozen=True)
class Engine:
    """An engine that works here, with an image in it that has a shell and some tools."""

    name: str
    extra: Mapping[str, str]
    """What has to be in the environment for that."""

    @property
    def environment(self) -> dict[str, str]:
        """The whole environment in which it works."""
        return {**os.environ, **self.extra}

    def ask(self, *words: str, stdin: bytes = b"") -> str:
        """What it says."""
        done = subprocess.run(
            [self.name, *words], input=stdin, env=self.environment, capture_output=True, check=False, timeout=STORY
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    def containers(self, label: str) -> list[str]:
        """The ids of all containers with a label."""
        return self.ask("ps", "--all", "--quiet", "--filter", f"label={label}").split()


@contextmanager
def engine(name: str) -> Iterator[Engine]:
    """An engine by its name; skips where it does not work here."""
    busybox()
    if os.geteuid():
        pytest.skip("needs root: nobody else can have an engine's containers join the pod network")
    with podman() if name == "podman" else docker() as extra:
        made = Engine(name, extra)
        made.ask("import", "--change", 'ENTRYPOINT ["/bin/echo", "entered"]', "-", IMAGE, stdin=archive())
        try:
            yield made
        finally:
            made.ask("rmi", "--force", IMAGE)


def busybox() -> str:
    """A program that is many, and needs no other file."""
    found = shutil.which("busybox")
    if not found:
        pytest.skip("needs a static busybox: apt-get install busybox-static")
    return found


def root_folder(folder: Path) -> Path:
    """A folder with all that the image has."""
    (folder / "bin").mkdir(parents=True)
    shutil.copy(busybox(), folder / "bin" / "busybox")
    for tool in TOOLS:
        (folder / "bin" / tool).symlink_to("busybox")
    return folder


def archive() -> bytes:
    """What the image is made of."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        folder = tarfile.TarInfo("bin")
        folder.type, folder.mode = tarfile.DIRTYPE, 0o755
        tar.addfile(folder)
        tar.add(busybox(), "bin/busybox")
        for tool in TOOLS:
            link = tarfile.TarInfo(f"bin/{tool}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(link)
    return made.getvalue()


@contextmanager
def podman() -> Iterator[dict[str, str]]:
    """What podman needs to work here: nothing, or settings for machines that hold much back."""
    if not shutil.which("podman"):
        pytest.skip("needs podman: apt-get install podman")
    with tempfile.TemporaryDirectory(prefix="podman-") as place:
        (Path(place) / "containers.conf").write_text(PLAIN)
        why = ""
        for extra in ({}, {"CONTAINERS_CONF": f"{place}/containers.conf"}):
            why = works(Engine("podman", extra), Path(place) / str(len(extra)))
            if not why:
                yield extra
                return
    pytest.skip(f"podman does not work here: {why}")


@contextmanager
def docker() -> Iterator[dict[str, str]]:
    """What docker needs to find a daemon that is the tests' own."""
    folders = [*os.environ["PATH"].split(os.pathsep), "/usr/sbin", *map(str, UNPACKED.glob("usr/*bin"))]
    extra = {"PATH": os.pathsep.join(folders)}
    for tool in ("dockerd", "docker", "containerd", "runc"):
        if not shutil.which(tool, path=extra["PATH"]):
            pytest.skip(f"needs {tool}: sh tools/docker.sh .venv/docker unpacks Debian's without installing it")
    with tempfile.TemporaryDirectory(prefix="docker-") as place, daemon(Path(place), extra) as socket:
        extra["DOCKER_HOST"] = f"unix://{socket}"
        extra["DOCKER_CONFIG"] = place
        if why := works(Engine("docker", extra), Path(place) / "trial"):
            pytest.skip(f"docker does not work here: {why}")
        yield extra


@contextmanager
def daemon(place: Path, extra: Mapping[str, str]) -> Iterator[Path]:
    """A docker daemon that adds nothing to the host's network, and its socket."""
    group, was_there = f"/trainplane-test-{os.getpid()}", PLUGINS.exists()
    words = ["unshare", "--mount", "--propagation", "private", "sh", "-c", DAEMON, str(place), group]
    with (place / "log").open("wb") as log:
        made = subprocess.Popen(
            words,
            env={**os.environ, **extra},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            preexec_fn=_end_with_us,
        )
    try:
        end = time.monotonic() + PATIENCE
        while not (place / "socket").exists():
            if made.poll() is not None or time.monotonic() > end:
                said = (place / "log").read_text(errors="replace").strip().splitlines() or ["nothing"]
                pytest.skip(f"a docker daemon does not start here; it says: {said[-1]}")
            time.sleep(0.05)
        yield place / "socket"
    finally:
        made.terminate()
        made.wait(PATIENCE)
        for folder in Path("/sys/fs/cgroup").glob(f"**{group}"):
            folder.rmdir()
        for folder in () if was_there else (PLUGINS / "bin", PLUGINS / "lib", PLUGINS):
            with suppress(OSError):
                folder.rmdir()


def _end_with_us() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGTERM, 0, 0, 0)


def works(engine: Engine, folder: Path) -> str:
    """Why pods cannot be run with an engine, or nothing."""
    runner = ContainerRunner(folder, environment=engine.environment, engine=engine.name)

    async def attempt() -> None:
        await runner.sweep()
        await runner.close()

    try:
        asyncio.run(attempt())
    except Unable as error:
        return str(error)
    return ""


def box(script: str = "", **fields: Any) -> dict[str, Any]:
    """A container of the image."""
    return container(fields.pop("name", "c"), script, **{"image": IMAGE, **fields})


async def give_host_users(made: Nodes) -> None:
    """Let the users of pods be the host's: docker maps none, and some versions of runc do not join what has others."""
    await give(made, "trainplane.dev/users", "host")


async def give(made: Nodes, name: str, value: str) -> None:
    """Give the namespace of the pods a label."""
    policy = Patch.merge({"metadata": {"labels": {name: value}}})
    await made.api.patch(Ref("", "Namespace", "", NAMESPACE), policy)
