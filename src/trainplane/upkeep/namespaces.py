"""Namespace deletion: empty the namespace, say what is left, and let it go when nothing is."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta

from trainplane.api.core import NAMESPACE_FINALIZER
from trainplane.api.kinds import KINDS, Kind
from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.reconcile.controller import Controller
from trainplane.reconcile.decision import NOTHING, Action, Decision, Delete, Patch, SetStatus
from trainplane.reconcile.view import Ref, View
from trainplane.upkeep.conditions import with_condition

PATIENCE = timedelta(seconds=15)
"""How soon to look again for what takes its time to go."""
NAMESPACED = tuple(row for row in KINDS if row.namespaced and (row.group, row.kind) != ("", "Event"))
"""What a namespace may hold. Events are one store with two names, and are looked at under the newer one."""
STEPS = (
    ("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"),
    ("NamespaceDeletionGroupVersionParsingFailure", "ParsedGroupVersions", "All legacy kube types successfully parsed"),
    (
        "NamespaceDeletionContentFailure",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
)
"""What can go wrong on a real server and cannot here; clients look for these conditions all the same."""


def reconcile(namespace: Raw, view: View, now: datetime) -> Decision:
    """What should be done about one namespace now: nothing, unless it is being deleted and waits for us.

    One whose finalizers went before it was deleted is removed by a second deletion, as on a real server.
    """
    finalizers = look(namespace, "spec", "finalizers") or []
    if not namespace["metadata"].get("deletionTimestamp") or not finalizers:
        return NOTHING
    ref, uid = Ref.of(namespace), namespace["metadata"].get("uid", "")
    found = list(contents(namespace["metadata"]["name"], view))
    actions: list[Action] = [
        Delete(Ref.of(raw), raw["metadata"].get("uid", ""))
        for _, raw in found
        if not raw["metadata"].get("deletionTimestamp")
    ]
    staying = [(row, raw) for row, raw in found if stays(raw)]
    status = told(namespace.get("status") or {}, staying, now)
    if found:
        if staying and status != (namespace.get("status") or {}):
            actions.append(SetStatus(ref, status, uid))
        return Decision.of(actions, again=PATIENCE)
    if NAMESPACE_FINALIZER in finalizers:
        left = [one for one in finalizers if one != NAMESPACE_FINALIZER]
        return Decision((Patch(ref, {"spec": {"finalizers": left}}, uid, subresource="finalize"),), again=PATIENCE)
    return NOTHING


def contents(name: str, view: View) -> Iterator[tuple[Kind, Raw]]:
    """Everything in a namespace, with its kind."""
    for row in NAMESPACED:
        for raw in view.all(row.group, row.kind, namespace=name):
            yield row, raw


def stays(raw: Raw) -> bool:
    """Whether an object is still there when it has been deleted: it is held, or a node has to let go of it."""
    metadata = raw["metadata"]
    return bool(metadata.get("deletionTimestamp") or metadata.get("finalizers") or look(raw, "spec", "nodeName"))


def told(status: Raw, found: list[tuple[Kind, Raw]], now: datetime) -> Raw:
    """The namespace's status: Terminating, with what remains and which finalizers it waits for."""
    kinds = Counter(row.resource for row, _ in found)
    finalizers = Counter(one for _, raw in found for one in raw["metadata"].get("finalizers") or ())
    remaining = ", ".join(f"{resource}. has {count} resource instances" for resource, count in sorted(kinds.items()))
    holding = ", ".join(f"{name} in {count} resource instances" for name, count in sorted(finalizers.items()))
    status = {**status, "phase": "Terminating"}
    for type_, reason, message in STEPS:
        status = with_condition(status, said(type_, "False", reason, message), now)
    status = with_condition(
        status,
        said("NamespaceContentRemaining", "True", "SomeResourcesRemain", f"Some resources are remaining: {remaining}")
        if kinds
        else said("NamespaceContentRemaining", "False", "ContentRemoved", "All content successfully removed"),
        now,
    )
    return with_condition(
        status,
        said(
            "NamespaceFinalizersRemaining",
            "True",
            "SomeFinalizersRemain",
            f"Some content in the namespace has finalizers remaining: {holding}",
        )
        if finalizers
        else said(
            "NamespaceFinalizersRemaining",
            "False",
            "ContentHasNoFinalizers",
            "All content-preserving finalizers finished",
        ),
        now,
    )


def said(type_: str, status: str, reason: str, message: str) -> Raw:
    """A condition without its time."""
    return {"type": type_, "status": status, "reason": reason, "message": message}


def around(raw: Raw, view: View) -> Iterator[Ref]:
    """The namespace of an object, where it is being deleted."""
    found = view.get(Ref("", "Namespace", "", raw["metadata"].get("namespace", "")))
    if found is not None and found["metadata"].get("deletionTimestamp"):
        yield Ref.of(found)


NAMESPACES = Controller(
    name="namespaces",
    group="",
    kind="Namespace",
    reconcile=reconcile,
    watches=tuple(((row.group, row.kind), around) for row in NAMESPACED),
    turns=True,
)
"""The controller of namespaces that go."""
