"""What the API server refuses in HorizontalPodAutoscalers."""

from collections.abc import Iterator, Mapping
from typing import Any

from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.cluster.causes import Cause, forbidden, invalid, not_supported, required

_SOURCES = {
    "ContainerResource": "containerResource",
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
}
LONGEST_WINDOW = 3600


def autoscaler_causes(new: Raw, _: Raw | None, subresource: str) -> Iterator[Cause]:
    """What is wrong with an autoscaler."""
    if subresource:
        return
    spec = new.get("spec") or {}
    least, most = spec.get("minReplicas"), spec.get("maxReplicas") or 0
    metrics = spec.get("metrics") or ()
    if least is not None and least < 1:
        yield invalid("spec.minReplicas", least, "must be greater than or equal to 1")
    if most < 1:
        yield required("spec.maxReplicas", "must be set and greater than 0")
    if least is not None and most < least:
        yield invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`")
    target = spec.get("scaleTargetRef") or {}
    for name in ("kind", "name"):
        if not target.get(name):
            yield required(f"spec.scaleTargetRef.{name}")
    if not target.get("apiVersion"):
        yield invalid("spec.scaleTargetRef.apiVersion", "", "apiVersion must specify API group")
    for index, metric in enumerate(metrics):
        yield from _metric_causes(metric, f"spec.metrics[{index}]")
    if least == 0 and not any(each.get("type") in ("Object", "External") for each in metrics):
        words = "must specify at least one Object or External metric to support scaling to zero replicas"
        yield forbidden("spec.metrics", words)
    for way in ("scaleUp", "scaleDown"):
        window = look(spec, "behavior", way, "stabilizationWindowSeconds")
        at = f"spec.behavior.{way}.stabilizationWindowSeconds"
        if window is not None and window < 0:
            yield invalid(at, window, "must be greater than or equal to zero")
        elif window is not None and window > LONGEST_WINDOW:
            yield invalid(at, window, f"must be less than or equal to {LONGEST_WINDOW}")


def _metric_causes(metric: Mapping[str, Any], at: str) -> Iterator[Cause]:
    kind = metric.get("type") or ""
    if kind not in _SOURCES:
        yield not_supported(f"{at}.type", kind, _SOURCES)
        return
    field = _SOURCES[kind]
    source = metric.get(field)
    if source is None:
        yield required(f"{at}.{field}", "must populate information for the given metric source")
        return
    if kind == "Resource":
        target = source.get("target") or {}
        if not source.get("name"):
            yield required(f"{at}.{field}.name", "must specify a resource name")
        if target.get("averageUtilization") is None and target.get("averageValue") is None:
            words = "must set either a target raw value or a target utilization"
            yield required(f"{at}.{field}.target.averageUtilization", words)
