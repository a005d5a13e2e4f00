"""What an API server does with a schema beyond checking shapes: defaults, pruning, unique items of lists, and laws.

Values are plain JSON. What has the wrong shape is passed over here, because the schema refuses it already.
"""

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

from trainplane.api.meta import Law, Wire
from trainplane.api.problem import Path
from trainplane.api.schema import LIST_MAP_KEYS, LIST_TYPE, PRESERVE, VALIDATIONS, Schema, openapi

_HOLDS_MORE = (dict, list)
_PLAIN = (str, int, float, type(None))
_NOTHING: dict[Any, Any] = {}
_MOST_KNOWN = 16_384
_WITH_LAWS: dict[int, tuple[Schema, bool]] = {}
"""Whether a schema has laws anywhere, by its identity: most of them do not, and nothing there need be looked at."""


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
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, Mapping):
        properties, others = schema.get("properties", {}), schema.get("additionalProperties")
        filled = {}
        for name, item in value.items():
            child = properties.get(name, others)
            if child is None:
                filled[name] = item
            elif item is not None:
                filled[name] = fill_defaults(item, child)
        for name, child in properties.items():
            if "default" in child and name not in filled:
                filled[name] = child["default"]
        return filled
    if isinstance(value, list) and "items" in schema:
        return [fill_defaults(item, schema["items"]) for item in value]
    return value


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
    broken = [law for law in node.get(VALIDATIONS, ()) if not _holds(law, value, old)]
    found: list[tuple[Path, Law]] = [(law.about, law) for law in broken]
    past = _past(node, old)
    for step, child, item in _children(node, value):
        if (isinstance(item, _HOLDS_MORE) or VALIDATIONS in child) and has_laws(child):
            before = past.get(step if isinstance(step, str) else _key(node, item)) if past else None
            found += [((step, *path), law) for path, law in _broken(child, item, before)]
    return found


def has_laws(node: Schema) -> bool:
    """Whether a schema has laws anywhere."""
    known = _WITH_LAWS.get(id(node))
    # Another schema may have been where this one is now.
    if known is not None and known[0] is node:
        return known[1]
    below = (*node.get("properties", _NOTHING).values(), node.get("additionalProperties"), node.get("items"))
    found = VALIDATIONS in node or any(isinstance(child, dict) and has_laws(child) for child in below)
    if len(_WITH_LAWS) >= _MOST_KNOWN:
        _WITH_LAWS.clear()
    _WITH_LAWS[id(node)] = node, found
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
        return item if isinstance(item, str | int | float) else None
    if not isinstance(item, Mapping):
        return None
    values = tuple(item.get(key) for key in keys)
    return values if all(isinstance(part, str | int | float) for part in values) else None


def _holds(law: Law, value: Any, old: Any) -> bool:
    if law.transition and old is None:
        return True
    try:
        return law.holds(value, old if law.transition else None)
    except (AttributeError, KeyError, TypeError):
        # The value has not the shape that the law speaks of: the schema says so in better words.
        return True
