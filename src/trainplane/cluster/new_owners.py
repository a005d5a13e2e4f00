"""Who owns a new object: its maker owns fields that follow from which there are, so most are known from one before."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import orjson

from trainplane.api.kinds import Kind
from trainplane.api.meta import Raw
from trainplane.cluster import ownership
from trainplane.cluster.fields import Fields
from trainplane.cluster.memo import Memo

_OWNED: Memo[Fields] = Memo(256)
_DEEPEST = 3


class _Deep(Exception):
    """An object with more levels than are worth looking through twice."""


def owned_at_first(
    made: Raw, row: Kind, outline: bytes | None, *, manager: str, now: datetime, anew: Callable[[], list[Raw]]
) -> list[Raw]:
    """The managedFields of a new object, as `anew` works them out; `outline` is that of its spec if it is a pod."""
    key = _key(made, row, outline)
    fields = _OWNED.get(key) if key else None
    if fields:
        return ownership.begun(made, fields, manager=manager, now=now)
    entries = anew()
    if key and len(entries) == 1:
        _OWNED.put(key, entries[0]["fieldsV1"])
    return entries


def _key(made: Raw, row: Kind, outline: bytes | None) -> Any:
    """What the fields of a new object follow from; None where that cannot be told in a few words."""
    if "managedFields" in made["metadata"]:
        return None
    try:
        parts = [
            (name, outline if outline and name == "spec" else _present(item, _DEEPEST)) for name, item in made.items()
        ]
    except _Deep:
        return None
    return row.api_version, row.kind, tuple(parts)


def _present(value: Any, depth: int) -> Any:
    """Which fields a value has; lists are taken whole, and what is empty is told from what is not."""
    if value.__class__ is dict:
        if not depth:
            raise _Deep
        return tuple(
            [
                name if item.__class__ is str and item else (name, _present(item, depth - 1))
                for name, item in value.items()
            ]
        )
    if value.__class__ is list:
        return orjson.dumps(value)
    return value.__class__, bool(value)
