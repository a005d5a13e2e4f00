"""Objects that are stored as JSON, decoded: those in the news are kept, and large parts that many have are shared."""

import orjson

from trainplane.api.meta import Raw
from trainplane.cluster.fields import Fields, tree

_MOST = 1 << 19
_FIELDS = b'"fieldsV1":'
_ENDS = (b'}},{"manager":', b"}}]", b'},"subresource":')
_WORTH = 400
"""How long the fields of a manager are in JSON where they are worth to be looked for."""


class Decoded:
    """Objects that were decoded, or encoded, a short time ago: others will ask for them soon.

    Decoded objects are ten times as large as their text, so only those in the news are worth keeping: of twice `most`
    bytes of text. They go by the identity of their text, which is kept beside them: to hash it takes as long as
    to write it.
    """

    def __init__(self) -> None:
        self.most = _MOST
        self._new: dict[int, tuple[bytes, Raw]] = {}
        self._older: dict[int, tuple[bytes, Raw]] = {}
        self._size = 0

    def get(self, value: bytes) -> Raw:
        """The object that some JSON stands for."""
        found = self._new.get(id(value))
        if found is None:
            found = self._older.get(id(value)) or (value, loads(value))
            self.put(*found)
        return found[1]

    def put(self, value: bytes, obj: Raw) -> None:
        """Let `obj` be what the JSON stands for."""
        if self._size > self.most:
            self._older, self._new, self._size = self._new, {}, 0
        self._new[id(value)] = value, obj
        self._size += len(value)

    def drop(self, value: bytes) -> None:
        """Nobody can ask for this any more."""
        if self._new.pop(id(value), None):
            self._size -= len(value)
        else:
            self._older.pop(id(value), None)


DECODED = Decoded()


def loads(value: bytes) -> Raw:
    """The object that some JSON stands for; the fields that its managers own are shared with others that have them."""
    found: list[tuple[int, int, Fields]] = []
    start = value.find(_FIELDS)
    while start >= 0:
        start += len(_FIELDS)
        ends = [at for at in (value.find(end, start) for end in _ENDS) if at >= 0]
        end = min(ends) + 1 if ends else start
        if end - start >= _WORTH:
            try:
                # What is a whole object ends where it was thought to.
                found.append((start, end, tree(value[start:end])))
            except orjson.JSONDecodeError:
                return orjson.loads(value)  # type: ignore[no-any-return]
        start = value.find(_FIELDS, max(start, end))
    return _joined(value, found) if found else orjson.loads(value)


def _joined(value: bytes, found: list[tuple[int, int, Fields]]) -> Raw:
    """The object with these trees in the entries of its managedFields, where they are written."""
    parts: list[bytes] = []
    at = 0
    for number, (start, end, _) in enumerate(found):
        parts += (value[at:start], b"%d" % number)
        at = end
    raw: Raw = orjson.loads(b"".join((*parts, value[at:])))
    left = len(found)
    for entry in raw["metadata"].get("managedFields") or ():
        number = entry.get("fieldsV1")
        if number.__class__ is int:
            entry["fieldsV1"] = found[number][2]
            left -= 1
    return raw if not left else orjson.loads(value)
