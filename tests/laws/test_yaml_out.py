"""What the YAML writer prints, YAML readers read back: ours, which reads as kubectl does, and PyYAML."""

from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from trainplane.api.documents import parse
from trainplane.cli.yaml_out import to_yaml

AWKWARD = ["", "yes", "off", "null", "~", "1", "1e3", "0x1f", "010", "1_000", "1:30", "2024-01-02", ".5", "-", "- a"]
AWKWARD += ["--- a", "...", "a: b", "a #b", " a", "a ", "a\n", "\na", " a\nb", "a\n\n", "\n", "a\r\n", "\ta", "#", "<<"]
AWKWARD += [
    "=",
    "%a",
    "@a",
    "`a",
    "!a",
    "&a",
    "*a",
    "|",
    ">",
    "'",
    '"',
    "{a",
    "[a",
    "?",
    ":",
    "a:",
    "-1",
    "é",
    "😀",
    "\x85",
]
AWKWARD += [
    "a\n b\n",
    "a \nb",
    "a\n   \nb",
    "--nnodes=4",
    "$(A)",
    "${A}",
    "\ufeffa",
    "a\tb",
    "\\",
    "+.inf",
    "=a",
    "-\ta",
]

texts = st.sampled_from(AWKWARD) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=12
)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=12,
)
objects = st.dictionaries(texts, values, min_size=1, max_size=4)


@given(value=objects)
def test_reading_gives_back_what_was_written(value: dict[str, Any]) -> None:
    assert yaml.safe_load(to_yaml(value)) == value


@given(value=objects)
def test_reading_as_kubectl_gives_back_what_was_written(value: dict[str, Any]) -> None:
    text = to_yaml(value)
    parsed = parse(text)
    assert [document.value for document in parsed.documents] == [value], text


@given(value=objects, lines=st.lists(st.text(st.characters(categories=["L", "N", "P", "Zs"]), min_size=1), max_size=3))
def test_comments_change_nothing(value: dict[str, Any], lines: list[str]) -> None:
    comments = dict.fromkeys(places(value, ())[:5], lines)
    assert yaml.safe_load(to_yaml(value, comments)) == value


def places(value: Any, path: tuple[str | int, ...]) -> list[tuple[str | int, ...]]:
    """Every path of a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, item in inner for found in places(item, (*path, key)))]
