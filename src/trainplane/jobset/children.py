"""The Jobs of a JobSet that exist: which run they are of, and which of them run, have succeeded or have failed."""

from collections.abc import Iterable

import msgspec

from trainplane.api.batch import COMPLETE, FAILED
from trainplane.api.conditions import is_true
from trainplane.api.jobset import JOB_INDEX, JOB_RESTART_ATTEMPT, REPLICATED_JOB_NAME, RESTART_ATTEMPT
from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.jobset.fields import label, name_of, namespace_of, uid_of
from trainplane.reconcile.decision import Delete
from trainplane.reconcile.view import Ref, View, group_of


class Unreadable(Exception):
    """A Job of the JobSet does not say of which run it is, and nothing can be decided until it does."""


class Children(msgspec.Struct, frozen=True):
    """The Jobs of a JobSet, told apart."""

    active: tuple[Raw, ...] = ()
    succeeded: tuple[Raw, ...] = ()
    failed: tuple[Raw, ...] = ()
    previous: tuple[Raw, ...] = ()
    """Jobs of a run before the present one, whatever became of them."""

    @property
    def names(self) -> set[str]:
        """The names that are taken."""
        return {name_of(job) for job in (*self.active, *self.succeeded, *self.failed, *self.previous)}


def find(jobset: Raw, view: View) -> list[Raw]:
    """The Jobs that this JobSet controls, by its uid: those of a deleted namesake are none of its business."""
    return [
        raw
        for raw in view.controlled_by(uid_of(jobset), "Job")
        if group_of(raw["apiVersion"]) == "batch" and namespace_of(raw) == namespace_of(jobset)
    ]


def tell_apart(jobs: Iterable[Raw], status: Raw, *, restart_job: bool) -> Children:
    """The Jobs by what became of them; Unreadable where one does not say of which run it is."""
    kinds: dict[str, list[Raw]] = {"active": [], "succeeded": [], "failed": [], "previous": []}
    for job in jobs:
        if is_previous(job, status, restart_job=restart_job):
            kinds["previous"].append(job)
        else:
            kinds[outcome(job)].append(job)
    return Children(**{kind: tuple(found) for kind, found in kinds.items()})


def outcome(job: Raw) -> str:
    """`failed` or `succeeded` once the Job is; else `active`, also while it is only about to end."""
    if is_true(job.get("status"), FAILED):
        return "failed"
    return "succeeded" if is_true(job.get("status"), COMPLETE) else "active"


def is_previous(job: Raw, status: Raw, *, restart_job: bool) -> bool:
    """Whether the Job was made before the last restart, of all Jobs or of this one."""
    if number(job, RESTART_ATTEMPT) < (status.get("restarts") or 0):
        return True
    if not restart_job or not label(job, JOB_RESTART_ATTEMPT):
        # A Job from before single Jobs could be restarted has no such label, and counts as current.
        return False
    counts = job_restarts(status, label(job, REPLICATED_JOB_NAME))
    if not counts:
        return False
    index = number(job, JOB_INDEX)
    if not 0 <= index < len(counts):
        what = f"the Job {name_of(job)} has the index {index}, and the JobSet counts {len(counts)}"
        raise Unreadable(f"{what}; correct its label {JOB_INDEX}, or delete the Job")
    return number(job, JOB_RESTART_ATTEMPT) < counts[index]


def job_restarts(status: Raw, replicated_job: str) -> list[int]:
    """How often each Job of a replicated job was restarted by itself; empty where none ever was."""
    for entry in status.get("replicatedJobsStatus") or ():
        if entry["name"] == replicated_job:
            return list(entry.get("jobRestarts") or ())
    return []


def number(job: Raw, key: str) -> int:
    """The number in a label of the Job."""
    text = look(job, "metadata", "labels", key)
    try:
        return int(str(text))
    except ValueError:
        said = "no label" if text is None else f"{text!r} in the label"
        raise Unreadable(f"the Job {name_of(job)} has {said} {key}; put a number there, or delete the Job") from None


def deletions(jobs: Iterable[Raw]) -> list[Delete]:
    """The Jobs deleted, their pods first; those that go already are let go."""
    return [
        Delete(Ref.of(job), uid_of(job), propagation="Foreground")
        for job in jobs
        if not job["metadata"].get("deletionTimestamp")
    ]
