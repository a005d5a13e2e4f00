"""Boxes, as the fork server holds them: open namespaces, memory that containers share, and perhaps a keeper."""

import contextlib
import os
import signal
import socket
from collections.abc import Mapping

from trainplane.node.namespaced import cgroups, channel, kernel, minder
from trainplane.node.namespaced.channel import Message
from trainplane.node.namespaced.network import Network, open_namespace, write_setting

_FLAGS = {"net": kernel.NEW_NET, "uts": kernel.NEW_UTS, "ipc": kernel.NEW_IPC}


class Box:
    """What the containers of a pod share."""

    def __init__(self, namespaces: dict[str, int]) -> None:
        self.namespaces = namespaces
        self.keeper: int | None = None
        """The first process of all containers, where they share their processes."""
        self.control: socket.socket | None = None
        """The keeper's; it ends when this is closed."""
        self.memory_folders: list[str] = []
        self.removals: list[int] = []
        """The requests to remove it, which are answered when nothing is left."""

    def memory_folder(self, folder: str, size: int | None) -> None:
        """Mount memory where the containers look for it; once for all of them."""
        if folder not in self.memory_folders:
            os.makedirs(folder, exist_ok=True)
            data = "mode=1777,size=" + ("100%" if size is None else str(size))
            kernel.mount("tmpfs", folder, kind="tmpfs", flags=kernel.MS_NOSUID | kernel.MS_NODEV, data=data)
            self.memory_folders.append(folder)

    def enter_processes(self, beside: int | None = None) -> None:
        """Let the next child of this process be in a new PID namespace, or in that of the keeper or another process."""
        first = beside if self.keeper is None else self.keeper
        if first is None:
            kernel.unshare(kernel.NEW_PID)
            return
        shared = open_namespace("pid", first)
        kernel.setns(shared, kernel.NEW_PID)
        os.close(shared)

    def end_shared(self) -> None:
        """Kill the keeper, and with it all containers that it keeps."""
        if self.keeper is not None:
            os.kill(self.keeper, signal.SIGKILL)

    def release(self) -> None:
        """Give back everything, when nothing runs in it any more."""
        if self.control:
            self.control.close()
        if self.keeper is not None:
            self.end_shared()
            os.waitpid(self.keeper, 0)
        for file in self.namespaces.values():
            os.close(file)
        for folder in self.memory_folders:
            with contextlib.suppress(OSError):
                kernel.unmount(folder)


class Maker:
    """Makes boxes."""

    def __init__(
        self, network: Network, groups: cgroups.Cgroups | None, *, home: Mapping[str, int], host_net: int | None
    ) -> None:
        """`home` are the fork server's own namespaces; `host_net` is the host's network, for those who may have it."""
        self._network = network
        self._groups = groups
        self._home = home
        self._host_net = host_net

    def make(self, message: Message, *, net: int | None = None) -> Box:
        """Make a box as the Runner says it; raises OSError. `net` is the network that it has already, open."""
        ip = message["ip"]
        if not ip and self._host_net is None:
            raise PermissionError(1, "only root can give a pod the host's network; leave hostNetwork out")
        box = self._namespaces(message, ("net", "uts", "ipc") if ip else ("uts", "ipc"), net=net)
        try:
            if ip:
                link = "pod" + "-".join(ip.split(".")[2:])
                self._network.attach(box.namespaces["net"], home=self._home["net"], ip=ip, link=link)
            elif self._host_net is not None:
                box.namespaces["net"] = os.dup(self._host_net)
            if self._groups:
                self._groups.make(message["uid"], cgroups.Limits(message["cpus"], message["memory"]))
            if message["shares_processes"]:
                self._keep(box)
        except OSError:
            box.release()
            raise
        return box

    def _namespaces(self, message: Message, kinds: tuple[str, ...], *, net: int | None) -> Box:
        kernel.unshare(sum(_FLAGS[kind] for kind in kinds if kind != "net" or net is None))
        try:
            if net is not None:
                kernel.setns(net, kernel.NEW_NET)
            kernel.set_hostname(message["hostname"])
            for name, value in message["sysctls"].items():
                write_setting(name.replace(".", "/"), value)
            return Box({kind: open_namespace(kind) for kind in kinds})
        finally:
            for kind in kinds:
                kernel.setns(self._home[kind], _FLAGS[kind])

    def _keep(self, box: Box) -> None:
        box.control, theirs = channel.pair()
        kernel.unshare(kernel.NEW_PID)
        try:
            box.keeper = os.fork()
            if box.keeper == 0:
                minder.keeper(theirs)
        finally:
            kernel.setns(self._home["pid"], kernel.NEW_PID)
        theirs.close()
