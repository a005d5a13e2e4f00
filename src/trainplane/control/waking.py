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
_ENDS = ("Complete", "Completed", "Failed")
"""The conditions with which Jobs and JobSets end."""


class Interest(NamedTuple):
    """Why a controller cares for a kind: it decides for it, it makes it, or it has itself woken by it."""

    controller: Controller
    is_its_own: bool
    owns: bool
    wakes: tuple[Wake, ...]


def interests(controllers: Iterable[Controller]) -> dict[Sort, list[Interest]]:
    """Who cares for each kind that has to be watched."""
    found: dict[Sort, list[Interest]] = {}
    for each in controllers:
        own = [(each.group, each.kind)] if each.kind else []
        for sort in dict.fromkeys((*own, *each.owns, *(sort for sort, _ in each.watches), *each.reads)):
            wakes = tuple(wake for watched, wake in each.watches if watched == sort)
            found.setdefault(sort, []).append(Interest(each, sort in own, sort in each.owns, wakes))
    return found


def wakened(
    interest: Interest, before: Raw | None, after: Raw | None, *, view: View, rows: Mapping[Sort, Kind]
) -> Iterator[Ref]:
    """What wants a look after this change: the object itself, its owner, and whom the watches name.

    An object that changed its owners or labels wakes those it belonged to as well.
    """
    for raw in (after, before if after is None or _moved(before, after) else None):
        if raw is None:
            continue
        if interest.is_its_own and (after is None or interest.controller.cares(raw, view)):
            yield Ref.of(raw)
        if interest.owns:
            yield from owners(interest.controller, raw, rows)
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


def _moved(before: Raw | None, after: Raw) -> bool:
    fields = ("labels", "ownerReferences")
    return before is not None and any(before["metadata"].get(f) != after["metadata"].get(f) for f in fields)
