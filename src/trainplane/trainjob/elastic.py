"""Elastic torch jobs: nodes may come and go between two bounds, workers may be started again, metrics may decide."""

from msgspec import UnsetType

from trainplane.api.meta import Raw
from trainplane.api.policies import ElasticPolicy, Torch
from trainplane.api.problem import Path, Problem
from trainplane.api.trainer import API_VERSION
from trainplane.trainjob.framework_rules import ELASTIC_WITHOUT_RESTARTS
from trainplane.trainjob.frameworks.torch import injected
from trainplane.trainjob.frameworks.variables import PORT, Variable, address, env_of, inject, with_env_list
from trainplane.trainjob.nodes import elastic_policy
from trainplane.trainjob.plan import Plan, Source
from trainplane.trainjob.template import companion
from trainplane.trainjob.tree import at

POLICY: Path = ("spec", "mlPolicy", "torch", "elasticPolicy")
RESERVED = (
    "PET_RDZV_BACKEND",
    "PET_RDZV_ID",
    "PET_RDZV_ENDPOINT",
    "PET_MAX_RESTARTS",
    "TORCH_DISABLE_SHARE_RDZV_TCP_STORE",
)
"""The variables that an elastic policy sets beside torch's own, and that a TrainJob therefore may not."""
FIXED = ("PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT")
"""What belongs to a rendezvous of a fixed size: with c10d, ranks are dealt at every meeting, at the endpoint."""


def elastic(plan: Plan) -> Plan:
    """The Plan with torchrun's bounds, rendezvous and restarts, the JobSet's restarts, and an autoscaler."""
    policy = elastic_policy(plan)
    trainer = plan.roles.trainer
    if policy is None or trainer is None:
        return plan
    resizes = plan.size.min_nodes is not None
    variables = (*(meeting(plan) if resizes else ()), *restarts(policy))
    for job, container in containers(plan):
        plan = inject(plan, job, container, variables=variables)
        if resizes:
            env = [e for e in env_of(plan, job, container) if e.get("name") not in FIXED]
            plan = with_env_list(plan, job, container, env)
    plan = with_failure_policy(plan, policy)
    if resizes and isinstance(policy.max_restarts, UnsetType):
        what = "the workers that are left when a node goes away are not started again"
        plan = plan.with_problem(Problem(ELASTIC_WITHOUT_RESTARTS, POLICY, what, "add maxRestarts, such as 3"))
    return with_autoscaler(plan) if resizes else plan


def containers(plan: Plan) -> list[tuple[int, str]]:
    """The containers that have torchrun's variables: the trainer's, and those of envInjection."""
    policy = plan.runtime.ml_policy
    torch = None if isinstance(policy, UnsetType) else policy.framework
    trainer = plan.roles.trainer
    own = [(trainer.index, trainer.container.name)] if trainer and trainer.container else []
    return [*own, *(injected(plan, torch) if isinstance(torch, Torch) else ())]


def meeting(plan: Plan) -> tuple[Variable, ...]:
    """Where and between how many nodes torchrun meets, again and again."""
    trainer = plan.roles.trainer
    if trainer is None:
        return ()
    host, where = address(plan, trainer)
    bounds = f"{plan.size.min_nodes}:{plan.size.max_nodes}"
    changing = Source("", note="a rendezvous that nodes may join and leave")
    return (
        Variable("PET_NNODES", bounds, Source("runtime", POLICY, f"between {bounds.replace(':', ' and ')} nodes")),
        Variable("PET_RDZV_BACKEND", "c10d", changing),
        Variable("PET_RDZV_ID", plan.name, Source("job", ("metadata", "name"))),
        Variable("PET_RDZV_ENDPOINT", f"{host}:{PORT}", where),
        # With the shared store a node that comes back waits for an address that nobody tells it again.
        Variable("TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "1", Source("", note="so that nodes can come back")),
    )


def restarts(policy: ElasticPolicy) -> tuple[Variable, ...]:
    """How often torchrun starts its workers again."""
    if isinstance(policy.max_restarts, UnsetType):
        return ()
    return (Variable("PET_MAX_RESTARTS", str(policy.max_restarts), Source("runtime", (*POLICY, "maxRestarts"))),)


def with_failure_policy(plan: Plan, policy: ElasticPolicy) -> Plan:
    """The Plan with as many restarts of the JobSet, where the template does not say how many."""
    if isinstance(policy.max_restarts, UnsetType):
        return plan
    path = ("spec", "failurePolicy", "maxRestarts")
    if at(plan.jobset, path) is not None:
        return plan
    return plan.with_value(path, policy.max_restarts, source=Source("runtime", (*POLICY, "maxRestarts")))


def with_autoscaler(plan: Plan) -> Plan:
    """The Plan with an autoscaler of the TrainJob, where the policy names metrics."""
    metrics = at(plan.raw_runtime, (*POLICY, "metrics"))
    if not metrics:
        return plan
    spec: Raw = {
        "scaleTargetRef": {"apiVersion": API_VERSION, "kind": "TrainJob", "name": plan.name},
        "minReplicas": plan.size.min_nodes,
        "maxReplicas": plan.size.max_nodes,
        "metrics": metrics,
    }
    raw = companion(plan, api_version="autoscaling/v2", kind="HorizontalPodAutoscaler", name=plan.name, spec=spec)
    return plan.with_companion(raw, source=Source("", note="elasticPolicy.metrics decide the size within the bounds"))
