"""Check never fails, finds whatever has the wrong type, and judges as the fast way and the structural functions do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import shaped, spoiled, wrong_somewhere
from trainplane.api.check import check, refused
from trainplane.api.compiled import filler, lawful
from trainplane.api.decode import FIRST, acceptable, accepted
from trainplane.api.jobset import JobSet
from trainplane.api.meta import read
from trainplane.api.problem import Severity
from trainplane.api.schema import openapi
from trainplane.api.structural import broken_laws, defaulted, prune, repeated
from trainplane.api.trainer import TrainingRuntime, TrainJob

TYPES = (TrainJob, TrainingRuntime, JobSet)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@pytest.mark.parametrize("type_", TYPES)
@given(data=st.data())
def test_a_wrong_type_is_found_at_its_place(type_, data):
    schema = openapi(type_)
    value, path = data.draw(wrong_somewhere(schema))
    found = [problem.path for problem in check(value, schema) if problem.severity is Severity.ERROR]
    assert any(where[: len(path)] == path for where in found), (path, found)


@pytest.mark.parametrize("type_", TYPES)
@given(data=st.data())
def test_the_fast_way_and_check_agree(type_, data):
    value = data.draw(spoiled(openapi(type_)))
    assert accepted(value, type_) is not refused(value, openapi(type_)), [*map(str, check(value, openapi(type_)))]


@pytest.mark.parametrize("type_", TYPES)
def test_a_verdict_does_not_change_when_a_type_has_been_judged_often(type_):
    good = {"spec": {"runtimeRef": {"name": "a"}}} if type_ is TrainJob else {}
    for _ in range(2 * FIRST):
        assert acceptable(good, type_) is not refused(good, openapi(type_))
        assert not acceptable({"spec": 1}, type_)


@pytest.mark.parametrize("type_", TYPES)
@given(data=st.data())
def test_compiled_functions_answer_as_the_structural_ones(type_, data):
    value = data.draw(shaped(openapi(type_)))
    full = defaulted(type_, value)
    if "None" not in repr(value):
        assert filler(type_)(value) == full
    assert lawful(type_)(full) is not any((*broken_laws(type_, full), *repeated(type_, full)))


@pytest.mark.parametrize("type_", TYPES)
@given(data=st.data())
def test_what_is_accepted_can_be_read(type_, data):
    value = data.draw(shaped(openapi(type_)))
    if not refused(value, openapi(type_)):
        read(value, type_)


@pytest.mark.parametrize("type_", TYPES)
@given(value=JSON)
def test_any_json_gets_a_verdict(type_, value):
    for problem in check(value, openapi(type_)):
        assert str(problem)
    prune(value, openapi(type_))
    defaulted(type_, value)


@pytest.mark.parametrize("type_", TYPES)
@given(data=st.data())
def test_pruning_leaves_known_fields_and_nothing_more_to_prune(type_, data):
    schema = openapi(type_)
    value = data.draw(shaped(schema))
    assert prune(value, schema) == value
    assert prune({**value, "strange": 1}, schema) == value
