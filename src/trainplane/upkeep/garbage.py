"""Garbage collection: what nobody owns any more goes, and an owner goes before, after or without what it owns."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

from trainplane.api.kinds import KINDS, Kind
from trainplane.api.meta import FOREGROUND_DELETION, ORPHAN, Raw
from trainplane.api.raw import uid_of
from trainplane.api.times import moment
from trainplane.reconcile.controller import Controller
from trainplane.reconcile.decision import NOTHING, Action, Decision, Delete, Patch, Record
from trainplane.reconcile.view import Ref, View, group_of

QUARANTINE = timedelta(seconds=2)
"""How long a new object may name an owner that is not seen yet: the owner's own creation may still be on its way."""
COLLECTED = tuple(row for row in KINDS if row.kind != "Event")
"""Events own nothing and nobody owns them; there are many, and they go by their age."""
INVALID_NAMESPACE = "OwnerRefInvalidNamespace"

Scopes = dict[tuple[str, str], bool]
"""Whether the kinds that are seen at all live in namespaces, by group and kind."""


class Owners(NamedTuple):
    """An object's owner references, by what is known of each owner."""

    solid: list[Raw]
    """It is there, or nobody can tell: its kind is not one that is seen."""
    waiting: list[Raw]
    """It is there, and goes as soon as what it owns is gone."""
    absent: list[Raw]


def collect(raw: Raw, view: View, now: datetime, *, scopes: Scopes) -> Decision:
    """What becomes of one object for its owners' sake, and of its own deletion for the sake of what it owns."""
    if not raw:
        return NOTHING
    own = released(raw, view)
    if raw["metadata"].get("deletionTimestamp") or not raw["metadata"].get("ownerReferences"):
        return Decision.of(own)
    owners = sorted_out(raw, view, scopes)
    if not owners.waiting and not owners.absent:
        return Decision.of(own)
    if owners.absent and not owners.waiting:
        born = raw["metadata"].get("creationTimestamp")
        young = moment(born) + QUARANTINE - now if born else timedelta(0)
        if young > timedelta(0):
            return Decision.of(own, again=young)
    return Decision.of([*own, *complaints(raw, owners.absent, view), *settled(raw, owners, view)])


def settled(raw: Raw, owners: Owners, view: View) -> Iterator[Action]:
    """The object deleted, or, where an owner is left, only its dead references dropped."""
    if owners.solid:
        yield with_owners(raw, owners.solid)
        return
    children = view.owned_by(uid_of(raw))
    if owners.waiting and children:
        # The owner waits for all that hangs on it, so that too is deleted from the leaves up; two objects that own
        # each other would wait for ever, so what this object itself owns no longer holds it.
        yield from (unblocked(child, raw) for child in children if is_waiting(child) and is_blocking(child, raw))
        yield Delete(Ref.of(raw), uid_of(raw), propagation="Foreground")
        return
    yield Delete(Ref.of(raw), uid_of(raw), propagation=own_propagation(raw))


def released(raw: Raw, view: View) -> list[Action]:
    """What an object that is being deleted does with what it owns: leave it behind, or wait for it."""
    metadata = raw["metadata"]
    finalizers = metadata.get("finalizers") or []
    if not metadata.get("deletionTimestamp"):
        return []
    children = view.owned_by(uid_of(raw))
    if ORPHAN in finalizers:
        freed: list[Action] = [with_owners(child, owners_but(child, raw)) for child in children]
        return freed or [without_finalizer(raw, ORPHAN)]
    if FOREGROUND_DELETION in finalizers and not any(is_blocking(child, raw) for child in children):
        return [without_finalizer(raw, FOREGROUND_DELETION)]
    return []


def sorted_out(raw: Raw, view: View, scopes: Scopes) -> Owners:
    """The object's owner references, by what is known of each owner."""
    owners = Owners([], [], [])
    for reference in raw["metadata"]["ownerReferences"]:
        namespaced = scopes.get(kind_key(reference))
        if namespaced is None or (namespaced and not raw["metadata"].get("namespace")):
            # Where an owner would have to be looked for, nobody knows: such an object is never collected.
            owners.solid.append(reference)
            continue
        found = view.get(ref_of(reference, raw["metadata"].get("namespace", "") if namespaced else ""))
        if found is None or uid_of(found) != reference["uid"]:
            owners.absent.append(reference)
        elif is_waiting(found):
            owners.waiting.append(reference)
        else:
            owners.solid.append(reference)
    return owners


