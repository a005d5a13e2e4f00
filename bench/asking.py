"""A client that does as little as it can, so that what is measured is the server: HTTP/1.1 over kept connections."""

import asyncio
import ssl
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from trainplane.cluster import kubeconfig


class Server(msgspec.Struct, frozen=True):
    """Where a server is, and how it knows us."""

    host: str
    port: int
    tls: ssl.SSLContext
    token: str

    @classmethod
    def of(cls, path: Path) -> "Server":
        """The server of a kubeconfig."""
        target = kubeconfig.load([path])
        address = urlsplit(target.server)
        return cls(address.hostname or "", address.port or 443, target.client_context(), target.bearer())


class Connection:
    """One connection, one request at a time."""

    def __init__(self, server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._head = f"Host: {server.host}:{server.port}\r\nAccept: application/json\r\nUser-Agent: bench/1\r\n"
        if server.token:
            self._head += f"Authorization: Bearer {server.token}\r\n"
        self._reader, self._writer = reader, writer

    @classmethod
    async def open(cls, server: Server) -> "Connection":
        """Connect."""
        reader, writer = await asyncio.open_connection(server.host, server.port, ssl=server.tls, limit=1 << 20)
        return cls(server, reader, writer)

    async def ask(self, method: str, path: str, body: bytes = b"", *, media: str = "application/json") -> bytes:
        """The body of an answer; raises RuntimeError where it is a refusal."""
        await self.send(method, path, body, media=media)
        status, length = await self.head()
        answer = await self._reader.readexactly(length) if length is not None else await self._chunks()
        if status >= 300:
            raise RuntimeError(f"{method} {path}: {status} {answer[:300].decode(errors='replace')}")
        return answer

    async def send(self, method: str, path: str, body: bytes = b"", *, media: str = "application/json") -> None:
        """Write a request."""
        kind = f"Content-Type: {media}\r\nContent-Length: {len(body)}\r\n" if body else ""
        self._writer.write(f"{method} {path} HTTP/1.1\r\n{self._head}{kind}\r\n".encode() + body)
        await self._writer.drain()

    async def head(self) -> tuple[int, int | None]:
        """The status of an answer and the length of its body; None where it comes in chunks."""
        lines = (await self._reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
        lengths = [int(line[15:]) for line in lines if line.startswith(b"content-length:")]
        return int(lines[0].split()[1]), lengths[0] if lengths else None

    async def chunk(self) -> bytes:
        """The next chunk of an answer; nothing at its end."""
        size = int(await self._reader.readuntil(b"\r\n"), 16)
        return (await self._reader.readexactly(size + 2))[:-2]

    async def _chunks(self) -> bytes:
        parts = []
        while part := await self.chunk():
            parts.append(part)
        return b"".join(parts)

    def close(self) -> None:
        """Hang up."""
        self._writer.close()


Work = Callable[[Connection, int], Awaitable[object]]


async def load(server: Server, work: Work, *, count: int, clients: int) -> tuple[float, list[float]]:
    """Do work `count` times over that many connections; returns how many a second, and how long each took, sorted."""
    connections = [await Connection.open(server) for _ in range(clients)]
    numbers, taken = iter(range(count)), []

    async def worker(connection: Connection, numbers: Iterator[int]) -> None:
        for number in numbers:
            start = time.perf_counter()
            await work(connection, number)
            taken.append(time.perf_counter() - start)

    start = time.perf_counter()
    async with asyncio.TaskGroup() as workers:
        for connection in connections:
            workers.create_task(worker(connection, numbers))
    rate = count / (time.perf_counter() - start)
    for connection in connections:
        connection.close()
    return rate, sorted(taken)
