"""Boxes for tests: a Runner in a folder of its own, and pods that run small programs in it."""

import asyncio
import contextlib
import itertools
import os
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.patience import PATIENCE
from trainplane.api.ref import Ref
from trainplane.node.namespaced.client import Unable
from trainplane.node.namespaced.runner import NamespacedRunner
from trainplane.node.runner import Box, Exit, Mount, Program, Started, Stdio

PATH = "/usr/local/bin:/usr/bin:/bin"
ENVIRONMENT = tuple(
    Mount(folder, Path(folder), name="environment", read_only=True)
    for folder in dict.fromkeys((sys.prefix, sys.base_prefix))
    if not folder.startswith("/usr")
)
"""The interpreter that runs the tests, where it is not one of the system's."""
_marks = itertools.count(1)


@dataclass
class Pod:
    """A pod with one container that was started."""

    runner: NamespacedRunner
    box: Box
    addresses: tuple[str, ...]
    started: Started
    output: Path

    @property
    def text(self) -> str:
        """What it has written so far."""
        return self.output.read_text(encoding="utf-8", errors="replace")

    async def end(self) -> Exit:
        """Wait for its end."""
        return await asyncio.wait_for(self.runner.wait(self.started), PATIENCE)

    async def says(self, word: str) -> None:
        """Wait until it has written something."""
        await until(lambda: word in self.text, f"the pod to say {word!r}: {self.text!r}")

    async def run(self, *argv: str, env: Mapping[str, str] | None = None) -> tuple[Exit, str]:
        """Run another program in its container, to the end."""
        output = self.output.with_suffix(f".{time.monotonic_ns()}")
        with output.open("wb") as file, open(os.devnull, "rb") as nothing:
            started = await self.runner.exec(
                self.started, argv, Stdio(nothing.fileno(), file.fileno(), file.fileno()), env=env
            )
        ended = await asyncio.wait_for(self.runner.wait(started), PATIENCE)
        return ended, output.read_text(encoding="utf-8", errors="replace")


def mark() -> str:
    """How long to sleep in order to be found: nobody else on this machine sleeps for so many seconds.

    These tests run as root and as an ordinary user, maybe at the same time.
    """
    return f"9{os.getpid():07}{next(_marks):02}"


async def until(condition: Callable[[], bool], what: str, *, seconds: float = PATIENCE) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s for {what}"
        await asyncio.sleep(0.02)


@dataclass
class Town:
    """A Runner, and where its pods' folders lie."""

    runner: NamespacedRunner
    folder: Path
    names: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def box(self, name: str, *, namespace: str = "ml", service: str = "job", **fields: Any) -> Box:
        """A Box with a folder."""
        folder = self.folder / f"{namespace}-{name}"
        folder.mkdir(exist_ok=True)
        domain = f"{service}.{namespace}.svc.cluster.local"
        box = Box(Ref("", "Pod", namespace, name), f"uid-{namespace}-{name}", name, folder, domain=domain)
        return replace(box, **fields)

    async def make(self, box: Box) -> tuple[str, ...]:
        """Make a box and let the others know its name."""
        addresses = await self.runner.make(box)
        self.names[f"{box.hostname}.{box.domain}"] = addresses
        service = self.names.get(box.domain, ())
        self.names[box.domain] = (*service, *addresses)
        await self.runner.resolve(self.names)
        return addresses

    async def start(self, box: Box, argv: Sequence[str], **fields: Any) -> tuple[Started, Path]:
        """Start a container; what it writes goes to a file."""
        program = Program("main", tuple(argv), {"PATH": PATH, **fields.pop("env", {})})
        program = replace(program, **fields)
        output = self.folder / f"{box.uid}-{program.container}.log"
        with output.open("wb") as file, open(os.devnull, "rb") as nothing:
            stdio = Stdio(nothing.fileno(), file.fileno(), file.fileno())
            return await self.runner.start(box, program, stdio), output

    async def pod(self, name: str, *argv: str, box: Mapping[str, Any] | None = None, **fields: Any) -> Pod:
        """A pod that runs a program."""
        made = self.box(name, **(box or {}))
        addresses = await self.make(made)
        started, output = await self.start(made, argv, **fields)
        return Pod(self.runner, made, addresses, started, output)

    async def python(self, name: str, code: str, **fields: Any) -> Pod:
        """A pod that runs some Python."""
        mounts = (*ENVIRONMENT, *fields.pop("mounts", ()))
        return await self.pod(name, sys.executable, "-u", "-c", code, mounts=mounts, **fields)


@contextlib.asynccontextmanager
async def town(folder: Path, **settings: Any) -> AsyncIterator[Town]:
    """A Runner and its folder; everything ends with it. Skips where the machine refuses namespaces."""
    runner = NamespacedRunner(folder / "runner", **settings)
    try:
        await runner.sweep()
    except Unable as error:
        pytest.skip(str(error))
    try:
        yield Town(runner, folder)
    finally:
        await runner.close()


async def once(folder: Path, *argv: str, box: Mapping[str, Any] | None = None, **fields: Any) -> tuple[Exit, str]:
    """Run one program in one pod to its end: how it ended, and what it wrote."""
    async with town(folder) as here:
        pod = await here.pod("one", *argv, box=box, **fields)
        return await pod.end(), pod.text


def links_of_pods() -> set[str]:
    """The links of the host's network that could be the pods'; others come and go with other programs."""
    return {name for _, name in socket.if_nameindex() if name.startswith("pod")}


def honoured(runner: NamespacedRunner, name: str) -> bool:
    """Whether an ability is there."""
    return next(ability.honoured for ability in runner.abilities if ability.name == name)
