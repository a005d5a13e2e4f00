"""The TrainJob controller: what exists beside a TrainJob, what should, and what it says of itself."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from trainplane.api.meta import Raw
from trainplane.api.trainer import API_VERSION, CONTROLLER
from trainplane.reconcile.controller import Controller
from trainplane.reconcile.decision import NOTHING, Action, Apply, Create, Decision, Delete, Patch, Record, SetStatus
from trainplane.reconcile.view import Ref, View, group_of
from trainplane.trainjob import default
from trainplane.trainjob.pipeline import Refused, Surroundings, build
from trainplane.trainjob.plan import Plan
from trainplane.trainjob.snapshot import Unusable, find_runtime, is_controlled_by, recall, take
from trainplane.trainjob.status import (
    DEADLINE,
    condition,
    finished,
    from_jobset,
    is_true,
    stamp,
    summarize,
    suspension,
    with_condition,
)
from trainplane.trainjob.tree import at, put

JOBSET_GROUP = "jobset.x-k8s.io"
CREATION_FAILED = "TrainJobResourcesCreationFailed"
SSH_AUTH = "kubernetes.io/ssh-auth"


def reconcile(job: Raw, view: View, now: datetime) -> Decision:
    """What should be done about one TrainJob now."""
    spec = job["spec"]
    if spec.get("managedBy", CONTROLLER) != CONTROLLER or job["metadata"].get("deletionTimestamp"):
        return NOTHING
    status: Raw = dict(job.get("status") or {})
    jobset, stranger = own_jobset(job, view)
    actions: list[Action] = []
    trouble, plan = "", None
    if not finished(status):
        try:
            plan, actions = wanted(job, view, jobset)
        except (Refused, Unusable, Missing) as error:
            trouble = str(error)
    if stranger:
        trouble = (
            f"a JobSet named {job['metadata']['name']} exists and is not this TrainJob's; "
            "delete it, or give the TrainJob another name"
        )
        actions = [action for action in actions if not is_jobset(action)]
    if trouble:
        actions.append(Record(Ref.of(job), "Warning", CREATION_FAILED, trouble))
    status = from_jobset(suspension(status, suspend=bool(spec.get("suspend")), now=now), jobset, now)
    status, deadline_actions, again = deadline(job, status, jobset, now=now)
    actions += deadline_actions
    trainer = plan.roles.trainer.name if plan and plan.roles.trainer else trainer_name(jobset)
    status = summarize(job, status, jobset, trainer=trainer, now=now, trouble=trouble or child_trouble(jobset, view))
    status = sized(status, plan, jobset)
    actions += ended(job, status, now)
    if status != (job.get("status") or {}):
        actions.append(SetStatus(Ref.of(job), status, job["metadata"].get("uid", "")))
    return Decision.of(actions, again=soonest(again, expiry(job, status, now)))


class Missing(Exception):
    """The runtime that a TrainJob names is not there."""


def own_jobset(job: Raw, view: View) -> tuple[Raw | None, bool]:
    """The TrainJob's JobSet, and whether a stranger's stands in its place."""
    metadata = job["metadata"]
    found = view.get(Ref(JOBSET_GROUP, "JobSet", metadata.get("namespace", ""), metadata["name"]))
    if found is None:
        return None, False
    return (found, False) if is_controlled_by(found, job) else (None, True)


def wanted(job: Raw, view: View, jobset: Raw | None) -> tuple[Plan, list[Action]]:
    """The Plan of a TrainJob, and what it takes to make the world agree with it."""
    actions: list[Action] = []
    runtime = recall(job, view)
    if runtime is None:
        live = find_runtime(job, view)
        if live is None:
            ref = job["spec"]["runtimeRef"]
            raise Missing(f"there is no {ref.get('kind')} named {ref['name']}; create it, or correct spec.runtimeRef")
        runtime = default.runtime(live)
        actions.append(Create(take(job, runtime)))
    plan = build(job, runtime, surroundings(view))
    for raw in plan.objects:
        actions += kept(job, raw, view.get(Ref.of(raw)))
    return plan, [*actions, *resized(plan, job, view, jobset=jobset)]


def surroundings(view: View) -> Surroundings:
    """What a render needs to know of this cluster."""
    classes = view.all("node.k8s.io", "RuntimeClass")
    overheads = {raw["metadata"]["name"]: at(raw, ("overhead", "podFixed")) or {} for raw in classes}
    crds = view.all("apiextensions.k8s.io", "CustomResourceDefinition")
    return Surroundings(
        overheads=overheads,
        kinds=frozenset(f"{at(raw, ('spec', 'names', 'kind'))}.{at(raw, ('spec', 'group'))}" for raw in crds),
    )


def kept(job: Raw, raw: Raw, existing: Raw | None) -> Iterator[Action]:
    """What makes one object be as it should: made once, and kept while the job may still be changed."""
    if existing is None:
        yield Create(raw, generate=("ssh-keys",) if raw.get("type") == SSH_AUTH else ())
    elif not is_controlled_by(existing, job):
        if raw["kind"] != "JobSet":
            what = f"the {raw['kind']} {raw['metadata']['name']} exists and is not this TrainJob's"
            yield Record(Ref.of(job), "Warning", CREATION_FAILED, f"{what}; delete it, or rename the TrainJob")
    elif raw["kind"] == "JobSet":
        if at(job, ("spec", "suspend")) or at(existing, ("spec", "suspend")):
            yield Apply(with_size_of(raw, existing), uid=existing["metadata"].get("uid", ""))
    elif raw["kind"] == "PodGroup":
        if at(job, ("spec", "suspend")):
            yield Apply(raw, uid=existing["metadata"].get("uid", ""))
    elif raw["kind"] != "Secret" and not contains(existing, raw):
        yield Apply(raw, uid=existing["metadata"].get("uid", ""))


def with_size_of(raw: Raw, existing: Raw) -> Raw:
    """The JobSet with the pod counts it already has: JobSet lets nobody change them."""
    counts = {
        job["name"]: at(job, ("template", "spec")) or {} for job in at(existing, ("spec", "replicatedJobs")) or ()
    }
    for i, job in enumerate(at(raw, ("spec", "replicatedJobs")) or ()):
        for field in ("parallelism", "completions"):
            if field in counts.get(job["name"], {}):
                raw = put(raw, ("spec", "replicatedJobs", i, "template", "spec", field), counts[job["name"]][field])
    return raw


def contains(existing: Any, raw: Any) -> bool:
    """Whether everything in `raw` is so in `existing` already."""
    if isinstance(raw, dict):
        return isinstance(existing, Mapping) and all(
            key in existing and contains(existing[key], raw[key]) for key in raw
        )
    if isinstance(raw, list) and isinstance(existing, list):
        return len(raw) == len(existing) and all(contains(a, b) for a, b in zip(existing, raw, strict=True))
    return bool(existing == raw)


def resized(plan: Plan, job: Raw, view: View, *, jobset: Raw | None) -> Iterator[Action]:
    """The trainer's Job brought to the size that an elastic TrainJob asks for.

    JobSet refuses edits of a live template, so the child Job is changed, and again whenever a restart made it anew.
    """
    trainer = plan.roles.trainer
    if jobset is None or trainer is None or plan.size.min_nodes is None or at(job, ("spec", "suspend")):
        return
    child = view.get(Ref("batch", "Job", plan.namespace, f"{plan.name}-{trainer.name}-0"))
    if child is None or not is_controlled_by(child, jobset) or child["metadata"].get("deletionTimestamp"):
        return
    size = plan.size.nodes
    if at(child, ("spec", "parallelism")) != size or at(child, ("spec", "completions")) != size:
        patch = {"spec": {"parallelism": size, "completions": size}}
        yield Patch(Ref.of(child), patch, uid=child["metadata"].get("uid", ""))


def deadline(job: Raw, status: Raw, jobset: Raw | None, *, now: datetime) -> tuple[Raw, list[Action], timedelta | None]:
    """Fail the job once it has been active for spec.activeDeadlineSeconds; a resume starts the clock anew."""
    limit = job["spec"].get("activeDeadlineSeconds")
    if not limit or finished(status) or job["spec"].get("suspend"):
        return status, [], None
    resumed = condition(status, "Suspended")
    started = resumed["lastTransitionTime"] if resumed else job["metadata"].get("creationTimestamp")
    if not started:
        return status, [], None
    left = time_of(started) + timedelta(seconds=limit) - now
    if left > timedelta(0):
        return status, [], left
    failed = with_condition(status, DEADLINE, stamp(now))
    gone: list[Action] = [Delete(Ref.of(jobset), jobset["metadata"].get("uid", ""))] if jobset else []
    return failed, gone, None


def ended(job: Raw, status: Raw, now: datetime) -> Iterator[Action]:
    """The TrainJob deleted once its time after the end is over."""
    left = expiry(job, status, now)
    if left is not None and left <= timedelta(0):
        yield Delete(Ref.of(job), job["metadata"].get("uid", ""))


def expiry(job: Raw, status: Raw, now: datetime) -> timedelta | None:
    """How long the TrainJob is still kept; None where that is not limited."""
    ttl, end = job["spec"].get("ttlSecondsAfterFinished"), finished(status)
    if ttl is None or not end:
        return None
    when = (condition(status, end) or {}).get("lastTransitionTime")
    return time_of(when) + timedelta(seconds=ttl) - now if when else None


def soonest(*waits: timedelta | None) -> timedelta | None:
    """The shortest wait that is still ahead."""
    return min((wait for wait in waits if wait is not None and wait > timedelta(0)), default=None)


def sized(status: Raw, plan: Plan | None, jobset: Raw | None) -> Raw:
    """The status of an elastic job with its size and its pods' labels, which autoscalers read."""
    trainer = plan.roles.trainer if plan else None
    if plan is None or trainer is None or jobset is None or plan.size.min_nodes is None:
        return status
    selector = f"jobset.sigs.k8s.io/jobset-name={plan.name},jobset.sigs.k8s.io/replicatedjob-name={trainer.name}"
    return {**status, "nodes": plan.size.nodes, "selector": selector}


