"""What lint says of a TrainJob on its runtime once both are rendered: every problem of the pipeline, and more."""

from collections.abc import Iterator
from datetime import UTC, datetime

from msgspec import ValidationError

from trainplane.api.loose import integer_at, object_at, objects_at
from trainplane.api.meta import Raw
from trainplane.api.problem import Path, Problem, Severity
from trainplane.api.raw import look
from trainplane.api.roles import roles_of
from trainplane.trainjob import advise, default, pair_rules, plan_rules, pod_rules, validate
from trainplane.trainjob import container as container_rules
from trainplane.trainjob.arguments import Wanted, contradictions
from trainplane.trainjob.checkpoints import begins_anew, checkpoints
from trainplane.trainjob.misplaced import JOBS, POD
from trainplane.trainjob.pipeline import Refused, build
from trainplane.trainjob.plan import Plan
from trainplane.trainjob.processes import merged
from trainplane.trainjob.validate import POLICY

WHEN = datetime(2000, 1, 1, tzinfo=UTC)
"""The time of what is rendered to be looked at: nothing of it is kept."""
GANGS = (plan_rules.GANG_DEADLOCK, plan_rules.GANG_TOO_LARGE, plan_rules.GANG_TOO_SMALL)
OF_RUNTIMES = ("mlPolicy", "podGroupPolicy", "template")
"""What only a runtime's spec has: a problem there is the runtime's."""

TRAINER: Path = ("spec", "trainer")


def is_runtimes(problem: Problem) -> bool:
    """Whether a problem of a pair is at a place of the runtime."""
    return problem.path[:1] == ("spec",) and len(problem.path) > 1 and problem.path[1] in OF_RUNTIMES


def gangs(runtime: Raw) -> Iterator[Problem]:
    """Gangs of a runtime that a TrainJob which says nothing more could not start."""
    # Without a node count of its own the runtime leaves the size of its gang to the TrainJob.
    told = GANGS if validate.node_count(runtime) is not None else GANGS[:1]
    yield from (problem for problem in rendered(_any(runtime), runtime) if problem.rule in told)


def alone(runtime: Raw) -> Iterator[Problem]:
    """What a TrainJob which says nothing more would hear, of a runtime that comes without one."""
    if begins_anew(runtime):
        found = rendered(_any(runtime), runtime)
        yield from (problem for problem in found if problem.rule is pair_rules.NO_CHECKPOINTS)


def _any(runtime: Raw) -> Raw:
    """A TrainJob that says no more than which runtime it is on."""
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "any"},
        "spec": {
            "runtimeRef": {"name": str(look(runtime, "metadata", "name") or "runtime")},
            "trainer": {"image": "any"},
        },
    }


def pair(job: Raw, runtime: Raw) -> Iterator[Problem]:
    """Everything to say of a TrainJob on its runtime, both without errors of their own; paths are either's."""
    on = default.runtime(runtime)
    said = list(settings(default.trainjob(job, now=WHEN, on=on), on))
    yield from said
    if not any(problem.severity is Severity.ERROR for problem in said):
        yield from rendered(job, runtime)


def settings(job: Raw, runtime: Raw) -> Iterator[Problem]:
    """What shows before anything is rendered; both are defaulted."""
    yield from validate.pair(job, runtime)
    yield from advise.pair(job, runtime)
    yield from _without_effect(job, runtime)
    yield from _resources(job, runtime)
    yield from _processes(job, runtime)


def rendered(job: Raw, runtime: Raw) -> Iterator[Problem]:
    """What only rendering the job shows."""
    on = default.runtime(runtime)
    try:
        plan = build(default.trainjob(job, now=WHEN, on=on), on)
    except Refused as refused:
        yield from refused.problems
        return
    except ValidationError:
        return  # a shape that the schema has spoken about
    yield from plan.problems
    yield from arguments(plan, job)
    yield from checkpoints(plan)


