"""A JobSet from its creation to its end: what the controller does when Jobs become ready, succeed and fail."""

from datetime import timedelta
from typing import Any

import pytest

from tests.jobset.worlds import KEY, NS, Denied, Stage, jobset, rjob
from trainplane.api.merge import merge_patch
from trainplane.reconcile.decision import NOTHING, Delete, SetStatus
from trainplane.reconcile.view import Ref

Raw = dict[str, Any]

ALL = ["js-a-0", "js-b-0", "js-b-1", "js-b-2"]
B = ALL[1:]
FAIL: Raw = {"action": "FailJobSet"}


def failing(*rules: Raw, most: int = 1, **fields: Any) -> Raw:
    named = [{"name": f"Rule{i}", **rule} for i, rule in enumerate(rules, 1)]
    return {"maxRestarts": most, **fields, **({"rules": named} if named else {})}


def restarts(stage: Stage) -> tuple[int, int]:
    return stage.status["restarts"], stage.status.get("restartsCountTowardsMax", 0)


class TestSuccess:
    def test_all_jobs_are_made_and_there_is_nothing_more_to_do(self) -> None:
        stage = Stage(jobset())
        assert sorted(stage.jobs) == ALL
        assert stage.decide() == NOTHING

    def test_when_all_succeed_the_jobset_is_complete(self) -> None:
        stage = Stage(jobset())
        stage.succeeds()
        assert stage.conditions == {"Completed": ("True", "AllJobsCompleted")}
        assert stage.status["terminalState"] == "Completed"
        assert stage.counts == {"a": {"succeeded": 1}, "b": {"succeeded": 3}}
        assert stage.told == [("Normal", "AllJobsCompleted")]
        assert sorted(stage.jobs) == ALL

    def test_one_that_still_runs_keeps_it_open(self) -> None:
        stage = Stage(jobset())
        stage.succeeds("js-a-0", "js-b-0", "js-b-1")
        stage.ready("js-b-2")
        assert stage.conditions == {}
        assert stage.counts == {"a": {"succeeded": 1}, "b": {"succeeded": 2, "ready": 1, "active": 1}}

    @pytest.mark.parametrize(
        ("policy", "done", "open_", "last"),
        [
            pytest.param({"operator": "All"}, ["js-a-0"], True, B, id="all: both"),
            pytest.param(
                {"operator": "All", "targetReplicatedJobs": ["b"]}, ["js-a-0", "js-b-0"], True, B[1:], id="all of b"
            ),
            pytest.param(
                {"operator": "Any", "targetReplicatedJobs": ["b"]}, ["js-a-0"], True, ["js-b-1"], id="any of b"
            ),
            pytest.param({"operator": "Any"}, [], True, ["js-b-2"], id="any"),
        ],
    )
    def test_whose_success_counts(self, policy: Raw, done: list[str], open_: bool, last: list[str]) -> None:
        stage = Stage(jobset(successPolicy=policy))
        if done:
            stage.succeeds(*done)
        assert ("Completed" not in stage.conditions) is open_
        stage.succeeds(*last)
        assert stage.conditions == {"Completed": ("True", "AllJobsCompleted")}

    def test_what_still_runs_is_deleted_after_success_and_the_rest_is_kept(self) -> None:
        stage = Stage(jobset(successPolicy={"operator": "Any"}))
        stage.succeeds("js-b-1")
        stage.collect()
        assert sorted(stage.jobs) == ["js-b-1"]
        assert stage.decide() == NOTHING

    def test_what_still_runs_is_deleted_after_failure(self) -> None:
        stage = Stage(jobset())
        stage.fails("js-b-1")
        stage.collect()
        assert sorted(stage.jobs) == ["js-b-1"]
        assert stage.conditions == {"Failed": ("True", "FailedJobs")}
        assert stage.told == [("Warning", "FailedJobs")]

    def test_jobs_of_a_namesake_of_another_uid_are_none_of_its_business(self) -> None:
        owner = {
            "apiVersion": "jobset.x-k8s.io/v1alpha2",
            "kind": "JobSet",
            "name": "js",
            "uid": "old",
            "controller": True,
        }
        stranger = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "js-x-0", "namespace": NS, "uid": "x", "ownerReferences": [owner], "labels": {}},
            "spec": {},
            "status": {"conditions": [{"type": "Failed", "status": "True"}]},
        }
        stage = Stage(jobset(), stranger)
        stage.succeeds(*ALL)
        assert stage.conditions == {"Completed": ("True", "AllJobsCompleted")}

    def test_failure_goes_before_success(self) -> None:
        stage = Stage(jobset(successPolicy={"operator": "Any"}))
        stage.edit_job("js-a-0", {"status": {"conditions": [{"type": "Complete", "status": "True"}]}})
        stage.fails("js-b-0")
        assert stage.conditions == {"Failed": ("True", "FailedJobs")}


