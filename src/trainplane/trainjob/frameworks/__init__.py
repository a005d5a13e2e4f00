"""The step that starts a framework: what torch, MPI, JAX or XGBoost needs to find its peers."""

from typing import assert_never

from msgspec import UnsetType

from trainplane.api.policies import JAX, MPI, Flux, Torch, XGBoost
from trainplane.api.problem import Problem
from trainplane.trainjob.frameworks import jax, mpi, plain, torch, xgboost
from trainplane.trainjob.plan import Plan
from trainplane.trainjob.runtime_rules import FLUX


def framework(plan: Plan) -> Plan:
    """What the runtime's policy asks for, on the pods; plain containers where it names no framework."""
    policy = plan.runtime.ml_policy
    chosen = None if isinstance(policy, UnsetType) else policy.framework
    match chosen:
        case None:
            return plain.prepare(plan)
        case Torch():
            return torch.prepare(plan, chosen)
        case MPI():
            return mpi.prepare(plan, chosen)
        case JAX():
            return jax.prepare(plan)
        case XGBoost():
            return xgboost.prepare(plan)
        case Flux():
            path = ("spec", "mlPolicy", "flux")
            todo = "use mpi, which starts the same programs with mpirun"
            return plan.with_problem(Problem(FLUX, path, "Trainplane does not run Flux", todo))
        case _:
            assert_never(chosen)
