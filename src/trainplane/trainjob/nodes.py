"""How many pods each replicated job has: the node count of the TrainJob or its runtime, or what the template says."""

from typing import Any

from msgspec import UnsetType

from trainplane.api.meta import Raw, or_else
from trainplane.api.policies import MPI, ElasticPolicy, Torch
from trainplane.api.problem import Path
from trainplane.api.roles import Found
from trainplane.trainjob.plan import Plan, Source
from trainplane.trainjob.tree import at, element_keys, put

COUNT: Path = ("template", "spec", "parallelism")
JOBS: Path = ("spec", "template", "spec", "replicatedJobs")
JOB_NODES: Path = ("spec", "trainer", "numNodes")
RUNTIME_NODES: Path = ("spec", "mlPolicy", "numNodes")
LEAST_NODES: Path = ("spec", "mlPolicy", "torch", "elasticPolicy", "minNodes")


def nodes(plan: Plan) -> Plan:
    """Every replicated job gets its pod count as parallelism and completions; the trainer's is the node count."""
    count, source = node_count(plan)
    plan = plan.with_size(nodes=hosts(plan, count), **bounds(plan))
    jobs: list[Raw] = []
    reads: list[tuple[Path, Source]] = []
    keys = element_keys(plan.replicated_jobs, "replicatedJobs")
    for index, (key, job) in enumerate(zip(keys, plan.replicated_jobs, strict=True)):
        pods, read = pod_count(plan, index, count=count, source=source)
        spec = at(job, ("template", "spec")) or {}
        jobs.append(put(job, ("template", "spec"), {**spec, "parallelism": pods, "completions": pods}))
        reads += [
            (("spec", "replicatedJobs", key, "template", "spec", field), read)
            for field in ("parallelism", "completions")
        ]
    # One write for all jobs: a hundred must not cost a hundred times a hundred.
    return plan.with_value(("spec", "replicatedJobs"), jobs).with_reads(reads) if jobs else plan


def node_count(plan: Plan) -> tuple[int, Source]:
    """The size to start with: the TrainJob's, the runtime's, the least of an elastic job, the template's, or 1."""
    for document, raw, path in (
        ("job", plan.raw_job, JOB_NODES),
        ("runtime", plan.raw_runtime, RUNTIME_NODES),
        ("runtime", plan.raw_runtime, LEAST_NODES),
    ):
        value = at(raw, path)
        if value is not None:
            return int(value), Source(document, path)
    trainer = plan.roles.trainer
    policy = plan.runtime.ml_policy
    if trainer and (isinstance(policy, UnsetType) or mpi(plan)):
        written = at(plan.replicated_jobs[trainer.index], COUNT)
        if written is not None:
            return max(int(written), 1), Source("runtime", (*JOBS, trainer.index, *COUNT))
    return 1, Source("", note="one node where neither the TrainJob nor its runtime says how many")


def pod_count(plan: Plan, index: int, *, count: int, source: Source) -> tuple[int, Source]:
    """The pods of one replicated job, and where that number was read."""
    trainer = plan.roles.trainer
    if trainer and index == trainer.index:
        if launcher_trains(plan) and source.path in (JOB_NODES, RUNTIME_NODES):
            note = f"{count} nodes, of which the launcher is one"
            return max(count - 1, 1), Source(source.document, source.path, note)
        return count, source
    launcher = plan.roles.launcher
    if launcher and index == launcher.index and launcher.found is Found.LABEL:
        return 1, Source("", note="one launcher, for each would start an mpirun of its own")
    written: Any = at(plan.replicated_jobs[index], COUNT)
    if written is None:
        return 1, Source("", note="one pod where the template does not say how many")
    return max(int(written), 1), Source("runtime", (*JOBS, index, *COUNT))


def hosts(plan: Plan, count: int) -> int:
    """The nodes that train: with a launcher that trains too, the workers and the launcher."""
    trainer = plan.roles.trainer
    if trainer is None:
        return count
    replicas = int(plan.replicated_jobs[trainer.index].get("replicas", 1))
    if launcher_trains(plan):
        asked = at(plan.raw_job, JOB_NODES) or at(plan.raw_runtime, RUNTIME_NODES)
        return (max(count - 1, 1) if asked else count) * replicas + 1
    return count * replicas


def mpi(plan: Plan) -> MPI | None:
    """The MPI policy, if this is an MPI runtime."""
    policy = plan.runtime.ml_policy
    framework = None if isinstance(policy, UnsetType) else policy.framework
    return framework if isinstance(framework, MPI) else None


def launcher_trains(plan: Plan) -> bool:
    """Whether the launcher counts as a node."""
    policy = mpi(plan)
    return bool(policy and or_else(policy.run_launcher_as_node, default=False) and plan.roles.launcher)


def elastic_policy(plan: Plan) -> ElasticPolicy | None:
    """The elastic policy, if the runtime has one."""
    policy = plan.runtime.ml_policy
    torch = None if isinstance(policy, UnsetType) else policy.framework
    if not isinstance(torch, Torch) or isinstance(torch.elastic_policy, UnsetType):
        return None
    return torch.elastic_policy


def bounds(plan: Plan) -> dict[str, int | None]:
    """Between which sizes an elastic job may change; neither where it only restarts."""
    policy = elastic_policy(plan)
    if policy is None:
        return {}
    low, high = policy.min_nodes, policy.max_nodes
    if isinstance(low, UnsetType) or isinstance(high, UnsetType):
        return {}
    return {"min_nodes": low, "max_nodes": high}
