"""The way out for pods: a forward proxy, named by the usual variables, that keeps them from the host's services."""

import asyncio
import contextlib
import ipaddress
import re
import socket
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import urlsplit

PORT = 3128
HEAD_BYTES = 65536
MOST_OPEN = 512
"""Connections that one pod can have at a time."""
_HEAD_SECONDS = 30.0
_CONNECT_SECONDS = 30.0
_CHUNK = 1 << 18
_PLAIN = re.compile(r"[!-\[\]-~]+")
"""What may be in an address: whoever is asked next must not find more in it than was found here."""

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def variables(*, gateway: str, network: str, namespace: str, domain: str) -> dict[str, str]:
    """The variables that tell programs of the proxy, and what lies in the cluster and does without."""
    names = [".cluster.local", ".svc", f".{namespace}.svc", f".{namespace}"]
    if subdomain := domain.partition(".")[0]:
        names.append(f".{subdomain}")
    without = ",".join(["localhost", "127.0.0.1", "::1", network, gateway, *names])
    found = {"HTTP_PROXY": f"http://{gateway}:{PORT}", "HTTPS_PROXY": f"http://{gateway}:{PORT}", "NO_PROXY": without}
    return {**found, **{name.lower(): value for name, value in found.items()}}


class Refused(Exception):
    """The proxy does not do this; a status and a sentence for the one who asked."""

    def __init__(self, status: str, message: str) -> None:
        super().__init__(message)
        self.status = status


