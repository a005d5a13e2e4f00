"""The laws of patches: a diff carries one document into the other, and merging is orderly."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from trainplane.api.diff import json_diff, merge_diff, strategic_diff
from trainplane.api.jsonpatch import apply
from trainplane.api.merge import PatchError, merge_patch, same, strategic_merge

names = st.sampled_from(["a", "b", "c/d", "e~f", "g"])
scalars = st.one_of(st.booleans(), st.integers(-2, 2), st.floats(-1, 1), st.text(max_size=3))


def documents(leaf: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """JSON objects over few names, so that two of them have much in common."""
    values = st.recursive(
        leaf, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3), max_leaves=8
    )
    return st.dictionaries(names, values, max_size=4)


without_nulls = documents(scalars)
with_nulls = documents(st.none() | scalars)


@given(with_nulls)
def test_an_empty_patch_changes_nothing(a: Any) -> None:
    assert same(merge_patch(a, {}), a)
    assert same(strategic_merge(a, {}), a)
    assert same(apply(a, []), a)


@given(with_nulls, without_nulls)
def test_a_merge_diff_carries_one_into_the_other(a: Any, b: Any) -> None:
    assert same(merge_patch(a, merge_diff(a, b)), b)


@given(with_nulls, with_nulls)
def test_merging_twice_is_merging_once(a: Any, patch: Any) -> None:
    once = merge_patch(a, patch)
    assert same(merge_patch(once, patch), once)


maps = st.dictionaries(names, st.none() | scalars, max_size=3)
shaped = st.fixed_dictionaries({}, optional={"a": scalars, "c/d": maps, "g": st.fixed_dictionaries({"b": maps})})


@given(shaped, shaped, shaped)
def test_patches_of_one_shape_can_be_joined_first(a: Any, p: Any, q: Any) -> None:
    """Joining keeps nulls as deletions to come; where a map and a scalar change places it cannot hold."""
    joined = join(p, q)
    assert same(merge_patch(merge_patch(a, p), q), merge_patch(a, joined))


def join(p: Any, q: Any) -> Any:
    """One merge patch that does what `p` and then `q` do."""
    if not isinstance(p, dict) or not isinstance(q, dict):
        return q
    return {**p, **{key: join(p.get(key), value) for key, value in q.items()}}


@given(with_nulls, with_nulls)
def test_a_json_diff_carries_one_into_the_other(a: Any, b: Any) -> None:
    operations = json_diff(a, b)
    assert same(apply(a, operations), b)
    assert same(apply(a, operations, lenient=True), b)
    assert bool(operations) is not same(a, b)


ENV = {
    "type": "array",
    "x-kubernetes-patch-strategy": "merge",
    "x-kubernetes-patch-merge-key": "name",
    "items": {"type": "object", "properties": {"source": {"x-kubernetes-patch-strategy": "retainKeys"}}},
}
SCHEMA: dict[str, Any] = {
    "properties": {
        "env": ENV,
        "volumes": {**ENV, "x-kubernetes-patch-strategy": "merge,retainKeys"},
        "finalizers": {"type": "array", "x-kubernetes-patch-strategy": "merge"},
        "args": {"type": "array"},
        "selector": {"x-kubernetes-patch-strategy": "replace"},
        "inner": {"properties": {"env": ENV}},
    }
}

flat = st.dictionaries(names, scalars, max_size=3)
elements = st.lists(
    st.builds(
        lambda name, rest, source: {"name": name, **rest, "source": source},
        st.sampled_from("xyz"),
        flat,
        flat,
    ),
    max_size=3,
    unique_by=lambda element: str(element["name"]),
)
words = st.lists(st.sampled_from("pqrs"), max_size=4)
pods = st.fixed_dictionaries(
    {},
    optional={
        "env": elements,
        "volumes": elements,
        "finalizers": words.map(lambda items: list(dict.fromkeys(items))),
        "args": words,
        "selector": flat,
        "labels": flat,
        "inner": st.fixed_dictionaries({}, optional={"env": elements}),
    },
)


@given(pods, pods)
def test_a_strategic_diff_carries_one_into_the_other_in_its_order(a: Any, b: Any) -> None:
    assert same(strategic_merge(a, strategic_diff(a, b, SCHEMA), SCHEMA), b)
    assert (strategic_diff(a, b, SCHEMA) == {}) == same(a, b)


@given(pods, pods)
def test_a_strategic_merge_keeps_everything_of_the_patch_and_never_doubles(a: Any, patch: Any) -> None:
    result = strategic_merge(a, patch, SCHEMA)
    assert same(strategic_merge(result, patch, SCHEMA), result)
    for field in ("env", "volumes"):
        if field in patch:
            order = [element["name"] for element in result[field]]
            assert len(order) == len(set(order))
            assert set(order) == {element["name"] for element in a.get(field, []) + patch[field]}
            assert [name for name in order if name in {e["name"] for e in patch[field]}] == [
                element["name"] for element in patch[field]
            ]


DIRECTIVES = ["$patch", "$retainKeys", "$setElementOrder/env", "$deleteFromPrimitiveList/finalizers"]
directives = st.recursive(
    scalars | st.none() | st.sampled_from(["delete", "replace", "merge", "a"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "$patch",
                    "$retainKeys",
                    "$setElementOrder/env",
                    "$deleteFromPrimitiveList/finalizers",
                    "name",
                    *SCHEMA["properties"],
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(directives, directives)
def test_any_patch_merges_or_is_refused_by_name(a: Any, patch: Any) -> None:
    try:
        outcome = strategic_merge(a if isinstance(a, dict) else {}, patch, SCHEMA)
    except PatchError as error:
        outcome = {"todo": error.todo}
    assert isinstance(outcome, dict)


operations_ = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test", "x"]) | scalars,
            "path": st.sampled_from(["", "/", "/a", "/a/b", "/a/0", "/a/-", "/g/-1", "a", "/a/b/g", "/e~0f"]) | scalars,
            "from": st.sampled_from(["", "/a", "/a/0", "/g", "/a/b"]),
            "value": with_nulls,
        },
    )
    | scalars,
    max_size=4,
)


@given(with_nulls, operations_, st.booleans())
def test_any_operations_apply_or_are_refused_by_name(a: Any, operations: Any, lenient: bool) -> None:
    before = repr(a)
    try:
        apply(a, operations, lenient=lenient)
        todo = "none"
    except PatchError as error:
        todo = error.todo
    assert todo
    assert repr(a) == before
