"""What an API server does with a schema beyond checking shapes: defaults, pruning, unique items of lists, and laws.

Values are plain JSON. What has the wrong shape is passed over here, because the schema refuses it already.
"""

from collections.abc import Hashable, Iterator, Mapping
from typing import Any, TypeVar

from trainplane.api.meta import Law, Wire
from trainplane.api.problem import Path
from trainplane.api.schema import LIST_MAP_KEYS, LIST_TYPE, PRESERVE, VALIDATIONS, Schema, openapi

T = TypeVar("T")
_HOLDS_MORE = (dict, list)
_PLAIN = frozenset([str, int, float, bool, type(None)])
_SCALAR = (str, int, float)
_NOTHING: dict[Any, Any] = {}
_MOST_KNOWN = 16_384
_WITH_LAWS: dict[int, tuple[Schema, bool]] = {}
"""Whether a schema has laws anywhere, by its identity: most of them do not, and nothing there need be looked at."""
_LAWFUL: dict[int, tuple[Schema, dict[str, Schema]]] = {}
"""The fields of a schema that have laws, by its identity."""
_DEFAULTS: dict[int, tuple[Schema, tuple[tuple[str, Any], ...]]] = {}
"""The defaults that a schema gives its fields, by its identity: there are many fields, and few defaults."""


def defaulted(type_: type[Wire], value: Any) -> Any:
    """The value as an API server stores it: nulls in objects dropped, then defaults filled in."""
    return fill_defaults(value, openapi(type_))


def broken_laws(type_: type[Wire], value: Any, old: Any = None) -> Iterator[tuple[Path, Law]]:
    """Each law that a defaulted value breaks, and where; laws of change are judged where `old` has the same place."""
    return unlawful(value, openapi(type_), old=old)


def repeated(type_: type[Wire], value: Any) -> Iterator[Path]:
    """Each item that an earlier one of its list already stands for, where a defaulted value's items must differ."""
    return iter(_repeated(openapi(type_), value))


def unlawful(value: Any, schema: Schema, *, old: Any = None) -> Iterator[tuple[Path, Law]]:
    """What `broken_laws` says, for the value of any schema that keeps its laws."""
    return iter(_broken(schema, value, old))


def fill_defaults(value: Any, schema: Schema) -> Any:
    """A new value with nulls in objects dropped and the schema's defaults filled in."""
    if value.__class__ in _PLAIN:
        return value
    if value.__class__ is dict or isinstance(value, Mapping):
        properties, others = schema.get("properties", _NOTHING), schema.get("additionalProperties")
        filled = {}
        for name, item in value.items():
            child = properties.get(name, others)
            if child is None:
                filled[name] = item
            elif item is not None:
                filled[name] = item if item.__class__ in _PLAIN else fill_defaults(item, child)
        for name, default in _defaults(schema) if properties else ():
            if name not in filled:
                filled[name] = default
        return filled
    if isinstance(value, list) and "items" in schema:
        return [fill_defaults(item, schema["items"]) for item in value]
    return value


def _defaults(node: Schema) -> tuple[tuple[str, Any], ...]:
    known = _DEFAULTS.get(id(node))
    # Another schema may have been where this one is now.
    if known is not None and known[0] is node:
        return known[1]
    found = tuple((name, child["default"]) for name, child in node["properties"].items() if "default" in child)
    _remember(_DEFAULTS, node, found)
    return found


def _remember(known: dict[int, tuple[Schema, T]], node: Schema, found: T) -> None:
    if len(known) >= _MOST_KNOWN:
        known.clear()
    known[id(node)] = node, found


def prune(value: Any, schema: Schema) -> Any:
    """A new value without the fields that the schema does not know."""
    if isinstance(value, Mapping):
        properties, others = schema.get("properties", {}), schema.get("additionalProperties")
        kept = {}
        for name, item in value.items():
            child = properties.get(name, others)
            if child is not None:
                kept[name] = prune(item, child)
            elif schema.get(PRESERVE):
                kept[name] = item
        return kept
    if isinstance(value, list) and "items" in schema:
        return [prune(item, schema["items"]) for item in value]
    return value


