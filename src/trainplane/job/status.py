"""What a Job says of itself: conditions, their order, and the times they have."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from trainplane.api.batch import COMPLETE, FAILED, FAILURE_TARGET, SUCCESS_CRITERIA_MET, SUSPENDED
from trainplane.api.meta import Raw


class Saying(NamedTuple):
    """A condition without its times."""

    type: str
    status: str
    reason: str
    message: str


IS_SUSPENDED = Saying(SUSPENDED, "True", "JobSuspended", "Job suspended")
IS_RESUMED = Saying(SUSPENDED, "False", "JobResumed", "Job resumed")


def stamp(when: datetime) -> str:
    """A time as the API writes it."""
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def moment(text: str) -> datetime:
    """A time as the API wrote it."""
    return datetime.fromisoformat(text)


def condition(status: Mapping[str, Any], type_: str) -> Mapping[str, Any] | None:
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
