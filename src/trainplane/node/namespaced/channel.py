"""Messages with open files attached, over a Unix socket between the Runner, its fork server and their children."""

import array
import json
import os
import socket
import struct
from collections.abc import Sequence
from typing import Any

_HEADER = struct.Struct("=I")
_CREDENTIALS = struct.Struct("=iII")
_MOST_FILES = 16
_ANCILLARY = socket.CMSG_SPACE(_CREDENTIALS.size) + socket.CMSG_SPACE(_MOST_FILES * 4)

Message = dict[str, Any]


class Closed(Exception):
    """The other end is gone."""


def pair() -> tuple[socket.socket, socket.socket]:
    """Two ends; who receives learns which process has sent, by the number it has for the receiver."""
    ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    for end in ends:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    return ends


def send(end: socket.socket, message: Message, *, files: Sequence[int] = (), pid: int | None = None) -> None:
    """Send a message, waiting until it is taken, in the name of another process where `pid` says so; raises Closed."""
    body = json.dumps(message, separators=(",", ":")).encode()
    extra: list[tuple[int, int, bytes]] = []
    if files:
        extra.append((socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files).tobytes()))
    if pid is not None:
        credentials = _CREDENTIALS.pack(pid, os.getuid(), os.getgid())
        extra.append((socket.SOL_SOCKET, socket.SCM_CREDENTIALS, credentials))
    try:
        end.sendmsg([_HEADER.pack(len(body))], extra)
        end.sendall(body)
    except (BrokenPipeError, ConnectionResetError) as error:
        raise Closed from error


def receive(end: socket.socket) -> tuple[Message, list[int], int]:
    """Wait for a message, the files that came with it, and the number of the process it is from; raises Closed."""
    files: list[int] = []
    pid = 0
    try:
        header, extra, _, _ = end.recvmsg(_HEADER.size, _ANCILLARY, socket.MSG_CMSG_CLOEXEC | socket.MSG_WAITALL)
        if len(header) < _HEADER.size:
            raise Closed
        body = _exactly(end, _HEADER.unpack(header)[0])
    except ConnectionResetError as error:
        raise Closed from error
    for _, kind, data in extra:
        if kind == socket.SCM_RIGHTS:
            files.extend(array.array("i", data[: len(data) - len(data) % 4]))
        elif kind == socket.SCM_CREDENTIALS:
            pid = _CREDENTIALS.unpack(data[: _CREDENTIALS.size])[0]
    return json.loads(body), files, pid


def _exactly(end: socket.socket, count: int) -> bytes:
    parts: list[bytes] = []
    while count:
        part = end.recv(min(count, 1 << 20))
        if not part:
            raise Closed
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
