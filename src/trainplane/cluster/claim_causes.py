"""What the API server refuses in claims of volumes, and what becomes of what they are filled from."""

from collections.abc import Iterator, Mapping
from typing import Any

from trainplane.api.meta import Raw
from trainplane.api.quantity import parse
from trainplane.api.raw import look
from trainplane.cluster.causes import Cause, forbidden, invalid, not_supported, required
from trainplane.cluster.go_structs import difference
from trainplane.cluster.names import subdomain_faults
from trainplane.cluster.selector_causes import selector_causes

_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_SNAPSHOT = ("snapshot.storage.k8s.io", "VolumeSnapshot")
_CLAIM = ("", "PersistentVolumeClaim")


def claim_causes(new: Raw, old: Raw | None, subresource: str) -> Iterator[Cause]:
    """What is wrong with a claim, by itself and against what it was."""
    if subresource == "status":
        return
    if old is not None:
        yield from _change_causes(new, old)
    yield from claim_spec_causes(new.get("spec") or {}, "spec")


def claim_spec_causes(spec: Mapping[str, Any], at: str) -> Iterator[Cause]:
    """What is wrong with the spec of a claim, which stands at a path."""
    modes = spec.get("accessModes") or ()
    if not modes:
        yield required(f"{at}.accessModes", "at least 1 access mode is required")
    for mode in modes:
        if mode not in _ACCESS_MODES:
            yield not_supported(f"{at}.accessModes", mode, _ACCESS_MODES)
    if "ReadWriteOncePod" in modes and len(modes) > 1:
        yield forbidden(f"{at}.accessModes", "may not use ReadWriteOncePod with other access modes")
    yield from selector_causes(spec.get("selector") or {}, f"{at}.selector")
    for name in ("storageClassName", "volumeAttributesClassName"):
        for fault in subdomain_faults(spec[name]) if spec.get(name) else ():
            yield invalid(f"{at}.{name}", spec[name], fault)
    mode = spec.get("volumeMode")
    if mode not in (None, "Block", "Filesystem"):
        yield not_supported(f"{at}.volumeMode", mode, ("Block", "Filesystem"))
    for name in ("dataSource", "dataSourceRef"):
        if spec.get(name) is not None:
            yield from _origin_causes(spec[name], f"{at}.{name}")
    storage = look(spec, "resources", "requests", "storage")
    if storage is None:
        yield required(f"{at}.resources[storage]")
    elif parse(storage) <= parse(0):
        yield invalid(f"{at}.resources[storage]", str(storage), "must be greater than zero")


def _origin_causes(origin: Raw, at: str) -> Iterator[Cause]:
    """What is wrong with what a claim is filled from."""
    kind, group = origin.get("kind") or "", origin.get("apiGroup") or ""
    for name in ("name", "kind"):
        if not origin.get(name):
            yield required(f"{at}.{name}")
    if not group and kind != "PersistentVolumeClaim":
        yield invalid(at, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup")
    for fault in subdomain_faults(group) if group else ():
        yield invalid(f"{at}.apiGroup", group, fault)


def _change_causes(new: Raw, old: Raw) -> Iterator[Cause]:
    before, after = (_fixed(each) for each in (old, new))
    if not before.get("volumeName"):
        # A volume is found once.
        after.pop("volumeName", None)
    if before.get("storageClassName") is None:
        # A class may be told later, where none was.
        after.pop("storageClassName", None)
    if before != after:
        words = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound"
        yield forbidden("spec", f"{words} claims\n{difference(before, after, 'ClaimSpec')}")
    if before.get("volumeMode") != after.get("volumeMode"):
        yield invalid("volumeMode", after.get("volumeMode"), "field is immutable")
    had, has = (look(each, "spec", "resources", "requests", "storage") for each in (old, new))
    if had is not None and parse(has or 0) < parse(had):
        yield forbidden("spec.resources.requests.storage", "field can not be less than status.capacity")


def _fixed(raw: Raw) -> Raw:
    spec = dict(raw.get("spec") or {})
    if look(raw, "status", "phase") == "Bound":
        spec.pop("resources", None)
        spec.pop("volumeAttributesClassName", None)
    return spec


def with_origins(spec: Raw) -> Raw:
    """The spec of a new claim whose older and newer way to say what it is filled from say the same."""
    old, new = spec.get("dataSource"), spec.get("dataSourceRef")
    if old is None and new is None:
        return spec
    made = {name: item for name, item in spec.items() if name not in ("dataSource", "dataSourceRef")}
    if old is not None and (old.get("apiGroup") or "", old.get("kind")) not in (_CLAIM, _SNAPSHOT):
        # The older way knows two kinds.
        old = None
    if new is not None and new.get("namespace"):
        # Claims are not filled from other namespaces.
        new = None
    if old is None and new is not None:
        old = {name: item for name, item in new.items() if name != "namespace"}
    elif new is None and old is not None and spec.get("dataSourceRef") is None:
        new = old
    for name, origin in (("dataSource", old), ("dataSourceRef", new)):
        if origin is not None:
            made[name] = {"apiGroup": None, "kind": "", "name": "", **origin}
    return made
