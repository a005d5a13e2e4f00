"""Pods whose Job is gone: nobody will count them any more, so their tracking finalizer must not keep them."""

from collections.abc import Iterator
from datetime import datetime

from trainplane.api.meta import Raw
from trainplane.job.claim import untracked
from trainplane.job.tally import is_tracked
from trainplane.reconcile.controller import Controller
from trainplane.reconcile.decision import NOTHING, Decision
from trainplane.reconcile.view import Ref, View


def reconcile(pod: Raw, view: View, now: datetime) -> Decision:  # noqa: ARG001 - every controller is told the time
    """Let a pod go that no Job counts."""
    return Decision((untracked(pod),)) if is_orphan(pod, view) else NOTHING


def is_orphan(pod: Raw, view: View) -> bool:
    """Whether a pod waits to be counted by a Job that is not there."""
    return is_tracked(pod) and job_of(pod, view) is None


def job_of(pod: Raw, view: View) -> Raw | None:
    """The Job that controls the pod, if it is there; another of the same name is another."""
    for owner in pod["metadata"].get("ownerReferences") or ():
        if owner.get("controller") and owner["kind"] == "Job":
            job = view.get(Ref("batch", "Job", pod["metadata"].get("namespace", ""), owner["name"]))
            if job is not None and job["metadata"].get("uid") == owner["uid"]:
                return job
    return None


def pods_of(job: Raw, view: View) -> Iterator[Ref]:
    """The pods that a Job has left behind; while it is there, they are its own business."""
    there = view.get(Ref.of(job))
    if there is not None and there["metadata"].get("uid") == job["metadata"].get("uid"):
        return
    yield from map(Ref.of, view.controlled_by(job["metadata"].get("uid", ""), "Pod"))


ORPHANS = Controller(
    name="job-orphans",
    group="",
    kind="Pod",
    reconcile=reconcile,
    cares=is_orphan,
    watches=((("batch", "Job"), pods_of),),
)
"""The controller of pods without a Job."""
