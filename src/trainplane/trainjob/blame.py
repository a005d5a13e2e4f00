"""Blame: which step set every leaf of the rendered objects, and where it read the value.

Steps are pure, so what a step did is the difference between the Plan before it and the Plan after it: nobody can forget
to report a change. What a difference cannot tell is where the value was read; steps say that with `source=`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from trainplane.api.meta import Raw
from trainplane.api.problem import Path
from trainplane.trainjob.plan import Plan, Source
from trainplane.trainjob.tree import element_keys

GONE = object()
"""Stands for a leaf that a step removed."""


class Mark(msgspec.Struct, frozen=True):
    """One step's hand on one leaf."""

    step: str
    source: Source
    value: Any
    replaced: Any = None


Chains = dict[Path, tuple[Mark, ...]]
"""Leaf → its marks, first to last. A path begins with kind and name; elements of keyed lists go by their key."""


def named(objects: tuple[Raw, ...]) -> dict[tuple[str, str], Raw]:
    """The objects by kind and name."""
    return {(raw["kind"], raw["metadata"]["name"]): raw for raw in objects}


def mark(chains: Chains, before: Plan | None, after: Plan, *, step: str) -> Chains:
    """The chains with what one step changed added."""
    out = dict(chains)
    old, new = named(before.objects) if before else {}, named(after.objects)
    reads = (after.reads or ())[::-1]
    for head in (*new, *(key for key in old if key not in new)):
        for path, value, replaced in difference(old.get(head, GONE), new.get(head, GONE), head):
            if value is GONE:
                out.pop(path, None)
            else:
                out[path] = (*out.get(path, ()), Mark(step, origin(path, reads), value, replaced))
    return out


def origin(path: Path, reads: Sequence[tuple[Path, Source]]) -> Source:
    """Where the leaf was read: the first of the sources, latest first, that is for it or for what holds it.

    A source with a note is where the value was worked out from; one without holds it word for word, leaf by leaf.
    """
    for prefix, source in reads:
        if path[: len(prefix)] == prefix:
            return source if source.note else Source(source.document, (*source.path, *path[len(prefix) :]))
    return Source("")


def difference(old: Any, new: Any, path: Path) -> Iterator[tuple[Path, Any, Any]]:
    """Leaves of `new` that are not the same in `old`, with the value each replaced; leaves that are gone, as GONE."""
    if old is new:
        return
    was, now = members(old, path), members(new, path)
    if was is None and now is None:
        if new is not GONE and (old is GONE or old != new or type(old) is not type(new)):
            yield path, new, None if old is GONE else old
        elif new is GONE and old is not GONE:
            yield path, GONE, old
        return
    if was is None and old is not GONE:
        yield path, GONE, old
    if now is None and new is not GONE:
        yield path, new, None
    for key in now or ():
        yield from difference((was or {}).get(key, GONE), (now or {})[key], (*path, key))
    for key in was or ():
        if key not in (now or {}):
            yield from difference((was or {})[key], GONE, (*path, key))


def members(value: Any, path: Path) -> Mapping[str | int, Any] | None:
    """What a map or list holds, by the key that names it in a path; None for a leaf, and an empty one is a leaf."""
    if isinstance(value, dict) and value:
        return value
    if isinstance(value, list) and value:
        keys = element_keys(value, path[-1] if path else "")
        return dict(zip(keys, value, strict=True))
    return None
