"""status.summary: where a TrainJob stands, since when, and why, in sentences that a person understands."""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import NamedTuple, TypeAlias

from trainplane.api.conditions import condition, is_true
from trainplane.api.meta import Raw
from trainplane.api.raw import uid_of
from trainplane.api.sentences import counted
from trainplane.api.times import moment, stamp
from trainplane.reconcile.view import View
from trainplane.trainjob.children import child_job
from trainplane.trainjob.lifetime import is_past_deadline
from trainplane.trainjob.status import finished
from trainplane.trainjob.tree import at
from trainplane.trainjob.trouble import Trouble, first_failure

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"

ASKED = ("Pending", "Starting", "Suspended", "Failed")
"""The states in which somebody wants to know why."""
SUSPENDING = "Suspending"

Why: TypeAlias = Callable[[Raw, View, datetime], str]
"""What a TrainJob waits for, in a sentence with a way out; "" where it cannot tell more."""


class State(NamedTuple):
    """Where a job stands: one of the states, the reason in a word, and a sentence."""

    state: str
    reason: str
    message: str


class Scene(NamedTuple):
    """What a summary is made from."""

    job: Raw
    jobset: Raw | None
    view: View
    now: datetime
    entry: str = ""
    """The replicated job that runs the TrainJob's command: the trainer, or the launcher."""
    nodes: int | None = None
    """How many nodes it trains on; None where nobody can tell now."""
    enough: int | None = None
    """How many ready pods make an elastic job run; None where all must be ready."""
    trouble: Trouble | None = None
    remark: str = ""


def summarize(status: Raw, scene: Scene, *, why: Why | None = None) -> Raw:
    """The status with its summary; `why` is asked while the job waits for something, and when it has failed."""
    old: Raw = status.get("summary") or {}
    end = finished(status)
    if end and old.get("state") == end:
        # What is known of an end is known best at the end: pods and JobSet may be gone by now.
        return status
    state = state_of(status, scene)
    told = why({**scene.job, "status": status}, scene.view, scene.now) if why and is_asked(state, scene) else ""
    if told and state.reason != SUSPENDING:
        state = state._replace(message=told)
    summary: Raw = {
        **state._asdict(),
        "since": old["since"] if old.get("state") == state.state and "since" in old else stamp(scene.now),
    }
    started = old.get("startTime") or (summary["since"] if state.state == "Running" else None)
    if started:
        summary["startTime"] = started
    if end:
        summary["completionTime"] = (condition(status, end) or {}).get("lastTransitionTime", stamp(scene.now))
        # What failed a job is told with its time and the way out, and nothing comes after that.
        summary["message"] += "" if told else lasted(started, summary["completionTime"])
    nodes = old.get("nodes") if scene.nodes is None else scene.nodes
    if nodes is not None:
        summary["nodes"] = nodes
    restarts = at(scene.jobset, ("status", "restarts")) if scene.jobset else old.get("restarts")
    if restarts:
        summary["restarts"] = restarts
    return {**status, "summary": summary}


def is_asked(state: State, scene: Scene) -> bool:
    """Whether somebody wants to know why; of a job that was just made only where something was refused."""
    if state.state == "Created":
        return scene.trouble is not None or any(True for _ in scene.view.events_about(uid_of(scene.job)))
    return state.state in ASKED


def state_of(status: Raw, scene: Scene) -> State:
    """Where the job stands."""
    match finished(status):
        case "Complete":
            return State("Complete", (condition(status, "Complete") or {}).get("reason", ""), "the job has completed")
        case "Failed":
            return failed(status, scene)
    state = unfinished(status, scene)
    # What is in the way takes the place of the sentence, not of the truth: pods may run all the same.
    return State(state.state, *scene.trouble) if scene.trouble else state


def unfinished(status: Raw, scene: Scene) -> State:
    """Where a job stands that has not ended."""
    if at(scene.job, ("spec", "suspend")):
        return suspended(status, scene.job)
    if scene.jobset is None:
        return State("Created", "Accepted", "the job was accepted; its JobSet is about to be made")
    state = running(status, scene, scene.jobset)
    return state._replace(message=state.message + restarted(scene.jobset) + scene.remark)


def failed(status: Raw, scene: Scene) -> State:
    """How the job failed: by its deadline, or by which of its pods."""
    found = condition(status, "Failed") or {}
    reason = str(found.get("reason", ""))
    if is_past_deadline(status):
        limit = scene.job["spec"].get("activeDeadlineSeconds")
        what = f"it was active for more than {limit} s, which is its spec.activeDeadlineSeconds"
        return State("Failed", reason, f"the job failed: {what}")
    what = first_failure(scene.jobset, scene.view) or str(found.get("message", ""))
    if reason == "ReachedMaxRestarts":
        times = at(scene.jobset, ("spec", "failurePolicy", "maxRestarts"))
        what += f"; it had been started again {counted(times, 'time')}, which is all that is allowed" if times else ""
    return State("Failed", reason, f"the job failed: {what}")


