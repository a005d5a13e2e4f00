"""Connection: HTTP to the API server of a kubeconfig; what keeps it from answering is told in one sentence."""

import asyncio
import errno
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from ipaddress import ip_address
from socket import gaierror
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import orjson

from trainplane import __version__
from trainplane.cluster import errors, statuses
from trainplane.cluster.exchange import Answer, Exchange, Head
from trainplane.cluster.kubeconfig import Target
from trainplane.cluster.wire import JSON

if TYPE_CHECKING:
    import aiohttp
    from yarl import URL

AGENT = f"trainplane/{__version__}"
"""Who asks; the part before the slash is the manager of what is written without naming one."""
CONNECT_LIMIT = 15.0
ANSWER_LIMIT = 90.0
"""Seconds for a whole answer: a little more than an API server gives itself."""
SILENCE_LIMIT = 300.0
"""Seconds after which a stream that says nothing is taken for lost; bookmarks come every minute or so."""
CLOSING = 5.0
"""Seconds that the other end has for its goodbye."""
WIDEST = 256
"""How many requests are under way at once, watches among them."""


class Unreachable(ConnectionError):
    """The API server cannot be asked, or its answer did not come: where, what, and what to do."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer of the API, which is no refusal."""

    value: Any
    warnings: tuple[str, ...]


