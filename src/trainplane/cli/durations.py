"""Durations on the command line: 90s, 30m, 12h, 7d, and 1h30m."""

import re
from datetime import timedelta

import click

_UNITS = {"ms": "milliseconds", "s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhdw])")


def parse(text: str) -> timedelta:
    """A duration; raises ValueError."""
    if not re.fullmatch(rf"(?:{_PART.pattern})+", text):
        raise ValueError(f"{text!r} is not a time; write one such as 90s, 30m, 12h or 7d")
    return sum((timedelta(**{_UNITS[unit]: float(number)}) for number, unit in _PART.findall(text)), timedelta())


def duration(ctx: click.Context, parameter: click.Parameter, value: str | None) -> timedelta | None:
    """The callback of an option that takes a duration; a number alone counts seconds."""
    if value is None:
        return None
    try:
        return timedelta(seconds=float(value)) if value.replace(".", "", 1).isdecimal() else parse(value)
    except (ValueError, OverflowError) as error:
        raise click.BadParameter(str(error), ctx, parameter) from None


def readable(span: timedelta | None) -> str:
    """`1h30m`, as it may be written on a command line."""
    left, parts = round((span or timedelta()).total_seconds(), 3), []
    for unit, seconds in (("d", 86400), ("h", 3600), ("m", 60)):
        count, left = divmod(left, seconds)
        parts += [f"{count:.0f}{unit}"] if count else []
    return "".join([*parts, f"{left:g}s"] if left or not parts else parts)
