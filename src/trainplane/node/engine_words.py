"""What an engine is told of a container that it is to make: the words of `create` that podman and docker share."""

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from trainplane.node.engine import POD, Engine, Sandbox
from trainplane.node.namespaced import egress, files
from trainplane.node.namespaced.addresses import GATEWAY, NETWORK
from trainplane.node.namespaced.cgroups import PERIOD
from trainplane.node.runner import CREATE_ERROR, Box, Mount, NotStarted, Program

MEMORY = Path("/dev/shm")  # noqa: S108 - where memory passes for a folder
LONGEST = 4096
"""Of a variable in a file; longer ones are handed over."""


class Wording:
    """Puts containers into an engine's words."""

    def __init__(self, engine: Engine, *, egress: bool) -> None:
        self._engine = engine
        self._egress = egress

    async def words(
        self, box: Box, program: Program, *, name: str, sandbox: Sandbox, terminal: bool
    ) -> tuple[list[str], dict[str, str]]:
        """What an engine is told of a container, and the variables that it finds in its own environment.

        Raises NotStarted, OSError or Failed.
        """
        words = ["--name", name, *self._engine.marks, "--label", f"{POD}={box.uid}"]
        words += ["--log-driver", "none", "--interactive", "--pull", "never"] + ["--tty"] * terminal
        words += await self._engine.words(box, program, sandbox)
        words += list(self._engine.read_only) * program.read_only_root
        words += _rights(program)
        for mount in (*self._own_files(box, program, sandbox.addresses), *program.mounts):
            words += ["--volume", f"{self._source(box, mount)}:{mount.target}:{'ro' if mount.read_only else 'rw'}"]
        env = self._environment(box, program)
        file = box.folder / f"{program.container}.env"
        simple = {key: value for key, value in env.items() if "\n" not in value and len(value) < LONGEST}
        file.touch(mode=0o600)
        file.write_text("".join(f"{key}={value}\n" for key, value in simple.items()), encoding="utf-8")
        words += ["--env-file", str(file)]
        # A line of a file holds no line breaks; what has some is handed over, where no other user sees it.
        extra = {key: value for key, value in env.items() if key not in simple}
        for key in extra:
            words += ["--env", key]
        if program.cwd:
            words += ["--workdir", program.cwd]
        if program.image is None:
            root = await self._engine.base(program.root) if program.root else []
            return [*words, *root, *program.argv], extra
        if program.image.knows_command:
            return [*words, program.image.name, *program.argv], extra
        entrypoint, *arguments = program.argv
        return [*words, "--entrypoint", entrypoint, program.image.name, *arguments], extra

    def _environment(self, box: Box, program: Program) -> dict[str, str]:
        added = self._engine.variables(box)
        if not box.host_network:
            added["GLOO_SOCKET_IFNAME"] = "eth0"
        if self._egress and box.egress and not box.host_network:
            namespace, domain = box.pod.namespace, box.domain
            added |= egress.variables(gateway=GATEWAY, network=str(NETWORK), namespace=namespace, domain=domain)
        return {**added, **program.env}

    def _own_files(self, box: Box, program: Program, addresses: Sequence[str]) -> list[Mount]:
        """The files by which a pod knows itself and its peers; all else below /etc is the image's."""
        folder = box.folder / "etc" / program.container
        folder.mkdir(parents=True, exist_ok=True)
        made = files.all_files(box, addresses, gateway=GATEWAY, uid=0, gid=0, groups=())
        for name in ("hosts", "resolv.conf"):
            (folder / name).write_text(made[name], encoding="utf-8")
        return [Mount(f"/etc/{name}", folder / name) for name in ("hosts", "resolv.conf")]

    def _source(self, box: Box, mount: Mount) -> Path:
        if mount.source is None:
            return self._memory_folder(box, mount.name)
        whole = mount.source.resolve()
        part = (whole / mount.sub_path).resolve() if mount.sub_path else whole
        if not part.is_relative_to(whole):
            raise NotStarted(CREATE_ERROR, f"the subPath {mount.sub_path} leads out of its volume; name a part of it")
        return part

    @property
    def memory(self) -> Path:
        """Where volumes that are memory lie."""
        return MEMORY / f"trainplane-{self._engine.label}"

    def _memory_folder(self, box: Box, name: str) -> Path:
        self.memory.mkdir(mode=0o700, exist_ok=True)
        found = self.memory.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            # Everybody can make things beside it, and could have made this.
            raise NotStarted(CREATE_ERROR, f"{self.memory} is somebody else's; remove it")
        self.memory.chmod(0o700)
        folder = self.memory / box.uid / name
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o777)
        return folder


def _rights(program: Program) -> list[str]:
    """What a container may do and use."""
    words = ["--privileged"] * program.privileged
    words += [word for name in sorted(program.drop_capabilities) for word in ("--cap-drop", name)]
    words += [word for name in sorted(program.add_capabilities) for word in ("--cap-add", name)]
    words += ["--security-opt", "no-new-privileges"] * program.no_new_privileges
    words += ["--security-opt", "seccomp=unconfined"] * program.unconfined
    words += [word for device in program.devices for word in ("--device", device)]
    if program.memory is not None:
        words += ["--memory", str(program.memory), "--memory-swap", str(program.memory)]
    if program.cpus is not None:
        # Said so, one that is above what the machine has is no error.
        words += ["--cpu-period", str(PERIOD), "--cpu-quota", str(max(1000, int(program.cpus * PERIOD)))]
    if program.cpu_request:
        words += ["--cpu-shares", str(max(2, int(program.cpu_request * 1024)))]
    return words
