"""A job says on how many nodes it trains, also where only its runtime says so: while it runs, at its end and later."""

from tests.rehearsals import TRAINER, Rehearsal, rehearse, trainjob
from trainplane.api.raw import put
from trainplane.api.ref import Ref


def test_the_number_of_the_runtime_is_the_jobs() -> None:
    async def story(stage: Rehearsal) -> None:
        runtime = await stage.api.get(Ref(TRAINER, "ClusterTrainingRuntime", "", "torch-distributed"))
        wide = put(runtime, ("spec", "mlPolicy", "numNodes"), 3)
        await stage.api.create(put(wide, ("metadata",), {"name": "wide", "labels": runtime["metadata"]["labels"]}))
        job = trainjob("digits", runtime="wide", nodes=1, seconds="60")
        del job["spec"]["trainer"]["numNodes"]
        await stage.api.create(job)
        await stage.wait(20)
        summary = (await stage.get("TrainJob", "digits"))["status"]["summary"]
        assert (summary["state"], summary["nodes"]) == ("Running", 3)
        await stage.wait(120)
        summary = (await stage.get("TrainJob", "digits"))["status"]["summary"]
        assert (summary["state"], summary["nodes"]) == ("Complete", 3)
        (record,) = await stage.all("TrainJobRecord")
        assert record["spec"]["nodes"] == 3

    rehearse(story, nodes=4)
