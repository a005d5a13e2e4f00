"""Which pods of a Job that goes on are to go, and which are to be made."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from itertools import islice
from typing import NamedTuple

from trainplane.api.meta import Raw
from trainplane.api.times import moment
from trainplane.job import backoff
from trainplane.job.pods import failure_counts, free_name, pod_of
from trainplane.job.tally import Tally, index_of, is_ready, phase

MOST_AT_ONCE = 500
"""How many pods one look makes or removes."""
EARLY = datetime.fromisoformat("1970-01-01T00:00:00Z")
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}


class Moves(NamedTuple):
    """Pods to remove, pods to make, and when to look again for those that must wait."""

    remove: tuple[Raw, ...] = ()
    make: tuple[Raw, ...] = ()
    again: timedelta | None = None


def moves(job: Raw, tally: Tally, now: datetime, is_taken: Callable[[str], bool]) -> Moves:
    """What it takes to have the pods that the Job asks for; a look removes or makes, and does not do both."""
    if job["spec"].get("suspend"):
        return Moves(remove=tally.active[:MOST_AT_ONCE])
    want = wanted(tally)
    surplus = to_remove(tally, len(tally.active) - want)[:MOST_AT_ONCE]
    if surplus:
        return Moves(remove=surplus)
    missing = want - len(tally.active)
    if tally.replaces_failed_only:
        missing -= len(tally.terminating)
    if missing <= 0:
        return Moves()
    return _made(job, tally, min(missing, MOST_AT_ONCE), now, is_taken)


def wanted(tally: Tally) -> int:
    """How many pods should be active."""
    parallelism, completions = int(tally.spec["parallelism"]), tally.spec.get("completions")
    if completions is None:
        # The first success says that the work is done: what runs may end, and nothing new begins.
        return len(tally.active) if tally.succeeded else parallelism
    return max(0, min(parallelism, int(completions) - tally.succeeded - len(tally.failed_indexes)))


def to_remove(tally: Tally, surplus: int) -> tuple[Raw, ...]:
    """The pods of which there are too many, those first that have done least."""
    if surplus <= 0 and is_in_order(tally):
        return ()
    ranked = sorted(tally.active, key=_worth)
    gone = list(_misplaced(tally, ranked)) if tally.indexed else []
    names = {pod["metadata"]["name"] for pod in gone}
    rest = [pod for pod in ranked if pod["metadata"]["name"] not in names]
    return (*gone, *rest[: max(0, surplus - len(gone))])


def is_in_order(tally: Tally) -> bool:
    """Whether each pod of a Job with indexes has one of them to itself; those of a Job without need none."""
    if not tally.indexed:
        return True
    pods = tally.active
    return len(set(map(index_of, pods))) == len(pods) and all(map(tally.is_valid, pods))


def _misplaced(tally: Tally, ranked: Iterable[Raw]) -> Iterator[Raw]:
    """Pods whose index the Job does not have, and all but the best of those that share one."""
    left = Counter(index_of(pod) for pod in ranked)
    for pod in ranked:
        index = index_of(pod)
        if not tally.is_valid(pod) or left[index] > 1:
            left[index] -= 1
            yield pod


def _worth(pod: Raw) -> tuple[object, ...]:
    """What orders pods by what would be lost with them."""
    status = pod.get("status") or {}
    ready = next((c for c in status.get("conditions") or () if c["type"] == "Ready" and c["status"] == "True"), None)
    since = moment(ready["lastTransitionTime"]) if ready and ready.get("lastTransitionTime") else EARLY
    restarts = max((int(c.get("restartCount") or 0) for c in status.get("containerStatuses") or ()), default=0)
    age = moment(pod["metadata"].get("creationTimestamp") or "9999-01-01T00:00:00Z")
    return (
        bool((pod.get("spec") or {}).get("nodeName")),
        _PHASES.get(phase(pod), 1),
        is_ready(pod),
        -(since - EARLY).total_seconds(),
        -restarts,
        -(age - EARLY).total_seconds(),
        pod["metadata"]["name"],
    )


def _made(job: Raw, tally: Tally, count: int, now: datetime, is_taken: Callable[[str], bool]) -> Moves:
    if tally.per_index:
        return _made_by_index(job, tally, count, now, is_taken)
    left = backoff.wait(tally, now)
    if left > backoff.NONE:
        return Moves(again=left)
    if tally.indexed:
        return Moves(make=_of_indexes(job, tally, list(islice(pending(tally), count)), is_taken))
    names: set[str] = set()
    for number in range(count):
        name = free_name(job, None, len(tally.pods) + number, lambda name: name in names or is_taken(name))
        names.add(name)
    return Moves(make=tuple(pod_of(job, name, index=None, annotations={}) for name in sorted(names)))


def _made_by_index(job: Raw, tally: Tally, count: int, now: datetime, is_taken: Callable[[str], bool]) -> Moves:
    """Where each index has its own limit, each has its own delay."""
    free: list[int] = []
    waits: list[timedelta] = []
    for index in pending(tally):
        last = tally.last_failed.get(index)
        left = backoff.wait_of_index(last, now) if last else backoff.NONE
        if left > backoff.NONE:
            waits.append(left)
        else:
            free.append(index)
    again = min(waits) if waits and len(free) < count else None
    return Moves(make=_of_indexes(job, tally, free[:count], is_taken), again=again)


def _of_indexes(job: Raw, tally: Tally, wanted: list[int], is_taken: Callable[[str], bool]) -> tuple[Raw, ...]:
    before = Counter(index_of(pod) for pod in tally.pods)
    return tuple(
        pod_of(
            job,
            free_name(job, index, before[index], is_taken),
            index=index,
            annotations=failure_counts(tally, index),
        )
        for index in wanted
    )


def pending(tally: Tally) -> Iterator[int]:
    """The indexes that nobody works on or has finished, the lowest first."""
    busy = {index_of(pod) for pod in tally.active} | tally.completed | tally.failed_indexes
    if tally.replaces_failed_only:
        busy |= {index_of(pod) for pod in tally.terminating}
    return (index for index in range(tally.spec["completions"]) if index not in busy)
