"""The bodies of requests: JSON read into objects, with the keys that were written twice."""

import json
import re
from collections.abc import Mapping
from typing import Any

import orjson

from trainplane.api.problem import Path
from trainplane.cluster.errors import BadRequest

_SHOWN = 30


class Body:
    """A body that was read; `repeated` has, by the identity of an object in it, the keys that it was given twice."""

    __slots__ = ("lines", "repeated", "value")

    def __init__(self, value: Any, repeated: Mapping[int, list[str]] | None = None, lines: list[str] | None = None):
        self.value = value
        self.repeated = repeated or {}
        self.lines = lines or []
        """What YAML says of keys that were written twice, by line."""

    def twice(self) -> list[Path]:
        """The paths of what was given twice, in an object or in the values of a JSON patch."""
        if not self.repeated:
            return []
        found: list[Path] = []
        if isinstance(self.value, list):
            for operation in self.value:
                if isinstance(operation, dict) and isinstance(operation.get("path"), str):
                    start = tuple(operation["path"].split("/")[1:])
                    self._seek(operation.get("value"), start, found)
        else:
            self._seek(self.value, (), found)
        return found

    def _seek(self, value: Any, path: Path, found: list[Path]) -> None:
        if isinstance(value, dict):
            for name, item in value.items():
                if name in self.repeated.get(id(value), ()):
                    found.append((*path, name))
                self._seek(item, (*path, name), found)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                self._seek(item, (*path, index), found)


class NotReadable(ValueError):
    """A body that is no JSON or YAML; the message is in the words of the API server's own reader."""


def read_json(data: bytes, *, lenient: bool = False) -> Body:
    """Read JSON; `lenient` does not look for keys that are written twice. Raises NotReadable."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise NotReadable(json_fault(data, error.pos)) from None
    # What comes out as it went in holds no key twice; nearly all clients write JSON without blanks.
    try:
        if lenient or not isinstance(value, dict | list) or orjson.dumps(value) == data.strip():
            return Body(value)
    except orjson.JSONEncodeError:
        raise NotReadable("exceeded max depth") from None
    repeated: dict[int, list[str]] = {}

    def noted(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            seen: set[str] = set()
            repeated[id(made)] = [key for key, _ in pairs if key in seen or seen.add(key)]  # type: ignore[func-returns-value]
        return made

    try:
        again = json.loads(data, object_pairs_hook=noted)
    except RecursionError:
        raise NotReadable("exceeded max depth") from None
    return Body(again, repeated) if repeated else Body(value)


def json_fault(data: bytes, at: int = 0) -> str:
    """What Go says of text that is no JSON; `at` is where it cannot be read on."""
    text = data.decode(errors="replace")
    if not text.strip() or at >= len(text.rstrip()):
        return "unexpected end of JSON input"
    # Go looks at single bytes.
    character = text[at] if at else data.decode("latin-1")[0]
    if not character.isprintable():
        character = f"\\u{ord(character):04x}"
    before = text[:at].rstrip()
    if before.endswith(("{", ",")) and _is_in_object(before):
        return f"invalid character '{character}' looking for beginning of object key string"
    if before.endswith((":", "[", ",")) or not before:
        return f"invalid character '{character}' looking for beginning of value"
    return f"invalid character '{character}' after top-level value"


def _is_in_object(before: str) -> bool:
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', "", before)
    depth = []
    for character in bare:
        if character in "{[":
            depth.append(character)
        elif character in "}]" and depth:
            depth.pop()
    return bool(depth) and depth[-1] == "{"


def unrecognized(kind: str, data: bytes, fault: str) -> BadRequest:
    """A body in which no object can be found."""
    text = data.decode(errors="replace") if data.lstrip()[:1] == b"{" else data.hex() or "<empty>"
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]} ..."
    return BadRequest(f"the object provided is unrecognized (must be of type {kind}): {fault} ({shown})")
