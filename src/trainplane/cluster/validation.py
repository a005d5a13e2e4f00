"""What the API server refuses in objects of built-in kinds, beyond their shape."""

from collections.abc import Callable, Iterable

from trainplane.api.kinds import Kind
from trainplane.api.meta import Raw
from trainplane.cluster.causes import Cause

Check = Callable[[Raw, Raw | None, str], Iterable[Cause]]
"""The new object, the old one if there is one, and the part that is written."""

_CHECKS: dict[tuple[str, str], Check] = {}


def kind_causes(row: Kind, new: Raw, old: Raw | None, *, subresource: str = "") -> Iterable[Cause]:
    """What is wrong with an object of a built-in kind, by itself and against what it was."""
    check = _CHECKS.get((row.group, row.kind))
    return check(new, old, subresource) if check else ()
