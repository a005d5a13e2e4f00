"""Port-forward: connections to ports of a pod, many at a time over one WebSocket, each with a stream for its errors."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from trainplane.api.ref import Ref
from trainplane.cluster.client import Channel, Streams
from trainplane.cluster.errors import ApiError
from trainplane.cluster.spdy import Broken, Data, GoAway, Opened, Ping, Reader, Reset, Writer

PORT_FORWARD = "SPDY/3.1+portforward.k8s.io"
CHUNK = 64 * 1024
MOST = 256
"""Connections at a time over one WebSocket."""


class _Connection(msgspec.Struct):
    """One connection that the client forwards: a stream for its bytes and one for what goes wrong."""

    port: int
    error: int = 0
    data: int = 0
    channel: Channel | None = None
    held: list[bytes] | None = None
    """What came before the port was reached; None from then on."""
    task: asyncio.Task[None] | None = None


class Forwarding:
    """The server's side of one WebSocket."""

    def __init__(self, streams: Streams, pod: Ref, send: Callable[[bytes], Awaitable[None]]) -> None:
        self._streams = streams
        self._pod = pod
        self._send = send
        self._writer = Writer()
        self._order = asyncio.Lock()
        self._connections: dict[str, _Connection] = {}
        self._by_stream: dict[int, tuple[str, _Connection]] = {}

    async def run(self, messages: AsyncIterator[bytes]) -> None:
        """Serve until the client leaves, or speaks what is no SPDY."""
        reader = Reader()
        async with asyncio.TaskGroup() as tasks:
            try:
                async for message in messages:
                    for frame in reader.feed(message):
                        if isinstance(frame, GoAway):
                            return
                        await self._take(frame, tasks)
            except Broken:
                # Nothing can be told to whom one does not understand; the WebSocket is closed.
                return
            finally:
                for connection in list(self._connections.values()):
                    if connection.task:
                        connection.task.cancel()

    async def _take(self, frame: Opened | Data | Reset | Ping, tasks: asyncio.TaskGroup) -> None:
        match frame:
            case Ping():
                await self._say(lambda write: write.ping(frame.id))
            case Opened():
                await self._open(frame, tasks)
            case Data():
                _, connection = self._by_stream.get(frame.stream, ("", None))
                if connection and frame.stream == connection.data:
                    await self._pass_on(connection, frame)
            case Reset():
                _, connection = self._by_stream.get(frame.stream, ("", None))
                if connection and connection.task and frame.stream == connection.data:
                    connection.task.cancel()

    async def _open(self, frame: Opened, tasks: asyncio.TaskGroup) -> None:
        request, sort = frame.headers.get("requestid", ""), frame.headers.get("streamtype", "")
        port = frame.headers.get("port", "")
        is_fresh = request not in self._connections
        if sort not in ("error", "data") or not port.isdecimal() or (is_fresh and len(self._connections) >= MOST):
            await self._say(lambda write: write.reset(frame.stream))
            return
        connection = self._connections.setdefault(request, _Connection(int(port), held=[]))
        self._by_stream[frame.stream] = (request, connection)
        await self._say(lambda write: write.reply(frame.stream))
        if sort == "error":
            connection.error = frame.stream
        else:
            connection.data = frame.stream
            connection.task = tasks.create_task(self._carry(request, connection))

    async def _pass_on(self, connection: _Connection, frame: Data) -> None:
        for data in ([frame.data] if frame.data else []) + ([b""] if frame.last else []):
            if connection.held is not None:
                connection.held.append(data)
            elif connection.channel:
                try:
                    await connection.channel.send(data)
                except OSError:
                    # The pod has closed its side; what it said last is still on its way to the client.
                    return

    async def _carry(self, request: str, connection: _Connection) -> None:
        """Reach the port and bring back what it says."""
        told = b""
        try:
            connection.channel = await self._streams.port_forward(self._pod, connection.port)
            while connection.held:
                await connection.channel.send(connection.held.pop(0))
            connection.held = None
            while (heard := await connection.channel.receive()) is not None:
                for at in range(0, len(heard[1]), CHUNK):
                    part = heard[1][at : at + CHUNK]
                    await self._say(lambda write, part=part: write.data(connection.data, part))  # type: ignore[misc]
        except (ApiError, OSError) as error:
            told = f"error forwarding port {connection.port} to pod {self._pod.name}: {error}".encode()
        finally:
            connection.held = None
            if connection.channel:
                await connection.channel.close()
            self._forget(request, connection)
        if told:
            await self._say(lambda write: write.data(connection.error, told))
        await self._say(lambda write: write.data(connection.error, b"", last=True))
        await self._say(lambda write: write.data(connection.data, b"", last=True))

    def _forget(self, request: str, connection: _Connection) -> None:
        self._connections.pop(request, None)
        for stream in (connection.error, connection.data):
            self._by_stream.pop(stream, None)

    async def _say(self, made: Callable[[Writer], bytes]) -> None:
        # Headers are compressed as one text over the whole connection, so frames leave in the order they were made.
        async with self._order:
            await self._send(made(self._writer))


async def by_channels(
    streams: Streams,
    pod: Ref,
    *,
    ports: Sequence[int],
    messages: AsyncIterator[bytes],
    send: Callable[[bytes], Awaitable[None]],
) -> None:
    """One connection to each port, as older clients have it: two channels for each, for its bytes and its errors."""
    opened: list[Channel | None] = []
    for index, port in enumerate(ports):
        for number in (2 * index, 2 * index + 1):
            await send(bytes([number]) + port.to_bytes(2, "little"))
        try:
            opened.append(await streams.port_forward(pod, port))
        except ApiError as error:
            opened.append(None)
            await send(bytes([2 * index + 1]) + f"error forwarding port {port} to pod {pod.name}: {error}".encode())

    async def bring(index: int, channel: Channel) -> None:
        while (heard := await channel.receive()) is not None:
            await send(bytes([2 * index]) + heard[1])

    async def take() -> None:
        async for message in messages:
            index, is_error = divmod(message[0], 2) if message else (len(opened), 1)
            channel = opened[index] if index < len(opened) and not is_error else None
            if channel and len(message) > 1:
                # A pod that has closed its side may still have said something.
                with suppress(OSError):
                    await channel.send(message[1:])

    taking = asyncio.ensure_future(take())
    bringing = asyncio.gather(*(bring(index, channel) for index, channel in enumerate(opened) if channel))
    either: set[asyncio.Future[Any]] = {taking, bringing}
    try:
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (taking, bringing):
            task.cancel()
        await asyncio.gather(taking, bringing, return_exceptions=True)
        for channel in opened:
            if channel:
                await channel.close()
