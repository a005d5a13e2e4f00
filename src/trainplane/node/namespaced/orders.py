"""From a Box and a Program to the order that the fork server carries out: who it runs as, what it sees, its limits."""

import json
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trainplane.node.namespaced import egress, files, identity, kernel, seccomp
from trainplane.node.namespaced.addresses import GATEWAY, NETWORK
from trainplane.node.namespaced.identity import POD_USER, RANGE, Users
from trainplane.node.runner import CREATE_ERROR, Box, NotStarted, Program, Stdio

FIRST = 0x71400000
"""The host's first user for pods, beyond what distributions, systemd and container engines hand out."""
_NAMESPACES = (0x7FFFFFFF - FIRST) // RANGE
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

Order = dict[str, Any]


class Ranges:
    """Which users of the host belong to a namespace: a range each, kept in a file, never given to another."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._numbers: dict[str, int] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

    def first(self, namespace: str) -> int:
        """The host's number of a namespace's user 0."""
        if namespace not in self._numbers:
            if len(self._numbers) >= _NAMESPACES:
                raise NotStarted(CREATE_ERROR, f"there have been {_NAMESPACES} namespaces, and no users are left")
            self._numbers[namespace] = len(self._numbers)
            partial = self._path.with_suffix(".new")
            partial.write_text(json.dumps(self._numbers), encoding="utf-8")
            partial.replace(self._path)
        return FIRST + self._numbers[namespace] * RANGE


def box_order(box: Box, *, address: str) -> Order:
    """What the fork server needs to know to make a box; "" is the host's address."""
    return {
        "uid": box.uid,
        "hostname": box.nodename,
        "ip": address,
        "sysctls": dict(box.sysctls),
        "shares_processes": box.share_processes,
        "cpus": box.cpus,
        "memory": box.memory,
    }


def has_filters() -> bool:
    """Whether a container can be kept from calls of the kernel on this machine."""
    return seccomp.is_known(platform.machine()) and kernel.can_filter()


