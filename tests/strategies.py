"""Hypothesis strategies that every room may use: objects made from a schema, and ways to spoil them."""

import copy
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from trainplane.api.problem import Path
from trainplane.api.schema import INT_OR_STRING, Schema

Value = Any

QUANTITIES = ("1", "500m", "16Gi", "1.5", "2k", 4)
TIMES = ("2030-01-31T12:00:00Z", "2030-01-31T12:00:00.5+01:00")
WORDS = st.text("abcxyz-", min_size=1, max_size=8)
WRONG: dict[str, tuple[Value, ...]] = {
    "string": (4, 1.5, True, [], {}, ["a"]),
    "integer": ("x", "4", 1.5, True, [], {}),
    "number": ("x", True, [], {}),
    "boolean": ("true", 1, [], {}),
    "object": ("x", 4, True, [], ["a"]),
    "array": ("x", 4, {}, {"a": 1}, False),
    "int or string": (1.5, True, [], {}),
}
"""For each type of field, values that no API server takes there."""


def type_of(schema: Schema) -> str:
    """The key of WRONG for a field; "" where a field takes anything."""
    return "int or string" if INT_OR_STRING in schema else schema.get("type", "")


@st.composite
def shaped(draw: st.DrawFn, schema: Schema, depth: int = 7) -> Value:
    """A value of the right shape: types, limits, forms and words; laws between fields may be broken."""
    kind = type_of(schema)
    if "enum" in schema:
        return draw(st.sampled_from(schema["enum"]))
    if kind == "object":
        return draw(_objects(schema, depth))
    if kind == "array":
        least = schema.get("minItems", 0)
        most = min(schema.get("maxItems", 2), max(least, 2 if depth > 0 else 0))
        return draw(st.lists(shaped(schema["items"], depth - 1), min_size=least, max_size=most))
    if kind == "string":
        return draw(_texts(schema))
    if kind == "integer":
        low, high = schema.get("minimum", 0), schema.get("maximum", 1000)
        return draw(st.integers(min_value=low, max_value=max(low, high)))
    if kind == "number":
        return draw(st.floats(min_value=0, max_value=100))
    if kind == "boolean":
        return draw(st.booleans())
    if kind == "int or string":
        return draw(st.sampled_from(QUANTITIES) if "pattern" in schema else st.sampled_from((1, 80, "http", "10%")))
    return draw(st.none() | st.booleans() | st.integers(0, 9) | WORDS)


@st.composite
def _objects(draw: st.DrawFn, schema: Schema, depth: int) -> Value:
    properties: dict[str, Schema] = schema.get("properties", {})
    if "additionalProperties" in schema:
        return draw(st.dictionaries(WORDS, shaped(schema["additionalProperties"], depth - 1), max_size=2))
    names = list(schema.get("required", ()))
    optional = [name for name in properties if name not in names]
    if optional and depth > 0:
        names += draw(st.lists(st.sampled_from(optional), unique=True, max_size=3))
    missing = schema.get("minProperties", 0) - len(names)
    names += [name for name in optional if name not in names][: max(0, missing)]
    return {name: draw(shaped(properties[name], depth - 1)) for name in names}


def _texts(schema: Schema) -> st.SearchStrategy[str]:
    if schema.get("format") == "date-time":
        return st.sampled_from(TIMES)
    if "pattern" in schema:
        return st.from_regex(schema["pattern"].removesuffix("$") + r"\Z", fullmatch=True)
    low = schema.get("minLength", 0)
    return st.text("abcxyz-/:.", min_size=low, max_size=max(low, min(schema.get("maxLength", 8), 8)))


def places(value: Value, schema: Schema, path: Path = ()) -> Iterator[tuple[Path, Schema]]:
    """Every place in a value of the right shape, with what the schema says of it."""
    yield path, schema
    if isinstance(value, dict):
        for name, item in value.items():
            child = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
            if child is not None:
                yield from places(item, child, (*path, name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from places(item, schema.get("items", {}), (*path, index))


def replaced(value: Value, path: Path, new: Value) -> Value:
    """A copy of a value with another one at `path`."""
    if not path:
        return new
    result = copy.deepcopy(value)
    inner = result
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = new
    return result


@st.composite
def wrong_somewhere(draw: st.DrawFn, schema: Schema) -> tuple[Value, Path]:
    """A value of the right shape but for one place, where its type is wrong; and that place."""
    value = draw(shaped(schema))
    candidates = [(path, type_of(node)) for path, node in places(value, schema) if type_of(node)]
    path, kind = draw(st.sampled_from(candidates))
    return replaced(value, path, draw(st.sampled_from(WRONG[kind]))), path


@st.composite
def spoiled(draw: st.DrawFn, schema: Schema) -> Value:
    """A value of the right shape, or one with a few random faults of any kind."""
    value = draw(shaped(schema))
    for _ in range(draw(st.integers(0, 2))):
        path, node = draw(st.sampled_from(list(places(value, schema))))
        inner = value
        for step in path:
            inner = inner[step]
        value = replaced(value, path, draw(_faulty(inner, node)))
        if not isinstance(value, dict):
            break
    return value


def _faulty(value: Value, schema: Schema) -> st.SearchStrategy[Value]:
    """Another value for a place, most likely a bad one."""
    faults: list[Value] = [
        None,
        "",
        "x" * 300,
        0,
        -1,
        2.0,
        2**31,
        2**63,
        1e300,
        "16GB",
        *WRONG.get(type_of(schema), ()),
    ]
    if isinstance(value, dict):
        faults += [{**value, "strange": 1}, {**value, "strange": None}]
        faults += [{name: item for name, item in value.items() if name != left_out} for left_out in value]
        faults += [{**value, name: None} for name in value]
    if isinstance(value, list):
        faults += [value + value, [*value, None], value * 70]
    return st.sampled_from(faults)


def every_field(schema: Schema, path: Path = (), depth: int = 12) -> Iterator[tuple[Path, Schema]]:
    """Every field that a schema knows; items of lists under 0, entries of maps under `key`."""
    yield path, schema
    if depth == 0:
        return
    for name, child in schema.get("properties", {}).items():
        yield from every_field(child, (*path, name), depth - 1)
    if "additionalProperties" in schema:
        yield from every_field(schema["additionalProperties"], (*path, "key"), depth - 1)
    if "items" in schema:
        yield from every_field(schema["items"], (*path, 0), depth - 1)


def only(path: Path, value: Value) -> Value:
    """The smallest document with `value` at `path`; its required fields are not all there."""
    for step in reversed(path):
        value = [value] if isinstance(step, int) else {step: value}
    return value
