"""The TrainJob controller: what exists beside a TrainJob, what should, and what it says of itself."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple

from trainplane.api.failure import ADVICE, CONDITION, first_failure
from trainplane.api.kinds import CRD_KINDS
from trainplane.api.meta import Raw
from trainplane.api.roles import find_roles
from trainplane.api.trainer import API_VERSION, CONTROLLER
from trainplane.reconcile.controller import Controller, is_bookkeeping
from trainplane.reconcile.decision import NOTHING, Action, Create, Decision, Delete, Record, SetStatus
from trainplane.reconcile.view import Ref, View, group_of
from trainplane.trainjob.children import CREATION_FAILED, REPLICATED, SUSPEND, kept, resized, sized
from trainplane.trainjob.default import ELASTIC
from trainplane.trainjob.lifetime import deadline, expiry, is_past_deadline, soonest
from trainplane.trainjob.nodes import JOB_NODES
from trainplane.trainjob.pipeline import Refused, Surroundings
from trainplane.trainjob.plan import Plan
from trainplane.trainjob.plans import Outline, Plans
from trainplane.trainjob.snapshot import (
    Unusable,
    find_runtime,
    is_controlled_by,
    not_found,
    recall,
    take,
    unstamped,
)
from trainplane.trainjob.status import finished, from_jobset, suspension
from trainplane.trainjob.summary import Scene, Why, listed, summarize
from trainplane.trainjob.tree import at, put
from trainplane.trainjob.trouble import Trouble, below

JOBSET_GROUP = "jobset.x-k8s.io"
JOBSET_NAME = "jobset.sigs.k8s.io/jobset-name"
FAILED = "TrainJobFailed"
LONGEST_NOTE = 1024
"""As much text as an Event takes."""
PAUSE = 0.1
"""Seconds between two looks at a job: its pods change together."""
SETTLE = 0.05
"""Seconds that the change of a child waits for those of the others: half of what happens at once is no news."""
SILENCE = timedelta(seconds=31)
"""How long a job waits without a reason before it is asked again; who is silent for half a minute is told of."""
PATIENCE = timedelta(seconds=15)
"""How soon to look again for what no watch of ours reports: a runtime that is created, a stranger that goes away."""


class Asked:
    """Why a job waits, and when to ask again where nobody knows yet: somebody's silence tells more the longer it is."""

    def __init__(self, why: Why | None) -> None:
        self.again: timedelta | None = None
        self._why = why

    def __call__(self, job: Raw, view: View, now: datetime) -> str:
        told = self._why(job, view, now) if self._why else ""
        self.again = None if told or finished(job.get("status") or {}) else SILENCE
        return told


class Blocked(Exception):
    """The TrainJob cannot get what it needs, and why."""

    def __init__(self, reason: str, message: str) -> None:
        self.trouble = Trouble(reason, message)
        super().__init__(message)


class Wanted(NamedTuple):
    """What an unfinished TrainJob needs done, with its Plan; or what is in the way, and when to look again."""

    actions: list[Action]
    plan: Plan | None = None
    entry: str = ""
    """The replicated job that runs the TrainJob's command, where that is known without a Plan."""
    nodes: int | None = None
    """How many nodes it trains on, where a Plan or its outline says so."""
    trouble: Trouble | None = None
    again: timedelta | None = None
    remark: str = ""