class Proxy:
    """Carries what pods send: CONNECT for anything encrypted, whole requests for plain HTTP."""

    def __init__(
        self,
        *,
        allowed: Callable[[str], bool],
        inside: Callable[[str, str, int], Awaitable[Stream | None]],
        environment: Mapping[str, str],
    ) -> None:
        """`allowed` says whether an address may go out; `inside` connects a pod to names of the cluster."""
        self._allowed = allowed
        self._inside = inside
        self._environment = environment
        self._open: Counter[str] = Counter()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection of a pod; of the files that this process can open, one pod gets only so many."""
        peer = str(writer.get_extra_info("peername")[0])
        self._open[peer] += 1
        try:
            if self._open[peer] > MOST_OPEN:
                raise Refused("503 Service Unavailable", f"this pod has {MOST_OPEN} connections open; close some")
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _HEAD_SECONDS)
            await self._carry(head, reader, writer)
        except Refused as error:
            with contextlib.suppress(ConnectionError):
                writer.write(_page(error.status, str(error)))
                await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError, ConnectionError):
            pass
        finally:
            writer.close()
            self._open[peer] -= 1
            self._open += Counter()  # Forget those who have none.

    async def _carry(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line, _, headers = head.partition(b"\r\n")
        words = line.decode("latin-1").split(" ")
        if len(words) != 3 or not _PLAIN.fullmatch(words[1]):
            raise Refused("400 Bad Request", "this is no HTTP request")
        method, target, version = words
        peer = str(writer.get_extra_info("peername")[0])
        if method == "CONNECT":
            host, _, port = target.rpartition(":")
            far = await self._connect(peer, host.strip("[]"), _port(port), encrypted=True)
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            place = urlsplit(target)
            if place.scheme != "http" or not place.hostname:
                raise Refused("400 Bad Request", "ask a proxy for a whole http:// address, or with CONNECT")
            far, first = await self._plain(peer, method, target, version)
            far[1].write(first + b"\r\n" + _forwarded(headers))
        await _both_ways((reader, writer), far)

    async def _plain(self, peer: str, method: str, target: str, version: str) -> tuple[Stream, bytes]:
        place = urlsplit(target)
        host, port = place.hostname or "", place.port or 80
        upstream = self._upstream(host, "http")
        if upstream and self._allowed(peer):
            await _not_ours(host, port)
            return await _open(*upstream), f"{method} {target} {version}".encode("latin-1")
        path = place._replace(scheme="", netloc="").geturl() or "/"
        return await self._connect(peer, host, port, encrypted=False), f"{method} {path} {version}".encode("latin-1")

    async def _connect(self, peer: str, host: str, port: int, *, encrypted: bool) -> Stream:
        if (found := await self._inside(peer, host, port)) is not None:
            return found
        if not self._allowed(peer):
            raise Refused("403 Forbidden", "this pod may not reach anything outside the cluster")
        upstream = self._upstream(host, "https") if encrypted else None
        if upstream is None:
            return await _open(*await _outside(host, port))
        await _not_ours(host, port)
        far = await _open(*upstream)
        far[1].write(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode("latin-1"))
        answer = await asyncio.wait_for(far[0].readuntil(b"\r\n\r\n"), _CONNECT_SECONDS)
        if b" 200" not in answer.partition(b"\r\n")[0]:
            far[1].close()
            raise Refused("502 Bad Gateway", f"the proxy of this machine does not connect to {host}:{port}")
        return far

    def _upstream(self, host: str, scheme: str) -> tuple[str, int] | None:
        """The proxy that this machine itself uses for a host."""
        env = self._environment
        text = env.get(f"{scheme}_proxy") or env.get(f"{scheme.upper()}_PROXY") or env.get("all_proxy") or ""
        place = urlsplit(text if "://" in text else f"http://{text}")
        if not text or place.scheme != "http" or not place.hostname or _excepted(host, env):
            return None
        return place.hostname, place.port or 80


def _excepted(host: str, env: Mapping[str, str]) -> bool:
    for entry in (env.get("no_proxy") or env.get("NO_PROXY") or "").split(","):
        name = entry.strip().lstrip(".")
        if name and (name == "*" or host == name or host.endswith(f".{name}")):
            return True
    return False


def _port(text: str) -> int:
    if not text.isdigit() or not 0 < int(text) < 65536:
        raise Refused("400 Bad Request", "CONNECT wants host:port")
    return int(text)


async def _outside(host: str, port: int) -> tuple[str, int]:
    """An address of a host that is not this machine; resolved here, so that no second answer can be another one."""
    try:
        addresses = await _addresses(host, port)
    except OSError as error:
        raise Refused("502 Bad Gateway", f"{host} cannot be resolved: {error.strerror}") from error
    for address in addresses:
        if is_outside(address):
            return address, port
    raise _forbidden(host)


async def _not_ours(host: str, port: int) -> None:
    """Refuse what the machine's proxy must not be asked for: it may run here, and reach what pods do not.

    A name that only the proxy can resolve is for the proxy to judge.
    """
    try:
        addresses = await _addresses(host, port)
    except OSError:
        return
    if not all(map(is_outside, addresses)):
        raise _forbidden(host)


async def _addresses(host: str, port: int) -> list[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(each[4][0]) for each in found]


def _forbidden(host: str) -> Refused:
    return Refused("403 Forbidden", f"{host} is this machine or its link, which pods do not reach")


def is_outside(address: str) -> bool:
    """Whether an address is another machine's: not the loopback, the link's (where clouds keep credentials) or ours."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped:
        ip = ip.ipv4_mapped
    if ip.is_loopback or ip.is_link_local or ip.is_unspecified or ip.is_multicast or ip.is_reserved:
        return False
    # An address that can be bound is one of this machine's own.
    with socket.socket(socket.AF_INET if ip.version == 4 else socket.AF_INET6, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((str(ip), 0))
        except OSError:
            return True
        return False


async def _open(host: str, port: int) -> Stream:
    try:
        return await asyncio.wait_for(asyncio.open_connection(host, port), _CONNECT_SECONDS)
    except TimeoutError as error:
        raise Refused("504 Gateway Timeout", f"{host}:{port} does not answer") from error
    except OSError as error:
        raise Refused("502 Bad Gateway", f"{host}:{port} cannot be reached: {error.strerror}") from error


def _forwarded(headers: bytes) -> bytes:
    """The headers without those meant for the proxy; one request per connection, so that each is looked at."""
    lines = [
        line
        for line in headers.split(b"\r\n")
        if line and line.partition(b":")[0].strip().lower() not in (b"proxy-connection", b"connection", b"keep-alive")
    ]
    return b"\r\n".join([*lines, b"Connection: close", b"", b""])


def _page(status: str, message: str) -> bytes:
    body = f"trainplane: {message}\n".encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"Connection: close\r\n\r\n" + body


async def _both_ways(near: Stream, far: Stream) -> None:
    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(_pump(near[0], far[1]))
            tasks.create_task(_pump(far[0], near[1]))
    except* (ConnectionError, TimeoutError):
        pass
    finally:
        far[1].close()


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while data := await source.read(_CHUNK):
        sink.write(data)
        await sink.drain()
    with contextlib.suppress(OSError):
        if sink.can_write_eof():
            sink.write_eof()
