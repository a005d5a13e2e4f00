"""One test for each defect of Kubeflow Trainer 2.3 that a decision can show, named after the better answer."""

from typing import Any

import pytest

from tests.conformance.world import Denied
from tests.trainjob.stories import CHILD, JOB, JOBSET, SNAPSHOT, Story, foreign_jobset, runtime, trainjob
from tests.trainjob.worlds import replicated
from trainplane.api.raw import look
from trainplane.reconcile.decision import NOTHING, Apply, Record, SetStatus
from trainplane.reconcile.view import View
from trainplane.trainjob.reconcile import PATIENCE, reconcile

NODE = {"name": "node", "image": "train:1"}


def test_a_failed_job_stays_failed_when_its_jobset_goes_by_ttl() -> None:
    story = Story(runtime(ttlSecondsAfterFinished=5), trainjob())
    story.fails()
    story.delete(JOBSET)
    story.settle()
    assert JOBSET not in story.objects, "the training does not run again"
    assert story.conditions["Failed"] == ("True", "FailedJobs")
    assert story.summary["state"] == "Failed"


def test_a_failed_job_stays_failed_when_its_jobset_recovers() -> None:
    story = Story(runtime(), trainjob())
    story.fails()
    story.edit(JOBSET, "status", to={"restarts": 0})
    story.settle()
    assert story.conditions["Failed"] == ("True", "FailedJobs")


@pytest.mark.parametrize("suspend", [False, True], ids=["running", "suspended"])
def test_a_strangers_jobset_is_reported_and_neither_adopted_nor_changed(suspend: bool) -> None:
    foreign = foreign_jobset(suspend=suspend)
    counts = {"ready": 1, "active": 1, "succeeded": 0, "failed": 0, "suspended": 0}
    foreign["status"] = {"restarts": 0, "replicatedJobsStatus": [{"name": "theirs", **counts}]}
    story = Story(runtime(), foreign, trainjob())
    before = story.jobset
    story.settle()
    assert story.jobset == before
    assert "jobsStatus" not in story.job["status"]
    state, reason, message = story.told
    assert (state, reason) == ("Created", "NameTaken")
    assert message.startswith("the JobSet job exists and is not this TrainJob's; delete it")
    assert ("TrainJob", "job", "Warning", "TrainJobResourcesCreationFailed") in story.events


def test_once_the_stranger_is_gone_the_job_goes_on() -> None:
    story = Story(runtime(), foreign_jobset(suspend=False), trainjob())
    assert story.decide().again == PATIENCE
    story.delete(JOBSET)
    story.settle()
    assert story.jobset["metadata"]["ownerReferences"][0]["uid"] == story.job["metadata"]["uid"]
    assert story.summary["reason"] != "NameTaken"


def test_a_strangers_secret_is_not_mounted_into_the_pods() -> None:
    mpi = runtime({"mpi": {}}, replicated("launcher", NODE, step="trainer"), replicated("node", NODE))
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "job-mpi-ssh-auth"}}
    story = Story(mpi, secret, trainjob())
    assert JOBSET not in story.objects
    assert "the Secret job-mpi-ssh-auth exists and is not this TrainJob's" in story.summary["message"]


def test_a_strangers_hosts_are_not_taken_over() -> None:
    mpi = runtime({"mpi": {}}, replicated("launcher", NODE, step="trainer"), replicated("node", NODE))
    hosts = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "job-mpi-hostfile"}, "data": {"mine": "yes"}}
    story = Story(mpi, hosts, trainjob())
    assert JOBSET not in story.objects
    (kept,) = [raw for raw in story.objects.values() if raw["metadata"]["name"] == "job-mpi-hostfile"]
    assert kept["data"] == {"mine": "yes"}
    assert "ownerReferences" not in kept["metadata"]
    assert "the ConfigMap job-mpi-hostfile exists and is not this TrainJob's" in story.summary["message"]


def test_the_jobset_of_an_earlier_job_of_that_name_is_waited_for() -> None:
    leaving = foreign_jobset(suspend=False)
    leaving["metadata"] = {**leaving["metadata"], "deletionTimestamp": "2026-01-02T03:04:05Z", "finalizers": ["f"]}
    story = Story(runtime(), leaving, trainjob())
    assert "is being deleted; the job goes on when that is done" in story.summary["message"]


def test_nothing_is_made_again_while_the_job_is_being_deleted() -> None:
    story = Story(runtime(), trainjob())
    story.edit(JOB, "metadata", "deletionTimestamp", to="2026-01-02T03:04:05Z")
    story.edit(JOB, "metadata", "finalizers", to=["foregroundDeletion"])
    for ref in (JOBSET, SNAPSHOT):
        del story.objects[ref]
    assert story.decide() == NOTHING


def test_an_unknown_kind_of_runtime_is_said_and_does_not_panic() -> None:
    story = Story(runtime(), trainjob())
    fresh = {**story.job, "status": {}}
    fresh["spec"] = {**fresh["spec"], "runtimeRef": {"name": "rt", "kind": "Sketch", "apiGroup": "acme.io"}}
    decision = reconcile(fresh, View.of(fresh), story.now)
    (status,) = [action.status for action in decision.actions if isinstance(action, SetStatus)]
    assert status["summary"]["reason"] == "RuntimeNotFound"
    assert "there is no Sketch named rt" in status["summary"]["message"]


def test_errors_at_the_creation_of_jobs_reach_the_trainjob() -> None:
    story = Story(runtime(), trainjob())
    story.event(story.jobset, 'Job.batch "job-node-0" is invalid: image: Required value')
    (event,) = story.actions(Record)
    assert event.regarding == JOB
    assert 'Job.batch "job-node-0" is invalid: image: Required value' in event.note
    story.settle()
    assert story.told[:2] == ("Pending", "ChildrenRefused")
    assert story.woken_by(next(raw for raw in story.objects.values() if raw["kind"] == "Event")) == {JOB}


