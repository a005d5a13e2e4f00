"""The controller makes of recorded JobSets what the real one made, and is at rest where that was."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.jobset.recorded import FIRST, STATES, children, differences, events, objects
from trainplane.jobset import default
from trainplane.jobset.reconcile import reconcile
from trainplane.reconcile.decision import Action, Create, SetStatus
from trainplane.reconcile.view import Ref, View

Raw = dict[str, Any]
NOW = datetime(2026, 1, 2, 3, 5, 5, tzinfo=UTC)
REFUSED = "JobCreationFailed"


def name_of(state: Path) -> str:
    return f"{state.parent.name}/{state.stem}"


def jobsets(found: list[Raw]) -> list[Raw]:
    return [raw for raw in found if raw["kind"] == "JobSet"]


def made(actions: tuple[Action, ...]) -> dict[Ref, Raw]:
    return {Ref.of(one.object): one.object for one in actions if isinstance(one, Create)}


def test_there_are_recordings() -> None:
    assert len(FIRST) == 183
    assert len(STATES) > 250


@pytest.mark.parametrize("state", FIRST, ids=name_of)
def test_jobs_and_services_are_as_recorded(state: Path) -> None:
    found = objects(state)
    others = [raw for raw in found if raw["kind"] not in ("Job", "Service")]
    ours: dict[Ref, Raw] = {}
    for jobset in jobsets(found):
        fresh = {key: item for key, item in jobset.items() if key != "status"}
        ours |= made(reconcile(fresh, View(others), NOW).actions)
    theirs = {**children(found, "Job"), **children(found, "Service")}
    wrong = [line for ref, raw in theirs.items() if ref in ours for line in differences(raw, ours[ref])]
    assert not wrong, "\n".join(wrong)
    if REFUSED not in events(state):
        assert set(ours) == set(theirs)


@pytest.mark.parametrize("state", STATES, ids=name_of)
def test_there_is_nothing_to_do_where_the_real_controller_was_at_rest(state: Path) -> None:
    found = objects(state)
    for jobset in jobsets(found):
        actions = reconcile(jobset, View(found), NOW).actions
        if actions and REFUSED in events(state):
            # The real one never comes to rest either: it tries the Job again that the API server refuses.
            assert [type(one) for one in actions] == [Create, SetStatus]
            assert actions[0].complaint == REFUSED
        else:
            assert not actions


@pytest.mark.parametrize("state", FIRST, ids=name_of)
def test_a_stored_jobset_has_every_default(state: Path) -> None:
    for jobset in jobsets(objects(state)):
        assert default.jobset(jobset) == jobset
