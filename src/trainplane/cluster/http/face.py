"""Face: where a cluster is reached by HTTP. What answers there is loaded at once, or when somebody knocks.

It is the largest part of what a cluster loads, and one that lasts as long as a job is seldom asked anything.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aiohttp import web

    from trainplane.cluster.http.app import App

BACKLOG = 128
"""How many may wait at the door; as many as aiohttp lets."""


class Face:
    """The sockets at which requests are answered."""

    def __init__(self, make: Callable[[], "App"], *, tls: Callable[[], ssl.SSLContext], waits: bool = False) -> None:
        """`make` and `tls` are asked for what answers; where the Face `waits`, not before somebody knocks."""
        self._make = make
        self._tls = tls
        self._waits = waits
        self._doors: list[socket.socket] = []
        """At which nobody has knocked yet."""
        self._app: App | None = None
        self._context: ssl.SSLContext | None = None
        self._runner: web.ServerRunner | None = None
        self._opening: asyncio.Task[None] | None = None

    async def answer_at(self, door: socket.socket) -> None:
        """Answer whoever comes to a listening socket, which is this one's from here on."""
        door.setblocking(False)
        self._doors.append(door)
        if self._waits and self._opening is None:
            asyncio.get_running_loop().add_reader(door, self._knocked)
        else:
            await self._open()

    def _knocked(self) -> None:
        self._leave_doors()
        self._opening = asyncio.create_task(self._open(), name="http")

    def _leave_doors(self) -> None:
        for door in self._doors:
            asyncio.get_running_loop().remove_reader(door)

    async def _open(self) -> None:
        from aiohttp import web

        from trainplane.cluster.http.connections import serve

        if self._app is None:
            self._app = self._make()
            self._runner = await serve(self._app)
        if self._context is None:
            self._context = self._tls()
        while self._doors and self._runner:
            await web.SockSite(self._runner, self._doors.pop(0), ssl_context=self._context).start()

    async def close(self) -> None:
        """Answer no more."""
        self._leave_doors()
        if self._opening:
            with suppress(Exception):
                await self._opening
        for door in self._doors:
            door.close()
        if self._app and self._runner:
            self._app.closing.set()
            await self._runner.cleanup()


def listening(host: str, port: int, *, else_any: bool) -> socket.socket:
    """A socket at a port, or at any other where that is taken and it need not be this one; raises OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError:
        if not else_any:
            raise
        return socket.create_server((host, 0), family=family, backlog=BACKLOG)
