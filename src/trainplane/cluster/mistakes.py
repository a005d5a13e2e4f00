"""Mistakes: what keeps a value from being merged by its schema, in the API server's words."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from trainplane.api.schema import INT_OR_STRING, LIST_MAP_KEYS, Schema
from trainplane.cluster.fields import keyed, show
from trainplane.cluster.go_words import go
from trainplane.cluster.typed import below, is_keyed, kind_of, step_to

_NO_KEYS = keyed(())
_OBJECT = (dict, Mapping)
_NOTHING: Schema = {}


def mistakes(value: Any, schema: Schema, *, path: str = "", custom: bool = False) -> Iterator[str]:
    """What keeps a value from being merged by its schema, in the API server's words; `custom` is that of a CRD."""
    if value is None or (INT_OR_STRING in schema and (custom or "pattern" not in schema)):
        # What is neither a number nor a text there is told by who reads it; only amounts of built-in kinds are not.
        return
    kind = kind_of(schema, value)
    if kind == "object":
        if not isinstance(value, _OBJECT):
            yield f"{path}: expected map, got &{{{go(value)}}}"
            return
        for name, item in value.items():
            child = below(schema, name)
            if child is None:
                yield f"{path}.{name}: field not declared in schema"
            else:
                yield from mistakes(item, child, path=f"{path}.{name}", custom=custom)
    elif kind == "array":
        if not isinstance(value, list):
            yield f"{path}: expected list, got &{{{go(value)}}}"
            return
        yield from _list_mistakes(value, schema, path, custom=custom)
    else:
        wrong = _wrong_scalar(kind, value)
        if wrong:
            yield f"{path}: {wrong}"


def _wrong_scalar(kind: str, value: Any) -> str:
    if kind == "string" and not isinstance(value, str):
        return f"expected string, got &value.valueUnstructured{{Value:{go(value, typed=True)}}}"
    if kind == "boolean" and not isinstance(value, bool):
        return f"expected boolean, got &{{{go(value)}}}"
    if kind in ("integer", "number") and (isinstance(value, bool) or not isinstance(value, int | float)):
        names = {str: "string", bool: "bool", list: "[]interface {}"}
        return f"expected numeric (int or float), got {names.get(type(value), 'map[string]interface {}')}"
    if kind == "any" and isinstance(value, Mapping | list):
        return f"expected any scalar, got &{{{go(value)}}}"
    return ""


def _list_mistakes(value: list[Any], schema: Schema, path: str, *, custom: bool) -> Iterator[str]:
    items = schema.get("items", _NOTHING)
    seen: set[str] = set()
    for index, item in enumerate(value):
        if not is_keyed(schema):
            yield from mistakes(item, items, path=f"{path}[{index}]", custom=custom)
            continue
        wrong = _no_key(item, schema)
        if wrong:
            yield f"{path}: element {index}: {wrong}"
            continue
        step = step_to(item, schema)
        if step in seen:
            yield f"{path}: duplicate entries for key {show(step)}"
        seen.add(step)
        yield from mistakes(item, items, path=f"{path}{show(step)}", custom=custom)


def _no_key(item: Any, schema: Schema) -> str:
    """Why an item of a keyed list cannot be told from others, or ""."""
    keys = schema.get(LIST_MAP_KEYS)
    if keys is None:
        if item is None:
            return "associative list without keys has an element that's an explicit null"
        if isinstance(item, _OBJECT):
            return "associative list without keys has an element that's a map type"
        return "not supported: associative list with lists as elements" if isinstance(item, list) else ""
    if not isinstance(item, _OBJECT):
        return f"associative list with keys may not have {'a null element' if item is None else 'non-map elements'}"
    if step_to(item, schema) != _NO_KEYS:
        return ""
    names = " ".join(json.dumps(key) for key in keys)
    return (
        f"associative list with keys has an element that omits all key fields [{names}] "
        "(and doesn't have default values for any key fields)"
    )
