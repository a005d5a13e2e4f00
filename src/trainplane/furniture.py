"""Furniture: what every new cluster of our own has, from its namespaces to the built-in runtimes."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from importlib.resources import files

from trainplane.api.documents import parse
from trainplane.api.meta import Raw
from trainplane.api.ref import Ref
from trainplane.api.trainer import CLUSTER_TRAINING_RUNTIME, GROUP
from trainplane.cluster.access import AUTHENTICATED
from trainplane.cluster.api import Api
from trainplane.cluster.errors import AlreadyExists
from trainplane.cluster.ready_roles import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES

SYSTEM = "kubeflow-system"
"""Where Kubeflow's clients look for what a Trainer says of itself."""
NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system", SYSTEM)
PUBLIC = "kubeflow-trainer-public"
TRAINER_VERSION = "v2.3.0"
"""The Kubeflow Trainer whose API is served."""
ROOT_CERTIFICATE = "kube-root-ca.crt"


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
    """Make what every cluster has, where it is missing."""
    spaces: list[Raw] = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in NAMESPACES]
    for group in ((*spaces, *CLUSTER_ROLES, *CLUSTER_ROLE_BINDINGS), (*public(), *missing_runtimes(api))):
        # Looked up first: nearly always all of it is there, and to be refused costs as much as to make it.
        lacking = [raw for raw in group if api.ground.lookup(Ref.of(raw)) is None]
        async with asyncio.TaskGroup() as makers:
            for raw in lacking:
                makers.create_task(_ensure(api, raw))


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


def missing_runtimes(api: Api) -> Iterator[Raw]:
    """The built-in runtimes that the cluster has not; each has a file of its name."""
    folder = files("trainplane").joinpath("runtimes")
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        name, _, form = file.name.rpartition(".")
        if form == "yaml" and api.ground.lookup(Ref(GROUP, CLUSTER_TRAINING_RUNTIME, "", name)) is None:
            yield from (document.value for document in parse(file.read_bytes()).documents)


async def _ensure(api: Api, raw: Raw) -> None:
    with suppress(AlreadyExists):
        await api.create(raw)
