"""How fast a size may change: stabilization windows and scaling policies, and the memory that they need.

The memory is an annotation of the autoscaler, so that a controller that is started again neither forgets nor hurries.
Only changes are written down: a recommendation counts until the moment when another took its place.
"""

import json
import math
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from trainplane.api.meta import Raw
from trainplane.api.times import moment, stamp

MEMORY = "trainplane.dev/autoscaler-memory"
DEFAULT_UP: Raw = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ],
}
DEFAULT_DOWN: Raw = {
    "stabilizationWindowSeconds": 300,
    "selectPolicy": "Max",
    "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
}


class Step(NamedTuple):
    """A size, or a change of it, and when."""

    when: datetime
    size: int


class Memory(NamedTuple):
    """What an autoscaler remembers: its last recommendation, those before and until when they held, and its changes."""

    last: int
    past: tuple[Step, ...] = ()
    changes: tuple[Step, ...] = ()


class Limits(NamedTuple):
    """The size that a target has, the bounds that it is held in, and the rules for its pace, where any are given."""

    current: int
    low: int
    high: int
    behavior: Mapping[str, Any] | None


class Paced(NamedTuple):
    """A size that may be taken now, and what held it back: reasons and sentences of two conditions."""

    replicas: int
    able: tuple[str, str]
    limited: tuple[str, str, str]


def rules(behavior: Mapping[str, Any], *, up: bool) -> Raw:
    """The rules for one direction, with Kubernetes' defaults where nothing is said."""
    given = behavior.get("scaleUp" if up else "scaleDown") or {}
    default = DEFAULT_UP if up else DEFAULT_DOWN
    return {**default, **{key: value for key, value in given.items() if value is not None}}


def recall(hpa: Raw, current: int) -> Memory:
    """What the autoscaler remembers; one without a memory, or with a broken one, begins with the size it found."""
    text = (hpa["metadata"].get("annotations") or {}).get(MEMORY)
    if not text:
        return Memory(current)
    try:
        kept = json.loads(text)
        return Memory(int(kept["last"]), tuple(map(_step, kept["past"])), tuple(map(_step, kept["changes"])))
    except (ValueError, KeyError, TypeError, AttributeError):
        return Memory(current)


def write(memory: Memory) -> str:
    """The memory as the annotation holds it."""
    past, changes = ([[stamp(one.when), one.size] for one in steps] for steps in (memory.past, memory.changes))
    return json.dumps({"last": memory.last, "past": past, "changes": changes}, separators=(",", ":"))


def _step(pair: Any) -> Step:
    when, size = pair
    return Step(moment(when), int(size))


def remembered(
    memory: Memory, *, recommended: int | None, change: int, behavior: Mapping[str, Any], now: datetime
) -> Memory:
    """The memory after one more look; what no window or period reaches any more is forgotten.

    A look that goes by the bounds alone recommends nothing.
    """
    recommended = memory.last if recommended is None else recommended
    both = [rules(behavior, up=up) for up in (True, False)]
    window = max(int(one["stabilizationWindowSeconds"]) for one in both)
    period = max((int(policy["periodSeconds"]) for one in both for policy in one["policies"]), default=0)
    past = memory.past if recommended == memory.last else (*memory.past, Step(now, memory.last))
    changes = (*memory.changes, Step(now, change)) if change else memory.changes
    return Memory(
        recommended,
        tuple(one for one in past if one.when > now - timedelta(seconds=window)),
        tuple(one for one in changes if one.when > now - timedelta(seconds=period)),
    )


def pace(wanted: int, *, limits: Limits, memory: Memory, now: datetime) -> Paced:
    """The size that may be taken now on the way to the wanted one."""
    steady = stabilized(wanted, limits=limits, memory=memory, now=now)
    if steady == wanted:
        able = ("ReadyForNewScale", "recommended size matches current size")
    elif steady > wanted:
        able = (
            "ScaleDownStabilized",
            "recent recommendations were higher than current one, applying the highest recent recommendation",
        )
    else:
        able = (
            "ScaleUpStabilized",
            "recent recommendations were lower than current one, applying the lowest recent recommendation",
        )
    replicas, reason = limited(steady, limits=limits, memory=memory, now=now)
    return Paced(replicas, able, ("False" if reason == WITHIN else "True", reason, SENTENCES[reason]))


