"""What is kept shares nothing with what a caller of this process handed in, however little is copied on the way."""

import asyncio
import copy
from typing import Any

import orjson
import pytest

from tests.cluster.apis import api, config_map, pod
from trainplane.api.ref import Ref
from trainplane.cluster.client import Patch

AFFINITY = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{}]}}}
TERM = {"matchExpressions": [{"key": "gpu", "operator": "In", "values": ["h100"]}]}


def _spoil(value: Any) -> None:
    """Change everything that can be changed in a value."""
    if isinstance(value, dict):
        for item in value.values():
            _spoil(item)
        value["spoiled"] = "yes"
    elif isinstance(value, list):
        for item in value:
            _spoil(item)
        value.append("spoiled")


def _jobset() -> dict[str, Any]:
    template = {"spec": {"template": {"spec": {**pod()["spec"], "affinity": copy.deepcopy(AFFINITY)}}}}
    spec = {"replicatedJobs": [{"name": "node", "template": template}]}
    metadata = {"name": "js", "namespace": "ns", "labels": {"a": "b"}}
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": metadata, "spec": spec}


def _pod() -> dict[str, Any]:
    affinity = copy.deepcopy(AFFINITY)
    affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"] = [TERM]
    made = pod(affinity=affinity, volumes=[{"name": "v", "emptyDir": {"medium": "Memory"}}])
    made["spec"]["containers"] = [
        {"name": "c", "image": "example.test/c:1", "args": ["a"], "env": [{"name": "A", "value": "1"}]}
    ]
    return copy.deepcopy(made)


@pytest.mark.parametrize("made", [_pod(), _jobset(), config_map(data={"k": "v"})], ids=lambda raw: raw["kind"])
@pytest.mark.parametrize("verb", ["create", "apply"])
def test_what_was_made_stays_when_its_maker_changes_what_he_sent(made: dict[str, Any], verb: str) -> None:
    async def story() -> None:
        async with api() as cluster:
            sent = copy.deepcopy(made)
            await (cluster.create(sent) if verb == "create" else cluster.apply(sent, manager="m"))
            ref = Ref.of(made)
            before = copy.deepcopy(await cluster.get(ref))
            _spoil(sent)
            assert await cluster.get(ref) == before

    asyncio.run(story())


def test_a_status_stays_when_its_writer_changes_what_he_sent() -> None:
    async def story() -> None:
        async with api() as cluster:
            await cluster.create(pod())
            ref = Ref("", "Pod", "ns", "p")
            condition = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-31T12:00:00Z"}
            status = {"phase": "Running", "conditions": [condition]}
            await cluster.set_status(ref, status)
            labels = {"metadata": {"labels": {"a": "b"}}}
            await cluster.patch(ref, Patch.merge(labels))
            before = copy.deepcopy(await cluster.get(ref))
            _spoil(status)
            _spoil(labels)
            assert await cluster.get(ref) == before
            assert before["status"]["phase"] == "Running"
            assert before["metadata"]["labels"] == {"a": "b"}

    asyncio.run(story())


def test_a_reader_of_this_process_is_given_what_clients_read() -> None:
    async def story() -> None:
        async with api() as cluster:
            made = await cluster.create(pod())
            stored = cluster.ground.store.list("pods").items[0]
            assert orjson.loads(stored.value) == made == stored.object

    asyncio.run(story())
