"""Empty values of built-in kinds: which of them are as if left out, and which the API server keeps."""

from typing import Any

from trainplane.api.schema import Schema

_POINTERS = frozenset(
    (
        *("failedIndexes", "ipFamilyPolicy", "leaseTransitions", "managedBy", "storageClassName", "succeededIndexes"),
        *("value", "volumeAttributesClassName"),
    )
)
"""Text that is kept though it is empty, because the API server tells absent from empty there."""
_IN_PODS = frozenset(
    (
        *("fsGroupChangePolicy", "hostnameOverride", "localhostProfile", "mountPropagation", "nodeAffinityPolicy"),
        *("nodeTaintsPolicy", "procMount", "recursiveReadOnly", "resourceClaimName", "resourceClaimTemplateName"),
        *("seLinuxChangePolicy", "supplementalGroupsPolicy", "gmsaCredentialSpecName", "gmsaCredentialSpec"),
        *("runAsUserName", "initiatorName", "cachingMode", "preemptionPolicy", "volumeMode"),
    )
)
_POINTERS_OF: dict[str, frozenset[str]] = {
    "Job": frozenset(("completionMode", "podReplacementPolicy")) | _IN_PODS,
    "PersistentVolumeClaim": frozenset(("volumeMode",)),
    "Pod": _IN_PODS,
    "Endpoints": frozenset(("appProtocol", "nodeName")),
    "EndpointSlice": frozenset(("appProtocol", "hostname", "nodeName", "protocol", "zone")),
    "HorizontalPodAutoscaler": frozenset(("selectPolicy",)),
    "PriorityClass": frozenset(("preemptionPolicy",)),
    "Service": frozenset(("appProtocol", "internalTrafficPolicy", "loadBalancerClass", "trafficDistribution")),
}
"""The same, of one kind."""
_POINTERS_IN = frozenset(
    (
        *(("containers", "restartPolicy"), ("initContainers", "restartPolicy"), ("csi", "fsType")),
        *(("azureDisk", "fsType"), ("azureDisk", "kind"), ("onExitCodes", "containerName")),
        *(("dataSourceRef", "namespace"), ("spec", "holderIdentity"), ("spec", "preferredHolder")),
    )
)
"""The same, of a field in what another one holds."""
_PLAIN_IN = frozenset([("tolerations", "value")])
"""Text that is not kept there."""
_KEPT_IN = frozenset([("csi", "readOnly")])
"""Flags whose `false` is written there."""
_COUNTS_OF_PODS = frozenset(
    (
        *("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"),
        "partition",
    )
)
_PLAIN_NUMBERS_OF: dict[str, frozenset[str]] = {"Job": _COUNTS_OF_PODS, "Pod": _COUNTS_OF_PODS}
"""Numbers of one kind whose zero is not written."""
_PLAIN_BOOLEANS = frozenset(
    (
        *("chapAuthDiscovery", "chapAuthSession"),
        *("globalDefault", "hostIPC", "hostNetwork", "hostPID", "publishNotReadyAddresses", "readOnly", "stdin"),
        *("stdinOnce", "tty", "unschedulable"),
    )
)
"""Flags of built-in kinds whose `false` is not written."""
_PLAIN_NUMBERS = frozenset(
    (
        *("active", "count", "currentHealthy", "desiredHealthy", "expectedPods", "failed", "hostPort", "nodePort"),
        *("observedGeneration", "succeeded"),
    )
)
_ALWAYS_LISTS = frozenset(["containers", "rules", "endpoints", "policies", "verbs", "limits", "managedFields"])
"""Lists that stay though they are empty."""


def is_left_out(value: Any, schema: Schema, *, kind: str, place: tuple[str, str]) -> bool:
    """Whether an empty value is not written; its place is the name of what holds it, and its own."""
    name = place[1]
    if isinstance(value, bool):
        return name in _PLAIN_BOOLEANS and place not in _KEPT_IN
    if isinstance(value, dict):
        return "additionalProperties" in schema
    if isinstance(value, list):
        return name not in _ALWAYS_LISTS
    if isinstance(value, str):
        kept = name in _POINTERS or name in _POINTERS_OF.get(kind, ()) or place in _POINTERS_IN
        return not kept or place in _PLAIN_IN
    return name in _PLAIN_NUMBERS or name in _PLAIN_NUMBERS_OF.get(kind, ())
