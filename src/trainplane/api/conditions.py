"""Conditions: what a status says of an object, a type at a time."""

from collections.abc import Mapping
from typing import Any

from trainplane.api.meta import Raw


def condition(status: Mapping[str, Any] | None, type_: str) -> Raw | None:
    """The condition of this type."""
    for found in (status or {}).get("conditions") or ():
        if found.get("type") == type_:
            one: Raw = found
            return one
    return None


def is_true(status: Mapping[str, Any] | None, type_: str) -> bool:
    """Whether the condition is there and True."""
    # Asked of objects that have no condition yet more often than of all others.
    if not status or not status.get("conditions"):
        return False
    found = condition(status, type_)
    return found is not None and found.get("status") == "True"