class Connection:
    """HTTP to one API server."""

    def __init__(self, target: Target, tls: ssl.SSLContext | bool) -> None:
        self.target = target
        self._opened: aiohttp.ClientSession | None = None
        self._held: list[Any] = []
        """The sockets below WebSockets."""
        self._said: dict[str, Any] = {"ssl": tls, "proxy": _proxy(target)}
        if target.tls_server_name:
            self._said["server_hostname"] = target.tls_server_name
        own = tls if isinstance(tls, ssl.SSLContext) else None
        exchange = Exchange(
            target.server,
            tls=own,
            name=target.tls_server_name or "",
            connect_limit=CONNECT_LIMIT,
            widest=WIDEST,
        )
        self._exchange = None if self._said["proxy"] else exchange
        """Answers come by this; WebSockets, and what goes through a proxy, by aiohttp."""

    @classmethod
    @asynccontextmanager
    async def open(cls, target: Target) -> AsyncIterator["Connection"]:
        """A connection while the context lasts; nothing is asked yet. Raises Unreachable for unusable certificates."""
        made = cls(target, _tls(target))
        try:
            yield made
        finally:
            await made._close()

    async def _close(self) -> None:
        if self._exchange:
            self._exchange.close()
        if self._opened:
            await self._opened.close()
            # A connection over TLS is closed a moment after it was told to; a loop that ends before leaves it open.
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSING):
                    while any(each.fileno() >= 0 for each in self._held):
                        await asyncio.sleep(0.001)

    @property
    def _session(self) -> "aiohttp.ClientSession":
        """What WebSockets come by. Loading it takes as long as all the rest of a short command, which needs none."""
        if self._opened is None:
            import aiohttp

            connector = aiohttp.TCPConnector(limit=WIDEST)
            self._opened = aiohttp.ClientSession(connector=connector)
        return self._opened

    async def send(
        self, method: str, url: str, *, body: Any = None, content_type: str = JSON, accept: str = JSON
    ) -> Reply:
        """Ask, and read the answer; raises ApiError where the API refuses, and Unreachable."""
        headers, data = self._headers(accept), None
        if body is not None:
            data, headers["Content-Type"] = orjson.dumps(body), content_type
        if self._exchange is None:
            answer = await self._ask_by_proxy(method, url, headers, data)
        else:
            try:
                async with asyncio.timeout(ANSWER_LIMIT):
                    answer = await self._exchange.ask(method, url, headers=headers, body=data)
            except OSError as fault:
                raise self._unreachable(fault) from None
        value = _value(answer.content, answer.head.content_type)
        if answer.head.status >= 400:
            raise _refusal(value, answer.head.status)
        return Reply(value, warnings(answer.head.all("warning")))

    async def _ask_by_proxy(self, method: str, url: str, headers: dict[str, str], data: bytes | None) -> Answer:
        import aiohttp

        limit = aiohttp.ClientTimeout(total=ANSWER_LIMIT, sock_connect=CONNECT_LIMIT)
        try:
            async with self._session.request(
                method, _url(self.target.server + url), headers=headers, data=data, timeout=limit, **self._said
            ) as answer:
                content = await answer.read()
        except (aiohttp.ClientError, OSError) as fault:
            raise self._unreachable(fault) from None
        return Answer(_head(answer), content)

    @asynccontextmanager
    async def stream(self, url: str, *, accept: str = JSON) -> AsyncIterator[AsyncIterator[bytes]]:
        """The pieces of an answer as they come, until it ends or falls silent; raises as `send` does."""
        headers, exchange = self._headers(accept), self._exchange
        asked = exchange.stream(url, headers=headers, answer_limit=ANSWER_LIMIT) if exchange else None
        try:
            async with asked or self._stream_by_proxy(url, headers) as (head, pieces), aclosing(pieces):  # type: ignore[type-var]
                if head.status >= 400:
                    content = b"".join([piece async for piece in pieces])
                    raise _refusal(_value(content, head.content_type), head.status)
                yield _until_silence(pieces)
        except OSError as fault:
            raise self._unreachable(fault) from None

    @asynccontextmanager
    async def _stream_by_proxy(
        self, url: str, headers: dict[str, str]
    ) -> AsyncIterator[tuple[Head, AsyncIterator[bytes]]]:
        import aiohttp

        limit = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_LIMIT)
        try:
            async with self._session.get(
                _url(self.target.server + url), headers=headers, timeout=limit, **self._said
            ) as answer:
                yield _head(answer), _pieces(answer)
        except aiohttp.ClientError as fault:
            raise self._unreachable(fault) from None

    async def websocket(self, url: str, *, protocols: tuple[str, ...]) -> "aiohttp.ClientWebSocketResponse":
        """An open WebSocket, which whoever asked for it closes; raises as `send` does."""
        import aiohttp

        place = _url(self.target.server + url)
        try:
            socket: aiohttp.ClientWebSocketResponse = await self._session.ws_connect(
                place, protocols=protocols, headers=self._headers("*/*"), max_msg_size=0, heartbeat=30.0, **self._said
            )
        except aiohttp.WSServerHandshakeError as fault:
            # The answer's body is gone by now; the same question without the upgrade has the same refusal.
            await self.send("POST", url)
            raise self._words(f"it answered {fault.status} instead of opening a stream", "ask again") from None
        except (aiohttp.ClientError, OSError) as fault:
            raise self._unreachable(fault) from None
        self._held = [each for each in self._held if each.fileno() >= 0]
        self._held.append(socket.get_extra_info("socket"))
        return socket

    def _headers(self, accept: str) -> dict[str, str]:
        headers = {"Accept": accept, "User-Agent": AGENT}
        try:
            token = self.target.bearer()
        except OSError as fault:
            what = f"cannot read {self.target.token_file}: {fault.strerror}"
            raise self._words(what, "give the user of the context another tokenFile") from None
        if token:
            headers["Authorization"] = f"Bearer {token}"
        return headers

    def _words(self, what: str, todo: str) -> Unreachable:
        return Unreachable(f"{self.target.server} (context {self.target.context}): {what}; {todo}")

    def _unreachable(self, fault: Exception) -> Unreachable:
        """What keeps the API server from answering, in one sentence."""
        import aiohttp

        cause: Exception = fault
        if isinstance(fault, aiohttp.ClientConnectorCertificateError):
            cause = fault.certificate_error
        elif isinstance(fault, aiohttp.ClientConnectorError):
            cause = fault.os_error
        match cause:
            case Unreachable():
                return cause
            case ssl.SSLCertVerificationError():
                return self._words(
                    f"its certificate is not trusted: {cause.verify_message.rstrip('.')}",
                    "check server and certificate-authority in the kubeconfig, or get a new one from the cluster",
                )
            case ssl.SSLError():
                why = (cause.reason or str(cause)).lower().replace("_", " ")
                return self._words(f"TLS failed: {why}", "check server and the client certificate in the kubeconfig")
            case gaierror():
                return self._words("its name has no address", "check server in the kubeconfig, and the network")
            case ConnectionRefusedError():
                return self._words("nothing listens there", "start the cluster, or check server in the kubeconfig")
            case TimeoutError():
                return self._words("it does not answer in time", "check the network, and whether the cluster is well")
            case aiohttp.ServerDisconnectedError() | aiohttp.ClientPayloadError() | ConnectionError():
                return self._words("it closed the connection before its answer was complete", "ask again")
            case OSError(errno=errno.ECONNRESET | errno.EPIPE | errno.ECONNABORTED):
                return self._words("it closed the connection before its answer was complete", "ask again")
        why = getattr(cause, "strerror", "") or str(cause) or type(cause).__name__
        return self._words(why, "check server in the kubeconfig")


