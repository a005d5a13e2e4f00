"""How many replicas one resource metric asks for, by Kubernetes' algorithm: readiness, missing figures, tolerance.

All figures are thousandths, as the metrics API counts them.
"""

import math
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from trainplane.api.conditions import condition
from trainplane.api.core import FAILED, PENDING, READY
from trainplane.api.meta import Raw
from trainplane.api.quantity import Amount, Form, parse
from trainplane.api.raw import look
from trainplane.api.requests import requests
from trainplane.api.times import moment

INITIALIZATION = timedelta(minutes=5)
"""How long after its start a pod's CPU use may be that of starting up."""
READINESS_DELAY = timedelta(seconds=30)
"""A pod that turned unready within this time of its start was never ready yet."""
DEFAULT_WINDOW = timedelta(seconds=30)
CPU = "cpu"
MEMORY = "memory"


class NoMetric(Exception):
    """The metric says nothing that one could scale by; the message says why and what to do."""


class Tolerance(NamedTuple):
    """How far from its target a metric may be before anything is done, as parts of the target."""

    down: float = 0.1
    up: float = 0.1

    def covers(self, ratio: float) -> bool:
        """Whether the ratio of use to target is near enough to 1."""
        return 1.0 - self.down <= ratio <= 1.0 + self.up


class Groups(NamedTuple):
    """Pods by what their figures are worth."""

    ready: dict[str, int]
    """The use of each pod that counts."""
    unready: list[str]
    missing: list[str]


class Proposal(NamedTuple):
    """What a metric asks for, and what it was."""

    replicas: int
    utilization: int | None
    """Percent of what is requested; None where the target is a plain value."""
    average: Amount
    """The use of a pod on average."""


class Target(NamedTuple):
    """What a resource metric is held at: percent of the requests, or an average value in thousandths."""

    resource: str
    container: str = ""
    utilization: int | None = None
    value: int | None = None


