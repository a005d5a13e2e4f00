"""History: a record of every TrainJob that ends, which stays when the TrainJob goes; the oldest make room."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import partial

from trainplane.api.conditions import condition
from trainplane.api.history import API_VERSION, DELETED, GROUP, KIND
from trainplane.api.jobset import RESTART_ATTEMPT
from trainplane.api.meta import Raw
from trainplane.api.quantity import Amount, QuantityError
from trainplane.api.raw import look, uid_of
from trainplane.api.requests import pod_requests
from trainplane.api.times import moment, stamp
from trainplane.api.trainer import SUBMITTER
from trainplane.reconcile.controller import Controller
from trainplane.reconcile.decision import NOTHING, Action, Create, Decision, Delete
from trainplane.reconcile.view import Ref, View

KEPT = 1000
"""How many records are kept in a cluster: about a megabyte."""
TRAINER = "trainer.kubeflow.org"
Seconds = dict[str, int]
"""Billionths of a resource, times seconds."""
Stage = tuple[Raw, list[Raw]]
"""A Job and its pods."""


def remember(job: Raw, view: View, now: datetime, *, keep: int = KEPT) -> Decision:
    """The record of a TrainJob that has ended, made once; where there are too many the oldest go.

    A job that ended before all that are kept gets no record, or it would be made and dropped for ever. One that is gone
    before it has ended was deleted, and that is how it ended.
    """
    end = ending(job)
    if is_gone(job, view):
        end = end or deletion(job, now)
    elif job["metadata"].get("deletionTimestamp"):
        return NOTHING
    if end is None or keep < 1:
        return NOTHING
    ref = Ref(GROUP, KIND, job["metadata"].get("namespace", ""), name_of(job))
    if view.get(ref) is not None:
        return NOTHING
    kept = list(view.all(GROUP, KIND))
    actions: list[Action] = []
    if len(kept) >= keep:
        kept.sort(key=lambda raw: (ended_at(raw), raw["metadata"]["name"]))
        if end["lastTransitionTime"] < ended_at(kept[0]):
            return NOTHING
        oldest = kept[: len(kept) - keep + 1]
        actions += [Delete(Ref.of(raw), raw["metadata"].get("uid", "")) for raw in oldest]
    return Decision.of([Create(record(job, end, view)), *actions])


def ending(job: Raw) -> Raw | None:
    """The condition by which a TrainJob has ended; None while it has not."""
    for type_ in ("Complete", "Failed"):
        found = condition(job.get("status") or {}, type_)
        if found and found.get("status") == "True" and found.get("lastTransitionTime"):
            return found
    return None


def is_gone(job: Raw, view: View) -> bool:
    """Whether a job is no longer there, or another has its name."""
    there = view.get(Ref.of(job))
    return there is None or uid_of(there) != uid_of(job)


def deletion(job: Raw, now: datetime) -> Raw:
    """The end of a job that was deleted, in the form of a condition."""
    state = look(job, "status", "summary", "state") or "Pending"
    return {
        "type": DELETED,
        "reason": DELETED,
        "message": f"the job was deleted while it was {state}",
        "lastTransitionTime": job["metadata"].get("deletionTimestamp") or stamp(now),
    }


def name_of(job: Raw) -> str:
    """The name of a TrainJob's record: another job of the same name has another."""
    metadata = job["metadata"]
    return f"{metadata['name']}-{str(metadata.get('uid', '')).rpartition('-')[2] or 'record'}"


def ended_at(record: Raw) -> str:
    """When the job of a record ended; times of the API sort as text."""
    return str(look(record, "spec", "completionTime") or "")


def record(job: Raw, end: Raw, view: View) -> Raw:
    """What is kept of a TrainJob."""
    metadata, summary = job["metadata"], look(job, "status", "summary") or {}
    children = stages(job, view)
    # A job that was over before anyone saw it run is known by its pods alone.
    started = summary.get("startTime") or first_start(pod for _, pods in children for pod in pods)
    ended = end["lastTransitionTime"]
    runtime = look(job, "spec", "runtimeRef") or {}
    spec = {
        "trainJob": {"name": metadata["name"], "uid": metadata.get("uid", "")},
        "outcome": end["type"],
        "reason": end.get("reason"),
        "message": (end["type"] != DELETED and summary.get("message")) or end.get("message"),
        "submitter": (metadata.get("annotations") or {}).get(SUBMITTER),
        "runtime": {"name": runtime.get("name", ""), "kind": runtime.get("kind") or "ClusterTrainingRuntime"},
        "nodes": look(job, "spec", "trainer", "numNodes") or look(job, "status", "nodes") or summary.get("nodes"),
        "restarts": summary.get("restarts"),
        "creationTime": metadata.get("creationTimestamp"),
        "startTime": started,
        "completionTime": ended,
        "waitSeconds": seconds(waited_from(job), started) if started else None,
        "runSeconds": seconds(started, ended) if started else None,
        "resourceSeconds": spelt(used(job, children, started=started, ended=ended)) or None,
    }
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": name_of(job), "namespace": metadata.get("namespace", "")},
        "spec": {key: value for key, value in spec.items() if value is not None},
    }


