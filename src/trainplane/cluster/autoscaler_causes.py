"""What the API server refuses in HorizontalPodAutoscalers."""

from collections.abc import Iterator, Mapping
from typing import Any

from trainplane.api.meta import Raw
from trainplane.api.quantity import parse
from trainplane.cluster.causes import Cause, forbidden, invalid, not_supported, required
from trainplane.cluster.names import label_faults, path_name_faults
from trainplane.cluster.resource_causes import container_name_causes

_SOURCES = {
    "ContainerResource": "containerResource",
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
}
_TARGETS = ("Utilization", "Value", "AverageValue")
_NO_TARGET = {
    "containerResource": ("averageUtilization", "must set either a target raw value or a target utilization"),
    "external": ("averageValue", "must set either a target value for metric or a per-pod target"),
    "object": ("averageValue", "must set either a target value or averageValue"),
    "pods": ("averageValue", "must specify a positive target averageValue"),
    "resource": ("averageUtilization", "must set either a target raw value or a target utilization"),
}
"""Where a metric's target is missed, and how that is said."""
_ENOUGH = {
    "containerResource": ("averageUtilization", "averageValue"),
    "external": ("value", "averageValue"),
    "object": ("value", "averageValue"),
    "pods": ("averageValue",),
    "resource": ("averageUtilization", "averageValue"),
}
LONGEST_WINDOW = 3600
LONGEST_PERIOD = 1800


def autoscaler_causes(new: Raw, _: Raw | None, subresource: str) -> Iterator[Cause]:
    """What is wrong with an autoscaler."""
    if subresource:
        return
    spec = new.get("spec") or {}
    least, most = spec.get("minReplicas"), spec.get("maxReplicas") or 0
    metrics = spec.get("metrics") or ()
    if least is not None and least < 1:
        yield invalid("spec.minReplicas", least, "must be greater than or equal to 1")
    if not most:
        yield required("spec.maxReplicas", "must be set and greater than 0")
    elif most < 1:
        yield invalid("spec.maxReplicas", most, "must be greater than or equal to 1")
    if least is not None and most < least:
        yield invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`")
    yield from _reference_causes(spec.get("scaleTargetRef") or {}, "spec.scaleTargetRef")
    version = (spec.get("scaleTargetRef") or {}).get("apiVersion") or ""
    if "/" not in version:
        yield invalid("spec.scaleTargetRef.apiVersion", version, "apiVersion must specify API group")
    for index, metric in enumerate(metrics):
        yield from _metric_causes(metric, f"spec.metrics[{index}]")
    if least == 0 and not any(each.get("type") in ("Object", "External") for each in metrics):
        words = "must specify at least one Object or External metric to support scaling to zero replicas"
        yield forbidden("spec.metrics", words)
    for way, rules in (spec.get("behavior") or {}).items():
        yield from _rule_causes(rules, f"spec.behavior.{way}")


def _reference_causes(reference: Mapping[str, Any], at: str) -> Iterator[Cause]:
    for name in ("kind", "name"):
        text = reference.get(name) or ""
        if not text:
            yield required(f"{at}.{name}")
        for fault in path_name_faults(text):
            yield invalid(f"{at}.{name}", text, fault)
    version = reference.get("apiVersion") or ""
    if version.count("/") > 1:
        yield invalid(f"{at}.apiVersion", version, f"unexpected GroupVersion string: {version}")


def _metric_causes(metric: Mapping[str, Any], at: str) -> Iterator[Cause]:
    kind = metric.get("type") or ""
    if not kind:
        yield required(f"{at}.type", "must specify a metric source type")
    if kind not in _SOURCES:
        # Told twice, as the API server looks for the source and for its name.
        yield from [not_supported(f"{at}.type", kind, _SOURCES)] * 2
    for field in _SOURCES.values():
        if metric.get(field) is not None:
            yield from _source_causes(metric[field], field, f"{at}.{field}")
    if kind in _SOURCES and metric.get(_SOURCES[kind]) is None:
        yield required(f"{at}.{_SOURCES[kind]}", "must populate information for the given metric source")


def _source_causes(source: Mapping[str, Any], field: str, at: str) -> Iterator[Cause]:
    if field == "object":
        yield from _reference_causes(source.get("describedObject") or {}, f"{at}.describedObject")
    if field in ("containerResource", "resource"):
        if not source.get("name"):
            yield required(f"{at}.name", "must specify a resource name")
        elif field == "containerResource":
            yield from container_name_causes(source["name"], f"{at}.name")
    else:
        name = (source.get("metric") or {}).get("name") or ""
        if not name:
            yield required(f"{at}.metric.name", "must specify a metric name")
        for fault in path_name_faults(name):
            yield invalid(f"{at}.metric.name", name, fault)
    if field == "containerResource":
        container = source.get("container") or ""
        if not container:
            yield required(f"{at}.container", "must specify a container")
        for fault in label_faults(container) if container else ():
            yield invalid(f"{at}.container", container, fault)
    yield from _target_causes(source.get("target") or {}, field, f"{at}.target")


def _target_causes(target: Mapping[str, Any], field: str, at: str) -> Iterator[Cause]:
    kind = target.get("type") or ""
    if not kind:
        yield required(f"{at}.type", "must specify a metric target type")
    if kind not in _TARGETS:
        yield invalid(f"{at}.type", kind, "must be either Utilization, Value, or AverageValue")
    for name in ("value", "averageValue"):
        if target.get(name) is not None and parse(target[name]) <= parse(0):
            yield invalid(f"{at}.{name}", str(target[name]), "must be positive")
    share = target.get("averageUtilization")
    if share is not None and share < 1:
        yield invalid(f"{at}.averageUtilization", share, "must be greater than 0")
    if all(target.get(name) is None for name in _ENOUGH[field]):
        missed, words = _NO_TARGET[field]
        yield required(f"{at}.{missed}", words)


def _rule_causes(rules: Mapping[str, Any], at: str) -> Iterator[Cause]:
    window, choice, tolerance = (
        rules.get(name) for name in ("stabilizationWindowSeconds", "selectPolicy", "tolerance")
    )
    if window is not None and window < 0:
        yield invalid(f"{at}.stabilizationWindowSeconds", window, "must be greater than or equal to zero")
    elif window is not None and window > LONGEST_WINDOW:
        words = f"must be less than or equal to {LONGEST_WINDOW}"
        yield invalid(f"{at}.stabilizationWindowSeconds", window, words)
    if choice is not None and choice not in ("Disabled", "Max", "Min"):
        yield not_supported(f"{at}.selectPolicy", choice, ("Disabled", "Max", "Min"))
    policies = rules.get("policies")
    if not policies:
        yield required(f"{at}.policies", "must specify at least one Policy")
    for index, policy in enumerate(policies or ()):
        where = f"{at}.policies[{index}]"
        if policy.get("type") not in ("Percent", "Pods"):
            yield not_supported(f"{where}.type", policy.get("type") or "", ("Percent", "Pods"))
        for name in ("value", "periodSeconds"):
            if (policy.get(name) or 0) <= 0:
                yield invalid(f"{where}.{name}", policy.get(name) or 0, "must be greater than zero")
        if (policy.get("periodSeconds") or 0) > LONGEST_PERIOD:
            words = f"must be less than or equal to {LONGEST_PERIOD}"
            yield invalid(f"{where}.periodSeconds", policy["periodSeconds"], words)
    if tolerance is not None and parse(tolerance) < parse(0):
        yield invalid(f"{at}.tolerance", str(tolerance), "must be greater than or equal to 0")
