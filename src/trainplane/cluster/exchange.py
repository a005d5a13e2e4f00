"""Exchange: requests and answers by HTTP/1.1, whole or as they come, over connections that are kept.

No library, so it loads at once: the usual one takes as long to load as all the rest of a short command.
"""

import asyncio
import errno
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

LONGEST_HEAD = 1024 * 1024
"""Bytes of a line of an answer's head."""
BLOCK = 64 * 1024
_AGAIN = ("GET", "PUT", "DELETE")
"""Methods that may be sent twice: the second time changes nothing more."""


class Cut(ConnectionError):
    """The connection ended before the answer was complete."""


@dataclass(frozen=True, slots=True)
class Head:
    """What comes before an answer's content."""

    status: int
    headers: tuple[tuple[str, str], ...]
    """Names in lower case; one may come several times."""
    version: str = "HTTP/1.1"

    def all(self, name: str) -> list[str]:
        """Every value of a header."""
        return [value for key, value in self.headers if key == name]

    @property
    def content_type(self) -> str:
        """What the content is, without parameters."""
        return (self.all("content-type") or [""])[0].partition(";")[0].strip().lower()

    @property
    def length(self) -> int | None:
        """How long the content is; None where its end is told in another way."""
        if self.status in (204, 304):
            return 0
        said = self.all("content-length")
        return int(said[-1]) if said and not self.is_chunked else None

    @property
    def is_chunked(self) -> bool:
        """Whether the content comes in chunks that each say how long they are."""
        return "chunked" in ",".join(self.all("transfer-encoding")).lower()

    @property
    def keeps(self) -> bool:
        """Whether another answer may follow on the same connection."""
        closes = "close" in (value.lower() for value in self.all("connection"))
        return self.version == "HTTP/1.1" and not closes and (self.is_chunked or self.length is not None)


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer."""

    head: Head
    content: bytes


@dataclass(frozen=True, slots=True)
class _Line:
    """A connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @property
    def is_open(self) -> bool:
        return not self.reader.at_eof() and not self.writer.is_closing()


class Exchange:
    """Asks one server; as many at once as are wanted, up to a limit."""

    def __init__(
        self, server: str, *, tls: ssl.SSLContext | None, name: str, connect_limit: float, widest: int
    ) -> None:
        """`name` is whom the server's certificate is for, where that is not the host of its address."""
        place = urlsplit(server)
        self._host, self._port = place.hostname or "", place.port or (443 if tls else 80)
        self._named = place.netloc.rpartition("@")[2]
        self._prefix = place.path.rstrip("/")
        self._tls = tls
        self._name = name or self._host
        self._connect_limit = connect_limit
        self._room = asyncio.Semaphore(widest)
        self._lasting = asyncio.Semaphore(widest)
        self._idle: list[_Line] = []

    async def ask(self, method: str, path: str, *, headers: dict[str, str], body: bytes | None) -> Answer:
        """Send a request and read its answer; raises OSError."""
        request = self._request(method, path, headers, body)
        async with self._room:
            while line := self._kept():
                try:
                    return await _over(line, request, idle=self._idle)
                except ConnectionError:
                    # It was closed at the very moment, which is no word on the request.
                    if method not in _AGAIN:
                        raise
            return await _over(await self._connect(), request, idle=self._idle)

    @asynccontextmanager
    async def stream(
        self, path: str, *, headers: dict[str, str], answer_limit: float
    ) -> AsyncIterator[tuple[Head, AsyncIterator[bytes]]]:
        """Ask for something that lasts: the head of the answer, and its content in pieces as they come.

        Raises OSError, while the pieces are read too.
        """
        request = self._request("GET", path, headers, None)
        async with self._lasting:
            line = await self._connect()
            try:
                with _spoken():
                    line.writer.write(request)
                    async with asyncio.timeout(answer_limit):
                        head = await _head(line.reader)
                yield head, _content(line.reader, head)
            finally:
                line.writer.transport.abort()

    def _request(self, method: str, path: str, headers: dict[str, str], body: bytes | None) -> bytes:
        head = [f"{method} {self._prefix}{path} HTTP/1.1", f"Host: {self._named}"]
        head += [f"{name}: {value}" for name, value in headers.items()]
        if body is not None or method in ("POST", "PUT", "PATCH"):
            head.append(f"Content-Length: {len(body or b'')}")
        return "\r\n".join([*head, "", ""]).encode("latin-1") + (body or b"")

    def _kept(self) -> _Line | None:
        """A connection that was kept and is still open."""
        while self._idle:
            line = self._idle.pop()
            if line.is_open:
                return line
            line.writer.transport.abort()
        return None

    async def _connect(self) -> _Line:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(self._connect_limit):
            found = await loop.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)
            failure: OSError = OSError("it has no address")
            for *_, address in found:
                try:
                    opened = await asyncio.open_connection(
                        str(address[0]),
                        self._port,
                        ssl=self._tls,
                        server_hostname=self._name if self._tls else None,
                        limit=LONGEST_HEAD,
                    )
                except OSError as fault:
                    failure = fault
                else:
                    return _Line(*opened)
            raise failure

    def close(self) -> None:
        """Let go of all connections."""
        for line in self._idle:
            line.writer.transport.abort()
        self._idle.clear()


async def _over(line: _Line, request: bytes, *, idle: list[_Line]) -> Answer:
    """Send a request over a connection, which is idle again after a whole answer."""
    kept = False
    try:
        with _spoken():
            line.writer.write(request)
            await line.writer.drain()
            head = await _head(line.reader)
            content = b"".join([piece async for piece in _content(line.reader, head)])
        kept = head.keeps
        return Answer(head, content)
    finally:
        if kept:
            idle.append(line)
        else:
            line.writer.transport.abort()


@contextmanager
def _spoken() -> Iterator[None]:
    """Have what is no HTTP, or not all of it, told as an OSError."""
    try:
        yield
    except asyncio.IncompleteReadError as fault:
        raise Cut(str(fault)) from fault
    except (asyncio.LimitOverrunError, ValueError) as fault:
        raise OSError(errno.EPROTO, "it does not speak HTTP") from fault


async def _head(reader: asyncio.StreamReader) -> Head:
    status = 100
    while status < 200:
        version, _, rest = (await reader.readuntil(b"\r\n")).decode("latin-1").strip().partition(" ")
        if not version.startswith("HTTP/"):
            raise ValueError(version)
        status = int(rest[:3])
        headers = []
        while line := (await reader.readuntil(b"\r\n")).decode("latin-1").strip():
            name, _, value = line.partition(":")
            headers.append((name.lower(), value.strip()))
    return Head(status, tuple(headers), version)


async def _content(reader: asyncio.StreamReader, head: Head) -> AsyncIterator[bytes]:
    """The content in pieces as they come."""
    with _spoken():
        if head.is_chunked:
            while size := int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16):
                yield (await reader.readexactly(size + 2))[:-2]
            while (await reader.readuntil(b"\r\n")).strip():
                pass
        elif head.length is not None:
            left = head.length
            while left:
                piece = await reader.readexactly(min(left, BLOCK))
                left -= len(piece)
                yield piece
        else:
            while piece := await reader.read(BLOCK):
                yield piece