# Paths are put together on the way back from a fault: nearly all values have none, and are passed over quickly.


def _broken(node: Schema, value: Any, old: Any) -> list[tuple[Path, Law]]:
    if value is old and value is not None:
        # What stays as it was has kept its laws.
        return []
    found: list[tuple[Path, Law]] = [
        (law.about, law) for law in node.get(VALIDATIONS, ()) if not _holds(law, value, old)
    ]
    judged = _judged(node, value)
    past = _past(node, old) if judged else _NOTHING
    for step, child, item in judged:
        before = past.get(step if isinstance(step, str) else _key(node, item)) if past else None
        found += [((step, *path), law) for path, law in _broken(child, item, before)]
    return found


def _judged(node: Schema, value: Any) -> list[tuple[str | int, Schema, Any]]:
    """The children that have laws, or may have such that have some."""
    if value.__class__ is dict and "additionalProperties" not in node:
        known = _LAWFUL.get(id(node))
        if known is None or known[0] is not node:
            properties = node.get("properties", _NOTHING)
            known = node, {name: child for name, child in properties.items() if has_laws(child)}
            _remember(_LAWFUL, *known)
        fields = known[1]
        found = [(name, fields[name], item) for name, item in value.items() if name in fields and item is not None]
    else:
        found = [child for child in _children(node, value) if has_laws(child[1])]
    return [child for child in found if isinstance(child[2], _HOLDS_MORE) or VALIDATIONS in child[1]]


def has_laws(node: Schema) -> bool:
    """Whether a schema has laws anywhere."""
    known = _WITH_LAWS.get(id(node))
    # Another schema may have been where this one is now.
    if known is not None and known[0] is node:
        return known[1]
    below = (*node.get("properties", _NOTHING).values(), node.get("additionalProperties"), node.get("items"))
    found = VALIDATIONS in node or any(isinstance(child, dict) and has_laws(child) for child in below)
    _remember(_WITH_LAWS, node, found)
    return found


def _repeated(node: Schema, value: Any) -> list[Path]:
    found: list[Path] = []
    if node.get(LIST_TYPE) in ("map", "set") and isinstance(value, list):
        seen: set[Hashable] = set()
        for index, item in enumerate(value):
            key = _key(node, item)
            if key is not None and key in seen:
                found.append((index,))
            seen.add(key)
    for step, child, item in _children(node, value):
        if isinstance(item, _HOLDS_MORE):
            found += [(step, *path) for path in _repeated(child, item)]
    return found


def _children(node: Schema, value: Any) -> list[tuple[str | int, Schema, Any]]:
    """What lies in an object or a list, with what the schema says of it."""
    if isinstance(value, dict):
        properties, others = node.get("properties", _NOTHING), node.get("additionalProperties")
        known = [(name, properties.get(name, others), item) for name, item in value.items()]
        return [child for child in known if child[1] is not None and child[2] is not None]
    if isinstance(value, list) and "items" in node:
        return [(index, node["items"], item) for index, item in enumerate(value)]
    return []


def _past(node: Schema, old: Any) -> Mapping[Hashable, Any]:
    """The old children by name or by key: as on an API server, the items of other lists have no past."""
    if isinstance(old, dict):
        return old
    if isinstance(old, list) and node.get(LIST_TYPE) == "map":
        return {_key(node, item): item for item in old}
    return _NOTHING


def _key(node: Schema, item: Any) -> Hashable:
    """What tells an item of a list from the others, or None where it lacks it."""
    keys = node.get(LIST_MAP_KEYS)
    if keys is None:
        return item if isinstance(item, _SCALAR) else None
    if not isinstance(item, Mapping):
        return None
    values = tuple(item.get(key) for key in keys)
    return values if all(isinstance(part, _SCALAR) for part in values) else None


def _holds(law: Law, value: Any, old: Any) -> bool:
    if law.transition and old is None:
        return True
    try:
        return law.holds(value, old if law.transition else None)
    except (AttributeError, KeyError, TypeError):
        # The value has not the shape that the law speaks of: the schema says so in better words.
        return True
