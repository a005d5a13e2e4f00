"""The JobSet controller: which Jobs, Service and claims there should be, and what the JobSet says of itself."""

from datetime import datetime, timedelta
from functools import partial

from trainplane.api.jobset import API_VERSION, CONTROLLER_NAME
from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.jobset.children import Children, Unreadable, deletions, find, tell_apart
from trainplane.jobset.claims import missing_claims
from trainplane.jobset.elastic import resized
from trainplane.jobset.failure import on_failure
from trainplane.jobset.fields import finished, is_in_order, is_suspended, replicated_jobs, total_replicas
from trainplane.jobset.lifetime import expire
from trainplane.jobset.network import missing_service
from trainplane.jobset.order import COMPLETED as STARTED
from trainplane.jobset.order import create_missing, has_started
from trainplane.jobset.status import READY_AGAIN, Outcome, counted, counts_of
from trainplane.jobset.success import complete, is_complete
from trainplane.jobset.suspend import RESUMED, resume, suspend
from trainplane.reconcile.controller import Controller
from trainplane.reconcile.decision import NOTHING, Action, Decision, Record
from trainplane.reconcile.view import Ref, View, group_of

PATIENCE = timedelta(minutes=1)
"""When to look again at what cannot be read; a change of it is looked at sooner."""


def reconcile(
    jobset: Raw, view: View, now: datetime, *, restart_job: bool = False, elastic_jobset: bool = False
) -> Decision:
    """What should be done about one JobSet now; `controller` explains the options.

    Where a Job does not say of which run it is nothing can be decided, and an event says so.
    """
    try:
        return decided(jobset, view, now, restart_job=restart_job, elastic_jobset=elastic_jobset)
    except Unreadable as unreadable:
        return Decision((Record(Ref.of(jobset), "Warning", "JobUnreadable", str(unreadable)),), again=PATIENCE)


def decided(jobset: Raw, view: View, now: datetime, *, restart_job: bool, elastic_jobset: bool) -> Decision:
    """What should be done about a JobSet; Unreadable where that cannot be told."""
    manager = look(jobset, "spec", "managedBy")
    if jobset["metadata"].get("deletionTimestamp") or manager not in (None, CONTROLLER_NAME):
        return NOTHING
    children = tell_apart(find(jobset, view), jobset.get("status") or {}, restart_job=restart_job)
    said = counted(jobset, children)
    if finished(jobset.get("status")):
        expired, again = expire(jobset, now)
        return Decision.of([*deletions(children.active), *said.actions(jobset), *expired], again=again)
    actions: list[Action] = [*deletions(children.previous)]
    if not is_suspended(jobset) and is_all_ready(jobset, said.status):
        said = said.having(READY_AGAIN, now)
    if children.failed:
        said = on_failure(jobset, children.failed, said, now=now, restart_job=restart_job)
    elif is_complete(jobset, children.succeeded):
        said = complete(begun(jobset, said, now), now)
    else:
        made, said = run(jobset, view, children, said, now=now, restart_job=restart_job, elastic_jobset=elastic_jobset)
        actions += made
    # Where only the counts of its Jobs are told, a look at them as they were told finds nothing new.
    final = not actions and (not said.told or is_at_rest(jobset, said.status, children))
    return Decision.of([*actions, *said.actions(jobset)], final=final)


def is_at_rest(jobset: Raw, status: Raw, children: Children) -> bool:
    """Whether a JobSet that has ended has no Job to delete, and is kept for ever."""
    lasts = look(jobset, "spec", "ttlSecondsAfterFinished") is None
    return lasts and not children.active and bool(finished(status))


def begun(jobset: Raw, said: Outcome, now: datetime) -> Outcome:
    """What is said of the start of a JobSet whose last Jobs began and ended between two looks."""
    counts = counts_of(said.status)
    if is_suspended(jobset) or not all(has_started(one, counts) for one in replicated_jobs(jobset)):
        return said
    return (said.having(STARTED, now) if is_in_order(jobset) else said).having(RESUMED, now)


def is_all_ready(jobset: Raw, status: Raw) -> bool:
    """Whether every Job is ready or has succeeded."""
    counts = status.get("replicatedJobsStatus") or ()
    return bool(sum(found["ready"] + found["succeeded"] for found in counts) == total_replicas(jobset))


def run(
    jobset: Raw,
    view: View,
    children: Children,
    said: Outcome,
    *,
    now: datetime,
    restart_job: bool,
    elastic_jobset: bool,
) -> tuple[list[Action], Outcome]:
    """What a JobSet needs that has neither failed nor completed."""
    made, said = create_missing(jobset, children, said, now=now, restart_job=restart_job)
    moved, said = suspend(children, said, now) if is_suspended(jobset) else resume(jobset, children, said, now)
    actions: list[Action] = [
        *missing_service(jobset, view),
        *missing_claims(jobset, view),
        *(resized(jobset, children) if elastic_jobset else ()),
        *made,
        *moved,
    ]
    return actions, said


def controller(*, restart_job: bool = False, elastic_jobset: bool = False) -> Controller:
    """The JobSet controller.

    `restart_job` and `elastic_jobset` open the gates RestartJob and ElasticJobSet of upstream; admission must be told
    the same. There is no in-place restart: a JobSet that asks for it is refused, and one that is there is recreated.
    """
    return Controller(
        name="jobset",
        group=group_of(API_VERSION),
        kind="JobSet",
        reconcile=partial(reconcile, restart_job=restart_job, elastic_jobset=elastic_jobset),
        owns=(("batch", "Job"), ("", "Service"), ("", "PersistentVolumeClaim")),
    )
