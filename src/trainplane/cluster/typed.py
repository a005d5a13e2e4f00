"""Values read by their schema: which fields they hold, how two of them differ, and how one is merged into another.

Objects and lists with keys are taken apart; scalars, and what the schema calls atomic, are taken whole.
What has another shape than its schema says is taken whole too: `mistakes` says so where that matters.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

import msgspec

from trainplane.api.schema import INT_OR_STRING, LIST_MAP_KEYS, LIST_TYPE, MAP_TYPE, PRESERVE, Schema
from trainplane.cluster.fields import HERE, Fields, field, keyed, marked, member, union, valued

_NOTHING: Fields = {}
_ABSENT: Any = object()
_NO_KEYS = keyed(())
_SCALARS = frozenset([str, int, float, bool, type(None)])
_TEXT = frozenset([str])
_OBJECT = (dict, Mapping)
"""Asking for a Mapping alone takes four times as long where a dict is given, and nearly all are."""


class Difference(NamedTuple):
    """The fields in which one value differs from an older one."""

    added: Fields
    removed: Fields
    modified: Fields

    @property
    def taken(self) -> Fields:
        """What has a new value."""
        return union(self.modified, self.added)


def fields_of(value: Mapping[str, Any], schema: Schema) -> Fields:
    """The fields that an applied object speaks of."""
    return _spoken(value, schema) or {}


def difference_of(old: Mapping[str, Any], new: Mapping[str, Any], schema: Schema) -> Difference:
    """What was added to an object, removed from it and changed in it."""
    added, removed, modified = _differ(old, new, schema)
    return Difference(added or {}, removed or {}, modified or {})


def merged(live: Any, patch: Any, schema: Schema) -> Any:
    """The live value with the patch merged into it; neither is changed."""
    if _is_open(schema, patch) and isinstance(live, _OBJECT) and live and patch is None:
        return live
    if _is_open(schema, patch) and isinstance(live, _OBJECT) and isinstance(patch, _OBJECT):
        if not live:
            return patch
        joined = dict(live)
        for name, item in patch.items():
            joined[name] = merged(live[name], item, below(schema, name) or _NOTHING) if name in live else item
        return joined
    if is_keyed(schema) and isinstance(live, list) and live and isinstance(patch, list | None):
        return _merged_list(live, patch or [], schema)
    return patch


def removed(value: Any, fields: Fields, schema: Schema) -> Any:
    """The value without the fields of a set; an object or a list that has nothing left stays, empty."""
    if isinstance(value, _OBJECT):
        if not _is_open(schema, value):
            return {}
        kept: dict[str, Any] = {}
        for name, item in value.items():
            node = fields.get(field(name))
            if node is None:
                kept[name] = item
            elif not member(node):
                kept[name] = removed(item, node, below(schema, name) or _NOTHING)
        return kept
    if isinstance(value, list):
        if not is_keyed(schema):
            return []
        steps = [(item, fields.get(step_to(item, schema))) for item in value]
        return [
            item if node is None else removed(item, node, schema["items"])
            for item, node in steps
            if node is None or not member(node)
        ]
    return value


def same(a: Any, b: Any) -> bool:
    """Whether two JSON values are equal; 1 equals 1.0, and never True."""
    if a is b:
        return True
    if a != b:
        return False
    if not isinstance(a, (*_OBJECT, list)):
        return isinstance(a, bool) == isinstance(b, bool)
    # Nearly always equal values are written alike too, which is quickly seen.
    return msgspec.json.encode(a, order="sorted") == msgspec.json.encode(b, order="sorted") or _alike(a, b)


def _alike(a: Any, b: Any) -> bool:
    """Whether values that Python calls equal have True and 1 in the same places."""
    if isinstance(a, _OBJECT):
        return all(_alike(item, b[name]) for name, item in a.items())
    if isinstance(a, list):
        return all(map(_alike, a, b))
    return isinstance(a, bool) == isinstance(b, bool)


def below(schema: Schema, name: str) -> Schema | None:
    """The schema of a field of an object, or None where the schema knows no such field; an empty one takes anything."""
    properties: Mapping[str, Schema] = schema.get("properties", _NOTHING)
    child = properties.get(name)
    if child is None:
        child = schema.get("additionalProperties")
    if child is None and (not properties or PRESERVE in schema):
        return _NOTHING
    return child


def kind_of(schema: Schema, value: Any) -> str:
    """`object`, `array`, the type of a scalar, or `any` for an integer or a string; what has no type is its value's."""
    kind: str | None = schema.get("type")
    if kind is not None:
        return kind
    if INT_OR_STRING in schema:
        return "any"
    return "object" if isinstance(value, _OBJECT) else "array" if isinstance(value, list) else "any"


def _is_open(schema: Schema, value: Any) -> bool:
    """Whether the schema lets an object be taken apart."""
    return kind_of(schema, value) == "object" and schema.get(MAP_TYPE) != "atomic"


