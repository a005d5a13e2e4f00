"""What keeps a TrainJob from going on, and what made it fail, as far as the objects below it tell."""

import re
from typing import NamedTuple

from trainplane.api.conditions import condition
from trainplane.api.meta import Raw
from trainplane.api.raw import uid_of
from trainplane.reconcile.view import Ref, View
from trainplane.trainjob.status import finished
from trainplane.trainjob.tree import at

RANK = "batch.kubernetes.io/job-completion-index"
CREATION = "CreationFailed"
"""How the reasons of a JobSet's events end when it cannot make a Job, its Service or a volume claim."""
_FIRST_FAILED = re.compile(r"\(first failed job: ([^)\s]+)\)")


class Trouble(NamedTuple):
    """Why a TrainJob does not go on: in a word, and in a sentence that says what to do."""

    reason: str
    message: str


def below(jobset: Raw | None, view: View) -> Trouble | None:
    """What keeps the JobSet from making its Jobs, or those their pods; their own events alone tell it."""
    if jobset is None:
        return None
    made = {raw["metadata"]["name"]: raw for raw in view.controlled_by(uid_of(jobset), "Job")}
    found = [
        (seen(event), Trouble("ChildrenRefused", f"the JobSet cannot make its children: {event.get('note', '')}"))
        for event in view.events_about(uid_of(jobset))
        if str(event.get("reason", "")).endswith(CREATION) and not is_past(str(event.get("note", "")), jobset, made)
    ]
    for name, job in made.items():
        found += [
            (seen(event), Trouble("PodsRefused", f"the Job {name} cannot make its pods: {event.get('note', '')}"))
            for event in view.events_about(uid_of(job))
            if event.get("reason") == "FailedCreate" and is_short_of_pods(job)
        ]
    return max(found, default=("", None))[1]


def is_short_of_pods(job: Raw) -> bool:
    """Whether a Job has fewer pods than it wants."""
    status, wanted = job.get("status") or {}, at(job, ("spec", "parallelism"))
    there = int(status.get("active") or 0) + int(status.get("succeeded") or 0)
    return not finished(status) and there < (1 if wanted is None else int(wanted))


def is_past(note: str, jobset: Raw, made: dict[str, Raw]) -> bool:
    """Whether the Jobs that could not be made have been made since; events outlive what they tell of."""
    names = [
        f"{jobset['metadata']['name']}-{job['name']}-{index}"
        for job in at(jobset, ("spec", "replicatedJobs")) or ()
        for index in range(int(job.get("replicas", 1)))
    ]
    named = [name for name in names if re.search(rf"(?<![-\w]){re.escape(name)}(?![-\w])", note)]
    if named:
        return all(name in made for name in named)
    counts = at(jobset, ("status", "replicatedJobsStatus")) or ()
    return bool(counts) and all(job.get("active") or job.get("succeeded") for job in counts)


def seen(event: Raw) -> str:
    """When an event was last seen."""
    return str(
        at(event, ("series", "lastObservedTime"))
        or event.get("eventTime")
        or event.get("deprecatedLastTimestamp")
        or ""
    )


def first_failure(jobset: Raw | None, view: View) -> str:
    """Which Job failed first, and which of its ranks, with its exit code; "" where nobody knows any more."""
    failed = condition((jobset or {}).get("status") or {}, "Failed") or {}
    named = _FIRST_FAILED.search(str(failed.get("message", "")))
    if jobset is None or not named:
        return ""
    job = view.get(Ref("batch", "Job", jobset["metadata"].get("namespace", ""), named[1]))
    ends = [end for pod in view.controlled_by(uid_of(job)) if (end := ended(pod))] if job else []
    if ends:
        _, rank, how = min(ends)
        return f"{how} in rank {rank} of {named[1]}, which failed first"
    reason = (condition(job.get("status") or {}, "Failed") or {}).get("message", "") if job else ""
    return f"{named[1]} failed first{': ' if reason else ''}{reason}"


def ended(pod: Raw) -> tuple[str, int, str] | None:
    """When a pod failed, its rank, and how; None for a pod that did not fail."""
    if at(pod, ("status", "phase")) != "Failed":
        return None
    rank = str(at(pod, ("metadata", "annotations", RANK)) or at(pod, ("metadata", "labels", RANK)) or "0")
    for status in at(pod, ("status", "containerStatuses")) or ():
        end = at(status, ("state", "terminated")) or {}
        if end.get("exitCode"):
            reason = f" ({end['reason']})" if end.get("reason") not in (None, "", "Error") else ""
            how = f"{status.get('name')} ended with exit code {end['exitCode']}{reason}"
            return str(end.get("finishedAt") or "~"), int(rank) if rank.isdigit() else 0, how
    why = at(pod, ("status", "reason")) or "the pod failed"
    return "~", int(rank) if rank.isdigit() else 0, str(why)
