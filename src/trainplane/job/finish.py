"""How a Job comes to its end: what decides it, how long it may take, and when a finished Job goes."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from trainplane.api.batch import FAILURE_TARGET, SUCCESS_CRITERIA_MET
from trainplane.api.conditions import condition
from trainplane.api.meta import Raw
from trainplane.api.times import moment
from trainplane.job.policy import FAIL_JOB, enough
from trainplane.job.status import Saying, finished, target
from trainplane.job.tally import Tally, phase

TOO_MANY_FAILURES = Saying(
    FAILURE_TARGET, "True", "BackoffLimitExceeded", "Job has reached the specified backoff limit"
)
TOO_LONG = Saying(FAILURE_TARGET, "True", "DeadlineExceeded", "Job was active longer than specified deadline")
TOO_MANY_INDEXES = Saying(
    FAILURE_TARGET,
    "True",
    "MaxFailedIndexesExceeded",
    "Job has exceeded the specified maximal number of failed indexes",
)
SOME_INDEXES = Saying(FAILURE_TARGET, "True", "FailedIndexes", "Job has failed indexes")
BY_PODS = ("BackoffLimitExceeded", "PodFailurePolicy", "MaxFailedIndexesExceeded", "FailedIndexes")
"""The reasons of Jobs that fail because pods have."""
TOGETHER = timedelta(seconds=2)
"""At least a second: times are kept without fractions."""
ALL_DONE = Saying(SUCCESS_CRITERIA_MET, "True", "CompletionsReached", "Reached expected number of succeeded pods")


def ending(tally: Tally, started: datetime | None, now: datetime) -> Saying | None:
    """What the Job comes to, if that is decided; what was decided before stays, and the first reason found counts."""
    spec = tally.spec
    if type_ := target(tally.status):
        said = condition(tally.status, type_) or {}
        return Saying(type_, "True", str(said.get("reason", "")), str(said.get("message", "")))
    if message := _fatal(tally):
        return Saying(FAILURE_TARGET, "True", "PodFailurePolicy", message)
    if tally.failed > spec["backoffLimit"] or _restarted_too_often(tally):
        return TOO_MANY_FAILURES
    if (left := deadline(spec, started, now)) is not None and left <= timedelta(0):
        return TOO_LONG
    if tally.per_index and tally.failed_indexes:
        most = spec.get("maxFailedIndexes")
        if most is not None and len(tally.failed_indexes) > most:
            return TOO_MANY_INDEXES
        if len(tally.failed_indexes) + tally.succeeded >= spec["completions"]:
            return SOME_INDEXES
    if why := enough(spec.get("successPolicy"), tally.completed):
        return Saying(SUCCESS_CRITERIA_MET, "True", "SuccessPolicy", why)
    return None


def waits(end: Saying | None, status: Mapping[str, Any], now: datetime) -> timedelta | None:
    """How long the pods of a Job that has failed may still end by themselves; None where they go at once.

    Pods that work together fail together. Deleted in that moment, the others would take with them how they ended.
    """
    if end is None or end.reason not in BY_PODS:
        return None
    since = (condition(status, end.type) or {}).get("lastTransitionTime")
    left = (moment(since) if since else now) + TOGETHER - now
    return left if left > timedelta(0) else None


def _fatal(tally: Tally) -> str:
    """What a failed pod did that ends the Job by rule."""
    if not tally.spec.get("podFailurePolicy"):
        return ""
    found = (tally.judged(pod) for pod in tally.pods if tally.is_failed(pod))
    return next((match.message for match in found if match.action == FAIL_JOB), "")


def _restarted_too_often(tally: Tally) -> bool:
    """Whether containers that restart in place have used up the limit."""
    pod: dict[str, Any] = tally.spec["template"].get("spec") or {}
    if pod.get("restartPolicy") != "OnFailure":
        return False
    restarts = sum(
        int(container.get("restartCount") or 0)
        for one in tally.pods
        if phase(one) in ("Running", "Pending")
        for key in ("initContainerStatuses", "containerStatuses")
        for container in (one.get("status") or {}).get(key) or ()
    )
    return restarts >= max(1, int(tally.spec["backoffLimit"]))


def is_complete(tally: Tally, active: int) -> bool:
    """Whether everything that was asked for has succeeded, and nothing runs any more."""
    wanted = tally.spec.get("completions")
    return active == 0 and (tally.succeeded > 0 if wanted is None else tally.succeeded >= wanted)


def deadline(spec: Any, started: datetime | None, now: datetime) -> timedelta | None:
    """How long the Job may still be active; None where nothing limits it. Suspended Jobs are off the clock."""
    limit = spec.get("activeDeadlineSeconds")
    if limit is None or started is None or spec.get("suspend"):
        return None
    return started + timedelta(seconds=limit) - now


def expiry(job: Raw, now: datetime) -> timedelta | None:
    """How long a finished Job is still kept; None where it is not finished, or is kept for ever."""
    status, ttl = job.get("status") or {}, job["spec"].get("ttlSecondsAfterFinished")
    end = condition(status, finished(status))
    if ttl is None or end is None:
        return None
    return moment(end["lastTransitionTime"]) + timedelta(seconds=ttl) - now
