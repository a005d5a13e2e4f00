"""Time to live: events go after an hour, finished Jobs of other managers when their time is up.

TrainJobs, JobSets and the Jobs that are ours to run go by their own controllers, which know when they ended.
"""

from datetime import datetime, timedelta

from trainplane.api.batch import COMPLETE, FAILED, JOB_CONTROLLER
from trainplane.api.conditions import condition
from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.api.times import moment
from trainplane.reconcile.controller import Controller
from trainplane.reconcile.decision import NOTHING, Decision, Delete
from trainplane.reconcile.view import Ref, View

EVENT_TTL = timedelta(hours=1)


def expire_event(event: Raw, view: View, now: datetime) -> Decision:  # noqa: ARG001 - every controller sees the world
    """An event deleted an hour after it was last seen."""
    seen = [
        look(event, "series", "lastObservedTime"),
        event.get("eventTime"),
        event.get("deprecatedLastTimestamp"),
        event["metadata"].get("creationTimestamp"),
    ]
    moments = [moment(text) for text in seen if text]
    return _gone(event, max(moments) + EVENT_TTL - now) if moments else NOTHING


def ripe(event: Raw, now: datetime) -> timedelta:
    """How long an event is sure to stay: what is told of it again can only let it stay longer."""
    made = event["metadata"].get("creationTimestamp")
    return max(moment(made) + EVENT_TTL - now, timedelta(0)) if made else timedelta(0)


def expire_job(job: Raw, view: View, now: datetime) -> Decision:
    """A finished Job that another controller manages deleted with its pods ttlSecondsAfterFinished after its end."""
    if not is_anothers(job, view):
        return NOTHING
    ends = (condition(job.get("status") or {}, type_) for type_ in (COMPLETE, FAILED))
    end = next((one for one in ends if one and one.get("status") == "True"), None)
    if end is None or not end.get("lastTransitionTime"):
        return NOTHING
    ttl = timedelta(seconds=job["spec"]["ttlSecondsAfterFinished"])
    return _gone(job, moment(end["lastTransitionTime"]) + ttl - now, propagation="Foreground")


def is_anothers(job: Raw, _view: View) -> bool:
    """Whether a Job is to go some time after its end, and is run by a controller that may not see to it."""
    spec = job["spec"]
    timed = spec.get("ttlSecondsAfterFinished") is not None
    return timed and spec.get("managedBy", JOB_CONTROLLER) != JOB_CONTROLLER


def _gone(raw: Raw, left: timedelta, *, propagation: str = "Background") -> Decision:
    if raw["metadata"].get("deletionTimestamp"):
        return NOTHING
    if left > timedelta(0):
        return Decision(again=left)
    return Decision((Delete(Ref.of(raw), raw["metadata"].get("uid", ""), propagation=propagation),))


TTL = (
    Controller(name="ttl-events", group="events.k8s.io", kind="Event", reconcile=expire_event, ripe=ripe),
    Controller(name="ttl-jobs", group="batch", kind="Job", reconcile=expire_job, cares=is_anothers),
)
"""The controllers of what goes by its age."""
