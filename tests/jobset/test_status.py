"""What a JobSet says of itself: counts and conditions."""

from datetime import timedelta
from typing import Any

import pytest

from tests.jobset.worlds import KEY, START, jobset, rjob
from trainplane.api.batch import COMPLETE
from trainplane.api.times import stamp
from trainplane.jobset.children import Children, Unreadable, is_previous, outcome, tell_apart
from trainplane.jobset.status import Outcome, count

Raw = dict[str, Any]


def job(
    name: str, *, of: str = "a", restart: str | None = "0", conditions: Any = (), spec: Any = (), **status: Any
) -> Raw:
    labels = {KEY + "replicatedjob-name": of, KEY + "job-index": "0"}
    if restart is not None:
        labels[KEY + "restart-attempt"] = restart
    said = [{"type": type_, "status": "True"} for type_ in conditions]
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "ns", "labels": labels},
        "spec": dict(spec),
        "status": {**status, "conditions": said},
    }


def sized(parallelism: int, completions: int | None = None, **status: int) -> Raw:
    spec = {"parallelism": parallelism, **({} if completions is None else {"completions": completions})}
    return job("j", of="b", spec=spec, **status)


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        pytest.param([COMPLETE], "succeeded", id="complete"),
        pytest.param(["Failed"], "failed", id="failed"),
        pytest.param([], "active", id="says nothing"),
        pytest.param(["Suspended"], "active", id="suspended"),
        pytest.param(["FailureTarget"], "active", id="about to fail: its pods still end"),
        pytest.param(["SuccessCriteriaMet"], "active", id="about to succeed"),
    ],
)
def test_when_a_job_has_ended(conditions: list[str], expected: str) -> None:
    assert outcome(job("j", conditions=conditions)) == expected


def test_a_condition_that_is_not_true_ends_nothing() -> None:
    raw = job("j")
    raw["status"]["conditions"] = [{"type": "Failed", "status": "False"}]
    assert outcome(raw) == "active"


RESTARTED = {"replicatedJobsStatus": [{"name": "a", "jobRestarts": [1, 0]}]}


class TestWhichRun:
    """Jobs of a run before the present one are told apart first."""

    def test_an_older_attempt_is_previous_even_if_it_succeeded(self) -> None:
        found = tell_apart([job("j", conditions=[COMPLETE])], {"restarts": 1}, restart_job=False)
        assert [len(found.previous), len(found.succeeded)] == [1, 0]

    @pytest.mark.parametrize("restart", [None, "x", ""])
    def test_a_job_that_does_not_say_stops_everything(self, restart: str | None) -> None:
        with pytest.raises(Unreadable, match=r"the Job j has .*restart-attempt; put a number there, or delete the Job"):
            tell_apart([job("j", restart=restart)], {}, restart_job=False)

    def test_a_single_job_can_be_of_an_older_run(self) -> None:
        old = job("j")
        old["metadata"]["labels"][KEY + "job-restart-attempt"] = "0"
        assert is_previous(old, RESTARTED, restart_job=True)
        assert not is_previous(old, RESTARTED, restart_job=False)

    def test_without_the_label_it_is_current(self) -> None:
        assert not is_previous(job("j"), RESTARTED, restart_job=True)

    def test_an_index_that_is_not_counted_stops_everything(self) -> None:
        odd = job("j")
        odd["metadata"]["labels"] |= {KEY + "job-restart-attempt": "0", KEY + "job-index": "7"}
        with pytest.raises(Unreadable, match="index 7"):
            is_previous(odd, RESTARTED, restart_job=True)


