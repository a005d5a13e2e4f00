"""Whatever a TrainJob and its runtime hold, lint answers, and answers alike; and so does mending."""

import copy
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.rules.placing import document
from tests.rules.test_rules import RULES
from trainplane.fix.fix import fix
from trainplane.lint import lint

PAIRS = [list(yaml.safe_load_all(document(rule.good, rule.id))) for rule in RULES]
PAIRS = [pair for pair in PAIRS if len(pair) > 1 and all(isinstance(each, dict) for each in pair)]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
WORDS = st.sampled_from(["node", "trainer", "auto", "0", "-1", "16Gi", "1e400", "$(NUM_NODES)", "Ready", "/root/.ssh"])


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every place of a document: what holds it, and its key there."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, inner in items for place in ((value, key), *places(inner))]


@given(pair=st.sampled_from(PAIRS), at=st.lists(st.integers(0), max_size=3), value=JSON | WORDS | st.integers(-2, 9))
def test_any_values_in_a_pair_are_answered(pair: list[Any], at: list[int], value: object) -> None:
    documents = copy.deepcopy(pair)
    for number in at:
        spots = places(documents)
        holder, key = spots[number % len(spots)]
        holder[key] = copy.deepcopy(value)
    text = yaml.safe_dump_all(documents)
    assert lint([("-", text)]) == lint([("-", text)])


@given(pair=st.sampled_from(PAIRS), at=st.lists(st.integers(0), min_size=1, max_size=3))
def test_a_pair_with_parts_taken_out_is_answered_and_mended_once(pair: list[Any], at: list[int]) -> None:
    documents = copy.deepcopy(pair)
    for number in at:
        spots = [place for each in documents for place in places(each)]
        holder, key = spots[number % len(spots)]
        del holder[key]
    text = yaml.safe_dump_all(documents)
    once = fix(text).text
    assert fix(once).text == once
