"""What the real API server made of each recorded apply and update, ownership makes too."""

from pathlib import Path

import pytest

from tests.conformance.apply_cases import CASES, play, recorded

BEYOND = {
    "017": "the options of a request",
    "019": "the name on the path",
    "021": "the namespace on the path",
    "033": "the text of the body",
    "034": "the text of the body",
    "053": "namespaces",
    "073": "what exists",
    "503": "validation",
}
"""The cases in which ownership has nothing to say, and what they are about."""


@pytest.mark.parametrize("case", recorded(), ids=lambda path: path.stem)
def test_recorded_ownership(case: Path) -> None:
    replay = play(case)
    assert replay.wrong == [], "\n".join(replay.wrong)
    assert (replay.judged == 0) == (case.name[:3] in BEYOND)


def test_all_cases_are_here() -> None:
    assert len(list(CASES.glob("*.yaml"))) == 259
