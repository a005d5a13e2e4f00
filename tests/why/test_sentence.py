"""What others say is repeated on one line, in part, and harmless; amounts are told as people say them."""

import pytest

from trainplane.api.quantity import parse
from trainplane.why.sentence import LONGEST, amount, quoted


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (None, ""),
        ("one\n  two\tthree", "one two three"),
        ("bye \x1b]52;c;cHdu\x07\x1b[2J", "bye ]52;c;cHdu [2J"),
        ("turn\u202earound \x9b2J", "turn around 2J"),
        ("x" * 1000, "x" * (LONGEST - 1) + "\u2026"),
    ],
)
def test_quoted(text: str | None, shown: str) -> None:
    assert quoted(text) == shown


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("cpu", "2600m", "2.6 CPU"),
        ("cpu", "4", "4 CPU"),
        ("cpu", "1n", "1n CPU"),
        ("memory", "4Gi", "4Gi"),
        ("nvidia.com/gpu", "8", "8 GPU"),
    ],
)
def test_amounts_are_told_as_people_say_them(name: str, value: str, shown: str) -> None:
    assert amount(name, parse(value)) == shown
