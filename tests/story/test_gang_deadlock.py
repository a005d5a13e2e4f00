"""The classic gang of all stages starves itself where one stage waits for another; a gang for each stage does not."""

from typing import Any

from tests.rehearsals import NAMESPACE, Rehearsal, rehearse

Raw = dict[str, Any]
GROUP = "scheduling.x-k8s.io/pod-group"
STAGES = (("fetch", 1, ()), ("train", 3, (("fetch", "Complete"),)))
"""Name, pods and what each stage waits for."""


def stage_of(name: str, pods: int, waits: tuple[tuple[str, str], ...], labels: Raw) -> Raw:
    """A replicated job."""
    container = {"name": name, "image": "i", "resources": {"requests": {"cpu": "1"}}}
    seconds = {"simulate.trainplane.dev/seconds": "60"}
    pod = {"metadata": {"labels": labels, "annotations": seconds}, "spec": {"containers": [container]}}
    step = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"} if name == "train" else {}
    template = {"metadata": {"labels": step}, "spec": {"parallelism": pods, "completions": pods, "template": pod}}
    depends = {"dependsOn": [{"name": on, "status": status} for on, status in waits]} if waits else {}
    return {"name": name, "template": template, **depends}


def classic() -> list[Raw]:
    """One PodGroup for the pods of all stages."""
    metadata = {"name": "classic", "namespace": NAMESPACE}
    return [
        {
            "apiVersion": "scheduling.x-k8s.io/v1alpha1",
            "kind": "PodGroup",
            "metadata": metadata,
            "spec": {"minMember": sum(pods for _, pods, _ in STAGES)},
        },
        {
            "apiVersion": "jobset.x-k8s.io/v1alpha2",
            "kind": "JobSet",
            "metadata": metadata,
            "spec": {"replicatedJobs": [stage_of(*stage, {GROUP: "classic"}) for stage in STAGES]},
        },
    ]


def per_stage() -> list[Raw]:
    """The same stages as a runtime with a gang policy, and a TrainJob of it."""
    jobs = [stage_of(*stage, {}) for stage in STAGES]
    spec = {
        "mlPolicy": {"numNodes": 3},
        "podGroupPolicy": {"coscheduling": {"scheduleTimeoutSeconds": 60}},
        "template": {"spec": {"replicatedJobs": jobs}},
    }
    api = "trainer.kubeflow.org/v1alpha1"
    runtime = {"apiVersion": api, "kind": "TrainingRuntime", "metadata": {"name": "staged", "namespace": NAMESPACE}}
    job = {"apiVersion": api, "kind": "TrainJob", "metadata": {"name": "staged", "namespace": NAMESPACE}}
    reference = {"name": "staged", "kind": "TrainingRuntime"}
    return [{**runtime, "spec": spec}, {**job, "spec": {"runtimeRef": reference}}]


def test_one_gang_for_all_stages_waits_for_ever() -> None:
    async def story(stage: Rehearsal) -> None:
        for raw in classic():
            await stage.api.create(raw)
        await stage.wait(24 * 3600)
        (pod,) = await stage.all("Pod")
        assert "nodeName" not in pod["spec"], "the first stage waits for pods that are made when it is done"
        (told,) = [one for one in pod["status"]["conditions"] if one["type"] == "PodScheduled"]
        assert "needs 4 pods at once, and only 1 exist" in told["message"]

    rehearse(story, nodes=4)


def test_a_gang_for_each_stage_finishes_the_same_job() -> None:
    async def story(stage: Rehearsal) -> None:
        for raw in per_stage():
            await stage.api.create(raw)
        await stage.wait(30)
        groups = {raw["metadata"]["name"]: raw["spec"]["minMember"] for raw in await stage.all("PodGroup")}
        assert sorted(groups.values()) == [1, 3]
        assert await stage.phases() == {"Running": 1}
        await stage.wait(60)
        assert await stage.phases() == {"Succeeded": 1, "Running": 3}
        await stage.wait(60)
        assert await stage.states() == {"Complete": 1}

    rehearse(story, nodes=4)