def test_an_error_that_is_over_is_not_told_any_more() -> None:
    story = Story(runtime(), trainjob())
    story.event(story.jobset, 'jobs.batch "job-node-0" is forbidden: exceeded quota')
    story.settle()
    story.child()
    story.jobset_says(counts={"node": {"active": 1, "ready": 1}})
    assert story.told == ("Running", "AllReady", "the pod of node is ready")


def test_errors_at_the_creation_of_pods_reach_the_trainjob() -> None:
    story = Story(runtime(), trainjob())
    story.child()
    story.event(story.objects[CHILD], 'pods "x" is forbidden: violates PodSecurity', reason="FailedCreate")
    story.settle()
    assert story.told[:2] == ("Pending", "PodsRefused")
    assert "the Job job-node-0 cannot make its pods: " in story.summary["message"]
    assert story.woken_by(next(raw for raw in story.objects.values() if raw["kind"] == "Event")) == {JOB}


def test_a_job_that_lacks_some_of_its_pods_says_so_until_it_has_them() -> None:
    story = Story(runtime(), trainjob({"numNodes": 3}))
    story.child(size=3, active=2)
    story.event(story.objects[CHILD], "exceeded quota", reason="FailedCreate")
    story.jobset_says(counts={"node": {"active": 1}})
    assert story.summary["reason"] == "PodsRefused"
    story.child(size=3, active=3)
    story.settle()
    assert story.summary["reason"] == "PodsStarting"


def test_text_of_an_error_is_never_a_format() -> None:
    story = Story(runtime(), trainjob())
    story.event(story.jobset, "no such image: 100%d{0}%s\\n")
    (event,) = story.actions(Record)
    assert event.note.endswith("no such image: 100%d{0}%s\\n")


def test_a_later_error_that_differs_is_an_event_of_its_own() -> None:
    story = Story(runtime(), trainjob())
    story.event(story.jobset, "first", when="2026-01-02T03:05:00Z")
    story.settle()
    assert story.actions(Record) == [], "the same error is told once"
    story.event(story.jobset, "second", when="2026-01-02T03:06:00Z")
    (event,) = story.actions(Record)
    assert event.note.endswith("second")
    story.settle()
    assert story.summary["message"].endswith("second")


def test_a_note_fits_into_an_event() -> None:
    story = Story(runtime(), trainjob())
    story.event(story.jobset, "x" * 5000)
    (event,) = story.actions(Record)
    assert len(event.note) <= 1024


def test_a_jobset_that_is_not_seen_yet_is_no_error() -> None:
    story = Story(runtime(), trainjob())
    seen = [raw for raw in story.objects.values() if raw["kind"] != "JobSet"]
    decision = reconcile({**story.job, "status": {}}, View(seen), story.now)
    assert not [action for action in decision.actions if isinstance(action, Record)]


@pytest.mark.parametrize("spec", [{"mlPolicy": {"torch": {}}}, {"template": {"spec": {"replicatedJobs": []}}}])
def test_a_runtime_without_jobs_is_refused(spec: dict[str, Any]) -> None:
    with pytest.raises(Denied, match="the runtime has no replicated job, so a TrainJob on it would never finish"):
        Story({**runtime(), "spec": spec})


def test_an_mpi_without_a_name_is_refused() -> None:
    mpi = runtime({"mpi": {"mpiImplementation": ""}}, replicated("launcher", NODE, step="trainer"))
    with pytest.raises(Denied, match="mpiImplementation"):
        Story(mpi)


@pytest.mark.parametrize("nodes", [0, -1])
def test_a_bad_node_count_is_refused(nodes: int) -> None:
    with pytest.raises(Denied, match=r"spec\.trainer\.numNodes"):
        Story(runtime(), trainjob({"numNodes": nodes}))


def test_finalizers_that_would_keep_pods_for_ever_are_refused_at_the_patch() -> None:
    held = {"metadata": {"finalizers": ["acme.io/f"]}}
    target = {"name": "node", "template": {"spec": {"template": held}}}
    patch = {"manager": "acme.io/q", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [target]}}}}
    with pytest.raises(Denied, match=r"template\.metadata\.finalizers: pods, Jobs and JobSets with a finalizer"):
        Story(runtime(), trainjob(runtimePatches=[patch]))
    for body in (held, {"spec": {"replicatedJobs": [{"name": "node", "template": held}]}}):
        patch = {"manager": "acme.io/q", "trainingRuntimeSpec": {"template": body}}
        with pytest.raises(Denied, match="finalizers"):
            Story(runtime(), trainjob(runtimePatches=[patch]))


def test_dropping_the_only_label_of_a_template_does_not_wedge_the_job() -> None:
    labels = {"metadata": {"labels": {"queue": "a"}}}
    target = {"name": "node", "template": {"spec": {"template": labels}}}
    patch = {"manager": "acme.io/q", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [target]}}}}
    story = Story(runtime(), trainjob(suspend=True, runtimePatches=[patch]))
    pod = ("spec", "replicatedJobs", 0, "template", "spec", "template", "metadata")
    assert look(story.jobset, *pod) == {"labels": {"queue": "a"}}
    story.edit(JOB, "spec", "runtimePatches", to=[])
    story.edit(JOB, "spec", "suspend", to=False)
    (apply,) = story.actions(Apply)
    assert look(apply.object, *pod) == {}
    story.settle()
    assert story.jobset["spec"]["suspend"] is False
