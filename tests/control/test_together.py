"""Every controller at once over one API: a TrainJob runs to its end, and leaves nothing behind."""

import asyncio
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from tests.control.clusters import NAMESPACE, Cluster, cluster
from trainplane.api.raw import put
from trainplane.control import virtual
from trainplane.gang.controller import controller as scheduler
from trainplane.job.orphans import ORPHANS
from trainplane.job.reconcile import JOB
from trainplane.jobset.placement import PLACEMENT
from trainplane.jobset.reconcile import controller as jobset
from trainplane.reconcile.controller import Controller
from trainplane.reconcile.decision import NOTHING, Decision, Delete, SetStatus
from trainplane.reconcile.view import Ref, View
from trainplane.trainjob.reconcile import controller as trainjob
from trainplane.upkeep.garbage import garbage

Raw = dict[str, Any]
RUNTIME = Path(__file__).parents[2] / "src" / "trainplane" / "runtimes" / "torch-distributed.yaml"
JOBS = 6


def run_pod(pod: Raw, view: View, now: datetime) -> Decision:  # noqa: ARG001
    """A node that runs every pod of its own for a minute, with success."""
    ref, uid, status = Ref.of(pod), pod["metadata"]["uid"], pod["status"]
    if pod["metadata"].get("deletionTimestamp"):
        return Decision.of([Delete(ref, uid)])
    if not pod["spec"].get("nodeName") or status["phase"] == "Succeeded":
        return NOTHING
    stamp = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    if status["phase"] == "Pending":
        ready = [{"type": "Ready", "status": "True", "lastTransitionTime": stamp}]
        started = {**status, "phase": "Running", "startTime": stamp, "conditions": ready}
        return Decision.of([SetStatus(ref, started, uid)], again=timedelta(minutes=1))
    left = datetime.fromisoformat(status["startTime"]) + timedelta(minutes=1) - now
    if left > timedelta(0):
        return Decision(again=left)
    return Decision.of([SetStatus(ref, {**status, "phase": "Succeeded", "conditions": []}, uid)])


EVERYBODY = (
    trainjob(),
    jobset(),
    PLACEMENT,
    JOB,
    ORPHANS,
    scheduler(),
    garbage(),
    Controller("node", "", "Pod", run_pod),
)


def job(name: str) -> Raw:
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "runtimeRef": {"name": "torch-distributed"},
            "trainer": {"numNodes": 2, "image": "i", "resourcesPerNode": {"requests": {"cpu": "1"}}},
        },
    }


async def furnish(made: Cluster) -> None:
    """A node with room for two jobs at once, and a runtime whose pods are a gang."""
    await made.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system"}})
    node = await made.api.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})
    room = {"cpu": "5", "memory": "8Gi", "pods": "110"}
    ready = [{"type": "Ready", "status": "True"}]
    await made.api.set_status(Ref.of(node), {"capacity": room, "allocatable": room, "conditions": ready})
    runtime = yaml.safe_load(RUNTIME.read_text(encoding="utf-8"))
    await made.api.create(put(runtime, ("spec", "podGroupPolicy"), {"coscheduling": {"scheduleTimeoutSeconds": 60}}))


async def states(made: Cluster) -> Counter[str]:
    return Counter(raw["status"]["summary"]["state"] for raw in await made.all("TrainJob"))


def test_jobs_wait_run_end_and_leave_nothing_behind() -> None:
    async def main() -> None:
        async with cluster(latency=0.01, lag=0.01) as made, made.controlled(*EVERYBODY) as loop:
            await furnish(made)
            for i in range(JOBS):
                await made.api.create(job(f"job-{i}"))
            await asyncio.sleep(30)
            running = [raw for raw in await made.all("Pod") if raw["status"]["phase"] == "Running"]
            assert len(running) == 4, "two gangs of two fit, and none is split"
            await asyncio.sleep(600)
            assert await states(made) == {"Complete": JOBS}
            assert loop.metrics.errors.items() == {}
            assert f"trainplane_scheduling_seconds_count {2 * JOBS}" in loop.metrics.text()
            for i in range(JOBS):
                await made.api.delete(Ref("trainer.kubeflow.org", "TrainJob", NAMESPACE, f"job-{i}"))
            await asyncio.sleep(60)
            for kind in ("TrainJob", "JobSet", "Job", "Pod", "PodGroup", "Service"):
                assert await made.all(kind) == []
            assert loop.is_idle

    virtual.run(main())
