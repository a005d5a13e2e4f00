"""What an API server does with a schema beyond checking shapes: defaults, unique items of lists, and laws.

Values are plain JSON. What has the wrong shape is passed over here, because the schema refuses it already.
"""

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

from trainplane.api.meta import Law, Wire
from trainplane.api.problem import Path
from trainplane.api.schema import LIST_MAP_KEYS, LIST_TYPE, Schema, laws_of, openapi


def defaulted(type_: type[Wire], value: Any) -> Any:
    """The value as an API server stores it: nulls in objects dropped, then defaults filled in."""
    return _defaulted(openapi(type_), value)


def broken_laws(type_: type[Wire], value: Any, old: Any = None) -> Iterator[tuple[Path, Law]]:
    """Each law that a defaulted value breaks, and where; laws of change are judged where `old` has the same place."""
    for path, node, new, before in _walk(openapi(type_), value, old, ()):
        for law in laws_of(node):
            if law.transition and before is None:
                continue
            if not _holds(law, new, before if law.transition else None):
                yield path, law


def repeated(type_: type[Wire], value: Any) -> Iterator[Path]:
    """Each item that an earlier one of its list already stands for, where a defaulted value's items must differ."""
    for path, node, items, _ in _walk(openapi(type_), value, None, ()):
        if node.get(LIST_TYPE) in ("map", "set") and isinstance(items, list):
            seen: set[Hashable] = set()
            for index, item in enumerate(items):
                key = _key(node, item)
                if key is not None and key in seen:
                    yield (*path, index)
                seen.add(key)


def _defaulted(node: Schema, value: Any) -> Any:
    if isinstance(value, Mapping):
        properties, others = node.get("properties", {}), node.get("additionalProperties")
        filled = {}
        for name, item in value.items():
            child = properties.get(name, others)
            if child is None:
                filled[name] = item
            elif item is not None:
                filled[name] = _defaulted(child, item)
        for name, child in properties.items():
            if "default" in child and name not in filled:
                filled[name] = child["default"]
        return filled
    if isinstance(value, list) and "items" in node:
        return [_defaulted(node["items"], item) for item in value]
    return value


def _walk(node: Schema, value: Any, old: Any, path: Path) -> Iterator[tuple[Path, Schema, Any, Any]]:
    """Each place of a value that the schema knows: its path, its node, the value there, and the old one or None."""
    yield path, node, value, old
    if isinstance(value, Mapping):
        properties, others = node.get("properties", {}), node.get("additionalProperties")
        before = old if isinstance(old, Mapping) else {}
        for name, item in value.items():
            child = properties.get(name, others)
            if child is not None and item is not None:
                yield from _walk(child, item, before.get(name), (*path, name))
    elif isinstance(value, list) and "items" in node:
        # As on an API server, items have a past only in a list that tells them apart by keys.
        by_key = node.get(LIST_TYPE) == "map" and isinstance(old, list)
        past = {_key(node, item): item for item in old} if by_key else {}
        for index, item in enumerate(value):
            yield from _walk(node["items"], item, past.get(_key(node, item)) if past else None, (*path, index))


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
    try:
        return law.holds(value, old)
    except (AttributeError, KeyError, TypeError):
        # The value has not the shape that the law speaks of: the schema says so in better words.
        return True
