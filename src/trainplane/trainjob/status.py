"""What a TrainJob says of itself in upstream's words: Suspended, Complete, Failed, and the counts of its Jobs."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from trainplane.api.conditions import condition, is_true
from trainplane.api.meta import Raw
from trainplane.api.times import stamp

SUSPENDED = ("Suspended", "True", "Suspended", "TrainJob is suspended")
RESUMED = ("Suspended", "False", "Resumed", "TrainJob is resumed")
DEADLINE = ("Failed", "True", "DeadlineExceeded", "TrainJob exceeded its active deadline")
FROM_JOBSET = (("Completed", "Complete"), ("Failed", "Failed"))
COUNTS = ("name", "ready", "succeeded", "failed", "active", "suspended")


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

    A Complete that the JobSet does not bear out is set False. A job ends once: one that has failed stays failed and one
    that is complete stays complete, whatever else its JobSet says later.
    """
    if jobset is None:
        return status
    theirs = jobset.get("status") or {}
    if is_true(status, "Complete") and not is_true(theirs, "Completed"):
        untrue = ("Complete", "False", "JobSetNotCompleted", "the JobSet has not completed")
        status = with_condition(status, untrue, stamp(now))
    for type_, ours in FROM_JOBSET:
        found = condition(theirs, type_)
        if found and found.get("status") == "True" and finished(status) in ("", ours):
            reported = (ours, "True", found.get("reason", ""), found.get("message", ""))
            status = with_condition(status, reported, found.get("lastTransitionTime") or stamp(now))
    counts = [{key: job.get(key, 0) for key in COUNTS} for job in theirs.get("replicatedJobsStatus") or ()]
    return {
        **{key: item for key, item in status.items() if key != "jobsStatus"},
        **({"jobsStatus": counts} if counts else {}),
    }
