"""Merge patches: JSON merge patch (RFC 7386) and Kubernetes' strategic merge; `diff.py` makes them.

Nothing here changes its arguments; a result may share unchanged parts with them.

A strategic merge reads two words of the schema: `x-kubernetes-patch-merge-key` and `x-kubernetes-patch-strategy`.
Without a schema maps merge and lists are replaced. Its quirks were recorded from kube-apiserver 1.36. We differ where
that server loses or invents content: directives inside a new list element are obeyed, `$patch: replace` on a map
that was not there sets it, and a `$deleteFromPrimitiveList` that is no list is refused.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from trainplane.api.problem import Path, show

Schema = Mapping[str, Any]
"""An OpenAPI schema node: `properties`, `additionalProperties`, `items`, and the x-kubernetes words."""

DIRECTIVE = "$patch"
RETAIN_KEYS = "$retainKeys"
SET_ORDER = "$setElementOrder/"
DELETE_FROM = "$deleteFromPrimitiveList/"


class Fault(StrEnum):
    """What is wrong with a patch; a server chooses its answer by it."""

    DIRECTIVE = "directive"
    MERGE_KEY = "mergeKey"
    RETAIN_KEYS = "retainKeys"
    ORDER = "order"
    TYPE = "type"
    KINDS = "kinds"
    OPERATION = "operation"
    POINTER = "pointer"
    TEST = "test"


class PatchError(ValueError):
    """A patch that cannot be applied: where, what is wrong, and what to do."""

    def __init__(self, fault: Fault, path: Path, what: str, todo: str, *, values: tuple[Any, ...] = ()) -> None:
        """`values` are the lists, or the value, that do not fit together."""
        self.values = values
        self.fault = fault
        self.path = path
        self.what = what
        self.todo = todo
        super().__init__(f"{show(path)}: {what}; {todo}" if path else f"{what}; {todo}")


def same(a: Any, b: Any) -> bool:
    """Whether two JSON values are the same; `true` is not 1, and 1 is not 1.0."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(value, b[key]) for key, value in a.items())
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)


