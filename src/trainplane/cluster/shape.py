"""The shape of what is sent: unknown and repeated fields, wrong types, and the spelling that is kept.

Built-in kinds are read as the API server reads them into its structs: the first wrong type ends it, amounts and times
get their canonical form, and what is empty is as if left out. Kinds of CRDs keep what was written, and everything
that is wrong with them is told at once, by `crd_causes`.
"""

import binascii
import re
from base64 import b64decode
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import Any, NamedTuple

from trainplane.api.kinds import Kind
from trainplane.api.meta import ObjectMeta, Raw
from trainplane.api.problem import show
from trainplane.api.quantity import QuantityError, canonical, parse
from trainplane.api.schema import INT_OR_STRING, PRESERVE, Schema, openapi
from trainplane.cluster.empties import is_left_out
from trainplane.cluster.go_words import go_words, json_word

MAX_DEPTH = 200
"""How deep objects may be nested; deeper ones are nobody's."""

_QUANTITY_RULE = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)\Z", re.ASCII)
_RANGES = {"int32": 2**31, "int64": 2**63}
_MICRO = frozenset(["renewTime", "acquireTime", "eventTime", "lastObservedTime"])
_NOTHING: Raw = {}
_UNKNOWN = (None, None, None)
_SMALL = range(-_RANGES["int32"], _RANGES["int32"])
_AS_WRITTEN = frozenset([str, int, bool])
"""Values that are kept as they are in kinds of CRDs, whatever they are for."""


class Findings:
    """What was noticed on the way through an object; `strict` are the words of unknown and repeated fields."""

    def __init__(self, repeated: Mapping[int, list[str]] | None = None) -> None:
        self.strict: list[str] = []
        self.repeated = repeated or {}
        """The keys that an object, by its identity, was given twice."""

    def unknown(self, path: list[str | int], name: str) -> None:
        """A field that the schema does not know."""
        where = f"{show(tuple(path))}.{name}" if path else name
        self.strict.append(f'unknown field "{where}"')

    def twice(self, value: Any, path: list[str | int], name: str) -> None:
        """Remember a field that was given twice, if it was."""
        if self.repeated and name in self.repeated.get(id(value), ()):
            self.strict.append(f'duplicate field "{show((*path, name))}"')


class WrongShape(ValueError):
    """A value that cannot be read into its field; the message is the API server's."""


@cache
def _metadata_schema() -> Schema:
    return openapi(ObjectMeta)


def built_in(raw: Raw, row: Kind, findings: Findings, *, old: Raw | None = None) -> Raw:
    """An object of a built-in kind as it is kept; raises WrongShape at the first value of a wrong type.

    What it shares with the `old` one, which is kept already, has its shape.
    """
    walk = _BuiltIn(row, findings)
    return walk.object(raw, openapi(row.type), old)


def custom(raw: Raw, row: Kind, findings: Findings, *, old: Raw | None = None) -> Raw:
    """An object of a CRD's kind without the fields that its schema does not know; its metadata is read strictly."""
    schema = openapi(row.type)
    metadata = raw.get("metadata")
    pruned = _pruned({key: item for key, item in raw.items() if key != "metadata"}, schema, [], findings, old)
    if isinstance(metadata, dict):
        walk = _BuiltIn(row, findings, inside="metadata.")
        walk.path.append("metadata")
        metadata = walk.object(metadata, _metadata_schema(), (old or _NOTHING).get("metadata"))
    findings.strict.sort()
    return {**pruned, "metadata": metadata or {}}


def _pruned(value: Any, schema: Schema, path: list[str | int], findings: Findings, old: Any = None) -> Any:
    if value is old:
        return value
    if isinstance(value, dict):
        properties, others = schema.get("properties", _NOTHING), schema.get("additionalProperties")
        before = old if isinstance(old, dict) else _NOTHING
        repeated = findings.repeated
        kept: Raw = {}
        for name, item in value.items():
            child = properties.get(name, others)
            if child is None:
                if schema.get(PRESERVE):
                    kept[name] = copied(item)
                else:
                    findings.unknown(path, name)
                continue
            if repeated:
                findings.twice(value, path, name)
            if item.__class__ in _AS_WRITTEN:
                kept[name] = item
            elif item is not None or not child:
                # What stands before the schema reads a null as nothing said.
                path.append(name)
                kept[name] = _pruned(item, child, path, findings, before.get(name))
                path.pop()
        return kept
    if isinstance(value, list):
        if "items" not in schema:
            return copied(value)
        if _AS_WRITTEN.issuperset(map(type, value)):
            return list(value)
        kept_items = []
        for index, item in enumerate(value):
            path.append(index)
            kept_items.append(_pruned(item, schema["items"], path, findings, _item(old, index)))
            path.pop()
        return kept_items
    # A whole number is one however it is written; one client sends all amounts as 4.0.
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value


