"""Server-side apply: who owns which field of an object, what an apply makes of it, and what an update takes.

Pure functions over JSON objects and their schemas. Neither defaults nor validates nor stores: whoever calls does so,
and calls these before admission changes anything, because what admission adds is nobody's.
"""

import json
from collections.abc import Container, Mapping
from datetime import datetime
from typing import Any

import msgspec

from trainplane.api.meta import Raw
from trainplane.api.raw import as_object, look, put
from trainplane.api.ref import group_of
from trainplane.api.schema import Schema
from trainplane.api.times import stamp
from trainplane.cluster.entries import (
    APPLY,
    BEFORE_FIRST_APPLY,
    UPDATE,
    Managed,
    Manager,
    Owned,
    capped,
    decode,
    encode,
    entries_of,
    entry,
    is_reset,
    stored,
    with_entries,
)
from trainplane.cluster.errors import ApplyConflict, BadRequest
from trainplane.cluster.fields import Fields, difference, intersection, named, paths, shown, union, without
from trainplane.cluster.mistakes import mistakes
from trainplane.cluster.resources import BUILT_IN_GROUPS
from trainplane.cluster.typed import Difference, difference_of, fields_of, merged, removed, same

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
MAX_ANNOTATIONS = 262_144
_KUBECTL = "kubectl"
_ENTRIES = "managedFields"

_STRIPPED: Fields = {
    "f:apiVersion": {},
    "f:kind": {},
    "f:metadata": {
        ".": {},
        "f:clusterName": {},
        "f:creationTimestamp": {},
        "f:generation": {},
        "f:managedFields": {},
        "f:name": {},
        "f:namespace": {},
        "f:resourceVersion": {},
        "f:selfLink": {},
        "f:uid": {},
    },
}
"""What belongs to the API server, whoever writes it."""


class Untyped(ValueError):
    """An applied object that its schema cannot read; `mistakes` says where and why.

    The real API server answers 500 without a reason; whoever serves may choose a better code.
    """

    def __init__(self, patch: Mapping[str, Any], mistakes: list[str]) -> None:
        metadata = as_object(patch.get("metadata"))
        group, _, version = str(patch.get("apiVersion", "")).rpartition("/")
        kind = f"{group}/{version}, Kind={patch.get('kind', '')}"
        where = f"{metadata.get('namespace') or ''}/{metadata.get('name') or ''}; {kind}"
        what = mistakes[0] if len(mistakes) == 1 else "\n  ".join(["errors:", *mistakes])
        super().__init__(f"failed to create typed patch object ({where}): {what}")
        self.mistakes = tuple(mistakes)


class Applied(msgspec.Struct, frozen=True):
    """What an apply makes of an object; `changed` is False where neither the object nor its managedFields differ."""

    object: Raw
    changed: bool


def apply(
    live: Mapping[str, Any] | None,
    patch: Mapping[str, Any],
    *,
    manager: str,
    schema: Schema,
    now: datetime,
    force: bool = False,
    subresource: str = "",
    ignored: Fields | None = None,
    blank: Raw | None = None,
) -> Applied:
    """Apply a patch as `manager` to the live object, or to nothing.

    `schema`, `ignored` and `blank` are what `tracking` knows of the kind: how it is merged, which fields it does not
    take on this path, and what every one of its objects has.
    Raises ApplyConflict, BadRequest and Untyped.
    """
    if look(patch, "metadata", "managedFields") is not None:
        raise BadRequest("metadata.managedFields must be nil")
    try:
        wrong = list(mistakes(patch, schema, custom=group_of(patch.get("apiVersion", "")) not in BUILT_IN_GROUPS))
    except RecursionError:
        raise BadRequest("exceeded max depth") from None
    if wrong:
        raise Untyped(patch, wrong)
    case = _Apply(live, patch, schema=schema, ignored=ignored or {}, blank=blank or {}, now=now)
    who = Manager.of(manager, APPLY, api_version=patch.get("apiVersion", ""), subresource=subresource)
    try:
        made, managed = case.made(who, force=force)
    except ApplyConflict as conflict:
        if manager != _KUBECTL or not case.only_last_applied(conflict):
            raise
        made, managed = case.made(who, force=True)
    if manager == _KUBECTL and look(made, "metadata", "annotations", LAST_APPLIED) is not None:
        made = put(made, ("metadata", "annotations", LAST_APPLIED), _last_applied(patch))
    after = with_entries(made, encode(managed))
    return Applied(after, live is None or not same(live, after))


