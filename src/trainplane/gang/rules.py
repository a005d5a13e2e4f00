"""The rules of namespaces, TP280-TP289: what quotas and limit ranges refuse."""

from trainplane.api.problem import Rule, Severity

OVER_QUOTA = Rule(
    "TP280",
    Severity.ERROR,
    "The namespace's quota does not allow it",
    "A ResourceQuota sets the most that all pods of a namespace may ask for together, and this pod would go beyond. "
    "Wait until others have finished, ask for less, or have the quota raised.",
)
QUOTA_WANTS_FIGURES = Rule(
    "TP281",
    Severity.ERROR,
    "The namespace's quota wants every container to say what it needs",
    "A ResourceQuota that limits a resource can count only pods whose containers all name it. "
    "Add the requests or limits, or give the namespace a LimitRange with defaults.",
)
OUT_OF_LIMITS = Rule(
    "TP282",
    Severity.ERROR,
    "The namespace's limit range does not allow it",
    "A LimitRange sets the least and the most that one container or pod may ask for, and how far its limit may lie "
    "above its request. Bring the figures within these bounds.",
)
