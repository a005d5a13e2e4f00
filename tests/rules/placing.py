"""Where a snippet of a rule belongs: it is put into a TrainJob and the runtime it names, which have no fault."""

import copy
import re
from typing import Any

import yaml

HUB = "trainer.kubeflow.org/v1alpha1"
IMAGE = "registry.example.com/train:1"
POD = ("template", "spec", "template", "spec")
JOBSET = ("spec", "template", "spec")
JOB = (*JOBSET, "replicatedJobs", 0)
CONTAINER = (*JOB, *POD, "containers", 0)
POLICY = ("spec", "mlPolicy")
FRAMEWORKS = ("torch", "mpi", "jax", "xgboost", "flux")

RUNTIME = {
    "apiVersion": HUB,
    "kind": "ClusterTrainingRuntime",
    "metadata": {"name": "torch-distributed", "labels": {"trainer.kubeflow.org/framework": "torch"}},
    "spec": {
        "mlPolicy": {"torch": {}},
        "template": {
            "spec": {
                "replicatedJobs": [
                    {
                        "name": "node",
                        "template": {
                            "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
                            "spec": {"template": {"spec": {"containers": [{"name": "node", "image": IMAGE}]}}},
                        },
                    }
                ]
            }
        },
    },
}
TRAINJOB = {
    "apiVersion": HUB,
    "kind": "TrainJob",
    "metadata": {"name": "digits"},
    "spec": {"runtimeRef": {"name": "torch-distributed"}},
}

OF_THE_JOB = ("runtimeRef", "trainer", "initializer", "runtimePatches", "ttlSecondsAfterFinished")
OLD_FIELDS = ("trainingRuntimeRef", "modelConfig")
PLACES: dict[str, tuple[str | int, ...]] = {
    **dict.fromkeys(("metadata", "apiVersion", "kind"), ()),
    **dict.fromkeys(("mlPolicy", "podGroupPolicy", "template"), ("spec",)),
    **dict.fromkeys(("numNodes", *FRAMEWORKS), POLICY),
    **dict.fromkeys(("elasticPolicy", "envInjection"), (*POLICY, "torch")),
    "targets": (*POLICY, "torch", "envInjection"),
    "mpiImplementation": (*POLICY, "mpi"),
    **dict.fromkeys(("startupPolicy", "network", "managedBy", "coordinator", "successPolicy"), JOBSET),
    **dict.fromkeys(("failurePolicy", "volumeClaimPolicies", "replicatedJobs"), JOBSET),
    **dict.fromkeys(("rules", "restartStrategy"), (*JOBSET, "failurePolicy")),
    **dict.fromkeys(("name", "groupName", "dependsOn"), JOB),
    **dict.fromkeys(("parallelism", "completions"), (*JOB, "template", "spec")),
    **dict.fromkeys(("containers", "volumes", "hostIPC", "restartPolicy", "securityContext"), (*JOB, *POD)),
    **dict.fromkeys(("env", "resources", "command", "args", "ports", "volumeMounts"), CONTAINER),
}
"""The first word of a snippet → the place in the runtime that it is written at."""

AS_TEXT = ("TP003", "TP004", "TP005", "TP006", "TP007", "TP008", "TP009", "TP021", "TP050")
"""The rules that are about the text, whose snippets must not go through a parser first."""
IMAGE_MISSING = ("TP064", "TP111")
"""The rules about containers without an image, which are otherwise given one."""
PODS_MISSING = ("TP055",)
"""The rule about jobs without a pod, which are otherwise given one."""


