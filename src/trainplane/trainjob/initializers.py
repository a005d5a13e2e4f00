"""The dataset and model initializers: where to fetch from, with which variables and which Secret."""

from trainplane.api.roles import Role
from trainplane.trainjob.empty import spelled
from trainplane.trainjob.overrides import position
from trainplane.trainjob.plan import POD, Plan, Source
from trainplane.trainjob.tree import at


def initializers(plan: Plan) -> Plan:
    """A TrainJob's initializer settings reach the container of the job that plays that part."""
    for what, role in (("dataset", plan.roles.dataset_initializer), ("model", plan.roles.model_initializer)):
        if role:
            plan = initializer(plan, what, role)
    return plan


def initializer(plan: Plan, what: str, role: Role) -> Plan:
    """One initializer: STORAGE_URI, its variables, and the Secret's keys as variables."""
    plan = plan.with_value(
        ("spec", "replicatedJobs", role.index, "replicas"),
        1,
        source=Source("", note="an initializer is one Job"),
    )
    where = ("spec", "initializer", what)
    given = at(plan.raw_job, where)
    if given is None or role.container is None:
        return plan
    container = role.container.name
    if given.get("storageUri") is not None:
        variable = {"name": "STORAGE_URI", "value": given["storageUri"]}
        source = Source("job", (*where, "storageUri"))
        plan = plan.with_env(role.index, container, [variable], source=source, of=("value",))
    for i, variable in enumerate(given.get("env") or ()):
        plan = plan.with_env(role.index, container, [spelled(variable)], source=Source("job", (*where, "env", i)))
    if given.get("secretRef"):
        path = ("spec", "containers", position(plan, role, container), "envFrom")
        sources = at(plan.replicated_jobs[role.index], (*POD, *path)) or []
        plan = plan.with_pod(
            role.index,
            path,
            [*sources, {"secretRef": given["secretRef"]}],
            source=Source("job", (*where, "secretRef")),
            of=(len(sources), "secretRef"),
        )
    return plan
