"""A JobSet held back and let go, and the order in which its Jobs start."""

from typing import Any

import pytest

from tests.jobset.worlds import KEY, Stage, jobset, rjob

Raw = dict[str, Any]

ALL = ["js-a-0", "js-b-0", "js-b-1", "js-b-2"]
B = ALL[1:]
IN_ORDER = {"startupPolicyOrder": "InOrder"}


def failing(*rules: Raw, most: int = 1, **fields: Any) -> Raw:
    named = [{"name": f"Rule{i}", **rule} for i, rule in enumerate(rules, 1)]
    return {"maxRestarts": most, **fields, **({"rules": named} if named else {})}


def restarts(stage: Stage) -> tuple[int, int]:
    return stage.status["restarts"], stage.status.get("restartsCountTowardsMax", 0)


def running(stage: Stage) -> list[str]:
    """The Jobs that are not suspended."""
    return sorted(name for name, raw in stage.jobs.items() if not raw["spec"]["suspend"])


def waits(reach: str, *names: str) -> list[Raw]:
    return [{"name": name, "status": reach} for name in names]


class TestSuspend:
    def test_created_suspended(self) -> None:
        stage = Stage(jobset(suspend=True))
        assert running(stage) == []
        assert stage.conditions == {"Suspended": ("True", "SuspendedJobs")}
        assert stage.counts == {"a": {"suspended": 1}, "b": {"suspended": 3}}

    def test_resumed_with_changes_of_the_template(self) -> None:
        stage = Stage(jobset(suspend=True))
        for i in (0, 1):
            pod = ("spec", "replicatedJobs", i, "template", "spec", "template")
            stage.edit(*pod, "metadata", to={"labels": {"l": "1"}, "annotations": {"a": "2"}})
            stage.edit(*pod, "spec", "nodeSelector", to={"disk": "fast"})
            stage.edit(*pod, "spec", "tolerations", to=[{"key": "t", "operator": "Exists"}])
            stage.edit(*pod, "spec", "schedulingGates", to=[{"name": "gate"}])
        stage.edit("spec", "suspend", to=False)
        assert running(stage) == ALL
        for raw in stage.jobs.values():
            template = raw["spec"]["template"]
            assert template["metadata"]["labels"]["l"] == "1"
            assert template["metadata"]["labels"][KEY + "jobset-name"] == "js"
            assert template["metadata"]["annotations"]["a"] == "2"
            assert template["spec"]["nodeSelector"] == {"disk": "fast"}
            assert template["spec"]["tolerations"] == [{"key": "t", "operator": "Exists"}]
            assert template["spec"]["schedulingGates"] == [{"name": "gate"}]
        assert stage.conditions == {"Suspended": ("False", "ResumeJobs")}
        stage.succeeds()
        assert stage.conditions["Completed"] == ("True", "AllJobsCompleted")

    def test_suspended_while_it_runs(self) -> None:
        stage = Stage(jobset())
        stage.ready()
        stage.edit("spec", "suspend", to=True)
        assert running(stage) == []
        assert stage.told == [("Normal", "SuspendedJobs")]

    def test_what_has_ended_stays_as_it_is(self) -> None:
        stage = Stage(jobset())
        stage.succeeds("js-a-0")
        stage.edit("spec", "suspend", to=True)
        assert running(stage) == ["js-a-0"]

    def test_a_job_that_had_started_starts_anew(self) -> None:
        stage = Stage(jobset())
        stage.becomes(startTime="2026-01-02T03:04:05Z", active=1)
        stage.edit("spec", "suspend", to=True)
        stage.edit("spec", "suspend", to=False)
        assert all("startTime" not in raw["status"] for raw in stage.jobs.values())

    def test_a_toleration_is_not_added_twice(self) -> None:
        borne = {"key": "t", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}
        spec = {"containers": [{"name": "c", "image": "i"}], "tolerations": [borne]}
        stage = Stage(jobset(rjob("a", pod=spec), suspend=True))
        stage.edit("spec", "suspend", to=False)
        assert stage.jobs["js-a-0"]["spec"]["template"]["spec"]["tolerations"] == [borne]

    def test_a_restart_goes_on_while_suspended(self) -> None:
        stage = Stage(jobset(failurePolicy=failing()))
        stage.fails("js-a-0")
        stage.edit("spec", "suspend", to=True)
        stage.collect()
        assert stage.attempts == {"1": 4}
        assert running(stage) == []
        assert stage.conditions["RestartingJobSet"] == ("False", "JobSetSuspended")
        stage.edit("spec", "suspend", to=False)
        assert restarts(stage) == (1, 1)
        assert running(stage) == ALL

    def test_a_restart_is_not_over_while_suspended_even_if_all_pods_were_ready(self) -> None:
        stage = Stage(jobset(rjob("a"), failurePolicy=failing()))
        stage.fails("js-a-0")
        stage.collect()
        stage.edit_job("js-a-0", {"status": {"active": 1, "ready": 1}})
        stage.edit("spec", "suspend", to=True)
        assert ("Normal", "JobsReady") not in stage.told
        assert stage.conditions["RestartingJobSet"] == ("False", "JobSetSuspended")


