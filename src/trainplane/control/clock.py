"""The clock: the only place where the time is read; everywhere else it is an argument."""

import time
from datetime import UTC, datetime


def now() -> datetime:
    """The time, in UTC."""
    return datetime.now(UTC)  # noqa: TID251 - this is that place


def seconds() -> float:
    """Seconds since the epoch."""
    return time.time()
