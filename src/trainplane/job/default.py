"""Defaults: what a Job means where it says nothing, and the selector and labels by which it finds its pods."""

from collections.abc import Mapping
from typing import Any

from trainplane.api.batch import CONTROLLER_UID, JOB_NAME, LEGACY_CONTROLLER_UID, LEGACY_JOB_NAME
from trainplane.api.meta import Raw

NO_LIMIT = 2**31 - 1
"""The backoffLimit of a Job whose indexes have limits of their own."""


def default(new: Raw, old: Raw | None = None) -> Raw:
    """The Job as it will be stored; one that is new and has a uid gets its selector.

    The template's own defaults are those of every pod template, and are filled in where all of them are.
    """
    job = {**new, "spec": _spec(new.get("spec") or {})}
    if old is None and new["metadata"].get("uid") and not job["spec"]["manualSelector"]:
        job = _selected(job)
    labels = (job["spec"].get("template") or {}).get("metadata", {}).get("labels")
    if labels and not job["metadata"].get("labels"):
        job["metadata"] = {**job["metadata"], "labels": labels}
    return job


def _spec(given: Mapping[str, Any]) -> Raw:
    spec = {key: value for key, value in given.items() if value is not None}
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    failing = "podFailurePolicy" in spec
    filled: Raw = {
        "parallelism": 1,
        "backoffLimit": NO_LIMIT if "backoffLimitPerIndex" in spec else 6,
        "completionMode": "NonIndexed",
        "suspend": False,
        "manualSelector": False,
        "podReplacementPolicy": "Failed" if failing else "TerminatingOrFailed",
        **spec,
    }
    if failing and isinstance(spec["podFailurePolicy"], Mapping):
        filled["podFailurePolicy"] = _failure_policy(spec["podFailurePolicy"])
    return filled


def _failure_policy(policy: Mapping[str, Any]) -> Raw:
    """A pattern that names a condition means that it is True."""
    rules = [
        {**rule, "onPodConditions": [{"status": "True", **pattern} for pattern in rule["onPodConditions"]]}
        if rule.get("onPodConditions")
        else rule
        for rule in policy.get("rules") or ()
    ]
    return {**policy, "rules": rules}


def _selected(job: Raw) -> Raw:
    """The Job with a selector that no other Job's pods meet, and a template whose pods meet it."""
    metadata, spec = job["metadata"], job["spec"]
    labels = {
        **dict.fromkeys((CONTROLLER_UID, LEGACY_CONTROLLER_UID), metadata["uid"]),
        **dict.fromkeys((JOB_NAME, LEGACY_JOB_NAME), metadata["name"]),
    }
    template = spec.get("template") or {}
    inner = template.get("metadata") or {}
    labelled = {**template, "metadata": {**inner, "labels": {**(inner.get("labels") or {}), **labels}}}
    selector = dict(spec.get("selector") or {})
    selector["matchLabels"] = {**(selector.get("matchLabels") or {}), CONTROLLER_UID: metadata["uid"]}
    return {**job, "spec": {**spec, "selector": selector, "template": labelled}}