def copied(value: Any) -> Any:
    """A copy of a JSON value, so that what is kept does not change when its sender's does."""
    if isinstance(value, dict):
        return {name: copied(item) for name, item in value.items()}
    return [copied(item) for item in value] if isinstance(value, list) else value


def _item(old: Any, index: int) -> Any:
    return old[index] if isinstance(old, list) and index < len(old) else None


class _Fields(NamedTuple):
    """The fields of an object, with their schema, so that no other can come to have its identity."""

    schema: Schema
    named: dict[str, tuple[Schema, type | None, bool | None]]
    """Each with the class whose values need no further look unless they are empty or large, and whether it is a time:
    with parts of a second or without."""
    texts: frozenset[str]
    """Those whose text stays as it is."""


_KNOWN: dict[int, _Fields] = {}
_TEXT = frozenset([str])


def _fields(schema: Schema) -> _Fields:
    known = _KNOWN.get(id(schema))
    if known is None:
        named = {
            name: (child, _plain(child), name in _MICRO if child.get("format") == "date-time" else None)
            for name, child in schema["properties"].items()
        }
        texts = frozenset(name for name, (_, plain, _) in named.items() if plain is str)
        known = _KNOWN[id(schema)] = _Fields(schema, named, texts)
    return known


def _plain(schema: Schema) -> type | None:
    kind = schema.get("type")
    if kind == "string" and schema.get("format") not in ("byte", "date-time"):
        return str
    return {"boolean": bool, "integer": int}.get(kind or "")


def _is_plain(value: Raw, texts: frozenset[str]) -> bool:
    """Whether an object holds nothing but text that stays as it is."""
    return texts.issuperset(value) and _TEXT.issuperset(map(type, value.values())) and all(value.values())


class _BuiltIn:
    """One walk through an object of a built-in kind."""

    def __init__(self, row: Kind, findings: Findings, *, inside: str = "") -> None:
        self._inside = inside
        """What of a path Go does not see, for it reads a part alone."""
        self._row = row
        self._findings = findings
        self.path: list[str | int] = []

    def object(self, value: Raw, schema: Schema, old: object = None) -> Raw:
        """An object with named fields."""
        if value is old:
            return value
        fields, findings = _fields(schema).named, self._findings
        required = schema.get("required", ())
        before = old if isinstance(old, dict) else _NOTHING
        kept: Raw = {}
        for name, item in value.items():
            child, plain, micro = fields.get(name, _UNKNOWN)
            if child is None:
                # Templates have whole metadata in built-in kinds; what nobody reads there is dropped in silence.
                if self.path[-1:] != ["metadata"] or name not in _metadata_schema()["properties"]:
                    findings.unknown(self.path, name)
                continue
            if findings.repeated:
                findings.twice(value, self.path, name)
            if item.__class__ is plain and item and (plain is not int or item in _SMALL):
                kept[name] = item
                continue
            if item is None:
                continue
            was = before.get(name)
            if was is item:
                kept[name] = item
                continue
            if micro is not None and item.__class__ is str:
                kept[name] = _time(item, micro=micro)
                continue
            self.path.append(name)
            found = self._value(item, child, was)
            self.path.pop()
            if found or name in required or not self._is_left_out(name, found, child):
                kept[name] = found
        return kept

    def _is_left_out(self, name: str, value: Any, schema: Schema) -> bool:
        steps = self.path
        holder = (steps[-1] if isinstance(steps[-1], str) else steps[-2]) if steps else ""
        return is_left_out(value, schema, kind=self._row.kind, place=(str(holder), name))

    def _value(self, value: Any, schema: Schema, old: Any = None) -> Any:
        kind = schema.get("type")
        if kind == "object":
            if not isinstance(value, dict):
                raise self._wrong(value)
            if "properties" in schema:
                return self.object(value, schema, old)
            others = schema.get("additionalProperties")
            if value is old:
                return value
            return self._map(value, others) if others is not None else copied(value)
        if kind == "array":
            return value if value is old else self._list(value, schema, old)
        if kind == "string":
            return self._text(value, schema)
        if kind == "boolean":
            if not isinstance(value, bool):
                raise self._wrong(value)
        elif kind == "integer":
            limit = _RANGES.get(schema.get("format", ""), 2**63)
            if not isinstance(value, int) or isinstance(value, bool) or not -limit <= value < limit:
                raise self._wrong(value)
        elif INT_OR_STRING in schema:
            return self._int_or_string(value, schema)
        else:
            return copied(value)
        return value

    def _map(self, value: Raw, others: Schema) -> Raw:
        plain = _plain(others)
        if plain is str and not self._findings.repeated and all(item.__class__ is str for item in value.values()):
            return dict(value)
        kept = {}
        for name, item in value.items():
            self._findings.twice(value, self.path, name)
            if item is None:
                if others.get("type") == "string":
                    kept[name] = ""
                elif "pattern" in others:
                    # An amount of which nothing is said is none.
                    kept[name] = "0"
                continue
            self.path.append(name)
            kept[name] = self._value(item, others)
            self.path.pop()
        return kept

    def _list(self, value: Any, schema: Schema, old: Any = None) -> list[Any]:
        if not isinstance(value, list):
            raise self._wrong(value)
        kept: list[Any] = []
        items = schema.get("items", {})
        texts: frozenset[str] = frozenset()
        if "properties" in items and not self._findings.repeated:
            texts = _fields(items).texts
        for index, item in enumerate(value):
            if texts and item.__class__ is dict and _is_plain(item, texts):
                kept.append(dict(item))
                continue
            self.path.append(index)
            if item is None:
                item = {"string": "", "object": {}, "integer": 0}.get(items.get("type", ""))
            kept.append(self._value(item, items, _item(old, index)) if item is not None else item)
            self.path.pop()
        return kept

    def _text(self, value: Any, schema: Schema) -> str:
        if not isinstance(value, str):
            raise self._wrong(value)
        form = schema.get("format")
        if form == "byte":
            try:
                b64decode(value.replace("\n", "").replace("\r", ""), validate=True)
            except (binascii.Error, ValueError):
                raise WrongShape(f"illegal base64 data at input byte {_bad_byte(value)}") from None
        elif form == "date-time":
            return _time(value, micro=self.path[-1] in _MICRO)
        return value

    def _int_or_string(self, value: Any, schema: Schema) -> Any:
        if "pattern" not in schema:
            whole = isinstance(value, int) and not isinstance(value, bool)
            if isinstance(value, str) or (whole and -_RANGES["int32"] <= value < _RANGES["int32"]):
                return value
            raise self._wrong(value)
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise WrongShape(_QUANTITY_RULE)
        try:
            found = canonical(value)
            return found if found[-1:] not in ("n", "u") else _in_thousandths(found)
        except QuantityError:
            raise WrongShape(_QUANTITY_RULE) from None

    def _wrong(self, value: Any) -> WrongShape:
        words = go_words(self._row.type, tuple(self.path))
        said = json_word(value)
        if said == "number" and words.type in ("int32", "int64"):
            said = f"number {value}"
        place = f"{words.struct}.{words.path.removeprefix(self._inside)}"
        return WrongShape(f"json: cannot unmarshal {said} into Go struct field {place} of type {words.type}")


