"""What the API server refuses in Nodes."""

from collections.abc import Iterator

from trainplane.api.meta import Raw
from trainplane.api.quantity import parse
from trainplane.api.raw import look
from trainplane.cluster.addresses import range_faults, read_address
from trainplane.cluster.causes import Cause, forbidden, invalid, not_supported, required
from trainplane.cluster.causes import duplicate as repeated
from trainplane.cluster.json_words import json_fault
from trainplane.cluster.names import key_faults, value_faults
from trainplane.cluster.resource_names import is_whole

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def node_causes(new: Raw, old: Raw | None, subresource: str) -> Iterator[Cause]:
    """What is wrong with a Node, by itself and against what it was."""
    if subresource:
        yield from _amount_causes(new)
        return
    spec = new.get("spec") or {}
    for index, text in enumerate(_ranges(spec)):
        for fault in range_faults(text):
            yield invalid(f"spec.podCIDRs[{index}]", text, fault)
    families = [found.version for text in _ranges(spec) if (found := read_address(text.partition("/")[0]))]
    if len(set(families)) < len(families):
        words = "may specify no more than one CIDR for each IP family"
        yield invalid("spec.podCIDRs", _ranges(spec), words)
    if old is None:
        yield from _amount_causes(new)
        yield from _annotation_causes(new["metadata"].get("annotations") or {})
    # Told twice of a change, as the API server judges taints twice then.
    for _ in range(1 if old is None else 2):
        yield from _taint_causes(spec)
    before = look(old, "spec") or {}
    if _ranges(before) and _ranges(spec) != _ranges(before):
        yield forbidden("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid')
    if before.get("providerID") and spec.get("providerID") != before["providerID"]:
        yield forbidden("spec.providerID", 'node updates may not change providerID except from "" to valid')


def with_ranges(spec: Raw) -> Raw:
    """A Node's spec that says its ranges of addresses in both ways; the one that is alone counts."""
    one, many = spec.get("podCIDR"), spec.get("podCIDRs") or []
    if not one and not many:
        return spec
    first = one or many[0]
    return {**spec, "podCIDR": first, "podCIDRs": many if many and many[0] == first else [first]}


def _annotation_causes(annotations: Raw) -> Iterator[Cause]:
    key = "scheduler.alpha.kubernetes.io/preferAvoidPods"
    if annotations.get(key) and (fault := json_fault(annotations[key])):
        yield invalid("metadata.annotations.AvoidPods", key, fault)


def _ranges(spec: Raw) -> list[str]:
    return spec.get("podCIDRs") or ([spec["podCIDR"]] if spec.get("podCIDR") else [])


def _taint_causes(spec: Raw) -> Iterator[Cause]:
    seen: set[tuple[str, str]] = set()
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
        if (key, effect) in seen:
            shown = {"Key": key, "Value": taint.get("value") or "", "Effect": effect}
            cause = repeated(at, {**shown, "TimeAdded": taint.get("timeAdded")})
            yield Cause(cause.reason, at, f"{cause.message}: taints must be unique by key and effect pair")
        seen.add((key, effect))


def _amount_causes(new: Raw) -> Iterator[Cause]:
    for name in ("capacity", "allocatable"):
        for resource, amount in (look(new, "status", name) or {}).items():
            if parse(amount) < parse(0):
                yield invalid(f"status.{name}.{resource}", str(amount), "must be greater than or equal to 0")
            if is_whole(resource) and parse(amount).nano % 10**9:
                yield invalid(f"status.{name}.{resource}", str(amount), "must be an integer")
