"""Furniture: what every new cluster of our own has, from its namespaces to the built-in runtimes."""

import asyncio
from contextlib import suppress
from pathlib import Path

import orjson

from trainplane.api.documents import parse
from trainplane.api.meta import Raw
from trainplane.api.ref import Ref, group_of
from trainplane.cluster.access import AUTHENTICATED
from trainplane.cluster.api import Api
from trainplane.cluster.errors import AlreadyExists
from trainplane.cluster.ground import Ground
from trainplane.cluster.log import Conflict, Key, Write, body
from trainplane.cluster.ready_roles import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES

SYSTEM = "kubeflow-system"
"""Where Kubeflow's clients look for what a Trainer says of itself."""
NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system", SYSTEM)
PUBLIC = "kubeflow-trainer-public"
TRAINER_VERSION = "v2.3.0"
"""The Kubeflow Trainer whose API is served."""
ROOT_CERTIFICATE = "kube-root-ca.crt"
HERE = Path(__file__).parent
MADE = "furniture.json"
"""What the API makes of the outfit; `tools/furniture.py` writes it."""


def companions(authority: str) -> list[Raw]:
    """What every namespace holds from the start."""
    return [
        {"kind": "ServiceAccount", "apiVersion": "v1", "metadata": {"name": "default"}},
        {
            "kind": "ConfigMap",
            "apiVersion": "v1",
            "metadata": {"name": ROOT_CERTIFICATE},
            "data": {"ca.crt": authority},
        },
    ]


async def furnish(api: Api) -> None:
    """Make what every cluster has, where it is missing; as the API makes it, and a hundred times as fast."""
    ground, spaces = api.ground, [Ref("", "Namespace", "", name) for name in NAMESPACES]
    async with asyncio.TaskGroup() as makers:
        for ref in spaces:
            if ground.lookup(ref) is None:
                raw = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ref.name}}
                makers.create_task(_created(api, raw))
    made = orjson.loads((HERE / MADE).read_bytes())
    async with asyncio.TaskGroup() as makers:
        for raw in made:
            if ground.lookup(Ref.of(raw)) is None:
                makers.create_task(_placed(ground, raw))


def outfit() -> list[Raw]:
    """What every cluster has beside its namespaces, as a person would write it."""
    return [*CLUSTER_ROLES, *CLUSTER_ROLE_BINDINGS, *public(), *runtimes()]


def public() -> list[Raw]:
    """What everybody may read of the Trainer that is here."""
    rbac, metadata = "rbac.authorization.k8s.io", {"name": PUBLIC, "namespace": SYSTEM}
    rule = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": [PUBLIC], "verbs": ["get"]}
    return [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata,
            "data": {"kubeflow_trainer_version": TRAINER_VERSION},
        },
        {"apiVersion": f"{rbac}/v1", "kind": "Role", "metadata": metadata, "rules": [rule]},
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": rbac, "kind": "Role", "name": PUBLIC},
            "subjects": [{"apiGroup": rbac, "kind": "Group", "name": AUTHENTICATED}],
        },
    ]


def runtimes() -> list[Raw]:
    """The built-in runtimes."""
    texts = [file.read_bytes() for file in sorted((HERE / "runtimes").glob("*.yaml"))]
    return [document.value for text in texts for document in parse(text).documents]


async def _created(api: Api, raw: Raw) -> None:
    with suppress(AlreadyExists):
        await api.create(raw)


async def _placed(ground: Ground, raw: Raw) -> None:
    """Store an object that the API has made before, with what only the moment can say."""
    stamp, row = ground.stamp(), ground.row(group_of(raw["apiVersion"]), raw["kind"])
    if row is None:
        return
    metadata = {**raw["metadata"], "uid": ground.uid(), "creationTimestamp": stamp}
    if ground.keeps_owners:
        metadata["managedFields"] = [{**entry, "time": stamp} for entry in metadata["managedFields"]]
    else:
        del metadata["managedFields"]
    key = Key(row.resource, metadata.get("namespace", ""), metadata["name"])
    with suppress(Conflict):
        await ground.write(Write(key, body({**raw, "metadata": metadata}), 0))
