"""spec.suspend: Jobs held back, and let go with what was changed in their templates meanwhile."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from trainplane.api import jobset as words
from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.jobset.children import Children
from trainplane.jobset.fields import is_in_order, is_suspended, replicated_jobs, uid_of
from trainplane.jobset.order import IN_PROGRESS, has_started, may_start
from trainplane.jobset.status import Outcome, counts_of, of
from trainplane.reconcile.decision import Patch
from trainplane.reconcile.view import Ref

SUSPENDED = (words.SUSPENDED, "True", "SuspendedJobs", "jobset is suspended")
RESUMED = (words.SUSPENDED, "False", "ResumeJobs", "jobset is resumed")
NO_LONGER_RESTARTING = (words.RESTARTING, "False", "JobSetSuspended", "jobset is suspended")
LISTS = ("tolerations", "schedulingGates")


def suspend(children: Children, said: Outcome, now: datetime) -> tuple[list[Patch], Outcome]:
    """The Jobs that run held back; those that have ended stay as they are."""
    held = [
        Patch(Ref.of(job), {"spec": {"suspend": True}}, uid_of(job))
        for job in children.active
        if not is_suspended(job) and not job["metadata"].get("deletionTimestamp")
    ]
    return held, said.having(SUSPENDED, now).having(NO_LONGER_RESTARTING, now)


def resume(jobset: Raw, children: Children, said: Outcome, now: datetime) -> tuple[list[Patch], Outcome]:
    """The Jobs let go whose turn it is; the JobSet counts as resumed once there is none left to wait for its turn."""
    counts = counts_of(said.status)
    in_order = is_in_order(jobset)
    freed: list[Patch] = []
    for one in replicated_jobs(jobset):
        if not may_start(jobset, one, counts) or (in_order and has_started(one, counts)):
            continue
        for job in of(one["name"], children.active):
            if is_suspended(job) and not job["metadata"].get("deletionTimestamp"):
                freed += resumed(job, one)
        if in_order:
            return freed, said.having(IN_PROGRESS, now)
    return freed, said.having(RESUMED, now)


def resumed(job: Raw, replicated_job: Raw) -> Iterator[Patch]:
    """One Job let go; its time starts anew, and the API server takes changes to its pods only before it has started."""
    if look(job, "status", "startTime"):
        yield Patch(Ref.of(job), {"status": {"startTime": None}}, uid_of(job), subresource="status")
    spec: Raw = {"suspend": False}
    if changes := template_changes(job["spec"]["template"], look(replicated_job, "template", "spec", "template") or {}):
        spec["template"] = changes
    yield Patch(Ref.of(job), {"spec": spec}, uid_of(job))


def template_changes(have: Raw, want: Raw) -> Raw:
    """What a Job's pods take over from the template on resume: five fields, added to and never taken from."""
    metadata = {
        key: added
        for key in ("labels", "annotations")
        if (added := new_entries(look(have, "metadata", key), look(want, "metadata", key)))
    }
    spec: Raw = {}
    if added := new_entries(look(have, "spec", "nodeSelector"), look(want, "spec", "nodeSelector")):
        spec["nodeSelector"] = added
    for key in LISTS:
        old = look(have, "spec", key) or []
        if more := [item for item in look(want, "spec", key) or () if item not in old]:
            spec[key] = [*old, *more]
    return {name: part for name, part in (("metadata", metadata), ("spec", spec)) if part}


def new_entries(have: Any, want: Any) -> Raw:
    """The entries that are missing or have another value."""
    old = have or {}
    return {key: value for key, value in (want or {}).items() if old.get(key) != value}
