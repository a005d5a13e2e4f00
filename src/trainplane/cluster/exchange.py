"""Exchange: whole requests and answers by HTTP/1.1, over connections that are kept; no library, so it loads at once."""

import asyncio
import errno
import socket
import ssl
from dataclasses import dataclass
from urllib.parse import urlsplit

LONGEST_HEAD = 1024 * 1024
"""Bytes of a line of an answer's head."""
_AGAIN = ("GET", "PUT", "DELETE")
"""Methods that may be sent twice: the second time changes nothing more."""


class Cut(ConnectionError):
    """The connection ended before the answer was complete."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer."""

    status: int
    headers: tuple[tuple[str, str], ...]
    """Names in lower case; one may come several times."""
    content: bytes

    def all(self, name: str) -> list[str]:
        """Every value of a header."""
        return [value for key, value in self.headers if key == name]

    @property
    def content_type(self) -> str:
        """What the content is, without parameters."""
        return (self.all("content-type") or [""])[0].partition(";")[0].strip().lower()


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
        self._idle: list[_Line] = []

    async def ask(self, method: str, path: str, *, headers: dict[str, str], body: bytes | None) -> Answer:
        """Send a request and read its answer; raises OSError."""
        head = [f"{method} {self._prefix}{path} HTTP/1.1", f"Host: {self._named}"]
        head += [f"{name}: {value}" for name, value in headers.items()]
        if body is not None or method in ("POST", "PUT", "PATCH"):
            head.append(f"Content-Length: {len(body or b'')}")
        request = "\r\n".join([*head, "", ""]).encode("latin-1") + (body or b"")
        async with self._room:
            while self._idle:
                line = self._idle.pop()
                if not line.is_open:
                    line.writer.transport.abort()
                    continue
                try:
                    return await self._over(line, request)
                except ConnectionError:
                    # It was closed at the very moment, which is no word on the request.
                    if method not in _AGAIN:
                        raise
            return await self._over(await self._connect(), request)

    async def _over(self, line: _Line, request: bytes) -> Answer:
        kept = False
        try:
            line.writer.write(request)
            await line.writer.drain()
            answer, kept = await _read(line.reader)
            return answer
        except asyncio.IncompleteReadError as fault:
            raise Cut(str(fault)) from fault
        except (asyncio.LimitOverrunError, ValueError) as fault:
            raise OSError(errno.EPROTO, "it does not speak HTTP") from fault
        finally:
            if kept:
                self._idle.append(line)
            else:
                line.writer.transport.abort()

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


async def _read(reader: asyncio.StreamReader) -> tuple[Answer, bool]:
    """An answer, and whether another may follow on the same connection."""
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
    said = dict(headers)
    kept = version == "HTTP/1.1" and said.get("connection", "").lower() != "close"
    if "chunked" in said.get("transfer-encoding", "").lower():
        content = await _chunks(reader)
    elif "content-length" in said:
        content = await reader.readexactly(int(said["content-length"]))
    elif status in (204, 304):
        content = b""
    else:
        content, kept = await reader.read(), False
    return Answer(status, tuple(headers), content), kept


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    content = bytearray()
    while size := int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16):
        content += (await reader.readexactly(size + 2))[:-2]
    while (await reader.readuntil(b"\r\n")).strip():
        pass
    return bytes(content)
