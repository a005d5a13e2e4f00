"""What the TrainJob controller decides: its children, its ends, and who wakes it."""

from datetime import timedelta
from typing import Any

import pytest

from tests.trainjob.stories import CHILD, JOB, JOBSET, SNAPSHOT, Story, foreign_jobset, runtime, trainjob
from tests.trainjob.worlds import replicated
from trainplane.reconcile.decision import NOTHING, Create, Delete, SetStatus
from trainplane.reconcile.view import Ref, View
from trainplane.trainjob.plans import Plans
from trainplane.trainjob.reconcile import PATIENCE, TRAINJOB, reconcile

NODE = {"name": "node", "image": "train:1"}


def test_a_new_job_gets_its_snapshot_first_and_then_its_jobset() -> None:
    story = Story(runtime(), trainjob())
    fresh = {key: value for key, value in story.job.items() if key != "status"}
    objects = (fresh, story.objects[Ref("trainer.kubeflow.org", "TrainingRuntime", "ns", "rt")])
    decision = reconcile(fresh, View(objects), story.now)
    made = [action.object for action in decision.actions if isinstance(action, Create)]
    assert [Ref.of(raw) for raw in made] == [SNAPSHOT, JOBSET]
    for raw in made:
        (owner,) = raw["metadata"]["ownerReferences"]
        assert (owner["uid"], owner["controller"]) == (story.job["metadata"]["uid"], True)


def test_a_job_at_rest_needs_nothing() -> None:
    story = Story(runtime(), trainjob())
    assert story.decide() == NOTHING


def test_what_is_remembered_of_a_job_hides_no_change() -> None:
    story, plans = Story(runtime(), trainjob()), Plans()
    story.job["metadata"]["generation"] = 1

    def actions(job: dict[str, Any], *objects: dict[str, Any]) -> list[str]:
        decision = reconcile(job, View((job, *objects)), story.now, plans=plans)
        return [type(action).__name__ for action in decision.actions if not isinstance(action, SetStatus)]

    kept, there = story.objects[SNAPSHOT], story.objects[JOBSET]
    stranger = {**there, "metadata": {**there["metadata"], "ownerReferences": []}}
    spec = {**story.job["spec"], "suspend": True}
    suspended = {**story.job, "metadata": {**story.job["metadata"], "generation": 2}, "spec": spec}
    for _ in range(2):
        assert actions(story.job, kept, there) == []
    assert actions(story.job, kept) == ["Create"]
    assert actions(story.job, kept, stranger) == ["Record"], "it is said that the name is taken"
    assert actions(suspended, kept, there) == ["Apply"]


def test_a_job_of_another_controller_is_left_alone() -> None:
    story = Story(runtime(), trainjob(managedBy="kueue.x-k8s.io/multikueue"))
    assert JOBSET not in story.objects
    assert "status" not in story.job
    assert story.decide() == NOTHING


class TestRuntime:
    def test_the_snapshot_makes_the_job_immune_to_edits_of_its_runtime(self) -> None:
        story = Story(runtime(), trainjob(suspend=True))
        before = story.jobset
        live = Ref("trainer.kubeflow.org", "TrainingRuntime", "ns", "rt")
        container = (
            "spec",
            "template",
            "spec",
            "replicatedJobs",
            0,
            "template",
            "spec",
            "template",
            "spec",
            "containers",
            0,
        )
        story.edit(live, *container, "image", to="other:2")
        story.settle()
        assert story.jobset == before
        del story.objects[live]
        assert story.decide() == NOTHING

    def test_a_missing_runtime_is_named_and_looked_for_again(self) -> None:
        story = Story(runtime(), trainjob())
        for ref in (JOBSET, SNAPSHOT, Ref("trainer.kubeflow.org", "TrainingRuntime", "ns", "rt")):
            del story.objects[ref]
        assert story.decide().again == PATIENCE
        story.settle()
        assert story.told[:2] == ("Created", "RuntimeNotFound")
        assert story.summary["message"] == (
            "there is no TrainingRuntime named rt in the namespace ns; create it, or correct spec.runtimeRef"
        )
        story.create({**runtime(), "kind": "ClusterTrainingRuntime"})
        story.settle()
        assert "set spec.runtimeRef.kind to ClusterTrainingRuntime" in story.summary["message"]

    def test_a_runtime_that_appears_is_used(self) -> None:
        story = Story(runtime(), trainjob())
        for ref in (JOBSET, SNAPSHOT, Ref("trainer.kubeflow.org", "TrainingRuntime", "ns", "rt")):
            del story.objects[ref]
        story.settle()
        story.create(runtime())
        story.settle()
        assert JOBSET in story.objects
        assert story.told[:2] == ("Pending", "NoPodsYet")

    def test_a_spoilt_snapshot_stops_a_job_that_has_no_jobset_and_says_how_to_go_on(self) -> None:
        story = Story(runtime(), trainjob())
        story.edit(SNAPSHOT, "data", "runtime", to="{")
        del story.objects[JOBSET]
        story.settle()
        assert JOBSET not in story.objects
        assert story.told[:2] == ("Created", "SnapshotUnusable")
        assert "delete it to take a new snapshot" in story.summary["message"]
        story.delete(SNAPSHOT)
        story.settle()
        assert JOBSET in story.objects

    def test_a_spoilt_snapshot_does_not_make_a_running_job_look_stopped(self) -> None:
        story = Story(runtime(), trainjob())
        story.jobset_says(counts={"node": {"active": 1, "ready": 1}})
        story.edit(SNAPSHOT, "data", to={})
        story.settle()
        assert story.told[:2] == ("Running", "SnapshotUnusable")


