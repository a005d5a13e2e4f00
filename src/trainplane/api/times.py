"""Times as the API writes them."""

from datetime import UTC, datetime


def stamp(when: datetime) -> str:
    """A time as the API writes it, in whole seconds: 2026-01-31T12:00:00Z."""
    return when.astimezone(UTC).isoformat(timespec="seconds")[:19] + "Z"


def moment(text: str) -> datetime:
    """A time that the API wrote."""
    return datetime.fromisoformat(text)
