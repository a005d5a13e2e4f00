"""What of a strategic merge patch an API server takes as it stands, directives and all.

It obeys directives only where a patch meets what is there. Content that is put in place of something else is taken
literally, so that a directive in it is a field that nobody knows; of content for a field that was not there, whatever
bears a `$patch` is left out first. Here such directives are put out of the sight of the merge, and brought back after.
"""

from collections.abc import Mapping
from typing import Any

from trainplane.api.merge import DELETE_FROM, DIRECTIVE, RETAIN_KEYS, SET_ORDER, Schema, identity, member, strategies
from trainplane.api.meta import Raw

_SHIELD = "\ue000"
_ORDERS = (SET_ORDER, DELETE_FROM)


def has_directives(patch: Any) -> bool:
    """Whether a patch says anywhere how it is to be merged."""
    if isinstance(patch, Mapping):
        return any(name.startswith("$") or has_directives(item) for name, item in patch.items())
    return isinstance(patch, list) and any(map(has_directives, patch))


def shielded(old: Mapping[str, Any], patch: Mapping[str, Any], schema: Schema) -> Raw:
    """The patch with every directive out of sight that is not obeyed."""
    if DIRECTIVE in patch:
        rest = {name: item for name, item in patch.items() if name != DIRECTIVE}
        return {**_literal(rest), DIRECTIVE: patch[DIRECTIVE]}
    made: Raw = {}
    for name, item in patch.items():
        if name.startswith(DELETE_FROM) and not isinstance(item, list | None):
            continue
        if name == RETAIN_KEYS or name.startswith(_ORDERS):
            made[name] = item
        elif not (isinstance(item, Mapping) and DIRECTIVE in item and name not in old):
            made[name] = _met(old.get(name), item, member(schema, name))
    return made


def unshielded(value: Any) -> Any:
    """What a merge left, with all that was out of its sight."""
    if isinstance(value, Mapping):
        return {name.removeprefix(_SHIELD): unshielded(item) for name, item in value.items()}
    return [unshielded(item) for item in value] if isinstance(value, list) else value


def _met(old: Any, value: Any, schema: Schema) -> Any:
    """What a patch says of a field, where the field is as it is."""
    if old is None:
        return _fresh(value)
    if isinstance(value, Mapping) and isinstance(old, Mapping) and "replace" not in strategies(schema):
        return shielded(old, value, schema)
    if isinstance(value, list) and isinstance(old, list) and "merge" in strategies(schema):
        return _elements(old, value, schema)
    return _literal(value)


def _elements(old: list[Any], patch: list[Any], schema: Schema) -> list[Any]:
    key = str(schema.get("x-kubernetes-patch-merge-key", ""))
    there = {_name(item, key): item for item in reversed(old) if isinstance(item, Mapping)}
    if any(isinstance(item, Mapping) and item.get(DIRECTIVE) == "replace" for item in patch):
        there = {}
    made = []
    for item in patch:
        if not isinstance(item, Mapping) or DIRECTIVE in item:
            made.append(item)
        elif (name := _name(item, key)) in there:
            made.append(shielded(there[name], item, schema.get("items") or {}))
        else:
            made.append(_literal(item))
    return made


def _name(item: Mapping[str, Any], key: str) -> Any:
    name = item.get(key)
    return None if isinstance(name, dict | list) else identity(name)


def _literal(value: Any) -> Any:
    """Content as it stands."""
    if isinstance(value, Mapping):
        return {_SHIELD + name if name.startswith("$") else name: _literal(item) for name, item in value.items()}
    return [_literal(item) for item in value] if isinstance(value, list) else value


def _fresh(value: Any) -> Any:
    """Content for what was not there: without all that bears a `$patch`."""
    if isinstance(value, Mapping):
        return {
            _SHIELD + name if name.startswith("$") else name: _fresh(item)
            for name, item in value.items()
            if not _is_marked(item)
        }
    return [_fresh(item) for item in value if not _is_marked(item)] if isinstance(value, list) else value


def _is_marked(value: Any) -> bool:
    return isinstance(value, Mapping) and DIRECTIVE in value