def complaints(raw: Raw, absent: Iterable[Raw], view: View) -> Iterator[Record]:
    """A warning for each owner that is there, but in another namespace, where it cannot own this object."""
    namespace = raw["metadata"].get("namespace", "")
    for reference in absent:
        elsewhere = view.all(*kind_key(reference))
        if any(uid_of(one) == reference["uid"] for one in elsewhere):
            name = f"{reference['kind']} {reference['name']}"
            yield Record(
                Ref.of(raw),
                "Warning",
                INVALID_NAMESPACE,
                f"the owner {name} (uid {reference['uid']}) is not in the namespace {namespace}; "
                "an owner must be in the namespace of what it owns, so the reference counts as dead",
            )


def is_waiting(raw: Raw) -> bool:
    """Whether an object goes as soon as what it owns is gone."""
    metadata = raw["metadata"]
    return bool(metadata.get("deletionTimestamp")) and FOREGROUND_DELETION in (metadata.get("finalizers") or ())


def is_blocking(child: Raw, owner: Raw) -> bool:
    """Whether an owner that waits for what it owns waits for this child."""
    uid = uid_of(owner)
    references = child["metadata"].get("ownerReferences") or ()
    return any(one.get("uid") == uid and one.get("blockOwnerDeletion") for one in references)


def own_propagation(raw: Raw) -> str:
    """How an object wants to be deleted, by the finalizers it already has."""
    finalizers = raw["metadata"].get("finalizers") or ()
    return "Orphan" if ORPHAN in finalizers else "Foreground" if FOREGROUND_DELETION in finalizers else "Background"


def owners_but(child: Raw, owner: Raw) -> list[Raw]:
    """The child's other owners."""
    return [one for one in child["metadata"].get("ownerReferences") or () if one.get("uid") != uid_of(owner)]


def unblocked(child: Raw, owner: Raw) -> Patch:
    """The child no longer in the way of its owner's deletion."""
    uid = uid_of(owner)
    references = child["metadata"].get("ownerReferences") or ()
    return with_owners(
        child, [{**one, "blockOwnerDeletion": False} if one["uid"] == uid else one for one in references]
    )


def with_owners(raw: Raw, owners: list[Raw]) -> Patch:
    """The object with these owners."""
    return _guarded(raw, {"ownerReferences": owners or None})


def without_finalizer(raw: Raw, finalizer: str) -> Patch:
    """The object without a finalizer."""
    left = [one for one in raw["metadata"].get("finalizers") or () if one != finalizer]
    return _guarded(raw, {"finalizers": left or None})


def _guarded(raw: Raw, metadata: dict[str, Any]) -> Patch:
    # A list is replaced whole, so the version guards what others may have added to it.
    version = raw["metadata"].get("resourceVersion")
    guarded = {**metadata, "resourceVersion": version} if version else metadata
    return Patch(Ref.of(raw), {"metadata": guarded}, uid=uid_of(raw))


def ref_of(reference: Raw, namespace: str) -> Ref:
    """Where the owner that a reference names should be."""
    return Ref(*kind_key(reference), namespace, reference["name"])


def kind_key(reference: Raw) -> tuple[str, str]:
    """Group and kind of the owner that a reference names."""
    return group_of(reference.get("apiVersion", "")), reference.get("kind", "")


def touched(raw: Raw, view: View, *, scopes: Scopes) -> Sequence[Ref]:
    """Who wants a look when an object has changed: it, what it owns where it is gone or going, and who waited for it.

    Nearly every change is of an object whose owners are there and stay, and must be answered at once.
    """
    metadata = raw["metadata"]
    references = metadata.get("ownerReferences")
    ref = Ref.of(raw)
    there = view.has(ref)
    going = metadata.get("deletionTimestamp") or not there
    found = [Ref.of(child) for child in view.owned_by(metadata.get("uid", ""))] if going else []
    if there and (going or (references and is_left(raw, view, scopes))):
        found.append(ref)
    for reference in references or ():
        group, kind = kind_key(reference)
        for namespace in dict.fromkeys((metadata.get("namespace", ""), "")):
            owner = view.get(Ref(group, kind, namespace, reference["name"]))
            if owner is not None and owner["metadata"].get("deletionTimestamp"):
                found.append(Ref.of(owner))
    return found


def is_left(raw: Raw, view: View, scopes: Scopes) -> bool:
    """Whether an owner of the object is gone or waits for it to go."""
    owners = sorted_out(raw, view, scopes)
    return bool(owners.absent or owners.waiting)


def garbage(kinds: Collection[Kind] = COLLECTED) -> Controller:
    """The collector; `kinds` must be those the View shows, for what it lacks counts as gone."""
    scopes = {(row.group, row.kind): row.namespaced for row in kinds}
    wake = partial(touched, scopes=scopes)
    return Controller(
        name="garbage",
        group="",
        kind="",
        reconcile=partial(collect, scopes=scopes),
        watches=tuple((key, wake) for key in scopes),
        turns=True,
        reports_as="garbage-collector-controller",
    )
