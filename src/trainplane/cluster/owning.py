"""Who owns what a request writes.

What the maker of a new object owns follows from which fields there are, so that it is known from one like it before.
"""

from typing import Any

import orjson

from trainplane.api.kinds import Kind
from trainplane.api.meta import Raw
from trainplane.cluster import ownership
from trainplane.cluster.errors import Internal
from trainplane.cluster.fields import Fields
from trainplane.cluster.ground import Call, Ground
from trainplane.cluster.memo import Memo
from trainplane.cluster.ownership import Untyped
from trainplane.cluster.tracking import blank_of, ignored_fields, merge_schema

_OWNED: Memo[Fields] = Memo(256)
_DEEPEST = 3


class _Deep(Exception):
    """An object with more levels than are worth looking through twice."""


def owned(ground: Ground, call: Call, old: Raw | None, new: Raw, outline: bytes | None = None) -> list[Raw]:
    """The managedFields of what a create, an update or a patch makes; `outline` is that of a new pod's spec."""
    if not ground.keeps_owners:
        return []
    manager, now = call.options.field_manager or call.manager, ground.now()
    key = _key(new, call.row, outline) if old is None else None
    fields = _OWNED.get(key) if key else None
    if fields:
        return ownership.begun(new, fields, manager=manager, now=now)
    entries = ownership.update(
        old,
        new,
        manager=manager,
        schema=merge_schema(call.row),
        now=now,
        subresource=call.subresource,
        ignored=ignored_fields(call.row, call.subresource),
        blank=blank_of(call.row),
    )
    if key and len(entries) == 1:
        _OWNED.put(key, entries[0]["fieldsV1"])
    return entries


def applied(ground: Ground, call: Call, old: Raw | None, patch: Raw) -> Raw:
    """What an apply makes of an object, with its managedFields; raises Internal where the patch cannot be read."""
    try:
        return ownership.apply(
            old,
            patch,
            manager=call.options.field_manager or call.manager,
            schema=merge_schema(call.row),
            now=ground.now(),
            force=bool(call.options.force),
            subresource=call.subresource,
            ignored=ignored_fields(call.row, call.subresource),
            blank=blank_of(call.row),
        ).object
    except Untyped as wrong:
        raise Internal(str(wrong)) from None


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
