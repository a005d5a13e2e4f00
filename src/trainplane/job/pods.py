"""The pods of a Job: what the controller adds to the template, and what each pod is called.

The end of a pod's name is no dice but a hash of the Job's uid, the index and the number of pods made before. A
controller that has not yet seen the pod it made asks for the same name again, and a server has it only once; so a stale
view cannot double a pod.
"""

from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

from trainplane.api.batch import (
    COMPLETION_INDEX,
    COMPLETION_INDEX_ENV,
    INDEX_FAILURE_COUNT,
    INDEX_IGNORED_FAILURE_COUNT,
    TRACKING_FINALIZER,
)
from trainplane.api.meta import Raw
from trainplane.job.policy import IGNORE
from trainplane.job.tally import Tally, failures_before

LETTERS = "bcdfghjklmnpqrstvwxz2456789"
"""Letters and digits that cannot be mistaken for each other, nor make words."""
SUFFIX = 5
LONGEST_PREFIX = 58
"""What fits before the suffix in a name of 63 characters."""
INDEX_SOURCE = {"fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.labels['{COMPLETION_INDEX}']"}}


def suffix(uid: str, index: int | None, number: int) -> str:
    """The end of a pod's name, the same for the same pod at all times."""
    value = int.from_bytes(sha256(f"{uid}/{'' if index is None else index}/{number}".encode()).digest()[:8], "big")
    letters = []
    for _ in range(SUFFIX):
        value, letter = divmod(value, len(LETTERS))
        letters.append(LETTERS[letter])
    return "".join(letters)


def prefix(job: str, index: int | None) -> str:
    """The beginning of a pod's name: a long name of the Job is cut, and the index is kept."""
    end = "-" if index is None else f"-{index}-"
    return job[: LONGEST_PREFIX - len(end)] + end


def free_name(job: Raw, index: int | None, made: int, is_taken: Callable[[str], bool]) -> str:
    """The name of the next pod, when so many were made before it."""
    metadata = job["metadata"]
    # A server cuts what generateName makes, without minding where.
    start = prefix(metadata["name"], index) if index is not None else f"{metadata['name']}-"[:LONGEST_PREFIX]
    number = made
    while is_taken(name := start + suffix(metadata.get("uid", ""), index, number)):
        number += 1
    return name


def pod_of(job: Raw, name: str, *, index: int | None, annotations: Mapping[str, str]) -> Raw:
    """A pod of the Job, under this name, for this index if it has one."""
    metadata, template = job["metadata"], job["spec"]["template"]
    inner: Mapping[str, Any] = template.get("metadata") or {}
    labels, notes = dict(inner.get("labels") or {}), {**(inner.get("annotations") or {}), **annotations}
    spec = dict(template.get("spec") or {})
    generate = f"{metadata['name']}-"
    if index is not None:
        generate = prefix(metadata["name"], index)
        labels[COMPLETION_INDEX] = notes[COMPLETION_INDEX] = str(index)
        spec |= {"hostname": f"{metadata['name']}-{index}"}
        for kind in ("initContainers", "containers"):
            if spec.get(kind):
                spec[kind] = [_told_its_index(container) for container in spec[kind]]
    made: Raw = {
        "name": name,
        "generateName": generate,
        "namespace": metadata.get("namespace", ""),
        "labels": labels,
        "annotations": notes,
        "finalizers": [*(inner.get("finalizers") or ()), TRACKING_FINALIZER],
        "ownerReferences": [owner(job)],
    }
    kept = {key: value for key, value in made.items() if value}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": kept, "spec": spec}


def owner(job: Raw) -> Raw:
    """The owner reference of what the Job makes."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": job["metadata"]["name"],
        "uid": job["metadata"].get("uid", ""),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _told_its_index(container: Raw) -> Raw:
    env = container.get("env") or []
    if any(one["name"] == COMPLETION_INDEX_ENV for one in env):
        return container
    return {**container, "env": [*env, {"name": COMPLETION_INDEX_ENV, "valueFrom": INDEX_SOURCE}]}


def failure_counts(tally: Tally, index: int) -> dict[str, str]:
    """The annotations by which the next pod of an index knows how often the index has failed."""
    if not tally.per_index:
        return {}
    counted = ignored = 0
    if last := tally.last_failed.get(index):
        counted, ignored = failures_before(last)
        if tally.judged(last).action == IGNORE:
            ignored += 1
        else:
            counted += 1
    notes = {INDEX_FAILURE_COUNT: str(counted)}
    return {**notes, INDEX_IGNORED_FAILURE_COUNT: str(ignored)} if ignored else notes
