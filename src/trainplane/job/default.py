"""Defaults: what a Job means where it says nothing, and the selector and labels by which it finds its pods."""

from collections.abc import Mapping
from typing import Any

from trainplane.api.batch import CONTROLLER_UID, JOB_NAME, LEGACY_CONTROLLER_UID, LEGACY_JOB_NAME
from trainplane.api.loose import object_at, objects_at
from trainplane.api.meta import Raw

NO_LIMIT = 2**31 - 1
"""The backoffLimit of a Job whose indexes have limits of their own."""


def default(new: Raw, old: Raw | None = None) -> Raw:
    """The Job as it will be stored; one that is new and has a uid gets its selector.

    The template's own defaults are those of every pod template, and are filled in where all of them are.
    """
    job = {**new, "spec": _spec(object_at(new, "spec"))}
    # What has no shape is left for the schema to tell.
    shaped = all(isinstance(job["spec"].get(key, {}), Mapping) for key in ("template", "selector"))
    if old is None and new["metadata"].get("uid") and not job["spec"]["manualSelector"] and shaped:
        job = _selected(job)
    labels = object_at(job, "spec", "template", "metadata", "labels")
    if labels and not job["metadata"].get("labels"):
        job["metadata"] = {**job["metadata"], "labels": dict(labels)}
    return job


def _spec(given: Mapping[str, Any]) -> Raw:
    spec = {key: value for key, value in given.items() if value is not None}
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    failing = "podFailurePolicy" in spec
    policy = spec.get("podFailurePolicy")
    filled: Raw = {
        "parallelism": 1,
        "backoffLimit": NO_LIMIT if "backoffLimitPerIndex" in spec else 6,
        "completionMode": "NonIndexed",
        "suspend": False,
        "manualSelector": False,
        "podReplacementPolicy": "Failed" if failing else "TerminatingOrFailed",
        **spec,
    }
    if isinstance(policy, Mapping) and isinstance(policy.get("rules"), list):
        filled["podFailurePolicy"] = {**policy, "rules": [_rule(rule) for rule in policy["rules"]]}
    return filled


def _rule(rule: Any) -> Any:
    """A pattern that names a condition means that it is True."""
    patterns = [pattern for _, pattern in objects_at(rule, "onPodConditions")]
    if not patterns or len(patterns) != len(rule["onPodConditions"]):
        return rule
    return {**rule, "onPodConditions": [{"status": "True", **pattern} for pattern in patterns]}


def _selected(job: Raw) -> Raw:
    """The Job with a selector that no other Job's pods meet, and a template whose pods meet it."""
    metadata, spec = job["metadata"], job["spec"]
    labels = {
        **dict.fromkeys((CONTROLLER_UID, LEGACY_CONTROLLER_UID), metadata["uid"]),
        **dict.fromkeys((JOB_NAME, LEGACY_JOB_NAME), metadata["name"]),
    }
    template, inner = object_at(spec, "template"), object_at(spec, "template", "metadata")
    labelled = {**template, "metadata": {**inner, "labels": {**object_at(inner, "labels"), **labels}}}
    selector = dict(object_at(spec, "selector"))
    selector["matchLabels"] = {**object_at(selector, "matchLabels"), CONTROLLER_UID: metadata["uid"]}
    return {**job, "spec": {**spec, "selector": selector, "template": labelled}}
