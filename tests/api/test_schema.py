"""From types to schemas: what each annotation becomes, and what an API server would make of values."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, UnsetType

from trainplane.api.kinds import KINDS, Kind
from trainplane.api.meta import Field, Int32, Int64, IntOrString, Law, Quantity, Raw, Time, Wire
from trainplane.api.schema import laws_of, openapi, published, strict_json_schema
from trainplane.api.structural import broken_laws, defaulted, repeated

EVEN = Law(cel="self % 2 == 0", message="must be even", holds=lambda n, _: bool(n % 2 == 0))
GROWS = Law(cel="self >= oldSelf", message="must not shrink", holds=lambda n, old: bool(n >= old), transition=True)
SMALL = Law(cel="size(self.tags) < 3", message="too many", holds=lambda leaf, _: len(leaf.get("tags", ())) < 3)


class Leaf(Wire, frozen=True):
    SCHEMA: ClassVar[Field] = Field(description="A leaf.", map_type="atomic", laws=(SMALL,))

    name: str
    size: Annotated[Int32, Field(minimum=1, laws=(EVEN,))] | UnsetType = UNSET
    tags: Annotated[tuple[str, ...], Field(list_type="set", max_items=4)] | UnsetType = UNSET


class Tree(Wire, frozen=True):
    leaves: (
        Annotated[
            tuple[Leaf, ...],
            Field(list_type="map", keys=("name",), merge_key="name", patch_strategy="merge"),
        ]
        | UnsetType
    ) = UNSET
    best_leaf: Annotated[Leaf, Field(description="The best.", laws=(EVEN,))] | UnsetType = UNSET
    colour: Annotated[str, Field(default="green", enum=("green", "red"))] | UnsetType = UNSET
    height: Annotated[Int64, Field(laws=(GROWS,))] | UnsetType = UNSET
    planted: Time | UnsetType = UNSET
    port: IntOrString | UnsetType = UNSET
    fruit: Mapping[str, Quantity] | UnsetType = UNSET
    notes: Raw | UnsetType = UNSET
    alive: bool | UnsetType = UNSET
    by_name: Mapping[str, Leaf] | UnsetType = UNSET


class Named(Wire, frozen=True):
    name: str
    height: Annotated[int, Field(laws=(GROWS,))] | UnsetType = UNSET


class Forest(Wire, frozen=True):
    trees: Annotated[tuple[Named, ...], Field(list_type="map", keys=("name",))] | UnsetType = UNSET


def field(name: str) -> dict[str, Any]:
    found: dict[str, Any] = openapi(Tree)["properties"][name]
    return found


@pytest.mark.parametrize(
    ("name", "schema"),
    [
        ("colour", {"type": "string", "default": "green", "enum": ["green", "red"]}),
        ("planted", {"type": "string", "format": "date-time"}),
        ("port", {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}),
        ("notes", {"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
        ("alive", {"type": "boolean"}),
        ("byName", {"type": "object", "additionalProperties": openapi(Leaf)}),
        ("height", {"type": "integer", "format": "int64", "x-kubernetes-validations": (GROWS,)}),
    ],
)
def test_a_field_says_what_its_annotation_says(name: str, schema: dict[str, Any]) -> None:
    assert field(name) == schema


def test_a_quantity_is_a_number_or_its_text() -> None:
    quantity = field("fruit")["additionalProperties"]
    assert quantity["x-kubernetes-int-or-string"]
    assert quantity["pattern"].startswith("^")


def test_a_list_keeps_its_keys_and_its_merge() -> None:
    assert {key: value for key, value in field("leaves").items() if key != "items"} == {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "x-kubernetes-patch-merge-key": "name",
        "x-kubernetes-patch-strategy": "merge",
    }


def test_a_type_is_built_once_and_shared() -> None:
    assert field("leaves")["items"] is openapi(Leaf)


def test_a_field_adds_to_its_type_and_leaves_it_as_it_was() -> None:
    best = field("bestLeaf")
    assert best["description"] == "The best."
    assert laws_of(best) == (SMALL, EVEN)
    assert openapi(Leaf)["description"] == "A leaf."
    assert laws_of(openapi(Leaf)) == (SMALL,)
    assert openapi(Leaf)["required"] == ["name"]


def test_a_crd_gets_cel_and_no_merge_keys() -> None:
    leaves = published(openapi(Tree))["properties"]["leaves"]
    assert "x-kubernetes-patch-merge-key" not in leaves
    assert leaves["items"]["x-kubernetes-validations"] == [{"rule": "size(self.tags) < 3", "message": "too many"}]


STRICT = jsonschema_rs.Draft202012Validator(strict_json_schema(Tree), validate_formats=True)


@pytest.mark.parametrize(
    ("tree", "place"),
    [
        ({}, None),
        (None, []),
        ({"unknown": 1}, []),
        ({"colour": None, "leaves": None, "bestLeaf": None, "port": None, "planted": None}, None),
        ({"leaves": [{"name": "a", "size": None, "tags": None}]}, None),
        ({"leaves": [None]}, ["leaves", 0]),
        ({"leaves": [{"name": None}]}, ["leaves", 0, "name"]),
        ({"leaves": [{}]}, ["leaves", 0]),
        ({"fruit": {"apple": None}}, None),
        ({"fruit": {"apple": "500m", "pear": 3}}, None),
        ({"fruit": {"apple": "many"}}, ["fruit", "apple"]),
        ({"fruit": {"apple": 0.5}}, ["fruit", "apple"]),
        ({"colour": "blue"}, ["colour"]),
        ({"port": "http"}, None),
        ({"port": True}, ["port"]),
        ({"leaves": [{"name": "a", "size": 0}]}, ["leaves", 0, "size"]),
        ({"leaves": [{"name": "a", "size": 2**31}]}, ["leaves", 0, "size"]),
        ({"leaves": [{"name": "a", "size": 2**31 - 1}]}, None),
        ({"height": 2**63}, ["height"]),
        ({"height": 2.0}, None),
        ({"planted": "2026-01-31T12:00:00.5+02:00"}, None),
        ({"planted": "2026-01-31"}, ["planted"]),
        ({"notes": {"any": [None, {"thing": 1}]}}, None),
        ({"notes": []}, ["notes"]),
        ({"byName": {"a": {"name": "a", "odd": 1}}}, ["byName", "a"]),
    ],
)
def test_the_strict_schema_takes_what_an_api_server_takes(tree: Any, place: list[str | int] | None) -> None:
    assert [error.instance_path for error in STRICT.iter_errors(tree)] == ([] if place is None else [place])


def test_defaults_are_filled_in_and_nulls_dropped() -> None:
    tree = {"leaves": [{"name": "a", "size": None}], "colour": None, "notes": {"kept": None}, "height": 0}
    assert defaulted(Tree, tree) == {"leaves": [{"name": "a"}], "colour": "green", "notes": {"kept": None}, "height": 0}
    assert tree["colour"] is None, "the value itself stays as it was"


def test_what_must_be_unique_is_found_twice() -> None:
    leaves = [{"name": "a", "tags": ["x", "y", "x"]}, {"name": "b"}, {"name": "a"}]
    assert list(repeated(Tree, {"leaves": leaves})) == [("leaves", 2), ("leaves", 0, "tags", 2)]


def test_every_broken_law_is_named_with_its_place() -> None:
    tree = {"leaves": [{"name": "a", "size": 2}, {"name": "b", "size": 3, "tags": ["x", "y", "z"]}]}
    assert list(broken_laws(Tree, tree)) == [(("leaves", 1), SMALL), (("leaves", 1, "size"), EVEN)]


@pytest.mark.parametrize(
    ("new", "old", "broken"),
    [
        ({"height": 2}, None, False),
        ({"height": 2}, {}, False),
        ({"height": 2}, {"height": 1}, False),
        ({"height": 1}, {"height": 2}, True),
        ({}, {"height": 2}, False),
    ],
    ids=["at creation", "added", "grown", "shrunk", "removed"],
)
def test_a_law_of_change_needs_a_past(new: Raw, old: Raw | None, broken: bool) -> None:
    assert bool(list(broken_laws(Tree, new, old))) == broken


def test_items_of_a_keyed_list_keep_their_past_when_they_move() -> None:
    old = {"trees": [{"name": "a", "height": 1}, {"name": "b", "height": 9}]}
    moved = {"trees": [{"name": "b", "height": 9}, {"name": "a", "height": 2}]}
    shrunk = {"trees": [{"name": "b", "height": 8}, {"name": "a", "height": 2}]}
    assert list(broken_laws(Forest, moved, old)) == []
    assert list(broken_laws(Forest, shrunk, old)) == [(("trees", 0, "height"), GROWS)]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*openapi(Tree)["properties"], *openapi(Leaf)["properties"]]), inner, max_size=3
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_no_value_is_too_odd_to_be_looked_at(value: Any) -> None:
    filled = defaulted(Tree, value)
    assert defaulted(Tree, filled) == filled
    list(repeated(Tree, filled))
    list(broken_laws(Tree, filled, value))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.resource)
def test_every_kind_has_schemas(kind: Kind) -> None:
    assert openapi(kind.type)["properties"].keys() >= {"apiVersion", "kind", "metadata"}
    jsonschema_rs.Draft202012Validator(strict_json_schema(kind.type))
