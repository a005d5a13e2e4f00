"""The pods' name server: answers for the cluster's names, in both directions, and knows no others."""

import asyncio
import ipaddress
import struct
from collections.abc import Mapping, Sequence
from typing import cast

PORT = 53
_A, _PTR, _ANY, _IN = 1, 12, 255, 1
_OK, _FORMAT, _NO_NAME, _NOT_DONE = 0, 1, 3, 4
_HEADER = struct.Struct("!HHHHHH")
_ANSWER, _AUTHORITATIVE, _TRUNCATED, _RECURSION, _WANTED = 0x8000, 0x0400, 0x0200, 0x0080, 0x0100
_SECONDS = 5
"""How long an answer may be kept: short, because pods come and go."""
PLAIN = 512
"""The longest answer by datagram."""


class Names:
    """Names and their addresses; a pod that appears later is found as soon as it is here."""

    def __init__(self) -> None:
        self._forward: dict[str, tuple[str, ...]] = {}
        self._reverse: dict[str, str] = {}
        self._above: set[str] = set()

    def set(self, names: Mapping[str, tuple[str, ...]]) -> None:
        """Know these and no others."""
        self._forward = {name.rstrip(".").lower(): addresses for name, addresses in names.items()}
        self._reverse = {}
        self._above = {
            name.split(".", depth)[depth] for name in self._forward for depth in range(1, name.count(".") + 1)
        }
        # A pod's own name has most labels, and one address; a service's has those of all its pods.
        for name in sorted(self._forward, key=lambda name: (len(self._forward[name]) == 1, name.count("."), name)):
            for address in self._forward[name]:
                self._reverse[address] = name

    def addresses(self, name: str) -> tuple[str, ...] | None:
        """The addresses of a full name; None where there is no such name."""
        return self._forward.get(name.rstrip(".").lower())

    def answer(self, query: bytes, *, limit: int = PLAIN) -> bytes | None:
        """The answer to a query as it comes over the wire; None where the query cannot be read at all."""
        if len(query) < _HEADER.size:
            return None
        number, flags, questions, *_ = _HEADER.unpack_from(query)
        if flags & _ANSWER:
            return None
        try:
            name, end = _name(query, _HEADER.size)
            kind, _ = struct.unpack_from("!HH", query, end)
        except (IndexError, struct.error, UnicodeDecodeError):
            return _HEADER.pack(number, _ANSWER | _FORMAT, 0, 0, 0, 0)
        question = query[_HEADER.size : end + 4]
        head = _ANSWER | _AUTHORITATIVE | _RECURSION | (flags & _WANTED)
        if questions != 1 or flags & 0x7800:
            return _HEADER.pack(number, head | _NOT_DONE, 1, 0, 0, 0) + question
        code, records = self._records(name.lower(), kind)
        body = b"".join(
            b"\xc0\x0c" + struct.pack("!HHIH", kind_, _IN, _SECONDS, len(data)) + data for kind_, data in records
        )
        whole = _HEADER.pack(number, head | code, 1, len(records), 0, 0) + question + body
        if len(whole) > limit:
            return _HEADER.pack(number, head | _TRUNCATED, 1, 0, 0, 0) + question
        return whole

    def _records(self, name: str, kind: int) -> tuple[int, Sequence[tuple[int, bytes]]]:
        if (address := _reversed(name)) is not None:
            found = self._reverse.get(address)
            if found is None:
                return _NO_NAME, ()
            return _OK, ((_PTR, _labels(found)),) if kind in (_PTR, _ANY) else ()
        addresses = self._forward.get(name)
        if addresses is None:
            # What lies above a name exists too, without addresses.
            return (_OK if name in self._above else _NO_NAME), ()
        return _OK, [(_A, ipaddress.IPv4Address(each).packed) for each in addresses] if kind in (_A, _ANY) else ()


def _name(query: bytes, at: int) -> tuple[str, int]:
    labels = []
    while length := query[at]:
        if length > 63:
            raise IndexError("a question has no use for compression")
        labels.append(query[at + 1 : at + 1 + length].decode("ascii"))
        at += 1 + length
    return ".".join(labels), at + 1


def _labels(name: str) -> bytes:
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"


def _reversed(name: str) -> str | None:
    """The address that a name of the reverse tree stands for; a mapped one of IPv6 stands for that of IPv4."""
    try:
        if name.endswith(".in-addr.arpa"):
            return ".".join(reversed(name.removesuffix(".in-addr.arpa").split(".")))
        if name.endswith(".ip6.arpa"):
            digits = "".join(reversed(name.removesuffix(".ip6.arpa").split(".")))
            mapped = ipaddress.IPv6Address(int(digits, 16)).ipv4_mapped
            return str(mapped) if mapped else name
    except ValueError:
        return name
    return None


class Datagrams(asyncio.DatagramProtocol):
    """Answers by UDP."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember where answers go out."""
        # Python 3.11's own datagram transport does not call itself one.
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        """Answer a query."""
        if self._transport and (answer := self._names.answer(data)):
            self._transport.sendto(answer, addr)


async def converse(names: Names, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer by TCP, where answers are long."""
    try:
        while True:
            size = struct.unpack("!H", await asyncio.wait_for(reader.readexactly(2), 10))[0]
            query = await asyncio.wait_for(reader.readexactly(size), 10)
            answer = names.answer(query, limit=65535)
            if answer is None:
                return
            writer.write(struct.pack("!H", len(answer)) + answer)
            await writer.drain()
    except (asyncio.IncompleteReadError, TimeoutError, ConnectionError):
        return
    finally:
        writer.close()
