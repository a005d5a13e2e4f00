"""A forwarded port of a pod, as SPDY over a WebSocket."""

from typing import TYPE_CHECKING

from trainplane.cluster import errors
from trainplane.cluster.errors import ApiError
from trainplane.cluster.spdy import Broken, Data, GoAway, Ping, Reader, Reset, Writer

if TYPE_CHECKING:
    import aiohttp

PORT_FORWARD = "SPDY/3.1+portforward.k8s.io"
_ERRORS, _BYTES = 1, 3
"""The streams of a forwarded port: the first two that a client may open."""


class Port:
    """A forwarded port: one connection over a WebSocket of its own."""

    def __init__(self, socket: "aiohttp.ClientWebSocketResponse") -> None:
        self._socket = socket
        self._writer = Writer()
        self._reader = Reader()
        self._heard: list[bytes] = []
        self._ended = False

    @classmethod
    async def open(cls, socket: "aiohttp.ClientWebSocketResponse", port: int) -> "Port":
        """The connection; that nobody listens is told by the first `receive`."""
        made = cls(socket)
        headers = {"port": str(port), "requestid": "0"}
        await socket.send_bytes(made._writer.open(_ERRORS, {**headers, "streamtype": "error"}))
        await socket.send_bytes(made._writer.data(_ERRORS, b"", last=True))
        await socket.send_bytes(made._writer.open(_BYTES, {**headers, "streamtype": "data"}))
        return made

    async def send(self, data: bytes, *, stream: int = 0) -> None:  # noqa: ARG002 - a port has one way in
        """Send bytes; none at all end the input."""
        await self._socket.send_bytes(self._writer.data(_BYTES, data, last=not data))

    async def receive(self) -> tuple[int, bytes] | None:
        """The next bytes, or None at the end; raises ApiError where the port cannot be reached."""
        while not self._heard and not self._ended:
            message = await self._socket.receive()
            if not isinstance(message.data, bytes):
                self._ended = True
                break
            try:
                await self._take(message.data)
            except ApiError:
                await self.close()
                raise
        return (1, self._heard.pop(0)) if self._heard else None

    async def _take(self, data: bytes) -> None:
        try:
            for frame in self._reader.feed(data):
                match frame:
                    case Data(stream=1) if frame.data:
                        raise errors.Internal(frame.data.decode(errors="replace"))
                    case Data(stream=3):
                        self._heard += [frame.data] if frame.data else []
                        self._ended = self._ended or frame.last
                    case Reset() | GoAway():
                        self._ended = True
                    case Ping():
                        await self._socket.send_bytes(self._writer.ping(frame.id))
        except Broken as fault:
            raise errors.Internal(f"what came from the port is no SPDY: {fault}") from None

    async def close(self) -> None:
        """Give it up."""
        await self._socket.close()
