"""The Targets of a HorizontalPodAutoscaler in a table: what each metric is and should be."""

from collections.abc import Mapping
from typing import Any

from trainplane.api.meta import Raw

UNKNOWN = "<unknown>"
_SHOWN = 2


def targets(autoscaler: Mapping[str, Any]) -> str:
    """Two metrics as `name: now/wanted`, and how many more there are."""
    metrics: list[Raw] = autoscaler.get("spec", {}).get("metrics") or []
    if not metrics:
        return "<none>"
    current: list[Raw] = autoscaler.get("status", {}).get("currentMetrics") or []
    shown = [_metric(metric, current[i] if i < len(current) else {}) for i, metric in enumerate(metrics[:_SHOWN])]
    more = f" + {len(metrics) - _SHOWN} more..." if len(metrics) > _SHOWN else ""
    return ", ".join(shown) + more


def _metric(metric: Raw, status: Raw) -> str:
    source = {
        "External": "external",
        "Pods": "pods",
        "Object": "object",
        "Resource": "resource",
        "ContainerResource": "containerResource",
    }.get(metric.get("type", ""), "")
    if not source:
        return "<unknown type>"
    said: Raw = metric.get(source) or {}
    target: Raw = said.get("target") or {}
    now: Raw = (status.get(source) or {}).get("current") or {}
    if source in ("resource", "containerResource"):
        return f"{said.get('name', '')}: {_of_resource(target, now)}"
    if source == "pods":
        return f"{_said(now, 'averageValue')}/{target.get('averageValue')}"
    if "averageValue" in target:
        return f"{_said(now, 'averageValue')}/{target['averageValue']} (avg)"
    return f"{_said(now, 'value')}/{target.get('value')}"


def _of_resource(target: Raw, now: Raw) -> str:
    if "averageValue" in target:
        return f"{_said(now, 'averageValue')}/{target['averageValue']}"
    wanted = f"{target['averageUtilization']}%" if "averageUtilization" in target else "<auto>"
    used = now.get("averageUtilization")
    return f"{UNKNOWN if used is None else f'{used}%'}/{wanted}"


def _said(values: Raw, key: str) -> str:
    value = values.get(key)
    return UNKNOWN if value is None else str(value)