def reconcile(
    job: Raw,
    view: View,
    now: datetime,
    *,
    elastic_jobset: bool = False,
    why: Why | None = None,
    plans: Plans | None = None,
) -> Decision:
    """What should be done about one TrainJob now; `controller` explains the options."""
    if job["spec"].get("managedBy", CONTROLLER) != CONTROLLER or job["metadata"].get("deletionTimestamp"):
        return NOTHING
    old: Raw = job.get("status") or {}
    jobset = own_jobset(job, view)
    suspended = suspension(dict(old), suspend=bool(job["spec"].get("suspend")), now=now)
    status, left = deadline(job, from_jobset(suspended, jobset, now), now)
    over = finished(status)
    if over and plans:
        plans.forget(job)
    wanted = Wanted([]) if over else want(job, view, jobset, elastic_jobset=elastic_jobset, plans=plans or Plans())
    actions = [*wanted.actions, *ended_by_deadline(status, jobset)]
    trouble = None if finished(status) else wanted.trouble or below(jobset, view)
    if trouble and not is_told(trouble, job, view):
        actions.append(Record(Ref.of(job), "Warning", CREATION_FAILED, cut(trouble.message)))
    scene = Scene(
        job=job,
        jobset=jobset,
        view=view,
        now=now,
        entry=wanted.entry or entry_of(wanted.plan, jobset),
        nodes=wanted.nodes,
        enough=wanted.plan.size.min_nodes if wanted.plan else None,
        trouble=trouble,
        remark=wanted.remark,
    )
    asked = Asked(why)
    status = sized(summarize(status, scene, why=asked if why else None), wanted.plan, jobset, view)
    if status != old:
        actions.append(SetStatus(Ref.of(job), status, job["metadata"].get("uid", ""), can_wait=trouble is None))
    if has_failed(status) and not has_failed(old):
        pods = [pod for pod in pods_of(jobset, view) if at(pod, ("spec", "nodeName"))]
        first = first_failure(pod for pod in pods if is_judged(pod))
        note = f"{first.told()}; {ADVICE[first.kind]}" if first else at(status, ("summary", "message"))
        # Upstream says nothing of this kind; where no pod has come to a node, there is no more to say than it does.
        actions += [Record(Ref.of(job), "Warning", FAILED, cut(note))] if note and pods else []
    kept_for = expiry(job, status, now)
    if kept_for is not None and kept_for <= timedelta(0):
        actions.append(Delete(Ref.of(job), job["metadata"].get("uid", "")))
    # Its own status is made from everything but itself.
    final = not wanted.actions and trouble is None and all(isinstance(one, SetStatus) for one in actions)
    return Decision.of(actions, again=soonest(left, kept_for, wanted.again, asked.again), final=final)


def is_told(trouble: Trouble, job: Raw, view: View) -> bool:
    """Whether the TrainJob has told of this trouble: in its summary, or in an event where that has better words."""
    if trouble.message == at(job, ("status", "summary", "message")):
        return True
    told = view.events_about(job["metadata"].get("uid", ""))
    return any(event.get("reason") == CREATION_FAILED and event.get("note") == cut(trouble.message) for event in told)


def want(job: Raw, view: View, jobset: Raw | None, *, elastic_jobset: bool, plans: Plans) -> Wanted:
    """What it takes to make the world agree with an unfinished TrainJob, or what is in the way."""
    try:
        runtime, actions = runtime_for(job, view)
        within, remark = bounded(job, runtime)
        around = surroundings(view)
        known = None if actions else plans.outline(within, runtime, around)
        if known and known.ancestor and is_undisturbed(job, known, view):
            return Wanted([], entry=known.ancestor, nodes=known.nodes, remark=remark)
        plan = plans.build(within, runtime, around)
        strangers(job, plan, view)
    except Refused as refused:
        return Wanted([], trouble=Trouble("Refused", str(refused)), again=PATIENCE)
    except Unusable as unusable:
        return Wanted([], trouble=Trouble("SnapshotUnusable", str(unusable)), again=PATIENCE)
    except Blocked as blocked:
        return Wanted([], trouble=blocked.trouble, again=PATIENCE)
    trainer = plan.roles.trainer
    elastic = trainer.name if trainer and elastic_jobset and plan.size.min_nodes is not None else ""
    # The JobSet comes last: its pods look for their gang, their keys and their hosts as soon as they are there.
    for raw in (*plan.companions, plan.jobset):
        actions += kept(job, raw, view.get(Ref.of(raw)), elastic=elastic)
    actions += resized(plan, jobset, view, in_template=elastic_jobset)
    return Wanted(actions, plan, nodes=plan.size.nodes, remark=remark)


