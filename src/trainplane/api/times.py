"""Times as the API writes them."""

from datetime import UTC, datetime
from functools import lru_cache


# One moment is written many times: into each condition of each pod that changes then.
@lru_cache(maxsize=16)
def stamp(when: datetime) -> str:
    """A time as the API writes it, in whole seconds: 2026-01-31T12:00:00Z."""
    there = when if when.tzinfo is UTC else when.astimezone(UTC)
    return there.isoformat(timespec="seconds")[:19] + "Z"


def moment(text: str) -> datetime:
    """A time that the API wrote."""
    return datetime.fromisoformat(text)
