"""Upstream's conditions and counts: set once, timed by their change, and never left untrue."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.trainjob.stories import JOB, Story, runtime, trainjob
from trainplane.api.conditions import condition
from trainplane.trainjob.status import finished, from_jobset, suspension, with_condition

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
THEN = "2026-01-01T00:00:00Z"


def told(type_: str, status: str = "True", reason: str = "R", message: str = "m") -> dict[str, str]:
    return {"type": type_, "status": status, "reason": reason, "message": message, "lastTransitionTime": THEN}


def test_an_equal_condition_changes_nothing() -> None:
    status = {"conditions": [told("Failed")]}
    assert with_condition(status, ("Failed", "True", "R", "m"), "2026-01-02T00:00:00Z") is status


def test_a_new_message_keeps_the_time_and_a_new_status_does_not() -> None:
    status = {"conditions": [told("Failed"), told("Suspended")]}
    (same, _) = with_condition(status, ("Failed", "True", "R", "other"), "later")["conditions"]
    assert (same["message"], same["lastTransitionTime"]) == ("other", THEN)
    (other, kept) = with_condition(status, ("Failed", "False", "R", "m"), "later")["conditions"]
    assert other["lastTransitionTime"] == "later"
    assert kept == told("Suspended"), "order and the others stay"


@pytest.mark.parametrize(
    ("before", "suspend", "after"),
    [
        pytest.param([], False, None, id="never suspended: no condition"),
        pytest.param([], True, ("True", "Suspended"), id="suspended"),
        pytest.param([told("Suspended", "True")], False, ("False", "Resumed"), id="resumed"),
        pytest.param([told("Suspended", "False", "Resumed", "x")], False, ("False", "Resumed"), id="long resumed"),
    ],
)
def test_suspension(before: list[Any], suspend: bool, after: tuple[str, str] | None) -> None:
    found = condition(suspension({"conditions": before}, suspend=suspend, now=NOW), "Suspended")
    assert (found and (found["status"], found["reason"])) == after


@pytest.mark.parametrize(("theirs", "ours"), [("Completed", "Complete"), ("Failed", "Failed")])
def test_the_jobsets_end_is_the_jobs_with_its_reason_and_its_time(theirs: str, ours: str) -> None:
    status = from_jobset({}, {"status": {"conditions": [told(theirs)]}}, NOW)
    assert status["conditions"] == [told(ours)]
    assert finished(status) == ours


@pytest.mark.parametrize(("first", "then"), [("Failed", "Completed"), ("Completed", "Failed")])
def test_a_job_ends_once(first: str, then: str) -> None:
    ended = from_jobset({}, {"status": {"conditions": [told(first)]}}, NOW)
    assert from_jobset(ended, {"status": {"conditions": [told(first), told(then)]}}, NOW) == ended


def test_a_complete_of_somebody_else_gives_way_to_the_jobsets_failure() -> None:
    status = from_jobset({"conditions": [told("Complete")]}, {"status": {"conditions": [told("Failed")]}}, NOW)
    assert [(one["type"], one["status"]) for one in status["conditions"]] == [("Complete", "False"), ("Failed", "True")]


def test_other_conditions_of_the_jobset_are_its_own() -> None:
    said = [told("RestartingJobSet"), told("StartupPolicyCompleted"), told("Completed", "False")]
    assert from_jobset({}, {"status": {"conditions": said}}, NOW) == {}


def test_counts_are_copied_whole_with_their_zeros() -> None:
    """The kubeflow SDK refuses a count that is left out."""
    status = from_jobset({}, {"status": {"replicatedJobsStatus": [{"name": "node", "active": 1, "extra": 2}]}}, NOW)
    zero = {"ready": 0, "succeeded": 0, "failed": 0, "suspended": 0}
    assert status["jobsStatus"] == [{"name": "node", "active": 1, **zero}]


def test_counts_outlive_the_jobset() -> None:
    story = Story(runtime(), trainjob())
    story.jobset_says(counts={"node": {"succeeded": 1}})
    story.completes()
    counts = story.job["status"]["jobsStatus"]
    story.delete(story.jobset and next(ref for ref in story.objects if ref.kind == "JobSet"))
    story.settle()
    assert story.job["status"]["jobsStatus"] == counts


def test_a_complete_that_is_untrue_is_set_false_and_the_job_goes_on() -> None:
    story = Story(runtime(), trainjob())
    story.edit(JOB, "status", "conditions", to=[told("Complete")])
    story.settle()
    assert story.conditions["Complete"] == ("False", "JobSetNotCompleted")
    assert story.summary["state"] == "Pending"


def test_what_the_trainer_reported_survives() -> None:
    story = Story(runtime(), trainjob())
    report = {"progressPercentage": 40, "lastUpdatedTime": THEN}
    story.edit(JOB, "status", "trainerStatus", to=report)
    story.completes()
    assert story.job["status"]["trainerStatus"] == report