class TestService:
    def test_there_is_one_and_it_is_made_again_when_it_is_deleted(self) -> None:
        stage = Stage(jobset())
        service = Ref("", "Service", NS, "js")
        assert [ref for ref in stage.objects if ref.kind == "Service"] == [service]
        del stage.objects[service]
        stage.settle()
        assert service in stage.objects

    def test_a_suspended_jobset_has_one_too(self) -> None:
        assert Ref("", "Service", NS, "js") in Stage(jobset(suspend=True)).objects


class TestFailurePolicy:
    def test_all_jobs_are_made_anew_once_and_the_second_failure_is_the_end(self) -> None:
        stage = Stage(jobset(failurePolicy=failing()))
        stage.fails("js-a-0")
        assert all(raw["metadata"]["deletionTimestamp"] for raw in stage.jobs.values())
        assert stage.counts == {"a": {}, "b": {}}, "Jobs of the last run count no more"
        stage.collect()
        assert stage.attempts == {"1": 4}
        assert restarts(stage) == (1, 1)
        stage.fails("js-b-2")
        assert stage.conditions["Failed"] == ("True", "ReachedMaxRestarts")
        assert restarts(stage) == (1, 1)

    @pytest.mark.parametrize(
        ("rule", "counted"),
        [
            pytest.param({}, None, id="any reason"),
            pytest.param({"onJobFailureReasons": ["BackoffLimitExceeded"]}, (1, 1), id="another reason"),
            pytest.param({"onJobFailureMessagePatterns": ["some message"]}, (1, 1), id="another message"),
            pytest.param(
                {"onJobFailureReasons": ["PodFailurePolicy"], "onJobFailureMessagePatterns": ["some message"]},
                (1, 1),
                id="the reason without the message",
            ),
            pytest.param(
                {"onJobFailureReasons": ["PodFailurePolicy"], "onJobFailureMessagePatterns": ["^the container broke$"]},
                None,
                id="reason and message",
            ),
            pytest.param({"onJobFailureMessagePatterns": ["container"]}, None, id="a part of the message"),
            pytest.param({"targetReplicatedJobs": ["a"]}, None, id="the replicated job that failed"),
            pytest.param({"targetReplicatedJobs": ["b"]}, (1, 1), id="another replicated job"),
        ],
    )
    def test_a_rule_that_fails_the_jobset(self, rule: Raw, counted: tuple[int, int] | None) -> None:
        stage = Stage(jobset(failurePolicy=failing({**FAIL, **rule})))
        stage.fails("js-a-0", reason="PodFailurePolicy", message="the container broke")
        if counted is None:
            assert stage.conditions == {"Failed": ("True", "FailJobSetFailurePolicyAction")}
            assert restarts(stage) == (0, 0)
        else:
            assert "Failed" not in stage.conditions
            assert restarts(stage) == counted

    @pytest.mark.parametrize("gate", [False, True])
    def test_a_rule_that_restarts_all(self, gate: bool) -> None:
        stage = Stage(jobset(failurePolicy=failing({"action": "RestartJobSet"})), restart_job=gate)
        stage.fails("js-a-0")
        assert restarts(stage) == (1, 1)
        assert all("jobRestarts" not in one for one in stage.counts.values())

    def test_a_restart_is_over_when_all_jobs_are_ready(self) -> None:
        stage = Stage(jobset(failurePolicy=failing({"action": "RestartJobSet"})))
        stage.fails("js-a-0")
        assert stage.conditions == {"RestartingJobSet": ("True", "FailurePolicy_Rule1")}
        stage.collect()
        stage.ready(*B)
        assert stage.conditions == {"RestartingJobSet": ("True", "FailurePolicy_Rule1")}
        stage.ready("js-a-0")
        assert stage.conditions == {"RestartingJobSet": ("False", "JobsReady")}

    def test_one_job_is_restarted_alone(self) -> None:
        stage = Stage(jobset(failurePolicy=failing({"action": "RestartJob"})), restart_job=True)
        stage.ready()
        stage.fails("js-a-0")
        assert restarts(stage) == (0, 0)
        assert stage.counts["a"] == {"jobRestarts": [1], "jobRestartsCountTowardsMax": [1]}
        assert [name for name, raw in stage.jobs.items() if raw["metadata"].get("deletionTimestamp")] == ["js-a-0"]
        stage.collect()
        assert stage.jobs["js-a-0"]["metadata"]["labels"][KEY + "job-restart-attempt"] == "1"
        assert stage.counts["b"] == {"ready": 3, "active": 3}, "the others never noticed"
        stage.succeeds()
        assert stage.conditions == {"Completed": ("True", "AllJobsCompleted")}

    def test_jobs_that_fail_together_are_restarted_one_by_one(self) -> None:
        stage = Stage(jobset(failurePolicy=failing({"action": "RestartJob"}, most=5)), restart_job=True)
        stage.fails("js-b-0", "js-b-2")
        assert stage.counts["b"]["jobRestarts"] == [1, 0, 1]

    def test_one_job_is_restarted_alone_without_counting(self) -> None:
        policy = failing({"action": "RestartJobAndIgnoreMaxRestarts"}, most=0)
        stage = Stage(jobset(failurePolicy=policy), restart_job=True)
        stage.fails("js-a-0")
        assert stage.counts["a"] == {"jobRestarts": [1]}

    def test_an_old_look_can_grant_no_second_restart(self) -> None:
        stage = Stage(jobset(failurePolicy=failing(most=5)))
        stage.edit_job("js-a-0", {"status": {"conditions": [{"type": "Failed", "status": "True"}]}})
        stage.objects[stage.ref]["metadata"]["resourceVersion"] = "7"
        (written,) = [one for one in stage.decide().actions if isinstance(one, SetStatus)]
        assert written.status["restarts"] == 1
        assert written.version == "7", "written only over the version it was made from"

    def test_restarts_that_do_not_count(self) -> None:
        stage = Stage(jobset(failurePolicy=failing({"action": "RestartJobSetAndIgnoreMaxRestarts"})))
        for run in (1, 2, 3):
            stage.fails("js-a-0")
            assert restarts(stage) == (run, 0)
            stage.collect()

    @pytest.mark.parametrize(
        ("first", "second", "counted"),
        [("FailJobSet", "RestartJobSet", (0, 0)), ("RestartJobSet", "FailJobSet", (1, 1))],
    )
    def test_the_first_rule_decides(self, first: str, second: str, counted: tuple[int, int]) -> None:
        stage = Stage(jobset(failurePolicy=failing({"action": first}, {"action": second})))
        stage.fails("js-a-0")
        assert restarts(stage) == counted

    def test_a_rule_for_one_and_a_rule_for_all(self) -> None:
        of_a = {"action": "RestartJobSetAndIgnoreMaxRestarts", "targetReplicatedJobs": ["a"]}
        stage = Stage(jobset(failurePolicy=failing(of_a, FAIL)))
        for _ in range(3):
            stage.fails("js-a-0")
            stage.collect()
        assert restarts(stage) == (3, 0)
        stage.fails("js-b-0")
        assert stage.conditions["Failed"] == ("True", "FailJobSetFailurePolicyAction")

    def test_success_after_a_restart(self) -> None:
        stage = Stage(jobset(failurePolicy=failing()))
        stage.fails("js-b-0")
        stage.collect()
        stage.succeeds()
        assert stage.conditions["Completed"] == ("True", "AllJobsCompleted")
        assert stage.conditions["RestartingJobSet"][0] == "False"
        assert stage.told == [
            ("Warning", "DefaultFailurePolicy"),
            ("Warning", "RestartJobSetFailurePolicyAction"),
            ("Normal", "JobsReady"),
            ("Normal", "AllJobsCompleted"),
            ("Normal", "JobSetCompleted"),
        ]


