"""The OpenAPI v2 document in protobuf, for `kubectl explain --output plaintext-openapiv2` and old clients."""

import json
import struct
from collections.abc import Iterable, Mapping
from typing import Any

ASKED = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
"""The media type in a request."""
CONTENT_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
"""The media type of the answer: a dot where the request has an at sign."""

_TEXTS = {"$ref": 1, "format": 2, "description": 4, "pattern": 13}
_LIMITS = {"maximum": 7, "minimum": 9}
_COUNTS = {"maxLength": 11, "minLength": 12, "maxItems": 14, "minItems": 15, "minProperties": 18}


def encode_v2(document: Mapping[str, Any]) -> bytes:
    """The document's version, title and definitions; its paths are left out, which no client reads in this form."""
    info = document["info"]
    return b"".join(
        (
            _text(1, document["swagger"]),
            _bytes(2, _text(1, info["title"]) + _text(2, info["version"])),
            _bytes(9, _named(document["definitions"])),
        )
    )


def _named(schemas: Mapping[str, Any]) -> bytes:
    return b"".join(_bytes(1, _text(1, name) + _bytes(2, _schema(schema))) for name, schema in schemas.items())


def _schema(schema: Mapping[str, Any]) -> bytes:
    parts: list[bytes] = []
    for key, value in schema.items():
        if key in _TEXTS:
            parts.append(_text(_TEXTS[key], value))
        elif key in _LIMITS:
            parts.append(_tag(_LIMITS[key], 1) + struct.pack("<d", value))
        elif key in _COUNTS:
            parts.append(_tag(_COUNTS[key], 0) + _varint(value))
        elif key.startswith("x-"):
            parts.append(_bytes(31, _text(1, key) + _bytes(2, _any(value))))
        else:
            parts.append(_keyword(key, value))
    return b"".join(parts)


def _keyword(key: str, value: Any) -> bytes:
    match key:
        case "default":
            return _bytes(5, _any(value))
        case "required":
            return b"".join(_text(19, name) for name in value)
        case "enum":
            return b"".join(_bytes(20, _any(item)) for item in value)
        case "additionalProperties":
            return _bytes(21, _bytes(1, _schema(value)))
        case "type":
            return _bytes(22, _text(1, value))
        case "items":
            return _bytes(23, _bytes(1, _schema(value)))
        case "properties":
            return _bytes(25, _named(value))
        case _:
            # OpenAPI v2 has no word for anything else that a schema of ours says.
            return b""


def _any(value: Any) -> bytes:
    # YAML is asked for here, and JSON is YAML.
    return _text(2, json.dumps(value, ensure_ascii=False))


def _tag(number: int, form: int) -> bytes:
    return _varint(number << 3 | form)


def _text(number: int, value: str) -> bytes:
    return _bytes(number, value.encode())


def _bytes(number: int, value: bytes) -> bytes:
    return _tag(number, 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    return bytes(_groups(value))


def _groups(value: int) -> Iterable[int]:
    while value > 0x7F:
        yield value & 0x7F | 0x80
        value >>= 7
    yield value
