"""What others say is repeated on one line, in part, and harmless."""

import pytest

from trainplane.why.sentence import LONGEST, quoted


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