@pytest.mark.parametrize(
    ("active", "expected"),
    [
        pytest.param([], {"a": {}, "b": {}}, id="no jobs"),
        pytest.param(
            [
                job("a", spec={"parallelism": 1, "completions": 2}, ready=1, succeeded=1),
                sized(5, ready=2, succeeded=3),
                sized(3, 2, ready=1, succeeded=1),
                sized(2, 3, ready=2, succeeded=1),
                sized(4, 5, ready=2, succeeded=1),
            ],
            {"a": {"ready": 1}, "b": {"ready": 3}},
            id="ready when all pods that run at once are ready or have succeeded",
        ),
        pytest.param([sized(5, ready=2, succeeded=3)], {"a": {}, "b": {"ready": 1}}, id="one job alone"),
        pytest.param(
            [job("a", active=1), job("b", of="b", active=0), job("c", of="b", active=1)],
            {"a": {"active": 1}, "b": {"active": 1}},
            id="active when a pod is",
        ),
        pytest.param(
            [job("a", spec={"suspend": True}), job("b", of="b", spec={"suspend": True}), job("c", of="b")],
            {"a": {"suspended": 1}, "b": {"suspended": 1}},
            id="suspended",
        ),
        pytest.param([sized(0)], {"a": {}, "b": {"ready": 1}}, id="no pods are ready at once"),
        pytest.param([job("x", of="gone"), job("y", of="")], {"a": {}, "b": {}}, id="of no replicated job"),
    ],
)
def test_counts_of_active_jobs(active: list[Raw], expected: dict[str, Raw]) -> None:
    found = count(jobset(rjob("a"), rjob("b", 4)), Children(active=tuple(active)))
    assert {one["name"]: {k: n for k, n in one.items() if k != "name" and n} for one in found} == expected


def test_counts_of_ended_jobs_and_none_of_the_last_run() -> None:
    found = count(
        jobset(rjob("a", 3), rjob("b", 2)),
        Children(
            succeeded=(job("1", of="b"),),
            failed=(job("2"), job("3"), job("4", of="b")),
            previous=(job("5"), job("6", of="b", ready=1)),
        ),
    )
    zero = {"ready": 0, "active": 0, "suspended": 0}
    assert found == [
        {"name": "b", "succeeded": 1, "failed": 1, **zero},
        {"name": "a", "succeeded": 0, "failed": 2, **zero},
    ]


OLD = {
    "type": "Suspended",
    "status": "True",
    "reason": "R",
    "message": "m",
    "lastTransitionTime": "2020-01-01T00:00:00Z",
}
NOW = START + timedelta(hours=1)


@pytest.mark.parametrize(
    ("before", "new", "changed", "since"),
    [
        pytest.param([], ("Suspended", "True", "R", "m"), True, stamp(NOW), id="a new one"),
        pytest.param([], ("Suspended", "False", "R", "m"), False, None, id="False never comes of nothing"),
        pytest.param([OLD], ("Suspended", "True", "R", "m"), False, OLD["lastTransitionTime"], id="the same again"),
        pytest.param([OLD], ("Suspended", "False", "X", "m"), True, stamp(NOW), id="another status"),
        pytest.param(
            [OLD], ("Suspended", "True", "X", "m"), True, OLD["lastTransitionTime"], id="another reason keeps the time"
        ),
        pytest.param(
            [OLD], ("Suspended", "True", "R", "x"), True, OLD["lastTransitionTime"], id="another message keeps the time"
        ),
    ],
)
def test_setting_a_condition(before: list[Raw], new: Any, changed: bool, since: str | None) -> None:
    after = Outcome({"conditions": before} if before else {}).having(new, NOW)
    assert bool(after.told) is changed
    found = {one["type"]: one for one in after.status.get("conditions", ())}
    assert found.get("Suspended", {}).get("lastTransitionTime") == since
    if changed:
        assert (found["Suspended"]["status"], found["Suspended"]["reason"]) == new[1:3]
        assert after.told[0][1:] == new[2:]


def test_starting_and_having_started_end_each_other() -> None:
    starting = ("StartupPolicyInProgress", "True", "InOrderStartupPolicyInProgress", "")
    started = ("StartupPolicyCompleted", "True", "InOrderStartupPolicyCompleted", "")
    said = Outcome({}).having(starting, START).having(started, NOW)
    assert [(one["type"], one["status"]) for one in said.status["conditions"]] == [
        ("StartupPolicyInProgress", "False"),
        ("StartupPolicyCompleted", "True"),
    ]
    assert said.status["conditions"][0]["lastTransitionTime"] == stamp(START)
    again = said.having(starting, NOW)
    assert [one["status"] for one in again.status["conditions"]] == ["True", "False"]


@pytest.mark.parametrize(
    ("new", "type_"),
    [
        (("Failed", "True", "R", ""), "Warning"),
        (("RestartingJobSet", "True", "R", ""), "Warning"),
        (("Completed", "True", "R", ""), "Normal"),
        (("Suspended", "True", "R", ""), "Normal"),
        (("StartupPolicyInProgress", "True", "R", ""), "Normal"),
    ],
)
def test_what_went_wrong_is_told_as_a_warning(new: Any, type_: str) -> None:
    assert [event.type for event in Outcome({}).having(new, NOW).told] == [type_]