def suspended(status: Raw, job: Raw) -> State:
    """Suspended: by whom, and whether its pods are gone."""
    still = [one["name"] for one in status.get("jobsStatus") or () if one.get("active")]
    if still:
        return State("Suspended", SUSPENDING, f"the job is being suspended; pods of {listed(still)} are still there")
    queue = at(job, ("metadata", "labels", QUEUE_LABEL))
    if queue:
        return State("Suspended", "Queued", f"the job is suspended until the queue {queue} admits it")
    return State("Suspended", "Suspended", "the job is suspended; set spec.suspend to false to let it run")


def running(status: Raw, scene: Scene, jobset: Raw) -> State:
    """Where an unfinished job stands, from the counts of its replicated jobs and the pods of the one that trains."""
    entry = scene.entry
    counts = {job["name"]: job for job in status.get("jobsStatus") or ()}
    mine = counts.get(entry, {})
    child = child_job(jobset, entry, scene.view)
    size = at(child, ("spec", "parallelism"))
    ready = int(at(child, ("status", "ready")) or 0) + int(at(child, ("status", "succeeded")) or 0)
    if mine.get("ready") or mine.get("succeeded"):
        return State("Running", "AllReady", pods_ready(entry, size, size))
    if size and scene.enough is not None and ready >= scene.enough:
        return State("Running", "EnoughReady", pods_ready(entry, ready, size))
    if is_true(jobset.get("status") or {}, "RestartingJobSet"):
        return State("Starting", "Restarting", "a pod failed, and the job is being started again from the beginning")
    pods = scene.view.controlled_by(uid_of(child), "Pod") if child else []
    homeless = [pod for pod in pods if not at(pod, ("spec", "nodeName")) and at(pod, ("status", "phase")) == "Pending"]
    if homeless:
        verb = "waits" if len(homeless) == 1 else "wait"
        what = f"{len(homeless)} of {counted(size or len(pods), 'pod')} of {entry} {verb} for a node"
        return State("Pending", "WaitingForNodes", what)
    if mine.get("active"):
        return State("Starting", "PodsStarting", pods_ready(entry, ready, size))
    return before(jobset, counts, entry)


def pods_ready(entry: str, ready: int | None, size: int | None) -> str:
    """How many pods of how many are ready, as far as the Job can be seen."""
    if size is None or ready is None:
        return f"{entry} is ready" if ready == size else f"{entry} has pods that are not all ready"
    if size == 1:
        return f"the pod of {entry} is {'ready' if ready else 'not ready yet'}"
    if ready == size:
        return f"all {size} pods of {entry} are ready"
    return f"{ready} of {size} pods of {entry} {'is' if ready == 1 else 'are'} ready"


def before(jobset: Raw, counts: dict[str, Raw], entry: str) -> State:
    """A job that does not train yet: the stages before, or the Jobs that are still to be made."""
    first = [
        name
        for job in at(jobset, ("spec", "replicatedJobs")) or ()
        if (name := job["name"]) != entry and counts.get(name, {}).get("active")
    ]
    if first:
        jobs = [
            f"{name} ({counts[name].get('ready', 0)} of {counted(replicas(jobset, name), 'Job')} ready)"
            for name in first
        ]
        return State("Starting", "EarlierStage", f"{listed(jobs)} must come first; {entry or 'the trainer'} follows")
    return State("Pending", "NoPodsYet", f"the JobSet is there; the pods of {entry or 'the trainer'} are not")


def replicas(jobset: Raw, name: str) -> int:
    """How many Jobs a replicated job has."""
    jobs = at(jobset, ("spec", "replicatedJobs")) or ()
    return next((int(job.get("replicas", 1)) for job in jobs if job["name"] == name), 1)


def restarted(jobset: Raw) -> str:
    """How often the job was started again, of how often it may be."""
    times, most = at(jobset, ("status", "restarts")), at(jobset, ("spec", "failurePolicy", "maxRestarts"))
    return f" (restart {times}{f' of {most}' if most else ''})" if times else ""


def lasted(started: str | None, ended: str) -> str:
    """How long the training took, as a part of a sentence."""
    if not started or moment(ended) <= moment(started):
        return ""
    seconds = int((moment(ended) - moment(started)) / timedelta(seconds=1))
    hours, minutes = seconds // 3600, seconds % 3600 // 60
    parts = ((hours, "h"), (minutes, "min"), (0 if hours else seconds % 60, "s"))
    return f", after {' '.join(f'{count} {unit}' for count, unit in parts if count)} of training"


def listed(words: Iterable[str]) -> str:
    """Words as a sentence lists them."""
    *head, last = words
    return f"{', '.join(head)} and {last}" if head else last
