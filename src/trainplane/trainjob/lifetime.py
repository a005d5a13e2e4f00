"""The ends that a clock decides: the active deadline of a TrainJob, and its deletion some time after its end."""

from datetime import datetime, timedelta

from trainplane.api.conditions import condition
from trainplane.api.meta import Raw
from trainplane.api.times import moment, stamp
from trainplane.trainjob.status import DEADLINE, finished, with_condition


def deadline(job: Raw, status: Raw, now: datetime) -> tuple[Raw, timedelta | None]:
    """The status, Failed once the job has been active for its deadline, and the time left; a resume starts it anew."""
    limit = job["spec"].get("activeDeadlineSeconds")
    if not limit or finished(status) or job["spec"].get("suspend"):
        return status, None
    resumed = condition(status, "Suspended")
    started = resumed["lastTransitionTime"] if resumed else job["metadata"].get("creationTimestamp")
    if not started:
        return status, None
    left = moment(started) + timedelta(seconds=limit) - now
    return (status, left) if left > timedelta(0) else (with_condition(status, DEADLINE, stamp(now)), None)


def is_past_deadline(status: Raw) -> bool:
    """Whether the deadline is what ended the job."""
    failed = condition(status, "Failed") or {}
    return (failed.get("status"), failed.get("reason")) == ("True", DEADLINE[2])


def expiry(job: Raw, status: Raw, now: datetime) -> timedelta | None:
    """How long a finished TrainJob is still kept; None where that is not limited."""
    ttl, end = job["spec"].get("ttlSecondsAfterFinished"), finished(status)
    if ttl is None or not end:
        return None
    when = (condition(status, end) or {}).get("lastTransitionTime")
    return moment(when) + timedelta(seconds=ttl) - now if when else None


def soonest(*waits: timedelta | None) -> timedelta | None:
    """The shortest wait that is still ahead."""
    return min((wait for wait in waits if wait is not None and wait > timedelta(0)), default=None)
