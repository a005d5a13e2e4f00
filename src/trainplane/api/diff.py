"""Diffs: the merge patch, strategic merge patch or JSON patch that turns one document into another."""

from collections.abc import Mapping, Sequence
from typing import Any

from trainplane.api.jsonpatch import escape
from trainplane.api.merge import (
    DELETE_FROM,
    DIRECTIVE,
    RETAIN_KEYS,
    SET_ORDER,
    Schema,
    identity,
    member,
    same,
    strategies,
)


def merge_diff(before: Any, after: Any) -> Any:
    """The JSON merge patch that turns `before` into `after`; no patch can set a member to null, so `after` has none."""
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        return after
    patch: dict[str, Any] = {key: None for key in before if key not in after}
    for key, value in after.items():
        if key not in before:
            patch[key] = value
        elif not same(before[key], value):
            patch[key] = merge_diff(before[key], value)
    return patch


def json_diff(before: Any, after: Any) -> list[dict[str, Any]]:
    """The JSON patch that turns `before` into `after`; lists change at their ends or are rewritten place by place."""
    return _operations(before, after, "")


def strategic_diff(before: Mapping[str, Any], after: Mapping[str, Any], schema: Schema | None = None) -> dict[str, Any]:
    """The strategic merge patch that turns `before` into `after`, as kubectl would send it; `after` has no nulls.

    A merged list of scalars cannot hold one twice: of doubles in `after`, one arrives.
    """
    return _map_diff(before, after, schema=schema or {}, retain=False)


def _operations(before: Any, after: Any, at: str) -> list[dict[str, Any]]:
    if same(before, after):
        return []
    operations: list[dict[str, Any]] = []
    if isinstance(before, dict) and isinstance(after, dict):
        operations += [{"op": "remove", "path": f"{at}/{escape(key)}"} for key in before if key not in after]
        for key, value in after.items():
            path = f"{at}/{escape(key)}"
            if key in before:
                operations += _operations(before[key], value, path)
            else:
                operations.append({"op": "add", "path": path, "value": value})
        return operations
    if isinstance(before, list) and isinstance(after, list):
        for i, (old, new) in enumerate(zip(before, after, strict=False)):
            operations += _operations(old, new, f"{at}/{i}")
        operations += [{"op": "remove", "path": f"{at}/{i}"} for i in reversed(range(len(after), len(before)))]
        operations += [{"op": "add", "path": f"{at}/-", "value": value} for value in after[len(before) :]]
        return operations
    return [{"op": "replace", "path": at, "value": after}]


def _map_diff(before: Mapping[str, Any], after: Mapping[str, Any], *, schema: Schema, retain: bool) -> dict[str, Any]:
    patch: dict[str, Any] = {key: None for key in before if key not in after}
    for key, value in after.items():
        old = before.get(key)
        if key in before and same(old, value):
            continue
        node = member(schema, key)
        ways = strategies(node)
        if isinstance(old, Mapping) and isinstance(value, Mapping) and "replace" not in ways:
            patch[key] = _map_diff(old, value, schema=node, retain="retainKeys" in ways)
        elif isinstance(old, list) and isinstance(value, list) and "merge" in ways:
            patch |= _list_diff(key, old, value, schema=node)
        else:
            patch[key] = value
    if retain and patch:
        patch[RETAIN_KEYS] = sorted(after)
    return patch


def _list_diff(name: str, before: list[Any], after: list[Any], *, schema: Schema) -> dict[str, Any]:
    """The entries of a patch that turn one merged list into another: elements, deletions and the order."""
    key = schema.get("x-kubernetes-patch-merge-key", "")
    if not any(isinstance(item, dict | list) for item in (*before, *after)):
        was, will = {identity(item) for item in before}, {identity(item) for item in after}
        return {
            **_unless_empty(SET_ORDER + name, after),
            **_unless_empty(DELETE_FROM + name, [item for item in before if identity(item) not in will]),
            **_unless_empty(name, [item for item in after if identity(item) not in was]),
        }
    if not (_told_apart(before, key) and _told_apart(after, key)):
        return {name: [{DIRECTIVE: "replace"}, *after]}
    old = {identity(item[key]): item for item in before}
    changes: list[dict[str, Any]] = []
    for item in after:
        known = old.pop(identity(item[key]), None)
        if known is None:
            changes.append(item)
        elif not same(known, item):
            retain = "retainKeys" in strategies(schema)
            change = _map_diff(known, item, schema=schema.get("items") or {}, retain=retain)
            changes.append({key: item[key], **change})
    gone = [{key: item[key], DIRECTIVE: "delete"} for item in old.values()]
    return {
        **_unless_empty(SET_ORDER + name, [{key: item[key]} for item in after]),
        **_unless_empty(name, changes + gone),
    }


def _unless_empty(key: str, values: Sequence[Any]) -> dict[str, Any]:
    return {key: list(values)} if values else {}


def _told_apart(items: list[Any], key: str) -> bool:
    """Whether every element is a map with a merge key of its own."""
    names = [item.get(key) if isinstance(item, Mapping) else None for item in items]
    if not key or any(name is None or isinstance(name, dict | list) for name in names):
        return False
    return len({identity(name) for name in names}) == len(names)
