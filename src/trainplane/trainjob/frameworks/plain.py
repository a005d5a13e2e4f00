"""Plain containers: nothing is injected, and each pod is one process."""

from trainplane.trainjob.plan import Plan

RESERVED: tuple[str, ...] = ()


def prepare(plan: Plan) -> Plan:
    """The Plan as it is, one process on each node."""
    return plan.with_size(procs="1", procs_known=1)
