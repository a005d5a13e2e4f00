"""Where implementers of JobSet have stumbled: one test for each trap that is the JobSet controller's own."""

import hashlib
from typing import Any

import pytest

from tests.jobset.worlds import KEY, NS, Denied, Stage, admitted, jobset, rjob
from trainplane.api.raw import look
from trainplane.reconcile.decision import NOTHING
from trainplane.reconcile.view import Ref

Raw = dict[str, Any]

ALPHA = "alpha.jobset.sigs.k8s.io/"
WAITS: Raw = {"dependsOn": [{"name": "a", "status": "Ready"}]}


def failing(*actions: str, most: int = 3) -> Raw:
    return {"maxRestarts": most, "rules": [{"name": f"R{i}", "action": action} for i, action in enumerate(actions)]}


def test_1_containers_start_again_unless_told_otherwise() -> None:
    pod = ("spec", "replicatedJobs", 0, "template", "spec", "template", "spec", "restartPolicy")
    assert look(admitted(jobset()), *pod) == "OnFailure"


def test_2_pods_are_counted_but_completions_must_be_said() -> None:
    with pytest.raises(Denied, match="parallelism is given without completions; add completions: 4"):
        admitted(jobset(rjob("a", job={"parallelism": 4})))


def test_3_a_restart_waits_until_the_job_has_failed_with_all_its_pods() -> None:
    stage = Stage(jobset(failurePolicy=failing()))
    stage.becomes(
        "js-a-0", conditions=[{"type": "FailureTarget", "status": "True", "lastTransitionTime": stage.stamp()}]
    )
    assert stage.status["restarts"] == 0
    stage.fails("js-a-0")
    assert stage.status["restarts"] == 1
    assert stage.attempts == {"0": 4}, "and then until the old Jobs are gone"


def test_4_jobs_are_known_by_their_owner_and_made_by_their_name() -> None:
    stage = Stage(jobset(failurePolicy=failing()))
    stage.fails("js-b-1")
    stage.collect("js-b-1")
    assert stage.attempts == {"0": 3, "1": 1}


def test_5_a_job_that_is_gone_is_made_again_even_if_it_had_succeeded() -> None:
    stage = Stage(jobset())
    stage.succeeds("js-a-0")
    del stage.objects[Ref("batch", "Job", NS, "js-a-0")]
    stage.settle()
    assert "status" not in stage.jobs["js-a-0"]
    assert stage.jobs["js-a-0"]["metadata"]["labels"][KEY + "restart-attempt"] == "0"


def test_6_any_is_content_with_a_first_stage() -> None:
    after = {"dependsOn": [{"name": "a", "status": "Complete"}]}
    stage = Stage(jobset(rjob("a"), rjob("b", **after), successPolicy={"operator": "Any"}))
    stage.succeeds("js-a-0")
    assert stage.conditions == {"Completed": ("True", "AllJobsCompleted")}
    assert sorted(stage.jobs) == ["js-a-0"]
    named = {"operator": "Any", "targetReplicatedJobs": ["b"]}
    stage = Stage(jobset(rjob("a"), rjob("b", **after), successPolicy=named))
    stage.succeeds("js-a-0")
    assert stage.conditions == {}


def test_7_in_order_it_counts_as_suspended_until_all_have_started_and_who_waits_is_not_there() -> None:
    stage = Stage(jobset(suspend=True, startupPolicy={"startupPolicyOrder": "InOrder"}))
    stage.edit("spec", "suspend", to=False)
    stage.ready("js-a-0")
    assert stage.conditions["Suspended"][0] == "True"
    stage = Stage(jobset(rjob("a"), rjob("b", **WAITS), suspend=True))
    assert sorted(stage.jobs) == ["js-a-0"]


def test_8_a_jobset_of_no_jobs_never_completes() -> None:
    stage = Stage(jobset(rjob("a", 0)))
    assert stage.conditions == {}
    assert stage.decide() == NOTHING
    stage = Stage(jobset(rjob("a", 0), failurePolicy=failing()))
    assert "RestartingJobSet" not in stage.conditions


def test_9_keys_are_sha1_and_nodes_are_named_with_an_underscore() -> None:
    reserved = {ALPHA + "exclusive-topology": "rack", ALPHA + "node-selector": "true"}
    made = Stage(jobset(rjob("a"), annotations=reserved)).jobs["js-a-0"]
    assert made["metadata"]["labels"][KEY + "job-key"] == hashlib.sha1(b"ns/js-a-0").hexdigest()
    assert made["spec"]["template"]["spec"]["nodeSelector"] == {ALPHA + "namespaced-job": "ns_js-a-0"}


