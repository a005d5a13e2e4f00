"""The laws of selectors: printing loses nothing, and every text is a selector or a SelectorError."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from trainplane.api.field_selectors import FieldQuery, FieldTerm, parse_fields
from trainplane.api.selectors import (
    Operator,
    Requirement,
    SelectorError,
    from_label_selector,
    from_node_selector,
    label_selector_errors,
    parse_labels,
    requirement,
)

keys = st.sampled_from(["a", "b", "in", "notin", "x.y/z", "A_b-c.d"])
values = st.sampled_from(["", "a", "in", "notin", "1", "22", "A.b-c_d"])
labels = st.dictionaries(keys, values)


def requirements() -> st.SearchStrategy[Requirement]:
    """Requirements of every operator."""
    sets = st.sets(values, min_size=1, max_size=3)
    return st.one_of(
        st.builds(requirement, keys, st.sampled_from([Operator.EXISTS, Operator.DOES_NOT_EXIST])),
        st.builds(requirement, keys, st.sampled_from([Operator.IN, Operator.NOT_IN]), sets),
        st.builds(
            lambda key, operator, value: requirement(key, operator, [value]),
            keys,
            st.sampled_from([Operator.EQUALS, Operator.NOT_EQUALS]),
            values,
        ),
        st.builds(
            lambda key, operator, bound: requirement(key, operator, [str(bound)]),
            keys,
            st.sampled_from([Operator.GREATER, Operator.LESS]),
            st.integers(0, 2**63 - 1),
        ),
    )


@given(st.lists(requirements(), max_size=4), labels)
def test_a_label_selector_means_what_it_prints(given_: list[Requirement], have: dict[str, str]) -> None:
    query = parse_labels(",".join(map(str, given_)))
    assert parse_labels(str(query)) == query
    assert query.matches(have) == all(one.matches(have) for one in given_)


@given(keys, st.sets(values, min_size=1), labels)
def test_opposites_are_opposites(key: str, some: set[str], have: dict[str, str]) -> None:
    assert requirement(key, Operator.IN, some).matches(have) is not requirement(key, Operator.NOT_IN, some).matches(
        have
    )
    assert requirement(key, Operator.EXISTS).matches(have) is not requirement(key, Operator.DOES_NOT_EXIST).matches(
        have
    )


@given(labels, labels)
def test_match_labels_selects_what_has_them_all(wanted: dict[str, str], have: dict[str, str]) -> None:
    query = from_label_selector({"matchLabels": wanted})
    assert query.matches(have) == (wanted.items() <= have.items())
    assert parse_labels(str(query)) == query


fields = st.sampled_from(["metadata.name", "status.phase", "a"])


@given(
    st.lists(st.builds(FieldTerm, fields, st.text("a\\,=!. ä\n", max_size=6) | st.text(), st.booleans()), max_size=4)
)
def test_a_field_selector_means_what_it_prints(terms: list[FieldTerm]) -> None:
    query = FieldQuery(tuple(terms))
    assert parse_fields(str(query)) == query


@given(st.text("ab=!()<>, \t\\in.1/", max_size=20) | st.text(max_size=20))
def test_any_text_is_a_selector_or_refused_with_a_remedy(text: str) -> None:
    for parse in (parse_labels, parse_fields):
        try:
            again = parse(text)
            assert parse(str(again)) == again
            todo = "none"
        except SelectorError as error:
            todo = error.todo
        assert todo


anything = st.recursive(
    st.none() | st.integers() | st.sampled_from(["In", "Exists", "Gt", "a", "metadata.name", "7"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["matchLabels", "matchExpressions", "matchFields", "key", "operator", "values"]), inner
        )
    ),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from(["matchLabels", "matchExpressions", "nodeSelectorTerms"]), anything))
def test_any_object_is_a_selector_or_refused_with_a_remedy(selector: Any) -> None:
    errors = label_selector_errors(selector)
    assert all(error.todo and error.path for error in errors)
    if not errors:
        assert isinstance(from_label_selector(selector).matches({}), bool)
    try:
        outcome = str(from_node_selector(selector).matches("n", {}))
    except SelectorError as error:
        outcome = error.todo
    assert outcome
