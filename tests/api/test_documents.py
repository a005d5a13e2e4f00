"""Text becomes objects that know their lines, as kubectl would read them, or a problem with a place and a remedy."""

import json

import pytest

from trainplane.api import rules
from trainplane.api.documents import Position, parse
from trainplane.api.problem import Problem, Severity

HEAD = "kind: A\nspec:\n"


def only(text):
    """The only object of a text that has no problems."""
    parsed = parse(text, "a.yaml")
    assert [str(problem) for problem in parsed.problems] == []
    (document,) = parsed.documents
    return document


def problems(text):
    """What is wrong with a text: `line:column id what; todo`."""
    return [f"{p.line}:{p.column} {p.problem.rule.id} {p.problem}" for p in parse(text).problems]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        # As `kubectl create --dry-run=client -o json` prints them.
        *[(word, True) for word in ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON")],
        *[(word, False) for word in ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF")],
        *[(word, None) for word in ("", "~", "null", "Null", "NULL", "!!null ''")],
        *[(word, word) for word in ("yEs", "tRue", "nUll", "_1", "1:30", "2020-01-01", "2020-01-01T00:00:00Z", "=")],
        *[("0o14", 12), ("010", 8), ("08", 8), ("-010", -8), ("+010", 8), ("0x1F", 31), ("-0x1F", -31), ("0b11", 3)],
        *[("1_000", 1000), ("1__0", 10), ("1_", 1), ("0x1_F", 31), ("1_0.5", 10.5), ("00", 0), ("-0", 0), ("+1", 1)],
        *[
            ("1e3", 1000),
            ("1.e3", 1000),
            (".5", 0.5),
            ("5.", 5),
            ("1.0", 1),
            ("-0.0", 0),
            ("1e21", 1e21),
            ("1e-7", 1e-7),
        ],
        *[("123456789012345678", 123456789012345678), ("!!str yes", "yes"), ("!!int '12'", 12), ("!!float 1", 1)],
        *[("!!binary aGVsbG8=", "hello"), ("!!timestamp 2020-01-01", "2020-01-01"), ("! 12", "12"), ("'yes'", "yes")],
    ],
)
def test_words_mean_what_kubectl_makes_of_them(written, value):
    read = only(f"v: {written}\n").value["v"]
    assert (read, type(read)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("a: &x {b: 1}\nc: *x\n", {"a": {"b": 1}, "c": {"b": 1}}, id="aliases"),
        pytest.param("a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}\n", {"a": {"b": 1, "c": 2}, "d": {"b": 1, "c": 3}},
                     id="merge"),
        pytest.param(
            "a: &x {b: 1}\nc: &z {b: 5, d: 2}\ne: {<<: [*x, *z]}\n",
            {"a": {"b": 1}, "c": {"b": 5, "d": 2}, "e": {"b": 1, "d": 2}},
            id="the first of merged objects wins",
        ),
        pytest.param("'<<': 1\n", {"<<": 1}, id="a quoted << is a key"),
        pytest.param("1: a\n2.5: b\n", {"1": "a", "2.5": "b"}, id="numbers as keys"),
        pytest.param("a: |\r\n  x\r\n  y\r\n", {"a": "x\ny\n"}, id="Windows line ends"),
        pytest.param("\ufeffa: 1\n", {"a": 1}, id="a byte order mark"),
        pytest.param("a: 1\t\nb:\t2\n", {"a": 1, "b": 2}, id="tabs that do not indent"),
        pytest.param("a: 1\n...\n", {"a": 1}, id="dots at the end"),
        pytest.param("---\n# nothing\n---\na: 1\n---\n", {"a": 1}, id="empty documents"),
        pytest.param("a: 😀\nb: é\n", {"a": "😀", "b": "é"}, id="beyond ASCII"),
        pytest.param('{"a": 1.0, "b": 1e2, "c": "\\ud83d\\ude00"}', {"a": 1, "b": 100, "c": "😀"}, id="JSON"),
    ],
)  # fmt: skip
def test_values(text, value):
    assert only(text).value == value


def test_utf_16_is_read_as_kubectl_reads_it():
    assert only("a: ö\n".encode("utf-16")).value == {"a": "ö"}


def test_every_field_knows_its_key_and_its_value():
    document = only("kind: A\nspec:\n  list:\n  - a: 1\n    b:   two\n  - {c: 3}\n")
    assert document.position(("spec", "list", 0, "b")) == Position(5, 5)
    assert document.value_position(("spec", "list", 0, "b")) == Position(5, 10)
    assert document.position(("spec", "list", 1)) == Position(6, 5)
    assert document.position(("spec", "list", 1, "c")) == Position(6, 6)
    assert document.position() == Position(1, 1)


