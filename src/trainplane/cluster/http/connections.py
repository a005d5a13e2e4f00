"""Connections: HTTP in, HTTP out, and an end to those that keep a server waiting."""

import asyncio
from typing import Any, cast

from aiohttp import web
from aiohttp.http_exceptions import BadHttpMessage
from aiohttp.web_protocol import RequestHandler

from trainplane.cluster.collector import Endings
from trainplane.cluster.errors import BadRequest, InternalError
from trainplane.cluster.http.answers import refusal
from trainplane.cluster.http.app import App

HEAD_TIME = 5.0
"""How long a client may take to send the head of a request."""
HEADER_LIMIT = 64 * 1024
KEEP_ALIVE = 600.0
"""How long an idle connection stays: one that closes just as a client writes is an error to its user."""


_ENDINGS = Endings(every=32)
"""A connection over TLS leaves large buffers behind in few objects, which the collector alone would not look for."""


class Handler(RequestHandler):
    """aiohttp's handler of one connection, with a Status for what it refuses itself."""

    __slots__ = ("_busy", "_deadline")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the first head, and not for long."""
        self._busy = 0
        self._deadline: asyncio.TimerHandle | None = None
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: BaseException | None) -> None:
        """Wait no more."""
        self._stop_waiting()
        super().connection_lost(exc)
        _ENDINGS.another()

    def data_received(self, data: bytes) -> None:
        """What comes while no request is being answered is the head of the next one."""
        if not self._busy:
            self._wait()
        super().data_received(data)

    def begin(self) -> None:
        """A head has arrived, and is being answered."""
        self._busy += 1
        self._stop_waiting()

    def end(self) -> None:
        """It has been answered."""
        self._busy -= 1

    def _wait(self) -> None:
        if self._deadline is None:
            self._deadline = asyncio.get_running_loop().call_later(HEAD_TIME, self._give_up)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        if self.transport is not None:
            self.transport.abort()

    def handle_error(
        self,
        request: web.BaseRequest,  # noqa: ARG002 - aiohttp's signature
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,  # noqa: ARG002 - it may quote what was sent, and that may be a token
    ) -> web.StreamResponse:
        """The answer to what is no HTTP, or too much of it."""
        if isinstance(exc, BadHttpMessage) or status == 400:
            answer = refusal(BadRequest("the head of the request is too long, or is not HTTP that can be read"))
        else:
            answer = refusal(InternalError("an internal error occurred"))
        answer.force_close()
        return answer


class _Server(web.Server):
    def __call__(self) -> Any:
        return Handler(self, loop=self._loop, **self._kwargs)


async def serve(app: App) -> web.ServerRunner:
    """What hands requests to the App, and stops; it has no socket yet."""

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        connection = cast(Handler, request.protocol)
        connection.begin()
        try:
            return await app.handle(request)
        finally:
            connection.end()

    server = _Server(
        answer,
        max_line_size=HEADER_LIMIT,
        max_field_size=HEADER_LIMIT,
        access_log=None,
        keepalive_timeout=KEEP_ALIVE,
        # A real API server reads bodies as they come, and so there is no small body that becomes a large one.
        auto_decompress=False,
    )
    runner = web.ServerRunner(server, shutdown_timeout=5.0)
    await runner.setup()
    return runner
