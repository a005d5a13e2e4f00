"""What is written as YAML or JSON is read back the same, with a position for everything; any text gets an answer."""

import json

import orjson
from hypothesis import example, given
from hypothesis import strategies as st

from tests.strategies import places, shaped
from trainplane.api.documents import parse
from trainplane.api.problem import Severity
from trainplane.api.scalars import resolve
from trainplane.api.schema import openapi
from trainplane.api.trainer import TrainJob
from trainplane.cli.yaml_out import to_yaml

TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12)
SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
)
VALUES = st.recursive(
    SCALARS | TEXT, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4), max_leaves=20
)
OBJECTS = st.dictionaries(TEXT.filter(lambda key: key != "kind"), VALUES, min_size=1, max_size=5)


def errors(parsed):
    """What refuses a text."""
    return [str(problem) for problem in parsed.problems if problem.severity is Severity.ERROR]


def same(value):
    """The value as JSON knows it, where 1.0 is 1."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        return int(value)
    if isinstance(value, dict):
        return {key: same(item) for key, item in value.items()}
    return [same(item) for item in value] if isinstance(value, list) else value


def all_paths(value, path=()):
    """Every place in a value."""
    yield path
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, item in steps:
        yield from all_paths(item, (*path, step))


@given(OBJECTS, st.sampled_from([None, 2]))
def test_json_is_read_back(value, indent):
    parsed = parse(json.dumps(value, indent=indent, ensure_ascii=indent is None))
    assert errors(parsed) == []
    assert parsed.documents[0].value == same(value)


@given(OBJECTS)
def test_every_position_in_json_is_where_the_value_is(value):
    text = json.dumps(value, indent=1, ensure_ascii=False)
    lines = text.split("\n")
    (document,) = parse(text).documents
    for path in all_paths(value):
        place = document.position(path)
        rest = lines[place.line - 1][place.column - 1 :]
        if path and isinstance(path[-1], str):
            assert rest.startswith(json.dumps(path[-1], ensure_ascii=False))
        inner = value
        for step in path:
            inner = inner[step]
        place = document.value_position(path)
        written = json.dumps(inner, ensure_ascii=False)[:1]
        assert lines[place.line - 1][place.column - 1] == written


@given(st.data())
def test_yaml_and_json_of_one_object_agree(data):
    value = data.draw(shaped(openapi(TrainJob)))
    text = to_yaml(value)
    from_yaml, from_json = parse(text), parse(orjson.dumps(value))
    assert errors(from_yaml) == errors(from_json) == []
    assert from_yaml.documents[0].value == from_json.documents[0].value == same(value)


@given(st.data())
def test_a_key_in_yaml_stands_where_its_position_says(data):
    value = data.draw(shaped(openapi(TrainJob)))
    text = to_yaml(value)
    lines = text.split("\n")
    (document,) = parse(text).documents
    for path, _ in places(value, openapi(TrainJob)):
        if path and isinstance(path[-1], str):
            place = document.position(path)
            assert lines[place.line - 1][place.column - 1 :].lstrip("'\"? ").startswith(path[-1])


@given(st.text(max_size=60) | st.text("{}[]:,-?&*!|>'\"%@`#<. \t\nab01~", max_size=60))
@example("!!")
@example("? a\n: b\n")
@example("a: &a\n  <<: *a\n")
@example("!!set {a, b}")
@example("<<: {a: 1}\na: 2\n")
@example("{a: 1}: 2\n*x : 3\n")
@example("%TAG ! tag:x,2000:\n---\na: !b 1\n")
def test_any_text_gets_objects_or_problems(text):
    parsed = parse(text)
    assert parsed.documents or parsed.problems
    for problem in parsed.problems:
        assert str(problem)
        assert problem.line >= 1
        assert problem.column >= 1
    for document in parsed.documents:
        orjson.dumps(document.value, option=orjson.OPT_NON_STR_KEYS)
        for path in all_paths(document.value):
            document.position(path)


@given(st.binary(max_size=60))
def test_any_bytes_get_objects_or_problems(data):
    parsed = parse(data)
    assert parsed.documents or parsed.problems


@given(st.text("0123456789+-._eExXoObBaAfF:", max_size=10))
def test_an_unquoted_word_has_a_value_that_json_can_carry(word):
    value = resolve(word)
    assert value is None or isinstance(value, str | bool | int | float)
    if isinstance(value, int):
        assert -(2**63) <= value < 2**63
