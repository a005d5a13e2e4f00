"""What may not change of a Job that is there."""

from collections.abc import Iterator, Mapping
from typing import Any

from trainplane.api.batch import SUSPENDED
from trainplane.api.loose import object_at
from trainplane.api.meta import Raw, without_nulls
from trainplane.api.problem import Path, Problem
from trainplane.api.raw import look
from trainplane.job import rules
from trainplane.job.status import is_true

FIXED = ("selector", "completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy")
SCHEDULING = ("nodeSelector", "tolerations", "schedulingGates")
ANEW = "create the Job anew"


def changed(new: Mapping[str, Any], old: Mapping[str, Any]) -> Iterator[Problem]:
    """Everything for which a change is refused."""
    after, before = object_at(new, "spec"), object_at(old, "spec")
    for field in FIXED:
        if without_nulls(after.get(field)) != without_nulls(before.get(field)):
            yield Problem(rules.FIXED, ("spec", field), f"{field} cannot change after creation", ANEW)
    yield from _completions(after, before)
    yield from _template(after, old)


def _completions(after: Mapping[str, Any], before: Mapping[str, Any]) -> Iterator[Problem]:
    completions, path = after.get("completions"), ("spec", "completions")
    if completions == before.get("completions"):
        return
    if before.get("completionMode") != "Indexed":
        yield Problem(rules.TANDEM, path, "completions of a Job without indexes cannot change", ANEW)
    elif completions is not None and completions != after.get("parallelism"):
        what = f"an Indexed Job is resized in both numbers, and parallelism is {after.get('parallelism')}"
        yield Problem(rules.TANDEM, path, what, f"set parallelism to {completions} as well")


def _template(after: Mapping[str, Any], old: Mapping[str, Any]) -> Iterator[Problem]:
    new_one, old_one = (without_nulls(dict(object_at(spec, "template"))) for spec in (after, object_at(old, "spec")))
    if new_one == old_one:
        return
    where: Path = ("spec", "template")
    if not is_open(old):
        what = "the template cannot change while the Job has pods, or has begun and is not suspended"
        yield Problem(rules.FIXED, where, what, "set spec.suspend to true and wait until no pod is active")
    elif _fixed_part(new_one.get("spec") or {}) != _fixed_part(old_one.get("spec") or {}):
        what = "of a suspended Job's pods only what schedules them can change"
        todo = "change labels, annotations, nodeSelector, node affinity, tolerations, schedulingGates or resources"
        yield Problem(rules.FIXED, (*where, "spec"), what, f"{todo}; for the rest, {ANEW}")


def is_open(old: Mapping[str, Any]) -> bool:
    """Whether the Job rests: suspended, and none of its pods active."""
    status = object_at(old, "status")
    rests = not status.get("startTime") or is_true(status, SUSPENDED)
    return bool(look(old, "spec", "suspend")) and rests and not status.get("active")


def _fixed_part(pod: Mapping[str, Any]) -> Raw:
    """What of a pod's spec stays as it is for good."""
    kept = {key: value for key, value in pod.items() if key not in SCHEDULING and value}
    affinity = {key: value for key, value in object_at(pod, "affinity").items() if key != "nodeAffinity" and value}
    kept.pop("affinity", None)
    if affinity:
        kept["affinity"] = affinity
    for kind in ("containers", "initContainers"):
        if kept.get(kind):
            kept[kind] = [{key: value for key, value in one.items() if key != "resources"} for one in kept[kind]]
    return kept
