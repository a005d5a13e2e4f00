"""podman: the engine that joins namespaces which others have made, and runs root folders as they are."""

import asyncio
import contextlib
import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from trainplane.node.engine import CLUSTER, POD, Engine, Failed, Sandbox
from trainplane.node.namespaced.identity import RANGE
from trainplane.node.namespaced.runner import NamespacedRunner
from trainplane.node.runner import CREATE_ERROR, Ability, Box, NotStarted, Program, Started, Stdio

SANDBOX = "sandbox"
SHARES = "podman lets no containers with users of their own share processes"
LABEL = "label the namespace trainplane.dev/users: host"
ENTERS = (1, 2)
"""The first version of runc that joins the pod network before it becomes one of the container's users."""
REMOVALS, REMOVALS_STEP = 10, 0.2
"""How often, and how many seconds apart, what something else has hold of is removed."""


class Podman(Engine):
    """Runs podman. A box is held by a process that only sleeps."""

    name = "podman"
    read_only = ("--read-only", "--read-only-tmpfs=false")

    def __init__(self, environment: Mapping[str, str], *, folder: Path, ground: NamespacedRunner) -> None:
        super().__init__(environment, folder=folder, ground=ground)
        self._cannot_enter = ""

    @property
    def abilities(self) -> Sequence[Ability]:
        """What it does only where users are the host's."""
        return [Ability("ShareProcessNamespace", False, "Podman", f"{SHARES}; {LABEL}", with_host_users=True)]

    async def try_out(self) -> None:
        """Make a container around a program that does not exist: where only that is missing, all the rest works."""
        root = self._folder / "trial-root"
        root.mkdir(exist_ok=True)
        name = f"trainplane-{self.label}-trial"
        await self.remove([name])
        try:
            trial = ["--name", name, "--network", "none", "--rootfs", str(root), "/none"]
            await self.create(*self.marks, *trial)
            await self.ask("init", name)
        except Failed as error:
            if not error.is_missing_program:
                raise
        finally:
            with contextlib.suppress(Failed):
                await self.remove([name])
            shutil.rmtree(root, ignore_errors=True)
        runtime, version = await self._runtime()
        if runtime == "runc" and version < ENTERS:
            said = ".".join(map(str, version))
            self._cannot_enter = f"{runtime} {said} cannot enter containers with users of their own"

    async def _runtime(self) -> tuple[str, tuple[int, ...]]:
        """The name and version of the program that podman has make containers."""
        found = json.loads(await self.ask("info", "--format", "json"))["host"]["ociRuntime"]
        version = re.search(r"version (\d+)\.(\d+)", str(found.get("version")))
        return str(found.get("name")), tuple(map(int, version.groups())) if version else ()

    async def containers(self) -> list[tuple[str, str]]:
        """The ids of all containers of this cluster, and the uids of their pods."""
        words = ["--all", "--filter", f"label={CLUSTER}={self.label}", "--format", "json"]
        found = json.loads(await self.ask("ps", *words))
        return [(str(each["Id"]), str((each.get("Labels") or {}).get(POD, ""))) for each in found]

    async def remove(self, names: Sequence[str]) -> None:
        """Kill and remove containers; podman refuses, half done, while anything has a mount of one in use."""
        for left in reversed(range(REMOVALS if names else 0)):
            try:
                await self.ask("rm", "--force", "--ignore", "--time", "0", *names)
            except Failed as error:
                if not error.is_busy or not left:
                    raise
                await asyncio.sleep(REMOVALS_STEP)
                continue
            return

    async def hold(self, box: Box) -> Sandbox:
        """Make a box, and have a process sleep in it."""
        addresses = await self.ground.make(box)
        return Sandbox(addresses, (await self._sleep(box)).pid)

    async def keep(self, box: Box, sandbox: Sandbox) -> Sandbox:
        """Have another process sleep where the first went with the fork server, which makes the box anew."""
        return sandbox if sandbox.is_there else Sandbox(sandbox.addresses, (await self._sleep(box)).pid)

    async def _sleep(self, box: Box) -> Started:
        sleep = shutil.which("sleep") or "/bin/sleep"
        with open(os.devnull, "r+b") as nothing:
            stdio = Stdio(nothing.fileno(), nothing.fileno(), nothing.fileno())
            return await self.ground.start(box, Program(SANDBOX, (sleep, "infinity"), {}), stdio)

    async def words(self, box: Box, program: Program, sandbox: Sandbox) -> list[str]:
        """Join the namespaces of the process that sleeps; users are mapped to those of the namespace."""
        if not box.host_users and (box.share_processes or program.beside):
            # Who has users of its own may look only at processes that are below it.
            raise NotStarted(CREATE_ERROR, f"{SHARES}; {LABEL}")
        spaces = f"ns:/proc/{sandbox.pid}/ns/"
        words = ["--network", f"{spaces}net", "--uts", f"{spaces}uts", "--no-hosts"]
        # Users of their own may not mount the queues of a namespace that is not theirs.
        words += ["--ipc", f"{spaces}ipc"] if box.host_users else []
        if box.share_processes or program.beside:
            words += ["--pid", f"{spaces}pid" if box.share_processes else f"container:{program.beside}"]
        if not box.host_users:
            first = self.ground.owner(box, uid=0, gid=0)
            for kind, number in zip(("--uidmap", "--gidmap"), first, strict=True):
                words += [kind, f"0:{number}:{RANGE}"]
        if program.uid is not None or program.gid is not None:
            uid = program.uid or 0
            words += ["--user", f"{uid}:{uid if program.gid is None else program.gid}"]
        return words + [word for group in program.groups for word in ("--group-add", str(group))]

    async def base(self, root: Path) -> list[str]:
        """The folder itself, below a layer that is discarded."""
        return ["--rootfs", f"{root}:O"]

    async def start(self, name: str, stdio: Stdio) -> tuple[asyncio.subprocess.Process, int]:
        """Initialise a container, so that what cannot run is told apart from what ran and failed; then start it."""
        await self.ask("init", name)
        pid = int((await self.state(name))["Pid"])
        command = await self.begin("start", "--attach", "--interactive", "--sig-proxy=false", name, stdio=stdio)
        return command, pid

    def why_not_joined(self, box: Box) -> str:
        """Older versions of runc enter no container that has users of its own."""
        if box.host_users or not self._cannot_enter:
            return ""
        return f"{self._cannot_enter}; install crun or a newer runc, or {LABEL}"
