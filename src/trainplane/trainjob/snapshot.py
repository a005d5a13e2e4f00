"""The runtime snapshot: a TrainJob keeps the runtime it first saw, whatever becomes of the runtime later."""

import json
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, TypeAlias

import msgspec

from trainplane.api.decode import acceptable
from trainplane.api.dialects import to_hub
from trainplane.api.documents import parse
from trainplane.api.meta import Raw
from trainplane.api.problem import Problem
from trainplane.api.schema import openapi
from trainplane.api.structural import prune
from trainplane.api.trainer import API_VERSION, CLUSTER_TRAINING_RUNTIME, TRAINING_RUNTIME, TrainingRuntimeSpec
from trainplane.reconcile.view import Ref, View, group_of
from trainplane.trainjob import default
from trainplane.trainjob.plan_rules import RUNTIME_MISSING
from trainplane.trainjob.tree import at, put

Lookup: TypeAlias = Callable[[Ref], Raw | None]
"""The object of a Ref; at admission read live, so that a TrainJob sent right after its runtime finds it."""

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
    ref = snapshot_ref(job)
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": ref.name,
            "namespace": ref.namespace,
            "ownerReferences": [owner(job)],
        },
        "data": {KEY: json.dumps(unstamped(runtime), sort_keys=True)},
    }


def unstamped(runtime: Raw) -> Raw:
    """The runtime as a snapshot has it."""
    metadata = {key: value for key, value in runtime["metadata"].items() if key not in STAMPS}
    return {**runtime, "metadata": metadata}


def owner(raw: Raw) -> Raw:
    """The reference by which an object names its controller."""
    return {
        "apiVersion": raw["apiVersion"],
        "kind": raw["kind"],
        "name": raw["metadata"]["name"],
        "uid": raw["metadata"].get("uid", ""),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def recall(job: Raw, view: View) -> Raw | None:
    """The runtime in the TrainJob's snapshot; None where there is no snapshot yet."""
    ref = snapshot_ref(job)
    config_map = view.get(ref)
    if config_map is None:
        return None
    if not is_controlled_by(config_map, job):
        raise Unusable(f"the ConfigMap {ref.name} is not this TrainJob's; delete it, or give the TrainJob another name")
    text = at(config_map, ("data", KEY))
    runtime = usable(text) if isinstance(text, str) else None
    if runtime is None:
        raise Unusable(f"the ConfigMap {ref.name} was changed and holds no runtime; delete it to take a new snapshot")
    wanted = job["spec"]["runtimeRef"]
    if (runtime.get("kind"), runtime["metadata"].get("name")) != (wanted.get("kind"), wanted["name"]):
        raise Unusable(
            f"the ConfigMap {ref.name} holds another runtime than {wanted['name']}; delete it to take a new snapshot"
        )
    return runtime


# Every change of every pod, and every TrainJob that is made, asks for the same few texts again.
@lru_cache(maxsize=256)
def usable(text: str) -> Raw | None:
    """The runtime that a text holds, or None where it is nonsense; upstream writes snapshots in YAML."""
    try:
        runtime: Any = json.loads(text)
    except (ValueError, RecursionError):
        documents = parse(text).documents
        runtime = documents[0].value if len(documents) == 1 else None
    if not isinstance(runtime, dict) or not isinstance(runtime.get("metadata"), dict):
        return None
    return sound(runtime)


def sound(raw: Raw) -> Raw | None:
    """A runtime in the hub's words with its defaults; None where it has not the shape of one, or nothing to run."""
    runtime = default.runtime(to_hub(raw).raw)
    spec, known = runtime.get("spec"), openapi(TrainingRuntimeSpec)
    if not at(spec, ("template", "spec", "replicatedJobs")):
        return None
    fits = acceptable(spec, TrainingRuntimeSpec) or acceptable(prune(spec, known), TrainingRuntimeSpec)
    return runtime if fits else None


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


def find_runtime(job: Raw, lookup: Lookup) -> Raw | None:
    """The live runtime that a TrainJob names, in the hub's words and with its defaults, or None."""
    live = next(filter(None, map(lookup, runtime_refs(job))), None)
    if live is None:
        return None
    runtime = usable(msgspec.json.encode(live).decode())
    if runtime is None:
        raise Unusable(f"the {live['kind']} {live['metadata']['name']} has not the shape of a runtime; correct it")
    return runtime


def not_found(job: Raw, lookup: Lookup, *, namespaces: Iterable[str] = ()) -> Problem:
    """That the runtime is not there, and where one of that name is: as the other kind, or in these namespaces."""
    ref = job["spec"]["runtimeRef"]
    name, kind = ref["name"], ref.get("kind", CLUSTER_TRAINING_RUNTIME)
    other = CLUSTER_TRAINING_RUNTIME if kind == TRAINING_RUNTIME else TRAINING_RUNTIME
    namespace = job["metadata"].get("namespace", "")
    where = f" in the namespace {namespace}" if kind == TRAINING_RUNTIME and namespace else ""
    todo = "create it, or correct spec.runtimeRef"
    if any(map(lookup, runtime_refs(job))):
        todo = "an object of that name is there, and has not the shape of a runtime: correct it"
    elif any(map(lookup, runtime_refs(put(job, ("spec", "runtimeRef", "kind"), other)))):
        todo = f"there is a {other} of that name: set spec.runtimeRef.kind to {other}"
    elif there := sorted(set(namespaces) - {namespace}):
        todo = f"a TrainingRuntime serves its own namespace, and the one of that name is in {', '.join(there)}"
    return Problem(RUNTIME_MISSING, ("spec", "runtimeRef"), f"there is no {kind} named {name}{where}", todo)