def is_undisturbed(job: Raw, outline: Outline, view: View) -> bool:
    """Whether a job that is to run has all of its objects, so that nothing is to be done about them."""
    found = [view.get(ref) for ref in outline.refs]
    return not at(job, SUSPEND) and all(
        raw is not None and is_controlled_by(raw, job) and not at(raw, SUSPEND) for raw in found
    )


def runtime_for(job: Raw, view: View) -> tuple[Raw, list[Action]]:
    """The runtime the job keeps; where it keeps none yet the live one, and the snapshot to be taken of it."""
    kept_runtime = recall(job, view)
    if kept_runtime is not None:
        return kept_runtime, []
    live = find_runtime(job, view.get)
    if live is None:
        problem = not_found(job, view.get)
        raise Blocked("RuntimeNotFound", f"{problem.what}; {problem.todo}")
    # What is planned now is what will be planned from the snapshot.
    return unstamped(live), [Create(take(job, live), complaint=CREATION_FAILED)]


def bounded(job: Raw, runtime: Raw) -> tuple[Raw, str]:
    """The job with a size within the runtime's bounds, and a remark where it asked for another.

    The scale subresource changes the size past admission, so this is the last place that can hold the bounds.
    """
    low, high, asked = at(runtime, (*ELASTIC, "minNodes")), at(runtime, (*ELASTIC, "maxNodes")), at(job, JOB_NODES)
    if low is None or high is None or asked is None or low <= asked <= high:
        return job, ""
    size = max(low, min(asked, high))
    remark = f"; {asked} nodes are asked for, and the runtime allows {low} to {high}"
    return put(job, JOB_NODES, size), remark


def strangers(job: Raw, plan: Plan, view: View) -> None:
    """Raise Blocked where an object of a name that the job needs is not the job's; it is never touched."""
    found = {Ref.of(raw): view.get(Ref.of(raw)) for raw in plan.objects}
    foreign = [raw for raw in found.values() if raw is not None and not is_controlled_by(raw, job)]
    if not foreign:
        return
    names = listed(f"the {raw['kind']} {raw['metadata']['name']}" for raw in foreign)
    if all(raw["metadata"].get("deletionTimestamp") for raw in foreign):
        raise Blocked("NameTaken", f"{names} of somebody else is being deleted; the job goes on when that is done")
    many = len(foreign) > 1
    what = f"{names} {'exist and are' if many else 'exists and is'} not this TrainJob's"
    raise Blocked("NameTaken", f"{what}; delete {'them' if many else 'it'}, or give the TrainJob another name")


def own_jobset(job: Raw, view: View) -> Raw | None:
    """The TrainJob's JobSet; a stranger's of the same name is none of its business."""
    metadata = job["metadata"]
    found = view.get(Ref(JOBSET_GROUP, "JobSet", metadata.get("namespace", ""), metadata["name"]))
    return found if found and is_controlled_by(found, job) else None


def pods_of(jobset: Raw | None, view: View) -> list[Raw]:
    """The pods of a job that are still there."""
    jobs = view.controlled_by(jobset["metadata"].get("uid", ""), "Job") if jobset else []
    return [pod for job in jobs for pod in view.controlled_by(job["metadata"].get("uid", ""), "Pod")]


def is_judged(pod: Raw) -> bool:
    """Whether a pod's node says how it failed; those of other clusters say no such thing."""
    return any(each.get("type") == CONDITION for each in at(pod, ("status", "conditions")) or ())


def has_failed(status: Raw) -> bool:
    """Whether a TrainJob's status says that it has failed."""
    conditions = status.get("conditions") or ()
    return any(each["type"] == "Failed" and each["status"] == "True" for each in conditions)


def ended_by_deadline(status: Raw, jobset: Raw | None) -> Iterator[Action]:
    """The JobSet deleted whose TrainJob has passed its deadline, however often that must be tried."""
    if jobset and is_past_deadline(status) and not jobset["metadata"].get("deletionTimestamp"):
        yield Delete(Ref.of(jobset), jobset["metadata"].get("uid", ""))


