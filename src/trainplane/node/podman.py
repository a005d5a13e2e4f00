"""podman by its command line: lists of words in, JSON out, its refusals as they were said."""

import asyncio
import fcntl
import json
import re
import shutil
import termios
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trainplane.node.runner import Stdio, Use

PATIENCE = 120.0
"""Seconds in which podman has to answer, pulls apart."""
_MISSING = ("executable file not found", "no such file or directory", "command that was not found", "permission denied")


class Failed(Exception):
    """podman refused; says what it said."""

    @property
    def is_missing_program(self) -> bool:
        """Whether all that was missing is the program that the container should run."""
        said = str(self)
        return "exec" in said and any(word in said for word in _MISSING)


class Podman:
    """Runs podman."""

    def __init__(self, environment: Mapping[str, str], *, folder: Path) -> None:
        """What minds a container leaves a file in the folder that podman was run in when memory runs out."""
        self._environment = dict(environment)
        self._folder = folder
        self.path = shutil.which("podman", path=environment.get("PATH"))
        """None where there is none."""

    async def ask(self, *words: str, environment: Mapping[str, str] | None = None, patience: float = PATIENCE) -> str:
        """What podman writes; raises Failed with the last line of what it says is wrong."""
        command = await asyncio.create_subprocess_exec(
            self._found(),
            *words,
            env={**self._environment, **(environment or {})},
            cwd=self._folder,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(patience):
                said, wrong = await command.communicate()
        except TimeoutError:
            raise Failed(f"`podman {words[0]}` did not answer within {patience:g} s") from None
        finally:
            if command.returncode is None:
                command.kill()
                await command.wait()
        if command.returncode:
            lines = wrong.decode(errors="replace").strip().splitlines() or [f"exit code {command.returncode}"]
            raise Failed(lines[-1].removeprefix("Error: "))
        return said.decode(errors="replace")

    async def begin(self, *words: str, stdio: Stdio) -> asyncio.subprocess.Process:
        """Run podman with a container's files as its own, until that ends."""
        return await asyncio.create_subprocess_exec(
            self._found(),
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
            raise Failed("podman is not on the PATH")
        return self.path

    async def runtime(self) -> tuple[str, tuple[int, ...]]:
        """The name and version of the program that podman has make containers."""
        found = json.loads(await self.ask("info", "--format", "json"))["host"]["ociRuntime"]
        version = re.search(r"version (\d+)\.(\d+)", str(found.get("version")))
        return str(found.get("name")), tuple(map(int, version.groups())) if version else ()

    async def state(self, name: str) -> dict[str, Any]:
        """How a container is; raises Failed."""
        (found,) = json.loads(await self.ask("container", "inspect", name))
        state: dict[str, Any] = found["State"]
        return state

    async def containers(self, label: str) -> list[tuple[str, dict[str, str]]]:
        """The ids and labels of all containers with a label."""
        found = json.loads(await self.ask("ps", "--all", "--filter", f"label={label}", "--format", "json"))
        return [(str(each["Id"]), dict(each.get("Labels") or {})) for each in found]

    async def remove(self, names: Sequence[str]) -> None:
        """Kill and remove containers; those that are gone are no error."""
        if names:
            await self.ask("rm", "--force", "--ignore", "--time", "0", *names)

    async def use(self, names: Sequence[str]) -> Use:
        """What containers use together."""
        if not names:
            return Use(0.0, 0)
        try:
            found = json.loads(await self.ask("stats", "--no-stream", "--format", _STATS, *names))
        except (Failed, ValueError):
            # One of them has ended meanwhile; the next look finds the others.
            return Use(0.0, 0)
        return Use(sum(each["cpu"] for each in found) / 1e9, sum(each["memory"] for each in found))


_STATS = '[{{range $i, $c := .}}{{if $i}},{{end}}{"cpu": {{.CPUNano}}, "memory": {{.MemUsage}}}{{end}}]'


def take_terminal() -> None:
    """Make the standard input the terminal of this session."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
