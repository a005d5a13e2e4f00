"""What the controller does about a Job, case by case, where no story tells it."""

from datetime import timedelta
from typing import Any

import pytest

from tests.job.lawful import unlawful
from tests.job.stories import STORIES, read
from tests.job.world import NAMESPACE, World
from trainplane.api.conditions import condition
from trainplane.job import orphans
from trainplane.job.reconcile import JOB, reconcile
from trainplane.job.status import finished
from trainplane.job.tally import phase
from trainplane.reconcile.decision import NOTHING, Create, Delete, Patch, SetStatus
from trainplane.reconcile.view import Ref, View

Raw = dict[str, Any]
CONTAINERS = [{"name": "main", "image": "train:1"}]


def started(restart: str = "Never", **spec: Any) -> World:
    """A world in which a Job has made its pods."""
    world = World()
    template = {"spec": {"restartPolicy": restart, "containers": CONTAINERS}}
    world.create(
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "job"}, "spec": {"template": template, **spec}}
    )
    world.settle(1)
    return world


def status(world: World) -> Raw:
    """What the Job says."""
    return dict(world.objects[world.job]["status"])


def moved(world: World, **step: Any) -> World:
    """The world after its pods were put into a phase."""
    world.step({"do": "pods", **step})
    world.settle(1)
    return world


def test_an_indexed_job_of_two_pods_takes_six_writes() -> None:
    world = moved(started(completionMode="Indexed", completions=2, parallelism=2), phase="Succeeded")
    assert sorted(world.writes) == ["Create", "Create", "Patch", "Patch", "SetStatus", "SetStatus"]
    assert finished(status(world)) == "Complete"


@pytest.mark.parametrize(
    ("limit", "restarts", "end"),
    [
        pytest.param(6, 5, "", id="five restarts of six"),
        pytest.param(6, 6, "Failed", id="the sixth restart is the end"),
        pytest.param(0, 0, "", id="none allowed, none happened"),
        pytest.param(0, 1, "Failed", id="none allowed, one happened"),
        pytest.param(1, 1, "Failed", id="one allowed, one happened"),
    ],
)
def test_trap_1_containers_that_restart_in_place_use_up_the_limit(limit: int, restarts: int, end: str) -> None:
    world = moved(started("OnFailure", backoffLimit=limit), phase="Running", restarts=restarts)
    world.settle(2)
    assert finished(status(world)) == end


def test_trap_1_restarts_do_not_count_where_pods_never_restart() -> None:
    assert finished(status(moved(started(backoffLimit=0), phase="Running", restarts=3))) == ""


def test_trap_3_failed_is_said_when_the_last_pod_has_ended() -> None:
    world = World()
    template = {"spec": {"restartPolicy": "Never", "containers": CONTAINERS, "nodeName": "n"}}
    spec = {"completionMode": "Indexed", "completions": 2, "parallelism": 2, "backoffLimit": 0, "template": template}
    world.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "job"}, "spec": spec})
    world.settle(1)
    moved(world, phase="Failed", indexes=[0])
    assert condition(status(world), "FailureTarget")
    assert finished(status(world)) == ""
    world.settle(2)
    world.step({"do": "gone"})
    world.settle(1)
    assert finished(status(world)) == "Failed"
    assert status(world)["failed"] == 2


def test_pods_that_fail_together_are_not_deleted_for_each_other() -> None:
    world = moved(started(completionMode="Indexed", completions=3, parallelism=3, backoffLimit=0), phase="Running")
    for index in (0, 1):
        world.step({"do": "pods", "phase": "Failed", "indexes": [index]})
        world.settle(0.4)
    assert [phase(pod) for pod in world.pods()] == ["Failed", "Failed", "Running"]
    assert (status(world)["active"], finished(status(world))) == (1, "")
    world.settle(2)
    assert [phase(pod) for pod in world.pods()] == ["Failed", "Failed"], "the third was given its time"
    assert (status(world)["failed"], finished(status(world))) == (3, "Failed")


def test_a_job_that_fails_keeps_its_time_through_suspension_and_comes_to_rest() -> None:
    world = started(completionMode="Indexed", completions=2, parallelism=2, backoffLimit=0)
    for pod in world.pods():
        world.put({**pod, "spec": {**pod["spec"], "nodeName": "n"}})
    moved(world, phase="Failed", indexes=[0])
    begun = status(world)["startTime"]
    for suspend in (True, False):
        world.now += timedelta(seconds=60)
        world.step({"do": "patch", "body": {"spec": {"suspend": suspend}}})
        world.settle(60)
        assert status(world)["startTime"] == begun
        assert reconcile(world.objects[world.job], world.view(), world.now).actions == ()


def test_trap_22_a_waiting_job_says_when_to_look_again() -> None:
    world = moved(started(), phase="Failed")
    decision = reconcile(world.objects[world.job], world.view(), world.now)
    assert decision.actions == ()
    assert decision.again == timedelta(seconds=9)


@pytest.mark.parametrize(
    ("spec", "elapsed", "again"),
    [
        pytest.param({}, 0, None, id="nothing happens by itself"),
        pytest.param({"activeDeadlineSeconds": 60}, 0, 59, id="a deadline"),
        pytest.param({"activeDeadlineSeconds": 60}, 20, 39, id="nearer"),
    ],
)
def test_when_to_look_again(spec: Raw, elapsed: int, again: int | None) -> None:
    world = started(**spec)
    world.now += timedelta(seconds=elapsed)
    decision = reconcile(world.objects[world.job], world.view(), world.now)
    assert decision.again == (None if again is None else timedelta(seconds=again))