def surroundings(view: View) -> Surroundings:
    """What a render needs to know of this cluster."""
    classes = view.all("node.k8s.io", "RuntimeClass")
    overheads = {raw["metadata"]["name"]: at(raw, ("overhead", "podFixed")) or {} for raw in classes}
    crds = view.all("apiextensions.k8s.io", "CustomResourceDefinition")
    return Surroundings(
        overheads=overheads,
        kinds=frozenset(f"{at(raw, ('spec', 'names', 'kind'))}.{at(raw, ('spec', 'group'))}" for raw in crds),
    )


def entry_of(plan: Plan | None, jobset: Raw | None) -> str:
    """The replicated job that runs the TrainJob's command; without a Plan, as the JobSet's labels and names tell."""
    jobs = at(jobset, REPLICATED) or []
    roles = plan.roles if plan else find_roles(jobs, {})
    return roles.ancestor.name if roles.ancestor else str(jobs[-1]["name"]) if jobs else ""


def cut(text: str) -> str:
    """A text that fits into an Event."""
    return text if len(text) <= LONGEST_NOTE else text[: LONGEST_NOTE - 1] + "…"


def of_jobset(raw: Raw, view: View) -> Iterator[Ref]:
    """Whose pod or Job this is: pods and Jobs carry their JobSet's name, which is the TrainJob's."""
    name = at(raw, ("metadata", "labels", JOBSET_NAME))
    if name:
        yield from named(str(raw["metadata"].get("namespace", "")), str(name), view)


def of_event(raw: Raw, view: View) -> Iterator[Ref]:
    """Whose JobSet or Job an event is about."""
    about = raw.get("regarding") or {}
    namespace, name = str(about.get("namespace", "")), str(about.get("name", ""))
    if raw.get("type") == "Warning" and about.get("kind") == "JobSet":
        yield from named(namespace, name, view)
    elif raw.get("type") == "Warning" and about.get("kind") == "Job":
        child = view.get(Ref("batch", "Job", namespace, name))
        yield from of_jobset(child, view) if child else ()


def is_no_news(before: Raw, after: Raw) -> bool:
    """Whether a change of an object of a job tells nothing of the job: what a PodGroup counts, its pods have told."""
    if after["kind"] != "PodGroup":
        return is_bookkeeping(before, after)
    old, new = before["metadata"], after["metadata"]
    kept = all(old.get(field) == new.get(field) for field in ("annotations", "labels", "ownerReferences"))
    return kept and not new.get("deletionTimestamp") and bool(before.get("spec") == after.get("spec"))


def named(namespace: str, name: str, view: View) -> Iterator[Ref]:
    """The TrainJob of this name, if there is one."""
    ref = Ref(group_of(API_VERSION), "TrainJob", namespace, name)
    if view.has(ref):
        yield ref


def controller(*, elastic_jobset: bool = False, why: Why | None = None, plans: Plans | None = None) -> Controller:
    """The TrainJob controller.

    `elastic_jobset` says that JobSet runs with its ElasticJobSet gate, so that templates are resized instead of Jobs;
    `why` tells in `status.summary` what a job waits for; `plans` are those of admission, where that is near.
    """
    return Controller(
        name="trainjob",
        group=group_of(API_VERSION),
        kind="TrainJob",
        reconcile=partial(reconcile, elastic_jobset=elastic_jobset, why=why, plans=plans or Plans()),
        owns=(
            (JOBSET_GROUP, "JobSet"),
            ("", "ConfigMap"),
            ("", "Secret"),
            ("scheduling.x-k8s.io", "PodGroup"),
            ("scheduling.volcano.sh", "PodGroup"),
            ("autoscaling", "HorizontalPodAutoscaler"),
        ),
        overlooks=is_no_news,
        watches=(
            (("batch", "Job"), of_jobset),
            (("", "Pod"), of_jobset),
            (("events.k8s.io", "Event"), of_event),
        ),
        reads=(
            *((row.group, row.kind) for row in CRD_KINDS if row.kind.endswith("TrainingRuntime")),
            ("node.k8s.io", "RuntimeClass"),
        ),
        pause=PAUSE,
        settle=SETTLE,
        reports_as="trainer-trainjob-controller",
    )


TRAINJOB = controller()
"""The controller as it runs beside a JobSet whose gates are as they come."""
