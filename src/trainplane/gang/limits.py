"""LimitRange: what a namespace fills in for containers, and the bounds that it sets for containers and pods."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from trainplane.api.meta import Raw
from trainplane.api.problem import Problem
from trainplane.api.quantity import ZERO, Amount, amounts, total
from trainplane.gang.rules import OUT_OF_LIMITS

ANNOTATION = "kubernetes.io/limit-ranger"
_CONTAINERS = ("initContainers", "containers")


def with_defaults(pod: Raw, ranges: Iterable[Raw]) -> Raw:
    """The pod with the defaults of its namespace, and the annotation that says which; one that needs none unchanged."""
    notes: list[str] = []
    for range_ in ranges:
        default, request = _defaults(range_)
        if not default and not request:
            continue
        spec = dict(pod["spec"])
        for field in ("containers", "initContainers"):
            if spec.get(field):
                word = "container" if field == "containers" else "init container"
                spec[field] = [_filled(one, default, request, word, notes) for one in spec[field]]
        pod = {**pod, "spec": spec}
    if not notes:
        return pod
    metadata = pod["metadata"]
    annotations = {**(metadata.get("annotations") or {}), ANNOTATION: "LimitRanger plugin set: " + "; ".join(notes)}
    return {**pod, "metadata": {**metadata, "annotations": annotations}}


def _defaults(range_: Raw) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    default: dict[str, Any] = {}
    request: dict[str, Any] = {}
    for item in (range_.get("spec") or {}).get("limits") or ():
        if item.get("type") == "Container":
            default |= item.get("default") or {}
            request |= item.get("defaultRequest") or {}
    return default, request


def _filled(container: Raw, default: Mapping[str, Any], request: Mapping[str, Any], word: str, notes: list[str]) -> Raw:
    resources = container.get("resources") or {}
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    # A limit that the author gave stands for the request too, before any default.
    requests = {**{name: value for name, value in limits.items() if name not in requests}, **requests}
    new_requests = {name: value for name, value in request.items() if name not in requests}
    new_limits = {name: value for name, value in default.items() if name not in limits}
    if new_requests:
        notes.append(f"{', '.join(sorted(new_requests))} request for {word} {container['name']}")
    if new_limits:
        notes.append(f"{', '.join(sorted(new_limits))} limit for {word} {container['name']}")
    if not new_requests and not new_limits:
        return container
    both = {"limits": {**limits, **new_limits}, "requests": {**requests, **new_requests}}
    return {**container, "resources": {**resources, **{name: value for name, value in both.items() if value}}}


def check_limits(pod: Raw, ranges: Iterable[Raw]) -> list[Problem]:
    """What of a pod is outside the bounds of its namespace, in the words of the API server."""
    found = []
    for range_ in ranges:
        for item in (range_.get("spec") or {}).get("limits") or ():
            for holder, path in _holders(pod["spec"], item.get("type")):
                found += [Problem(OUT_OF_LIMITS, path, what) for what in _breaches(holder, item)]
    return found


def _holders(spec: Raw, kind: str | None) -> Iterator[tuple[tuple[Mapping[str, Amount], ...], tuple[str | int, ...]]]:
    """(requests, limits) of everything that the item bounds, and where it is."""
    if kind == "Container":
        for field in _CONTAINERS:
            for i, container in enumerate(spec.get(field) or ()):
                yield _both(container), ("spec", field, i, "resources")
    elif kind == "Pod":
        parts = [_both(container) for container in spec.get("containers") or ()]
        yield (total(one[0] for one in parts), total(one[1] for one in parts)), ("spec", "containers")


def _both(container: Raw) -> tuple[Mapping[str, Amount], Mapping[str, Amount]]:
    resources = container.get("resources") or {}
    limits = amounts(resources.get("limits") or {})
    return {**limits, **amounts(resources.get("requests") or {})}, limits


def _breaches(both: tuple[Mapping[str, Amount], ...], item: Raw) -> Iterator[str]:
    requests, limits = both
    kind = item["type"]
    for name, least in sorted(amounts(item.get("min") or {}).items()):
        if name not in requests:
            yield f"minimum {name} usage per {kind} is {least}.  No request is specified"
        elif requests[name] < least:
            yield f"minimum {name} usage per {kind} is {least}, but request is {requests[name]}"
        elif name in limits and limits[name] < least:
            yield f"minimum {name} usage per {kind} is {least}, but limit is {limits[name]}"
    for name, most in sorted(amounts(item.get("max") or {}).items()):
        if name not in limits:
            yield f"maximum {name} usage per {kind} is {most}.  No limit is specified"
        elif limits[name] > most:
            yield f"maximum {name} usage per {kind} is {most}, but limit is {limits[name]}"
        elif name in requests and requests[name] > most:
            yield f"maximum {name} usage per {kind} is {most}, but request is {requests[name]}"
    for name, ratio in sorted(amounts(item.get("maxLimitRequestRatio") or {}).items()):
        request, limit = requests.get(name, ZERO), limits.get(name, ZERO)
        if not request or not limit:
            word = "limit" if request else "request"
            yield f"{name} max limit to request ratio per {kind} is {ratio}, but no {word} is specified or {word} is 0"
        elif limit.nano * 10**9 > ratio.nano * request.nano:
            given = f"{limit.nano / request.nano:f}"
            yield f"{name} max limit to request ratio per {kind} is {ratio}, but provided ratio is {given}"
