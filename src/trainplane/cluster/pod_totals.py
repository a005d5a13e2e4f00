"""Requests and limits of pods as a whole: what is filled in, what is refused, and the class that follows from them."""

from collections.abc import Iterator, Mapping
from typing import Any

from trainplane.api.meta import Raw
from trainplane.api.quantity import parse
from trainplane.api.requests import pod_requests
from trainplane.cluster.causes import Cause, forbidden, invalid
from trainplane.cluster.resource_causes import resource_causes
from trainplane.cluster.resource_names import HUGE_PAGES

Spec = Mapping[str, Any]


def _is_total(name: str) -> bool:
    """Whether pods can have the resource as a whole."""
    return name in ("cpu", "memory") or name.startswith(HUGE_PAGES)


def has_totals(spec: Spec) -> bool:
    """Whether a pod says what it needs as a whole."""
    resources = spec.get("resources") or {}
    return any(_is_total(name) for side in ("limits", "requests") for name in resources.get(side) or ())


def _asked(spec: Spec) -> dict[str, str]:
    """What the containers of a pod ask for together, of what pods can have as a whole."""
    apart = {name: item for name, item in spec.items() if name not in ("resources", "overhead")}
    return {name: str(amount) for name, amount in pod_requests(apart).items() if _is_total(name)}


def with_totals(spec: Raw) -> Raw:
    """The spec with what follows for the pod as a whole from its limits and from its containers."""
    if not has_totals(spec):
        return spec
    asked, resources = _asked(spec), spec["resources"]
    limits = {
        **{name: amount for name, amount in asked.items() if name.startswith(HUGE_PAGES)},
        **(resources.get("limits") or {}),
    }
    requests = resources.get("requests") or {}
    if limits:
        requests = {**{name: limits[name] for name in limits if _is_total(name)}, **asked, **requests}
    sides = {"limits": limits, "requests": requests}
    return {**spec, "resources": {**resources, **{name: side for name, side in sides.items() if side}}}


def total_causes(spec: Spec, at: str) -> Iterator[Cause]:
    """What is wrong with what a pod asks for as a whole, by itself and beside its containers."""
    resources = spec["resources"]
    yield from resource_causes(resources, at, claims=_claims(spec), pod=True)
    if resources.get("claims"):
        yield forbidden(f"{at}.claims", "claims may not be set for Resources at pod-level")
    asked = _asked(spec)
    for name, amount in (resources.get("requests") or {}).items():
        if name in asked and parse(asked[name]) > parse(amount):
            words = f"must be greater than or equal to aggregate container requests of {asked[name]}"
            yield invalid(f"{at}.requests[{name}]", str(amount), words)
    for index, container in enumerate(spec.get("containers") or ()):
        for name, amount in ((container.get("resources") or {}).get("limits") or {}).items():
            limit = (resources.get("limits") or {}).get(name)
            if limit is not None and parse(amount) > parse(limit):
                words = f"must be less than or equal to pod limits of {limit}"
                yield invalid(f"{at}.containers[{index}][{name}].limits", str(amount), words)


def _claims(spec: Spec) -> list[str]:
    return [each["name"] for each in spec.get("resourceClaims") or () if each.get("name")]
