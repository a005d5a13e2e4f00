"""Every recorded case comes out as the real Kubeflow Trainer made it, except where a row of the table says why not."""

from pathlib import Path

import pytest

from tests.conformance.recordings import CASES, DIFFERENCES, differences, load, row_for

TABLE = load(DIFFERENCES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case: Path) -> None:
    unexplained = [
        f"{tag or 'start'} {path}: theirs {theirs!r}, ours {ours!r}"
        for tag, path, theirs, ours in differences(case)
        if row_for(TABLE, case, path=path, theirs=theirs) is None
    ]
    assert not unexplained, "\n".join(unexplained)
