"""Every case recorded with all controllers comes out the same on the embedded cluster, or a row says why not."""

from pathlib import Path

import pytest

from tests.conformance import recordings
from tests.conformance.full import differences
from tests.conformance.recordings import CASES, DIFFERENCES, HERE, like, load

ROWS = load(DIFFERENCES)
RACES = load(HERE / "races.yaml")
"""What depends on timing in the recordings themselves."""


def row_for(case: Path, path: str) -> int | None:
    """The first row of the table that speaks of this difference."""
    for i, row in enumerate((*ROWS, *RACES)):
        if like(case.name, row["case"]) and like(path, row["path"]):
            return i
    return None


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case: Path) -> None:
    unexplained = [
        f"{tag or 'start'} {path}: theirs {theirs!r}, ours {ours!r}"
        for tag, path, theirs, ours in differences(case)
        if row_for(case, path) is None
    ]
    assert not unexplained, "\n".join(unexplained)


def test_every_row_is_needed() -> None:
    """Rows are for what the Trainer makes by itself, and for what comes of it."""
    found = [(case, path) for case in CASES for _, path, _, _ in (*recordings.differences(case), *differences(case))]
    used = {row_for(case, path) for case, path in found}
    idle = [f"{row['what']}: {row['case']} {row['path']}" for i, row in enumerate(ROWS) if i not in used]
    assert not idle, "\n".join(idle)
