"""The pod network: one bridge in a network namespace that nothing leads out of, and a namespace with `eth0` per pod."""

import contextlib
import os
import socket

from trainplane.node.namespaced import kernel
from trainplane.node.namespaced.netlink import Netlink, address, bridge, default_route, removed, up, veth

PREFIX = 16
BRIDGE = "pods"
_LOOPBACK = 1


def write_setting(name: str, value: str) -> None:
    """Set a kernel setting of the namespaces this process is in, by its path below /proc/sys."""
    with open(f"/proc/sys/{name}", "w", encoding="ascii") as file:
        file.write(value)


def _try_setting(name: str, value: str) -> None:
    # A kernel without IPv6, or a /proc/sys that is read-only, takes away comfort and not the network.
    with contextlib.suppress(OSError):
        write_setting(name, value)


class Network:
    """The network namespace this process is in, as the pods' switch and gateway.

    A pod's link is not taken away: it goes with the pod's namespace, and to wait for that takes 20 ms.
    """

    def __init__(self, gateway: str, *, is_new: bool) -> None:
        self.gateway = gateway
        self._netlink = Netlink()
        if is_new:
            self._set_up()
        self._bridge = socket.if_nametoindex(BRIDGE)

    def _set_up(self) -> None:
        # Forwarding with nowhere to forward to answers at once that the network is unreachable; without it, silence.
        _try_setting("net/ipv4/ip_forward", "1")
        _try_setting("net/ipv4/icmp_ratelimit", "0")
        _try_setting("net/ipv4/ip_unprivileged_port_start", "0")
        _try_setting("net/ipv6/conf/default/disable_ipv6", "1")
        self._netlink.ask(bridge(BRIDGE, hardware=b"\x02\x00" + socket.inet_aton(self.gateway)), up(_LOOPBACK))
        self._netlink.ask(address(socket.if_nametoindex(BRIDGE), ip=self.gateway, prefix=PREFIX))

    def attach(self, namespace: int, *, home: int, ip: str, link: str) -> None:
        """Give the network namespace of an open file an `eth0` with this address; `home` is the one to come back to."""
        pair = veth(link, master=self._bridge, peer="eth0", namespace=namespace)
        try:
            self._netlink.ask(pair)
        except FileExistsError:
            # Of a box that was lost a moment ago: its namespace is on its way out, and its link with it.
            with contextlib.suppress(OSError):
                self._netlink.ask(removed(link))
            self._netlink.ask(pair)
        kernel.setns(namespace, kernel.NEW_NET)
        try:
            _try_setting("net/ipv4/ip_unprivileged_port_start", "0")
            _try_setting("net/ipv4/ping_group_range", "0 2147483647")
            _try_setting("net/ipv6/conf/eth0/disable_ipv6", "1")
            with Netlink() as there:
                index = socket.if_nametoindex("eth0")
                there.ask(up(_LOOPBACK), address(index, ip=ip, prefix=PREFIX), up(index), default_route(self.gateway))
        finally:
            kernel.setns(home, kernel.NEW_NET)


def socket_in(namespace: int, *, home: int) -> socket.socket:
    """A TCP socket that belongs to the network namespace of an open file, not yet connected."""
    kernel.setns(namespace, kernel.NEW_NET)
    try:
        return socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    finally:
        kernel.setns(home, kernel.NEW_NET)


def listener(host: str, port: int, *, datagrams: bool = False) -> socket.socket:
    """A socket at an address of the network namespace this process is in."""
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM if datagrams else socket.SOCK_STREAM)
    try:
        if not datagrams:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        if not datagrams:
            made.listen(512)
    except OSError:
        made.close()
        raise
    return made


def open_namespace(kind: str, pid: int | str = "self") -> int:
    """An open file that stands for a namespace of a process."""
    return os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC)
