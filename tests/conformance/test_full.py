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


@pytest.fixture(scope="module")
def found() -> list[tuple[Path, str]]:
    """Every difference there is, in what the Trainer makes by itself and in what comes of it."""
    return [(case, path) for case in CASES for _, path, _, _ in (*recordings.differences(case), *differences(case))]


def test_every_row_is_needed(found: list[tuple[Path, str]]) -> None:
    used = {row_for(case, path) for case, path in found}
    idle = [f"{row['what']}: {row['case']} {row['path']}" for i, row in enumerate(ROWS) if i not in used]
    assert not idle, "\n".join(idle)


def test_a_row_about_everything_follows_from_a_refusal(found: list[tuple[Path, str]]) -> None:
    """Only where one of the two refuses a document is there nothing left to compare."""
    wide = {(case, i) for case, path in found if (i := row_for(case, path)) is not None and i < len(ROWS)}
    loose = [
        f"{ROWS[i]['what']}: {case.name} is not refused by one of the two alone"
        for case, i in sorted(wide)
        if ROWS[i]["path"] == "*" and (case, ROWS[i].get("follows")) not in found
    ]
    assert not loose, "\n".join(loose)
