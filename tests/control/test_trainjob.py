"""A TrainJob that is sent to the API becomes everything that it should, whatever the connection is like."""

import asyncio
from base64 import b64decode
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_ssh_private_key

from tests.control.clusters import NAMESPACE, Cluster, cluster
from trainplane.api.raw import put
from trainplane.cluster.errors import Forbidden
from trainplane.control import virtual
from trainplane.job.reconcile import JOB
from trainplane.jobset.reconcile import controller as jobset
from trainplane.reconcile.view import Ref
from trainplane.trainjob.reconcile import TRAINJOB

Raw = dict[str, Any]
RUNTIMES = Path(__file__).parents[2] / "src" / "trainplane" / "runtimes"
MADE = [
    "ConfigMap demo-mpi-hostfile",
    "ConfigMap demo-runtime-snapshot",
    "JobSet demo",
    "PodGroup demo-launcher",
    "PodGroup demo-node",
    "Secret demo-mpi-ssh-auth",
]


def runtime() -> Raw:
    """The built-in MPI runtime, with a gang."""
    raw: Raw = yaml.safe_load((RUNTIMES / "deepspeed-distributed.yaml").read_text(encoding="utf-8"))
    return put(raw, ("spec", "podGroupPolicy"), {"coscheduling": {"scheduleTimeoutSeconds": 60}})


def job(name: str = "demo") -> Raw:
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "runtimeRef": {"name": runtime()["metadata"]["name"]},
            "trainer": {"numNodes": 2, "image": "trainer:1", "command": ["train"]},
        },
    }


async def owned(made: Cluster, parent: Raw) -> list[str]:
    """What an object controls."""
    found = []
    for kind in ("ConfigMap", "Secret", "JobSet", "PodGroup", "HorizontalPodAutoscaler"):
        for raw in await made.all(kind):
            owners = [owner["uid"] for owner in raw["metadata"].get("ownerReferences") or ()]
            if parent["metadata"]["uid"] in owners:
                found.append(f"{kind} {raw['metadata']['name']}")
    return sorted(found)


@pytest.mark.parametrize(("lag", "latency"), [(0, 0), (0.5, 0), (0, 0.5), (3, 0.2)])
def test_a_trainjob_becomes_its_objects_each_made_once(lag: float, latency: float) -> None:
    async def main() -> None:
        async with cluster(lag=lag, latency=latency) as made, made.controlled(TRAINJOB) as loop:
            await made.api.create(runtime())
            parent = await made.api.create(job())
            await asyncio.sleep(120)
            assert await owned(made, parent) == MADE
            created = Counter(ref for verb, ref in made.client.written if verb == "create")
            assert set(created.values()) == {1}
            status = (await made.api.get(Ref.of(parent)))["status"]
            assert status["summary"]["state"] == "Pending"
            assert loop.is_idle
            assert 'trainplane_jobs{state="Pending"} 1' in loop.metrics.text()

    virtual.run(main())


def test_its_secret_holds_real_keys() -> None:
    async def main() -> None:
        async with cluster() as made, made.controlled(TRAINJOB):
            await made.api.create(runtime())
            await made.api.create(job())
            await asyncio.sleep(5)
            (secret,) = await made.all("Secret")
            data = {name: b64decode(text) for name, text in secret["data"].items()}
            assert load_pem_private_key(data["ssh-privatekey"], None)
            assert load_ssh_private_key(data["ssh-host-privatekey"], None)
            assert data["known_hosts"].startswith(b"demo-*,[demo-*]:* ecdsa-sha2-nistp521 ")

    virtual.run(main())


def test_a_runtime_that_comes_later_is_found() -> None:
    async def main() -> None:
        async with cluster() as made:
            await made.api.create(runtime())
            parent = await made.api.create(job())
            await made.api.delete(Ref.of(runtime()))
            async with made.controlled(TRAINJOB):
                await asyncio.sleep(60)
                assert await owned(made, parent) == []
                (event,) = await made.events()
                assert "there is no ClusterTrainingRuntime named" in event["note"]
                assert event["reportingController"] == "trainer-trainjob-controller"
                await made.api.create(runtime())
                await asyncio.sleep(30)
                assert len(await owned(made, parent)) == len(MADE)

    virtual.run(main())


def test_what_the_api_refuses_is_told_and_made_when_it_no_longer_does() -> None:
    async def main() -> None:
        async with cluster() as made, made.controlled(TRAINJOB):
            time = asyncio.get_running_loop().time
            made.client.refuse = lambda _verb, ref: (
                Forbidden("exceeded quota") if ref.kind == "Secret" and time() < 60 else None
            )
            await made.api.create(runtime())
            parent = await made.api.create(job())
            await asyncio.sleep(30)
            assert not await made.all("JobSet"), "its pods would look for the keys"
            (event,) = await made.events()
            assert event["reason"] == "TrainJobResourcesCreationFailed"
            assert event["note"] == "Error creating: exceeded quota"
            assert event["regarding"]["uid"] == parent["metadata"]["uid"]
            assert (await made.api.get(Ref.of(parent)))["status"]["summary"]["state"] == "Created"
            await asyncio.sleep(120)
            assert len(await owned(made, parent)) == len(MADE)

    virtual.run(main())


@pytest.mark.parametrize("pause", [0.15, 0.4, 1.1])
def test_controllers_that_are_stopped_at_any_point_lose_and_double_nothing(pause: float) -> None:
    async def main() -> None:
        async with cluster(latency=0.1, lag=0.05) as made:
            await made.api.create(runtime())
            parent = await made.api.create(job())
            for _ in range(40):
                async with made.controlled(TRAINJOB, jobset(), JOB):
                    await asyncio.sleep(pause)
            async with made.controlled(TRAINJOB, jobset(), JOB):
                await asyncio.sleep(60)
            assert len(await owned(made, parent)) == len(MADE)
            assert [raw["metadata"]["name"] for raw in await made.all("Job")] == ["demo-node-0"]
            (pod,) = await made.all("Pod")
            assert pod["metadata"]["name"].startswith("demo-node-0-0-")

    virtual.run(main())


def test_many_jobs_come_to_rest_with_few_writes_each() -> None:
    async def main() -> None:
        async with cluster() as made, made.controlled(TRAINJOB, jobset(), JOB) as loop:
            await made.api.create(runtime())
            for i in range(30):
                await made.api.create(job(f"job-{i}"))
            await asyncio.sleep(60)
            assert loop.is_idle
            assert len(await made.all("Pod")) == 30
            writes = Counter(f"{verb} {ref.kind}" for verb, ref in made.client.written)
            assert all(count <= 3 * 30 for count in writes.values()), writes
            before = len(made.client.written)
            await asyncio.sleep(3600)
            assert len(made.client.written) == before, "who is at rest writes nothing"

    virtual.run(main())
