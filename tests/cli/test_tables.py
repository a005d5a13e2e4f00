"""Tables: whole where programs read, and within the terminal where people do, whatever stands in their cells."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainplane.cli.durations import parse, readable
from trainplane.cli.tables import GAP, SMALLEST, Column, Table, clean, cut, lines, measure

COLUMNS = (Column("NAME"), Column("STATE"), Column("WHY", prose=True), Column("MORE", wide=True))
TABLE = Table(COLUMNS, [["digits", "Running", "all is well, and has been for a long time", "x"], ["a", "", "", ""]])


def test_programs_get_every_word_and_a_dash_for_nothing() -> None:
    assert lines(TABLE.narrowed(wide=False)) == [
        "NAME    STATE    WHY",
        "digits  Running  all is well, and has been for a long time",
        "a       -        -",
    ]
    assert lines(TABLE)[1].endswith("for a long time  x")
    assert all(len(row.split()) == 4 for row in lines(TABLE)[2:]), "as many words as columns"


def test_in_a_terminal_sentences_give_way_first() -> None:
    assert lines(TABLE.narrowed(wide=False), width=40) == [
        "NAME    STATE    WHY",
        "digits  Running  all is well, and has b…",
        "a       -        -",
    ]


def test_names_give_way_only_where_nothing_else_can_and_keep_both_their_ends() -> None:
    columns = (Column("NAME", name=True), Column("RUNTIME"), Column("WHY", prose=True))
    table = Table(columns, [["a-very-long-name-of-a-job-002", "torch-distributed", "a sentence of words"]])
    assert lines(table, width=49) == [
        "NAME                           RUNTIME   WHY",
        "a-very-long-name-of-a-job-002  torch-d…  a sente…",
    ]
    assert lines(table, width=34) == ["NAME            RUNTIME   WHY", "a-very…job-002  torch-d…  a sente…"]


def test_what_tells_nothing_goes_before_anything_is_cut() -> None:
    columns = (Column("NAME", name=True), Column("CPU"), Column("GPU"), Column("MEMORY"))
    table = Table(columns, [["training-1", "4", "", "1Gi"], ["training-2", "4", "", ""]])
    assert lines(table, width=40)[0] == "NAME        CPU  GPU  MEMORY", "all of it fits"
    assert lines(table, width=25) == ["NAME        CPU  MEMORY", "training-1  4    1Gi", "training-2  4    -"]
    assert lines(table)[0] == "NAME        CPU  GPU  MEMORY", "programs count columns"


def test_rows_that_come_later_stand_in_line() -> None:
    late = Table(TABLE.columns, [["b", "Pending", "y", "z"]])
    assert lines(late, beside=TABLE)[1].index("Pending") == lines(TABLE)[1].index("Running")


@pytest.mark.parametrize(
    "text",
    ["\x1b[31mred\x1b[0m", "one\ntwo", "bell\x07", "\u202eright to left", "a\u2028b", "\x9b1m"],
)
def test_nothing_that_a_terminal_would_obey_gets_through(text: str) -> None:
    assert clean(text).isprintable()
    assert len(lines(Table((Column("A"),), [[text]]))) == 2


def test_wide_characters_count_as_two() -> None:
    assert measure("训练") == 4
    assert cut("训练任务", 5) == "训练…"
    assert measure(cut("e\u0301e\u0301e\u0301", 2)) == 2


@given(
    st.lists(st.lists(st.text(max_size=60), min_size=4, max_size=4), max_size=6),
    st.integers(min_value=4 * (SMALLEST + GAP), max_value=200),
)
def test_no_line_is_wider_than_the_terminal(rows: list[list[str]], width: int) -> None:
    found = lines(Table(COLUMNS, rows), width=width)
    assert len(found) == len(rows) + 1
    assert all(measure(line) <= width for line in found)


@pytest.mark.parametrize(
    ("text", "seconds", "said"),
    [
        ("90s", 90, "1m30s"),
        ("1h30m", 5400, "1h30m"),
        ("7d", 604800, "7d"),
        ("0.5s", 0.5, "0.5s"),
        ("500ms", 0.5, "0.5s"),
    ],
)
def test_times_are_read_and_said(text: str, seconds: float, said: str) -> None:
    assert parse(text).total_seconds() == seconds
    assert readable(parse(text)) == said


@pytest.mark.parametrize("text", ["", "s", "5 m", "-3s", "1y", "soon"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time"):
        parse(text)
