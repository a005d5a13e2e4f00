"""The checklist of JobSet is whole, and everything that it names exists."""

import re

import pytest

from tools.jobset_checklist import LEFT, Row, is_there, sections

ROWS = [row for rows in sections().values() for row in rows]
NUMBERS = {
    "U": {*range(1, 39), *range(40, 67), 70, 71, 72, 75, 76, 80, 81, 82, *range(85, 89), 90, 91, 92, *range(100, 113)},
    "A": set(range(1, 15)),
    "P": set(range(1, 11)),
    "W": {*range(1, 9), *range(10, 19), *range(20, 32), *range(40, 48), *range(50, 57)},
    "I": set(range(1, 57)),
    "WI": set(range(1, 19)),
    "E": set(range(1, 18)),
    "T": set(range(1, 25)),
}
"""Which rows JobSet's tests and the list of traps have."""


def numbers(row: Row) -> tuple[str, set[int]]:
    """The letters of a row and the numbers that it is about."""
    first, _, last = row.number.partition("–")
    found = re.fullmatch(r"([A-Z]+)(\d+)", first)
    assert found
    end = int((last or first).removeprefix(found[1]))
    return found[1], set(range(int(found[2]), end + 1))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.number)
def test_a_row_is_shown(row: Row) -> None:
    assert row.shown, "no row is left without a test"
    assert [one for one in row.shown if not is_there(one)] == []


def test_nothing_is_missing() -> None:
    have: dict[str, set[int]] = {}
    for row in ROWS:
        letters, found = numbers(row)
        have[letters] = have.get(letters, set()) | found
    assert {letters: sorted(wanted - have.get(letters, set())) for letters, wanted in NUMBERS.items()} == {
        letters: [] for letters in NUMBERS
    }


def test_only_in_place_restart_is_left_out() -> None:
    left = [row.number for row in ROWS if row.asked.startswith(LEFT)]
    assert left == ["U100–U112", "A1–A14", "W29–W30", "E14"]


def test_what_does_not_exist_is_noticed() -> None:
    assert not is_there("jobset/traps::test_that_nobody_wrote")
    assert not is_there("case nothing-of-the-kind")
