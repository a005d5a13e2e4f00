"""LimitRange: what a namespace fills in for containers, the bounds that it sets, and what is wrong with one."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from trainplane.api.meta import Raw
from trainplane.api.quantity import ZERO, Amount, amounts, parse
from trainplane.api.quota_use import pod_limits
from trainplane.api.raw import look
from trainplane.api.requests import pod_requests
from trainplane.cluster.causes import Cause, duplicate, forbidden, invalid, required
from trainplane.cluster.names import key_faults
from trainplane.cluster.resource_causes import container_name_causes
from trainplane.cluster.resource_names import resource_name_faults

_MOST_THOUSANDTHS = (2**63 - 1) // 1000
NOTE = "kubernetes.io/limit-ranger"
_TYPES = ("Pod", "Container", "PersistentVolumeClaim")
Both = tuple[Mapping[str, Amount], Mapping[str, Amount]]
"""Requests and limits."""


def with_defaults(pod: Raw, ranges: Iterable[Raw]) -> Raw:
    """The pod with the defaults of its namespace, and the annotation that says which; one that needs none unchanged."""
    notes: list[str] = []
    spec = pod.get("spec") or {}
    for range_ in ranges:
        default, request = _defaults(range_)
        for field, word in (("containers", "container"), ("initContainers", "init container")):
            if spec.get(field) and (default or request):
                filled = [_filled(one, (request, default), word=word, notes=notes) for one in spec[field]]
                spec = {**spec, field: filled}
    if not notes:
        return pod
    metadata = pod["metadata"]
    annotations = {**(metadata.get("annotations") or {}), NOTE: "LimitRanger plugin set: " + "; ".join(notes)}
    return {**pod, "metadata": {**metadata, "annotations": annotations}, "spec": spec}


def _defaults(range_: Raw) -> tuple[Raw, Raw]:
    default: Raw = {}
    request: Raw = {}
    for item in look(range_, "spec", "limits") or ():
        if item.get("type") == "Container":
            default |= item.get("default") or {}
            request |= item.get("defaultRequest") or {}
    return default, request


def _filled(container: Raw, defaults: tuple[Raw, Raw], *, word: str, notes: list[str]) -> Raw:
    resources = dict(container.get("resources") or {})
    for part, told, values in zip(("requests", "limits"), ("request", "limit"), defaults, strict=True):
        given = resources.get(part) or {}
        added = {name: amount for name, amount in sorted(values.items()) if name not in given}
        if added:
            resources[part] = {**given, **added}
            notes.append(f"{', '.join(added)} {told} for {word} {container.get('name')}")
    return {**container, "resources": resources}


def breaches(raw: Raw, ranges: Iterable[Raw]) -> list[str]:
    """What of a pod or a claim is outside the bounds of its namespace."""
    found: list[str] = []
    for range_ in ranges:
        for item in look(range_, "spec", "limits") or ():
            for requests, limits in _held(raw, str(item.get("type"))):
                found += _breaches(requests, limits, item)
    return found


def _held(raw: Raw, type_: str) -> Iterator[Both]:
    """The requests and limits of everything that an item bounds."""
    spec = raw.get("spec") or {}
    if raw.get("kind") == "PersistentVolumeClaim":
        if type_ == "PersistentVolumeClaim":
            yield amounts(look(spec, "resources", "requests") or {}), {}
    elif type_ == "Container":
        for field in ("containers", "initContainers"):
            for container in spec.get(field) or ():
                resources = container.get("resources") or {}
                yield amounts(resources.get("requests") or {}), amounts(resources.get("limits") or {})
    elif type_ == "Pod":
        yield pod_requests(spec), pod_limits(spec)


def _breaches(requests: Mapping[str, Amount], limits: Mapping[str, Amount], item: Raw) -> Iterator[str]:
    kind = item["type"]
    is_claim = kind == "PersistentVolumeClaim"
    for name, least in sorted(amounts(item.get("min") or {}).items()):
        words = f"minimum {name} usage per {kind} is {least}"
        if name not in requests:
            yield f"{words}.  No request is specified"
        elif requests[name] < least:
            yield f"{words}, but request is {requests[name]}"
        elif name in limits and limits[name] < least:
            yield f"{words}, but limit is {limits[name]}"
    for name, most in sorted(amounts(item.get("max") or {}).items()):
        words = f"maximum {name} usage per {kind} is {most}"
        if name not in limits and not is_claim:
            yield f"{words}.  No limit is specified"
        elif name in limits and limits[name] > most:
            yield f"{words}, but limit is {limits[name]}"
        elif name in requests and requests[name] > most:
            yield f"{words}, but request is {requests[name]}"
    for name, ratio in sorted(amounts(item.get("maxLimitRequestRatio") or {}).items()):
        yield from _ratio_breach(
            f"{name} max limit to request ratio per {kind} is {ratio}",
            ratio,
            (requests.get(name, ZERO), limits.get(name, ZERO)),
        )


def _ratio_breach(words: str, ratio: Amount, given: tuple[Amount, Amount]) -> Iterator[str]:
    request, limit = given
    for amount, word in ((request, "request"), (limit, "limit")):
        if not amount:
            yield f"{words}, but no {word} is specified or {word} is 0"
            return
    if limit.nano * 10**9 > ratio.nano * request.nano:
        yield f"{words}, but provided ratio is {limit.nano / request.nano:f}"


def limit_range_causes(new: Raw, _: Raw | None, __: str) -> Iterator[Cause]:
    """What is wrong with a LimitRange."""
    types: set[str] = set()
    for index, item in enumerate(look(new, "spec", "limits") or ()):
        at, type_ = f"spec.limits[{index}]", item.get("type") or ""
        faults = list(key_faults(type_))
        for fault in faults:
            yield invalid(f"{at}.type", type_, fault)
        if not faults and type_ not in _TYPES and "/" not in type_:
            yield invalid(f"{at}.type", type_, "must be a standard limit type or fully qualified")
        if type_ in types:
            yield duplicate(f"{at}.type", type_)
        types.add(type_)
        if type_ == "Pod":
            for name in ("default", "defaultRequest"):
                if item.get(name):
                    yield forbidden(f"{at}.{name}", "may not be specified when `type` is 'Pod'")
        if type_ == "PersistentVolumeClaim" and not any(
            (item.get(side) or {}).get("storage") for side in ("min", "max")
        ):
            words = "either minimum or maximum storage value is required, but neither was provided"
            yield required(f"{at}.limits", words)
        yield from _name_causes(item, at, type_)
        yield from _item_causes(item, at)


def _name_causes(item: Mapping[str, Any], at: str, type_: str) -> Iterator[Cause]:
    for side in ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"):
        for name in item.get(side) or ():
            where = f"{at}.{side}[{name}]"
            if type_ in ("Container", "Pod"):
                yield from container_name_causes(name, where)
            else:
                for fault in resource_name_faults(name):
                    yield invalid(where, name, fault)


def _item_causes(item: Mapping[str, Any], at: str) -> Iterator[Cause]:
    values = {side: amounts(item.get(side) or {}) for side in ("min", "max", "default", "defaultRequest")}
    ratios = amounts(item.get("maxLimitRequestRatio") or {})
    for name in sorted({name for given in (*values.values(), ratios) for name in given}):
        least, most, default, request = (values[side].get(name) for side in ("min", "max", "default", "defaultRequest"))
        rows = (
            ("min", least, least, most, f"min value {least} is greater than max value {most}"),
            (
                "defaultRequest",
                request,
                least,
                request,
                f"min value {least} is greater than default request value {request}",
            ),
            (
                "defaultRequest",
                request,
                request,
                most,
                f"default request value {request} is greater than max value {most}",
            ),
            (
                "defaultRequest",
                request,
                request,
                default,
                f"default request value {request} is greater than default limit value {default}",
            ),
            ("default", least, least, default, f"min value {least} is greater than default value {default}"),
            ("default", most, default, most, f"default value {default} is greater than max value {most}"),
        )
        for side, shown, low, high, words in rows:
            if low is not None and high is not None and low > high:
                yield invalid(f"{at}.{side}[{name}]", str(shown), words)
        ratio = ratios.get(name)
        if ratio is not None:
            yield from _ratio_causes(ratio, least, most, f"{at}.maxLimitRequestRatio[{name}]")


def _ratio_causes(ratio: Amount, least: Amount | None, most: Amount | None, at: str) -> Iterator[Cause]:
    if ratio < parse(1):
        yield invalid(at, str(ratio), f"ratio {ratio} is less than 1")
    if least and most is not None:
        # What is too large to be counted in thousandths is counted in whole ones.
        fine = max(ratio.value(), least.value(), most.value()) < _MOST_THOUSANDTHS
        highest = most.nano / least.nano if fine else most.value() / least.value()
        if ratio.nano / 10**9 > highest:
            yield invalid(at, str(ratio), f"ratio {ratio} is greater than max/min = {highest:f}")
