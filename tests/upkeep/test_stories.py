"""The chores at work beside the controllers of jobs, on virtual time: nothing stays behind, and reasons are told."""

import asyncio

import pytest

from tests.control.clusters import NAMESPACE, Cluster, cluster
from tests.control.test_trainjob import job, runtime
from trainplane.api.kinds import KINDS
from trainplane.control import virtual
from trainplane.job.orphans import ORPHANS
from trainplane.job.reconcile import JOB
from trainplane.jobset.reconcile import controller as jobset
from trainplane.reconcile.view import Ref
from trainplane.trainjob.reconcile import controller as trainjob
from trainplane.upkeep.table import UPKEEP
from trainplane.why.why import why

ALL = (trainjob(why=why), jobset(), JOB, ORPHANS, *UPKEEP)
FURNITURE = {"ServiceAccount default", "ConfigMap kube-root-ca.crt"}


async def things(made: Cluster) -> set[str]:
    """Everything in the namespace but its furniture and what is only told: events and records."""
    return {
        f"{row.kind} {raw['metadata']['name']}"
        for row in KINDS
        if row.namespaced and row.kind not in ("Event", "TrainJobRecord")
        for raw in (await made.api.list(row)).items
        if raw["metadata"]["namespace"] == NAMESPACE
    } - FURNITURE


@pytest.mark.parametrize("lag", [0.0, 1.0])
@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
def test_a_trainjob_that_is_deleted_leaves_nothing_behind(propagation: str, lag: float) -> None:
    async def main() -> None:
        async with cluster(lag=lag) as made, made.controlled(*ALL):
            await made.api.create(runtime())
            parent = await made.api.create(job())
            await asyncio.sleep(60)
            assert {"JobSet demo", "Job demo-node-0", "Service demo"} <= await things(made)
            await made.api.delete(Ref.of(parent), propagation=propagation)
            await asyncio.sleep(60)
            assert await things(made) == set()

    virtual.run(main())


def test_a_namespace_goes_with_all_that_runs_in_it() -> None:
    async def main() -> None:
        async with cluster() as made, made.controlled(*ALL):
            await made.api.create(runtime())
            await made.api.create(job())
            await asyncio.sleep(60)
            await made.api.delete(Ref("", "Namespace", "", NAMESPACE))
            await asyncio.sleep(120)
            assert await made.all("Namespace") == []
            assert await things(made) == set()

    virtual.run(main())


def test_a_job_says_what_it_waits_for() -> None:
    async def main() -> None:
        async with cluster() as made, made.controlled(*ALL):
            await made.api.create(runtime())
            parent = await made.api.create(job())
            await asyncio.sleep(60)
            for pod in await made.all("Pod"):
                said = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/9 nodes"}
                await made.api.set_status(Ref.of(pod), {**pod["status"], "conditions": [said]})
            await asyncio.sleep(5)
            summary = (await made.api.get(Ref.of(parent)))["status"]["summary"]
            assert summary["state"] in ("Pending", "Starting")
            assert "1 pod of stage node is without a node: 0/9 nodes" in summary["message"]

    virtual.run(main())