def merge_patch(document: Any, patch: Any) -> Any:
    """Apply a JSON merge patch: maps merge, null removes, everything else replaces."""
    if not isinstance(patch, Mapping):
        return patch
    result = dict(document) if isinstance(document, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge_patch(result.get(key), value)
    return result


def strategic_merge(
    document: Mapping[str, Any], patch: Mapping[str, Any], schema: Schema | None = None
) -> dict[str, Any]:
    """Apply a strategic merge patch; in merged lists new elements go in front. Raises PatchError."""
    if not isinstance(patch, Mapping):
        raise PatchError(Fault.TYPE, (), "a strategic merge patch is a map", "send an object with the fields to change")
    return _merge_map(document, patch, schema=schema or {}, path=())


def _merge_map(old: Mapping[str, Any], patch: Mapping[str, Any], *, schema: Schema, path: Path) -> dict[str, Any]:
    if DIRECTIVE in patch:
        return _content(patch, path) if _directive(patch, path) == "replace" else {}
    result = _retained(old, patch, path)
    ordered = [key.removeprefix(SET_ORDER) for key in patch if key.startswith(SET_ORDER)]
    for name in ordered:
        _apply_order(result, patch, name=name, schema=member(schema, name), path=path)
    for key, value in patch.items():
        if key.startswith(DELETE_FROM):
            _apply_removal(result, key.removeprefix(DELETE_FROM), value, path)
    for key, value in patch.items():
        if key == RETAIN_KEYS or key.startswith((SET_ORDER, DELETE_FROM)) or (key in ordered and value is not None):
            continue
        merged = _merge_member(result.get(key), value, schema=member(schema, key), path=(*path, key))
        if merged is None:
            result.pop(key, None)
        else:
            result[key] = merged
    return result


def _merge_member(old: Any, value: Any, *, schema: Schema, path: Path) -> Any:
    """What becomes of one field; None when it goes away."""
    if isinstance(value, Mapping):
        if not isinstance(old, Mapping):
            # Whatever a directive says of a map that is not there, nothing comes of it.
            return None if DIRECTIVE in value else _content(value, path)
        if "replace" in strategies(schema):
            return _content(value, path)
        return _merge_map(old, value, schema=schema, path=path)
    if isinstance(value, list):
        if isinstance(old, list) and "merge" in strategies(schema):
            return _merge_list(old, value, schema=schema, path=path)
        return _content_list(value, path)
    return value


def _merge_list(old: list[Any], patch: list[Any], *, schema: Schema, path: Path) -> list[Any]:
    """Merge two lists by the schema's merge key, or as sets of scalars where the elements are no maps."""
    if not _are_maps(old, patch, path=path):
        return _arrange(_unique([*old, *patch]), first=patch, like=old, key=None)
    key = _merge_key(schema, path)
    plain: list[tuple[int, Any]] = []
    gone, replace = set(), False
    for i, element in enumerate(patch):
        directive = _directive(element, (*path, i))
        if directive == "replace":
            replace = True
        elif directive == "delete":
            gone.add(identity(_key_of(element, key, (*path, i))))
        else:
            plain.append((i, element))
    if replace:
        return _content_list([element for _, element in plain], path)
    place: dict[Any, int] = {}
    kept: list[Any] = []
    for i, item in enumerate(old):
        name = identity(_key_of(item, key, (*path, i)))
        if name not in gone:
            # Ports 53/TCP and 53/UDP have one key: both stay, and the first is the one that a patch reaches.
            place.setdefault(name, len(kept))
            kept.append(item)
    merged = list(kept)
    items: Schema = schema.get("items") or {}
    for i, element in plain:
        inside = (*path, i)
        at = place.setdefault(identity(_key_of(element, key, inside)), len(merged))
        if at == len(merged):
            merged.append(_content(element, inside))
        else:
            merged[at] = _merge_map(merged[at], element, schema=items, path=inside)
    return _arrange(merged, first=[element for _, element in plain], like=kept, key=key)


def _apply_order(result: dict[str, Any], patch: Mapping[str, Any], *, name: str, schema: Schema, path: Path) -> None:
    """Merge the list `name` and put it into the order that `$setElementOrder/name` gives."""
    order, added, old = patch[SET_ORDER + name], patch.get(name, []), result.get(name)
    where = (*path, SET_ORDER + name)
    if not isinstance(order, list):
        todo = f"list the elements of {name} in their order"
        raise PatchError(Fault.ORDER, where, "the order is not a list", todo, values=(order,))
    if added is None or (old is None and name not in patch):
        return
    if not isinstance(added, list) or not isinstance(old, list | None):
        other = added if isinstance(old, list | None) else old
        raise PatchError(Fault.TYPE, where, f"{name} is not a list", "give an order for lists only", values=(other,))
    merged: list[Any] = (
        _merge_member(old, added, schema=schema, path=(*path, name)) if name in patch or old is None else old
    )
    key = None if not _are_maps(merged, order, path=where) else _merge_key(schema, where)
    names = [identity(_key_of(item, key, (*where, i))) for i, item in enumerate(order)]
    for i, item in enumerate(merged):
        _key_of(item, key, (*path, name, i))
    wanted = [
        identity(_key_of(item, key, (*path, name, i)))
        for i, item in enumerate(added)
        if not (isinstance(item, Mapping) and DIRECTIVE in item)
    ]
    rest = iter(names)
    if not all(item in rest for item in wanted):
        raise PatchError(
            Fault.ORDER,
            where,
            f"the order does not list the patched elements of {name} as the patch has them",
            "list every element of the patch, in the same order",
            values=(added, order),
        )
    result[name] = _arrange(merged, first=order, like=old or [], key=key)


def _apply_removal(result: dict[str, Any], name: str, values: Any, path: Path) -> None:
    """Take scalars out of the list `name`; null takes the whole list."""
    if values is None:
        result.pop(name, None)
        return
    where = (*path, DELETE_FROM + name)
    if not isinstance(values, list) or any(isinstance(value, dict | list) for value in values):
        raise PatchError(
            Fault.TYPE, where, "this must be a list of strings or numbers", "list what to take out of the list"
        )
    if isinstance(result.get(name), list):
        if len({type(item) for item in (*result[name], *values)}) > 1:
            what, todo = "the elements are not all of one kind", "use elements of the kind that the list holds"
            raise PatchError(Fault.KINDS, where, what, todo, values=(result[name], values))
        gone = {identity(value) for value in values}
        result[name] = [item for item in result[name] if isinstance(item, dict | list) or identity(item) not in gone]


def _retained(old: Mapping[str, Any], patch: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """The map before the merge, without what `$retainKeys` does not name."""
    if RETAIN_KEYS not in patch:
        return dict(old)
    keep = patch[RETAIN_KEYS]
    where = (*path, RETAIN_KEYS)
    if not isinstance(keep, list) or not all(isinstance(key, str) for key in keep):
        raise PatchError(Fault.RETAIN_KEYS, where, "this must be a list of field names", "list every field to keep")
    for key, value in patch.items():
        if (
            value is not None
            and key not in keep
            and key != RETAIN_KEYS
            and not key.startswith((SET_ORDER, DELETE_FROM))
        ):
            raise PatchError(
                Fault.RETAIN_KEYS, where, f"the patch sets {key}, which is not to be kept", f"add {key} to the list"
            )
    return {key: value for key, value in old.items() if key in keep}


def _arrange(merged: list[Any], *, first: Iterable[Any], like: Sequence[Any], key: str | None) -> list[Any]:
    """Elements named in `first` in its order, the others in the order of `like`, interleaved as `like` has them."""

    def name(element: Any) -> Any:
        return identity(element if key is None else element.get(key))

    wanted: dict[Any, int] = {}
    for i, element in enumerate(first):
        wanted.setdefault(name(element), i)
    place: dict[Any, int] = {}
    for i, element in enumerate(like):
        place.setdefault(name(element), i)
    others = deque(element for element in merged if name(element) not in wanted)
    named = sorted((element for element in merged if name(element) in wanted), key=lambda item: wanted[name(item)])
    result: list[Any] = []
    for element in named:
        # A new element has no place in `like`, and so goes before whatever is left of the others.
        while others and place.get(name(others[0]), -1) < place.get(name(element), -1):
            result.append(others.popleft())
        result.append(element)
    return [*result, *others]


def _content(value: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """A map of a patch as content: without nulls and directives."""
    _directive(value, path)
    return {
        key: _content(item, (*path, key))
        if isinstance(item, Mapping)
        else _content_list(item, (*path, key))
        if isinstance(item, list)
        else item
        for key, item in value.items()
        if item is not None
        and key not in (DIRECTIVE, RETAIN_KEYS)
        and not key.startswith((SET_ORDER, DELETE_FROM))
        and not (isinstance(item, Mapping) and _directive(item, (*path, key)))
    }


def _content_list(values: list[Any], path: Path) -> list[Any]:
    return [
        _content(value, (*path, i)) if isinstance(value, Mapping) else value
        for i, value in enumerate(values)
        if not (isinstance(value, Mapping) and _directive(value, (*path, i)))
    ]


def _directive(value: Mapping[str, Any], path: Path) -> str:
    directive = value.get(DIRECTIVE, "")
    if directive in ("delete", "replace") or DIRECTIVE not in value:
        return str(directive)
    raise PatchError(Fault.DIRECTIVE, (*path, DIRECTIVE), f"unknown directive {directive!r}", "write delete or replace")


def _are_maps(*lists: list[Any], path: Path) -> bool:
    kinds = {isinstance(item, Mapping) for items in lists for item in items}
    if len(kinds) > 1 or any(isinstance(item, list) or item is None for items in lists for item in items):
        todo = "use elements of the kind that the list holds"
        raise PatchError(Fault.KINDS, path, "the elements are not all of one kind", todo, values=lists)
    return kinds == {True}


def _merge_key(schema: Schema, path: Path) -> str:
    key = schema.get("x-kubernetes-patch-merge-key", "")
    if not key:
        raise PatchError(
            Fault.MERGE_KEY, path, "the list has no merge key", "replace the whole list, or use another kind of patch"
        )
    return str(key)


def _key_of(element: Any, key: str | None, path: Path) -> Any:
    if key is None:
        return element
    if element.get(key) is None or isinstance(element[key], dict | list):
        raise PatchError(
            Fault.MERGE_KEY,
            path,
            f"the element has no usable {key}",
            f"set {key}: elements of this list are told apart by it",
        )
    return element[key]


def identity(value: Any) -> tuple[type, Any]:
    """What tells one JSON scalar from another: `true` is not 1."""
    return type(value), value


def _unique(values: list[Any]) -> list[Any]:
    return list({identity(value): value for value in values}.values())


def member(schema: Schema, key: str) -> Schema:
    """The schema of one field or map entry; empty where the schema does not say."""
    node = schema.get("properties", {}).get(key) or schema.get("additionalProperties")
    return node if isinstance(node, Mapping) else {}


def strategies(schema: Schema) -> list[str]:
    """The patch strategies of a field: `merge`, `replace`, `retainKeys`."""
    return str(schema.get("x-kubernetes-patch-strategy", "")).split(",")
