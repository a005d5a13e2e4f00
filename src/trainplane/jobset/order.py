"""dependsOn and startupPolicy: when the Jobs of a replicated job may be made, and when they may run."""

from collections.abc import Iterator, Mapping
from datetime import datetime

from trainplane.api.jobset import STARTUP_POLICY_COMPLETED, STARTUP_POLICY_IN_PROGRESS
from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.jobset.children import Children, job_restarts
from trainplane.jobset.fields import is_in_order, is_suspended, replicas, replicated_jobs
from trainplane.jobset.jobs import job, job_name
from trainplane.jobset.status import Outcome, counts_of
from trainplane.reconcile.decision import Create

CREATION_FAILED = "JobCreationFailed"
IN_PROGRESS = (
    STARTUP_POLICY_IN_PROGRESS,
    "True",
    "InOrderStartupPolicyInProgress",
    "in order startup policy is in progress",
)
COMPLETED = (
    STARTUP_POLICY_COMPLETED,
    "True",
    "InOrderStartupPolicyCompleted",
    "in order startup policy has completed",
)


def has_started(replicated_job: Raw, counts: Mapping[str, Raw]) -> bool:
    """Whether every Job of a replicated job is ready or has ended."""
    found = counts.get(replicated_job["name"])
    return found is not None and replicas(replicated_job) == found["failed"] + found["ready"] + found["succeeded"]


def has_succeeded(replicated_job: Raw, counts: Mapping[str, Raw]) -> bool:
    """Whether every Job of a replicated job has succeeded."""
    found = counts.get(replicated_job["name"])
    return found is not None and replicas(replicated_job) == found["succeeded"]


def may_start(jobset: Raw, replicated_job: Raw, counts: Mapping[str, Raw]) -> bool:
    """Whether everything that a replicated job waits for has come so far."""
    others = {one["name"]: one for one in replicated_jobs(jobset)}
    for dependency in replicated_job.get("dependsOn") or ():
        other = others.get(dependency["name"])
        reached = has_succeeded if dependency["status"] == "Complete" else has_started
        if other is None or not reached(other, counts):
            return False
    return True


def absent(jobset: Raw, replicated_job: Raw, children: Children) -> Iterator[int]:
    """The indexes whose Job is not there; none while BlockingRecreate waits for the last run to go."""
    strategy = look(jobset, "spec", "failurePolicy", "restartStrategy")
    if strategy == "BlockingRecreate" and children.previous:
        return
    taken = children.names
    for index in range(replicas(replicated_job)):
        if job_name(jobset, replicated_job, index) not in taken:
            yield index


def create_missing(
    jobset: Raw, children: Children, said: Outcome, *, now: datetime, restart_job: bool
) -> tuple[list[Create], Outcome]:
    """The Jobs to make now, in the order of the spec, and what is said of the order."""
    counts = counts_of(said.status)
    # A suspended JobSet makes all its Jobs, suspended; which of them go first is decided when it is resumed.
    in_order = is_in_order(jobset) and not is_suspended(jobset)
    made: list[Create] = []
    for one in replicated_jobs(jobset):
        if not may_start(jobset, one, counts) or (in_order and has_started(one, counts)):
            continue
        restarts = job_restarts(said.status, one["name"]) if restart_job else None
        made += [
            Create(job(jobset, one, index, restarts=restarts), complaint=CREATION_FAILED)
            for index in absent(jobset, one, children)
        ]
        if in_order:
            return made, said.having(IN_PROGRESS, now)
    return made, said.having(COMPLETED, now) if in_order else said