WITHIN = "DesiredWithinRange"
SENTENCES = {
    "ScaleUpLimit": "the desired replica count is increasing faster than the maximum scale rate",
    "ScaleDownLimit": "the desired replica count is decreasing faster than the maximum scale rate",
    "TooManyReplicas": "the desired replica count is more than the maximum replica count",
    "TooFewReplicas": "the desired replica count is less than the minimum replica count",
    WITHIN: "the desired count is within the acceptable range",
}
"""The reasons of the ScalingLimited condition, in words."""


def stabilized(wanted: int, *, limits: Limits, memory: Memory, now: datetime) -> int:
    """The wanted size, held back by what was wanted within the windows: the lowest on the way up, the highest down.

    Without rules of its own an autoscaler takes the highest of the usual window as it is, even beyond its size.
    """
    recent = [*memory.past, Step(now, memory.last)]
    behavior = limits.behavior or {}

    def within(up: bool) -> list[int]:
        seconds = int(rules(behavior, up=up)["stabilizationWindowSeconds"])
        cutoff = now - timedelta(seconds=seconds)
        return [wanted, *(one.size for one in recent if one.when > cutoff)] if seconds else [wanted]

    if limits.behavior is None:
        return max(within(up=False))
    return max(min(limits.current, max(within(up=False))), min(within(up=True)))


def limited(wanted: int, *, limits: Limits, memory: Memory, now: datetime) -> tuple[int, str]:
    """The wanted size within the bounds and as far as the policies let it go, and the reason of ScalingLimited."""
    current, low, high, behavior = limits
    fastest = quickest = 0
    if behavior is None:
        fastest = max(2 * current, UNRULED)
    elif wanted > current:
        fastest = max(current, up_limit(current, rules(behavior, up=True), memory, now))
    elif wanted < current:
        quickest = min(current, down_limit(current, rules(behavior, up=False), memory, now))
    if fastest and wanted > min(high, fastest):
        return (fastest, "ScaleUpLimit") if fastest < high else (high, "TooManyReplicas")
    if quickest > low and wanted < quickest:
        return quickest, "ScaleDownLimit"
    if wanted > high:
        return high, "TooManyReplicas"
    if wanted < low:
        return low, "TooFewReplicas"
    return wanted, WITHIN


UNRULED = 4
"""The size that an autoscaler without rules of its own may reach at once, or twice what it has where that is more."""


def up_limit(current: int, rule: Raw, memory: Memory, now: datetime) -> int:
    """The most that the policies allow now."""

    def step(start: int, policy: Raw) -> int:
        if policy["type"] == "Pods":
            return start + int(policy["value"])
        return math.ceil(round(start * (1 + int(policy["value"]) / 100), 9))

    return _limit(current, rule, memory, now, step=step, widest=max, narrowest=min)


def down_limit(current: int, rule: Raw, memory: Memory, now: datetime) -> int:
    """The least that the policies allow now."""

    def step(start: int, policy: Raw) -> int:
        if policy["type"] == "Pods":
            return start - int(policy["value"])
        return int(round(start * (1 - int(policy["value"]) / 100), 9))

    return _limit(current, rule, memory, now, step=step, widest=min, narrowest=max)


def _limit(
    current: int,
    rule: Raw,
    memory: Memory,
    now: datetime,
    *,
    step: Callable[[int, Raw], int],
    widest: Callable[[Iterable[int]], int],
    narrowest: Callable[[Iterable[int]], int],
) -> int:
    if rule["selectPolicy"] == "Disabled" or not rule["policies"]:
        return current
    limits = []
    for policy in rule["policies"]:
        cutoff = now - timedelta(seconds=int(policy["periodSeconds"]))
        start = current - sum(one.size for one in memory.changes if one.when > cutoff)
        limits.append(step(start, policy))
    return narrowest(limits) if rule["selectPolicy"] == "Min" else widest(limits)
