"""Engine: a container engine by its command line: lists of words in, JSON out, its refusals as they were said."""

import asyncio
import fcntl
import json
import os
import shutil
import termios
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from trainplane.node.namespaced.leftovers import label
from trainplane.node.namespaced.runner import NamespacedRunner
from trainplane.node.runner import Ability, Box, Program, Stdio

CLUSTER, POD = "dev.trainplane.cluster", "dev.trainplane.pod"
"""The labels by which the engine's containers are known to be ours, and whose they are."""
PATIENCE = 120.0
"""Seconds in which an engine has to answer, pulls apart."""
_MISSING = ("executable file not found", "no such file or directory", "command that was not found", "permission denied")
_HELP = ("See '", "Run '")
_PREFIXES = ("docker: ", "Error: ", "Error response from daemon: ")


class Failed(Exception):
    """An engine refused; says what it said."""

    @property
    def is_missing_program(self) -> bool:
        """Whether all that was missing is the program that the container should run."""
        said = str(self)
        return "exec" in said and any(word in said for word in _MISSING)

    @property
    def is_busy(self) -> bool:
        """Whether something else had hold of what was to go, as it may for a moment."""
        return "device or resource busy" in str(self)


class Sandbox(msgspec.Struct, frozen=True):
    """What holds the namespaces that the containers of a pod join."""

    addresses: tuple[str, ...]
    pid: int
    """Of a process in them."""
    name: str = ""
    """Of the engine's container that this process is, where it is one."""

    @property
    def is_there(self) -> bool:
        """Whether it still holds them."""
        return os.path.exists(f"/proc/{self.pid}/ns/net")


class Engine(ABC):
    """Makes containers for one cluster, which join the boxes that the Runner `namespaced` makes."""

    name: ClassVar[str]
    read_only: ClassVar[tuple[str, ...]]
    """The words that keep a container from writing to its root."""

    def __init__(self, environment: Mapping[str, str], *, folder: Path, ground: NamespacedRunner) -> None:
        """`folder` is the Runner's; what minds a container leaves a file there when memory runs out."""
        self._environment = dict(environment)
        self._folder = folder
        self.ground = ground
        self.label = label(folder)
        self.path = shutil.which(self.name, path=environment.get("PATH"))
        """None where there is none."""

    @property
    def marks(self) -> list[str]:
        """The words that make a container ours."""
        return ["--label", f"{CLUSTER}={self.label}"]

    @property
    def abilities(self) -> Sequence[Ability]:
        """What pods get otherwise than from the Runner that makes the boxes."""
        return ()

    async def ask(
        self,
        *words: str,
        environment: Mapping[str, str] | None = None,
        patience: float | None = PATIENCE,
        stdin: int = asyncio.subprocess.DEVNULL,
    ) -> str:
        """What the engine writes; raises Failed with the last line of what it says is wrong.

        `patience` is how many seconds it has; None is as long as it takes.
        """
        command = await asyncio.create_subprocess_exec(
            self._found(),
            *words,
            env={**self._environment, **(environment or {})},
            cwd=self._folder,
            stdin=stdin,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(patience):
                said, wrong = await command.communicate()
        except TimeoutError:
            raise Failed(f"`{self.name} {words[0]}` did not answer within {patience:g} s") from None
        finally:
            await end(command)
        if command.returncode:
            raise Failed(_last_line(wrong.decode(errors="replace")) or f"exit code {command.returncode}")
        return said.decode(errors="replace")

    async def create(self, *words: str, environment: Mapping[str, str] | None = None) -> str:
        """Make a container; the id of it. Raises Failed.

        Not even who is told to stop leaves before it is there: docker's daemon makes it though nobody asks any more.
        """
        making = asyncio.ensure_future(self.ask("create", *words, environment=environment))
        try:
            return (await asyncio.shield(making)).strip()
        except asyncio.CancelledError:
            await asyncio.gather(making, return_exceptions=True)
            raise

    async def begin(self, *words: str, stdio: Stdio) -> asyncio.subprocess.Process:
        """Run the engine with a container's files as its own, until that ends."""
        return await asyncio.create_subprocess_exec(
            self._found(),
            # Its warnings would stand among what the container says.
            *("--log-level", "error"),
            *words,
            env=self._environment,
            cwd=self._folder,
            stdin=stdio.stdin,
            stdout=stdio.stdout,
            stderr=stdio.stderr,
            start_new_session=True,
            preexec_fn=take_terminal if stdio.terminal else None,
        )

    def _found(self) -> str:
        if not self.path:
            raise Failed("it is not on the PATH")
        return self.path

    async def state(self, name: str) -> dict[str, Any]:
        """How a container is; raises Failed."""
        (found,) = json.loads(await self.ask("container", "inspect", name))
        state: dict[str, Any] = found["State"]
        return state

    async def has_image(self, name: str) -> bool:
        """Whether an image is here."""
        try:
            await self.ask("image", "inspect", "--format", "{{.Id}}", name)
        except Failed:
            return False
        return True

    async def sweep(self) -> list[str]:
        """Remove what a former life has left; returns the uids of its pods. Raises Failed."""
        left = await self.containers()
        await self.remove([name for name, _ in left])
        return [uid for _, uid in left if uid]

    @abstractmethod
    async def try_out(self) -> None:
        """Make a container and remove it; raises Failed where that cannot be done here."""

    @abstractmethod
    async def containers(self) -> list[tuple[str, str]]:
        """The ids of all containers of this cluster, and the uids of their pods."""

    @abstractmethod
    async def remove(self, names: Sequence[str]) -> None:
        """Kill and remove containers; those that are gone are no error."""

    @abstractmethod
    async def hold(self, box: Box) -> Sandbox:
        """Make a box, and have something hold it; raises NotStarted or Failed."""

    @abstractmethod
    async def keep(self, box: Box, sandbox: Sandbox) -> Sandbox:
        """What holds a box now: the same, or another one where that is gone; raises NotStarted or Failed."""

    @abstractmethod
    async def words(self, box: Box, program: Program, sandbox: Sandbox) -> list[str]:
        """What a container is told of whom it joins and as whom it runs; raises NotStarted or Failed."""

    def variables(self, box: Box) -> dict[str, str]:  # noqa: ARG002 - others look at it
        """What a container has in its environment, unless it says otherwise, because of how it runs."""
        return {}

    @abstractmethod
    async def base(self, root: Path) -> list[str]:
        """The words for a root folder that a container writes to without changing it; raises Failed."""

    @abstractmethod
    async def start(self, name: str, stdio: Stdio) -> tuple[asyncio.subprocess.Process, int]:
        """Start a container that was created; the command that stands for it, and its process. Raises Failed."""

    def why_not_joined(self, box: Box) -> str:  # noqa: ARG002 - others look at it
        """Why no other process can join the containers of a box, where that is so, and what to do."""
        return ""


async def end(command: asyncio.subprocess.Process) -> None:
    """End a command that nobody waits for any more; not even who is told to stop leaves it half ended."""
    if command.returncode is not None:
        return
    command.kill()
    gone = asyncio.ensure_future(command.wait())
    try:
        await asyncio.shield(gone)
    except asyncio.CancelledError:
        await gone
        raise


def _last_line(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line.strip() and not line.startswith(_HELP)]
    last = lines[-1] if lines else ""
    for prefix in _PREFIXES:
        last = last.removeprefix(prefix)
    return last


def take_terminal() -> None:
    """Make the standard input the terminal of this session."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
