"""What a CRD's schema and laws refuse in an object, as causes in the words of a real API server."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from trainplane.api.check import is_time
from trainplane.api.compiled import lawful
from trainplane.api.meta import Raw, Wire
from trainplane.api.problem import Path, show
from trainplane.api.raw import look
from trainplane.api.schema import INT_OR_STRING, LIST_MAP_KEYS, LIST_TYPE, Schema, openapi
from trainplane.api.structural import has_laws, unlawful
from trainplane.cluster.causes import (
    INVALID,
    NOT_SUPPORTED,
    REQUIRED,
    TOO_LONG,
    TOO_MANY,
    TYPE_INVALID,
    Cause,
    duplicate,
    invalid,
    not_supported,
    required,
    shown,
    too_long,
    too_many,
    wrong_type,
)
from trainplane.cluster.causes import unlawful as unlawful_cause
from trainplane.cluster.crd_tests import tests
from trainplane.cluster.go_words import json_word
from trainplane.cluster.patterns import RANGES, compiled

_WHOLE = 2**63
UNCHECKED = Cause(
    INVALID,
    "<nil>",
    "Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation",
)
"""What follows the causes of a schema: laws are judged only where the shape is right."""
_ABSENT = object()
BLOCKING = (REQUIRED, NOT_SUPPORTED, TOO_LONG, TOO_MANY, TYPE_INVALID)
"""The reasons that keep laws from being judged."""


def crd_causes(type_: type[Wire], new: Raw, old: Raw | None = None) -> list[Cause]:
    """Everything that the schema, and else the laws, of a kind refuse; metadata is judged elsewhere."""
    schema = openapi(type_)
    if is_fine(type_, new, old):
        return [] if old is None and lawful(type_)(new) else list(_broken(new, schema, old))
    found = shape_causes(type_, new)
    if any(cause.reason in BLOCKING for cause in found):
        return [*found, *unchecked(type_)]
    return [*found, *_broken(new, schema, old)]


@cache
def unchecked(type_: type[Wire]) -> tuple[Cause, ...]:
    """What follows the causes of a schema that has laws."""
    return (UNCHECKED,) if has_laws(openapi(type_)) else ()


def shape_causes(type_: type[Wire], new: Raw) -> list[Cause]:
    """Everything that the schema of a kind refuses, one field after the other."""
    schema = openapi(type_)
    checked = {key: item for key, item in schema["properties"].items() if key != "metadata"}
    required_here = [name for name in schema.get("required", ()) if name == "spec"]
    return list(_causes(new, {"type": "object", "properties": checked, "required": required_here}, ()))


def is_fine(type_: type[Wire], new: Raw, old: Raw | None) -> bool:
    """Whether nothing is wrong with the shape of an object; what it shares with the old one was judged before."""
    if "spec" not in new and "spec" in openapi(type_).get("required", ()):
        return False
    before = old or {}
    for name, test in tests(type_).items():
        if name in new and before.get(name, _ABSENT) is not new[name] and not test(new[name]):
            return False
    return True


def _broken(new: Raw, schema: Schema, old: Raw | None) -> Iterator[Cause]:
    for path, law in unlawful(new, schema, old=old):
        # A law about the whole object is told of no field, as is one about its metadata.
        where = "<nil>" if not path or path[0] == "metadata" else show(path)
        value = look(new, *path) if path else None
        if isinstance(value, str | int | float) and where != "<nil>":
            yield invalid(where, value, law.message)
        else:
            yield unlawful_cause(where, law.message)


def _causes(value: Any, schema: Schema, path: Path) -> Iterator[Cause]:
    kind = schema.get("type")
    form = schema.get("format", "")
    if form in RANGES and isinstance(value, int | float | dict) and not isinstance(value, bool):
        yield from _whole(value, schema, path)
    elif not _fits(value, schema):
        if INT_OR_STRING in schema:
            yield from _neither(value, path)
        elif kind == "integer" and isinstance(value, float):
            yield Cause(TYPE_INVALID, show(path), _must_be(path, value, kind))
        else:
            yield _wrong(value, path, kind)
    elif isinstance(value, dict):
        yield from _object(value, schema, path)
    elif isinstance(value, list):
        yield from _list(value, schema, path)
    elif isinstance(value, str):
        yield from _text(value, schema, path)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _number(value, schema, path)


def _neither(value: Any, path: Path) -> Iterator[Cause]:
    """What is said of a value that is neither a whole number nor a text: its field is judged by three schemas."""
    yield Cause(INVALID, "<nil>", f'Invalid value: "": "{show(path)}" must validate at least one schema (anyOf)')
    if isinstance(value, int | float) and not isinstance(value, bool):
        words = f"Checked value must be of type integer (default format) in {show(path)}"
        yield Cause(INVALID, "<nil>", f'Invalid value: "": {words}')
    yield _wrong(value, path, "integer,string")
    yield _wrong(value, path, "integer")


def _wrong(value: Any, path: Path, wanted: Any) -> Cause:
    word = _type_word(value)
    return Cause(TYPE_INVALID, show(path), f'Invalid value: "{word}": {_body(path, wanted)}: "{word}"')


def _whole(value: Any, schema: Schema, path: Path) -> Iterator[Cause]:
    """What is wrong with a number that should be whole and of some size, or with what stands in its place."""
    form = schema["format"]
    low, high = RANGES[form]
    is_whole = isinstance(value, int) and abs(value) < _WHOLE
    if not is_whole:
        word = "" if isinstance(value, dict) else "float64"
        yield Cause(TYPE_INVALID, show(path), f'Invalid value: "{word}": {_body(path, form)}: "{word}"')
    if not isinstance(value, dict) and not (is_whole and low <= value <= high):
        words = f"Checked value must be of type integer with format {form} in {show(path)}"
        yield Cause(INVALID, "<nil>", f'Invalid value: "": {words}')
    elif is_whole:
        yield from _number(value, schema, path)


def _body(path: Path, wanted: Any) -> str:
    return f"{_in_body(path)} in body must be of type {wanted}"


def _in_body(path: Path) -> str:
    """A path as messages have it: those of a status begin below it."""
    return show(path[1:] if path[:1] == ("status",) else path)


def _must_be(path: Path, value: Any, wanted: Any) -> str:
    return f'Invalid value: "number": {_body(path, wanted)}: "{_type_word(value)}"'


def _fits(value: Any, schema: Schema) -> bool:
    match schema.get("type"):
        case "object":
            return isinstance(value, Mapping)
        case "array":
            return isinstance(value, list)
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
    if INT_OR_STRING in schema:
        return isinstance(value, str) or (
            isinstance(value, int) and not isinstance(value, bool) and abs(value) < _WHOLE
        )
    return True


def _type_word(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int) and abs(value) < _WHOLE:
        return "integer"
    return json_word(value)


def _object(value: Mapping[str, Any], schema: Schema, path: Path) -> Iterator[Cause]:
    properties, others = schema.get("properties", {}), schema.get("additionalProperties")
    for name, item in value.items():
        child = properties.get(name, others)
        if child is not None:
            yield from _causes(item, child, (*path, name))
    for name in schema.get("required", ()):
        if name not in value:
            yield required(show((*path, name)))
    least = schema.get("minProperties", 0)
    if len(value) < least:
        yield invalid(show(path), len(value), f"{_in_body(path)} in body should have at least {least} properties")


def _list(value: list[Any], schema: Schema, path: Path) -> Iterator[Cause]:
    where, least, most = show(path), schema.get("minItems"), schema.get("maxItems")
    if least is not None and len(value) < least:
        yield invalid(where, len(value), f"{where} in body should have at least {least} items")
    if most is not None and len(value) > most:
        yield too_many(where, len(value), most)
    items = schema.get("items", {})
    for index, item in enumerate(value):
        yield from _causes(item, items, (*path, index))
    if schema.get(LIST_TYPE) in ("map", "set"):
        yield from _repeated(value, schema, path)


def _repeated(value: list[Any], schema: Schema, path: Path) -> Iterator[Cause]:
    seen: set[str] = set()
    keys = schema.get(LIST_MAP_KEYS)
    properties = schema.get("items", {}).get("properties", {})
    for index, item in enumerate(value):
        what = item
        if keys is not None:
            if not isinstance(item, dict):
                yield invalid(show((*path, index)), item, "must be an object for an array of list-type map")
                continue
            what = {key: item.get(key, properties.get(key, {}).get("default")) for key in sorted(keys)}
            what = {key: part for key, part in what.items() if part is not None}
        mark = shown(what)
        if mark in seen:
            yield duplicate(show((*path, index)), what)
        seen.add(mark)


def _text(value: str, schema: Schema, path: Path) -> Iterator[Cause]:
    where = show(path)
    least, most, pattern = schema.get("minLength"), schema.get("maxLength"), schema.get("pattern")
    if least is not None and len(value) < least:
        yield invalid(where, value, f"{where} in body should be at least {least} chars long")
    if most is not None and len(value) > most:
        yield too_long(where, most)
    if pattern and not compiled(pattern).search(value):
        yield invalid(where, value, f"{where} in body should match '{pattern}'")
    if schema.get("format") == "date-time" and not is_time(value):
        yield wrong_type(where, value, f'{_body(path, "date-time")}: "{value}"')
    if "enum" in schema and value not in schema["enum"]:
        yield not_supported(where, value, schema["enum"])


def _number(value: float, schema: Schema, path: Path) -> Iterator[Cause]:
    where = show(path)
    low, high = RANGES.get(schema.get("format", ""), (None, None))
    low, high = schema.get("minimum", low), schema.get("maximum", high)
    if low is not None and value < low:
        yield invalid(where, value, f"{where} in body should be greater than or equal to {low}")
    if high is not None and value > high:
        yield invalid(where, value, f"{where} in body should be less than or equal to {high}")
