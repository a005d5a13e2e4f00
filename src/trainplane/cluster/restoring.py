"""What a strategic merge left, read into the fields of a kind; what does not fit is told in words of its own."""

from typing import Any

from trainplane.api.meta import Raw, Wire
from trainplane.api.schema import INT_OR_STRING, Schema, openapi
from trainplane.cluster.go_words import go_words, json_word

_BASE = {"boolean": "bool", "string": "string", "number": "float64"}


class Unlike(ValueError):
    """A value that cannot be read into its field; the message is the API server's."""


def go_kind(value: Any) -> str:
    """What Go calls the kind of a value that was read without knowing its type."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "int64" if isinstance(value, int) else "float64"
    return "string" if isinstance(value, str) else "map" if isinstance(value, dict) else "slice"


def restored(raw: Raw, type_: type[Wire]) -> Raw:
    """The object with whole numbers where they belong, however they were written; raises Unlike."""
    found: Raw = _Reader(type_).value(raw, openapi(type_), ())
    return found


def _int_or_string(value: Any) -> int | str:
    """What such a field holds: it is read as JSON, by itself."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and -(2**31) <= value < 2**31:
        return value
    word = json_word(value)
    raise Unlike(
        f"json: cannot unmarshal {f'number {value}' if word == 'number' else word} into Go value of type int32"
    )


class _Reader:
    def __init__(self, type_: type[Wire]) -> None:
        self._type = type_

    def value(self, value: Any, schema: Schema, path: tuple[str | int, ...]) -> Any:
        if value is None:
            return None
        kind = schema.get("type")
        if kind == "object":
            return self._object(value, schema, path)
        if kind == "array":
            if not isinstance(value, list):
                raise Unlike(f"cannot restore slice from {go_kind(value)}")
            items = schema.get("items", {})
            return [self.value(item, items, (*path, index)) for index, item in enumerate(value)]
        if INT_OR_STRING in schema and "pattern" not in schema:
            return _int_or_string(value)
        if kind is None or schema.get("format") in ("byte", "date-time"):
            return value
        return self._scalar(value, schema, path)

    def _object(self, value: Any, schema: Schema, path: tuple[str | int, ...]) -> Raw:
        properties, others = schema.get("properties"), schema.get("additionalProperties")
        if not isinstance(value, dict):
            raise Unlike(f"cannot restore {'map from' if properties is None else 'struct from:'} {go_kind(value)}")
        if properties is None and others is None:
            return value
        made = {}
        for name, item in value.items():
            child = properties.get(name) if properties is not None else others
            made[name] = item if child is None else self.value(item, child, (*path, name))
        return made

    def _scalar(self, value: Any, schema: Schema, path: tuple[str | int, ...]) -> Any:
        kind = schema["type"]
        if kind == "integer" and isinstance(value, float) and value.is_integer():
            return int(value)
        fits = {"string": str, "boolean": bool, "integer": int, "number": int | float}[kind]
        if isinstance(value, fits) and (kind == "boolean" or not isinstance(value, bool)):
            return value
        base = _BASE.get(kind) or schema.get("format", "int64")
        numbers = isinstance(value, int | float) and not isinstance(value, bool)
        # Go turns numbers into numbers, and whole ones into text of one character: both are refused in other words.
        if numbers and (kind == "integer" or (kind == "string" and isinstance(value, int))):
            raise Unlike(f"cannot convert {go_kind(value)} to {go_words(self._type, path).type}")
        raise Unlike(f"unrecognized type: {base}")
