"""Controller: a row of the table of those who decide, and how a change of one object wakes another."""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import TypeAlias

import msgspec

from trainplane.api.meta import Raw
from trainplane.reconcile.decision import Decision
from trainplane.reconcile.view import Ref, View

Reconcile: TypeAlias = Callable[[Raw, View, datetime], Decision]
"""(object, world, now) -> decision"""

Wake: TypeAlias = Callable[[Raw, View], Iterable[Ref]]
"""Which objects of the controller's kind want another look when this object changed."""

Cares: TypeAlias = Callable[[Raw, View], bool]
"""Whether there may be anything to do about an object of the controller's kind that has changed."""


Overlooks: TypeAlias = Callable[[Raw, Raw], bool]
"""Whether a change of another object, from what it was to what it is, is none of the controller's business."""

Ripe: TypeAlias = Callable[[Raw, datetime], timedelta]
"""How long nothing is to be done about an object of the controller's kind that has changed, however it changes."""


def always(_raw: Raw, _view: View) -> bool:
    """Every change wants a look."""
    return True


def is_bookkeeping(before: Raw, after: Raw) -> bool:
    """Whether nothing but the finalizers of an object has changed that is there to stay."""
    old, new = before["metadata"], after["metadata"]
    if old.get("finalizers") == new.get("finalizers") or new.get("deletionTimestamp"):
        return False
    same = all(before.get(part) == after.get(part) for part in after if part != "metadata")
    return same and all(old.get(field) == new.get(field) for field in ("annotations", "labels", "ownerReferences"))


def at_once(_raw: Raw, _now: datetime) -> timedelta:
    """Every change is looked at when it comes."""
    return timedelta(0)


class Controller(msgspec.Struct, frozen=True):
    """One controller: the kind it decides for, what its decisions own, what else wakes it, and how it decides.

    One of no kind decides for the whole cluster: it is given {} for an object, and looks under keys of its own making.
    """

    name: str
    group: str
    kind: str
    reconcile: Reconcile
    owns: tuple[tuple[str, str], ...] = ()
    """(group, kind) of what it makes; a change there wakes the owner."""
    watches: tuple[tuple[tuple[str, str], Wake], ...] = ()
    reads: tuple[tuple[str, str], ...] = ()
    """(group, kind) of what it looks at besides, without being woken by a change there."""
    cares: Cares = always
    """Asked before an object of its kind is looked at for its own sake: of most pods most controllers want nothing."""
    overlooks: Overlooks = is_bookkeeping
    """Asked before a change of what it owns or watches wakes anybody."""
    ripe: Ripe = at_once
    """Asked when an object of its kind has changed: what goes by its age is looked at when that is reached."""
    turns: bool = False
    """Its watches tell only of objects that come, go, begin to go, or change their labels, owners or finalizers."""
    pause: float = 0.0
    """Seconds between two looks at one object, so that what changes at once is looked at once."""
    settle: float = 0.0
    """Seconds that a change of what it owns or watches waits for others to come with it."""
    outlives: bool = False
    """Whether it is asked once more about an object of its kind that is gone, as that was last seen."""
    reports_as: str = ""
    """The reportingController of its Events; its name where this is empty."""
