"""What a JobSet means when it says nothing, filled in.

What has the wrong shape is left as it is: the schema refuses it, and must get to see it.
"""

from typing import Any

from trainplane.api.jobset import JobSet
from trainplane.api.meta import Raw
from trainplane.api.raw import look, put
from trainplane.api.structural import defaulted

NAMED = {"enableDNSHostnames": True, "publishNotReadyAddresses": True}
GOES = {"retentionPolicy": {"whenDeleted": "Delete"}}
EMPTY: Raw = {}
OF_A_JOB = (
    (("template", "spec"), "completionMode", "Indexed"),
    (("template", "spec", "template", "spec"), "restartPolicy", "OnFailure"),
)
"""Pods are counted, and their containers are started again where they fail."""


def jobset(raw: Raw) -> Raw:
    """The JobSet with every default: first those of its schema, then those that JobSet's webhook adds."""
    filled: Raw = defaulted(JobSet, raw)
    spec = filled.get("spec", {})
    if not isinstance(spec, dict):
        return filled
    spec = {"successPolicy": {"operator": "All"}, "startupPolicy": {"startupPolicyOrder": "AnyOrder"}, **spec}
    spec["network"] = under(spec.get("network", {}), NAMED)
    if isinstance(spec.get("replicatedJobs"), list):
        spec["replicatedJobs"] = [replicated_job(one) for one in spec["replicatedJobs"]]
    if isinstance(look(spec, "failurePolicy", "rules"), list):
        rules = [named(rule, index) for index, rule in enumerate(spec["failurePolicy"]["rules"])]
        spec["failurePolicy"] = {**spec["failurePolicy"], "rules": rules}
    if isinstance(spec.get("volumeClaimPolicies"), list):
        spec["volumeClaimPolicies"] = [claims(one) for one in spec["volumeClaimPolicies"]]
    return {**filled, "spec": spec}


def with_blanks(raw: Raw) -> Raw:
    """A JobSet with the empty objects that upstream's webhook leaves where a template says nothing."""
    for place, one in enumerate(look(raw, "spec", "replicatedJobs") or ()):
        for path in (("template", "metadata"), ("template", "spec", "template", "metadata")):
            if isinstance(look(one, *path[:-1]), dict) and path[-1] not in look(one, *path[:-1]):
                one = put(one, path, {})
        for kind in ("containers", "initContainers"):
            where = ("template", "spec", "template", "spec", kind)
            if isinstance(look(one, *where), list):
                one = put(one, where, [under(each, {"resources": {}}) for each in look(one, *where)])
        raw = put(raw, ("spec", "replicatedJobs", place), one)
    policy = look(raw, "spec", "successPolicy")
    if isinstance(policy, dict) and "operator" not in policy:
        raw = put(raw, ("spec", "successPolicy", "operator"), "")
    return raw


def under(value: Any, defaults: Raw) -> Any:
    """An object with these fields where it has none of that name."""
    return {**defaults, **value} if isinstance(value, dict) else value


def replicated_job(raw: Any) -> Any:
    """A replicated job with what its Jobs and pods do unless they are told otherwise."""
    for path, field, value in OF_A_JOB:
        found = look(raw, *path)
        if isinstance(found, dict) and not found.get(field):
            raw = put(raw, (*path, field), value)
    return raw


def claims(policy: Any) -> Any:
    """A policy for volume claims with what becomes of them, and the status that every claim has."""
    filled = under(policy, GOES)
    found = look(filled, "templates")
    return (
        {**filled, "templates": [under(one, {"status": EMPTY}) for one in found]} if isinstance(found, list) else filled
    )


def named(rule: Any, index: int) -> Any:
    """A rule of the failure policy with a name."""
    if not isinstance(rule, dict) or rule.get("name"):
        return rule
    return {**rule, "name": f"failurePolicyRule{index}"}
