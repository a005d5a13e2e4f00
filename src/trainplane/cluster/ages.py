"""Times and durations as kubectl's columns show them: `5m3s`, `2 (3m ago)`, `<unknown>`."""

from datetime import UTC, datetime

UNKNOWN = "<unknown>"
INVALID = "<invalid>"

_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 365 * 86400
_SCALES = (
    # up to, unit, its letter, the smaller unit beside it, its letter
    (2 * _MINUTE, 1, "s", 0, ""),
    (10 * _MINUTE, _MINUTE, "m", 1, "s"),
    (3 * _HOUR, _MINUTE, "m", 0, ""),
    (8 * _HOUR, _HOUR, "h", _MINUTE, "m"),
    (2 * _DAY, _HOUR, "h", 0, ""),
    (8 * _DAY, _DAY, "d", _HOUR, "h"),
    (2 * _YEAR, _DAY, "d", 0, ""),
    (8 * _YEAR, _YEAR, "y", _DAY, "d"),
)


def duration(seconds: float) -> str:
    """A duration in the two largest units that tell something at its size."""
    whole = int(seconds)
    if whole < -1:
        return INVALID
    whole = max(whole, 0)
    for limit, unit, letter, small, small_letter in _SCALES:
        if whole < limit:
            rest = whole % unit // small if small else 0
            return f"{whole // unit}{letter}" + (f"{rest}{small_letter}" if rest else "")
    return f"{whole // _YEAR}y"


def age(time: object, now: datetime) -> str:
    """How long ago an RFC 3339 time was; `<unknown>` where there is none."""
    if not time:
        return UNKNOWN
    then = parse_time(time)
    return INVALID if then is None else duration((now - then).total_seconds())


def parse_time(time: object) -> datetime | None:
    """An RFC 3339 time, or None where it is not one."""
    if isinstance(time, datetime):
        return time
    try:
        then = datetime.fromisoformat(str(time))
    except ValueError:
        return None
    return then if then.tzinfo else then.replace(tzinfo=UTC)
