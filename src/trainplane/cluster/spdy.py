"""SPDY/3.1 frames, in both directions and without sockets: what kubectl's port-forward speaks inside a WebSocket."""

import struct
import zlib
from collections.abc import Iterator, Mapping

import msgspec

_WORDS = """options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age
allow authorization cache-control connection content-base content-encoding content-language content-length
content-location content-md5 content-range content-type date etag expect expires from host if-match if-modified-since
if-none-match if-range if-unmodified-since last-modified location max-forwards pragma proxy-authenticate
proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade user-agent vary via warning
www-authenticate method get status 200_OK version HTTP/1.1 url public set-cookie keep-alive origin"""
_TAIL = (
    b"100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
    b"203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized"
    b"403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable"
    b"Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT"
    b"chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,"
    b"text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)
_NAMES = (word.replace("_", " ").encode() for word in _WORDS.split())
DICTIONARY = b"".join(struct.pack(">I", len(name)) + name for name in _NAMES) + _TAIL
"""What both sides take for said before: the protocol's own list of likely headers."""

_VERSION = 3
_SYN_STREAM, _SYN_REPLY, _RST_STREAM, _PING = 1, 2, 3, 6
_FIN = 0x01
CANCEL = 5
LONGEST_FRAME = 1 << 20
LONGEST_HEADERS = 1 << 16


class Broken(Exception):
    """What came is no SPDY, or more of it than is allowed."""


class Opened(msgspec.Struct, frozen=True):
    """The other side opened a stream."""

    stream: int
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    last: bool = False


class Data(msgspec.Struct, frozen=True):
    """Bytes of a stream; the `last` of its side."""

    stream: int
    data: bytes
    last: bool = False


class Reset(msgspec.Struct, frozen=True):
    """The other side gave a stream up."""

    stream: int
    status: int = CANCEL


class Ping(msgspec.Struct, frozen=True):
    """To be sent back as it came."""

    id: int


class GoAway(msgspec.Struct, frozen=True):
    """The other side opens no more streams."""


Frame = Opened | Data | Reset | Ping | GoAway


class Reader:
    """Frames out of bytes, however these were cut."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._headers = zlib.decompressobj(zdict=DICTIONARY)

    def feed(self, data: bytes) -> Iterator[Frame]:
        """The frames that are whole now; raises Broken."""
        self._held += data
        while len(self._held) >= 8:
            first, second = struct.unpack_from(">II", self._held)
            flags, length = second >> 24, second & 0xFFFFFF
            if length > LONGEST_FRAME:
                raise Broken(f"a frame of {length} bytes")
            if len(self._held) < 8 + length:
                return
            body = bytes(self._held[8 : 8 + length])
            del self._held[: 8 + length]
            frame = self._frame(first, flags, body)
            if frame is not None:
                yield frame

    def _frame(self, first: int, flags: int, body: bytes) -> Frame | None:
        last = bool(flags & _FIN)
        if not first >> 31:
            return Data(first, body, last)
        if (first >> 16) & 0x7FFF != _VERSION:
            raise Broken(f"SPDY of version {(first >> 16) & 0x7FFF}")
        try:
            match first & 0xFFFF:
                case 1:
                    (stream,) = struct.unpack_from(">I", body)
                    return Opened(stream & 0x7FFFFFFF, self._names(body[10:]), last)
                case 2 | 8:
                    # Headers that come later are of no use here, but they are part of what is compressed.
                    self._names(body[4:])
                case 3:
                    stream, status = struct.unpack(">II", body)
                    return Reset(stream & 0x7FFFFFFF, status)
                case 6:
                    return Ping(*struct.unpack(">I", body))
                case 7:
                    return GoAway()
        except struct.error:
            raise Broken("a frame that is too short") from None
        return None

    def _names(self, block: bytes) -> dict[str, str]:
        try:
            plain = self._headers.decompress(block, LONGEST_HEADERS)
        except zlib.error as error:
            raise Broken(f"headers that cannot be read: {error}") from None
        if self._headers.unconsumed_tail:
            raise Broken("headers of more than 64 kB")
        words, at = [], 4
        (count,) = struct.unpack_from(">I", plain)
        for _ in range(2 * min(count, len(plain))):
            (length,) = struct.unpack_from(">I", plain, at)
            words.append(plain[at + 4 : at + 4 + length].decode("utf-8", "replace"))
            at += 4 + length
        return {name.lower(): value for name, value in zip(words[::2], words[1::2], strict=True)}


class Writer:
    """Bytes out of what is to be said; to be sent in the order in which they were made."""

    def __init__(self) -> None:
        self._headers = zlib.compressobj(zdict=DICTIONARY)

    def open(self, stream: int, headers: Mapping[str, str]) -> bytes:
        """Open a stream."""
        body = struct.pack(">IIH", stream, 0, 0) + self._block(headers)
        return _control(_SYN_STREAM, body)

    def reply(self, stream: int) -> bytes:
        """Take a stream that the other side opened."""
        return _control(_SYN_REPLY, struct.pack(">I", stream) + self._block({}))

    def data(self, stream: int, data: bytes, *, last: bool = False) -> bytes:
        """Bytes of a stream."""
        return struct.pack(">II", stream, (_FIN if last else 0) << 24 | len(data)) + data

    def reset(self, stream: int, status: int = CANCEL) -> bytes:
        """Give a stream up."""
        return _control(_RST_STREAM, struct.pack(">II", stream, status))

    def ping(self, number: int) -> bytes:
        """Ask whether anybody is there, or answer that."""
        return _control(_PING, struct.pack(">I", number))

    def _block(self, headers: Mapping[str, str]) -> bytes:
        plain = struct.pack(">I", len(headers))
        for name, value in headers.items():
            for word in (name.encode(), value.encode()):
                plain += struct.pack(">I", len(word)) + word
        return self._headers.compress(plain) + self._headers.flush(zlib.Z_SYNC_FLUSH)


def _control(kind: int, body: bytes) -> bytes:
    return struct.pack(">II", 1 << 31 | _VERSION << 16 | kind, len(body)) + body
