"""Rehearsals: the whole system on simulated nodes and virtual time, for tests that let it run and then look."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from trainplane.api.ref import Ref
from trainplane.cluster.client import Patch
from trainplane.control import virtual
from trainplane.control.loop import Loop
from trainplane.node.simulated import Size
from trainplane.simulate import World, kind, world

Raw = dict[str, Any]
NAMESPACE = "default"
TRAINER = "trainer.kubeflow.org"
GROUPS: Mapping[str, str] = {
    "TrainJob": TRAINER,
    "JobSet": "jobset.x-k8s.io",
    "Job": "batch",
    "PodGroup": "scheduling.x-k8s.io",
    "Event": "events.k8s.io",
    "HorizontalPodAutoscaler": "autoscaling",
    "TrainJobRecord": "trainplane.dev",
}


class Rehearsal:
    """A cluster that is being played with."""

    def __init__(self, made: World, loop: Loop) -> None:
        self.world = made
        self.loop = loop
        self.api = made.api

    async def wait(self, seconds: float) -> None:
        """Let time pass."""
        await asyncio.sleep(seconds)

    async def all(self, name: str) -> list[Raw]:
        """Every object of a kind."""
        return list((await self.api.list(kind(GROUPS.get(name, ""), name))).items)

    async def get(self, name: str, which: str) -> Raw:
        """One object, of the namespace `default` where it is in one."""
        row = kind(GROUPS.get(name, ""), name)
        return await self.api.get(Ref(row.group, row.kind, NAMESPACE if row.namespaced else "", which))

    async def annotate(self, raw: Raw, **annotations: str | None) -> None:
        """Say something of simulation about an object; None says nothing of it any more."""
        said = {f"simulate.trainplane.dev/{name.replace('_', '-')}": value for name, value in annotations.items()}
        await self.api.patch(Ref.of(raw), Patch.merge({"metadata": {"annotations": said}}))

    async def delete(self, raw: Raw) -> None:
        """Delete an object."""
        await self.api.delete(Ref.of(raw))

    async def states(self) -> Counter[str]:
        """How many TrainJobs are in which state."""
        return Counter(
            (raw.get("status") or {}).get("summary", {}).get("state", "") for raw in await self.all("TrainJob")
        )

    async def phases(self) -> Counter[str]:
        """How many pods are in which phase."""
        return Counter(raw["status"]["phase"] for raw in await self.all("Pod"))


def rehearse(
    story: Callable[[Rehearsal], Awaitable[None]], *, nodes: int = 2, size: Size | None = None, seed: int = 0
) -> None:
    """Play a story on virtual time."""

    async def main() -> None:
        async with world(nodes=nodes, size=size, seed=seed) as made, made.controlled() as loop:
            await asyncio.sleep(1)
            await story(Rehearsal(made, loop))

    virtual.run(main())


def pod(name: str, *, restart: str = "Never", inits: tuple[Raw, ...] = (), **annotations: str) -> Raw:
    """A pod of one container that does what it is told."""
    said = {f"simulate.trainplane.dev/{key.replace('_', '-')}": value for key, value in annotations.items()}
    containers = [{"name": "main", "image": "trainer", "resources": {"requests": {"cpu": "1"}}}]
    first = {"initContainers": list(inits)} if inits else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE, "annotations": said},
        "spec": {"restartPolicy": restart, **first, "containers": containers},
    }


def trainjob(
    name: str, *, runtime: str = "torch-distributed", nodes: int = 2, cpu: str = "1", **annotations: str
) -> Raw:
    """A TrainJob whose pods do what they are told."""
    said = {f"simulate.trainplane.dev/{key.replace('_', '-')}": value for key, value in annotations.items()}
    template = {"spec": {"template": {"metadata": {"annotations": said}}}}
    patch = {"template": {"spec": {"replicatedJobs": [{"name": "node", "template": template}]}}}
    patches = [{"manager": "example.com/test", "trainingRuntimeSpec": patch}] if said else []
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "runtimeRef": {"name": runtime},
            "trainer": {"numNodes": nodes, "image": "trainer", "resourcesPerNode": {"requests": {"cpu": cpu}}},
            "runtimePatches": patches,
        },
    }


def runtime(name: str, *, restart: str = "OnFailure", backoff: int = 6, restarts: int = 0) -> Raw:
    """A runtime whose containers, pods and JobSet are started again so often."""
    pod = {"restartPolicy": restart, "containers": [{"name": "node", "image": "trainer"}]}
    step = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    template = {"metadata": {"labels": step}, "spec": {"backoffLimit": backoff, "template": {"spec": pod}}}
    jobset = {"failurePolicy": {"maxRestarts": restarts}, "replicatedJobs": [{"name": "node", "template": template}]}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": name},
        "spec": {"mlPolicy": {"numNodes": 1, "torch": {"numProcPerNode": "auto"}}, "template": {"spec": jobset}},
    }
