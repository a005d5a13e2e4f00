"""torch: the PET_* variables that torchrun reads, and the port where the nodes meet."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import UnsetType

from trainplane.api.loose import objects_at, text_at, texts_at
from trainplane.api.policies import Torch
from trainplane.api.problem import Problem, did_you_mean
from trainplane.trainjob.framework_rules import GPUS_UNDECLARED, INJECTION_NOWHERE
from trainplane.trainjob.frameworks import torchtune
from trainplane.trainjob.frameworks.variables import PORT, Variable, address, inject, pods, rank
from trainplane.trainjob.nodes import JOBS
from trainplane.trainjob.plan import POD, Plan, Source
from trainplane.trainjob.processes import Processes, resolve, resources_of
from trainplane.trainjob.tree import at

RESERVED = ("PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT")

JOB_PROCS = ("spec", "trainer", "numProcPerNode")
RUNTIME_PROCS = ("spec", "mlPolicy", "torch", "numProcPerNode")


def prepare(plan: Plan, policy: Torch) -> Plan:
    """The Plan with torchrun's variables and port on the trainer, and in the containers that envInjection names."""
    trainer = plan.roles.trainer
    if trainer is None:
        return plan
    nodes, _ = pods(plan, trainer)
    procs, read = processes(plan)
    plan = plan.with_size(nodes=nodes, procs=procs.text, procs_known=procs.known)
    if not procs.certain:
        what = f"the container of the job {trainer.name} asks for no GPU to count"
        todo = "ask for GPUs in its limits, or write auto"
        plan = plan.with_problem(Problem(GPUS_UNDECLARED, RUNTIME_PROCS, what, todo))
    variables = rendezvous(plan, read)
    if trainer.container is not None:
        container = trainer.container.name
        if torchtune.wanted(plan.raw_job):
            plan = torchtune.extend(plan, trainer)
            plan = inject(plan, trainer.index, container, variables=variables[:3])
        else:
            plan = inject(plan, trainer.index, container, variables=variables)
        plan = plan.with_port(trainer.index, container, PORT)
    for job, container in injected(plan, policy):
        plan = inject(plan, job, container, variables=variables)
    return plan


def processes(plan: Plan) -> tuple[Processes, Source]:
    """The processes on each node: the TrainJob's number, else what the runtime's policy says, else auto."""
    resources = resources_of(plan, plan.roles.trainer)
    for document, raw, path in (("job", plan.raw_job, JOB_PROCS), ("runtime", plan.raw_runtime, RUNTIME_PROCS)):
        asked = at(raw, path)
        if asked is not None:
            found = resolve(asked, resources)
            return found, Source(document, path, found.note)
    found = resolve("auto", resources)
    return found, Source("", note=found.note)


def rendezvous(plan: Plan, procs: Source) -> tuple[Variable, ...]:
    """What each node must know to meet the others; how many, how large, which one, and where."""
    trainer = plan.roles.trainer
    if trainer is None:
        return ()
    host, where = address(plan, trainer)
    nodes, read = pods(plan, trainer)
    return (
        Variable("PET_NNODES", str(nodes), read),
        Variable("PET_NPROC_PER_NODE", plan.size.procs, procs),
        rank("PET_NODE_RANK"),
        Variable("PET_MASTER_ADDR", host, where),
        Variable("PET_MASTER_PORT", str(PORT), Source("", note="the port that frameworks meet on")),
    )


def injected(plan: Plan, policy: Torch) -> Iterator[tuple[int, str]]:
    """The containers that envInjection names, by job and name; those that are not there are left out."""
    injection = policy.env_injection
    if isinstance(injection, UnsetType) or isinstance(injection.targets, UnsetType):
        return
    trainer = plan.roles.trainer
    own = (trainer.index, trainer.container.name) if trainer and trainer.container else None
    names = [job["name"] for job in plan.replicated_jobs]
    for target in injection.targets:
        if target.job_name not in names:
            continue
        job = names.index(target.job_name)
        there = _containers(plan.replicated_jobs[job])
        yield from ((job, name) for name in target.container_names if name in there and (job, name) != own)


def problems(runtime: Mapping[str, Any]) -> Iterator[Problem]:
    """Targets of envInjection that the runtime does not have; the field is the TrainJob's reference to it."""
    jobs = {text_at(job, "name"): job for _, job in objects_at(runtime, *JOBS)}
    for _, target in objects_at(runtime, "spec", "mlPolicy", "torch", "envInjection", "targets"):
        name = text_at(target, "jobName")
        known = _containers(jobs[name]) if name in jobs else ()
        for _, container in texts_at(target, "containerNames"):
            if container not in known:
                what = f"torch.envInjection names the container {container} of the job {name}, which the runtime lacks"
                near = did_you_mean(container, known) if name in jobs else did_you_mean(name, jobs)
                todo = f"did you mean {near}?" if near else "correct the runtime, or remove the target there"
                yield Problem(INJECTION_NOWHERE, ("spec", "runtimeRef"), what, todo)


def _containers(job: Mapping[str, Any]) -> tuple[str, ...]:
    kinds = ("containers", "initContainers")
    return tuple(text_at(one, "name") for kind in kinds for _, one in objects_at(job, *POD, "spec", kind))
