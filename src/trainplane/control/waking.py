"""Waking: which objects want another look when one has changed."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from trainplane.api.conditions import is_true
from trainplane.api.core import FAILED, SUCCEEDED
from trainplane.api.kinds import Kind
from trainplane.api.meta import Raw
from trainplane.reconcile.controller import Controller, Wake
from trainplane.reconcile.view import Ref, View, group_of

Sort: TypeAlias = tuple[str, str]
"""A group and a kind."""
_BELONGING = ("labels", "ownerReferences")
_GOING = ("deletionTimestamp", "finalizers")
_ENDS = ("Complete", "Completed", "Failed")
"""The conditions with which Jobs and JobSets end."""


class Interest(NamedTuple):
    """Why a controller cares for a kind: it decides for it, it makes it, or it has itself woken by it."""

    controller: Controller
    is_its_own: bool
    owns: bool
    wakes: tuple[Wake, ...]

    @property
    def is_woken(self) -> bool:
        """Whether a change means anything to it, and it does not just want to see the kind."""
        return bool(self.is_its_own or self.owns or self.wakes)


def interests(controllers: Iterable[Controller]) -> dict[Sort, list[Interest]]:
    """Who cares for each kind that has to be watched."""
    found: dict[Sort, list[Interest]] = {}
    for each in controllers:
        own = [(each.group, each.kind)] if each.kind else []
        for sort in dict.fromkeys((*own, *each.owns, *(sort for sort, _ in each.watches), *each.reads)):
            wakes = tuple(wake for watched, wake in each.watches if watched == sort)
            found.setdefault(sort, []).append(Interest(each, sort in own, sort in each.owns, wakes))
    return found


class Happening(NamedTuple):
    """A change of an object, read once for everybody who cares for its kind."""

    states: tuple[Raw, ...]
    """The object as it is; as it was, where it is gone or has changed its owners or labels: those wake as well."""
    gone: bool
    is_turn: bool
    """Whether it came, went, began to go, or changed its labels, owners or finalizers."""

    @classmethod
    def of(cls, before: Raw | None, after: Raw | None) -> "Happening":
        """What happened to an object."""
        if after is None or before is None:
            there = after or before
            return cls((there,) if there else (), after is None, is_turn=True)
        new, old = after["metadata"], before["metadata"]
        if any(old.get(field) != new.get(field) for field in _BELONGING):
            return cls((after, before), gone=False, is_turn=True)
        return cls((after,), gone=False, is_turn=any(old.get(field) != new.get(field) for field in _GOING))


def wakened(interest: Interest, happening: Happening, *, view: View, rows: Mapping[Sort, Kind]) -> Iterator[Ref]:
    """What wants a look after a change: the object itself, its owner, and whom the watches name."""
    controller = interest.controller
    for raw in happening.states:
        if interest.is_its_own and (happening.gone or controller.cares(raw, view)):
            yield Ref.of(raw)
        if interest.owns:
            yield from owners(controller, raw, rows)
        if happening.is_turn or not controller.turns:
            for wake in interest.wakes:
                yield from wake(raw, view)


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
    siblings = view.controlled_by(owner["uid"]) if owner else ()
    return all(is_over(each) for each in siblings if each["kind"] == after["kind"])


def is_over(raw: Raw) -> bool:
    """Whether a pod, a Job or a JobSet has ended, well or not."""
    status = raw.get("status") or {}
    return status.get("phase") in (SUCCEEDED, FAILED) or any(is_true(status, type_) for type_ in _ENDS)
