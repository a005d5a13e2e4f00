"""JSON trees: read a value, set one without touching the rest, and paths that name list elements by their key."""

from collections.abc import Mapping, Sequence
from typing import Any

from trainplane.api.meta import Raw
from trainplane.api.problem import Path
from trainplane.api.raw import look, put

__all__ = ["at", "element_keys", "key_of", "keyed", "positions", "put", "upsert"]

MERGE_KEYS = {"volumeMounts": "mountPath", "ports": "containerPort"}
"""Lists whose elements are told apart by something other than their name."""


def at(tree: Any, path: Path) -> Any:
    """The value at a path, or None where the way ends early."""
    return look(tree, *path)


def key_of(field: str | int) -> str:
    """The member that tells elements of this list apart."""
    return MERGE_KEYS.get(str(field), "name")


def upsert(items: Sequence[Raw], item: Mapping[str, Any], *, key: str) -> tuple[list[Raw], int]:
    """The list with the item in place of the one of the same key, else at the end; and where it is now."""
    out = list(items)
    for i, old in enumerate(out):
        if old.get(key) == item.get(key):
            out[i] = dict(item)
            return out, i
    out.append(dict(item))
    return out, len(out) - 1


def element_keys(items: list[Any], field: str | int) -> list[str | int]:
    """How the elements of a list are told apart: by their key where all have one and it is unique, else by position."""
    if all(isinstance(item, dict) for item in items):
        keys = [item.get(key_of(field)) for item in items]
        if None not in keys and len(set(map(str, keys))) == len(keys):
            return [str(key) for key in keys]
    return list(range(len(items)))


def keyed(tree: Any, path: Path) -> Path:
    """A path of positions as a path of keys."""
    out: list[str | int] = []
    for step in path:
        if isinstance(step, int) and isinstance(tree, list):
            out.append(element_keys(tree, out[-1] if out else "")[step] if step < len(tree) else step)
            tree = tree[step] if step < len(tree) else None
        else:
            out.append(step)
            tree = tree.get(step) if isinstance(tree, dict) else None
    return tuple(out)


def positions(tree: Any, path: Path) -> Path:
    """A path of keys as a path of positions in this tree, as far as it goes; a position stays one."""
    out: list[str | int] = []
    for step in path:
        if isinstance(tree, list):
            keys = element_keys(tree, next((s for s in reversed(out) if isinstance(s, str)), ""))
            if step in keys:
                index = keys.index(step)
            elif isinstance(step, int) and step < len(tree):
                index = step
            else:
                break
            out.append(index)
            tree = tree[index]
        elif isinstance(tree, dict) and step in tree:
            out.append(step)
            tree = tree[step]
        else:
            break
    return tuple(out)
