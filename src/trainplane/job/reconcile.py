"""The Job controller: the pods that a Job should have, and what it says of itself."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from trainplane.api.batch import COMPLETE, FAILED, FAILURE_TARGET, JOB_CONTROLLER, SUSPENDED
from trainplane.api.conditions import condition, is_true
from trainplane.api.meta import Raw
from trainplane.api.times import moment, stamp
from trainplane.job import indexes
from trainplane.job.claim import claims, sent_away, untracked
from trainplane.job.finish import ALL_DONE, deadline, ending, expiry, is_complete, waits
from trainplane.job.manage import Moves, moves
from trainplane.job.status import IS_RESUMED, IS_SUSPENDED, Saying, finished, target, with_condition
from trainplane.job.tally import Tally, is_deleting, is_ready, is_tracked, phase
from trainplane.reconcile.controller import Controller
from trainplane.reconcile.decision import NOTHING, Action, Create, Decision, Delete, Record, SetStatus
from trainplane.reconcile.view import Ref, View

GROUP = "batch"


class Outcome(NamedTuple):
    """What becomes of the pods, and what the Job comes to."""

    moves: Moves
    end: Saying | None
    waits: bool = False
    """Whether the pods of a Job that has failed are still given a moment to end by themselves."""


def reconcile(job: Raw, view: View, now: datetime) -> Decision:
    """What should be done about one Job now; an event comes right behind what it tells of."""
    if job["spec"].get("managedBy", JOB_CONTROLLER) != JOB_CONTROLLER:
        return NOTHING
    pods, patches = claims(job, view)
    if finished(job.get("status") or {}):
        return cleared(job, pods, now)
    if is_deleting(job):
        return Decision.of([*map(untracked, filter(is_tracked, pods)), *leaving(job, pods)])
    tally = seen(job, pods, now)
    started = start(job, now)
    outcome = decide(job, tally, view, started=started, now=now)
    status = told(job, tally, outcome, started=started, now=now)
    actions: list[Action] = [*patches, *map(untracked, tally.released())]
    if status != (job.get("status") or {}):
        # Before any pod goes: a target that is not written down must not cost a pod its count.
        metadata = job["metadata"]
        # Counters must not be written over by one who has not seen them.
        version = metadata.get("resourceVersion", "")
        actions += [SetStatus(Ref.of(job), status, metadata.get("uid", ""), version), *events(job, status, tally)]
    actions += removed(job, tally, outcome)
    actions += made(job, outcome.moves.make)
    again = soonest(outcome, status, job=job, started=started, now=now)
    return Decision.of(actions, again=again, final=is_foreseen(job, outcome, status, actions))


def is_foreseen(job: Raw, outcome: Outcome, status: Raw, actions: Iterable[Action]) -> bool:
    """Whether the status tells of everything that is done with it: no pod is counted or let go after it is written."""
    if outcome.end is not None or status["uncountedTerminatedPods"]:
        return False
    # Of pods that are made later only those count that are seen.
    begins = not (job.get("status") or {}).get("startTime")
    return all(isinstance(one, SetStatus | Record) or (begins and isinstance(one, Create)) for one in actions)


def seen(job: Raw, pods: tuple[Raw, ...], now: datetime) -> Tally:
    """The Job's pods as they count now."""
    status: Raw = job.get("status") or {}
    tally = Tally(job["spec"], status, pods)
    if target(status) != FAILURE_TARGET:
        return tally
    said = condition(status, FAILURE_TARGET) or {}
    end = Saying(FAILURE_TARGET, "True", str(said.get("reason", "")), "")
    return Tally(job["spec"], status, pods, waits=waits(end, status, now) is not None)


def start(job: Raw, now: datetime) -> datetime | None:
    """Since when the Job is active; a resumed Job begins anew, and a suspended one has not begun."""
    status = job.get("status") or {}
    begun = status.get("startTime")
    if begun and (target(status) or not (job["spec"].get("suspend") or is_true(status, SUSPENDED))):
        return moment(begun)
    return None if job["spec"].get("suspend") else now