def _value(content: bytes, content_type: str) -> Any:
    if content_type != JSON:
        return content.decode(errors="replace")
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        return content.decode(errors="replace")


async def _until_silence(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Pieces until they end or do not come; silence is no fault: whoever wants more asks again from where it stands."""
    with suppress(TimeoutError):
        while True:
            async with asyncio.timeout(SILENCE_LIMIT):
                piece = await anext(pieces, b"")
            if not piece:
                return
            yield piece


async def _pieces(answer: "aiohttp.ClientResponse") -> AsyncIterator[bytes]:
    async for piece in answer.content.iter_any():
        yield piece


def _head(answer: "aiohttp.ClientResponse") -> Head:
    return Head(answer.status, tuple((name.lower(), value) for name, value in answer.headers.items()))


def _url(text: str) -> "URL":
    from yarl import URL

    # What is escaped stays so: the name of an RBAC object may have a `:` or a `%`.
    return URL(text, encoded=True)


def _refusal(value: Any, code: int) -> errors.ApiError:
    if isinstance(value, Mapping) and value.get("kind") == "Status":
        return statuses.read(value, code=code)
    return statuses.read_text(value if isinstance(value, str) else orjson.dumps(value).decode(), code=code)


def warnings(headers: Any) -> tuple[str, ...]:
    """What the `Warning` headers of an answer say: `299 - "words"`, with `\\` before quotes."""
    return tuple(text for header in headers if (text := _warning(header)))


def _warning(header: str) -> str:
    _, quote, rest = header.partition('"')
    text, end, _ = rest.replace("\\\\", "\0").replace('\\"', "\1").partition('"')
    return text.replace("\1", '"').replace("\0", "\\") if quote and end else ""


def _tls(target: Target) -> ssl.SSLContext | bool:
    if target.server.startswith("http://"):
        return True
    try:
        return target.client_context()
    except (ssl.SSLError, ValueError) as fault:
        why = str(fault).partition(" (_ssl")[0]
        raise Unreachable(
            f"{target.server} (context {target.context}): its certificates in the kubeconfig cannot be read: {why}; "
            "get a new kubeconfig from the cluster"
        ) from None


def _proxy(target: Target) -> str | None:
    """The proxy to go through: the kubeconfig's, else the environment's, and none to this machine itself."""
    if target.proxy:
        if not target.proxy.startswith(("http://", "https://")):
            raise Unreachable(
                f"{target.server} (context {target.context}): proxy-url {target.proxy} is not spoken; "
                "give one that begins with http://"
            )
        return target.proxy
    place = urlsplit(target.server)
    host = place.hostname or ""
    if host == "localhost" or _is_loopback(host):
        return None
    # Slow to load, and most commands ask this machine.
    from urllib.request import getproxies, proxy_bypass

    if proxy_bypass(host):
        return None
    return getproxies().get(place.scheme)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
