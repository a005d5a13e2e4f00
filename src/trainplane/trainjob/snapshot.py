"""The runtime snapshot: a TrainJob keeps the runtime it first saw, whatever becomes of the runtime later."""

import json
from typing import Any

from trainplane.api.meta import Raw
from trainplane.api.trainer import API_VERSION
from trainplane.reconcile.view import Ref, View, group_of

KEY = "runtime"
STAMPS = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink")
"""What the API server wrote into the runtime: of no use to a TrainJob."""


class Unusable(Exception):
    """The snapshot cannot be used; the message says why and what to do."""


def snapshot_ref(job: Raw) -> Ref:
    """Where a TrainJob's snapshot is."""
    metadata = job["metadata"]
    return Ref("", "ConfigMap", metadata.get("namespace", ""), f"{metadata['name']}-runtime-snapshot")


def take(job: Raw, runtime: Raw) -> Raw:
    """The ConfigMap that holds the runtime as it is now. JSON is YAML, so upstream's reader understands it too."""
    metadata = {key: value for key, value in runtime["metadata"].items() if key not in STAMPS}
    ref = snapshot_ref(job)
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": ref.name,
            "namespace": ref.namespace,
            "ownerReferences": [
                {
                    "apiVersion": API_VERSION,
                    "kind": "TrainJob",
                    "name": job["metadata"]["name"],
                    "uid": job["metadata"].get("uid", ""),
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "data": {KEY: json.dumps({**runtime, "metadata": metadata}, sort_keys=True)},
    }


def recall(job: Raw, view: View) -> Raw | None:
    """The runtime in the TrainJob's snapshot; None where there is no snapshot yet."""
    ref = snapshot_ref(job)
    config_map = view.get(ref)
    if config_map is None:
        return None
    if not is_controlled_by(config_map, job):
        raise Unusable(f"the ConfigMap {ref.name} is not this TrainJob's; delete it, or give the TrainJob another name")
    try:
        runtime: Any = json.loads(config_map["data"][KEY])
    except (KeyError, TypeError, ValueError):
        runtime = None
    if not isinstance(runtime, dict) or not isinstance(runtime.get("metadata"), dict):
        raise Unusable(f"the ConfigMap {ref.name} was changed and holds no runtime; delete it to take a new snapshot")
    wanted = job["spec"]["runtimeRef"]
    if (runtime.get("kind"), runtime["metadata"].get("name")) != (wanted.get("kind"), wanted["name"]):
        raise Unusable(
            f"the ConfigMap {ref.name} holds another runtime than {wanted['name']}; delete it to take a new snapshot"
        )
    return runtime


def is_controlled_by(raw: Raw, owner: Raw) -> bool:
    """Whether the object's controller is this very owner."""
    uid = owner["metadata"].get("uid")
    return any(ref.get("controller") and ref.get("uid") == uid for ref in raw["metadata"].get("ownerReferences") or ())


def runtime_refs(job: Raw) -> list[Ref]:
    """Where the runtime that a TrainJob names may be: in the group it names first, then in the others we understand."""
    wanted = job["spec"]["runtimeRef"]
    kind = wanted.get("kind", "ClusterTrainingRuntime")
    namespace = job["metadata"].get("namespace", "") if kind == "TrainingRuntime" else ""
    named = wanted.get("apiGroup", group_of(API_VERSION))
    groups = dict.fromkeys((named, group_of(API_VERSION), "ome.io", "kubeflow.org"))
    return [Ref(group, kind, namespace, wanted["name"]) for group in groups]


def find_runtime(job: Raw, view: View) -> Raw | None:
    """The live runtime that a TrainJob names, or None."""
    return next(filter(None, map(view.get, runtime_refs(job))), None)