class Orders:
    """Writes orders, for a fork server of a given kind."""

    def __init__(self, folder: Path, *, rootless: bool, has_ranges: bool, has_users: bool, has_egress: bool) -> None:
        self._scratch = folder / "scratch"
        self._scratch.mkdir(parents=True, exist_ok=True)
        self._ranges = Ranges(folder / "users.json")
        self._rootless = rootless
        self._has_ranges = has_ranges
        self._has_users = has_users
        self._has_egress = has_egress
        self._has_filters = has_filters()

    def users(self, box: Box) -> Users:
        """Which users of the outside, as the fork server counts, a pod's users are."""
        if self._rootless:
            return Users(0, RANGE if self._has_ranges else 1, keep=True)
        return Users(self._ranges.first(box.pod.namespace), RANGE, keep=False)

    def who(self, box: Box, uid: int | None, gid: int | None) -> tuple[int, int]:
        """The user and group that a container sees itself as."""
        if uid is None:
            uid = 0 if box.host_users else os.getuid() if self._rootless else POD_USER
        if gid is None:
            gid = os.getgid() if self._rootless and uid == os.getuid() else uid
        return uid, gid

    def owner(self, box: Box, uid: int | None, gid: int | None) -> tuple[int, int]:
        """The same as the fork server counts."""
        own, group = self.who(box, uid, gid)
        if box.host_users and not self._rootless:
            return own, group
        users = self.users(box)
        outside = users.outside(own, own=own), users.outside(group, own=group)
        if outside[0] is None or outside[1] is None:
            raise NotStarted(CREATE_ERROR, f"the user {own} or the group {group} cannot be had here")
        return outside[0], outside[1]

    def container_order(self, box: Box, program: Program, stdio: Stdio, *, addresses: Sequence[str]) -> Order:
        """What the fork server needs to know to start a container; raises NotStarted."""
        try:
            order = self.order(box, program, stdio, addresses=addresses)
        except OSError as error:
            raise NotStarted(CREATE_ERROR, f"the container's folders cannot be made: {error}") from error
        return {
            "uid": box.uid,
            "order": order,
            "limits": {"cpus": program.cpus, "memory": program.memory, "request": program.cpu_request},
            "memory_folders": self.memory_folders(box, program),
            "beside": program.beside,
        }

    def order(self, box: Box, program: Program, stdio: Stdio, *, addresses: Sequence[str]) -> Order:
        """Everything that a minder needs to know."""
        uid, gid = self.who(box, program.uid, program.gid)
        users = self.users(box)
        owner = self.owner(box, program.uid, program.gid)
        mapped = self._has_users and not (box.host_users and not self._rootless)
        may_set_groups = not self._rootless or self._has_ranges
        groups = list(dict.fromkeys(program.groups)) if may_set_groups else []
        for group in groups:
            if mapped and users.outside(group, own=gid) is None:
                raise NotStarted(CREATE_ERROR, f"the group {group} cannot be had here: the last one is {RANGE - 1}")
        capabilities = identity.capabilities(
            add=program.add_capabilities, drop=program.drop_capabilities, privileged=program.privileged
        )
        shown = (uid, gid) if mapped or box.host_users else owner
        own_files = files.all_files(box, addresses, gateway=GATEWAY, uid=shown[0], gid=shown[1], groups=groups)
        return {
            "argv": list(program.argv),
            "env": self.environment(box, program, uid=uid),
            "cwd": program.cwd,
            "terminal": stdio.terminal,
            "uid": shown[0],
            "gid": shown[1],
            "groups": groups,
            "may_set_groups": may_set_groups,
            "maps": [users.map(uid), users.map(gid)] if mapped else None,
            "capabilities": capabilities,
            "no_new_privileges": program.no_new_privileges,
            "filter": self._filter(program, capabilities),
            "plan": self._plan(box, program, owner=owner, home=identity.home_of(uid), own_files=own_files),
        }

    def _filter(self, program: Program, capabilities: Sequence[int]) -> str:
        """The filter of its calls, in digits; "" where it has none."""
        if not self._has_filters or program.unconfined or program.privileged:
            return ""
        return seccomp.program(platform.machine(), tuple(capabilities)).hex()

    def environment(self, box: Box, program: Program, *, uid: int) -> dict[str, str]:
        """The program's variables, with what the pod network needs and a home for those that say nothing of it."""
        added = {"PATH": _PATH, "HOME": identity.home_of(uid)}
        if not box.host_network:
            added["GLOO_SOCKET_IFNAME"] = "eth0"
            if self._has_egress and box.egress:
                added |= egress.variables(
                    gateway=GATEWAY, network=str(NETWORK), namespace=box.pod.namespace, domain=box.domain
                )
        return {**added, **program.env}

    def _plan(
        self, box: Box, program: Program, *, owner: tuple[int, int], home: str, own_files: dict[str, str]
    ) -> dict[str, Any]:
        temporary = box.folder / "temporary" / program.container
        places = {}
        for target, name in (("/tmp", "tmp"), ("/var/tmp", "var-tmp")):  # noqa: S108 - the pod's own
            (temporary / name).mkdir(parents=True, exist_ok=True)
            (temporary / name).chmod(0o1777)
            places[target] = str(temporary / name)
        mounts, targets = [], []
        for mount in program.mounts:
            source = mount.source or self.memory_folder(box, mount.name)
            mounts.append((mount.target, str(source), mount.sub_path, mount.read_only))
            targets.append((mount.target, mount.source is None or os.path.isdir(source / mount.sub_path)))
        return {
            "scratch": str(self._scratch),
            "cwd": program.cwd,
            "root": str(program.root) if program.root else None,
            "targets": targets,
            "files": own_files,
            "owner": owner,
            "home": home,
            "temporary": places,
            "devices": list(program.devices),
            "shm": None,
            "masked": box.host_users or not program.unmasked,
            "privileged": program.privileged,
            "mounts": mounts,
            "read_only": program.read_only_root,
        }

    def memory_folder(self, box: Box, name: str) -> Path:
        """Where the fork server mounts a volume that is memory, so that the containers of a box share it."""
        return box.folder / "memory" / name

    def memory_folders(self, box: Box, program: Program) -> list[tuple[str, int | None]]:
        """The volumes of a program that are memory, and their sizes."""
        return [
            (str(self.memory_folder(box, mount.name)), mount.size) for mount in program.mounts if mount.source is None
        ]
