"""Every case recorded with all controllers comes out the same on the embedded cluster, or a row says why not."""

from pathlib import Path

import pytest

from tests.conformance import recordings
from tests.conformance.full import differences
from tests.conformance.recordings import CASES, DIFFERENCES, HERE, load, row_for

ROWS = load(DIFFERENCES)
RACES = load(HERE / "races.yaml")
"""What depends on timing in the recordings themselves."""
ALL = (*ROWS, *RACES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case: Path) -> None:
    unexplained = [
        f"{tag or 'start'} {path}: theirs {theirs!r}, ours {ours!r}"
        for tag, path, theirs, ours in differences(case)
        if row_for(ALL, case, path=path, theirs=theirs) is None
    ]
    assert not unexplained, "\n".join(unexplained)


@pytest.fixture(scope="module")
def found() -> list[tuple[Path, str, int | None]]:
    """Every difference there is and its row, in what the Trainer makes by itself and in what comes of it."""
    return [
        (case, path, row_for(ALL, case, path=path, theirs=theirs))
        for case in CASES
        for _, path, theirs, _ in (*recordings.differences(case), *differences(case))
    ]


def test_every_row_is_needed(found: list[tuple[Path, str, int | None]]) -> None:
    used = {row for _, _, row in found}
    idle = [f"{row['what']}: {row['case']} {row['path']}" for i, row in enumerate(ROWS) if i not in used]
    assert not idle, "\n".join(idle)


def test_a_row_about_everything_follows_from_a_refusal(found: list[tuple[Path, str, int | None]]) -> None:
    """Only where one of the two refuses a document is there nothing left to compare."""
    wide = {(case, row) for case, _, row in found if row is not None and row < len(ROWS)}
    there = {(case, path) for case, path, _ in found}
    loose = [
        f"{ROWS[i]['what']}: {case.name} is not refused by one of the two alone"
        for case, i in sorted(wide)
        if ROWS[i]["path"] == "*" and (case, ROWS[i].get("follows")) not in there
    ]
    assert not loose, "\n".join(loose)
