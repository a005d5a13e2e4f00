"""Conditions and times as the API writes them."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from trainplane.api.conditions import condition
from trainplane.api.meta import Raw
from trainplane.api.times import stamp


def with_condition(holder: Raw, new: Raw, now: datetime) -> Raw:
    """The status with a condition set; its time changes only with its status, and an equal one changes nothing."""
    old = condition(holder, new["type"])
    same = old is not None and old.get("status") == new["status"]
    since = old["lastTransitionTime"] if old and same and old.get("lastTransitionTime") else stamp(now)
    entry = {**(old or {}), **new, "lastTransitionTime": since}
    if entry == old:
        return holder
    others = list(holder.get("conditions") or ())
    if old is None:
        return {**holder, "conditions": [*others, entry]}
    return {**holder, "conditions": [entry if one is old else one for one in others]}


def soonest(waits: Iterable[timedelta | None]) -> timedelta | None:
    """The shortest wait that is still ahead."""
    return min((wait for wait in waits if wait is not None and wait > timedelta(0)), default=None)