def test_a_finished_job_goes_with_what_it_owns_when_its_time_is_up() -> None:
    world = moved(started(ttlSecondsAfterFinished=100), phase="Succeeded")
    job = world.objects[world.job]
    assert reconcile(job, world.view(), world.now).again == timedelta(seconds=99)
    gone = reconcile(job, world.view(), world.now + timedelta(seconds=99))
    assert gone.actions == (Delete(world.job, job["metadata"]["uid"], "Foreground"),)


def test_a_finished_job_without_a_time_to_live_stays() -> None:
    world = moved(started(), phase="Succeeded")
    assert reconcile(world.objects[world.job], world.view(), world.now + timedelta(days=999)) == NOTHING


def test_a_job_on_its_way_out_makes_no_pods_and_lets_its_own_go() -> None:
    world = started(completions=2, parallelism=1)
    job = world.objects[world.job]
    leaving = {**job, "metadata": {**job["metadata"], "deletionTimestamp": "2026-01-02T03:04:05Z"}}
    (patch,) = reconcile(leaving, world.view(), world.now).actions
    assert isinstance(patch, Patch)
    assert patch.patch["metadata"]["finalizers"] is None


def test_finalizers_of_others_stay() -> None:
    world = started()
    (pod,) = world.pods()
    world.put({**pod, "metadata": {**pod["metadata"], "finalizers": ["batch.kubernetes.io/job-tracking", "a.b/c"]}})
    moved(world, phase="Succeeded")
    assert world.pods()[0]["metadata"]["finalizers"] == ["a.b/c"]


def test_a_finished_pod_is_let_go_only_when_the_status_that_was_read_accounts_for_it() -> None:
    world = started(completions=2, parallelism=2)
    world.step({"do": "pods", "phase": "Succeeded", "first": 1})
    job = world.objects[world.job]
    actions = reconcile(job, world.view(), world.now).actions
    assert [type(action) for action in actions] == [SetStatus]
    (written,) = actions
    assert isinstance(written, SetStatus)
    assert written.version == job["metadata"]["resourceVersion"]
    read_back = {**job, "status": written.status}
    assert isinstance(reconcile(read_back, world.view(), world.now).actions[0], Patch)


def test_a_suspended_pod_is_deleted_only_when_it_is_seen_to_be_let_go() -> None:
    world = started()
    world.step({"do": "patch", "body": {"spec": {"suspend": True}}})
    first = reconcile(world.objects[world.job], world.view(), world.now)
    assert not any(isinstance(action, Delete) for action in first.actions)
    world.settle(1)
    assert world.pods() == []
    assert "failed" not in status(world)


def test_pods_that_the_server_refuses_are_not_claimed_to_run() -> None:
    world = World(takes_pods=False)
    template = {"spec": {"restartPolicy": "Never", "containers": CONTAINERS}}
    world.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "job"}, "spec": {"template": template}})
    world.settle(5)
    assert "active" not in status(world)
    assert status(world)["startTime"]
    assert world.events == []
    creates = [a for a in reconcile(world.objects[world.job], world.view(), world.now).actions if isinstance(a, Create)]
    assert [create.complaint for create in creates] == ["FailedCreate"]


def test_a_job_of_another_controller_is_left_alone() -> None:
    assert started(managedBy="example.com/other").writes == []
    assert len(started(managedBy="kubernetes.io/job-controller").pods()) == 1


def test_more_successes_than_asked_for_are_told() -> None:
    world = started(completions=1, parallelism=1)
    (pod,) = world.pods()
    twin = {**pod, "metadata": {**pod["metadata"], "name": "job-twin", "uid": "twin"}}
    world.put(twin)
    moved(world, phase="Succeeded")
    assert {event["reason"] for event in world.events} >= {"TooManySucceededPods", "Completed"}


class TestOrphans:
    def test_a_pod_whose_job_is_gone_is_let_go(self) -> None:
        world = started()
        (pod,) = world.pods()
        (patch,) = orphans.reconcile(pod, View.of(pod), world.now).actions
        assert isinstance(patch, Patch)
        assert patch.patch["metadata"]["finalizers"] is None

    def test_a_pod_with_a_job_is_the_jobs_business(self) -> None:
        world = started()
        assert orphans.reconcile(world.pods()[0], world.view(), world.now) == NOTHING

    def test_a_new_job_of_the_same_name_is_another(self) -> None:
        world = started()
        job = world.objects[world.job]
        other = {**job, "metadata": {**job["metadata"], "uid": "other"}}
        assert orphans.reconcile(world.pods()[0], View.of(other, *world.pods()), world.now).actions

    def test_a_job_that_goes_wakes_its_pods(self) -> None:
        world = started()
        ((_, wake),) = orphans.ORPHANS.watches
        job = world.objects[world.job]
        assert list(wake(job, world.view())) == []
        assert list(wake(job, View(world.pods()))) == [Ref.of(world.pods()[0])]


def test_the_controller_is_woken_by_its_pods() -> None:
    assert (JOB.group, JOB.kind, JOB.owns) == ("batch", "Job", (("", "Pod"),))


@pytest.mark.parametrize("story", STORIES, ids=lambda path: path.name)
def test_a_server_takes_every_status_of_every_story(story: Any) -> None:
    told, world, before = read(story), World(), {}
    world.create(told["job"])
    for step in ({"do": "wait", "seconds": 0}, *told["steps"]):
        world.step(step)
        for _ in range(30):
            written = len(world.writes)
            world.look()
            job = world.objects.get(world.job)
            if job is None or len(world.writes) == written:
                break
            now = job.get("status") or {}
            assert list(unlawful(now, before)) == []
            before = now
    assert all(ref.namespace == NAMESPACE for ref in world.objects)
