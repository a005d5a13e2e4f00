"""How long to wait before a failed pod is replaced: ten seconds, twice as long after each failure, ten minutes at most.

The delay is worked out from the pods that are there, so a restarted controller keeps it; a failed pod that somebody
deletes takes its part of the delay with it.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from trainplane.api.meta import Raw
from trainplane.api.times import moment
from trainplane.job.tally import Tally, failures_before, is_removed, phase

FIRST = timedelta(seconds=10)
LONGEST = timedelta(minutes=10)
NONE = timedelta(0)


def delay(failures: int) -> timedelta:
    """The delay after so many failures without a success between them."""
    if failures <= 0:
        return NONE
    doubled: int = 2 ** min(failures - 1, 10)
    return min(FIRST * doubled, LONGEST)


def ended(pod: Raw) -> datetime:
    """When a pod ended: as its last container did, or else as nearly as can be told."""
    status, metadata = pod.get("status") or {}, pod["metadata"]
    every = (*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ()))
    ends = [((c.get("state") or {}).get("terminated") or {}).get("finishedAt") for c in every]
    known = [moment(end) for end in ends if end]
    if known and len(known) == len(ends):
        return max(known)
    for one in status.get("conditions") or ():
        if one["type"] == "Ready" and one["status"] == "False" and one.get("lastTransitionTime"):
            return moment(one["lastTransitionTime"])
    if deleted := metadata.get("deletionTimestamp"):
        # The server writes down when the pod must be gone, not when it was asked to go.
        return moment(deleted) - timedelta(seconds=int(metadata.get("deletionGracePeriodSeconds") or 0))
    return moment(metadata["creationTimestamp"])


def wait(tally: Tally, now: datetime) -> timedelta:
    """How long no pod of the Job may be made."""
    failed = [ended(pod) for pod in tally.pods if tally.is_failed(pod) and not is_removed(pod)]
    if not failed:
        return NONE
    succeeded = max((ended(pod) for pod in tally.pods if phase(pod) == "Succeeded"), default=None)
    since = [when for when in failed if succeeded is None or when > succeeded]
    return left(since, len(since), now)


def wait_of_index(pod: Raw, now: datetime) -> timedelta:
    """How long no pod may be made for the index whose last pod has failed so."""
    return left([ended(pod)], sum(failures_before(pod)) + 1, now)


def left(failures: Iterable[datetime], count: int, now: datetime) -> timedelta:
    """What is left of the delay that began with the last failure."""
    last = max(failures, default=None)
    return NONE if last is None else max(NONE, last + delay(count) - now)
