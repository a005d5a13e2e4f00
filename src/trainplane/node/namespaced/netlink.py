"""Links, addresses and routes of the network namespace this process is in, by rtnetlink."""

import os
import socket
import struct
from collections.abc import Sequence
from types import TracebackType

_NEWLINK, _DELLINK, _NEWADDR, _NEWROUTE = 16, 17, 20, 24
_REQUEST, _ACK, _CREATE = 0x1, 0x4, 0x600
_ADDRESS, _IFNAME, _MASTER, _LINKINFO, _NS_FD = 1, 3, 10, 18, 28
_UP = 1
_HEADER = struct.Struct("=IHHII")


def _attribute(kind: int, value: bytes | str | int) -> bytes:
    if isinstance(value, str):
        value = value.encode() + b"\0"
    elif isinstance(value, int):
        value = struct.pack("=I", value)
    length = 4 + len(value)
    return struct.pack("=HH", length, kind) + value + b"\0" * (-length % 4)


def _link(index: int = 0, *, up: bool = False) -> bytes:
    return struct.pack("=BxHiII", 0, 0, index, _UP if up else 0, _UP if up else 0)


Request = tuple[int, int, bytes]


def bridge(name: str, *, hardware: bytes) -> Request:
    """Add a bridge; without a hardware address of its own it would change with every link that comes or goes."""
    body = _link(up=True) + _attribute(_IFNAME, name) + _attribute(_ADDRESS, hardware)
    return _NEWLINK, _CREATE, body + _attribute(_LINKINFO, _attribute(1, "bridge"))


def veth(name: str, *, master: int, peer: str, namespace: int) -> Request:
    """Add a pair: one end here in a bridge, the other, called `peer`, in the network namespace of an open file."""
    other = _link() + _attribute(_IFNAME, peer) + _attribute(_NS_FD, namespace)
    info = _attribute(1, "veth") + _attribute(2, _attribute(1, other))
    body = _link(up=True) + _attribute(_IFNAME, name) + _attribute(_MASTER, master) + _attribute(_LINKINFO, info)
    return _NEWLINK, _CREATE, body


def up(index: int) -> Request:
    """Switch a link on."""
    return _NEWLINK, 0, _link(index, up=True)


def removed(name: str) -> Request:
    """Take a link away, and its other end with it."""
    return _DELLINK, 0, _link() + _attribute(_IFNAME, name)


def address(index: int, *, ip: str, prefix: int) -> Request:
    """Give a link an IPv4 address."""
    packed = socket.inet_aton(ip)
    body = struct.pack("=BBBBi", socket.AF_INET, prefix, 0, 0, index) + _attribute(2, packed) + _attribute(1, packed)
    return _NEWADDR, _CREATE, body


def default_route(gateway: str) -> Request:
    """Send what has no better way to a gateway."""
    head = struct.pack("=BBBBBBBBI", socket.AF_INET, 0, 0, 0, 254, 4, 0, 1, 0)
    return _NEWROUTE, _CREATE, head + _attribute(5, socket.inet_aton(gateway))


class Netlink:
    """A conversation with the kernel about the network namespace in which it was begun."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 0)
        self._socket.bind((0, 0))
        self._number = 0

    def __enter__(self) -> "Netlink":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def ask(self, *requests: Request) -> None:
        """Do these in order; raises OSError for the first that is refused, after all were tried."""
        parts = []
        for kind, flags, body in requests:
            self._number += 1
            size = _HEADER.size + len(body)
            parts.append(_HEADER.pack(size, kind, flags | _REQUEST | _ACK, self._number, 0) + body)
        self._socket.sendall(b"".join(parts))
        if refused := [number for number in self._answers(len(requests)) if number]:
            raise OSError(refused[0], os.strerror(refused[0]), "rtnetlink")

    def _answers(self, count: int) -> Sequence[int]:
        found: list[int] = []
        while len(found) < count:
            data = self._socket.recv(65536)
            while len(data) >= _HEADER.size:
                size, kind, *_ = _HEADER.unpack_from(data)
                if kind == 2:  # NLMSG_ERROR; 0 is an acknowledgement
                    found.append(-struct.unpack_from("=i", data, _HEADER.size)[0])
                data = data[(size + 3) & ~3 :]
        return found

    def close(self) -> None:
        """End the conversation."""
        self._socket.close()
