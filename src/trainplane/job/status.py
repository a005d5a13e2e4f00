"""What a Job says of itself: conditions, their order, and the times they have."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from trainplane.api.batch import COMPLETE, FAILED, FAILURE_TARGET, SUCCESS_CRITERIA_MET, SUSPENDED
from trainplane.api.conditions import condition, is_true
from trainplane.api.meta import Raw
from trainplane.api.times import stamp


class Saying(NamedTuple):
    """A condition without its times."""

    type: str
    status: str
    reason: str
    message: str


IS_SUSPENDED = Saying(SUSPENDED, "True", "JobSuspended", "Job suspended")
IS_RESUMED = Saying(SUSPENDED, "False", "JobResumed", "Job resumed")


def finished(status: Mapping[str, Any]) -> str:
    """`Complete` or `Failed` once the Job is; else ""."""
    return next((type_ for type_ in (COMPLETE, FAILED) if is_true(status, type_)), "")


def target(status: Mapping[str, Any]) -> str:
    """What the Job has been found to come to, while its pods still end; "" where nothing is found yet."""
    return next((type_ for type_ in (SUCCESS_CRITERIA_MET, FAILURE_TARGET) if is_true(status, type_)), "")


def with_condition(status: Raw, new: Saying, now: datetime) -> Raw:
    """The status with a condition set; an equal one is left as it is, and a new one comes last."""
    old = condition(status, new.type)
    if old and (old.get("status"), old.get("reason"), old.get("message")) == new[1:]:
        return status
    when = stamp(now)
    since = old.get("lastTransitionTime", when) if old and old.get("status") == new.status else when
    entry = {**new._asdict(), "lastProbeTime": when, "lastTransitionTime": since}
    others = list(status.get("conditions") or ())
    if old is None:
        return {**status, "conditions": [*others, entry]}
    return {**status, "conditions": [entry if c.get("type") == new.type else c for c in others]}
