"""The entries of metadata.managedFields: who owns which fields, read and written as the API server does."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from trainplane.api.meta import Raw
from trainplane.api.raw import as_object, look
from trainplane.cluster.fields import Fields, Steps, difference, has, ordered, single, union, well_formed

APPLY = "Apply"
UPDATE = "Update"
BEFORE_FIRST_APPLY = "before-first-apply"
"""The manager of what was there before anybody applied."""
ANCIENT = "ancient-changes"
"""The manager of the oldest updates, when there have been too many managers to keep apart."""
MAX_UPDATE_MANAGERS = 10
SCALE_VERSION = "autoscaling/v1"
SCALE_REPLICAS: Steps = ("f:spec", "f:replicas")


class Manager(NamedTuple):
    """Who owns fields; an applier is the same in all versions, so that its apiVersion is left empty here."""

    name: str
    operation: str
    api_version: str
    subresource: str

    @classmethod
    def of(cls, name: str, operation: str, *, api_version: str, subresource: str = "") -> "Manager":
        """The manager of a request."""
        return cls(name or "unknown", operation, "" if operation == APPLY else api_version, subresource)

    def __str__(self) -> str:
        """The manager as conflicts name it: `"kubectl" with subresource "status" using v1`."""
        words = f'"{self.name}"'
        if self.subresource:
            words += f' with subresource "{self.subresource}"'
        return f"{words} using {self.api_version}" if self.operation == UPDATE else words


class Owned(NamedTuple):
    """What a manager owns, in which version's words, and since when."""

    fields: Fields
    api_version: str
    time: str = ""
    entry: Raw | None = None
    """The entry that says just this, where one is there already."""

    def with_fields(self, fields: Fields) -> "Owned":
        """The same with other fields."""
        return self if fields is self.fields else Owned(fields, self.api_version, self.time)


Managed = dict[Manager, Owned]


def entries_of(raw: Mapping[str, Any] | None) -> list[Raw] | None:
    """The managedFields of an object as they stand, or None where it has none."""
    found: list[Raw] | None = look(raw, "metadata", "managedFields")
    return found


def stored(raw: Mapping[str, Any] | None) -> Managed:
    """The managers of an object that is stored: its entries were written here, and need no second look."""
    managed: Managed = {}
    for entry in entries_of(raw) or ():
        operation, version = entry["operation"], entry["apiVersion"]
        name, subresource = entry.get("manager") or "", entry.get("subresource") or ""
        manager = Manager(name, operation, "" if operation == APPLY else version, subresource)
        managed[manager] = Owned(entry.get("fieldsV1") or {}, version, entry.get("time") or "", entry)
    return managed


def decode(entries: Iterable[Any] | None) -> Managed | None:
    """The managers of some entries, or None where an entry is not one that the API server would have written."""
    managed: Managed = {}
    for entry in entries or ():
        if not isinstance(entry, Mapping) or entry.get("operation") not in (APPLY, UPDATE):
            return None
        version, fields = entry.get("apiVersion"), entry.get("fieldsV1") or {}
        if not version or entry.get("fieldsType") != "FieldsV1" or not well_formed(fields):
            return None
        name, subresource = entry.get("manager") or "", entry.get("subresource") or ""
        manager = Manager(name, entry["operation"], "" if entry["operation"] == APPLY else version, subresource)
        managed[manager] = Owned(fields, version, entry.get("time") or "")
    return managed


def encode(managed: Managed) -> list[Raw]:
    """The entries of some managers, in the API server's order: appliers first, then by time, then by name."""
    return [
        owned.entry or entry(manager, owned, ordered(owned.fields))
        for manager, owned in sorted(managed.items(), key=_rank)
    ]


def _rank(item: tuple[Manager, Owned]) -> tuple[str, str, str, str, str]:
    manager, owned = item
    return manager.operation, owned.time, manager.name, owned.api_version, manager.subresource


def entry(manager: Manager, owned: Owned, fields: Fields) -> Raw:
    """The entry of a manager; `fields` are those that it owns, in order."""
    made: Raw = {"manager": manager.name, "operation": manager.operation, "apiVersion": owned.api_version}
    if owned.time:
        made["time"] = owned.time
    made |= {"fieldsType": "FieldsV1", "fieldsV1": fields}
    if manager.subresource:
        made["subresource"] = manager.subresource
    return made


def with_entries(raw: Mapping[str, Any], entries: list[Raw] | None) -> Raw:
    """The object with these managedFields, or with none."""
    metadata = {name: item for name, item in as_object(raw.get("metadata")).items() if name != "managedFields"}
    if entries:
        metadata["managedFields"] = entries
    return {**raw, "metadata": metadata} if metadata or "metadata" in raw else dict(raw)


def is_reset(entries: Any, *, custom: bool) -> bool:
    """Whether somebody who sent these entries wants ownership to be forgotten: one empty entry, or an empty list.

    The API server does not see an empty list in an object of a kind that a CRD defines.
    """
    return isinstance(entries, list) and (entries == [{}] or (not entries and not custom))


def capped(managed: Managed) -> Managed:
    """The managers with the oldest updates gathered under one name, where more than ten have updated the object."""
    if len(managed) <= MAX_UPDATE_MANAGERS:
        return managed
    updaters = sorted(
        (manager for manager in managed if manager.operation == UPDATE), key=lambda who: (managed[who].time, who)
    )
    extra = len(updaters) - MAX_UPDATE_MANAGERS
    if extra <= 0:
        return managed
    managed = dict(managed)
    first: dict[str, Manager] = {}
    for manager in updaters:
        if extra <= 0:
            break
        owned = managed[manager]
        if owned.api_version not in first:
            first[owned.api_version] = manager
            continue
        bucket = Manager(ANCIENT, UPDATE, owned.api_version, "")
        if bucket not in managed:
            managed[bucket] = managed.pop(first[owned.api_version])
        del managed[manager]
        managed[bucket] = owned.with_fields(union(managed[bucket].fields, owned.fields))
        extra -= 1
    return managed


def scale_entries(entries: list[Raw] | None, replicas: Steps) -> list[Raw]:
    """The entries that an object's Scale has: those that own the field which `replicas` leads to."""
    managed = decode(entries) or {}
    return encode(
        {
            _in_scale(manager): Owned(single(SCALE_REPLICAS), SCALE_VERSION, owned.time)
            for manager, owned in managed.items()
            if has(owned.fields, replicas)
        }
    )


def scaled_entries(
    entries: list[Raw] | None, scale: list[Raw] | None, *, replicas: Steps, api_version: str
) -> list[Raw]:
    """An object's entries after a write to its Scale that left the Scale with these."""
    left = decode(scale) or {}
    managed: Managed = {}
    for manager, owned in (decode(entries) or {}).items():
        fields = owned.fields
        if has(fields, replicas) and left.pop(_in_scale(manager), None) is None:
            fields = difference(fields, single(replicas))
        if fields:
            managed[manager] = owned.with_fields(fields)
    for manager, owned in left.items():
        if has(owned.fields, SCALE_REPLICAS):
            here = manager._replace(api_version=api_version if manager.operation == UPDATE else "")
            # The API server keeps no time of what was written by way of a Scale.
            managed[here] = Owned(single(replicas), api_version)
    return encode(managed)


def _in_scale(manager: Manager) -> Manager:
    return manager._replace(api_version=SCALE_VERSION) if manager.operation == UPDATE else manager