def waited_from(job: Raw) -> str | None:
    """Since when a job was to run: its creation, or the last time it was resumed."""
    resumed = condition(job.get("status") or {}, "Suspended")
    said = resumed.get("lastTransitionTime") if resumed and resumed.get("status") == "False" else None
    found = said or job["metadata"].get("creationTimestamp")
    return str(found) if found else None


def seconds(start: str | None, end: str | None) -> int:
    """The whole seconds from one time to another; never less than none."""
    return max(0, int((moment(end) - moment(start)) / timedelta(seconds=1))) if start and end else 0


def stages(job: Raw, view: View) -> list[Stage]:
    """The Jobs of a TrainJob that are still there, each with its pods."""
    metadata = job["metadata"]
    jobset = view.get(Ref("jobset.x-k8s.io", "JobSet", metadata.get("namespace", ""), metadata["name"]))
    children = view.controlled_by(uid_of(jobset), "Job") if jobset else []
    return [(child, view.controlled_by(uid_of(child), "Pod")) for child in children]


def first_start(pods: Iterable[Raw]) -> str | None:
    """When the first of some pods started."""
    return min(filter(None, (look(pod, "status", "startTime") for pod in pods)), default=None)


def used(job: Raw, children: list[Stage], *, started: str | None, ended: str) -> Seconds:
    """What the pods of a job asked for, times how long each held it.

    Pods that are gone by now, as those of earlier attempts and those stopped by a failure are, count from the start of
    the training to its end, as many as their Job had. A job stopped by its deadline has lost all of them, and what it
    asks for a node is all that is known.
    """
    total: Seconds = {}
    for child, pods in children:
        add(total, of_stage(child, pods, started=started, ended=ended))
    if not children and started:
        size = look(job, "spec", "trainer", "numNodes") or 1
        per_node = {"containers": [{"resources": look(job, "spec", "trainer", "resourcesPerNode") or {}}]}
        add(total, [(asked(per_node), size * seconds(started, ended))])
    return total


def of_stage(child: Raw, pods: list[Raw], *, started: str | None, ended: str) -> Iterator[tuple[Seconds, int]]:
    """What each pod of one Job asks for, and for how many seconds."""
    again = look(child, "metadata", "labels", RESTART_ATTEMPT) not in (None, "0")
    end = job_ended(child) or ended
    first = first_start(pods)
    for pod in pods:
        if begin := look(pod, "status", "startTime"):
            since = min(begin, started) if again and started else begin
            yield asked(pod["spec"]), seconds(since, pod_ended(pod) or end)
    gone = (look(child, "spec", "parallelism") or 0) - len(pods)
    if gone > 0 and (first or started):
        template = look(child, "spec", "template", "spec") or {}
        yield asked(template), gone * seconds(first or started, end)


def job_ended(child: Raw) -> str | None:
    """When a Job completed or failed."""
    for type_ in ("Complete", "Failed"):
        found = condition(child.get("status") or {}, type_)
        if found and found.get("status") == "True":
            return found.get("lastTransitionTime")
    return None


def pod_ended(pod: Raw) -> str | None:
    """When the last container of a pod ended; None where one has not."""
    states = [look(one, "state", "terminated", "finishedAt") for one in look(pod, "status", "containerStatuses") or ()]
    return max(states) if states and all(states) else None


def asked(spec: Mapping[str, object]) -> Seconds:
    """What a pod asks for; nothing where that cannot be read."""
    try:
        return {name: amount.nano for name, amount in pod_requests(spec).items() if amount.nano > 0}
    except QuantityError:
        return {}


def add(total: Seconds, parts: Iterable[tuple[Seconds, int]]) -> None:
    """Count resources held for so many seconds."""
    for amounts, times in parts:
        for name, amount in amounts.items():
            total[name] = total.get(name, 0) + amount * times


def spelt(total: Seconds) -> dict[str, str]:
    """Amounts for the wire."""
    return {name: str(Amount(amount)) for name, amount in sorted(total.items()) if amount}


def history(*, keep: int = KEPT) -> Controller:
    """The controller that keeps records, and how many of them; 0 keeps none."""
    return Controller(
        name="history",
        group=TRAINER,
        kind="TrainJob",
        reconcile=partial(remember, keep=keep),
        cares=lambda job, _view: keep > 0 and ending(job) is not None,
        outlives=True,
        reads=((GROUP, KIND), ("jobset.x-k8s.io", "JobSet"), ("batch", "Job"), ("", "Pod")),
    )


HISTORY = history()
"""The controller that keeps as many records as is usual."""
