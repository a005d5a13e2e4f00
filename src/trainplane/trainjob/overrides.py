"""What a TrainJob says of the trainer's container goes into the template: image, command, args, env, resources."""

from typing import Any

from msgspec import UnsetType

from trainplane.api.roles import Role
from trainplane.trainjob.empty import spelled
from trainplane.trainjob.nodes import launcher_trains, mpi
from trainplane.trainjob.plan import POD, Plan, Source
from trainplane.trainjob.tree import at


def targets(plan: Plan) -> list[tuple[Role, str]]:
    """The jobs and containers that a TrainJob's env and resources reach.

    With MPI it is the launcher, and the workers too when the launcher counts as one of them.
    """
    roles = plan.roles
    entry = roles.ancestor
    found = [entry] if entry else []
    if mpi(plan) and roles.trainer and roles.trainer is not entry and launcher_trains(plan):
        found.append(roles.trainer)
    return [(role, role.container.name) for role in found if role.container]


def command(plan: Plan) -> Plan:
    """The TrainJob's image, command and args take the place of the template's; an empty list clears it."""
    entry = plan.roles.ancestor
    trainer = at(plan.raw_job, ("spec", "trainer")) or {}
    if entry is None:
        return plan
    plan = plan.with_value(
        ("spec", "replicatedJobs", entry.index, "replicas"),
        1,
        source=Source("", note="the trainer is one Job, whose pods are the nodes"),
    )
    if entry.container is None:
        return plan
    index = position(plan, entry, entry.container.name)
    for field in ("image", "command", "args"):
        if trainer.get(field) == []:
            plan = plan.without(entry.index, ("spec", "containers", index), field)
        elif trainer.get(field) is not None:
            plan = plan.with_pod(
                entry.index,
                ("spec", "containers", index, field),
                trainer[field],
                source=Source("job", ("spec", "trainer", field)),
            )
    return plan


def user_env(plan: Plan) -> Plan:
    """The TrainJob's variables join the template's; one of the same name takes its place."""
    given = at(plan.raw_job, ("spec", "trainer", "env")) or []
    for role, container in targets(plan):
        for i, variable in enumerate(given):
            source = Source("job", ("spec", "trainer", "env", i))
            plan = plan.with_env(role.index, container, [spelled(variable)], source=source)
    return plan


def resources(plan: Plan) -> Plan:
    """The TrainJob's resources join the template's, resource by resource; limits and requests apart."""
    given: dict[str, Any] = at(plan.raw_job, ("spec", "trainer", "resourcesPerNode")) or {}
    if isinstance(plan.runtime.ml_policy, UnsetType):
        return plan
    for role, container in targets(plan):
        index = position(plan, role, container)
        for what in ("limits", "requests"):
            for name, amount in (given.get(what) or {}).items():
                plan = plan.with_pod(
                    role.index,
                    ("spec", "containers", index, "resources", what, name),
                    amount,
                    source=Source("job", ("spec", "trainer", "resourcesPerNode", what, name)),
                )
        for i, claim in enumerate(given.get("claims") or ()):
            plan = plan.with_items(
                role.index,
                ("spec", "containers", index, "resources", "claims"),
                [claim],
                source=Source("job", ("spec", "trainer", "resourcesPerNode", "claims", i)),
            )
    return plan


def position(plan: Plan, role: Role, container: str) -> int:
    """Where the container stands in its pod; patches may have moved it."""
    containers = at(plan.replicated_jobs[role.index], (*POD, "spec", "containers")) or []
    return next(i for i, c in enumerate(containers) if c.get("name") == container)
