"""The launcher of an MPI runtime that says little: it waits for its workers, and the job ends with it."""

import shlex
from collections.abc import Sequence

from msgspec import structs

from trainplane.api.meta import Raw
from trainplane.api.problem import Problem
from trainplane.api.roles import Role, Roles, Stage
from trainplane.trainjob.framework_rules import DONE_WITH_THE_LAUNCHER, LAUNCHER_AFTER_WORKERS
from trainplane.trainjob.nodes import JOBS
from trainplane.trainjob.overrides import position
from trainplane.trainjob.plan import Plan, Source
from trainplane.trainjob.tree import at

SSH_PORT = 22
_TAKES_A_VALUE = frozenset("CcEfghkNoPpuTt")
"""The options of sshd that are followed by a value."""


def start_behind(plan: Plan) -> Plan:
    """The Plan with a launcher that starts when the workers are ready, where its runtime gives it no dependsOn."""
    trainer, launcher = plan.roles.trainer, plan.roles.launcher
    in_order = at(plan.jobset, ("spec", "startupPolicy", "startupPolicyOrder")) == "InOrder"
    if trainer is None or launcher is None or in_order or plan.replicated_jobs[launcher.index].get("dependsOn"):
        return plan
    if any(waits_for(job, launcher.name) for job in plan.replicated_jobs[: trainer.index + 1]):
        return plan  # the author has another order in mind
    written = launcher.index
    moved = launcher.index < trainer.index
    if moved:
        plan = behind(plan, launcher, trainer)
    plan = plan.with_value(
        ("spec", "replicatedJobs", _launcher(plan).index, "dependsOn"),
        [{"name": trainer.name, "status": "Ready"}],
        source=Source("", note="mpirun needs workers that answer"),
    )
    how = ", and is moved behind them" if moved else ""
    what = f"the job {launcher.name} waits until all pods of {trainer.name} are ready{how}"
    todo = f"to say so, list it after {trainer.name} with a dependsOn of status Ready"
    plan = plan.with_problem(Problem(LAUNCHER_AFTER_WORKERS, (*JOBS, written), what, todo))
    return ready_when_ssh_answers(plan)


def behind(plan: Plan, launcher: Role, trainer: Role) -> Plan:
    """The Plan with the launcher's job right behind the workers': a JobSet wants what is waited for to come first."""
    order = list(range(len(plan.replicated_jobs)))
    order.remove(launcher.index)
    order.insert(order.index(trainer.index) + 1, launcher.index)
    plan = plan.with_value(("spec", "replicatedJobs"), [plan.replicated_jobs[i] for i in order])
    return plan.but(roles=moved_roles(plan.roles, order))


def waits_for(job: Raw, name: str) -> bool:
    """Whether a replicated job depends on the one of that name."""
    return any(other.get("name") == name for other in job.get("dependsOn") or ())


def moved_roles(roles: Roles, order: Sequence[int]) -> Roles:
    """The roles after their jobs have changed places; `order` has the old place of each."""
    now = {old: new for new, old in enumerate(order)}

    def moved(role: Role | None) -> Role | None:
        return structs.replace(role, index=now[role.index]) if role else None

    return structs.replace(
        roles,
        trainer=moved(roles.trainer),
        launcher=moved(roles.launcher),
        dataset_initializer=moved(roles.dataset_initializer),
        model_initializer=moved(roles.model_initializer),
        stages=tuple(Stage(now[stage.index], stage.name) for stage in roles.stages),
    )


def ready_when_ssh_answers(plan: Plan) -> Plan:
    """The Plan with a probe of the workers' sshd, where its port can be told and the template has no probe."""
    trainer = plan.roles.trainer
    if trainer is None or trainer.container is None:
        return plan
    container = plan.container(trainer.index, trainer.container.name) or {}
    port = sshd_port([*(container.get("command") or ()), *(container.get("args") or ())])
    if port is None or container.get("readinessProbe"):
        return plan
    probe: Raw = {"tcpSocket": {"port": port}, "periodSeconds": 5}
    place = position(plan, trainer, trainer.container.name)
    source = Source("", note=f"a worker is ready when its sshd answers on port {port}")
    return plan.with_pod(trainer.index, ("spec", "containers", place, "readinessProbe"), probe, source=source)


def sshd_port(words: Sequence[str]) -> int | None:
    """The port of the sshd that a command starts; None where it starts none, or a file decides."""
    for i, word in enumerate(words):
        if word.rpartition("/")[2] == "sshd":
            return _port_of(words[i + 1 :])
        if " " in word:
            try:
                found = sshd_port(shlex.split(word, comments=True))
            except ValueError:
                continue
            if found is not None:
                return found
    return None


def _port_of(options: Sequence[str]) -> int | None:
    port: int | None = SSH_PORT
    words = iter(options)
    for word in words:
        if not word.startswith("-"):
            break
        for i, letter in enumerate(word[1:], start=1):
            if letter in _TAKES_A_VALUE:
                value = word[i + 1 :] or next(words, "")
                if letter == "p":
                    return int(value) if value.isdecimal() else None
                if letter == "o" and value.casefold().replace(" ", "=").startswith("port="):
                    number = value[len("port=") :].strip()
                    return int(number) if number.isdecimal() else None
                if letter == "f":
                    port = None
                break
    return port


def finish_with(plan: Plan) -> Plan:
    """The Plan with a JobSet that is complete when the launcher is, where its runtime has no successPolicy."""
    if plan.jobset["spec"].get("successPolicy"):
        return plan
    launcher = _launcher(plan)
    policy = {"operator": "All", "targetReplicatedJobs": [launcher.name]}
    plan = plan.with_value(
        ("spec", "successPolicy"), policy, source=Source("", note="the workers' sshd never ends by itself")
    )
    what = f"the job is complete when {launcher.name} is, because the workers never end by themselves"
    todo = f"to say so, add a successPolicy with operator All and targetReplicatedJobs [{launcher.name}]"
    return plan.with_problem(Problem(DONE_WITH_THE_LAUNCHER, ("spec", "template", "spec"), what, todo))


def _launcher(plan: Plan) -> Role:
    if plan.roles.launcher is None:
        raise LookupError("the runtime has no launcher")
    return plan.roles.launcher