def child_trouble(jobset: Raw | None, view: View) -> str:
    """What keeps the JobSet from making its children, as its own events tell it; it reaches the TrainJob this way."""
    if jobset is None or is_true(jobset.get("status") or {}, "Completed"):
        return ""
    mine = [
        event
        for event in view.all("events.k8s.io", "Event", namespace=jobset["metadata"].get("namespace", ""))
        if at(event, ("regarding", "uid")) == jobset["metadata"].get("uid") and event.get("type") == "Warning"
    ]
    failed = [event for event in mine if str(event.get("reason", "")).endswith("CreationFailed")]
    newest = max(failed, key=lambda event: str(event.get("eventTime") or ""), default=None)
    return f"the JobSet cannot make its children: {newest.get('note', '')}" if newest else ""


def is_jobset(action: Action) -> bool:
    """Whether the action makes or changes a JobSet."""
    return isinstance(action, Create | Apply) and action.object["kind"] == "JobSet"


def trainer_name(jobset: Raw | None) -> str:
    """The job that trains, where only the JobSet can tell: the last to start."""
    jobs = at(jobset, ("spec", "replicatedJobs")) or []
    return str(jobs[-1]["name"]) if jobs else ""


def time_of(text: str) -> datetime:
    """A time of the API as a datetime."""
    return datetime.fromisoformat(text)


TRAINJOB = Controller(
    name="trainjob",
    group=group_of(API_VERSION),
    kind="TrainJob",
    reconcile=reconcile,
    owns=(
        (JOBSET_GROUP, "JobSet"),
        ("", "ConfigMap"),
        ("", "Secret"),
        ("scheduling.x-k8s.io", "PodGroup"),
        ("scheduling.volcano.sh", "PodGroup"),
        ("autoscaling", "HorizontalPodAutoscaler"),
    ),
)
