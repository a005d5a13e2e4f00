"""A replicated job becomes Jobs: their names, their labels and annotations, and what the JobSet adds to their pods."""

from collections.abc import Mapping
from hashlib import sha1
from typing import Any

from trainplane.api import jobset as keys
from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.jobset.claims import with_volumes
from trainplane.jobset.exclusive import exclusive_annotations, with_reserved_nodes
from trainplane.jobset.fields import (
    is_suspended,
    name_of,
    namespace_of,
    owner,
    replicas,
    replicated_jobs,
    total_replicas,
    uid_of,
)
from trainplane.jobset.network import coordinator, has_dns, subdomain


def job_name(jobset: Raw, replicated_job: Mapping[str, Any], index: int) -> str:
    """The name of a Job: a function of its place, so that a second look makes no second Job."""
    return f"{name_of(jobset)}-{replicated_job['name']}-{index}"


def job_key(namespace: str, name: str) -> str:
    """What tells a Job from all others of the cluster, in 40 characters."""
    return sha1(f"{namespace}/{name}".encode(), usedforsecurity=False).hexdigest()


def global_index(jobset: Raw, name: str, index: int) -> str:
    """The place of a Job among all Jobs of the JobSet; "" where there is no such replicated job."""
    before = 0
    for one in replicated_jobs(jobset):
        if one["name"] == name:
            return str(before + index)
        before += replicas(one)
    return ""


def group_of_job(replicated_job: Mapping[str, Any]) -> str:
    """The group a replicated job belongs to."""
    return replicated_job.get("groupName") or "default"


def group_index(jobset: Raw, group: str, *, name: str, index: int) -> str:
    """The place of a Job among those of its group; "" where the group has no such replicated job."""
    before = 0
    for one in replicated_jobs(jobset):
        if group_of_job(one) != group:
            continue
        if one["name"] == name:
            return str(before + index)
        before += replicas(one)
    return ""


def group_replicas(jobset: Raw, group: str) -> str:
    """How many Jobs a group has."""
    return str(sum(replicas(one) for one in replicated_jobs(jobset) if group_of_job(one) == group))


def marks(jobset: Raw, replicated_job: Raw, index: int, *, restarts: list[int] | None) -> dict[str, str]:
    """What a Job and its pods carry, as labels and as annotations alike.

    `restarts` counts how often each Job of the replicated job was restarted by itself; None where that cannot be.
    """
    name, group = str(replicated_job["name"]), group_of_job(replicated_job)
    found = {
        keys.JOBSET_NAME: name_of(jobset),
        keys.JOBSET_UID: uid_of(jobset),
        keys.REPLICATED_JOB_NAME: name,
        keys.REPLICATED_JOB_REPLICAS: str(replicas(replicated_job)),
        keys.GLOBAL_REPLICAS: str(total_replicas(jobset)),
        keys.JOB_INDEX: str(index),
        keys.JOB_GLOBAL_INDEX: global_index(jobset, name, index),
        keys.JOB_KEY: job_key(namespace_of(jobset), job_name(jobset, replicated_job, index)),
        keys.RESTART_ATTEMPT: str((jobset.get("status") or {}).get("restarts") or 0),
        keys.GROUP_NAME: group,
        keys.GROUP_REPLICAS: group_replicas(jobset, group),
        keys.JOB_GROUP_INDEX: group_index(jobset, group, name=name, index=index),
    }
    if restarts is not None:
        found[keys.JOB_RESTART_ATTEMPT] = str(restarts[index] if index < len(restarts) else 0)
    if leader := coordinator(jobset):
        found[keys.COORDINATOR] = leader
    return found


def marked(metadata: Mapping[str, Any] | None, marks_: dict[str, str], *, annotations: dict[str, str]) -> Raw:
    """The labels and annotations of a template, with those of the JobSet over them."""
    given = metadata or {}
    return {
        "labels": {**(given.get("labels") or {}), **marks_},
        "annotations": {**(given.get("annotations") or {}), **marks_, **annotations},
    }


def job(jobset: Raw, replicated_job: Raw, index: int, *, restarts: list[int] | None = None) -> Raw:
    """One Job of a replicated job."""
    template = replicated_job["template"]
    # A template that lacks its parts is handed on as it is: the API server refuses the Job in its own words.
    pod = look(template, "spec", "template") or {}
    shared = marks(jobset, replicated_job, index, restarts=restarts)
    placing = exclusive_annotations(jobset, template)
    name = job_name(jobset, replicated_job, index)
    spec = with_volumes(dict(pod.get("spec") or {}), jobset)
    if has_dns(jobset):
        spec["subdomain"] = subdomain(jobset)
    metadata = marked(template.get("metadata"), shared, annotations=placing)
    spec = with_reserved_nodes(spec, metadata["annotations"], job=f"{namespace_of(jobset)}_{name}")
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": namespace_of(jobset),
            **metadata,
            "ownerReferences": [owner(jobset)],
        },
        "spec": {
            **(template.get("spec") or {}),
            "suspend": is_suspended(jobset),
            "template": {
                **pod,
                "metadata": {
                    **(pod.get("metadata") or {}),
                    **marked(pod.get("metadata"), shared, annotations=placing),
                },
                "spec": spec,
            },
        },
    }