def decide(job: Raw, tally: Tally, view: View, *, started: datetime | None, now: datetime) -> Outcome:
    """What becomes of the pods: all go where the Job has come to an end, else as many run as it asks for."""
    end = ending(tally, started, now)
    if tally.active and (rest := waits(end, tally.status, now)) is not None:
        return Outcome(Moves(again=rest), end, waits=True)
    if end is not None:
        return Outcome(Moves(remove=tally.active), end)
    namespace = job["metadata"].get("namespace", "")
    planned = moves(job, tally, now, lambda name: view.get(Ref("", "Pod", namespace, name)) is not None)
    left = len(tally.active) - len(planned.remove) + len(planned.make)
    return Outcome(planned, ALL_DONE if is_complete(tally, left) else None)


def told(job: Raw, tally: Tally, outcome: Outcome, *, started: datetime | None, now: datetime) -> Raw:
    """The Job's status as it should be."""
    gone = {pod["metadata"]["name"] for pod in outcome.moves.remove}
    left = [pod for pod in tally.active if pod["metadata"]["name"] not in gone]
    terminating = len(tally.terminating) + len(gone)
    # What is made first is foreseen, so that a Job that begins well is written once; after that only seen pods count.
    foreseen = len(outcome.moves.make) if not tally.status.get("startTime") else 0
    over = outcome.end is not None and not left and not terminating
    status = {key: value for key, value in tally.status.items() if key not in ("active", "startTime")}
    if started is not None:
        status["startTime"] = stamp(started)
    if active := len(left) + foreseen:
        status["active"] = active
    status |= {"ready": sum(map(is_ready, left)), "terminating": terminating}
    status = counted(status, tally, outcome.end.type if outcome.end and not outcome.waits else "", over=over)
    if outcome.end is None:
        return suspension(status, suspend=bool(job["spec"].get("suspend")), now=now)
    status = with_condition(status, outcome.end, now)
    if over:
        last = FAILED if outcome.end.type == FAILURE_TARGET else COMPLETE
        status = with_condition(status, outcome.end._replace(type=last), now)
        # A Job may come to its end while it is suspended; a finished one has begun all the same.
        status = {"startTime": stamp(now), **status}
        if last == COMPLETE:
            status["completionTime"] = stamp(now)
    return status


def counted(status: Raw, tally: Tally, end: str, *, over: bool) -> Raw:
    """The status with its counters; when a Job is over all is counted at once, for then nothing is counted again."""
    counters, listed = tally.settled(), tally.listed(end, most=None if over else 500)
    if over:
        counters = {key: count + len(listed.get(key, ())) for key, count in counters.items()}
        listed = {}
    if tally.indexed:
        counters["succeeded"] = len(tally.completed)
    status = {**status, **counters, "uncountedTerminatedPods": listed}
    if tally.indexed:
        status["completedIndexes"] = indexes.write(tally.completed)
    kept = {
        key: value for key, value in status.items() if value or key not in ("succeeded", "failed", "completedIndexes")
    }
    return {**kept, "failedIndexes": indexes.write(tally.failed_indexes)} if tally.per_index else kept


def suspension(status: Raw, *, suspend: bool, now: datetime) -> Raw:
    """The status with Suspended kept: True while suspended; False, where it was True, once resumed."""
    if suspend:
        return with_condition(status, IS_SUSPENDED, now)
    return with_condition(status, IS_RESUMED, now) if is_true(status, SUSPENDED) else status


def removed(job: Raw, tally: Tally, outcome: Outcome) -> Iterator[Action]:
    """Pods deleted: those of a Job at its end keep their finalizers, to be counted; of others they go first.

    A pod that is sent away is deleted when it is seen to be let go: deleted before that, it would count as failed.
    """
    if outcome.end is None:
        yield from map(sent_away, outcome.moves.remove)
    for pod in (*tally.leaving, *(outcome.moves.remove if outcome.end else ())):
        yield Delete(Ref.of(pod), pod["metadata"].get("uid", ""))
        yield Record(Ref.of(job), "Normal", "SuccessfulDelete", f"Deleted pod: {pod['metadata']['name']}")