def document(snippet: str, rule: str) -> str:
    """The smallest whole documents that hold a snippet; `...` stands between parts of different places."""
    if rule in AS_TEXT:
        return _text(snippet)
    runtime, job = copy.deepcopy(RUNTIME), copy.deepcopy(TRAINJOB)
    others: list[Any] = []
    for part in re.split(r"\n\.\.\.\n", snippet):
        given = yaml.safe_load(part)
        if isinstance(given, list):
            given = {"replicatedJobs": given}
        kind = given.get("kind", "")
        if kind == "TrainJob":
            _merge(job, given)
        elif kind and (kind.endswith("Role") or kind in ("JobSet", "PyTorchJob")):
            others.append(_other(given))
        else:
            _place(given, runtime=runtime, job=job)
    _complete(runtime, image=rule not in IMAGE_MISSING, pods=rule not in PODS_MISSING)
    return yaml.safe_dump_all([runtime, job, *others], sort_keys=False)


def _text(snippet: str) -> str:
    if snippet.startswith(("#", "apiVersion:")):
        return f"{snippet}\n"
    name = "" if snippet.startswith("metadata:") else "metadata:\n  name: digits\n"
    if snippet.startswith("data:"):
        return f"apiVersion: v1\nkind: ConfigMap\n{name}{snippet}\n"
    if "runtimeRef" not in snippet:
        snippet = snippet.replace("spec:\n", "spec:\n  runtimeRef:\n    name: torch-distributed\n")
    return f"apiVersion: {HUB}\nkind: TrainJob\n{name}{snippet}\n"


def _other(given: dict[str, Any]) -> dict[str, Any]:
    groups = {"JobSet": "jobset.x-k8s.io/v1alpha2"}
    whole = {"apiVersion": groups.get(given["kind"], "rbac.authorization.k8s.io/v1"), "metadata": {"name": "other"}}
    whole |= given
    if whole["kind"] == "JobSet":
        for each in whole["spec"]["replicatedJobs"]:
            _merge(
                each, {"template": {"spec": {"template": {"spec": {"containers": [{"name": "a", "image": IMAGE}]}}}}}
            )
    return whole


def _place(given: dict[str, Any], *, runtime: dict[str, Any], job: dict[str, Any]) -> None:
    for key, value in given.items():
        if key in ("spec", *OF_THE_JOB, *OLD_FIELDS):
            if key in OLD_FIELDS:
                job["apiVersion"] = "kubeflow.org/v2alpha1"
            if key == "trainingRuntimeRef":
                del job["spec"]["runtimeRef"]
            job["spec"].update(value if key == "spec" else {key: value})
            continue
        if key == "metadata":
            runtime["metadata"] = {"name": "torch-distributed", **value}
            continue
        if key == "runtime":
            runtime["spec"].update(value)
            continue
        if key in FRAMEWORKS or key == "mpiImplementation":
            for other in FRAMEWORKS:
                runtime["spec"]["mlPolicy"].pop(other, None)
        elif key == "mlPolicy" and set(value) & {*FRAMEWORKS, "pytorch"}:
            runtime["spec"]["mlPolicy"] = {}
        _merge(_down(runtime, PLACES[key]), {key: value})


def _down(value: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        value = value[step] if isinstance(step, int) else value.setdefault(step, {})
    return value


def _merge(into: dict[str, Any], new: dict[str, Any]) -> None:
    for key, value in new.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = copy.deepcopy(value)


def _complete(runtime: dict[str, Any], *, image: bool, pods: bool) -> None:
    """Give jobs that a snippet names a pod, and containers an image, where it leaves them out."""
    for each in _down(runtime, JOBSET).get("replicatedJobs") or ():
        if not _has_containers(each) and pods:
            _down(each, POD)["containers"] = [{"name": "node"}]
        for container in _containers(each):
            if isinstance(container, dict) and image:
                container.setdefault("image", IMAGE)


def _containers(job: Any) -> list[Any]:
    for step in (*POD, "containers"):
        job = job.get(step) if isinstance(job, dict) else None
    return job if isinstance(job, list) else []


def _has_containers(value: Any) -> bool:
    if isinstance(value, dict):
        return "containers" in value or any(map(_has_containers, value.values()))
    return isinstance(value, list) and any(map(_has_containers, value))
