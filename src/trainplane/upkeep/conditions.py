"""Conditions and times as the API writes them."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from trainplane.api.meta import Raw


def moment(text: str) -> datetime:
    """A time of the API."""
    return datetime.fromisoformat(text)


def stamp(when: datetime) -> str:
    """A time as the API writes it."""
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


def condition(holder: Mapping[str, Any], type_: str) -> Raw | None:
    """The condition of this type in a status."""
    return next((one for one in holder.get("conditions") or () if one.get("type") == type_), None)


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
