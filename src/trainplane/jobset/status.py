"""What a JobSet says of itself: the counts of its Jobs, its conditions, and the events about their change."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple, TypeAlias

from trainplane.api import jobset as words
from trainplane.api.conditions import condition
from trainplane.api.jobset import REPLICATED_JOB_NAME
from trainplane.api.meta import Raw
from trainplane.api.times import stamp
from trainplane.jobset.children import Children
from trainplane.jobset.fields import is_suspended, label, replicated_jobs
from trainplane.reconcile.decision import Action, Record, SetStatus
from trainplane.reconcile.view import Ref

Said: TypeAlias = tuple[str, str, str, str]
"""Type, status, reason and message of a condition."""

KEPT = ("jobRestarts", "jobRestartsCountTowardsMax")
EITHER_OR = {
    words.STARTUP_POLICY_COMPLETED: words.STARTUP_POLICY_IN_PROGRESS,
    words.STARTUP_POLICY_IN_PROGRESS: words.STARTUP_POLICY_COMPLETED,
}
"""Conditions of which one ends the other."""
READY_AGAIN = (words.RESTARTING, "False", "JobsReady", "all jobs are ready")


class Told(NamedTuple):
    """An event to come with the status."""

    type: str
    reason: str
    note: str


class Outcome(NamedTuple):
    """The status a JobSet will have, and the events that tell of the change."""

    status: Raw
    told: tuple[Told, ...] = ()

    def having(self, new: Said, now: datetime) -> "Outcome":
        """With a condition set: its time changes only with its status, and one that is False never comes of nothing."""
        type_, value, reason, message = new
        conditions = list(self.status.get("conditions") or ())
        old = condition(self.status, type_)
        rival = EITHER_OR.get(type_) if value == "True" else None
        after = [{**one, "status": "False"} if is_on(one, rival) else one for one in conditions]
        if old is None and value == "True":
            after.append(entry(new, stamp(now)))
        elif old is not None and (old.get("status"), old.get("reason"), old.get("message")) != (value, reason, message):
            since = old["lastTransitionTime"] if old.get("status") == value else stamp(now)
            after = [entry(new, since) if one.get("type") == type_ else one for one in after]
        if after == conditions:
            return self
        return Outcome({**self.status, "conditions": after}, (*self.told, Told(tone(new), reason, message)))

    def telling(self, event: Told) -> "Outcome":
        """With one more event."""
        return Outcome(self.status, (*self.told, event))

    def saying(self, **fields: object) -> "Outcome":
        """With fields of the status set."""
        return Outcome({**self.status, **fields}, self.told)

    def actions(self, jobset: Raw) -> list[Action]:
        """The status written where it changed, and then the events."""
        if self.status == (jobset.get("status") or {}):
            return []
        ref, metadata = Ref.of(jobset), jobset["metadata"]
        # Only over what it was made from: an old look must neither undo a restart nor grant one twice.
        version = metadata.get("resourceVersion", "")
        status = {"restarts": 0, **self.status}
        written = SetStatus(ref, status, metadata.get("uid", ""), version, after_all=True, can_wait=True)
        return [written, *(Record(ref, *event) for event in self.told)]


def is_on(one: Mapping[str, object], type_: str | None) -> bool:
    """Whether this is the condition of a type, and True."""
    return one.get("type") == type_ and one.get("status") == "True"


def tone(new: Said) -> str:
    """The type of the event about a condition: a Warning where something failed."""
    type_, value, _, _ = new
    return "Warning" if value == "True" and type_ in (words.FAILED, words.RESTARTING) else "Normal"


def entry(new: Said, since: str) -> Raw:
    """A condition as the API has it."""
    type_, value, reason, message = new
    return {"type": type_, "status": value, "reason": reason, "message": message, "lastTransitionTime": since}


def pods_of(job: Raw) -> int:
    """How many pods of a Job run at once."""
    spec = job["spec"]
    parallelism = spec.get("parallelism")
    at_once = 1 if parallelism is None else int(parallelism)
    completions = spec.get("completions")
    return at_once if completions is None else min(at_once, int(completions))


def is_ready(job: Raw) -> bool:
    """Whether every pod of a Job is ready or has succeeded."""
    status = job.get("status") or {}
    return (status.get("succeeded") or 0) + (status.get("ready") or 0) >= pods_of(job)


def count(jobset: Raw, children: Children) -> list[Raw]:
    """How many Jobs of each replicated job are in which state; the last name first, as upstream stores them."""
    old = counts_of(jobset.get("status") or {})

    def tally(name: str) -> Raw:
        active = of(name, children.active)
        return {
            "name": name,
            "ready": sum(map(is_ready, active)),
            "succeeded": len(of(name, children.succeeded)),
            "failed": len(of(name, children.failed)),
            "active": sum((job.get("status") or {}).get("active", 0) > 0 for job in active),
            "suspended": sum(map(is_suspended, active)),
            **{key: old[name][key] for key in KEPT if name in old and key in old[name]},
        }

    return sorted(
        (tally(str(one["name"])) for one in replicated_jobs(jobset)), key=lambda found: str(found["name"]), reverse=True
    )


def of(name: str, jobs: Iterable[Raw]) -> list[Raw]:
    """The Jobs of one replicated job."""
    return [job for job in jobs if label(job, REPLICATED_JOB_NAME) == name]


def counts_of(status: Raw) -> dict[str, Raw]:
    """The counts by the name of the replicated job: their order says nothing."""
    return {found["name"]: found for found in status.get("replicatedJobsStatus") or ()}


def counted(jobset: Raw, children: Children) -> Outcome:
    """The status with the counts as they are now."""
    status: Raw = dict(jobset.get("status") or {})
    counts = count(jobset, children)
    if counts == (status.get("replicatedJobsStatus") or []):
        return Outcome(status)
    return Outcome({**status, "replicatedJobsStatus": counts})