class TestRestartStrategy:
    def test_recreate_makes_each_job_as_soon_as_its_old_one_is_gone(self) -> None:
        stage = Stage(jobset(failurePolicy=failing(restartStrategy="Recreate")))
        stage.fails("js-a-0")
        stage.collect(*B)
        assert stage.attempts == {"0": 1, "1": 3}
        stage.collect()
        assert stage.attempts == {"1": 4}

    def test_blocking_recreate_waits_until_the_last_is_gone(self) -> None:
        stage = Stage(jobset(failurePolicy=failing(restartStrategy="BlockingRecreate")))
        stage.fails("js-a-0")
        stage.collect(*B)
        assert stage.attempts == {"0": 1}
        stage.collect()
        assert stage.attempts == {"1": 4}


class TestEnds:
    @pytest.mark.parametrize("suspend", [False, True])
    def test_a_jobset_of_another_controller_is_left_alone(self, suspend: bool) -> None:
        stage = Stage(jobset(managedBy="kueue.x-k8s.io/multikueue", suspend=suspend))
        assert stage.jobs == {}
        assert "status" not in stage.jobset

    def test_named_as_its_own_controller_it_is_not(self) -> None:
        assert sorted(Stage(jobset(managedBy="jobset.sigs.k8s.io/jobset-controller")).jobs) == ALL

    def test_one_that_goes_is_left_to_go(self) -> None:
        stage = Stage(jobset())
        stage.objects[stage.ref]["metadata"]["deletionTimestamp"] = stage.stamp()
        del stage.objects[Ref("batch", "Job", NS, "js-a-0")]
        assert stage.decide() == NOTHING

    def test_it_goes_some_time_after_its_end(self) -> None:
        stage = Stage(jobset(ttlSecondsAfterFinished=30))
        stage.fails("js-a-0")
        stage.collect()
        assert stage.decide().again == timedelta(seconds=30)
        stage.now += timedelta(seconds=29)
        assert stage.decide().again == timedelta(seconds=1)
        stage.now += timedelta(seconds=1)
        assert [(type(one), one.ref) for one in stage.decide().actions] == [(Delete, stage.ref)]

    def test_without_a_limit_it_stays(self) -> None:
        stage = Stage(jobset())
        stage.succeeds()
        assert stage.decide() == NOTHING

    def test_claims_are_made_for_a_suspended_jobset_too(self) -> None:
        pod = {"containers": [{"name": "c", "image": "i", "volumeMounts": [{"name": "data", "mountPath": "/d"}]}]}
        claims = [{"templates": [{"metadata": {"name": "data"}, "spec": {}}]}]
        stage = Stage(jobset(rjob("a", pod=pod), volumeClaimPolicies=claims, suspend=True))
        assert Ref("", "PersistentVolumeClaim", NS, "data-js") in stage.objects

    def test_a_running_job_takes_the_size_of_its_template(self) -> None:
        sized = rjob("a", job={"parallelism": 2, "completions": 2})
        stage = Stage(jobset(sized), elastic_jobset=True)
        larger = merge_patch(sized, {"template": {"spec": {"parallelism": 4, "completions": 4}}})
        stage.edit("spec", "replicatedJobs", to=[larger])
        spec = stage.jobs["js-a-0"]["spec"]
        assert (spec["parallelism"], spec["completions"]) == (4, 4)

    def test_without_the_gate_the_size_is_fixed(self) -> None:
        stage = Stage(jobset(rjob("a", job={"parallelism": 2, "completions": 2})))
        with pytest.raises(Denied, match="parallelism of a cannot change"):
            stage.edit("spec", "replicatedJobs", 0, "template", "spec", "parallelism", to=4)
