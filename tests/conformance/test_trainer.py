"""Every recorded case comes out as the real Kubeflow Trainer made it, except where a row of the table says why not."""

from pathlib import Path

import pytest

from tests.conformance.recordings import CASES, DIFFERENCES, differences, like, load

TABLE = load(DIFFERENCES)


def row_for(case: Path, path: str) -> int | None:
    """The first row of the table that speaks of this difference."""
    for i, row in enumerate(TABLE):
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
