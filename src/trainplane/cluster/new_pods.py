"""What becomes of the spec of a pod that is made: fields behind gates go, and labels that are named are looked up."""

from collections.abc import Mapping
from typing import Any

from trainplane.api.meta import Raw

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_KEYS = {"matchLabelKeys": "In", "mismatchLabelKeys": "NotIn"}
_KINDS = ("initContainers", "containers", "ephemeralContainers")
_GATED_SOURCES = ("clusterTrustBundle", "podCertificate")


def ungated(spec: Raw) -> Raw:
    """A pod's spec without the fields that a server of this version takes and forgets, for their gates are closed."""
    made = spec
    if "schedulingGroup" in spec:
        made = {name: item for name, item in spec.items() if name != "schedulingGroup"}
    if any(_has_gated_source(each) for each in spec.get("volumes") or ()):
        made = {**made, "volumes": [_ungated_volume(each) for each in spec["volumes"]]}
    for kind in _KINDS:
        if any("stopSignal" in (each.get("lifecycle") or ()) for each in spec.get(kind) or ()):
            made = {**made, kind: [_ungated_container(each) for each in spec[kind]]}
    return made


def _has_gated_source(volume: Mapping[str, Any]) -> bool:
    projected = volume.get("projected")
    sources = projected.get("sources") or () if projected else ()
    return any(name in source for source in sources for name in _GATED_SOURCES)


def _ungated_volume(volume: Raw) -> Raw:
    if not _has_gated_source(volume):
        return volume
    sources = [
        {name: item for name, item in source.items() if name not in _GATED_SOURCES}
        for source in volume["projected"]["sources"]
    ]
    return {**volume, "projected": {**volume["projected"], "sources": sources}}


def _ungated_container(container: Raw) -> Raw:
    lifecycle = {name: item for name, item in (container.get("lifecycle") or {}).items() if name != "stopSignal"}
    made = {name: item for name, item in container.items() if name != "lifecycle"}
    return {**made, "lifecycle": lifecycle} if lifecycle else made


def with_label_keys(spec: Raw, labels: Mapping[str, str]) -> Raw:
    """A pod's spec whose selectors ask for the pod's own labels where they name keys alone."""
    made = spec
    if any(each.get("matchLabelKeys") for each in spec.get("topologySpreadConstraints") or ()):
        spread = [_selecting(each, labels, ("matchLabelKeys",)) for each in spec["topologySpreadConstraints"]]
        made = {**made, "topologySpreadConstraints": spread}
    affinity: Raw = spec.get("affinity") or {}
    sides = {
        side: _with_terms(affinity[side], labels) for side in ("podAffinity", "podAntiAffinity") if affinity.get(side)
    }
    return {**made, "affinity": {**affinity, **sides}} if sides else made


def _with_terms(raw: Raw, labels: Mapping[str, str]) -> Raw:
    made = dict(raw)
    if raw.get(_REQUIRED):
        made[_REQUIRED] = [_selecting(each, labels, tuple(_KEYS)) for each in raw[_REQUIRED]]
    if raw.get(_PREFERRED):
        made[_PREFERRED] = [
            {**each, "podAffinityTerm": _selecting(each["podAffinityTerm"], labels, tuple(_KEYS))}
            if each.get("podAffinityTerm")
            else each
            for each in raw[_PREFERRED]
        ]
    return made


def _selecting(term: Raw, labels: Mapping[str, str], names: tuple[str, ...]) -> Raw:
    selector = term.get("labelSelector")
    found = [
        {"key": key, "operator": _KEYS[name], "values": [labels[key]]}
        for name in names
        for key in term.get(name) or ()
        if key in labels
    ]
    if selector is None or not found:
        return term
    return {
        **term,
        "labelSelector": {**selector, "matchExpressions": [*(selector.get("matchExpressions") or ()), *found]},
    }
