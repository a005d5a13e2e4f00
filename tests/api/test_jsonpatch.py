"""JSON patch: what a real API server answered, and what RFC 6902 asks for."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from trainplane.api.diff import json_diff
from trainplane.api.jsonpatch import apply, pointer
from trainplane.api.merge import Fault, PatchError

FACTS: dict[str, Any] = json.loads((Path(__file__).parent / "facts" / "patches.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("fact", FACTS["json"], ids=lambda fact: fact["about"])
def test_lenient_as_the_real_server(fact: dict[str, Any]) -> None:
    before = FACTS["before"][fact["to"]]
    untouched = copy.deepcopy(before)
    if fact["code"] == 200:
        assert as_strings(apply(before, fact["patch"], lenient=True)) == as_strings(fact["after"])
    elif "is invalid" in fact["message"]:
        apply(before, fact["patch"], lenient=True)
    else:
        with pytest.raises(PatchError) as refusal:
            apply(before, fact["patch"], lenient=True)
        assert (refusal.value.fault is Fault.TYPE) == (fact["about"] == "an operation that is no object") or (
            refusal.value.fault is Fault.TYPE and fact["about"] == "a null operation"
        )
    assert before == untouched


def as_strings(document: dict[str, Any]) -> dict[str, Any]:
    """A null in a map of strings is stored as an empty string."""
    data = document.get("data")
    return {**document, "data": {key: value or "" for key, value in data.items()}} if data else document


LENIENT_ONLY = {
    "test of a missing key against null",
    "test of a missing key without value",
    "replace of a missing key",
    "copy of a missing key",
    "pointer without a leading slash, deeper",
    "add without value",
    "replace without value",
    "list: insert at -1",
    "list: insert at -3",
    "list: insert at -4",
    "list: replace at -1",
    "list: remove -1",
    "list: leading zero",
    "list: plus sign",
    "list: test at -1",
}
STRICT_ONLY = {"whole document: add", "whole document: remove", "whole document: copy", "numbers are compared by value"}


@pytest.mark.parametrize("fact", FACTS["json"], ids=lambda fact: fact["about"])
def test_strict_differs_only_where_the_rfc_does(fact: dict[str, Any]) -> None:
    taken = fact["code"] == 200 or ("is invalid" in fact["message"] and not fact["about"].startswith("pointer"))
    taken = (taken and fact["about"] not in LENIENT_ONLY) or fact["about"] in STRICT_ONLY
    before = FACTS["before"][fact["to"]]
    if taken:
        result = apply(before, fact["patch"])
        if fact["code"] == 200:
            assert result == fact["after"]
    else:
        with pytest.raises(PatchError):
            apply(before, fact["patch"])


@pytest.mark.parametrize(
    ("document", "operations", "result"),
    [
        ({"a~b": 1, "c/d": 2}, [{"op": "replace", "path": "/a~0b", "value": 3}], {"a~b": 3, "c/d": 2}),
        ({"~1": 1}, [{"op": "test", "path": "/~01", "value": 1}], {"~1": 1}),
        ({"": 1}, [{"op": "remove", "path": "/"}], {}),
        ({"a": [1, [2, 3]]}, [{"op": "remove", "path": "/a/1/0"}], {"a": [1, [3]]}),
        ({"a": {"b": 1}}, [{"op": "move", "from": "/a/b", "path": "/a"}], {"a": 1}),
        ([1, 2], [{"op": "move", "from": "/1", "path": "/0"}], [2, 1]),
        ({"a": 1}, [{"op": "replace", "path": "", "value": [1]}], [1]),
        ({"a": 1}, [{"op": "test", "path": "", "value": {"a": 1.0}}], {"a": 1}),
        ({"a": None}, [{"op": "test", "path": "/a", "value": None}], {"a": None}),
        ({"a": {"b": 1}}, [{"op": "copy", "from": "/a", "path": "/a/c"}], {"a": {"b": 1, "c": {"b": 1}}}),
    ],
)
def test_by_the_rfc(document: Any, operations: Any, result: Any) -> None:
    assert apply(document, operations) == result


@pytest.mark.parametrize(
    ("operations", "words"),
    [
        ({}, ["list of operations"]),
        ([{"op": "add", "path": "/a", "value": 1}, "x"], ["[1]", "map"]),
        ([{"op": "explode", "path": "/a"}], ["[0]", "'explode'", "add, remove"]),
        ([{"path": "/a"}], ["op is missing"]),
        ([{"op": "add", "path": "a", "value": 1}], ["'a'", "write /a"]),
        ([{"op": "add", "path": "/a"}], ["value is missing"]),
        ([{"op": "remove", "path": "/m/zz"}], ["remove /m/zz", "/m has no 'zz'"]),
        ([{"op": "replace", "path": "/zz", "value": 1}], ["the document has no 'zz'"]),
        ([{"op": "add", "path": "/zz/y", "value": 1}], ["the document has no 'zz'"]),
        ([{"op": "add", "path": "/s/y", "value": 1}], ["/s is neither"]),
        ([{"op": "add", "path": "/l/9", "value": 1}], ["/l has no position 9"]),
        ([{"op": "add", "path": "/l/01", "value": 1}], ["'01' is no position"]),
        ([{"op": "remove", "path": "/l/" + "9" * 5000}], ["no position"]),
        ([{"op": "move", "from": "/m", "path": "/m/x"}], ["into itself"]),
        ([{"op": "move", "path": "/m/x"}], ["from must be"]),
        ([{"op": "test", "path": "/s", "value": True}], ["test /s", "retry"]),
        ([{"op": "add", "path": "/a~b", "value": 1}], ["~0 for ~"]),
    ],
)
def test_a_refused_patch_says_which_operation_and_why(operations: Any, words: list[str]) -> None:
    with pytest.raises(PatchError) as refusal:
        apply({"m": {"k": 1}, "l": [1, 2], "s": 1}, operations)
    assert all(word in str(refusal.value) for word in words), str(refusal.value)


def test_a_failing_patch_changes_nothing() -> None:
    document = {"a": [1]}
    operations = [{"op": "add", "path": "/a/-", "value": 2}, {"op": "test", "path": "/a/0", "value": 9}]
    with pytest.raises(PatchError):
        apply(document, operations)
    assert document == {"a": [1]}


def test_copies_of_copies_end_before_they_fill_the_memory() -> None:
    doubling = [{"op": "copy", "from": "/a", "path": f"/a/{number}"} for number in range(60)]
    with pytest.raises(PatchError, match="what is copied becomes too large; copy less of the object"):
        apply({"a": {"b": "c"}}, doubling)
    many = [{"op": "copy", "from": "/a", "path": f"/b{number}"} for number in range(9_000)]
    with pytest.raises(PatchError, match="becomes too large"):
        apply({"a": "x" * 1_000}, many, lenient=True)


def test_pointers_escape() -> None:
    assert pointer(("metadata", "labels", "a/b~c", 0)) == "/metadata/labels/a~1b~0c/0"


def test_a_diff_names_only_what_changed() -> None:
    before = {"a": 1, "b": {"c/d": [1, 2, 3]}, "gone": True}
    after = {"a": 1, "b": {"c/d": [1, 5]}, "new": {}}
    assert json_diff(before, after) == [
        {"op": "remove", "path": "/gone"},
        {"op": "replace", "path": "/b/c~1d/1", "value": 5},
        {"op": "remove", "path": "/b/c~1d/2"},
        {"op": "add", "path": "/new", "value": {}},
    ]
