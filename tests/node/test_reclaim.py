"""What a claim held stays when it is deleted, unless its owner has said otherwise."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from tests.node.nodes import NAMESPACE, Nodes, container, nodes, phase, pod
from tests.patience import PATIENCE
from trainplane.api.ref import Ref
from trainplane.cluster.client import Patch
from trainplane.node.reclaim import POLICY, is_unwanted

JOBSET = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "j", "uid": "1", "controller": True}
STATEFUL_SET = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "2", "controller": True}
POD = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "3", "controller": True}


def claim(*, policy: str = "", owner: dict[str, Any] | None = None, name: str = "data") -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "namespace": NAMESPACE}
    metadata |= {"annotations": {POLICY: policy}} if policy else {}
    metadata |= {"ownerReferences": [owner]} if owner else {}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}


@pytest.mark.parametrize(
    ("found", "goes"),
    [
        (claim(), False),
        (claim(policy="Delete"), True),
        (claim(policy="Retain", owner=JOBSET), False),
        (claim(owner=JOBSET), True),
        (claim(owner=STATEFUL_SET), False),
        (claim(owner=POD), False),
        (claim(owner=POD, name="p-scratch"), True),
        (claim(owner={**POD, "controller": False}, name="p-scratch"), False),
        (claim(owner={**JOBSET, "apiVersion": "example.com/v1"}), False),
        (claim(owner={**JOBSET, "controller": False}), False),
        (claim(policy="Delete", owner=POD), True),
    ],
)
def test_who_wants_nothing_kept(found: dict[str, Any], goes: bool) -> None:
    assert is_unwanted(found) is goes


@pytest.mark.parametrize(("policy", "stays"), [("", True), ("Delete", False)])
def test_the_folder_of_a_deleted_claim(tmp_path: Path, policy: str, stays: bool) -> None:
    async def play(made: Nodes) -> None:
        made_claim = await made.create(claim(policy=policy))
        volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
        mounts = [{"name": "data", "mountPath": "/data"}]
        await made.create(
            pod(volumes=volumes, containers=[container(script="echo kept > /data/file", volumeMounts=mounts)])
        )
        assert phase(await made.ended()) == "Succeeded"
        folder = made.folder / "volumes" / NAMESPACE / f"data-{made_claim['metadata']['uid']}"
        assert (folder / "file").exists()
        ref = Ref("", "PersistentVolumeClaim", NAMESPACE, "data")
        await made.api.delete(ref)
        await made.api.patch(ref, Patch.merge({"metadata": {"finalizers": None}}))
        until = time.monotonic() + (0.5 if stays else PATIENCE)
        while folder.exists() and time.monotonic() < until:
            await asyncio.sleep(0.02)
        assert folder.exists() is stays

    async def main() -> None:
        async with nodes(tmp_path) as made:
            await play(made)

    asyncio.run(main())