class TestOrder:
    @pytest.mark.parametrize("order", ["InOrder", "AnyOrder"])
    def test_suspended_all_jobs_are_there(self, order: str) -> None:
        stage = Stage(jobset(suspend=True, startupPolicy={"startupPolicyOrder": order}))
        assert sorted(stage.jobs) == ALL
        assert running(stage) == []

    def test_in_any_order_all_are_resumed_at_once(self) -> None:
        stage = Stage(jobset(suspend=True))
        stage.edit("spec", "suspend", to=False)
        assert running(stage) == ALL

    def test_in_order_they_are_resumed_one_after_the_other(self) -> None:
        stage = Stage(jobset(suspend=True, startupPolicy=IN_ORDER))
        stage.edit("spec", "suspend", to=False)
        assert running(stage) == ["js-a-0"]
        assert stage.conditions["Suspended"][0] == "True", "until every one has had its turn"
        stage.ready("js-a-0")
        assert running(stage) == ALL
        assert stage.conditions["StartupPolicyInProgress"][0] == "True"
        stage.ready(*B)
        assert stage.conditions["StartupPolicyCompleted"] == ("True", "InOrderStartupPolicyCompleted")
        assert stage.conditions["StartupPolicyInProgress"][0] == "False"
        assert stage.conditions["Suspended"] == ("False", "ResumeJobs")

    def test_in_order_from_the_beginning(self) -> None:
        stage = Stage(jobset(startupPolicy=IN_ORDER))
        assert sorted(stage.jobs) == ["js-a-0"]
        stage.ready("js-a-0")
        assert sorted(stage.jobs) == ALL
        stage.becomes(*B, active=1)
        assert stage.conditions == {"StartupPolicyInProgress": ("True", "InOrderStartupPolicyInProgress")}
        stage.ready(*B)
        assert stage.conditions["StartupPolicyCompleted"][0] == "True"

    def test_a_restart_repeats_the_order(self) -> None:
        stage = Stage(jobset(startupPolicy=IN_ORDER, failurePolicy=failing()))
        stage.ready("js-a-0")
        stage.ready(*B)
        stage.fails("js-b-0")
        stage.collect()
        assert sorted(stage.jobs) == ["js-a-0"]
        assert stage.conditions["StartupPolicyInProgress"][0] == "True"
        assert stage.conditions["StartupPolicyCompleted"][0] == "False"
        stage.ready("js-a-0")
        assert stage.attempts == {"1": 4}

    def test_b_waits_until_a_is_ready(self) -> None:
        stage = Stage(jobset(rjob("a"), rjob("b", 3, dependsOn=waits("Ready", "a"))))
        assert sorted(stage.jobs) == ["js-a-0"]
        stage.ready("js-a-0")
        assert sorted(stage.jobs) == ALL

    def test_three_in_a_row(self) -> None:
        stage = Stage(
            jobset(rjob("a"), rjob("b", dependsOn=waits("Complete", "a")), rjob("c", 3, dependsOn=waits("Ready", "b")))
        )
        assert len(stage.jobs) == 1
        stage.succeeds("js-a-0")
        assert len(stage.jobs) == 2
        stage.ready("js-b-0")
        assert len(stage.jobs) == 5
        stage.succeeds()
        assert stage.conditions["Completed"][0] == "True"

    @pytest.mark.parametrize("reach", ["Complete", "Ready"])
    def test_one_waits_for_two(self, reach: str) -> None:
        after = [*waits(reach, "a"), *waits("Complete", "b")]
        stage = Stage(jobset(rjob("a"), rjob("b"), rjob("c", 3, dependsOn=after)))
        assert len(stage.jobs) == 2
        if reach == "Ready":
            stage.ready("js-a-0")
        else:
            stage.succeeds("js-a-0")
        assert len(stage.jobs) == 2
        stage.succeeds("js-b-0")
        assert len(stage.jobs) == 5

    def test_suspended_those_that_wait_are_not_made_before_their_time(self) -> None:
        stage = Stage(jobset(rjob("a"), rjob("b", 3, dependsOn=waits("Ready", "a")), suspend=True))
        assert sorted(stage.jobs) == ["js-a-0"]
        stage.edit("spec", "suspend", to=False)
        assert running(stage) == ["js-a-0"]
        assert stage.conditions["Suspended"] == ("False", "ResumeJobs")
        stage.ready("js-a-0")
        assert running(stage) == ALL