def test_10_counts_are_stored_last_name_first() -> None:
    stage = Stage(jobset(rjob("m"), rjob("z"), rjob("a")))
    assert [one["name"] for one in stage.status["replicatedJobsStatus"]] == ["z", "m", "a"]


def test_11_jobs_of_the_last_run_count_no_more() -> None:
    stage = Stage(jobset(failurePolicy=failing()))
    stage.ready()
    stage.fails("js-a-0")
    assert stage.counts == {"a": {}, "b": {}}


def test_12_a_job_from_before_the_gate_was_opened_is_current() -> None:
    stage = Stage(jobset(rjob("a", 2), failurePolicy=failing("RestartJob")), restart_job=True)
    for name in stage.jobs:
        stage.edit_job(name, {"metadata": {"labels": {KEY + "job-restart-attempt": None}}})
    stage.settle()
    stage.ready()
    assert stage.counts["a"] == {"ready": 2, "active": 2}


def test_13_restarts_of_one_and_of_all_have_one_limit() -> None:
    one = {"name": "One", "action": "RestartJob", "targetReplicatedJobs": ["a"]}
    stage = Stage(jobset(failurePolicy={"maxRestarts": 2, "rules": [one]}), restart_job=True)
    stage.fails("js-a-0")
    stage.collect()
    stage.fails("js-b-0")
    stage.collect()
    assert stage.status["restartsCountTowardsMax"] == 1
    stage.fails("js-a-0")
    assert stage.conditions["Failed"] == ("True", "ReachedMaxRestarts")


def test_14_one_that_was_never_suspended_does_not_say_that_it_is_not() -> None:
    stage = Stage(jobset())
    stage.ready()
    assert stage.conditions == {}


def test_15_who_waits_for_itself_is_refused_instead_of_hanging() -> None:
    with pytest.raises(Denied, match="the job waits for itself"):
        admitted(jobset(rjob("a"), rjob("b", dependsOn=[{"name": "b", "status": "Ready"}])))


def test_16_a_service_of_that_name_is_used_as_it_is() -> None:
    other = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "shared", "namespace": NS, "uid": "s"},
        "spec": {"selector": {KEY + "jobset-name": "first"}},
    }
    stage = Stage(jobset(network={"subdomain": "shared"}), other)
    assert stage.objects[Ref.of(other)] == other
    assert stage.jobs["js-a-0"]["spec"]["template"]["spec"]["subdomain"] == "shared"


def test_17_another_coordinator_is_told_only_to_new_jobs() -> None:
    sized = {"parallelism": 1, "completions": 1}
    coordinator = {"replicatedJob": "a", "jobIndex": 0, "podIndex": 0}
    stage = Stage(jobset(rjob("a", 2, job=sized), coordinator=coordinator))
    stage.edit("spec", "coordinator", "jobIndex", to=1)
    stage.edit("spec", "ttlSecondsAfterFinished", to=60)
    del stage.objects[Ref("batch", "Job", NS, "js-a-0")]
    stage.settle()
    told = {name: raw["metadata"]["labels"][KEY + "coordinator"] for name, raw in stage.jobs.items()}
    assert told == {"js-a-0": "js-a-1-0.js", "js-a-1": "js-a-0-0.js"}


def test_18_a_resume_adds_and_takes_nothing_away() -> None:
    pod = {"containers": [{"name": "c", "image": "i"}], "nodeSelector": {"old": "1"}}
    stage = Stage(jobset(rjob("a", pod=pod), suspend=True))
    stage.edit("spec", "replicatedJobs", 0, "template", "spec", "template", "spec", "nodeSelector", to={"new": "2"})
    stage.edit("spec", "suspend", to=False)
    assert stage.jobs["js-a-0"]["spec"]["template"]["spec"]["nodeSelector"] == {"old": "1", "new": "2"}


def test_22_there_is_no_waiting_between_restarts() -> None:
    stage = Stage(jobset(failurePolicy=failing()))
    stage.fails("js-a-0")
    assert stage.decide().again is None
    stage.collect()
    assert stage.attempts == {"1": 4}
