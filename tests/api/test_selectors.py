"""Selectors: what a real API server selected or refused, and selector objects."""

import json
from pathlib import Path
from typing import Any

import pytest

from trainplane.api.field_selectors import field_text, parse_fields
from trainplane.api.selectors import (
    EVERYTHING,
    NOTHING,
    SelectorError,
    from_label_selector,
    from_node_selector,
    from_node_term,
    label_key_fault,
    label_selector_errors,
    label_value_fault,
    parse_labels,
)

FACTS: dict[str, Any] = json.loads((Path(__file__).parent / "facts" / "selectors.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("fact", FACTS["labels"], ids=lambda fact: repr(fact["selector"][:40]))
def test_label_selectors_as_the_real_server(fact: dict[str, Any]) -> None:
    if "refused" in fact:
        with pytest.raises(SelectorError) as refusal:
            parse_labels(fact["selector"])
        if "found '" in fact["refused"] and "expected:" in fact["refused"]:
            told = fact["refused"].removeprefix("unable to parse requirement: ").replace("' expected", "', expected")
            assert refusal.value.what == told
    else:
        query = parse_labels(fact["selector"])
        assert sorted(name for name, labels in FACTS["objects"].items() if query.matches(labels)) == fact["matches"]
        assert parse_labels(str(query)) == query


SECRET_FIELDS = ("metadata.name", "metadata.namespace", "type")


@pytest.mark.parametrize("fact", FACTS["fields"], ids=lambda fact: repr(fact["selector"]))
def test_field_selectors_as_the_real_server(fact: dict[str, Any]) -> None:
    if "refused" in fact:
        with pytest.raises(SelectorError) as refusal:
            parse_fields(fact["selector"]).only(SECRET_FIELDS)
        if "not supported" in fact["refused"]:
            assert refusal.value.what == fact["refused"]
    else:
        query = parse_fields(fact["selector"]).only(SECRET_FIELDS)
        objects = [
            {"metadata": {"name": name, "namespace": FACTS["namespace"]}, "type": "Opaque"} for name in FACTS["objects"]
        ]
        assert sorted(obj["metadata"]["name"] for obj in objects if query.matches(obj)) == fact["matches"]
        assert parse_fields(str(query)) == query


@pytest.mark.parametrize(
    ("selector", "words"),
    [
        ("a b", ["'b'", "a in (b,c)"]),
        ("a in b", ["'('", "brackets"]),
        ("a=b,", ["identifier after ','", "remove the comma"]),
        ("a>x", ["'x'", "number such as 3"]),
        ("a='b'", ["value ''b'' of a", "correct it"]),
        ("X/y=a", ["'X/y'", "DNS name", "example.com/app"]),
        ("a=" + "b" * 5000, ["...", "63"]),
    ],
)
def test_a_refused_label_selector_says_what_to_write(selector: str, words: list[str]) -> None:
    with pytest.raises(SelectorError) as refusal:
        parse_labels(selector)
    assert all(word in str(refusal.value) for word in words), str(refusal.value)
    assert len(str(refusal.value)) < 400


@pytest.mark.parametrize(
    ("selector", "words"),
    [
        ("metadata.name", ["can't understand 'metadata.name'", "field=value"]),
        ("a=b=c", ["unescaped", "\\="]),
        ("a=b\\c", ["invalid escape sequence: \\c", "\\\\"]),
        ("metadata.nam=a", ["metadata.nam", "did you mean metadata.name?"]),
        ("xyzzy=a", ["xyzzy", "use metadata.name, status.phase"]),
    ],
)
def test_a_refused_field_selector_says_what_to_write(selector: str, words: list[str]) -> None:
    with pytest.raises(SelectorError) as refusal:
        parse_fields(selector).only(["status.phase", "metadata.name"])
    assert all(word in str(refusal.value) for word in words), str(refusal.value)


@pytest.mark.parametrize(
    ("selector", "shown"),
    [
        ("b,a==1", "a=1,b"),
        ("a in (c,b,b)", "a in (b,c)"),
        (" a notin ( ) ", "a notin ()"),
        ("!a,b!=2,c>3,d<4", "!a,b!=2,c>3,d<4"),
        ("", ""),
    ],
)
def test_label_selectors_print_sorted_and_tight(selector: str, shown: str) -> None:
    assert str(parse_labels(selector)) == shown


def test_nothing_is_printed_in_words_that_select_nothing() -> None:
    assert parse_labels(str(NOTHING)) == NOTHING
    assert not NOTHING.matches({})
    assert not NOTHING.matches({"none": "x"})
    assert EVERYTHING.matches({})


@pytest.mark.parametrize(
    ("selector", "shown"),
    [
        (None, str(NOTHING)),
        ({}, ""),
        ({"matchLabels": None, "matchExpressions": []}, ""),
        ({"matchLabels": {"b": "1", "a": ""}}, "a=,b=1"),
        (
            {
                "matchLabels": {"app": "x"},
                "matchExpressions": [
                    {"key": "a", "operator": "In", "values": ["y", "x"]},
                    {"key": "b", "operator": "NotIn", "values": ["z"]},
                    {"key": "c", "operator": "Exists"},
                    {"key": "d", "operator": "DoesNotExist", "values": []},
                ],
            },
            "a in (x,y),app=x,b notin (z),c,!d",
        ),
    ],
)
def test_label_selector_objects(selector: Any, shown: str) -> None:
    assert str(from_label_selector(selector)) == shown
    assert label_selector_errors(selector) == []


def test_all_that_is_wrong_with_a_label_selector_object_is_told() -> None:
    selector = {
        "matchLabels": {"a b": "x", "c": 1, "d": "-"},
        "matchExpressions": [
            {"key": "a", "operator": "in", "values": ["x"]},
            {"key": "a", "operator": "In", "values": []},
            {"key": "a", "operator": "Exists", "values": ["x"]},
            {"key": "a", "operator": "Gt", "values": ["1"]},
            {"operator": "Exists"},
            "x",
        ],
    }
    errors = label_selector_errors(selector)
    ends = "with a letter or digit at both ends"
    assert [str(error).partition(";")[0] for error in errors] == [
        f"matchLabels[a b]: the key 'a b' is not 1 to 63 letters, digits, '-', '_' or '.', {ends}",
        "matchLabels.c: keys and values must be strings",
        f"matchLabels.d: the value '-' of d is not at most 63 letters, digits, '-', '_' or '.', {ends}",
        "matchExpressions[0].operator: unknown operator 'in'",
        "matchExpressions[1]: In needs values",
        "matchExpressions[2]: Exists takes no values",
        "matchExpressions[3].operator: unknown operator 'Gt'",
        "matchExpressions[4]: keys and values must be strings",
        "matchExpressions[5]: this is not a map",
    ]
    assert errors[3].todo == "did you mean In?"
    with pytest.raises(SelectorError, match=r"^matchLabels\[a b\]"):
        from_label_selector(selector)


LABELS = {"zone": "a", "gpus": "8"}


@pytest.mark.parametrize(
    ("terms", "matched"),
    [
        pytest.param([], False, id="no terms match nothing"),
        pytest.param([{}], False, id="an empty term matches nothing"),
        pytest.param([{}, {"matchExpressions": [{"key": "zone", "operator": "Exists"}]}], True, id="one of two"),
        pytest.param(
            [
                {
                    "matchExpressions": [
                        {"key": "zone", "operator": "In", "values": ["a", "b"]},
                        {"key": "gpus", "operator": "Lt", "values": ["8"]},
                    ]
                }
            ],
            False,
            id="all of a term",
        ),
        pytest.param([{"matchExpressions": [{"key": "gpus", "operator": "Gt", "values": ["7"]}]}], True, id="Gt"),
        pytest.param(
            [{"matchExpressions": [{"key": "zone", "operator": "Gt", "values": ["7"]}]}], False, id="no number"
        ),
        pytest.param(
            [{"matchExpressions": [{"key": "none", "operator": "NotIn", "values": ["7"]}]}], True, id="absent"
        ),
        pytest.param(
            [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}], True, id="name"
        ),
        pytest.param(
            [{"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n1"]}]}],
            False,
            id="not the name",
        ),
    ],
)
def test_node_selectors(terms: Any, matched: bool) -> None:
    assert from_node_selector({"nodeSelectorTerms": terms}).matches("n1", LABELS) is matched


