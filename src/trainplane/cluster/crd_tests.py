"""The schemas of CRDs as functions that say at speed whether a value is fine; `crd_causes` says what is wrong.

A value that they call fine has no cause. They may doubt one that has none either: then it is looked at closely.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from trainplane.api.check import is_time
from trainplane.api.meta import Wire
from trainplane.api.schema import INT_OR_STRING, LIST_MAP_KEYS, LIST_TYPE, Schema, openapi
from trainplane.cluster.patterns import RANGES, compiled

Test = Callable[[Any], bool]
_MARKS = frozenset([str, int])


@cache
def tests(type_: type[Wire]) -> Mapping[str, Test]:
    """The test of each field of a kind but its metadata."""
    properties: Mapping[str, Schema] = openapi(type_)["properties"]
    return {name: _test(child) for name, child in properties.items() if name != "metadata"}


def _test(schema: Schema) -> Test:
    match schema.get("type"):
        case "object":
            return _object(schema)
        case "array":
            return _list(schema)
        case "string":
            return _text(schema)
        case "boolean":
            return lambda value: value.__class__ is bool
        case "integer":
            return _number(schema, (int,))
        case "number":
            return _number(schema, (int, float))
    if INT_OR_STRING in schema:
        text, number = _text(schema), _number(schema, (int,))
        return lambda value: text(value) or number(value)
    return _anything if set(schema) <= _SILENT else _nothing


_SILENT = {"description", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-validations", "nullable", "default"}


def _anything(_: Any) -> bool:
    return True


def _nothing(_: Any) -> bool:
    return False


def _is_text(value: Any) -> bool:
    return value.__class__ is str


class _Children(dict[str, Test]):
    """The tests of an object's fields, each built for the first object that has the field: most have few of many."""

    def __init__(self, schemas: Mapping[str, Schema], others: Test) -> None:
        super().__init__()
        self._schemas = schemas
        self._others = others

    def __missing__(self, name: str) -> Test:
        schema = self._schemas.get(name)
        if schema is None:
            # Not kept: there is no end of names.
            return self._others
        test = self[name] = _test(schema)
        return test


def _object(schema: Schema) -> Test:
    others = _test(schema["additionalProperties"]) if "additionalProperties" in schema else _anything
    required, least = frozenset(schema.get("required", ())), schema.get("minProperties", 0)
    if "properties" not in schema and not required:
        return lambda value: value.__class__ is dict and len(value) >= least and all(map(others, value.values()))
    children = _Children(schema.get("properties", {}), others)

    def test(value: Any) -> bool:
        if value.__class__ is not dict or len(value) < least or not required <= value.keys():
            return False
        for name, item in value.items():
            fits = children[name]
            # Most fields are text of any sort, and not worth a call.
            if not (item.__class__ is str if fits is _is_text else fits(item)):
                return False
        return True

    return test


def _list(schema: Schema) -> Test:
    items = _test(schema["items"]) if "items" in schema else _anything
    least, most = schema.get("minItems", 0), schema.get("maxItems", float("inf"))
    differ = _all_differ(schema.get(LIST_MAP_KEYS)) if schema.get(LIST_TYPE) in ("map", "set") else _anything

    def test(value: Any) -> bool:
        return value.__class__ is list and least <= len(value) <= most and all(map(items, value)) and differ(value)

    return test


def _all_differ(keys: list[str] | None) -> Test:
    if keys is None:
        return lambda value: all(item.__class__ is str for item in value) and len(set(value)) == len(value)

    if len(keys) == 1:
        (key,) = keys

        def test(value: Any) -> bool:
            marks = [item.get(key) for item in value]
            return _MARKS.issuperset(map(type, marks)) and len(set(marks)) == len(marks)

        return test

    def test_all(value: Any) -> bool:
        marks = [tuple([item.get(key) for key in keys]) for item in value]
        return all(_MARKS.issuperset(map(type, each)) for each in marks) and len(set(marks)) == len(marks)

    return test_all


def _text(schema: Schema) -> Test:
    least, most = schema.get("minLength", 0), schema.get("maxLength", float("inf"))
    search = compiled(schema["pattern"]).search if "pattern" in schema else None
    words = frozenset(schema["enum"]) if "enum" in schema else None
    is_moment = schema.get("format") == "date-time"
    if not least and most == float("inf") and search is None and words is None and not is_moment:
        return _is_text

    def test(value: Any) -> bool:
        return (
            value.__class__ is str
            and least <= len(value) <= most
            and (search is None or search(value) is not None)
            and (words is None or value in words)
            and (not is_moment or is_time(value))
        )

    return test


def _number(schema: Schema, classes: tuple[type, ...]) -> Test:
    low, high = RANGES.get(schema.get("format", ""), (float("-inf"), float("inf")))
    low, high = schema.get("minimum", low), schema.get("maximum", high)
    return lambda value: value.__class__ in classes and low <= value <= high
