"""JAX: each node is one process that knows the coordinator, how many there are, and which one it is."""

from trainplane.trainjob.frameworks.variables import PORT, Variable, address, inject, pods, rank
from trainplane.trainjob.plan import Plan

RESERVED: tuple[str, ...] = ()
"""None: a TrainJob's own JAX_* variables win, as in Kubeflow Trainer."""


def prepare(plan: Plan) -> Plan:
    """The Plan with the JAX_* variables and the coordinator's port on the trainer."""
    trainer = plan.roles.trainer
    if trainer is None:
        return plan
    nodes, read = pods(plan, trainer)
    plan = plan.with_size(nodes=nodes, procs="1", procs_known=1)
    if trainer.container is None:
        return plan
    host, where = address(plan, trainer)
    variables = (
        Variable("JAX_NUM_PROCESSES", str(nodes), read),
        rank("JAX_PROCESS_ID"),
        Variable("JAX_COORDINATOR_ADDRESS", f"{host}:{PORT}", where),
    )
    plan = inject(plan, trainer.index, trainer.container.name, variables=variables, before_users=True)
    return plan.with_port(trainer.index, trainer.container.name, PORT)
