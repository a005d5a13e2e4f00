"""Waking: which objects want another look when one has changed."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

import msgspec

from trainplane.api.conditions import is_true
from trainplane.api.core import FAILED, SUCCEEDED
from trainplane.api.kinds import Kind
from trainplane.api.meta import Raw
from trainplane.control.live import Live
from trainplane.reconcile.controller import Controller, Wake, always, is_bookkeeping
from trainplane.reconcile.view import Ref, View, group_of

Sort: TypeAlias = tuple[str, str]
"""A group and a kind."""
_ENDS = ("Complete", "Completed", "Failed")
"""The conditions with which Jobs and JobSets end."""


class Interest(msgspec.Struct, frozen=True):
    """Why a controller cares for a kind: it decides for it, it makes it, or it has itself woken by it."""

    controller: Controller
    is_its_own: bool
    owns: bool
    wakes: tuple[Wake, ...]
    rest: float
    """Seconds that a change waits for others to come with it; one of its own kind does not."""

    @property
    def is_woken(self) -> bool:
        """Whether a change means anything to it, and it does not just want to see the kind."""
        return bool(self.is_its_own or self.owns or self.wakes)

    @property
    def is_for_turns(self) -> bool:
        """Whether nothing but a turn means anything to it."""
        return self.controller.turns and not self.is_its_own and not self.owns

    def may_wake(self, live: Live) -> bool:
        """Whether there is anybody to be woken: who comes later is told of itself."""
        controller = self.controller
        return self.is_its_own or self.owns or not controller.kind or live.has_any(controller.group, controller.kind)


class Audience:
    """Who is told of the changes of a kind."""

    def __init__(self, interested: Iterable[Interest], live: Live) -> None:
        self._interested = tuple(each for each in interested if each.is_woken)
        self._live = live
        self._variety = -1
        self._all: tuple[Interest, ...] = ()
        self._always: tuple[Interest, ...] = ()

    def of(self, happening: "Happening") -> tuple[Interest, ...]:
        """Those whom a change may mean anything to."""
        if self._variety != self._live.variety:
            # Many controllers are of kinds that most clusters have nothing of, such as quotas.
            self._variety = self._live.variety
            self._all = tuple(each for each in self._interested if each.may_wake(self._live))
            self._always = tuple(each for each in self._all if not each.is_for_turns)
        return self._all if happening.is_turn else self._always


def interests(controllers: Iterable[Controller]) -> dict[Sort, list[Interest]]:
    """Who cares for each kind that has to be watched."""
    found: dict[Sort, list[Interest]] = {}
    for each in controllers:
        own = [(each.group, each.kind)] if each.kind else []
        for sort in dict.fromkeys((*own, *each.owns, *(sort for sort, _ in each.watches), *each.reads)):
            wakes = tuple(wake for watched, wake in each.watches if watched == sort)
            rest = 0.0 if sort in own else each.settle
            found.setdefault(sort, []).append(Interest(each, sort in own, sort in each.owns, wakes, rest))
    return found


class Happening(msgspec.Struct, frozen=True, gc=False):
    """A change of an object, read once for everybody who cares for its kind."""

    ref: Ref
    before: Raw | None
    after: Raw | None
    states: tuple[Raw, ...]
    """The object as it is; as it was, where it is gone or has changed its owners or labels: those wake as well."""
    is_turn: bool
    """Whether it came, went, began to go, or changed its labels, owners or finalizers."""
    is_bookkeeping: bool = False

    @classmethod
    def of(cls, before: Raw | None, after: Raw | None) -> "Happening":
        """What happened to an object."""
        there = after or before or {}
        ref = Ref.of(there)
        if after is None or before is None:
            return cls(ref, before, after, (there,), is_turn=True)
        new, old = after["metadata"], before["metadata"]
        if old.get("labels") != new.get("labels") or old.get("ownerReferences") != new.get("ownerReferences"):
            return cls(ref, before, after, (after, before), is_turn=True)
        marked = old.get("finalizers") != new.get("finalizers")
        turns = marked or old.get("deletionTimestamp") != new.get("deletionTimestamp")
        return cls(ref, before, after, (after,), turns, marked and is_bookkeeping(before, after))

    @property
    def version(self) -> tuple[Ref, str]:
        """The object as it is now, told apart from what it was and will be."""
        return self.ref, str(self.after["metadata"].get("resourceVersion", "")) if self.after else ""

    def is_nothing_to(self, controller: Controller) -> bool:
        """Whether a change of what it owns or watches is none of a controller's business."""
        if controller.overlooks is is_bookkeeping:
            return self.is_bookkeeping
        return self.before is not None and self.after is not None and controller.overlooks(self.before, self.after)


def wakened(interest: Interest, happening: Happening, *, view: View, rows: Mapping[Sort, Kind]) -> list[Ref]:
    """What wants a look after a change: the object itself, its owner, and whom the watches name."""
    controller, states = interest.controller, happening.states
    found: list[Ref] = []
    if interest.is_its_own:
        cares = always if happening.after is None else controller.cares
        found += [happening.ref for raw in states if cares is always or cares(raw, view)]
    owns, wakes = interest.owns, interest.wakes if happening.is_turn or not controller.turns else ()
    if (owns or wakes) and not happening.is_nothing_to(controller):
        for raw in states:
            if owns:
                found += owners(controller, raw, rows)
            for wake in wakes:
                found += wake(raw, view)
    return found


def owners(controller: Controller, raw: Raw, rows: Mapping[Sort, Kind]) -> Iterator[Ref]:
    """The objects of a controller's kind that control this one."""
    metadata, row = raw["metadata"], rows.get((controller.group, controller.kind))
    for owner in metadata.get("ownerReferences") or ():
        its = (group_of(owner.get("apiVersion", "")), owner.get("kind", ""))
        if owner.get("controller") and its == (controller.group, controller.kind):
            namespace = metadata.get("namespace", "") if row is None or row.namespaced else ""
            yield Ref(*its, namespace, owner["name"])


def is_last_to_end(before: Raw | None, after: Raw | None, view: View) -> bool:
    """Whether an object has just come to its end, and whatever has the same controller had before: it does by that."""
    if after is None or not is_over(after) or (before is not None and is_over(before)):
        return False
    owner = next((each for each in after["metadata"].get("ownerReferences") or () if each.get("controller")), None)
    siblings = view.controlled_by(owner["uid"], after["kind"]) if owner else ()
    return all(map(is_over, siblings))


def is_over(raw: Raw) -> bool:
    """Whether a pod, a Job or a JobSet has ended, well or not."""
    status = raw.get("status") or {}
    if raw["kind"] == "Pod":
        return status.get("phase") in (SUCCEEDED, FAILED)
    return bool(status.get("conditions")) and any(is_true(status, type_) for type_ in _ENDS)
