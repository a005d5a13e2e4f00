"""User namespaces: making one with given maps, and moving this process into one."""

import os

from trainplane.node.namespaced import kernel
from trainplane.node.namespaced.identity import Map
from trainplane.node.namespaced.network import open_namespace


def _text(lines: Map) -> str:
    return "".join(f"{inside} {outside} {count}\n" for inside, outside, count in lines)


def write_maps(pid: int | str, uids: Map, gids: Map) -> None:
    """Say which users of the outside those of a process's new user namespace are."""
    for name, lines in (("gid_map", gids), ("uid_map", uids)):
        # One write: the kernel takes no second.
        with open(f"/proc/{pid}/{name}", "wb", buffering=0) as file:
            file.write(_text(lines).encode())


def become_root_of_own(uid: int, gid: int) -> None:
    """Move this process into a user namespace where it is root, and where there is nobody else."""
    kernel.unshare(kernel.NEW_USER)
    with open("/proc/self/setgroups", "wb", buffering=0) as file:
        file.write(b"deny")
    write_maps("self", ((0, uid, 1),), ((0, gid, 1),))


def make_users(uids: Map, gids: Map) -> int:
    """An open user namespace with these maps; no process needs to stay in it."""
    ready, leave = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(leave[1])
            kernel.unshare(kernel.NEW_USER)
            os.write(ready[1], b"1")
            os.read(leave[0], 1)
        finally:
            os._exit(0)
    os.close(ready[1])
    os.close(leave[0])
    try:
        if not os.read(ready[0], 1):
            raise PermissionError(1, "a user namespace is refused")
        write_maps(pid, uids, gids)
        return open_namespace("user", pid)
    finally:
        os.close(ready[0])
        os.close(leave[1])
        os.waitpid(pid, 0)
