"""Environment variables of a framework: how they join those of the template and of the TrainJob."""

from collections.abc import Iterable

import msgspec

from trainplane.api.meta import Raw
from trainplane.api.problem import Path
from trainplane.api.roles import Role
from trainplane.trainjob.nodes import JOBS, node_count
from trainplane.trainjob.plan import POD, Plan, Source
from trainplane.trainjob.tree import at, keyed, upsert

PORT = 29500
"""Where the first node listens for the others."""
POD_NUMBER = "metadata.annotations['batch.kubernetes.io/job-completion-index']"


class Variable(msgspec.Struct, frozen=True):
    """One variable that a framework sets."""

    name: str
    value: str
    source: Source
    from_pod: bool = False
    """Whether `value` is a field of the pod, filled in where it runs."""
    gives_way: bool = False
    """Whether the template's own value stays."""

    @property
    def entry(self) -> Raw:
        """The variable as a container has it."""
        if self.from_pod:
            return {"name": self.name, "valueFrom": {"fieldRef": {"fieldPath": self.value}}}
        return {"name": self.name, "value": self.value}

    @property
    def leaf(self) -> Path:
        """Where the value stands in the entry."""
        return ("valueFrom", "fieldRef", "fieldPath") if self.from_pod else ("value",)


def inject(plan: Plan, job: int, container: str, *, variables: Iterable[Variable], before_users: bool = False) -> Plan:
    """The Plan with the variables set in a container; those that the TrainJob sets itself stay as they are.

    `before_users` puts them behind the template's variables and before the TrainJob's.
    """
    env = env_of(plan, job, container)
    users = {variable.get("name") for variable in at(plan.raw_job, ("spec", "trainer", "env")) or ()}
    here = {entry.get("name") for entry in env}
    variables = tuple(variables)
    new = [v for v in variables if v.name not in users and not (v.gives_way and v.name in here)]
    if not new:
        return plan
    for variable in new:
        env, _ = upsert(env, variable.entry, key="name")
    if before_users and users:
        places = {v.name: i for i, v in enumerate(variables, start=1)}
        places.update((entry.get("name", ""), 0) for entry in template_env(plan, job, container))
        env = sorted(env, key=lambda entry: places.get(entry.get("name", ""), len(variables) + 1))
    # One write for all of them, with a source for each value: rendering spends most of its time in writes.
    plan = with_env_list(plan, job, container, env)
    if plan.reads is None:
        return plan
    where = ("spec", "replicatedJobs", job, *POD, *place_of(plan, job, container), "env")
    known = keyed(plan.jobset, where)
    return plan.with_reads(((*known, v.name, *v.leaf), v.source) for v in new)


def env_of(plan: Plan, job: int, container: str) -> list[Raw]:
    """The variables of a container as they stand now."""
    env: list[Raw] = at(plan.replicated_jobs[job], (*POD, *place_of(plan, job, container), "env")) or []
    return env


def template_env(plan: Plan, job: int, container: str) -> list[Raw]:
    """The variables that the runtime's template gives the container."""
    name = plan.replicated_jobs[job]["name"]
    for template in at(plan.raw_runtime, JOBS) or ():
        if template.get("name") == name:
            for kind in ("containers", "initContainers"):
                for one in at(template, (*POD, "spec", kind)) or ():
                    if one.get("name") == container:
                        return one.get("env") or []
    return []


def with_env_list(plan: Plan, job: int, container: str, env: list[Raw]) -> Plan:
    """The Plan with another list of variables in a container."""
    return plan.with_pod(job, (*place_of(plan, job, container), "env"), env)


def place_of(plan: Plan, job: int, container: str) -> Path:
    """The path of a container in its pod; raises LookupError where there is none."""
    for kind in ("containers", "initContainers"):
        for i, one in enumerate(at(plan.replicated_jobs[job], (*POD, "spec", kind)) or ()):
            if one.get("name") == container:
                return ("spec", kind, i)
    raise LookupError(f"replicated job {job} has no container {container!r}")


def rank(name: str) -> Variable:
    """The variable that tells a node which one it is."""
    return Variable(name, POD_NUMBER, Source("", note="the pod's number in its Job"), from_pod=True)


def address(plan: Plan, trainer: Role) -> tuple[str, Source]:
    """The name of the first node, where the others meet."""
    return plan.host(trainer.index), Source("", note=f"the first pod of the job {trainer.name}")


def pods(plan: Plan, trainer: Role) -> tuple[int, Source]:
    """How many pods the trainer has as rendered, and where that was read."""
    count = int(at(plan.replicated_jobs[trainer.index], ("template", "spec", "parallelism")) or 1)
    return count, node_count(plan)[1]
