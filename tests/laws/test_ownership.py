"""Laws of field sets and of server-side apply, over schemas with every kind of list and map."""

import json
from datetime import UTC, datetime
from typing import Any

from hypothesis import assume, given, reject
from hypothesis import strategies as st

from trainplane.api.meta import Raw
from trainplane.api.schema import LIST_MAP_KEYS, LIST_TYPE, MAP_TYPE, PRESERVE
from trainplane.cluster.entries import decode, encode
from trainplane.cluster.errors import ApplyConflict
from trainplane.cluster.fields import (
    Fields,
    difference,
    has,
    intersection,
    ordered,
    paths,
    shown,
    single,
    union,
    well_formed,
    without,
)
from trainplane.cluster.ownership import apply, update
from trainplane.cluster.typed import difference_of, fields_of, merged, removed, same

NOW = datetime(2026, 1, 31, tzinfo=UTC)
_TEXT = {"type": "string"}
_ITEM = {"type": "object", "properties": {"name": _TEXT, "x": _TEXT, "y": {"type": "array", "items": _TEXT}}}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "apiVersion": _TEXT,
        "kind": _TEXT,
        "metadata": {"type": "object", "properties": {"name": _TEXT}},
        "text": _TEXT,
        "map": {"type": "object", "additionalProperties": _TEXT},
        "maps": {"type": "object", "additionalProperties": _ITEM},
        "whole": {"type": "object", "additionalProperties": _TEXT, MAP_TYPE: "atomic"},
        "list": {"type": "array", "items": _TEXT},
        "set": {"type": "array", "items": _TEXT, LIST_TYPE: "set"},
        "items": {"type": "array", "items": _ITEM, LIST_TYPE: "map", LIST_MAP_KEYS: ["name"]},
        "free": {"type": "object", PRESERVE: True},
    },
}
_names = st.sampled_from("abc")
_texts = st.sampled_from(["1", "2"])
_map = st.dictionaries(_names, _texts, max_size=3)
_item = st.fixed_dictionaries({}, optional={"x": _texts, "y": st.lists(_texts, max_size=2)})
# A keyed list without items is there and nobody's, on a real server too: what follows from that is no law.
_items = st.dictionaries(_names, _item, min_size=1, max_size=3).map(
    lambda found: [{"name": n, **item} for n, item in found.items()]
)
_content = st.fixed_dictionaries(
    {},
    optional={
        "text": _texts,
        "map": _map,
        "maps": st.dictionaries(_names, _item, max_size=2),
        "whole": _map,
        "list": st.lists(_texts, max_size=2),
        "set": st.lists(_names, min_size=1, max_size=3, unique=True),
        "items": _items,
        "free": st.dictionaries(_names, _texts | st.integers(0, 1) | st.booleans() | _map, max_size=2),
    },
)
objects = _content.map(lambda content: {"apiVersion": "v1", "kind": "K", "metadata": {"name": "o"}, **content})
_managers = st.sampled_from(["m1", "m2", "m3"])
histories = st.lists(st.tuples(st.sampled_from(["apply", "force", "update"]), _managers, objects), max_size=5)
strangers = st.lists(st.tuples(st.sampled_from(["force", "update"]), st.just("m3"), objects), max_size=3)
_steps = st.sampled_from(["f:a", "f:b", 'k:{"name":"c"}', 'v:"x"', "i:0"])
sets: st.SearchStrategy[Fields] = st.lists(st.lists(_steps, min_size=1, max_size=3).map(tuple), max_size=6).map(
    lambda ways: _set(ways)
)


def _set(ways: list[tuple[str, ...]]) -> Fields:
    found: Fields = {}
    for way in ways:
        found = union(found, single(way))
    return found


def _members(fields: Fields) -> set[tuple[str, ...]]:
    return set(paths(fields))


def applied(live: Raw | None, patch: Raw, manager: str, *, force: bool = False) -> Raw:
    """The object after an apply."""
    return apply(live, patch, manager=manager, schema=SCHEMA, now=NOW, force=force).object


def lived(history: list[tuple[str, str, Raw]]) -> Raw | None:
    """The object that a history leaves; conflicts leave it as it was."""
    live: Raw | None = None
    for verb, manager, raw in history:
        if verb == "update":
            entries = update(live, raw, manager=manager, schema=SCHEMA, now=NOW)
            live = {**raw, "metadata": {"name": "o", **({"managedFields": entries} if entries else {})}}
            continue
        try:
            live = applied(live, raw, manager, force=verb == "force")
        except ApplyConflict:
            continue
    return live


def content(raw: Raw | None) -> Any:
    """An object without its managers and without empty maps and lists, which nobody can tell from missing ones."""
    if isinstance(raw, dict):
        found = {name: content(item) for name, item in raw.items() if name != "managedFields"}
        return {name: item for name, item in found.items() if item not in ({}, [], None)}
    return [content(item) for item in raw] if isinstance(raw, list) else raw


