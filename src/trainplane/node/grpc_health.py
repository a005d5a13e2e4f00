"""The question of gRPC probes, `grpc.health.v1.Health/Check`, over a connection that is open: HTTP/2 in the least form.

One request of our own making needs neither compressed headers nor flow control, and the answer's only message says all
that a probe wants to know; its headers are not read.
"""

import asyncio
import struct
from collections.abc import Iterator

from trainplane.node.probes import Found

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _RESET, _SETTINGS, _PING, _GO_AWAY = 0x0, 0x1, 0x3, 0x4, 0x6, 0x7
_ACK, _END_STREAM, _END_HEADERS, _PADDED = 0x1, 0x1, 0x4, 0x8
_STREAM = 1
_LONGEST = 1 << 16
_STATUSES = ("UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN")
_POST, _HTTP = b"\x83", b"\x86"
"""Headers that have a number of their own: `:method POST` and `:scheme http`."""
_AUTHORITY, _PATH, _CONTENT_TYPE, _USER_AGENT = b"\x01", b"\x04", b"\x0f\x10", b"\x0f\x2b"
"""Names of headers that have one; their values follow."""


async def check(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, service: str, authority: str, agent: str
) -> Found:
    """Ask a server once whether it serves; raises OSError where the connection breaks off."""
    asked = _string(0x0A, service.encode()) if service else b""
    writer.write(_PREFACE + _frame(_SETTINGS, 0, b"", stream=0))
    writer.write(_frame(_HEADERS, _END_HEADERS, b"".join(_headers(authority, agent))))
    writer.write(_frame(_DATA, _END_STREAM, struct.pack(">BI", 0, len(asked)) + asked))
    await writer.drain()
    try:
        answer = await _answer(reader, writer)
    except asyncio.IncompleteReadError:
        return Found(good=False, message="what listens there is no gRPC server: it has closed the connection")
    if len(answer) < 5:
        about = f"the service {service}" if service else "health"
        return Found(good=False, message=f"the server has nothing to say of {about} by grpc.health.v1.Health")
    status = _status(answer[5:])
    return Found(good=status == "SERVING", message=f'service unhealthy (responded with "{status}")')


def _headers(authority: str, agent: str) -> Iterator[bytes]:
    yield _POST + _HTTP
    for name, value in (
        (_PATH, "/grpc.health.v1.Health/Check"),
        (_AUTHORITY, authority),
        (_CONTENT_TYPE, "application/grpc"),
        (_USER_AGENT, agent),
        (_string(0, b"te"), "trailers"),
    ):
        yield name + _string(None, value.encode())


def _string(tag: int | None, data: bytes) -> bytes:
    """Bytes behind their length, and that behind a tag; both HPACK and protobuf write so what is shorter than 127."""
    if len(data) > 126:
        raise ValueError(f"{data.decode()!r} is too long for a probe")
    return (b"" if tag is None else bytes([tag])) + bytes([len(data)]) + data


def _frame(kind: int, flags: int, body: bytes, *, stream: int = _STREAM) -> bytes:
    return struct.pack(">I", len(body) << 8 | kind) + struct.pack(">BI", flags, stream) + body


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    """The message of the answer with what is before it; empty where the answer has none."""
    message = b""
    while True:
        head = await reader.readexactly(9)
        length, kind, flags = int.from_bytes(head[:3], "big"), head[3], head[4]
        if length > _LONGEST:
            return b""
        body = await reader.readexactly(length)
        if kind == _DATA:
            message += body[1 : len(body) - body[0]] if flags & _PADDED else body
        if kind in (_RESET, _GO_AWAY) or (kind in (_DATA, _HEADERS) and flags & _END_STREAM):
            return message
        if kind in (_SETTINGS, _PING) and not flags & _ACK:
            writer.write(_frame(kind, _ACK, body if kind == _PING else b"", stream=0))


def _status(message: bytes) -> str:
    """The one field that an answer has, a number; nothing at all is the first."""
    number = message[1] if message[:1] == b"\x08" and len(message) > 1 else 0
    return _STATUSES[number] if number < len(_STATUSES) else str(number)
