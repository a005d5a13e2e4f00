"""Paths by key and by position, and trees that share what did not change."""

from typing import Any

import pytest

from trainplane.api.problem import Path
from trainplane.trainjob.tree import element_keys, keyed, positions, put, upsert

POD = {
    "containers": [
        {
            "name": "node",
            "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
            "ports": [{"containerPort": 29500}, {"containerPort": 8080, "name": "metrics"}],
            "volumeMounts": [{"name": "data", "mountPath": "/a"}, {"name": "data", "mountPath": "/b"}],
            "args": ["x", "y"],
        }
    ]
}


@pytest.mark.parametrize(
    ("by_position", "by_key"),
    [
        (("containers", 0, "env", 1, "value"), ("containers", "node", "env", "B", "value")),
        (("containers", 0, "ports", 1, "name"), ("containers", "node", "ports", "8080", "name")),
        (("containers", 0, "volumeMounts", 1), ("containers", "node", "volumeMounts", "/b")),
        (("containers", 0, "args", 1), ("containers", "node", "args", 1)),
        ((), ()),
    ],
)
def test_a_path_by_position_is_a_path_by_key(by_position: Path, by_key: Path) -> None:
    assert keyed(POD, by_position) == by_key
    assert positions(POD, by_key) == by_position
    assert positions(POD, by_position) == by_position


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (("containers", "other", "env"), ("containers",)),
        (("containers", "node", "image"), ("containers", 0)),
        (("containers", 7), ("containers",)),
        (("containers", "node", "args", 9), ("containers", 0, "args")),
    ],
)
def test_a_path_that_leads_nowhere_is_followed_as_far_as_it_goes(path: Path, found: Path) -> None:
    assert positions(POD, path) == found


@pytest.mark.parametrize(
    ("items", "keys"),
    [
        ([{"name": "a"}, {"name": "b"}], ["a", "b"]),
        ([{"name": "a"}, {"name": "a"}], [0, 1]),
        ([{"name": "a"}, {}], [0, 1]),
        (["a", "b"], [0, 1]),
        ([], []),
    ],
)
def test_elements_go_by_name_only_where_names_tell_them_apart(items: list[Any], keys: list[Any]) -> None:
    assert element_keys(items, "env") == keys


def test_put_shares_what_it_does_not_change() -> None:
    tree = {"a": {"x": 1}, "b": {"y": [1, 2]}}
    new = put(tree, ("a", "x"), 2)
    assert new == {"a": {"x": 2}, "b": {"y": [1, 2]}}
    assert new["b"] is tree["b"]
    assert tree["a"] == {"x": 1}


def test_upsert_takes_the_place_of_the_same_key_or_goes_last() -> None:
    items = [{"name": "a", "value": "1", "extra": True}, {"name": "b"}]
    assert upsert(items, {"name": "a", "value": "2"}, key="name") == ([{"name": "a", "value": "2"}, {"name": "b"}], 0)
    assert upsert(items, {"name": "c"}, key="name") == ([*items, {"name": "c"}], 2)
