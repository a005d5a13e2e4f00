"""What a JobSet means when it says nothing, filled in."""

from trainplane.api.jobset import JobSet
from trainplane.api.meta import Raw
from trainplane.api.raw import as_object, look, put
from trainplane.api.structural import defaulted


def jobset(raw: Raw) -> Raw:
    """The JobSet with every default: first those of its schema, then those that JobSet's webhook adds."""
    filled: Raw = defaulted(JobSet, raw)
    spec = dict(as_object(filled.get("spec")))
    spec.setdefault("successPolicy", {"operator": "All"})
    spec.setdefault("startupPolicy", {"startupPolicyOrder": "AnyOrder"})
    network = as_object(spec.get("network"))
    spec["network"] = {"enableDNSHostnames": True, "publishNotReadyAddresses": True, **network}
    if "replicatedJobs" in spec:
        spec["replicatedJobs"] = [replicated_job(one) for one in spec["replicatedJobs"]]
    if "failurePolicy" in spec:
        spec["failurePolicy"] = failure_policy(spec["failurePolicy"])
    if "volumeClaimPolicies" in spec:
        spec["volumeClaimPolicies"] = [
            {"retentionPolicy": {"whenDeleted": "Delete"}, **one} for one in spec["volumeClaimPolicies"]
        ]
    return {**filled, "spec": spec}


def replicated_job(raw: Raw) -> Raw:
    """A replicated job that counts its pods, and whose containers are started again where they fail."""
    if not as_object(raw.get("template")).get("spec"):
        return raw
    for path, value in (
        (("template", "spec", "completionMode"), "Indexed"),
        (("template", "spec", "template", "spec", "restartPolicy"), "OnFailure"),
    ):
        if not look(raw, *path):
            raw = put(raw, path, value)
    return raw


def failure_policy(raw: Raw) -> Raw:
    """A failure policy whose rules all have a name."""
    if not raw.get("rules"):
        return raw
    named = [
        rule if rule.get("name") else {**rule, "name": f"failurePolicyRule{index}"}
        for index, rule in enumerate(raw["rules"])
    ]
    return {**raw, "rules": named}
