"""Rewrite: a pod's places and names as the host has them, where nothing can be mounted or named for one pod alone."""

import re
from collections.abc import Callable
from pathlib import Path

from trainplane.node.runner import Box, Mount, Program

_END = r"(?=$|[/\s\"'`:;,)&|>])"
_BEGIN = r"(?<![\w./-])"


class Rewrite:
    """What commands and variables of one container become."""

    def __init__(
        self, box: Box, program: Program, *, address: Callable[[str], str], port: Callable[[int], int]
    ) -> None:
        """`address` gives that of a full name, `port` the one that a job has got for itself."""
        self._box = box
        self._address = address
        self._port = port
        self._mounts = {_plain(mount.target): folder_of(box, mount) for mount in program.mounts}
        targets = sorted(self._mounts, key=len, reverse=True)
        self._target = re.compile(_BEGIN + "(" + "|".join(map(re.escape, targets)) + ")" + _END) if targets else None
        self._peer = _peer(box)

    def path(self, path: str) -> str:
        """Where a path of the container is on the host."""
        plain = _plain(path)
        for target in sorted(self._mounts, key=len, reverse=True):
            if plain == target or plain.startswith(target + "/"):
                return str(self._mounts[target]) + plain[len(target) :]
        return path

    def text(self, text: str) -> str:
        """A word of a command line or a variable, with the host's places and addresses in it."""
        if self._target and "/" in text:
            text = self._target.sub(lambda found: str(self._mounts[found[1]]), text)
        if self._peer:
            text = self._peer.sub(self._peer_text, text)
        return text

    def variable(self, name: str, value: str) -> str:
        """The value of a variable; one that is named a port and holds one of the pod's gets the job's own."""
        if name.endswith("PORT") and value.isdigit() and int(value) in self._box.ports:
            return str(self._port(int(value)))
        return self.text(value)

    def link_mounts(self) -> None:
        """Let what is mounted below another folder be found there."""
        for target, folder in self._mounts.items():
            for outer, below in self._mounts.items():
                if target.startswith(outer + "/") and below.is_dir():
                    link = below / target[len(outer) + 1 :]
                    link.parent.mkdir(parents=True, exist_ok=True)
                    if not link.exists() and not link.is_symlink():
                        link.symlink_to(folder)

    def _peer_text(self, found: re.Match[str]) -> str:
        address = self._address(f"{found['host']}.{self._box.domain}")
        port = found["port"]
        if port is None:
            return address
        number = int(port)
        return f"{address}:{self._port(number) if number in self._box.ports else number}"


def folder_of(box: Box, mount: Mount) -> Path:
    """The folder or file of the host that a mount is; memory is a folder of the box."""
    source = mount.source
    if source is None:
        source = box.folder / "memory" / mount.name
        source.mkdir(parents=True, exist_ok=True)
    return source / mount.sub_path if mount.sub_path else source


def _peer(box: Box) -> re.Pattern[str] | None:
    """The names under which pods of the same domain find each other, from the shortest to the full one."""
    if not box.domain:
        return None
    subdomain, _, rest = box.domain.partition(".")
    namespace, _, rest = rest.partition(".")
    service, _, cluster = rest.partition(".")
    longer = rf"(?:\.{re.escape(namespace)}(?:\.{re.escape(service)}(?:\.{re.escape(cluster)}\.?)?)?)?"
    return re.compile(
        rf"(?<![\w.-])(?P<host>[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)\.{re.escape(subdomain)}{longer}(?![\w-]|\.\w)(?::(?P<port>\d+))?"
    )


def _plain(path: str) -> str:
    return "/" + path.strip("/")