def test_a_missing_field_is_where_its_nearest_ancestor_is():
    document = only(HEAD + "  a:\n    b: 1\n")
    assert document.position(("spec", "a", "x", "y")) == document.position(("spec", "a")) == Position(3, 3)
    assert document.position(("nothing", 0)) == Position(1, 1)


def test_json_has_the_same_positions_as_yaml():
    value = {"kind": "A", "spec": {"list": [1, {"a": 'x"\\,', "b": [[], {}]}], "c": None}}
    text = json.dumps(value, indent=2)
    as_json, as_yaml = only(text), only("---\n" + text)
    for path in [(), ("kind",), ("spec", "list", 1), ("spec", "list", 1, "b", 1), ("spec", "c"), ("spec", "list", 7)]:
        for place in ("position", "value_position"):
            first, second = getattr(as_json, place)(path), getattr(as_yaml, place)(path)
            assert (first.line + 1, first.column) == (second.line, second.column), (path, place)


def test_columns_count_characters_not_bytes():
    assert only("a: {x😀é: 1, b: 2}\n").position(("a", "b")) == Position(1, 13)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_lines_count_whatever_ends_them(newline):
    assert only(newline.join(["a: 1", "b:", "  c: 2", ""])).position(("b", "c")) == Position(3, 3)


def test_many_documents_keep_their_order_and_their_lines():
    documents = parse("a: 1\n---\nb: 2\n---\n# c\nc: 3\n").documents
    assert [(d.index, d.value, d.position().line) for d in documents] == [
        (0, {"a": 1}, 1), (1, {"b": 2}, 3), (2, {"c": 3}, 6),
    ]  # fmt: skip


def test_json_lines_and_separators():
    documents = parse('{"a": 1}\n{"b": 2}\n---\n{"c": 3}\n').documents
    assert [(d.value, d.position(tuple(d.value)).line) for d in documents] == [
        ({"a": 1}, 1), ({"b": 2}, 2), ({"c": 3}, 4),
    ]  # fmt: skip


@pytest.mark.parametrize("as_json", [False, True], ids=["yaml", "json"])
def test_the_items_of_a_list_are_objects_of_their_own(as_json):
    text = "kind: List\nitems:\n- kind: A\n  x: 1\n- kind: B\n  x: 2\n"
    if as_json:
        text = '{"kind": "List",\n"items": [\n{"kind": "A",\n"x": 1},\n{"kind": "B",\n"x": 2}]}'
    first, second = parse(text).documents
    assert (first.value, second.value) == ({"kind": "A", "x": 1}, {"kind": "B", "x": 2})
    assert (first.position(("x",)).line, second.position(("x",)).line) == (4, 6)
    assert second.at == ("items", 1)


def test_the_items_of_a_typed_list_need_not_say_their_kind():
    (document,) = parse("apiVersion: v1\nkind: PodList\nitems:\n- metadata: {name: a}\n").documents
    assert document.value == {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}
    assert document.position(("metadata", "name")) == Position(4, 14)


def test_a_merged_field_is_where_it_was_written():
    document = only("base: &base\n  image: x\nnode:\n  <<: *base\n  name: y\n")
    assert document.position(("node", "image")) == Position(2, 3)


def test_a_problem_is_located_at_the_key():
    problem = Problem(rules.WRONG_FORM, ("spec", "a"), "it is wrong", "do better")
    located = parse(HEAD + "  a: 1\n", "jobs/a.yaml").documents[0].locate(problem)
    assert str(located) == "jobs/a.yaml:3:3: error TP016: spec.a: it is wrong; do better"