class TestSuspension:
    def test_a_suspended_job_has_a_suspended_jobset_and_says_so(self) -> None:
        story = Story(runtime(), trainjob(suspend=True))
        assert story.jobset["spec"]["suspend"] is True
        assert story.conditions == {"Suspended": ("True", "Suspended")}
        assert story.decide().actions == ()

    def test_a_resumed_job_says_so_and_goes_on(self) -> None:
        story = Story(runtime(), trainjob(suspend=True))
        story.edit(JOB, "spec", "suspend", to=False)
        story.settle()
        assert story.jobset["spec"]["suspend"] is False
        assert story.conditions == {"Suspended": ("False", "Resumed")}

    def test_a_job_that_was_never_suspended_has_no_condition_while_it_runs(self) -> None:
        """The kubeflow SDK reads Running from the pods only while there is no condition at all."""
        story = Story(runtime(), trainjob())
        story.jobset_says(counts={"node": {"active": 1, "ready": 1}})
        assert story.summary["state"] == "Running"
        assert "conditions" not in story.job["status"]

    def test_the_jobset_of_a_running_job_is_not_touched(self) -> None:
        story = Story(runtime(), trainjob())
        story.edit(JOBSET, "metadata", "labels", to={"added": "by hand"})
        story.edit(JOBSET, "spec", "replicatedJobs", 0, "template", "metadata", to={})
        assert story.decide().actions == ()


class TestDeadline:
    def test_time_left_is_when_to_look_again(self) -> None:
        story = Story(runtime(), trainjob(activeDeadlineSeconds=60))
        created = story.now - timedelta(seconds=2.5)
        assert story.decide().again == timedelta(seconds=60) - (story.now - created)

    def test_a_job_past_its_deadline_fails_and_its_jobset_goes(self) -> None:
        story = Story(runtime(), trainjob(activeDeadlineSeconds=60))
        story.wait(60)
        assert story.conditions["Failed"] == ("True", "DeadlineExceeded")
        assert JOBSET not in story.objects
        assert story.told == (
            "Failed",
            "DeadlineExceeded",
            "the job failed: it was active for more than 60 s, which is its spec.activeDeadlineSeconds",
        )
        assert story.decide() == NOTHING

    def test_a_jobset_that_could_not_be_deleted_is_deleted_later(self) -> None:
        story = Story(runtime(), trainjob(activeDeadlineSeconds=60))
        jobset = story.jobset
        story.wait(60)
        story.keep(jobset)
        assert [action.ref for action in story.actions(Delete)] == [JOBSET]

    def test_a_jobset_that_is_going_is_not_deleted_again(self) -> None:
        story = Story(runtime(), trainjob(activeDeadlineSeconds=60))
        jobset = story.jobset
        story.wait(60)
        story.keep({**jobset, "metadata": {**jobset["metadata"], "deletionTimestamp": "x", "finalizers": ["f"]}})
        assert story.decide() == NOTHING

    def test_nothing_is_made_for_a_job_that_is_past_its_deadline_when_first_seen(self) -> None:
        story = Story(runtime(), trainjob(activeDeadlineSeconds=60))
        fresh = {key: value for key, value in story.job.items() if key != "status"}
        rt = story.objects[Ref("trainer.kubeflow.org", "TrainingRuntime", "ns", "rt")]
        decision = reconcile(fresh, View.of(fresh, rt), story.now + timedelta(hours=1))
        assert [type(action) for action in decision.actions] == [SetStatus]

    def test_a_suspended_job_is_off_the_clock_and_a_resume_starts_it_anew(self) -> None:
        story = Story(runtime(), trainjob(activeDeadlineSeconds=60, suspend=True))
        story.wait(600)
        assert "Failed" not in story.conditions
        story.edit(JOB, "spec", "suspend", to=False)
        story.settle()
        resumed = story.now.replace(microsecond=0)
        assert story.decide().again == timedelta(seconds=60) - (story.now - resumed)

    def test_a_complete_job_has_no_deadline(self) -> None:
        story = Story(runtime(), trainjob(activeDeadlineSeconds=60))
        story.completes()
        story.wait(600)
        assert story.conditions == {"Complete": ("True", "AllJobsCompleted")}


