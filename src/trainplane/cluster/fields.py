"""Sets of fields in the form that managedFields keeps them in, FieldsV1, and their algebra.

A set is a tree: `{"f:data": {".": {}, "f:k": {}}}` holds `.data` and `.data.k`. Below the root an empty object is a
field that belongs to the set; one that has steps below it belongs to the set only where it also has `.`.
"""

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import orjson

from trainplane.api.schema import Schema

Fields = dict[str, Any]
"""A set of fields; treat it as frozen, since trees are shared."""

Steps = tuple[str, ...]
"""The way to one field, as FieldsV1 spells each step: `("f:spec", 'k:{"name":"c"}')`."""

HERE = "."
_NOTHING: Fields = {}
_ORDER = {"f": 0, "k": 1, "v": 2, "i": 3}


def field(name: str) -> str:
    """The step to a field of an object."""
    return "f:" + name


@lru_cache(maxsize=4096)
def keyed(pairs: tuple[tuple[str, Any, type], ...]) -> str:
    """The step to an item of a list that is told apart by these keys; each has its type, because 1 equals True."""
    return "k:" + _compact({name: value for name, value, _ in pairs})


def valued(value: Any) -> str:
    """The step to an item of a set."""
    return "v:" + _compact(value)


def member(node: Mapping[str, Any]) -> bool:
    """Whether the field that a node stands for is itself of the set."""
    return not node or HERE in node


def marked(node: Fields | None) -> Fields:
    """The node with its own field in the set."""
    return {HERE: _NOTHING, **node} if node and HERE not in node else node or {}


def union(a: Fields, b: Fields) -> Fields:
    """What is in either."""
    if not a or not b:
        return a or b
    joined = dict(a)
    for step, below in b.items():
        mine = joined.get(step)
        joined[step] = below if mine is None else _joined(mine, below)
    return joined


def _joined(a: Fields, b: Fields) -> Fields:
    if not a or not b:
        return marked(a or b)
    return union(a, b)


def difference(a: Fields, b: Fields) -> Fields:
    """What is in `a` and not in `b`; what lies below a field of `b` stays. It is `a` itself where nothing goes."""
    if not a or not b or a.keys().isdisjoint(b):
        return a
    left: Fields = {}
    same = True
    for step, below in a.items():
        other = b.get(step)
        node = below if other is None else _remaining(below, other)
        same = same and node is below
        if node is not None:
            left[step] = node
    return a if same else left


def _remaining(below: Fields, other: Fields) -> Fields | None:
    """What is left of a node; None where nothing is."""
    if not below:
        return None if member(other) else below
    if other:
        left = difference(below, other)
        return {} if len(left) == 1 and HERE in left else left or None
    if HERE not in below:
        return below
    return {step: node for step, node in below.items() if step != HERE} or None


def intersection(a: Fields, b: Fields) -> Fields:
    """What is in both."""
    left: Fields = {}
    for step, below in a.items():
        other = b.get(step)
        if other is None or step == HERE:
            continue
        inner = intersection(below, other)
        if member(below) and member(other):
            left[step] = marked(inner)
        elif inner:
            left[step] = inner
    return left


def without(a: Fields, b: Fields) -> Fields:
    """What is in `a`, is not in `b`, and lies below no field of `b`."""
    if not a or not b:
        return a
    left: Fields = {}
    for step, below in a.items():
        other = b.get(step)
        if other is None:
            left[step] = below
        elif not member(other):
            inner = without(below, other)
            if inner or not below:
                left[step] = inner
    return left


def has(fields: Fields, steps: Steps) -> bool:
    """Whether a field is in the set."""
    node: Fields | None = fields
    for step in steps:
        node = node.get(step) if node else None
        if node is None:
            return False
    return bool(steps) and node is not None and member(node)


def single(steps: Steps) -> Fields:
    """The set of one field."""
    node: Fields = {}
    for step in reversed(steps):
        node = {step: node}
    return node


def named(fields: Fields, schema: Schema) -> Fields:
    """The set with every named field that holds one of its fields: `.data.k` brings `.data`, a list's item nothing."""
    properties = schema.get("properties", _NOTHING)
    out: Fields = {}
    for step, below in fields.items():
        if step == HERE or not below:
            out[step] = below
        elif step.startswith("f:"):
            name = step[2:]
            child = properties.get(name)
            inner = named(below, child or schema.get("additionalProperties") or _NOTHING)
            out[step] = marked(inner) if child is not None else inner
        else:
            out[step] = named(below, schema.get("items", _NOTHING))
    return out


def paths(fields: Fields, *, above: Steps = ()) -> Iterator[Steps]:
    """The way to each field of the set; at each level first the fields themselves, then what lies below, in order."""
    ordered = sorted((step for step in fields if step != HERE), key=_rank)
    for step in ordered:
        if member(fields[step]):
            yield (*above, step)
    for step in ordered:
        yield from paths(fields[step], above=(*above, step))


def shown(steps: Steps) -> str:
    """A way as messages write it: `.spec.containers[name="c"].image`."""
    return "".join(show(step) for step in steps)


def show(step: str) -> str:
    """One step as messages write it."""
    kind, _, rest = step.partition(":")
    if kind == "f":
        return "." + rest
    if kind == "k":
        pairs = ",".join(f"{name}={_compact(value)}" for name, value in json.loads(rest).items())
        return f"[{pairs}]"
    return f"[={rest}]" if kind == "v" else f"[{rest}]"


def ordered(fields: Fields) -> Fields:
    """The same set with its steps in order, as the API server writes it."""
    return tree(orjson.dumps(fields, option=orjson.OPT_SORT_KEYS))


@lru_cache(maxsize=512)
def tree(text: bytes) -> Fields:
    """The set that some JSON stands for: objects that are made alike have the same fields, so they share one tree."""
    fields: Fields = orjson.loads(text)
    return fields


def well_formed(fields: Any, *, depth: int = 100) -> bool:
    """Whether a value that somebody sent is a set of fields, and no deeper than any object's."""
    if not isinstance(fields, dict) or depth < 0:
        return False
    return all(_is_step(step) and well_formed(below, depth=depth - 1) for step, below in fields.items())


def _is_step(step: Any) -> bool:
    if step == HERE:
        return True
    if not isinstance(step, str) or step[1:2] != ":":
        return False
    kind, rest = step[0], step[2:]
    if kind == "f":
        return True
    try:
        value = json.loads(rest)
    except ValueError:
        return False
    if kind == "k":
        return isinstance(value, dict)
    return kind == "v" or (kind == "i" and type(value) is int)


def _rank(step: str) -> tuple[int, str]:
    return _ORDER.get(step[0], 4), step


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
