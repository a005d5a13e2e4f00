"""ttlSecondsAfterFinished: how long a JobSet is kept after its end."""

from datetime import datetime, timedelta

from trainplane.api.conditions import condition
from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.jobset.children import Unreadable
from trainplane.jobset.fields import finished, uid_of
from trainplane.reconcile.decision import Delete
from trainplane.reconcile.view import Ref


def time_left(jobset: Raw, now: datetime) -> timedelta | None:
    """How long a finished JobSet is still kept; None where that has no end, or the JobSet has none yet."""
    ttl, end = look(jobset, "spec", "ttlSecondsAfterFinished"), finished(jobset.get("status"))
    if ttl is None or not end:
        return None
    since = (condition(jobset.get("status"), end) or {}).get("lastTransitionTime")
    if not since:
        raise Unreadable(f"the condition {end} does not say since when; write its lastTransitionTime")
    return datetime.fromisoformat(since) + timedelta(seconds=ttl) - now


def expire(jobset: Raw, now: datetime) -> tuple[list[Delete], timedelta | None]:
    """The JobSet deleted with its Jobs when its time has come, else when to look again."""
    left = time_left(jobset, now)
    if left is None or left > timedelta(0):
        return [], left
    return [Delete(Ref.of(jobset), uid_of(jobset), propagation="Foreground")], None