def managers(raw: Raw) -> dict[Any, Fields]:
    """Who owns what."""
    found = decode(raw["metadata"].get("managedFields"))
    assert found is not None
    return {who: owned.fields for who, owned in found.items()}


@given(sets, sets)
def test_field_sets_are_sets(a: Fields, b: Fields) -> None:
    assert _members(union(a, b)) == _members(a) | _members(b)
    assert _members(intersection(a, b)) == _members(a) & _members(b)
    assert _members(difference(a, b)) == _members(a) - _members(b)
    assert _members(without(a, b)) == {
        way for way in _members(a) if not any(way[:length] in _members(b) for length in range(1, len(way) + 1))
    }
    assert all(has(a, way) == (way in _members(a)) for way in _members(union(a, b)))


@given(sets, sets)
def test_equal_sets_are_written_alike(a: Fields, b: Fields) -> None:
    again = ordered(_set(sorted(_members(a))))
    assert json.dumps(again) == json.dumps(ordered(a))
    assert (ordered(a) == ordered(b)) == (_members(a) == _members(b))
    assert well_formed(a)
    assert all(shown(way) for way in paths(a))


@given(histories)
def test_entries_are_read_as_they_are_written(history: list[tuple[str, str, Raw]]) -> None:
    live = lived(history)
    assume(live is not None)
    assert live is not None
    entries = live["metadata"].get("managedFields", [])
    found = decode(json.loads(json.dumps(entries)))
    assert found is not None
    assert encode(found) == entries


@given(histories, objects, _managers)
def test_the_same_apply_again_changes_nothing(history: list[tuple[str, str, Raw]], patch: Raw, manager: str) -> None:
    once = applied(lived(history), patch, manager, force=True)
    # With no managers left, the next apply gives what is still there to before-first-apply.
    assume(managers(once))
    again = apply(once, patch, manager=manager, schema=SCHEMA, now=NOW)
    assert again.object == once
    assert not again.changed


@given(histories, objects, _managers)
def test_what_is_applied_is_there_and_owned(history: list[tuple[str, str, Raw]], patch: Raw, manager: str) -> None:
    after = applied(lived(history), patch, manager, force=True)
    change = difference_of(after, merged(after, patch, SCHEMA), SCHEMA)
    assert not change.taken
    owned = {way for who, fields in managers(after).items() if who[:2] == (manager, "Apply") for way in paths(fields)}
    names = {("f:apiVersion",), ("f:kind",), ("f:metadata", "f:name")}
    assert owned == _members(fields_of(patch, SCHEMA)) - names


@given(histories)
def test_nobody_owns_what_is_not_there(history: list[tuple[str, str, Raw]]) -> None:
    live = lived(history)
    assume(live is not None)
    assert live is not None
    there = _members(difference_of({}, live, SCHEMA).added)
    for fields in managers(live).values():
        assert _members(fields) <= there


@given(strangers, objects, objects)
def test_applies_of_disjoint_fields_commute(history: list[tuple[str, str, Raw]], one: Raw, other: Raw) -> None:
    live = lived(history)
    mine, theirs = fields_of(one, SCHEMA), fields_of(other, SCHEMA)
    names = {("f:apiVersion",), ("f:kind",), ("f:metadata", "f:name")}
    mine_, theirs_ = _members(mine) - names, _members(theirs) - names
    assume(not any(a[: len(b)] == b or b[: len(a)] == a for a in mine_ for b in theirs_))
    try:
        one_first = applied(applied(live, one, "m1"), other, "m2")
        other_first = applied(applied(live, other, "m2"), one, "m1")
    except ApplyConflict:
        reject()
    assert managers(one_first) == managers(other_first)
    for key in ("set", "items"):
        # The order of a list is that in which its items came.
        for raw in (one_first, other_first):
            raw[key] = sorted(raw.get(key, []), key=json.dumps)
    assert same(content(one_first), content(other_first))


@given(objects, objects)
def test_giving_everything_up_leaves_what_others_own(one: Raw, other: Raw) -> None:
    names = {"apiVersion": "v1", "kind": "K", "metadata": {"name": "o"}}
    both = applied(applied(None, one, "m1"), other, "m2", force=True)
    alone = applied(None, other, "m2")
    assume(managers(both) and managers(alone))
    left = applied(both, names, "m1")
    assert [who[0] for who in managers(left)] == [who[0] for who in managers(alone)]
    for key in ("set", "items"):
        for raw in (left, alone):
            raw[key] = sorted(raw.get(key, []), key=json.dumps)
    assert same(content(left), content(alone))


@given(objects, objects)
def test_a_difference_turns_one_into_the_other(old: Raw, new: Raw) -> None:
    change = difference_of(old, new, SCHEMA)
    assert not difference_of(old, old, SCHEMA).taken
    back = difference_of(new, old, SCHEMA)
    assert (_members(change.added), _members(change.removed)) == (_members(back.removed), _members(back.added))
    assert _members(change.modified) == _members(back.modified)
    rebuilt = merged(removed(old, change.removed, SCHEMA), new, SCHEMA)
    assert not difference_of(content(rebuilt), content(new), SCHEMA).taken
