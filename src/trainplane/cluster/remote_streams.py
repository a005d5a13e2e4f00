"""RemoteStreams: logs, exec, attach and port-forward of any API server, over HTTPS and WebSocket."""

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

import orjson

from trainplane.api.ref import Ref
from trainplane.cluster import statuses
from trainplane.cluster.client import Channel, Log
from trainplane.cluster.connection import Connection
from trainplane.cluster.errors import ApiError

if TYPE_CHECKING:
    import aiohttp

_CHANNELS = ("v5.channel.k8s.io", "v4.channel.k8s.io")


class RemoteStreams:
    """What flows to and from pods of the cluster that a Connection leads to."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def log(self, pod: Ref, log: Log) -> AsyncIterator[bytes]:
        """A container's output, in pieces as they come."""
        said = {
            "container": log.container,
            "follow": log.follow,
            "previous": log.previous,
            "timestamps": log.timestamps,
            "tailLines": log.tail_lines,
            "sinceSeconds": log.since_seconds,
            "sinceTime": log.since_time.isoformat().replace("+00:00", "Z") if log.since_time else None,
            "limitBytes": log.limit_bytes,
            "stream": log.stream,
        }
        words = [(name, _word(value)) for name, value in said.items() if value not in ("", False, None)]
        async with self._connection.stream(_url(pod, "log", words), accept="*/*") as pieces, aclosing(pieces):  # type: ignore[type-var]
            async for piece in pieces:
                yield piece

    async def exec(
        self, pod: Ref, command: Sequence[str], *, container: str = "", stdin: bool = False, tty: bool = False
    ) -> Channel:
        """Run a command in a container."""
        return await self._converse(pod, "exec", command, container=container, stdin=stdin, tty=tty)

    async def attach(self, pod: Ref, *, container: str = "", stdin: bool = False, tty: bool = False) -> Channel:
        """Join a container's process."""
        return await self._converse(pod, "attach", (), container=container, stdin=stdin, tty=tty)

    async def port_forward(self, pod: Ref, port: int) -> Channel:
        """Reach a port of a pod."""
        from trainplane.cluster.remote_ports import PORT_FORWARD, Port

        socket = await self._connection.websocket(_url(pod, "portforward", ()), protocols=(PORT_FORWARD,))
        return await Port.open(socket, port)

    async def _converse(
        self, pod: Ref, what: str, command: Sequence[str], *, container: str, stdin: bool, tty: bool
    ) -> Channel:
        words = [("command", word) for word in command]
        words += [("container", container)] if container else []
        asked = {"stdin": stdin, "stdout": True, "stderr": not tty, "tty": tty}
        words += [(name, "true") for name, wanted in asked.items() if wanted]
        return _Conversation(await self._connection.websocket(_url(pod, what, words), protocols=_CHANNELS))


class _Conversation:
    """Exec or attach: every message begins with the number of its stream."""

    def __init__(self, socket: "aiohttp.ClientWebSocketResponse") -> None:
        self._socket = socket

    async def send(self, data: bytes, *, stream: int = 0) -> None:
        """Send bytes; none at all end the input."""
        ends = not data and stream == 0
        await self._socket.send_bytes(b"\xff\x00" if ends else bytes([stream]) + data)

    async def receive(self) -> tuple[int, bytes] | None:
        """The next bytes and the stream that they came on, or None at the end."""
        async for message in self._socket:
            if isinstance(message.data, bytes) and len(message.data) > 1:
                return message.data[0], message.data[1:]
        return None

    async def close(self) -> None:
        """Give it up."""
        await self._socket.close()


def ended(status: bytes) -> int | ApiError:
    """What the last message of an exec says: the command's exit code, or why it did not run."""
    said = orjson.loads(status)
    if said.get("status") == "Success":
        return 0
    causes = (said.get("details") or {}).get("causes") or ()
    codes = [cause.get("message", "") for cause in causes if cause.get("reason") == "ExitCode"]
    return int(codes[0]) if codes and codes[0].isdecimal() else statuses.read(said)


def _word(value: object) -> str:
    return "true" if value is True else str(value)


def _url(pod: Ref, what: str, words: Sequence[tuple[str, str]]) -> str:
    path = f"/api/v1/namespaces/{quote(pod.namespace)}/pods/{quote(pod.name)}/{what}"
    return f"{path}?{urlencode(words)}" if words else path