def made(job: Raw, pods: Iterable[Raw]) -> Iterator[Action]:
    """Pods made."""
    for pod in pods:
        yield Create(pod, complaint="FailedCreate")
        yield Record(Ref.of(job), "Normal", "SuccessfulCreate", f"Created pod: {pod['metadata']['name']}")


def events(job: Raw, status: Raw, tally: Tally) -> Iterator[Action]:
    """What is worth an event: the end, with its reason, and suspension."""
    ref, before = Ref.of(job), job.get("status") or {}
    completions = job["spec"].get("completions")
    if is_true(status, COMPLETE):
        if completions is not None and tally.succeeded > completions:
            yield Record(ref, "Warning", "TooManySucceededPods", f"{tally.succeeded} of {completions} pods succeeded")
        yield Record(ref, "Normal", "Completed", "Job completed")
    if is_true(status, FAILED):
        said = condition(status, FAILED) or {}
        yield Record(ref, "Warning", said["reason"], said["message"])
    if is_true(status, SUSPENDED) and not is_true(before, SUSPENDED):
        yield Record(ref, "Normal", "Suspended", IS_SUSPENDED.message)
    if is_true(before, SUSPENDED) and not is_true(status, SUSPENDED):
        yield Record(ref, "Normal", "Resumed", IS_RESUMED.message)


def cleared(job: Raw, pods: Iterable[Raw], now: datetime) -> Decision:
    """A Job that is over: its pods are let go, and it goes when its time is up."""
    actions: list[Action] = [untracked(pod) for pod in pods if is_tracked(pod)]
    kept = expiry(job, now)
    if kept is not None and not is_deleting(job):
        if kept > timedelta(0):
            return Decision.of(actions, again=kept, final=True)
        actions.append(Delete(Ref.of(job), job["metadata"].get("uid", ""), propagation="Foreground"))
        return Decision.of(actions)
    # All was counted when it ended: that they are let go changes nothing more.
    return Decision.of(actions, final=True)


def leaving(job: Raw, pods: tuple[Raw, ...]) -> Iterator[SetStatus]:
    """What a Job on its way out says of the pods that go before it; nobody counts them any more."""
    before: Raw = job.get("status") or {}
    if "terminating" not in before:
        return
    tally = Tally(job["spec"], before, pods)
    active = {"active": len(tally.active)} if tally.active else {}
    counts = {**active, "ready": sum(map(is_ready, tally.active)), "terminating": len(tally.terminating)}
    status = {key: value for key, value in before.items() if key != "active"} | counts
    if status != before:
        metadata = job["metadata"]
        yield SetStatus(Ref.of(job), status, metadata.get("uid", ""), metadata.get("resourceVersion", ""))


def soonest(outcome: Outcome, status: Raw, *, job: Raw, started: datetime | None, now: datetime) -> timedelta | None:
    """When the next thing happens by itself: a delay ends, a deadline passes, a finished Job goes."""
    moments = [outcome.moves.again, expiry({**job, "status": status}, now)]
    if outcome.end is None:
        moments.append(deadline(job["spec"], started, now))
    return min((one for one in moments if one is not None), default=None)


def is_only_waiting(before: Raw, after: Raw) -> bool:
    """Whether a pod still has not begun, and is as much the Job's as before: why it waits counts for nothing."""
    old, new = before["metadata"], after["metadata"]
    if phase(before) != "Pending" or phase(after) != "Pending" or is_ready(before) or is_ready(after):
        return False
    fields = ("annotations", "deletionTimestamp", "finalizers", "labels", "ownerReferences")
    return all(old.get(field) == new.get(field) for field in fields)


SETTLE = 0.02
"""Seconds that the change of a pod waits for those of the others, so that they are counted at once."""
JOB = Controller(
    name="job",
    group=GROUP,
    kind="Job",
    reconcile=reconcile,
    owns=(("", "Pod"),),
    overlooks=is_only_waiting,
    settle=SETTLE,
    reports_as="job-controller",
)
"""The Job controller."""