@pytest.mark.parametrize(
    ("term", "words"),
    [
        ({"matchFields": [{"key": "spec.x", "operator": "In", "values": ["a"]}]}, ["matchFields[0]", "metadata.name"]),
        ({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a", "b"]}]}, ["one value"]),
        ({"matchFields": [{"key": "metadata.name", "operator": "Exists"}]}, ["matchFields[0].operator", "'Exists'"]),
        ({"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1", "2"]}]}, ["exactly one value"]),
        ({"matchExpressions": {"key": "a"}}, ["matchExpressions", "not a list"]),
        ("x", ["not a map"]),
    ],
)
def test_a_refused_node_selector_says_where(term: Any, words: list[str]) -> None:
    with pytest.raises(SelectorError):
        from_node_term(term)
    with pytest.raises(SelectorError) as refusal:
        from_node_selector({"nodeSelectorTerms": [{}, term]})
    assert str(refusal.value).startswith("nodeSelectorTerms[1]")
    assert all(word in str(refusal.value) for word in words), str(refusal.value)


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("metadata.name", "a"),
        ("spec.suspend", "true"),
        ("spec.count", "3"),
        ("spec.missing", ""),
        ("spec.missing.deeper", ""),
        ("metadata", ""),
        ("metadata.name.x", ""),
    ],
)
def test_field_texts(field: str, text: str) -> None:
    assert field_text({"metadata": {"name": "a"}, "spec": {"suspend": True, "count": 3}}, field) == text


def test_label_limits() -> None:
    assert not label_key_fault("a" * 63)
    assert not label_key_fault("example.com/a_B.c-9")
    assert all(map(label_key_fault, ["", "a" * 64, "a/b/c", "/a", "a/", "A/b", "-a", "a\n", "ä", "a" * 254 + "/b"]))
    assert not any(map(label_value_fault, ["", "a", "A.b_c-9", "a" * 63]))
    assert all(map(label_value_fault, ["-", "a" * 64, "a b", "a/b", "a\n", "ä"]))