def propose(
    target: Target, *, pods: list[Raw], metrics: Mapping[str, Raw], current: int, tolerance: Tolerance, now: datetime
) -> Proposal:
    """The replicas that a target asks for; `pods` are those behind the scale, `metrics` their PodMetrics by name."""
    if not metrics:
        raise NoMetric(
            f"unable to get metrics for resource {target.resource}: no metrics returned from resource metrics API"
        )
    used = {name: use for name, raw in metrics.items() if (use := usage(raw, target)) is not None}
    groups = grouped(pods, target.resource, metrics=metrics, used=used, now=now)
    if not groups.ready:
        raise NoMetric("did not receive metrics for targeted pods (pods might be unready)")
    asked = None if target.utilization is None else requested(pods, target)
    first = ratio(groups.ready, asked, target)
    form = Form.BINARY if target.resource == MEMORY else Form.DECIMAL
    average = Amount(sum(groups.ready.values()) // len(groups.ready) * 10**6, form)
    seen = None if asked is None else utilization(groups.ready, asked)
    return Proposal(rescaled(groups, asked, target, first=first, current=current, tolerance=tolerance), seen, average)


def rescaled(
    groups: Groups, asked: Mapping[str, int] | None, target: Target, *, first: float, current: int, tolerance: Tolerance
) -> int:
    """The replicas for a ratio of use to target, with pods of which nothing is known counted against any change."""
    counts_unready = bool(groups.unready) and first > 1.0
    if not counts_unready and not groups.missing:
        return current if tolerance.covers(first) else ceil(first * len(groups.ready))
    figures = dict(groups.ready)
    if first < 1.0:
        figures |= {name: full(name, asked, target) for name in groups.missing}
    elif first > 1.0:
        figures |= dict.fromkeys(groups.missing, 0)
    if counts_unready:
        figures |= dict.fromkeys(groups.unready, 0)
    second = ratio(figures, asked, target)
    turned = (first < 1.0 < second) or (second < 1.0 < first)
    if tolerance.covers(second) or turned:
        return current
    wanted = ceil(second * len(figures))
    backwards = (second < 1.0 and wanted > current) or (second > 1.0 and wanted < current)
    return current if backwards else wanted


def full(name: str, asked: Mapping[str, int] | None, target: Target) -> int:
    """The use that is assumed of a pod without figures before anything is scaled down."""
    if asked is None:
        return target.value or 0
    return asked.get(name, 0) * max(100, target.utilization or 0) // 100


def ratio(figures: Mapping[str, int], asked: Mapping[str, int] | None, target: Target) -> float:
    """Use over target."""
    if asked is None:
        return (sum(figures.values()) // len(figures)) / (target.value or 1)
    return utilization(figures, asked) / (target.utilization or 1)


def utilization(figures: Mapping[str, int], asked: Mapping[str, int]) -> int:
    """Use in percent of what is requested."""
    total = sum(asked.get(name, 0) for name in figures)
    if total == 0:
        raise NoMetric("no metrics returned matched known pods")
    return sum(figures.values()) * 100 // total


def ceil(value: float) -> int:
    """Rounded up, after the noise of floating point has been cut off."""
    return math.ceil(round(value, 9))


def grouped(
    pods: Iterable[Raw], resource: str, *, metrics: Mapping[str, Raw], used: Mapping[str, int], now: datetime
) -> Groups:
    """Pods by what their figures are worth; those that have failed or are going are left out."""
    groups = Groups({}, [], [])
    for pod in pods:
        name = str(pod["metadata"]["name"])
        if pod["metadata"].get("deletionTimestamp") or look(pod, "status", "phase") == FAILED:
            continue
        if look(pod, "status", "phase") == PENDING:
            groups.unready.append(name)
        elif name not in used:
            groups.missing.append(name)
        elif resource == CPU and is_unready(pod, metrics[name], now):
            groups.unready.append(name)
        else:
            groups.ready[name] = used[name]
    return groups


def is_unready(pod: Raw, metric: Raw, now: datetime) -> bool:
    """Whether the pod's CPU use is still that of starting up."""
    ready = condition(pod.get("status") or {}, READY)
    started = look(pod, "status", "startTime")
    if ready is None or not started or not ready.get("lastTransitionTime"):
        return True
    changed = moment(ready["lastTransitionTime"])
    if moment(started) + INITIALIZATION > now:
        measured = moment(metric["timestamp"]) if metric.get("timestamp") else now
        return ready.get("status") == "False" or measured < changed + window(metric)
    return ready.get("status") == "False" and moment(started) + READINESS_DELAY > changed


def window(metric: Raw) -> timedelta:
    """The time over which a PodMetrics was measured."""
    text = str(metric.get("window") or "")
    units = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
    seconds, number, unit = 0.0, "", ""
    for sign in text + "0":
        if (sign.isdigit() or sign == ".") and unit:
            seconds += float(number or 0) * units.get(unit, 0.0)
            number, unit = "", ""
        if sign.isdigit() or sign == ".":
            number += sign
        else:
            unit += sign
    return timedelta(seconds=seconds) if seconds else DEFAULT_WINDOW


def usage(metric: Raw, target: Target) -> int | None:
    """What a pod uses of the resource; None where not all of its containers, or not the one asked for, tell."""
    total = 0
    containers = [
        one for one in metric.get("containers") or () if not target.container or one.get("name") == target.container
    ]
    for container in containers:
        value = look(container, "usage", target.resource)
        if value is None:
            return None
        total += parse(value).milli()
    return total if containers else None


def requested(pods: Iterable[Raw], target: Target) -> dict[str, int]:
    """What each pod requests of the resource; every container must say."""
    asked: dict[str, int] = {}
    for pod in pods:
        total = 0
        for container in counted(pod["spec"], target.container):
            amount = requests(container).get(target.resource)
            if amount is None:
                raise NoMetric(
                    f"missing request for {target.resource} in container {container.get('name')} "
                    f"of Pod {pod['metadata']['name']}"
                )
            total += amount.milli()
        asked[str(pod["metadata"]["name"])] = total
    return asked


def counted(spec: Mapping[str, Any], container: str) -> list[Raw]:
    """The containers whose requests count: those that run all the time, or the one that is asked for."""
    sidecars = [one for one in spec.get("initContainers") or () if one.get("restartPolicy") == "Always"]
    running = [*(spec.get("containers") or ()), *sidecars]
    return [one for one in running if not container or one.get("name") == container]
