"""Exclusive placement: the annotations by which a Job asks for a part of the cluster of its own, and reserved nodes."""

from collections.abc import Mapping
from typing import Any

from trainplane.api.jobset import EXCLUSIVE_TOPOLOGY, NAMESPACED_JOB, NO_SCHEDULE, NODE_SELECTOR
from trainplane.api.meta import Raw
from trainplane.api.raw import look

PLACING = (EXCLUSIVE_TOPOLOGY, NODE_SELECTOR)
RESERVED = {"key": NO_SCHEDULE, "operator": "Exists", "effect": "NoSchedule"}
"""The toleration of pods for the nodes that somebody set aside for their Job."""


def exclusive_annotations(jobset: Raw, template: Mapping[str, Any]) -> dict[str, str]:
    """What a Job and its pods are told of their place: by the JobSet, and over it by the template of the Job."""
    found: dict[str, str] = {}
    for source in (jobset, template):
        given = look(source, "metadata", "annotations") or {}
        if EXCLUSIVE_TOPOLOGY in given:
            found |= {key: given[key] for key in PLACING if key in given}
    return found


def uses_reserved_nodes(annotations: Mapping[str, str]) -> bool:
    """Whether nodes are set aside by hand, with a label and a taint, instead of found by affinity."""
    return all(key in annotations for key in PLACING)


def with_reserved_nodes(pod: Raw, annotations: Mapping[str, str], *, job: str) -> Raw:
    """The pod's spec bound to the nodes of its Job, where they are set aside for it."""
    if not uses_reserved_nodes(annotations):
        return pod
    return {
        **pod,
        "nodeSelector": {**(pod.get("nodeSelector") or {}), NAMESPACED_JOB: job},
        "tolerations": [*(pod.get("tolerations") or ()), RESERVED],
    }