class TestTimeToLive:
    def test_a_finished_job_is_kept_and_then_deleted_to_the_second(self) -> None:
        story = Story(runtime(), trainjob(ttlSecondsAfterFinished=30))
        story.completes()
        again = story.decide().again
        assert again is not None
        assert timedelta(seconds=26) <= again <= timedelta(seconds=30)
        assert story.actions(Delete) == []
        story.now += again
        assert [action.ref for action in story.actions(Delete)] == [JOB]

    def test_the_end_is_told_before_the_job_is_deleted(self) -> None:
        story = Story(runtime(), trainjob(ttlSecondsAfterFinished=0))
        condition = {"type": "Completed", "status": "True", "reason": "R", "lastTransitionTime": "2026-01-02T03:04:05Z"}
        story.edit(JOBSET, "status", to={"conditions": [condition]})
        assert [type(action) for action in story.decide().actions] == [SetStatus, Delete]

    def test_an_unfinished_job_is_kept(self) -> None:
        story = Story(runtime(), trainjob(ttlSecondsAfterFinished=0))
        story.wait(10_000)
        assert JOB in story.objects

    def test_without_a_time_to_live_it_is_kept_for_ever(self) -> None:
        story = Story(runtime(), trainjob())
        story.completes()
        assert story.decide() == NOTHING


def test_a_finished_job_is_not_made_again() -> None:
    story = Story(runtime(), trainjob())
    story.completes()
    story.delete(JOBSET)
    story.settle()
    assert JOBSET not in story.objects
    assert story.summary["state"] == "Complete"


def test_a_stranger_in_place_of_a_finished_jobs_jobset_is_nobodys_concern() -> None:
    story = Story(runtime(), trainjob())
    story.completes()
    story.delete(JOBSET)
    story.create(foreign_jobset(suspend=False))
    assert story.decide() == NOTHING


def test_a_jobset_deleted_under_an_unfinished_job_is_made_again() -> None:
    story = Story(runtime(), trainjob())
    story.delete(JOBSET)
    assert [Ref.of(action.object) for action in story.actions(Create)] == [JOBSET]


@pytest.mark.parametrize("known", range(4))
def test_a_stale_view_never_doubles_a_child(known: int) -> None:
    """Whatever part of its own work a controller has not seen yet, it asks for the same names again."""
    gangs = {**runtime({"mpi": {}}, replicated("launcher", NODE, step="trainer"), replicated("node", NODE))}
    gangs["spec"]["podGroupPolicy"] = {"coscheduling": {}}
    story = Story(gangs, trainjob())
    made = [ref for ref, raw in story.objects.items() if raw["metadata"].get("ownerReferences")]
    seen = [raw for ref, raw in story.objects.items() if ref not in made or ref in made[:known]]
    again = [Ref.of(a.object) for a in reconcile(story.job, View(seen), story.now).actions if isinstance(a, Create)]
    assert again
    assert set(again) <= set(made)
    assert len(again) == len(set(again))


def test_keys_are_made_where_dice_are_allowed() -> None:
    mpi = runtime({"mpi": {}}, replicated("launcher", NODE, step="trainer"), replicated("node", NODE))
    story = Story(mpi, trainjob())
    objects = [raw for raw in story.objects.values() if raw["kind"] != "Secret"]
    (secret,) = [a for a in reconcile(story.job, View(objects), story.now).actions if isinstance(a, Create)]
    assert secret.generate == ("ssh-keys",)
    assert not secret.object.get("data")


def test_pods_and_jobs_wake_the_job_they_belong_to() -> None:
    story = Story(runtime(), trainjob())
    story.child()
    assert story.woken_by(story.objects[CHILD]) == {JOB}
    stray = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "ns"}}
    assert story.woken_by(stray) == set()
    elsewhere = {
        **stray,
        "metadata": {"name": "p", "namespace": "x", "labels": {"jobset.sigs.k8s.io/jobset-name": "job"}},
    }
    assert story.woken_by(elsewhere) == set()


def test_the_controller_is_a_row_that_can_be_read() -> None:
    assert (TRAINJOB.name, TRAINJOB.group, TRAINJOB.kind) == ("trainjob", "trainer.kubeflow.org", "TrainJob")
    assert ("jobset.x-k8s.io", "JobSet") in TRAINJOB.owns
