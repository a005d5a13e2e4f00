"""What flows between clients and pods: logs, exec and attach over WebSocket, and port-forward in SPDY inside one."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from datetime import datetime

import orjson
from aiohttp import WSMessage, WSMsgType, web
from msgspec.structs import replace

from trainplane.api.meta import Raw
from trainplane.api.ref import Ref
from trainplane.cluster.causes import Cause, forbidden, invalid
from trainplane.cluster.client import Channel, Log, Streams
from trainplane.cluster.errors import ApiError, BadRequest, Invalid
from trainplane.cluster.http.forwarding import PORT_FORWARD, Forwarding, by_channels
from trainplane.cluster.wire import Request

CHANNELS = ("v5.channel.k8s.io", "v4.channel.k8s.io")
"""Five can end the input and keep the rest open; four is what older clients speak."""
LARGEST_MESSAGE = 16 * 1024 * 1024
LOOK = 0.25
"""Seconds in which a log that cannot be had is refused properly; one that is silent for longer has begun."""
MOST_PORTS = 64
_CLOSE, _INPUT = 255, 0
_TRUE = ("1", "t", "T", "true", "TRUE", "True")


async def log(request: web.BaseRequest, streams: Streams, asked: Request, pod: Raw) -> web.StreamResponse:
    """Answer with a container's output."""
    said = log_options(asked)
    parts = streams.log(_ref(pod), replace(said, container=container_of(pod, said.container)))
    response = web.StreamResponse(headers={"Content-Type": "text/plain", "Cache-Control": "no-cache, private"})
    following = asyncio.ensure_future(anext(parts, None))
    try:
        await asyncio.wait({following}, timeout=LOOK)
        if following.done():
            # What cannot be had is told before the first byte of an answer.
            following.result()
        response.enable_chunked_encoding()
        await response.prepare(request)
        while (part := await following) is not None:
            await response.write(part)
            following = asyncio.ensure_future(anext(parts, None))
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        await parts.aclose()  # type: ignore[attr-defined]
    await response.write_eof()
    return response


async def converse(request: web.BaseRequest, streams: Streams, asked: Request, pod: Raw) -> web.StreamResponse:
    """Exec, attach or port-forward, until one side ends it."""
    if request.headers.get("Upgrade", "").lower() != "websocket":
        raise BadRequest("Upgrade request required: this server speaks WebSocket here, and no SPDY of its own")
    if asked.subresource == "portforward":
        return await _forward(request, streams, asked, pod)
    words = dict(asked.options.rest)
    container = container_of(pod, words.get("container", ""))
    stdin, tty = words.get("stdin") in _TRUE, words.get("tty") in _TRUE
    if not stdin and not any(words.get(name) in _TRUE for name in ("stdout", "stderr")):
        raise BadRequest("you must specify at least 1 of stdin, stdout, stderr")
    command = [value for name, value in asked.options.rest if name == "command"]
    if asked.subresource == "exec" and not command:
        raise BadRequest("you must specify a command for the exec")
    socket = web.WebSocketResponse(protocols=CHANNELS, max_msg_size=LARGEST_MESSAGE)
    await socket.prepare(request)
    try:
        if asked.subresource == "exec":
            channel = await streams.exec(_ref(pod), command, container=container, stdin=stdin, tty=tty)
        else:
            channel = await streams.attach(_ref(pod), container=container, stdin=stdin, tty=tty)
    except ApiError as error:
        # The WebSocket is open already, as on a real server: what went wrong is told on it.
        await socket.send_bytes(b"\x03" + orjson.dumps(error.status()))
        await socket.close()
        return socket
    await _join(socket, channel)
    return socket