def is_keyed(schema: Schema) -> bool:
    """Whether the items of a list are told apart by keys, or by their values."""
    return schema.get(LIST_TYPE) in ("map", "set")


def step_to(item: Any, schema: Schema) -> str:
    """The step to an item of a keyed list; a key that the schema has a default for counts where it is missing."""
    keys: Sequence[str] | None = schema.get(LIST_MAP_KEYS)
    if keys is None or not isinstance(item, _OBJECT):
        return valued(item)
    defaults = schema["items"].get("properties", _NOTHING)
    pairs = []
    for key in keys:
        value = item.get(key, _ABSENT)
        if value is _ABSENT:
            value = defaults.get(key, _NOTHING).get("default", _ABSENT)
        if value is not _ABSENT:
            pairs.append((key, value, type(value)))
    try:
        return keyed(tuple(pairs))
    except TypeError:
        # A key that is an object or a list tells nothing apart.
        return valued(item)


def _spoken(value: Any, schema: Schema) -> Fields | None:
    """The node of an applied value, or None where it speaks of no field."""
    if isinstance(value, _OBJECT) and value and _is_open(schema, value):
        properties = schema.get("properties", _NOTHING)
        node: Fields = {}
        for name, item in value.items():
            inner = _spoken(item, below(schema, name) or _NOTHING)
            if name not in properties or item is None or item == {}:
                node[field(name)] = marked(inner)
            elif inner is not None:
                node[field(name)] = inner
        return node or None
    if isinstance(value, list) and is_keyed(schema):
        found, twice = _indexed(value, schema)
        items = schema["items"]
        return {step: {} if step in twice else marked(_spoken(item, items)) for step, item in found.items()} or None
    return {}


def _whole(value: Any, schema: Schema) -> Fields:
    """The node of a value that came or went whole: all its fields, and all that hold them."""
    if value.__class__ in _SCALARS or not value:
        return _NOTHING
    node: Fields = {HERE: _NOTHING}
    if isinstance(value, _OBJECT):
        if not _is_open(schema, value):
            return _NOTHING
        if _SCALARS.issuperset(map(type, value.values())):
            return _flat(tuple(value))
        for name, item in value.items():
            node[field(name)] = (
                _NOTHING if item.__class__ in _SCALARS else _whole(item, below(schema, name) or _NOTHING)
            )
    elif isinstance(value, list) and is_keyed(schema):
        if (alike := _table(value, schema)) is not None:
            return alike
        found, twice = _indexed(value, schema)
        items = schema["items"]
        for step, item in found.items():
            node[step] = _NOTHING if step in twice else _whole(item, items)
    else:
        return _NOTHING
    return node


def _table(value: list[Any], schema: Schema) -> Fields | None:
    """The node of a list whose items hold the same fields, all of them scalars; None where they do not."""
    keys, items = schema.get(LIST_MAP_KEYS), schema["items"]
    if keys is None or len(keys) != 1 or value[0].__class__ is not dict or not _is_open(items, value[0]):
        return None
    # Long lists are nearly all of this sort, such as a container's variables: no item is looked at in Python.
    try:
        shapes = set(map(tuple, value))
        values = [item.values() for item in value]
        if len(shapes) != 1 or keys[0] not in value[0] or not _SCALARS.issuperset(map(type, chain(*values))):
            return None
        return _rows(keys[0], tuple([item[keys[0]] for item in value]), shapes.pop())
    except (AttributeError, TypeError):
        return None


@lru_cache(maxsize=512)
def _rows(key: str, names: tuple[Any, ...], fields: tuple[str, ...]) -> Fields | None:
    """The node of a list of such items by their names; None where they have no names, or one of them twice."""
    if not _TEXT.issuperset(map(type, names)) or len(set(names)) < len(names):
        return None
    return {HERE: _NOTHING, **{_named(key, name): _flat(fields) for name in names}}


@lru_cache(maxsize=4096)
def _flat(names: tuple[str, ...]) -> Fields:
    """The node of an object that holds only scalars: all that have the same fields share it."""
    return {HERE: _NOTHING, **{field(name): _NOTHING for name in names}}


_Nodes = tuple[Fields | None, Fields | None, Fields | None]


_SAME: _Nodes = (None, None, None)


def _differ(old: Any, new: Any, schema: Schema) -> _Nodes:
    """The nodes of what was added, removed and modified."""
    if old is new:
        return _SAME
    if _is_open(schema, new if new is not None else old) and (old or new):
        if (old is None or isinstance(old, _OBJECT)) and (new is None or isinstance(new, _OBJECT)):
            return _differ_objects(old or _NOTHING, new or _NOTHING, schema)
    elif is_keyed(schema) and (old or new) and isinstance(old, list | None) and isinstance(new, list | None):
        return _differ_lists(old or [], new or [], schema)
    if same(old, new):
        return _SAME
    return _inside(new, schema), _inside(old, schema), {}


def _inside(value: Any, schema: Schema) -> Fields | None:
    """What lies below a value that came or went because another shape stands in its place."""
    return {step: node for step, node in _whole(value, schema).items() if step != HERE} or None