def _in_thousandths(amount: str) -> str:
    """An amount that is finer than a thousandth, rounded up to one."""
    return canonical(f"{-(-parse(amount).nano // 10**6)}m")


def _beyond(day: str, time: str) -> str:
    """The part of a time that there is not."""
    parts = {"month": int(day[5:7]) - 1, "hour": int(time[:2]), "minute": int(time[3:5]), "second": int(time[6:8])}
    limits = {"month": 12, "hour": 24, "minute": 60, "second": 60}
    return next((name for name, number in parts.items() if not 0 <= number < limits[name]), "day")


@lru_cache(maxsize=1024)
def _time(value: str, *, micro: bool) -> str:
    found = _TIME.match(value)
    layout = "2006-01-02T15:04:05.000000Z07:00" if micro else "2006-01-02T15:04:05Z07:00"
    if found is None:
        rest, part = _unread(value)
        raise WrongShape(f'parsing time "{value}" as "{layout}": cannot parse "{rest}" as "{part}"')
    if not 1 <= int(found[1][5:7]) <= 12:
        raise WrongShape(f'parsing time "{value}": month out of range')
    if micro and len(found[3] or "") != 7:
        rest = f"{found[3] or ''}{found[4]}"
        raise WrongShape(f'parsing time "{value}" as "{layout}": cannot parse "{rest}" as ".000000"')
    try:
        moment = datetime.fromisoformat(f"{found[1]}T{found[2]}{(found[3] or '')[:7]}{found[4]}").astimezone(UTC)
    except (ValueError, OverflowError):
        raise WrongShape(f'parsing time "{value}": {_beyond(found[1], found[2])} out of range') from None
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ" if micro else "%Y-%m-%dT%H:%M:%SZ")


def _unread(value: str) -> tuple[str, str]:
    """What is left of a text where it stops being a time, and the part of one that should stand there."""
    rest = value
    for part in ("2006", "-", "01", "-", "02", "T", "15", ":", "04", ":", "05"):
        form = rf"\d{{{len(part)}}}" if part.isdigit() else re.escape(part)
        found = re.match(form, rest, re.ASCII)
        if found is None:
            return rest, part
        rest = rest[found.end() :]
    return rest, "Z07:00"


def _bad_byte(text: str) -> int:
    found = re.search(r"[^A-Za-z0-9+/\r\n]", text)
    return found.start() if found else len(text) // 4 * 4