def arguments(plan: Plan, job: Raw) -> Iterator[Problem]:
    """Numbers in the arguments that differ from the job's size, where the TrainJob as written has a part in either."""
    trainer = object_at(job, *TRAINER)
    policy = object_at(plan.raw_runtime, *POLICY)
    role = plan.roles.ancestor if policy.get("mpi") is not None else plan.roles.trainer
    if role is None or role.container is None:
        return
    written = bool(trainer.get("args") or trainer.get("command"))
    if not written and not any(trainer.get(field) for field in ("numNodes", "numProcPerNode", "resourcesPerNode")):
        return  # what the runtime says against itself is said of the runtime
    container = plan.container(role.index, role.container.name) or {}
    for found in contradictions(container, _wanted(plan, mpi=policy.get("mpi") is not None)):
        what = f"the arguments say {found.flag} {found.said}, and this job has {found.wanted}"
        path: Path = ("spec", "runtimeRef")
        if trainer.get(str(found.word[0])) is not None:
            path = (*TRAINER, *found.word)
        elif trainer.get("numNodes") is not None:
            path = (*TRAINER, "numNodes")
        todo = "leave the number out of the arguments, or let both say the same"
        yield Problem(pair_rules.ARGUMENTS_AND_SIZE, path, what, todo)


def _wanted(plan: Plan, *, mpi: bool) -> Wanted:
    size = plan.size
    if mpi:
        return Wanted(ranks=str(size.world), note=f"{size.nodes} nodes of {size.procs_known}")
    nodes = str(size.nodes) if size.min_nodes is None else f"{size.min_nodes}:{size.max_nodes}"
    return Wanted(nodes=nodes, procs=size.procs if size.procs.isdecimal() else "")


def _without_effect(job: Raw, runtime: Raw) -> Iterator[Problem]:
    policy = look(runtime, *POLICY)
    trainer = object_at(job, *TRAINER)
    if trainer.get("numProcPerNode") is not None and not any(
        object_at(policy).get(f) is not None for f in ("torch", "mpi")
    ):
        named = next((name for name in ("jax", "xgboost") if object_at(policy).get(name) is not None), "plain")
        what = f"the runtime is one of {named}, which does not count processes on a node"
        path = (*TRAINER, "numProcPerNode")
        yield Problem(pair_rules.PROCESSES_WITHOUT_EFFECT, path, what, "remove it, or use a runtime of torch or MPI")
    if policy is None and trainer.get("resourcesPerNode"):
        what = "the runtime has no mlPolicy, so its pods keep the resources of the template"
        todo = "give the runtime an mlPolicy, or patch the container's resources"
        yield Problem(pair_rules.RESOURCES_WITHOUT_EFFECT, (*TRAINER, "resourcesPerNode"), what, todo)
    if integer_at(job, "spec", "activeDeadlineSeconds") is not None:
        for _, replicated in objects_at(runtime, *JOBS):
            limit = integer_at(replicated, "template", "spec", "activeDeadlineSeconds")
            if limit is not None:
                what = f"the runtime's job {replicated.get('name')} has a deadline of its own, {limit} seconds"
                todo = "keep one of them, unless that stage alone shall have a limit"
                yield Problem(pair_rules.DEADLINE_TWICE, ("spec", "activeDeadlineSeconds"), what, todo)


def _processes(job: Raw, runtime: Raw) -> Iterator[Problem]:
    """Where `auto` has nothing to count."""
    path: Path = (*POLICY, "torch", "numProcPerNode")
    if look(runtime, *path) != "auto" or look(job, *TRAINER, "numProcPerNode") is not None:
        return
    role = roles_of(runtime).trainer
    given = [object_at(job, *TRAINER, "resourcesPerNode")]
    if role and role.container:
        given.append(object_at(runtime, *JOBS, role.index, *POD, "containers", role.container.index, "resources"))
    if role and not any(resources.get(what) for resources in given for what in ("limits", "requests")):
        what = "auto counts GPUs or CPUs, and nobody asks for any: one process runs on each node"
        todo = "ask for GPUs or CPUs in spec.trainer.resourcesPerNode, or set spec.trainer.numProcPerNode"
        place: Path = TRAINER if object_at(job, *TRAINER) else ("spec", "runtimeRef")
        yield Problem(pod_rules.ONE_PROCESS, place, what, todo)


def _resources(job: Raw, runtime: Raw) -> Iterator[Problem]:
    """Requests of the TrainJob that do not go with the limits of the runtime's template, or the other way."""
    path: Path = (*TRAINER, "resourcesPerNode")
    given = object_at(job, *path)
    role = roles_of(runtime).ancestor
    if not given or role is None or role.container is None or look(runtime, *POLICY) is None:
        return
    container = (*JOBS, role.index, *POD, "containers", role.container.index, "resources")
    for problem in container_rules.resources(merged([object_at(runtime, *container), given]), path):
        own = {own.path for own in container_rules.resources(given, path, whole=False)}
        if problem.path not in own:
            yield Problem(problem.rule, path, f"with the runtime's, {problem.what}", problem.todo)