async def _join(socket: web.WebSocketResponse, channel: Channel) -> None:
    """Pass everything on, both ways, until the command or the client ends."""

    async def listen() -> None:
        async for message in socket:
            said = _bytes(message)
            if not said:
                continue
            number, data = said[0], said[1:]
            if number == _CLOSE:
                if data[:1] == bytes([_INPUT]):
                    await channel.send(b"")
            elif data:
                await channel.send(data, stream=number)

    async def tell() -> None:
        while (heard := await channel.receive()) is not None:
            number, data = heard
            await socket.send_bytes(bytes([number]) + data)

    listening, telling = asyncio.ensure_future(listen()), asyncio.ensure_future(tell())
    try:
        await asyncio.wait({listening, telling}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (listening, telling):
            task.cancel()
        await asyncio.gather(listening, telling, return_exceptions=True)
        await channel.close()
    await socket.close()


async def _forward(request: web.BaseRequest, streams: Streams, asked: Request, pod: Raw) -> web.StreamResponse:
    ports = _ports(asked)
    # Who names ports speaks by channels, two for each port; who does not opens streams as it needs them.
    socket = web.WebSocketResponse(protocols=CHANNELS[1:] if ports else (PORT_FORWARD,), max_msg_size=LARGEST_MESSAGE)
    await socket.prepare(request)
    if ports:
        await by_channels(streams, _ref(pod), ports=ports, messages=_messages(socket), send=socket.send_bytes)
    else:
        await Forwarding(streams, _ref(pod), socket.send_bytes).run(_messages(socket))
    await socket.close()
    return socket


def _ports(asked: Request) -> list[int]:
    """The ports that the request names; raises BadRequest."""
    words = [word for name, value in asked.options.rest if name == "ports" for word in value.split(",")]
    wrong = [word for word in words if not (word.isdecimal() and 0 < int(word) < 1 << 16)]
    if wrong or len(words) > MOST_PORTS:
        what = f"{wrong[0]!r} is not a port" if wrong else f"{len(words)} are too many, {MOST_PORTS} can be had at once"
        raise BadRequest(f"ports: {what}")
    return [int(word) for word in words]


async def _messages(socket: web.WebSocketResponse) -> AsyncIterator[bytes]:
    async for message in socket:
        if said := _bytes(message):
            yield said


def _bytes(message: WSMessage) -> bytes:
    """What a message says; some clients send text as text."""
    if message.type is WSMsgType.TEXT:
        return str(message.data).encode()
    return bytes(message.data) if message.type is WSMsgType.BINARY else b""


def log_options(asked: Request) -> Log:
    """Which part of the output a request asks for; raises Invalid, or BadRequest where it cannot be read."""
    words = dict(asked.options.rest)
    since = _time(words.get("sinceTime", ""))
    causes: list[Cause] = []
    numbers = {name: _number(words, name) for name in ("tailLines", "sinceSeconds", "limitBytes")}
    for name, least in (("tailLines", 0), ("sinceSeconds", 1), ("limitBytes", 1)):
        given = numbers[name]
        if given is not None and given < least:
            bound = "greater than 0" if least else "greater than or equal to 0"
            causes.append(invalid(name, given, f"must be {bound}"))
    if "sinceTime" in words and numbers["sinceSeconds"] is not None:
        causes.append(forbidden("[]", "at most one of `sinceTime` or `sinceSeconds` may be specified"))
    if causes:
        raise Invalid.of("PodLogOptions", asked.name, causes)
    return Log(
        container=words.get("container", ""),
        follow=words.get("follow") in _TRUE,
        previous=words.get("previous") in _TRUE,
        timestamps=words.get("timestamps") in _TRUE,
        tail_lines=numbers["tailLines"],
        since_seconds=numbers["sinceSeconds"],
        since_time=since,
        limit_bytes=numbers["limitBytes"],
        stream=words.get("stream", "").removeprefix("All"),
    )


def _number(words: Mapping[str, str], name: str) -> int | None:
    try:
        return int(words[name]) if words.get(name) else None
    except ValueError:
        raise BadRequest(f'strconv.ParseInt: parsing "{words[name]}": invalid syntax') from None


def _time(word: str) -> datetime | None:
    if not word:
        return None
    try:
        time = datetime.fromisoformat(word)
        if time.tzinfo is None:
            raise ValueError("a time without a zone is many times")
        return time
    except ValueError:
        words = f'parsing time "{word}" as "2006-01-02T15:04:05Z07:00": cannot parse "{word}" as "2006"'
        raise BadRequest(words) from None


def _ref(pod: Raw) -> Ref:
    metadata = pod["metadata"]
    return Ref("", "Pod", metadata["namespace"], metadata["name"])


def container_of(pod: Raw, wanted: str) -> str:
    """The container that is meant; raises BadRequest."""
    name, spec = pod["metadata"]["name"], pod["spec"]
    kinds = ("containers", "initContainers", "ephemeralContainers")
    plain, first, later = ([each["name"] for each in spec.get(kind) or ()] for kind in kinds)
    if wanted:
        if wanted in (*plain, *first, *later):
            return wanted
        raise BadRequest(f"container {wanted} is not valid for pod {name}")
    if len(plain) == 1 and not first:
        return str(plain[0])
    choice = " ".join((*first, *plain, *later))
    raise BadRequest(f"a container name must be specified for pod {name}, choose one of: [{choice}]")
