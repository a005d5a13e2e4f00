"""docker: the engine whose containers join only what it has made itself, so that a pod's network is brought to it."""

import asyncio
import contextlib
import json
import platform
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from trainplane.node import pause
from trainplane.node.docker_roots import Roots
from trainplane.node.engine import CLUSTER, PATIENCE, POD, Engine, Failed, Sandbox, end
from trainplane.node.home import HOME
from trainplane.node.namespaced.runner import NamespacedRunner
from trainplane.node.runner import CREATE_ERROR, Ability, Box, NotStarted, Program, Stdio

NEVER = "0001-01-01"
"""The day on which a container was started that was not."""
STEP = 0.01
USERS = "in a namespace without the label trainplane.dev/users: host"


class Docker(Engine):
    """Runs docker. A box is the network of a container that only waits, as Kubernetes has one for each pod."""

    name = "docker"
    read_only = ("--read-only",)

    def __init__(self, environment: Mapping[str, str], *, folder: Path, ground: NamespacedRunner) -> None:
        super().__init__(environment, folder=folder, ground=ground)
        self._roots = Roots(self)
        self._pauses = 0
        self._image = f"trainplane-pause:{pause.digest()}" if pause.is_known(platform.machine()) else ""

    @property
    def abilities(self) -> Sequence[Ability]:
        """What docker cannot do for single containers is to map their users."""
        users = f"{USERS} containers run as unprivileged users, and see other numbers than they ask for"
        rights = f"{USERS} containers have no capabilities"
        return [
            Ability("RunAsUser", False, "Docker", f"{users}; set that label, or use podman", with_host_users=True),
            Ability("Capabilities", False, "Docker", f"{rights}; set that label, or use podman", with_host_users=True),
        ]

    async def try_out(self) -> None:
        """Have a container wait, and remove it."""
        about = json.loads(await self.ask("info", "--format", "{{json .}}"))
        if wrong := about.get("ServerErrors"):
            raise Failed(str(wrong[0]))
        if any("rootless" in each for each in about.get("SecurityOptions") or ()):
            raise Failed("its daemon is an ordinary user's, which may not join the pod network")
        if not self._image:
            raise Failed(f"nothing is known to hold a pod on {platform.machine()}")
        name = f"trainplane-{self.label}-trial"
        await self.remove([name])
        try:
            await self._wait(name, ["--network", "none"])
        finally:
            with contextlib.suppress(Failed):
                await self.remove([name])

    async def containers(self) -> list[tuple[str, str]]:
        """The ids of all containers of this cluster, and the uids of their pods."""
        row = f'{{{{.ID}}}} {{{{.Label "{POD}"}}}}'
        words = ["--all", "--no-trunc", "--filter", f"label={CLUSTER}={self.label}", "--format", row]
        rows = [line.partition(" ") for line in (await self.ask("ps", *words)).splitlines()]
        return [(name, uid.strip()) for name, _, uid in rows]

    async def remove(self, names: Sequence[str]) -> None:
        """Kill and remove containers, with what only they have written to."""
        for _ in range(2):
            # Whoever is removed by another request at this moment is refused, and gone at the next look.
            if not names:
                return
            try:
                await self.ask("rm", "--force", "--volumes", *names)
            except Failed as error:
                if "No such container" not in str(error) and "already in progress" not in str(error):
                    raise
            names = [name for name in names if await self._is_there(name)]
        if names:
            raise Failed(f"{', '.join(names)} cannot be removed")

    async def _is_there(self, name: str) -> bool:
        try:
            await self.state(name)
        except Failed:
            return False
        return True

    async def hold(self, box: Box) -> Sandbox:
        """Have a container wait, and give its network what a box has."""
        name = f"trainplane-{self.label}-{box.uid[:8]}-pause-{self._pauses}"
        self._pauses += 1
        words = ["--network", "host" if box.host_network else "none", "--hostname", box.nodename]
        words += ["--label", f"{POD}={box.uid}", "--ipc", "shareable"]
        words += [word for key, value in box.sysctls.items() for word in ("--sysctl", f"{key}={value}")]
        try:
            pid = await self._wait(name, words)
            return Sandbox(await self._give_network(box, pid), pid, name)
        except (Failed, NotStarted):
            with contextlib.suppress(Failed):
                await self.remove([name])
            raise

    async def _give_network(self, box: Box, pid: int) -> tuple[str, ...]:
        # docker has set them where its containers see them.
        return await self.ground.make(replace(box, sysctls={}), network=Path(f"/proc/{pid}/ns/net"))

    async def _wait(self, name: str, words: Sequence[str]) -> int:
        """Start a container that only waits; its process."""
        if not await self.has_image(self._image):
            with tempfile.TemporaryFile() as archive:
                archive.write(pause.archive())
                archive.seek(0)
                await self.ask("import", "-", self._image, stdin=archive.fileno())
        usual = ["--userns", "host", "--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"]
        usual += ["--log-driver", "none", "--pull", "never"]
        made = await self.create("--name", name, *self.marks, *usual, *words, self._image, f"/{pause.NAME}")
        await self.ask("start", name)
        pid = int((await self.state(name))["Pid"])
        try:
            groups = Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8")
        except OSError:
            groups = ""
        # A daemon elsewhere counts other processes; a container's control groups have its id for a name.
        if made not in groups:
            raise Failed("its daemon is not on this machine")
        return pid

    async def keep(self, box: Box, sandbox: Sandbox) -> Sandbox:
        """Have another container wait where the first is gone; the network goes with the fork server too."""
        if not sandbox.is_there:
            await self.remove([sandbox.name])
            return await self.hold(box)
        if not self.ground.has(box):
            await self._give_network(box, sandbox.pid)
        return sandbox

    async def words(self, box: Box, program: Program, sandbox: Sandbox) -> list[str]:
        """Join what waits; where users are not the host's, run as an unprivileged one."""
        words = ["--userns", "host", "--network", f"container:{sandbox.name}", "--ipc", f"container:{sandbox.name}"]
        if box.share_processes or program.beside:
            words += ["--pid", f"container:{sandbox.name if box.share_processes else program.beside}"]
        if box.host_users:
            if program.uid is not None or program.gid is not None:
                uid = program.uid or 0
                words += ["--user", f"{uid}:{uid if program.gid is None else program.gid}"]
            return words + [word for group in program.groups for word in ("--group-add", str(group))]
        if program.privileged:
            message = f"docker cannot make a privileged container {USERS}"
            raise NotStarted(CREATE_ERROR, f"{message}; set that label, or use podman or --runner namespaced")
        uid, gid = await self._who(program)
        own, group = self.ground.owner(box, uid=uid, gid=gid)
        words += ["--user", f"{own}:{group}", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"]
        groups = [self.ground.owner(box, uid=0, gid=group)[1] for group in program.groups]
        return words + [word for group in groups for word in ("--group-add", str(group))]

    async def _who(self, program: Program) -> tuple[int, int]:
        """As whom a container would run if its users were mapped."""
        uid, gid = program.uid, program.gid
        if uid is None and program.image is not None:
            found = (await self.ask("image", "inspect", "--format", "{{.Config.User}}", program.image.name)).strip()
            name, _, group = found.partition(":")
            if not (name or "0").isdigit() or not (group or "0").isdigit():
                message = f'what number the user "{found}" of the image has cannot be seen from outside'
                raise NotStarted(CREATE_ERROR, f"{message}; set runAsUser and runAsGroup")
            uid = int(name or 0)
            gid = int(group) if gid is None and group else gid
        return uid or 0, (uid or 0) if gid is None else gid

    def variables(self, box: Box) -> dict[str, str]:
        """A home and a name for users that no image knows."""
        return {} if box.host_users else {"HOME": HOME, "USER": "trainplane", "LOGNAME": "trainplane"}

    async def base(self, root: Path) -> list[str]:
        """An image that is a copy of the folder."""
        return [await self._roots.image(root)]

    async def start(self, name: str, stdio: Stdio) -> tuple[asyncio.subprocess.Process, int]:
        """Start a container, and wait until it runs or is known not to."""
        command = await self.begin("start", "--attach", "--interactive", name, stdio=stdio)
        try:
            async with asyncio.timeout(PATIENCE):
                while True:
                    # Looked at first: what has ended by now says all there is to say.
                    has_ended = command.returncode is not None
                    state = await self.state(name)
                    if not str(state.get("StartedAt") or NEVER).startswith(NEVER):
                        return command, int(state.get("Pid") or 0)
                    if has_ended:
                        raise Failed(str(state.get("Error") or f"docker has not started {name}"))
                    await asyncio.sleep(STEP)
        except TimeoutError:
            await end(command)
            raise Failed(f"docker has not started {name} within {PATIENCE:g} s") from None
        except (asyncio.CancelledError, Failed):
            await end(command)
            raise
