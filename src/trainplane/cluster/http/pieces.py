"""Long lists: JSON that is put together a piece at a time, no sooner than its client reads it."""

from collections.abc import Iterator, Sequence

from aiohttp.abc import AbstractStreamWriter
from aiohttp.payload import Payload

PIECE = 256 * 1024
"""How much is put together at once; shorter lists are sent whole."""

Part = bytes | memoryview


class Pieces(Payload):
    """Parts with something between them; none is copied before it is sent, and a slow client holds no copies."""

    def __init__(self, opening: bytes, parts: Sequence[Part], *, between: bytes, closing: bytes) -> None:
        super().__init__(parts, content_type="application/json")
        self._opening, self._parts, self._between, self._closing = opening, parts, between, closing
        size = len(opening) + sum(map(len, parts)) + len(between) * max(0, len(parts) - 1) + len(closing)
        self._size = size

    def __bytes__(self) -> bytes:
        """All of it."""
        return self._opening + self._between.join(self._parts) + self._closing

    def __len__(self) -> int:
        """How many bytes there are."""
        return self._size or 0

    def __iter__(self) -> Iterator[bytes]:
        """The pieces in order."""
        before, taken, size = self._opening, list[Part](), 0
        for part in self._parts:
            taken.append(part)
            size += len(part)
            if size >= PIECE:
                yield before + self._between.join(taken)
                before, taken, size = self._between, [], 0
        yield (before if taken or before is self._opening else b"") + self._between.join(taken) + self._closing

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """All of it as text."""
        return bytes(self).decode(encoding, errors)

    async def write(self, writer: AbstractStreamWriter) -> None:
        """Send it, as fast as its client reads."""
        for piece in self:
            await writer.write(piece)
