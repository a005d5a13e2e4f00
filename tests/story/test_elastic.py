"""An elastic job grows while its pods are busy and shrinks when they are not, within the bounds of its runtime."""

from typing import Any

from tests.rehearsals import TRAINER, Rehearsal, rehearse, trainjob
from trainplane.api.raw import put
from trainplane.api.ref import Ref

Raw = dict[str, Any]
METRICS = [
    {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}
]


async def scaled(stage: Rehearsal) -> Raw:
    """The elastic runtime, with a metric to go by."""
    runtime = await stage.api.get(Ref(TRAINER, "ClusterTrainingRuntime", "", "torch-elastic"))
    path = ("spec", "mlPolicy", "torch", "elasticPolicy", "metrics")
    return put(put(runtime, path, METRICS), ("metadata",), {"name": "scaled", "labels": runtime["metadata"]["labels"]})


async def running(stage: Rehearsal) -> int:
    """How many pods run that are not on their way out."""
    pods = await stage.all("Pod")
    return sum(raw["status"]["phase"] == "Running" and "deletionTimestamp" not in raw["metadata"] for raw in pods)


def test_it_grows_and_shrinks_with_what_its_pods_use() -> None:
    async def story(stage: Rehearsal) -> None:
        await stage.api.create(await scaled(stage))
        await stage.api.create(trainjob("digits", runtime="scaled", nodes=2, seconds="forever", cpu="1"))
        await stage.wait(20)
        assert await running(stage) == 2
        await stage.wait(600)
        assert await running(stage) == 4, "all that is requested is used, which is twice what it should be"
        assert (await stage.get("TrainJob", "digits"))["spec"]["trainer"]["numNodes"] == 4
        for pod in await stage.all("Pod"):
            await stage.annotate(pod, cpu="100m")
        await stage.wait(900)
        assert await running(stage) == 1, "a tenth of what is requested is enough for one"
        (autoscaler,) = await stage.all("HorizontalPodAutoscaler")
        assert autoscaler["status"]["desiredReplicas"] == 1

    rehearse(story, nodes=4)
