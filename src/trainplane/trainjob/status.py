"""What a TrainJob says of itself: upstream's conditions and counts, and beside them a summary for people."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from trainplane.api.meta import Raw
from trainplane.trainjob.tree import at

SUSPENDED = ("Suspended", "True", "Suspended", "TrainJob is suspended")
RESUMED = ("Suspended", "False", "Resumed", "TrainJob is resumed")
DEADLINE = ("Failed", "True", "DeadlineExceeded", "TrainJob exceeded its active deadline")
FROM_JOBSET = (("Completed", "Complete"), ("Failed", "Failed"))
COUNTS = ("name", "ready", "succeeded", "failed", "active", "suspended")


def stamp(when: datetime) -> str:
    """A time as the API writes it."""
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


def condition(status: Mapping[str, Any], type_: str) -> Raw | None:
    """The condition of this type."""
    for found in status.get("conditions") or ():
        if found.get("type") == type_:
            return dict(found)
    return None


def is_true(status: Mapping[str, Any], type_: str) -> bool:
    """Whether the condition is there and True."""
    found = condition(status, type_)
    return found is not None and found.get("status") == "True"


def finished(status: Mapping[str, Any]) -> str:
    """`Complete` or `Failed` once the job is; else ""."""
    return next((type_ for type_ in ("Complete", "Failed") if is_true(status, type_)), "")


def with_condition(status: Raw, new: tuple[str, str, str, str], when: str) -> Raw:
    """The status with a condition set; its time changes only with its status, and an equal one changes nothing."""
    type_, value, reason, message = new
    old = condition(status, type_)
    if old and (old.get("status"), old.get("reason"), old.get("message")) == (value, reason, message):
        return status
    since = old["lastTransitionTime"] if old and old.get("status") == value else when
    entry = {"type": type_, "status": value, "reason": reason, "message": message, "lastTransitionTime": since}
    others = list(status.get("conditions") or ())
    if old is None:
        return {**status, "conditions": [*others, entry]}
    return {**status, "conditions": [entry if c.get("type") == type_ else c for c in others]}


def suspension(status: Raw, *, suspend: bool, now: datetime) -> Raw:
    """The status with Suspended kept: True while suspended; False, where it was True, once resumed."""
    if suspend:
        return with_condition(status, SUSPENDED, stamp(now))
    if is_true(status, "Suspended"):
        return with_condition(status, RESUMED, stamp(now))
    return status


def from_jobset(status: Raw, jobset: Raw | None, now: datetime) -> Raw:
    """The status with what the JobSet has to say: its end, and its counts.

    A Complete that the JobSet does not bear out is set False. A job that failed stays failed, whatever its JobSet does.
    """
    if jobset is None:
        return status
    theirs = jobset.get("status") or {}
    for type_, ours in FROM_JOBSET:
        found = condition(theirs, type_)
        if found and found.get("status") == "True":
            reported = (ours, "True", found.get("reason", ""), found.get("message", ""))
            status = with_condition(status, reported, found.get("lastTransitionTime") or stamp(now))
    if is_true(status, "Complete") and not is_true(theirs, "Completed"):
        untrue = ("Complete", "False", "JobSetNotCompleted", "the JobSet has not completed")
        status = with_condition(status, untrue, stamp(now))
    if theirs.get("replicatedJobsStatus"):
        counts = [{key: job.get(key, 0) for key in COUNTS} for job in theirs["replicatedJobsStatus"]]
        status = {**status, "jobsStatus": counts}
    return status


def state_of(job: Raw, status: Raw, jobset: Raw | None, *, trainer: str) -> tuple[str, str, str]:
    """Where the job stands: state, reason, and a sentence."""
    end = finished(status)
    if end:
        found = condition(status, end) or {}
        what = "finished successfully" if end == "Complete" else "failed"
        return end, found.get("reason", ""), f"the job {what}: {found.get('message', '')}"
    if at(job, ("spec", "suspend")):
        return "Suspended", "Suspended", "the job is suspended; set spec.suspend to false to let it run"
    if jobset is None:
        return "Created", "Accepted", "the job was accepted; its JobSet is about to be made"
    return running(status, trainer=trainer)


def running(status: Raw, *, trainer: str) -> tuple[str, str, str]:
    """Where an unfinished job stands, from the counts of its replicated jobs."""
    counts = {job["name"]: job for job in status.get("jobsStatus") or ()}
    mine = counts.get(trainer, {})
    before = [
        name for name, job in counts.items() if name != trainer and job.get("active") and not job.get("succeeded")
    ]
    if mine.get("ready") or mine.get("succeeded"):
        return "Running", "TrainerReady", "all of the trainer's pods are ready"
    if mine.get("active"):
        return "Starting", "TrainerStarting", "the trainer's pods are there and not all ready yet"
    if before:
        return "Starting", "Staged", f"{' and '.join(before)} must come first; the trainer has not started yet"
    return "Pending", "NoPodsYet", "the JobSet is there; the trainer's pods are not"


def summarize(job: Raw, status: Raw, jobset: Raw | None, *, trainer: str, now: datetime, trouble: str = "") -> Raw:
    """The status with its summary: state, reason, sentence, since when, start, end, restarts.

    `trouble` is what keeps the job from going on, where something does; it takes the place of the plain sentence.
    """
    old: Raw = status.get("summary") or {}
    state, reason, message = state_of(job, status, jobset, trainer=trainer)
    if trouble and not finished(status):
        reason, message = "Blocked", trouble
    same = old.get("state") == state
    summary: Raw = {
        "state": state,
        "reason": reason,
        "message": message,
        "since": old["since"] if same and "since" in old else stamp(now),
    }
    started = old.get("startTime") or (summary["since"] if state == "Running" else None)
    if started:
        summary["startTime"] = started
    end = finished(status)
    if end:
        summary["completionTime"] = (condition(status, end) or {}).get("lastTransitionTime", stamp(now))
    restarts = at(jobset, ("status", "restarts")) if jobset else old.get("restarts")
    if restarts:
        summary["restarts"] = restarts
    return {**status, "summary": summary}
