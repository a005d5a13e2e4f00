"""XGBoost: each worker knows the tracker, how many workers there are, and which one it is."""

from trainplane.trainjob.frameworks.variables import PORT, Variable, address, inject, pods, rank
from trainplane.trainjob.plan import Plan, Source
from trainplane.trainjob.processes import gpus, resources_of

RESERVED = ("DMLC_TRACKER_URI", "DMLC_TRACKER_PORT", "DMLC_TASK_ID", "DMLC_NUM_WORKER")


def prepare(plan: Plan) -> Plan:
    """The Plan with the DMLC_* variables and the tracker's port: a worker for each GPU, or one on each node."""
    trainer = plan.roles.trainer
    if trainer is None:
        return plan
    nodes, _ = pods(plan, trainer)
    workers = gpus(resources_of(plan, trainer)) or 1
    plan = plan.with_size(nodes=nodes, procs=str(workers), procs_known=workers)
    if trainer.container is None:
        return plan
    host, where = address(plan, trainer)
    size = Source("", note=f"{nodes} nodes × {workers} workers")
    variables = (
        Variable("DMLC_TRACKER_URI", host, where),
        Variable("DMLC_TRACKER_PORT", str(PORT), Source("", note="the port that frameworks meet on")),
        rank("DMLC_TASK_ID"),
        Variable("DMLC_NUM_WORKER", str(nodes * workers), size),
    )
    plan = inject(plan, trainer.index, trainer.container.name, variables=variables)
    return plan.with_port(trainer.index, trainer.container.name, PORT)
