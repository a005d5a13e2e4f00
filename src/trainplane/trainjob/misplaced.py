"""Pods in the wrong place of a runtime: where a JobSet or a job is meant, or nowhere at all."""

from collections.abc import Iterator, Mapping
from typing import Any

from trainplane.api.loose import object_at, objects_at
from trainplane.api.problem import Path, Problem, show
from trainplane.api.raw import look
from trainplane.trainjob.runtime_rules import NAME_ONLY, POD_IN_JOB, POD_IN_JOBSET

JOBS: Path = ("spec", "template", "spec", "replicatedJobs")
"""Where a runtime has its replicated jobs."""
POD: Path = ("template", "spec", "template", "spec")
"""Where a replicated job has its pod."""

_LEVELS = ("", "one level", "two levels", "three levels", "four levels")
_BUILT_IN = {
    "torch": "torch-distributed",
    "mpi": "deepspeed-distributed",
    "jax": "jax-distributed",
    "xgboost": "xgboost-distributed",
}


def pods(runtime: Mapping[str, Any]) -> Iterator[Problem]:
    """Containers of a runtime that stand too high, and replicated jobs that have none at all."""
    for high in (("spec",), ("spec", "template"), ("spec", "template", "spec")):
        if look(runtime, *high, "containers") is not None:
            todo = f"put the pod into a replicated job called node, at {show((*JOBS, 0, *POD))}"
            what = f"{show(high)} holds containers, and a JobSet with replicated jobs is meant there"
            yield Problem(POD_IN_JOBSET, (*high, "containers"), what, todo)
    for path, job in objects_at(runtime, *JOBS):
        yield from _pod_of(job, runtime=runtime, path=path)


def _pod_of(job: Mapping[str, Any], *, runtime: Mapping[str, Any], path: Path) -> Iterator[Problem]:
    name = job.get("name") or "node"
    for high in ((), POD[:1], POD[:2], POD[:3]):
        if look(job, *high, "containers") is not None:
            levels = _LEVELS[len(POD) - len(high)]
            what = f"the containers of the job {name} stand {levels} too high"
            todo = f"move the pod's fields to {show((*path, *POD))}"
            yield Problem(POD_IN_JOB, (*path, *high, "containers"), what, todo)
            return
    if not job.get("template"):
        policy = object_at(runtime, "spec", "mlPolicy")
        start = next((built_in for key, built_in in _BUILT_IN.items() if key in policy), "torch-distributed")
        what = f"the job {name} has a name and no template, so it has nothing to run"
        todo = f"write its pod at {show((*path, *POD))}, or start from the built-in runtime {start}"
        yield Problem(NAME_ONLY, path, what, todo)
