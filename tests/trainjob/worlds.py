"""Small runtimes and TrainJobs, and what they become, for the tests of the steps."""

from typing import Any

from trainplane.trainjob.pipeline import build
from trainplane.trainjob.plan import Plan

ANCESTOR = "trainer.kubeflow.org/trainjob-ancestor-step"


def replicated(name: str, container: dict[str, Any], *, step: str = "", **rest: Any) -> dict[str, Any]:
    """A replicated job with one container; `step` is its ancestor label."""
    template: dict[str, Any] = {"spec": {"template": {"spec": {"containers": [container]}}}}
    if step:
        template["metadata"] = {"labels": {ANCESTOR: step}}
    return {"name": name, "template": template, **rest}


def runtime(policy: dict[str, Any] | None, *jobs: dict[str, Any], name: str = "rt", **spec: Any) -> dict[str, Any]:
    """A runtime of these replicated jobs; one labelled trainer where none is given."""
    given = list(jobs) or [replicated("node", {"name": "node", "image": "train:1"}, step="trainer")]
    body: dict[str, Any] = {"template": {"spec": {"replicatedJobs": given, **spec}}}
    if policy is not None:
        body["mlPolicy"] = policy
    return {"kind": "TrainingRuntime", "metadata": {"name": name}, "spec": body}


def trainjob(trainer: dict[str, Any] | None = None, *, runtime: str = "rt") -> dict[str, Any]:
    """A TrainJob called `job`."""
    spec: dict[str, Any] = {"runtimeRef": {"name": runtime}}
    if trainer is not None:
        spec["trainer"] = trainer
    return {"kind": "TrainJob", "metadata": {"name": "job", "namespace": "ns"}, "spec": spec}


def render(policy: dict[str, Any] | None, trainer: dict[str, Any] | None, *jobs: dict[str, Any], **spec: Any) -> Plan:
    """The Plan of a TrainJob on a runtime."""
    return build(trainjob(trainer), runtime(policy, *jobs, **spec))


def job(plan: Plan, name: str = "node") -> dict[str, Any]:
    """A replicated job of the rendered JobSet."""
    return next(one for one in plan.replicated_jobs if one["name"] == name)


def pod(plan: Plan, name: str = "node") -> dict[str, Any]:
    """The pod of a replicated job."""
    spec: dict[str, Any] = job(plan, name)["template"]["spec"]["template"]["spec"]
    return spec


def container(plan: Plan, name: str = "node", *, index: int = 0, kind: str = "containers") -> dict[str, Any]:
    """A container of a replicated job."""
    found: dict[str, Any] = pod(plan, name)[kind][index]
    return found


def env(plan: Plan, name: str = "node", **which: Any) -> dict[str, str]:
    """The variables of a container, in order; what the pod fills in as its field's path."""
    found = {}
    for entry in container(plan, name, **which).get("env", []):
        found[entry["name"]] = entry["value"] if "value" in entry else entry["valueFrom"]["fieldRef"]["fieldPath"]
    return found


def companion(plan: Plan, kind: str) -> dict[str, Any]:
    """The one object of that kind beside the JobSet."""
    (found,) = [raw for raw in plan.companions if raw["kind"] == kind]
    return found


def rule_ids(plan: Plan) -> list[str]:
    """The rules that the Plan's problems name."""
    return [problem.rule.id for problem in plan.problems]
