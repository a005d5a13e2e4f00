"""Kubernetes protobuf, as kubectl's typed commands send it, read into the JSON objects that it stands for."""

import base64
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from trainplane.api.meta import Raw

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
MAGIC = b"k8s\x00"

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_PACKAGES = {
    "v1": "core",
    "batch/v1": "batch",
    "rbac.authorization.k8s.io/v1": "rbac",
    "scheduling.k8s.io/v1": "scheduling",
    "coordination.k8s.io/v1": "coordination",
    "discovery.k8s.io/v1": "discovery",
    "events.k8s.io/v1": "events",
    "node.k8s.io/v1": "node",
    "autoscaling/v2": "autoscaling",
    "autoscaling/v1": "scale",
    "authorization.k8s.io/v1": "authorization",
    "authentication.k8s.io/v1": "authentication",
    "policy/v1": "policy",
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ZERO_TIME = -62135596800
"""Go's zero time, in seconds since 1970."""


class ProtobufError(ValueError):
    """A body that cannot be read; answered with 400."""


class NotInProtobuf(ValueError):
    """A kind that is not taken in protobuf; answered with 415, and the message says how to send it."""


class _Field(msgspec.Struct, frozen=True):
    """How one field of a message is read."""

    name: str
    type: str
    repeated: bool
    mapped: bool
    zero_counts: bool
    inline: bool


def decode(body: bytes) -> Raw:
    """The object in a protobuf body, with its apiVersion and kind; raises ProtobufError or NotInProtobuf."""
    if not body.startswith(MAGIC):
        raise ProtobufError("the body does not begin with the four bytes of Kubernetes protobuf; send JSON")
    api_version = kind = ""
    content = b""
    for number, value in fields_of(body[len(MAGIC) :]):
        if number == 1:
            said = {key: _text(item) for key, item in fields_of(_bytes(value)) if key in (1, 2)}
            api_version, kind = said.get(1, ""), said.get(2, "")
        elif number == 2:
            content = _bytes(value)
        elif number == 3 and value:
            raise ProtobufError(f"the encoding {_text(value)!r} inside a protobuf body is not known; send JSON")
    message = _message_of(api_version, kind)
    return {"apiVersion": api_version, "kind": kind, **_object(message, content)}


def takes(api_version: str, kind: str) -> bool:
    """Whether objects of a kind are taken in protobuf."""
    package = "meta" if kind == "DeleteOptions" else _PACKAGES.get(api_version, "")
    return f"{package}.{kind}" in _table()


def _message_of(api_version: str, kind: str) -> str:
    if not takes(api_version, kind):
        said = f"{kind or 'an object without kind'} of {api_version or 'no apiVersion'}"
        raise NotInProtobuf(f"{said} is not taken in protobuf; send it as application/json")
    return "meta.DeleteOptions" if kind == "DeleteOptions" else f"{_PACKAGES[api_version]}.{kind}"


@cache
def _table() -> dict[str, str]:
    text = files("trainplane.cluster").joinpath("protobuf_fields.json").read_text(encoding="utf-8")
    table: dict[str, str] = json.loads(text)
    return table


@cache
def _message(name: str) -> dict[int, _Field]:
    """The fields of a message by number."""
    fields = {}
    for line in filter(None, _table()[name].split(";")):
        number, field, type_, marks = (*line.split(" "), "")[:4]
        bare = type_.removesuffix("*").removesuffix("{}")
        fields[int(number)] = _Field(
            field, bare, type_.endswith("*"), type_.endswith("{}"), zero_counts="z" in marks, inline="i" in marks
        )
    return fields


def _object(message: str, content: bytes) -> Raw:
    known = _message(message)
    found: Raw = {}
    for number, raw in fields_of(content):
        field = known.get(number)
        if field is None:
            if not raw:
                # A newer client writes its new fields even where it says nothing in them.
                continue
            raise ProtobufError(f"field {number} of {message.partition('.')[2]} is not known; send JSON")
        if field.mapped:
            key, value = _entry(field.type, _bytes(raw))
            found.setdefault(field.name, {})[key] = value
        elif field.repeated:
            found.setdefault(field.name, []).extend(_items(field.type, raw))
        elif field.inline:
            found |= _object(field.type, _bytes(raw))
        else:
            value = _value(field.type, raw)
            # Go writes a plain field even when nothing was said; only where the type can tell is a zero kept.
            if value is not None and (field.zero_counts or isinstance(value, dict) or value not in ("", 0, False)):
                found[field.name] = value
    return found


def _entry(type_: str, content: bytes) -> tuple[str, Any]:
    parts = dict(fields_of(content))
    empty: int | bytes = 0 if type_ in ("bool", "int32", "int64") else b""
    return _text(parts.get(1, b"")), _value(type_, parts.get(2, empty))


def _items(type_: str, raw: int | bytes) -> Iterator[Any]:
    if type_ in ("bool", "int32", "int64") and isinstance(raw, bytes):
        at = 0
        while at < len(raw):
            number, at = _varint(raw, at)
            yield _value(type_, number)
    else:
        yield _value(type_, raw)


def _value(type_: str, raw: int | bytes) -> Any:
    match type_:
        case "string":
            return _text(raw)
        case "bytes":
            return base64.b64encode(_bytes(raw)).decode()
        case "bool":
            return bool(_number(raw))
        case "int32" | "int64":
            return _signed(_number(raw))
    special = _SPECIAL.get(type_)
    return special(_bytes(raw)) if special else _object(type_, _bytes(raw))


def _time(content: bytes) -> str | None:
    parts = dict(fields_of(content))
    seconds = _signed(_number(parts.get(1, 0)))
    if not parts or seconds == _ZERO_TIME:
        return None
    return _moment(seconds).strftime("%Y-%m-%dT%H:%M:%SZ")


def _micro_time(content: bytes) -> str | None:
    parts = dict(fields_of(content))
    seconds, nanos = (_signed(_number(parts.get(key, 0))) for key in (1, 2))
    if not parts or seconds == _ZERO_TIME:
        return None
    return (_moment(seconds) + timedelta(microseconds=nanos // 1000)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _moment(seconds: int) -> datetime:
    try:
        return _EPOCH + timedelta(seconds=seconds)
    except OverflowError:
        raise ProtobufError(f"the time {seconds} is out of range; send JSON") from None


def _quantity(content: bytes) -> str:
    return _text(dict(fields_of(content)).get(1, b""))


def _int_or_string(content: bytes) -> int | str:
    parts = dict(fields_of(content))
    return _text(parts.get(3, b"")) if parts.get(1, 0) else _signed(_number(parts.get(2, 0)))


def _json(content: bytes) -> Any:
    raw = _bytes(dict(fields_of(content)).get(1, b""))
    try:
        return json.loads(raw) if raw else {}
    except ValueError:
        raise ProtobufError("an embedded object is not JSON; send the whole as JSON") from None


def _list(content: bytes) -> list[str]:
    return [_text(value) for number, value in fields_of(content) if number == 1]


_SPECIAL: dict[str, Callable[[bytes], Any]] = {
    "meta.Time": _time,
    "meta.MicroTime": _micro_time,
    "meta.FieldsV1": _json,
    "runtime.RawExtension": _json,
    "quantity.Quantity": _quantity,
    "intstr.IntOrString": _int_or_string,
    "authentication.ExtraValue": _list,
    "authorization.ExtraValue": _list,
}
"""Messages that JSON writes as something else than an object."""


def fields_of(content: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Each field of a message: its number, and a number or bytes."""
    at = 0
    while at < len(content):
        tag, at = _varint(content, at)
        number, form = tag >> 3, tag & 7
        if form == _VARINT:
            value, at = _varint(content, at)
            yield number, value
            continue
        if form == _BYTES:
            size, at = _varint(content, at)
        elif form in (_FIXED64, _FIXED32):
            size = 8 if form == _FIXED64 else 4
        else:
            raise ProtobufError(f"field {number} has the unknown wire type {form}; send JSON")
        end = at + size
        if number == 0 or end > len(content):
            raise ProtobufError("the protobuf body ends in the middle of a field; send it again, or as JSON")
        yield number, content[at:end]
        at = end


def _varint(content: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 70:
        if at >= len(content):
            raise ProtobufError("the protobuf body ends in the middle of a number; send it again, or as JSON")
        byte = content[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value & (2**64 - 1), at
    raise ProtobufError("a number in the protobuf body has too many bytes; send JSON")


def _signed(value: int) -> int:
    return value - 2**64 if value >= 2**63 else value


def _number(value: int | bytes) -> int:
    if isinstance(value, int):
        return value
    raise ProtobufError("a text stands where a number belongs in the protobuf body; send JSON")


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, bytes):
        return value
    raise ProtobufError("a number stands where a text belongs in the protobuf body; send JSON")


def _text(value: int | bytes) -> str:
    try:
        return _bytes(value).decode()
    except UnicodeDecodeError:
        raise ProtobufError("a text in the protobuf body is not UTF-8; send JSON") from None
