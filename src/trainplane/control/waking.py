"""Waking: which objects want another look when one has changed."""

from collections.abc import Iterator, Mapping

from trainplane.api.kinds import Kind
from trainplane.api.meta import Raw
from trainplane.reconcile.controller import Controller
from trainplane.reconcile.view import Ref, View, group_of


def wakened(
    controller: Controller,
    sort: tuple[str, str],
    before: Raw | None,
    after: Raw | None,
    *,
    view: View,
    rows: Mapping[tuple[str, str], Kind],
) -> Iterator[Ref]:
    """The objects of a controller that want a look after this change: itself, its owner, and whom its watches name.

    An object that changed its owners or labels wakes those it belonged to as well.
    """
    raws = [raw for raw in (after, before if after is None or _moved(before, after) else None) if raw is not None]
    for raw in raws:
        if sort == (controller.group, controller.kind):
            yield Ref.of(raw)
        if sort in controller.owns:
            yield from owners(controller, raw, rows)
        for watched, wake in controller.watches:
            if watched == sort:
                yield from wake(raw, view)


def owners(controller: Controller, raw: Raw, rows: Mapping[tuple[str, str], Kind]) -> Iterator[Ref]:
    """The objects of a controller's kind that control this one."""
    metadata, row = raw["metadata"], rows.get((controller.group, controller.kind))
    for owner in metadata.get("ownerReferences") or ():
        its = (group_of(owner.get("apiVersion", "")), owner.get("kind", ""))
        if owner.get("controller") and its == (controller.group, controller.kind):
            namespace = metadata.get("namespace", "") if row is None or row.namespaced else ""
            yield Ref(*its, namespace, owner["name"])


def _moved(before: Raw | None, after: Raw) -> bool:
    fields = ("labels", "ownerReferences")
    return before is not None and any(before["metadata"].get(f) != after["metadata"].get(f) for f in fields)