def update(
    old: Mapping[str, Any] | None,
    new: Mapping[str, Any],
    *,
    manager: str,
    schema: Schema,
    now: datetime,
    subresource: str = "",
    ignored: Fields | None = None,
    blank: Raw | None = None,
) -> list[Raw]:
    """The managedFields of an object after a create, an update or any patch but an apply; [] where it has none.

    They begin with what the request sent as managedFields where that is well-formed, else with the old ones.
    """
    managed = _before(old, new, subresource)
    if not managed and old is not None:
        # Ownership was reset, or never kept: updates do not begin it.
        return []
    who = Manager.of(manager, UPDATE, api_version=new.get("apiVersion", ""), subresource=subresource)
    managed = _updated(managed, who, old, new, schema=schema, ignored=ignored or {}, blank=blank or {}, now=now)
    return encode(capped(managed))


def begun(new: Mapping[str, Any], fields: Fields, *, manager: str, now: datetime) -> list[Raw]:
    """The managedFields of a new object whose maker owns these fields, which are in order."""
    who = Manager.of(manager, UPDATE, api_version=new["apiVersion"])
    return [entry(who, Owned(fields, new["apiVersion"], stamp(now)), fields)]


def same_but_for_times(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether a write would change nothing but the times in managedFields: such a write is left out."""
    if any(name != "metadata" and item is not old.get(name) and item != old.get(name) for name, item in new.items()):
        return False
    return same(_timeless(old), _timeless(new))


class _Apply:
    """One apply to one live object."""

    def __init__(
        self,
        live: Mapping[str, Any] | None,
        patch: Mapping[str, Any],
        *,
        schema: Schema,
        ignored: Fields,
        blank: Raw,
        now: datetime,
    ) -> None:
        self._schema, self._ignored, self._now = schema, ignored, now
        self._live = with_entries(live or {}, None)
        self._patch = removed(patch, ignored, schema)
        self._managed = stored(live)
        if not self._managed and live is not None:
            who = Manager.of(BEFORE_FIRST_APPLY, UPDATE, api_version=patch.get("apiVersion", ""))
            self._managed = _updated({}, who, None, live, schema=schema, ignored=ignored, blank=blank, now=now)

    def made(self, who: Manager, *, force: bool) -> tuple[Raw, Managed]:
        """The object and its managers afterwards."""
        last = self._managed.get(who)
        fields = without(fields_of(self._patch, self._schema), self._ignored)
        version = self._patch.get("apiVersion", "")
        managed = {**self._managed, who: Owned(fields, version, last.time if last else "")}
        new = merged(self._live, self._patch, self._schema)
        if last and difference(last.fields, fields):
            new = self._pruned(new, managed, without(last.fields, self._ignored))
        change = _noticed(difference_of(self._live, new, self._schema), self._ignored)
        conflicts = _conflicts(managed, change, who)
        if conflicts and not force:
            raise ApplyConflict([(str(other), [shown(way) for way in paths(conflicts[other])]) for other in conflicts])
        managed = _left(managed, change.taken, change.removed, who=who)
        if not same(self._live, new):
            managed[who] = Owned(fields, version, stamp(self._now))
        return new, _stripped(managed, who)

    def _pruned(self, new: Raw, managed: Managed, last: Fields) -> Raw:
        """The object without what the manager owned alone and no longer applies."""
        schema = self._schema
        owned: Fields = {}
        for each in managed.values():
            owned = union(owned, each.fields)
        there = named(fields_of(new, schema), schema)
        last = named(last, schema)
        bare = removed(new, last, schema)
        kept = union(named(fields_of(bare, schema), schema), named(owned, schema))
        pruned = removed(new, difference(there, kept), schema)
        gone = difference(there, named(fields_of(pruned, schema), schema))
        left: Raw = removed(new, intersection(gone, last), schema)
        return left

    def only_last_applied(self, conflict: ApplyConflict) -> bool:
        """Whether a conflict is only about what `kubectl apply` wrote on the client's side and nobody has changed."""
        text = look(self._live, "metadata", "annotations", LAST_APPLIED)
        try:
            before = json.loads(text or "")
        except ValueError:
            return False
        if not isinstance(before, dict) or any(mistakes(before, self._schema)):
            return False
        change = difference_of(before, self._live, self._schema)
        allowed = fields_of(before, self._schema)
        for changed in change:
            allowed = difference(allowed, changed)
        known = {shown(way) for way in paths(allowed)}
        return all(field in known for _, fields in conflict.conflicts for field in fields)


def _before(old: Mapping[str, Any] | None, new: Mapping[str, Any], subresource: str) -> Managed:
    """The managers before an update: as the request has them where it may say so, else as they were."""
    sent = entries_of(new)
    if not subresource and sent != entries_of(old):
        if is_reset(sent, custom=group_of(new.get("apiVersion", "")) not in BUILT_IN_GROUPS):
            return {}
        managed = decode(sent)
        if managed:
            return managed
    return stored(old)


def _updated(
    managed: Managed,
    who: Manager,
    old: Mapping[str, Any] | None,
    new: Mapping[str, Any],
    *,
    schema: Schema,
    ignored: Fields,
    blank: Raw,
    now: datetime,
) -> Managed:
    """The managers after `who` made `old` into `new`."""
    before, after = _apart(old or {}, new, blank)
    change = _noticed(difference_of(before, after, schema), ignored)
    taken = change.taken
    left = _left(managed, taken, change.removed, who=None)
    taken = difference(taken, _STRIPPED)
    if taken:
        mine = left[who].fields if who in left else {}
        left[who] = Owned(union(taken, mine), new.get("apiVersion", ""), stamp(now))
    return left


def _apart(old: Mapping[str, Any], new: Mapping[str, Any], blank: Raw) -> tuple[Raw, Raw]:
    """Two objects with what all of their kind have, and without what they share: that does not differ."""
    before = {name: item for name, item in old.items() if new.get(name, blank) is not item}
    after = {name: item for name, item in new.items() if old.get(name, blank) is not item}
    was, now = as_object(before.get("metadata")), as_object(after.get("metadata"))
    before["metadata"] = {name: item for name, item in was.items() if now.get(name) is not item and name != _ENTRIES}
    after["metadata"] = {name: item for name, item in now.items() if was.get(name) is not item and name != _ENTRIES}
    blank = {name: item for name, item in blank.items() if name in before or name in after}
    return _over(blank, before), _over(blank, after)


def _except(raw: Mapping[str, Any], names: Container[str]) -> Raw:
    return {name: item for name, item in raw.items() if name not in names}


def _over(blank: Raw, raw: Mapping[str, Any]) -> Raw:
    """The object with what every one of its kind has."""
    filled = dict(raw)
    for name, item in blank.items():
        if filled.get(name) is None:
            filled[name] = item
        elif isinstance(item, dict) and item and isinstance(filled[name], dict):
            filled[name] = _over(item, filled[name])
    return filled


def _noticed(change: Difference, ignored: Fields) -> Difference:
    return Difference(*(without(fields, ignored) for fields in change)) if ignored else change


def _conflicts(managed: Managed, change: Difference, who: Manager) -> dict[Manager, Fields]:
    """What others own and would lose, in the managers' order."""
    lost = {other: intersection(owned.fields, change.taken) for other, owned in managed.items() if other != who}
    return {other: lost[other] for other in sorted(lost) if lost[other]}


def _left(managed: Managed, taken: Fields, gone: Fields, *, who: Manager | None) -> Managed:
    """What everybody still owns after a change; `who` made it, and loses nothing."""
    left: Managed = {}
    for manager, owned in managed.items():
        fields = owned.fields if manager == who else difference(owned.fields, taken)
        fields = fields if manager == who else difference(fields, gone)
        if fields:
            left[manager] = owned.with_fields(fields)
    return left


def _stripped(managed: Managed, who: Manager) -> Managed:
    """The managers, without what belongs to the API server in the entry of `who`."""
    if who not in managed:
        return managed
    fields = difference(managed[who].fields, _STRIPPED)
    kept = {manager: owned for manager, owned in managed.items() if manager != who}
    return {**kept, who: managed[who].with_fields(fields)} if fields else kept


def _last_applied(patch: Mapping[str, Any]) -> str:
    """The patch as kubectl's annotation has it, or nothing where that would be too long."""
    annotations = look(patch, "metadata", "annotations")
    if isinstance(annotations, Mapping):
        bare = {name: text for name, text in annotations.items() if name != LAST_APPLIED}
        patch = put(patch, ("metadata", "annotations"), bare)
    text = json.dumps(patch, separators=(",", ":"), sort_keys=True, ensure_ascii=False) + "\n"
    return text if len(text.encode()) <= MAX_ANNOTATIONS else ""


def _timeless(raw: Mapping[str, Any]) -> Raw:
    """The object without its version and without the times in its managedFields."""
    metadata = {
        name: item for name, item in raw["metadata"].items() if name not in ("resourceVersion", "managedFields")
    }
    entries = [{name: item for name, item in each.items() if name != "time"} for each in entries_of(raw) or ()]
    return {**raw, "metadata": {**metadata, "managedFields": entries}}
