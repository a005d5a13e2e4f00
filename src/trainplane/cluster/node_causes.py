"""What the API server refuses in Nodes."""

from collections.abc import Iterator

from trainplane.api.meta import Raw
from trainplane.api.quantity import parse
from trainplane.api.raw import look
from trainplane.cluster.causes import Cause, forbidden, invalid, not_supported, required
from trainplane.cluster.endpoint_causes import RANGE_WORDS, is_range
from trainplane.cluster.names import key_faults, value_faults

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def node_causes(new: Raw, old: Raw | None, subresource: str) -> Iterator[Cause]:
    """What is wrong with a Node, by itself and against what it was."""
    if subresource:
        yield from _amount_causes(new)
        return
    spec = new.get("spec") or {}
    for index, text in enumerate(_ranges(spec)):
        if not is_range(text):
            yield invalid(f"spec.podCIDRs[{index}]", text, RANGE_WORDS)
    # Told twice of a change, as the API server judges taints twice then.
    for _ in range(1 if old is None else 2):
        yield from _taint_causes(spec)
    before = look(old, "spec") or {}
    if _ranges(before) and _ranges(spec) != _ranges(before):
        yield forbidden("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid')
    if before.get("providerID") and spec.get("providerID") != before["providerID"]:
        yield forbidden("spec.providerID", 'node updates may not change providerID except from "" to valid')


def _ranges(spec: Raw) -> list[str]:
    return spec.get("podCIDRs") or ([spec["podCIDR"]] if spec.get("podCIDR") else [])


def _taint_causes(spec: Raw) -> Iterator[Cause]:
    for index, taint in enumerate(spec.get("taints") or ()):
        at, key, effect = f"metadata.taints[{index}]", taint.get("key") or "", taint.get("effect") or ""
        for fault in key_faults(key):
            yield invalid(f"{at}.key", key, fault)
        for fault in value_faults(taint.get("value") or ""):
            yield invalid(f"{at}.value", taint["value"], fault)
        if not effect:
            yield required(f"{at}.effect")
        elif effect not in _EFFECTS:
            yield not_supported(f"{at}.effect", effect, _EFFECTS)


def _amount_causes(new: Raw) -> Iterator[Cause]:
    for name in ("capacity", "allocatable"):
        for resource, amount in (look(new, "status", name) or {}).items():
            if parse(amount) < parse(0):
                yield invalid(f"status.{name}.{resource}", str(amount), "must be greater than or equal to 0")