def _differ_objects(old: Mapping[str, Any], new: Mapping[str, Any], schema: Schema) -> _Nodes:
    """The nodes of what differs among the fields of two objects."""
    added: Fields = {}
    removed: Fields = {}
    modified: Fields = {}
    nodes = (added, removed, modified)
    for name, item in new.items():
        before = old.get(name, _ABSENT)
        if before is item:
            continue
        kind = item.__class__
        if kind in _SCALARS and (before is _ABSENT or kind is before.__class__):
            if before is _ABSENT:
                added["f:" + name] = _NOTHING
            elif item != before:
                modified["f:" + name] = _NOTHING
        elif before is _ABSENT:
            added["f:" + name] = _whole(item, below(schema, name) or _NOTHING)
        else:
            _gather(nodes, "f:" + name, _differ(before, item, below(schema, name) or _NOTHING))
    for name in old:
        if name not in new:
            removed["f:" + name] = _whole(old[name], below(schema, name) or _NOTHING)
    return added or None, removed or None, modified or None


def _differ_items(old: Mapping[str, Any], new: Mapping[str, Any], items: Schema) -> _Nodes:
    """The nodes of what differs among the items of two lists, which are there by step."""
    nodes: tuple[Fields, Fields, Fields] = ({}, {}, {})
    for step, item in new.items():
        before = old.get(step, _ABSENT)
        if before is _ABSENT:
            nodes[0][step] = _whole(item, items)
        elif before is not item:
            _gather(nodes, step, _differ(before, item, items))
    for step, item in old.items():
        if step not in new:
            nodes[1][step] = _whole(item, items)
    return nodes[0] or None, nodes[1] or None, nodes[2] or None


def _gather(nodes: tuple[Fields, Fields, Fields], step: str, found: _Nodes) -> None:
    if found is _SAME:
        return
    added, removed, modified = found
    if added is not None:
        nodes[0][step] = added
    if removed is not None:
        nodes[1][step] = removed
    if modified is not None:
        nodes[2][step] = modified


def _differ_lists(old: list[Any], new: list[Any], schema: Schema) -> _Nodes:
    items = schema["items"]
    before, twice_before = _indexed(old, schema)
    after, twice_after = _indexed(new, schema)
    # An item that occurs twice is one field, of which nothing below can be told.
    twice = twice_before | twice_after
    if not twice:
        return _differ_items(before, after, items)
    once_before = {step: item for step, item in before.items() if step not in twice}
    once_after = {step: item for step, item in after.items() if step not in twice}
    added, removed, modified = _differ_items(once_before, once_after, items)
    for step in sorted(twice):
        all_before = [item for item in old if step_to(item, schema) == step]
        all_after = [item for item in new if step_to(item, schema) == step]
        if step in twice_before and step in twice_after:
            if not same(all_before, all_after):
                modified = {**(modified or {}), step: {}}
        elif step in twice_before:
            removed = {**(removed or {}), step: {}}
            added = {**(added or {}), step: _whole(all_after[0], items)} if all_after else added
        else:
            added = {**(added or {}), step: {}}
            removed = {**(removed or {}), step: _whole(all_before[0], items)} if all_before else removed
    return added, removed, modified


@lru_cache(maxsize=4096)
def _named(key: str, name: str) -> str:
    return keyed(((key, name, str),))


def _indexed(value: list[Any], schema: Schema) -> tuple[dict[str, Any], set[str]]:
    """The items of a keyed list by step, and the steps that occur more than once."""
    keys = schema.get(LIST_MAP_KEYS)
    if keys is not None and len(keys) == 1:
        (key,) = keys
        # Nearly all such lists are told apart by one text, and hold nothing twice.
        named = {item[key]: item for item in value if item.__class__ is dict and item.get(key).__class__ is str}
        if len(named) == len(value):
            return {_named(key, name): item for name, item in named.items()}, set()
    found: dict[str, Any] = {}
    twice: set[str] = set()
    for item in value:
        step = step_to(item, schema)
        if step in found:
            twice.add(step)
        else:
            found[step] = item
    return found, twice


def _merged_list(live: list[Any], patch: list[Any], schema: Schema) -> list[Any]:
    """The patch's items in their order; the live list's others keep their place before the items that both have."""
    items = schema["items"]
    lives, twice = _indexed(live, schema)
    applied = {step_to(item, schema): item for item in patch}
    places = [step_to(item, schema) for item in live]
    shared = [step for step in applied if step in lives]
    at = 0
    joined: list[Any] = []
    for step, item in applied.items():
        while at < len(live) and not (shared and places[at] == shared[0]):
            if places[at] not in applied:
                joined.append(live[at])
            at += 1
        joined.append(merged(lives[step], item, items) if step in lives and step not in twice else item)
        if shared and step == shared[0]:
            shared.pop(0)
            at += 1
    joined += [item for place, item in zip(places[at:], live[at:], strict=True) if place not in applied]
    return joined
