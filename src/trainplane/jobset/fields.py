"""Reading a JobSet: its replicated jobs, their sizes, and what it says when it says nothing."""

from collections.abc import Iterator, Mapping
from typing import Any

from trainplane.api.conditions import is_true
from trainplane.api.jobset import API_VERSION, COMPLETED, FAILED
from trainplane.api.meta import Raw
from trainplane.api.raw import look

RESTART_JOB_ACTIONS = ("RestartJob", "RestartJobAndIgnoreMaxRestarts")


def name_of(raw: Mapping[str, Any]) -> str:
    """The name of an object."""
    return str(raw["metadata"]["name"])


def namespace_of(raw: Mapping[str, Any]) -> str:
    """The namespace of an object."""
    return str(raw["metadata"].get("namespace", ""))


def uid_of(raw: Mapping[str, Any]) -> str:
    """The uid of an object."""
    return str(raw["metadata"].get("uid", ""))


def label(raw: Mapping[str, Any], key: str) -> str:
    """The value of a label, or ""."""
    return str(look(raw, "metadata", "labels", key) or "")


def annotation(raw: Mapping[str, Any], key: str) -> str | None:
    """The value of an annotation, or None."""
    found = look(raw, "metadata", "annotations", key)
    return None if found is None else str(found)


def replicated_jobs(jobset: Raw) -> list[Raw]:
    """The replicated jobs, in the order in which they are listed."""
    return look(jobset, "spec", "replicatedJobs") or []


def replicas(replicated_job: Mapping[str, Any]) -> int:
    """How many Jobs a replicated job has; one, unless it says."""
    found = replicated_job.get("replicas")
    return 1 if found is None else int(found)


def total_replicas(jobset: Raw) -> int:
    """How many Jobs the JobSet has."""
    return sum(map(replicas, replicated_jobs(jobset)))


def is_suspended(raw: Mapping[str, Any]) -> bool:
    """Whether a JobSet or Job is to be suspended."""
    return bool(look(raw, "spec", "suspend"))


def is_in_order(jobset: Raw) -> bool:
    """Whether replicated jobs start one after the other."""
    return bool(look(jobset, "spec", "startupPolicy", "startupPolicyOrder") == "InOrder")


def rules(jobset: Raw) -> list[Raw]:
    """The rules of the failure policy."""
    return look(jobset, "spec", "failurePolicy", "rules") or []


def restarts_single_jobs(jobset: Raw) -> bool:
    """Whether some rule restarts one Job alone."""
    return any(rule.get("action") in RESTART_JOB_ACTIONS for rule in rules(jobset))


def finished(status: Mapping[str, Any] | None) -> str:
    """`Completed` or `Failed` once the JobSet is; else ""."""
    return next((type_ for type_ in (COMPLETED, FAILED) if is_true(status, type_)), "")


def containers(pod: Mapping[str, Any]) -> Iterator[Raw]:
    """The containers of a pod's spec, those that run first among them."""
    yield from pod.get("initContainers") or ()
    yield from pod.get("containers") or ()


def owner(jobset: Raw) -> Raw:
    """The reference by which a child names its JobSet."""
    return {
        "apiVersion": API_VERSION,
        "kind": "JobSet",
        "name": name_of(jobset),
        "uid": uid_of(jobset),
        "controller": True,
        "blockOwnerDeletion": True,
    }
