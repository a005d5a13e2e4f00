"""failurePolicy: which rule a failure meets, and what it does."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.jobset.worlds import KEY, START, jobset, rjob
from trainplane.jobset.children import Unreadable
from trainplane.jobset.expressions import occurs
from trainplane.jobset.failure import applies, blame, first_failed, on_failure
from trainplane.jobset.status import Outcome

Raw = dict[str, Any]


def failed(
    name: str = "js-a-0",
    *,
    of: str = "a",
    index: int = 0,
    hours_ago: float = 1,
    reason: str = "DeadlineExceeded",
    message: str = "",
) -> Raw:
    when = (START - timedelta(hours=hours_ago)).strftime("%Y-%m-%dT%H:%M:%SZ")
    condition = {"type": "Failed", "status": "True", "reason": reason, "message": message, "lastTransitionTime": when}
    return {
        "metadata": {"name": name, "labels": {KEY + "replicatedjob-name": of, KEY + "job-index": str(index)}},
        "status": {"conditions": [condition]},
    }


RUNNING = {"metadata": {"name": "js-a-1"}, "status": {"conditions": [{"type": "Complete", "status": "True"}]}}


@pytest.mark.parametrize(
    ("jobs", "expected"),
    [
        pytest.param([], None, id="none"),
        pytest.param([failed("one")], "one", id="one"),
        pytest.param([failed("late", hours_ago=3), failed("early", hours_ago=5)], "early", id="the earliest"),
        pytest.param([RUNNING], None, id="none that failed"),
    ],
)
def test_first_failed(jobs: list[Raw], expected: str | None) -> None:
    found = first_failed(jobs)
    assert (found["metadata"]["name"] if found else None) == expected


@pytest.mark.parametrize(("targets", "meets_target"), [([], True), (["a"], True), (["b"], False)])
@pytest.mark.parametrize(
    ("reasons", "meets_reason"), [([], True), (["DeadlineExceeded"], True), (["BackoffLimitExceeded"], False)]
)
def test_a_rule_applies_where_targets_and_reasons_do(
    targets: list[str], meets_target: bool, reasons: list[str], meets_reason: bool
) -> None:
    rule = {"targetReplicatedJobs": targets, "onJobFailureReasons": reasons}
    assert applies(rule, failed()) is (meets_target and meets_reason)


PATTERN = "^job failed because.*"


@pytest.mark.parametrize(
    ("reason", "message", "expected"),
    [
        pytest.param(None, "job failed because of rain", True, id="the message matches"),
        pytest.param(None, "the job failed because of rain", False, id="it does not"),
        pytest.param("DeadlineExceeded", "job failed because of rain", True, id="reason and message match"),
        pytest.param("DeadlineExceeded", "all is well", False, id="the reason alone"),
        pytest.param("PodFailurePolicy", "job failed because of rain", False, id="the message alone"),
    ],
)
def test_a_rule_applies_where_the_message_matches(reason: str | None, message: str, expected: bool) -> None:
    rule = {"onJobFailureMessagePatterns": [PATTERN], "onJobFailureReasons": [reason] if reason else []}
    assert applies(rule, failed(message=message)) is expected


def test_a_job_of_no_replicated_job_meets_no_rule() -> None:
    assert not applies({}, failed(of=""))


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        pytest.param("exit code 13[79]", True, id="somewhere in the message"),
        pytest.param("(?i)EXIT", True, id="without regard to case"),
        pytest.param("(", False, id="no expression"),
        pytest.param("(?=exit)", False, id="looking ahead is not in the real one's language"),
        pytest.param(r"(e)xit \1", False, id="nor are back references"),
    ],
)
def test_patterns(pattern: str, expected: bool) -> None:
    assert occurs(pattern, "container ended with exit code 137") is expected


RULES = [
    {"name": "R1", "action": "FailJobSet", "onJobFailureReasons": ["BackoffLimitExceeded"]},
    {"name": "R2", "action": "FailJobSet", "onJobFailureReasons": ["DeadlineExceeded"]},
    {"name": "R3", "action": "FailJobSet", "onJobFailureReasons": ["PodFailurePolicy"]},
]


@pytest.mark.parametrize(
    ("rules", "jobs", "rule", "job"),
    [
        pytest.param([], [failed()], None, "js-a-0", id="no rules"),
        pytest.param(RULES, [failed(reason="FailedIndexes")], None, "js-a-0", id="no rule for it"),
        pytest.param(
            RULES,
            [failed("x", reason="FailedIndexes"), failed("y", reason="FailedIndexes", hours_ago=2)],
            None,
            "y",
            id="no rule for either: the earliest",
        ),
        pytest.param(RULES, [failed(reason="BackoffLimitExceeded")], "R1", "js-a-0", id="the first rule"),
        pytest.param(RULES, [failed()], "R2", "js-a-0", id="the second"),
        pytest.param(RULES, [failed(reason="PodFailurePolicy")], "R3", "js-a-0", id="the third"),
        pytest.param(RULES, [failed("x"), failed("y", hours_ago=2)], "R2", "y", id="both meet it: the earlier"),
        pytest.param(
            RULES,
            [failed("x", reason="BackoffLimitExceeded"), failed("y", hours_ago=9)],
            "R1",
            "x",
            id="the order of rules goes before the order of failures",
        ),
    ],
)
def test_who_is_blamed(rules: list[Raw], jobs: list[Raw], rule: str | None, job: str) -> None:
    found = blame(jobset(failurePolicy={"rules": rules}), jobs)
    assert found is not None
    assert (found.rule["name"] if found.rule else None) == rule
    assert found.job["metadata"]["name"] == job


def after(action: str | None, *, most: int = 5, gate: bool = False, **status: Any) -> tuple[Raw, list[str]]:
    """The status after one Job failed, and the reasons of the events."""
    rules = [{"name": "Rule1", "action": action}] if action else []
    raw = jobset(rjob("a"), failurePolicy={"maxRestarts": most, "rules": rules})
    counts = {"name": "a", "ready": 0, "succeeded": 0, "failed": 1, "active": 0, "suspended": 0}
    counts |= {key: status.pop(key) for key in ("jobRestarts", "jobRestartsCountTowardsMax") if key in status}
    said = Outcome({"restarts": 0, "replicatedJobsStatus": [counts], **status})
    found = on_failure(raw, (failed(),), said, now=START, restart_job=gate)
    return found.status, [event.reason for event in found.told]


def condition(status: Raw, type_: str) -> tuple[str, str, str]:
    (found,) = [one for one in status["conditions"] if one["type"] == type_]
    return found["status"], found["reason"], found["message"]


def test_without_a_policy_one_failure_is_the_end() -> None:
    found = on_failure(jobset(), (failed("x"), failed("y", hours_ago=2)), Outcome({}), now=START, restart_job=False)
    assert found.status["terminalState"] == "Failed"
    why = condition(found.status, "Failed")
    assert why[:2] == ("True", "FailedJobs")
    assert why[2].endswith(" (first failed job: y)")


def test_fail_jobset() -> None:
    status, told = after("FailJobSet")
    assert status["terminalState"] == "Failed"
    assert condition(status, "Failed")[:2] == ("True", "FailJobSetFailurePolicyAction")
    assert status["restarts"] == 0
    assert "restartsCountTowardsMax" not in status
    assert told == ["FailJobSetFailurePolicyAction"]


@pytest.mark.parametrize(
    ("action", "reason"), [(None, "DefaultFailurePolicy"), ("RestartJobSet", "FailurePolicy_Rule1")]
)
def test_restart_jobset_counts(action: str | None, reason: str) -> None:
    status, told = after(action, restarts=1, restartsCountTowardsMax=1)
    assert (status["restarts"], status["restartsCountTowardsMax"]) == (2, 2)
    assert condition(status, "RestartingJobSet")[:2] == ("True", reason)
    assert told == [reason, "RestartJobSetFailurePolicyAction"]


def test_restart_jobset_at_the_limit_is_the_end() -> None:
    status, told = after(None, most=2, restarts=2, restartsCountTowardsMax=2)
    assert (status["restarts"], status["restartsCountTowardsMax"]) == (2, 2)
    assert condition(status, "Failed")[:2] == ("True", "ReachedMaxRestarts")
    assert told == ["ReachedMaxRestarts"]


def test_the_end_says_that_nothing_is_restarted_any_more() -> None:
    restarting = {"type": "RestartingJobSet", "status": "True", "reason": "R", "message": "", "lastTransitionTime": "x"}
    status, told = after("FailJobSet", conditions=[restarting])
    assert condition(status, "RestartingJobSet")[:2] == ("False", "JobSetFailed")
    assert told == ["FailJobSetFailurePolicyAction", "JobSetFailed"]


def test_restarts_that_do_not_count_have_no_limit() -> None:
    status, told = after("RestartJobSetAndIgnoreMaxRestarts", most=1, restarts=1, restartsCountTowardsMax=1)
    assert (status["restarts"], status["restartsCountTowardsMax"]) == (2, 1)
    assert condition(status, "RestartingJobSet")[0] == "True"
    assert told == ["FailurePolicy_Rule1", "RestartJobSetAndIgnoreMaxRestartsFailurePolicyAction"]


def test_one_job_is_restarted_alone() -> None:
    status, told = after("RestartJob", gate=True)
    (counts,) = status["replicatedJobsStatus"]
    assert (counts["jobRestarts"], counts["jobRestartsCountTowardsMax"]) == ([1], [1])
    assert status["restarts"] == 0
    assert "conditions" not in status
    assert told == ["RestartJobFailurePolicyAction"]


@pytest.mark.parametrize("action", ["RestartJob", "RestartJobSet"])
def test_restarts_of_one_and_of_all_count_together(action: str) -> None:
    spent = {"jobRestarts": [1], "jobRestartsCountTowardsMax": [1], "restarts": 1, "restartsCountTowardsMax": 1}
    status, _ = after(action, most=2, gate=True, **spent)
    assert condition(status, "Failed")[1] == "ReachedMaxRestarts"


def test_restarts_of_one_that_do_not_count() -> None:
    spent = {"jobRestarts": [1], "jobRestartsCountTowardsMax": [0]}
    status, _ = after("RestartJobAndIgnoreMaxRestarts", most=1, gate=True, **spent)
    (counts,) = status["replicatedJobsStatus"]
    assert (counts["jobRestarts"], counts["jobRestartsCountTowardsMax"]) == ([2], [0])


def test_restarting_one_job_takes_the_gate() -> None:
    with pytest.raises(Unreadable, match="RestartJob needs the option restart_job"):
        after("RestartJob")


def test_times_are_compared_as_times() -> None:
    early = failed("early")
    early["status"]["conditions"][0]["lastTransitionTime"] = datetime(2026, 1, 2, 1, tzinfo=UTC).isoformat()
    late = failed("late")
    late["status"]["conditions"][0]["lastTransitionTime"] = "2026-01-02T01:30:00Z"
    found = first_failed([late, early])
    assert found is early
