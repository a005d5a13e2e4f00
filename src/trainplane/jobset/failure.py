"""failurePolicy: what the failure of a Job does to its JobSet."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import NamedTuple

from trainplane.api import batch
from trainplane.api import jobset as words
from trainplane.api.conditions import condition
from trainplane.api.jobset import JOB_INDEX, REPLICATED_JOB_NAME
from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.jobset.children import Unreadable, number
from trainplane.jobset.expressions import occurs
from trainplane.jobset.fields import RESTART_JOB_ACTIONS, label, name_of, replicas, replicated_jobs, rules
from trainplane.jobset.status import Outcome, Told

RESTART_ALL = ("RestartJobSet", "RestartJobSetAndIgnoreMaxRestarts")
COUNTED = ("RestartJobSet", "RestartJob")
"""The actions that maxRestarts limits."""
NO_LONGER_RESTARTING = (words.RESTARTING, "False", "JobSetFailed", "jobset failed")


class Blamed(NamedTuple):
    """The Job a decision is about, and the rule that it met, if it met one."""

    job: Raw
    rule: Raw | None = None

    @property
    def action(self) -> str:
        """What is to be done."""
        return str(self.rule["action"]) if self.rule else "RestartJobSet"


def failed_at(job: Raw) -> datetime | None:
    """When the Job failed; one that failed and does not say when did so before all others."""
    found = condition(job.get("status"), batch.FAILED)
    if found is None or found.get("status") != "True":
        return None
    when = found.get("lastTransitionTime")
    return datetime.fromisoformat(when) if when else datetime.min.replace(tzinfo=UTC)


def first_failed(jobs: Iterable[Raw]) -> Raw | None:
    """The Job that failed before the others; of those that failed in the same second, the first by name."""
    dated = [(when, name_of(job), job) for job in jobs if (when := failed_at(job)) is not None]
    return min(dated, key=lambda found: found[:2])[2] if dated else None


def applies(rule: Raw, job: Raw) -> bool:
    """Whether a rule speaks of this failure: of its reason, its message and its replicated job."""
    found = condition(job.get("status"), batch.FAILED) or {}
    reasons, targets = rule.get("onJobFailureReasons"), rule.get("targetReplicatedJobs")
    patterns = rule.get("onJobFailureMessagePatterns")
    name = label(job, REPLICATED_JOB_NAME)
    return bool(
        (not reasons or found.get("reason") in reasons)
        and (not patterns or any(occurs(pattern, found.get("message") or "") for pattern in patterns))
        and name
        and (not targets or name in targets)
    )


def blame(jobset: Raw, failed: Iterable[Raw]) -> Blamed | None:
    """The first rule that some failure meets, with the earliest such failure; without one, the earliest of all."""
    jobs = list(failed)
    for rule in rules(jobset):
        if (met := first_failed(job for job in jobs if applies(rule, job))) is not None:
            return Blamed(met, rule)
    first = first_failed(jobs)
    return Blamed(first) if first is not None else None


def is_spent(jobset: Raw, status: Raw, *, restart_job: bool) -> bool:
    """Whether no counted restart is left; restarts of single Jobs count with those of all."""
    used = status.get("restartsCountTowardsMax") or 0
    if restart_job:
        for found in status.get("replicatedJobsStatus") or ():
            used += sum(found.get("jobRestartsCountTowardsMax") or ())
    return bool(used >= (look(jobset, "spec", "failurePolicy", "maxRestarts") or 0))


def fail(said: Outcome, reason: str, message: str, *, first: Raw | None, now: datetime) -> Outcome:
    """The status of a JobSet that has failed."""
    new = (words.FAILED, "True", reason, message + naming(first))
    return said.having(new, now).having(NO_LONGER_RESTARTING, now).saying(terminalState=words.FAILED)


def naming(job: Raw | None) -> str:
    """The Job that began it, to be put behind a message."""
    return f" (first failed job: {name_of(job)})" if job else ""


def on_failure(jobset: Raw, failed: tuple[Raw, ...], said: Outcome, *, now: datetime, restart_job: bool) -> Outcome:
    """What becomes of a JobSet some of whose Jobs have failed: one action, also where several failed."""
    if look(jobset, "spec", "failurePolicy") is None:
        message = "jobset failed due to one or more job failures"
        return fail(said, "FailedJobs", message, first=first_failed(failed), now=now)
    blamed = blame(jobset, failed)
    if blamed is None:
        return said
    action = blamed.action
    if action == "FailJobSet":
        message = "applying FailJobSet failure policy action"
        return fail(said, "FailJobSetFailurePolicyAction", message, first=blamed.job, now=now)
    if action in RESTART_JOB_ACTIONS and not restart_job:
        # Admission refuses such a rule; one that came in before the gate was closed is not to be guessed at.
        raise Unreadable(f"the action {action} needs the option restart_job; open it, or make the JobSet anew without")
    if action in COUNTED and is_spent(jobset, said.status, restart_job=restart_job):
        message = "jobset failed due to reaching max number of restarts"
        return fail(said, "ReachedMaxRestarts", message, first=blamed.job, now=now)
    message = f"applying {action} failure policy action{naming(blamed.job)}"
    if action in RESTART_ALL:
        said = restart_all(said, blamed, message=message, now=now)
    else:
        said = restart_one(jobset, said, blamed)
    return said.telling(Told("Warning", f"{action}FailurePolicyAction", message))


def restart_all(said: Outcome, blamed: Blamed, *, message: str, now: datetime) -> Outcome:
    """One more run of all Jobs; restarts count in the status, so that a new controller grants no extra ones."""
    status = dict(said.status)
    status["restarts"] = (status.get("restarts") or 0) + 1
    if blamed.action in COUNTED:
        status["restartsCountTowardsMax"] = (status.get("restartsCountTowardsMax") or 0) + 1
    reason = f"FailurePolicy_{blamed.rule['name']}" if blamed.rule else "DefaultFailurePolicy"
    return Outcome(status, said.told).having((words.RESTARTING, "True", reason, message), now)


def restart_one(jobset: Raw, said: Outcome, blamed: Blamed) -> Outcome:
    """One more run of one Job."""
    name, index = label(blamed.job, REPLICATED_JOB_NAME), number(blamed.job, JOB_INDEX)
    size = next((replicas(one) for one in replicated_jobs(jobset) if one["name"] == name), 0)
    if not 0 <= index < size:
        what = f"the Job {name_of(blamed.job)} has the index {index}, and {name} has {size} Jobs"
        raise Unreadable(f"{what}; correct its label {JOB_INDEX}, or delete the Job")
    counters = ["jobRestarts", *(["jobRestartsCountTowardsMax"] if blamed.action in COUNTED else [])]

    def raised(found: Raw) -> Raw:
        return {**found, **{key: one_more(found.get(key) or [0] * size, index) for key in counters}}

    counts = said.status.get("replicatedJobsStatus") or []
    return said.saying(replicatedJobsStatus=[raised(one) if one["name"] == name else one for one in counts])


def one_more(counts: list[int], index: int) -> list[int]:
    """The counts, one of them raised."""
    return [count + (place == index) for place, count in enumerate(counts)]
