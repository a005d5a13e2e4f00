"""History: what is kept of a job that has ended, once, and for how many jobs."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from tests.control.clusters import NAMESPACE, cluster
from tests.control.test_together import EVERYBODY, furnish
from tests.control.test_together import job as train
from tests.upkeep.town import NOON, Raw
from trainplane.api.history import KIND
from trainplane.api.raw import put
from trainplane.api.times import stamp
from trainplane.control import virtual
from trainplane.controllers import controllers
from trainplane.reconcile.decision import Create, Delete
from trainplane.reconcile.view import Ref, View
from trainplane.upkeep.history import history, remember

HOUR = timedelta(hours=1)


def at(minutes: float) -> str:
    return stamp(NOON + timedelta(minutes=minutes))


def job(name: str = "digits", *, end: str = "Complete", ended: float = 60, uid: str = "u-1", **status: Any) -> Raw:
    """A TrainJob made at noon that began ten minutes later, and ended."""
    condition = {"type": end, "status": "True", "reason": "Why", "message": "m", "lastTransitionTime": at(ended)}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name, "namespace": "ns", "uid": uid, "creationTimestamp": at(0)},
        "spec": {
            "runtimeRef": {"name": "torch", "kind": "TrainingRuntime"},
            "trainer": {"numNodes": 2, "resourcesPerNode": {"requests": {"cpu": "4", "memory": "1Gi"}}},
        },
        "status": {
            "conditions": [condition],
            "summary": {"state": end, "message": "the job has ended", "startTime": at(10), **status},
        },
    }


def made_for(made_by: Raw, kind: str, api: str, name: str, **rest: Any) -> Raw:
    owner = {"kind": made_by["kind"], "name": made_by["metadata"]["name"], "uid": made_by["metadata"]["uid"]}
    owners = [{"apiVersion": made_by["apiVersion"], **owner, "controller": True}]
    metadata = {"name": name, "namespace": "ns", "uid": f"uid-of-{name}", "ownerReferences": owners}
    return {"apiVersion": api, "kind": kind, "metadata": {**metadata, **rest.pop("metadata", {})}, **rest}


def pod(owner: Raw, name: str, *, start: float, end: float | None, cpu: str = "4") -> Raw:
    ended = {"state": {"terminated": {"finishedAt": at(end)}}} if end else {"state": {"running": {}}}
    return made_for(
        owner,
        "Pod",
        "v1",
        name,
        spec={"containers": [{"name": "node", "resources": {"requests": {"cpu": cpu}}}]},
        status={"phase": "Succeeded", "startTime": at(start), "containerStatuses": [{"name": "node", **ended}]},
    )


def stages(of: Raw, *, attempt: str = "0") -> tuple[Raw, Raw]:
    """The JobSet of a job, and its one Job."""
    jobset = made_for(of, "JobSet", "jobset.x-k8s.io/v1alpha2", of["metadata"]["name"])
    template = {"spec": {"containers": [{"name": "node", "resources": {"requests": {"cpu": "4"}}}]}}
    ended = {"type": "Complete", "status": "True", "lastTransitionTime": at(60)}
    child = made_for(
        jobset,
        "Job",
        "batch/v1",
        "digits-node-0",
        metadata={"labels": {"jobset.sigs.k8s.io/restart-attempt": attempt}},
        spec={"parallelism": 2, "template": template},
        status={"conditions": [ended]},
    )
    return jobset, child


def kept(of: Raw, *world: Raw) -> Raw:
    (made,) = remember(of, View.of(of, *world), NOON + HOUR).actions
    assert isinstance(made, Create)
    return made.object


def test_a_record_says_how_it_ended_when_and_what_it_took() -> None:
    ended = job(restarts=1)
    jobset, child = stages(ended)
    pods = [pod(child, "a", start=10, end=60), pod(child, "b", start=10, end=40)]
    assert kept(ended, jobset, child, *pods) == {
        "apiVersion": "trainplane.dev/v1alpha1",
        "kind": "TrainJobRecord",
        "metadata": {"name": "digits-1", "namespace": "ns"},
        "spec": {
            "trainJob": {"name": "digits", "uid": "u-1"},
            "outcome": "Complete",
            "reason": "Why",
            "message": "the job has ended",
            "runtime": {"name": "torch", "kind": "TrainingRuntime"},
            "nodes": 2,
            "restarts": 1,
            "creationTime": at(0),
            "startTime": at(10),
            "completionTime": at(60),
            "waitSeconds": 600,
            "runSeconds": 3000,
            "resourceSeconds": {"cpu": "19200"},
        },
    }


@pytest.mark.parametrize(
    ("attempt", "pods"),
    [
        pytest.param("0", [(10, 60)], id="a pod that is gone counts from the first start to the end"),
        pytest.param("2", [(50, 60), (50, 60)], id="earlier attempts count"),
        pytest.param("0", [(10, None), (10, 60)], id="a pod that was stopped counts to the end"),
        pytest.param("0", [], id="all pods are gone"),
    ],
)
def test_pods_that_are_gone_are_counted_too(attempt: str, pods: list[tuple[float, float | None]]) -> None:
    ended = job()
    jobset, child = stages(ended, attempt=attempt)
    there = [pod(child, f"p{i}", start=start, end=end) for i, (start, end) in enumerate(pods)]
    # Two pods of four cores, from the tenth minute to the sixtieth.
    assert kept(ended, jobset, child, *there)["spec"]["resourceSeconds"] == {"cpu": "24k"}


def test_a_job_stopped_by_its_deadline_is_known_by_what_it_asks_for() -> None:
    found = kept(job(end="Failed"))["spec"]
    assert found["outcome"] == "Failed"
    assert found["resourceSeconds"] == {"cpu": "24k", "memory": f"{2 * 3 * 2**30}k"}


def test_a_job_that_never_ran_has_no_run_time() -> None:
    failed = job(end="Failed")
    del failed["status"]["summary"]["startTime"]
    found = kept(failed)["spec"]
    assert found.keys().isdisjoint({"startTime", "waitSeconds", "runSeconds", "resourceSeconds"})


def test_a_job_too_quick_to_be_seen_running_is_known_by_its_pods() -> None:
    quick = job(ended=11)
    del quick["status"]["summary"]["startTime"]
    jobset, child = stages(quick)
    found = kept(quick, jobset, child, pod(child, "a", start=5, end=11), pod(child, "b", start=6, end=11))["spec"]
    assert (found["startTime"], found["waitSeconds"], found["runSeconds"]) == (at(5), 300, 360)


def test_a_resumed_job_waited_from_when_it_was_resumed() -> None:
    resumed = job()
    resumed["status"]["conditions"].insert(0, {"type": "Suspended", "status": "False", "lastTransitionTime": at(7)})
    assert kept(resumed)["spec"]["waitSeconds"] == 180


def test_nothing_is_written_while_it_runs_nor_twice() -> None:
    running = job()
    running["status"]["conditions"] = []
    assert remember(running, View.of(running), NOON).actions == ()
    ended = job()
    assert remember(ended, View.of(kept(ended)), NOON).actions == ()
    going = {**ended, "metadata": {**ended["metadata"], "deletionTimestamp": at(61)}}
    assert remember(going, View.of(going), NOON).actions == ()


def test_the_oldest_make_room_and_those_older_still_are_not_kept() -> None:
    old = [kept(job(f"old-{i}", ended=20 + i, uid=f"u-{i}")) for i in range(3)]
    made, dropped = remember(job("new", ended=60), View(old), NOON, keep=3).actions
    assert isinstance(made, Create)
    assert isinstance(dropped, Delete)
    assert dropped.ref.name == old[0]["metadata"]["name"]
    assert remember(job("ancient", ended=15), View(old), NOON, keep=3).actions == ()
    assert remember(job("new"), View(), NOON, keep=0).actions == ()


def test_a_record_outlives_a_job_that_goes_the_moment_it_ends() -> None:
    async def main() -> None:
        async with cluster(latency=0.01, lag=0.01) as made, made.controlled(*EVERYBODY, history(keep=3)):
            await furnish(made)
            for i in range(4):
                await made.api.create(put(train(f"job-{i}"), ("spec", "ttlSecondsAfterFinished"), 0))
            await asyncio.sleep(600)
            assert await made.all("TrainJob") == []
            records = await made.all("TrainJobRecord")
            assert len(records) == 3, "the last three that ended"
            for one in (found["spec"] for found in records):
                assert (one["outcome"], one["nodes"], one["runSeconds"]) == ("Complete", 2, 60)
                assert one["resourceSeconds"] == {"cpu": "120"}
            creates = [ref.kind for verb, ref in made.client.written if verb == "create" and ref.kind == KIND]
            assert len(creates) == 4, "one write a job"

    virtual.run(main())


def test_a_cluster_says_how_many_are_kept() -> None:
    (found,) = (one for one in controllers(records=2) if one.name == "history")
    old = [kept(job(f"old-{i}", ended=20 + i, uid=f"u-{i}")) for i in range(2)]
    assert [type(action) for action in found.reconcile(job("new"), View(old), NOON).actions] == [Create, Delete]


def test_a_job_that_is_gone_before_its_end_was_deleted() -> None:
    running = put(job(state="Running"), ("status", "conditions"), [])
    (made,) = remember(running, View.of(), NOON + HOUR).actions
    assert isinstance(made, Create)
    spec = made.object["spec"]
    assert (spec["outcome"], spec["completionTime"]) == ("Deleted", at(60))
    assert spec["message"] == "the job was deleted while it was Running"
    assert (spec["waitSeconds"], spec["runSeconds"]) == (600, 3000)
    assert spec["resourceSeconds"]["cpu"] == "24k"


def test_who_made_a_job_is_remembered() -> None:
    by_alice = put(job(), ("metadata", "annotations"), {"trainplane.dev/submitter": "alice"})
    assert kept(by_alice)["spec"]["submitter"] == "alice"
    assert "submitter" not in kept(job())["spec"]


def test_a_job_that_is_on_its_way_out_is_not_gone_yet() -> None:
    running = put(job(), ("status", "conditions"), [])
    going = put(running, ("metadata", "deletionTimestamp"), at(50))
    assert not remember(going, View.of(going), NOON + HOUR).actions
    (made,) = remember(going, View.of(), NOON + HOUR).actions
    assert isinstance(made, Create)
    assert made.object["spec"]["completionTime"] == at(50)


def test_another_job_of_the_same_name_does_not_hide_that_one_was_deleted() -> None:
    running = put(job(), ("status", "conditions"), [])
    (made,) = remember(running, View.of(put(running, ("metadata", "uid"), "u-2")), NOON + HOUR).actions
    assert isinstance(made, Create)
    assert made.object["spec"]["trainJob"]["uid"] == "u-1"


def test_a_job_that_went_before_anyone_saw_its_end_has_ended_as_it_says() -> None:
    (made,) = remember(job(), View.of(), NOON + HOUR).actions
    assert isinstance(made, Create)
    assert made.object["spec"]["outcome"] == "Complete"


def test_a_job_deleted_while_it_runs_leaves_a_record_and_so_does_the_next_of_its_name() -> None:
    async def main() -> None:
        async with cluster(latency=0.01, lag=0.01) as made, made.controlled(*EVERYBODY, history()):
            await furnish(made)
            for _ in range(2):
                await made.api.create(train("digits"))
                await asyncio.sleep(30)
                await made.api.delete(Ref("trainer.kubeflow.org", "TrainJob", NAMESPACE, "digits"))
            await asyncio.sleep(30)
            records = [one["spec"] for one in await made.all(KIND)]
            assert [one["outcome"] for one in records] == ["Deleted", "Deleted"]
            assert all(20 <= one["runSeconds"] <= 30 for one in records)
            assert all(one["message"] == "the job was deleted while it was Running" for one in records)

    virtual.run(main())


def test_what_controllers_missed_is_made_good_for_jobs_that_are_there_and_not_for_those_that_are_gone() -> None:
    async def main() -> None:
        async with cluster() as made:
            await furnish(made)
            async with made.controlled(*EVERYBODY):
                for name in ("ended", "running"):
                    await made.api.create(train(name))
                    await asyncio.sleep(90 if name == "ended" else 20)
            await made.api.delete(Ref("trainer.kubeflow.org", "TrainJob", NAMESPACE, "running"))
            async with made.controlled(*EVERYBODY, history()):
                await asyncio.sleep(60)
            assert [(one["spec"]["trainJob"]["name"], one["spec"]["outcome"]) for one in await made.all(KIND)] == [
                ("ended", "Complete")
            ]
            assert [raw["metadata"]["name"] for raw in await made.all("JobSet")] == ["ended"], "nothing else is left"

    virtual.run(main())