def test_a_boolean_is_named_as_it_was_written():
    problem = Problem(rules.WRONG_TYPE, ("a",), "true is a boolean, a wants text", 'quote it: "true"')
    located = only("a: yes\n").locate(problem)
    assert located.problem.what == "yes without quotes is a boolean in YAML: true is a boolean, a wants text"
    assert located.problem.todo == 'quote it: "yes"'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a:\n\tb: 1\n", "2:1 TP004 the line is indented with a tab; replace each tab by two spaces",
                     id="tab"),
        pytest.param(
            HEAD + "  a: 1\n  ...\n  b: 2\n",
            "4:3 TP007 three dots stand where a field or an item belongs; remove the line, or make it a comment: # ...",
            id="three dots among fields",
        ),
        pytest.param(
            "a: 1\n...\nb: 2\n",
            "2:1 TP007 ... ends the document here, and kubectl reads nothing that follows it; "
            "remove the line, or begin the next document with ---",
            id="text after three dots",
        ),
        pytest.param(
            HEAD + "    a: 1\n  b: 2\n",
            "4:3 TP003 the line is indented by 2 spaces, and nothing above it is; "
            "indent it by 4 spaces, as its neighbours",
            id="indented too little",
        ),
        pytest.param(
            HEAD + "  a: 1\n    b: 2\n",
            "4:5 TP003 the line is indented deeper than the one above, which has a value already; "
            "indent it by 2 spaces",
            id="indented too much",
        ),
        pytest.param(
            "a: b: c\n", "1:5 TP003 an unquoted text cannot hold a colon and a space; put the text into quotes",
            id="colon",
        ),
        pytest.param("a:1\nb: 2\n", "1:2 TP003 a space is missing after the colon; write `key: value`", id="no space"),
        pytest.param(
            "a: 'x\nb: 1\n",
            "1:4 TP003 the quote that opens here is never closed; close it, or double a quote inside: ''",
            id="open quote",
        ),
        pytest.param(
            "a: [1, 2\nb: 3\n",
            "1:4 TP003 the [ that opens here is not closed properly; check its commas and brackets",
            id="open bracket",
        ),
        pytest.param("a: @b\n", "1:4 TP003 no unquoted text may begin with @; put the text into quotes", id="at sign"),
        pytest.param(
            "a: *.py\n", "1:4 TP003 an unquoted * has a meaning of its own; put the text into quotes", id="asterisk"
        ),
        pytest.param(
            "a: {{ .Values.b }}\n",
            "1:4 TP003 {{ .Values.b }} is a placeholder of a template; render the template first",
            id="template",
        ),
        pytest.param(
            "```yaml\na: 1\n```\n",
            "1:1 TP003 ``` is Markdown, not YAML; take only the lines between the fences",
            id="Markdown",
        ),
        pytest.param(
            "a: 1\nb: 2\na: 3\n",
            "3:1 TP005 a: a is written twice in the same object, first at line 1, column 1; keep one of the two",
            id="key twice",
        ),
        pytest.param(
            '{"a": 1,\n "a": 2}',
            "2:2 TP005 a: a is written twice in the same object, first at line 1, column 2; keep one of the two",
            id="key twice in JSON",
        ),
        pytest.param("a: .nan\n", "1:4 TP006 a: .nan has no place in an object; write a number, or quote it", id="NaN"),
        pytest.param(
            "a: !foo b\n",
            "1:4 TP006 a: the tag !foo means nothing in a manifest; "
            "remove the tag, or run the tool that understands it first",
            id="tag",
        ),
        pytest.param(
            "a: &x [*x]\n",
            "1:8 TP006 a[0]: *x stands inside &x, so the value would contain itself; write the value out",
            id="itself",
        ),
        pytest.param(
            "a: *x\n",
            "1:4 TP006 a: no anchor &x comes before *x; "
            "define it above with &x, or quote the text if it is not an alias",
            id="unknown anchor",
        ),
        pytest.param("on: a\n", '1:1 TP008 the key on is read as true; quote it: "on"', id="a boolean as a key"),
        pytest.param(
            "a: 12345678901234567890\n",
            "1:4 TP008 a: 12345678901234567890 needs more than 64 bits and loses its last digits; "
            'quote it if it is meant as text: "12345678901234567890"',
            id="a very long number",
        ),
        pytest.param(
            "b: &b {x: 1}\nd:\n  x: 2\n  <<: *b\n",
            "3:3 TP008 d[<<]: x is replaced by the << that comes after it; "
            "put << first, so that the fields written here count",
            id="late merge",
        ),
        pytest.param(
            "- a\n",
            "1:1 TP009 this document is a list; write each item as a document of its own, with --- between them",
            id="list",
        ),
        pytest.param("", "1:1 TP009 the file is empty; write an object into it, or leave it out", id="empty"),
        pytest.param(
            '{"a": 1,}', "1:9 TP003 JSON allows no comma before a closing bracket; remove the comma", id="comma in JSON"
        ),
        pytest.param(
            '{"a": [1, 2}', "1:12 TP003 a comma or a closing bracket is missing before this; add it",
            id="bracket in JSON",
        ),
        pytest.param(
            '{"a": 1', "1:8 TP003 the text ends before the last bracket is closed; add the missing } or ]",
            id="half a JSON",
        ),
    ],
)  # fmt: skip
def test_bad_text_has_a_place_and_a_remedy(text, expected):
    assert problems(text) == [expected]


def test_reading_goes_on_after_a_broken_document():
    parsed = parse("a: 1\n---\nb: @\n---\nc: `\n---\nd: 2\n")
    assert [(p.line, p.problem.rule.id) for p in parsed.problems] == [(3, "TP003"), (5, "TP003")]
    assert [d.value for d in parsed.documents] == [{"a": 1}, {"d": 2}]


def test_flow_style_is_read_and_kubectl_is_mentioned():
    parsed = parse("{kind: A}")
    assert [d.value for d in parsed.documents] == [{"kind": "A"}]
    (problem,) = parsed.problems
    assert problem.severity is Severity.WARNING
    assert "is JSON to kubectl" in problem.problem.what
