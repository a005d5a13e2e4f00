"""The gateway: what pods find at its address: the name server, and the way out."""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Protocol

from trainplane.node.namespaced import egress, files
from trainplane.node.namespaced.addresses import NETWORK
from trainplane.node.namespaced.names import PORT, Datagrams, Names, converse
from trainplane.node.runner import Box


class Listener(Protocol):
    """Gives a socket that listens at the gateway's address."""

    def __call__(self, port: int, *, datagrams: bool = False) -> Awaitable[socket.socket]:
        """A socket for a port."""
        ...


class Gateway:
    """The servers at the gateway, as long as there is a pod network."""

    def __init__(
        self,
        *,
        listen: Listener,
        connect: Callable[[str, int], Awaitable[socket.socket]],
        box_at: Callable[[str], Box | None],
        egress: bool,
        environment: Mapping[str, str],
    ) -> None:
        """`connect` reaches pods by address, and `box_at` says whose an address is."""
        self.names = Names()
        self._listen = listen
        self._connect = connect
        self._box_at = box_at
        self._egress = egress
        self._environment = environment
        self._open: list[asyncio.BaseTransport | asyncio.Server] = []

    @property
    def is_open(self) -> bool:
        """Whether it serves."""
        return bool(self._open)

    async def open(self) -> None:
        """Serve at the gateway of a network that was just made."""
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(
            lambda: Datagrams(self.names), sock=await self._listen(PORT, datagrams=True)
        )
        self._open.append(transport)
        served = await asyncio.start_server(partial(converse, self.names), sock=await self._listen(PORT))
        self._open.append(served)
        if self._egress:
            proxy = egress.Proxy(allowed=self._may_leave, inside=self._inside, environment=self._environment)
            door = await self._listen(egress.PORT)
            self._open.append(await asyncio.start_server(proxy.serve, sock=door, limit=egress.HEAD_BYTES))

    def close(self) -> None:
        """Stop serving."""
        for each in self._open:
            each.close()
        self._open.clear()

    def _may_leave(self, address: str) -> bool:
        box = self._box_at(address)
        return box is not None and box.egress

    async def _inside(self, peer: str, host: str, port: int) -> egress.Stream | None:
        """A connection to a pod, for those who ask the proxy for what needs none."""
        address = host if _is_in_network(host) else self._look_up(peer, host)
        if address is None:
            return None
        try:
            return await asyncio.open_connection(sock=await self._connect(address, port))
        except OSError as error:
            raise egress.Refused("502 Bad Gateway", f"{host}:{port} cannot be reached: {error.strerror}") from error

    def _look_up(self, peer: str, host: str) -> str | None:
        """The address of a name of the cluster, as the pod that asks would find it."""
        box = self._box_at(peer)
        for suffix in ("", *(files.searches(box) if box else ())):
            if found := self.names.addresses(f"{host}.{suffix}" if suffix else host):
                return found[0]
        return None


def _is_in_network(host: str) -> bool:
    try:
        return ipaddress.ip_address(host) in NETWORK
    except ValueError:
        return False
