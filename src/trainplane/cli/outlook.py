"""Outlook: where waiting jobs stand in line, and when they may start, judged by what is known of run times."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from statistics import median
from typing import NamedTuple

from trainplane.api.history import GROUP, KIND
from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.api.ref import Ref
from trainplane.api.scheduling import DEFAULT_QUEUE
from trainplane.cluster.ages import duration, parse_time
from trainplane.gang.forecast import End, Owner, Start, Turn, forecast, line, owner_of
from trainplane.node.script import NODE, Unreadable, script_of
from trainplane.reconcile.view import View

READS: tuple[tuple[str, str], ...] = (
    ("", "Node"),
    ("", "PersistentVolumeClaim"),
    ("", "Pod"),
    ("scheduling.k8s.io", "PriorityClass"),
    ("scheduling.volcano.sh", "PodGroup"),
    ("scheduling.volcano.sh", "Queue"),
    ("scheduling.x-k8s.io", "PodGroup"),
    ("trainer.kubeflow.org", "TrainJob"),
    (GROUP, KIND),
)
"""(group, kind) of what an outlook is made from; of all namespaces, because all wait for the same nodes."""
SOON = timedelta(seconds=1)


class Outlook(NamedTuple):
    """Where jobs stand in line, and when each is expected to start; by namespace and name."""

    turns: dict[Owner, Turn]
    starts: dict[Owner, Start]
    now: datetime

    def queue(self, job: Raw) -> str:
        """A job's place: `2/5`, or `research:2/5` where the queue is not the default; "" where it has none."""
        turn = self.turns.get(key_of(job))
        if turn is None:
            return ""
        return f"{'' if turn.queue == DEFAULT_QUEUE else f'{turn.queue}:'}{turn.position}/{turn.of}"

    def starts_in(self, job: Raw) -> str:
        """How long until a waiting job is expected to start: `12m`; "" where it does not wait or nobody can tell."""
        start = self.start(job)
        if start is None:
            return ""
        left = start.at - self.now
        return "soon" if left <= SOON else duration(left.total_seconds())

    def start(self, job: Raw) -> Start | None:
        """When a job that stands in line is expected to start."""
        return self.starts.get(key_of(job)) if key_of(job) in self.turns else None


def key_of(job: Raw) -> Owner:
    """The namespace and name of a TrainJob."""
    return str(job["metadata"].get("namespace", "")), str(job["metadata"]["name"])


def outlook(objects: Sequence[Raw], now: datetime, *, hidden: Collection[str] = ()) -> Outlook:
    """What can be told of those who wait; nothing where the pods of others, who may be before them, are hidden."""
    view = View(objects)
    turns = {} if "pods" in hidden else line(view)
    starts = forecast(objects, now, ends=RunTimes(view, now).end) if turns else {}
    return Outlook(turns, starts, now)


class RunTimes:
    """How long pods run, by the best that is known: the trainer's word, a simulation's, past runs, deadlines."""

    def __init__(self, view: View, now: datetime) -> None:
        self.view, self.now = view, now
        nodes = list(view.all("", "Node"))
        self.simulated = bool(nodes) and all(NODE in (node["metadata"].get("labels") or {}) for node in nodes)
        self.past: dict[tuple[str, int | None], list[float]] = defaultdict(list)
        for raw in view.all(GROUP, KIND):
            spec = raw["spec"]
            if spec.get("outcome") == "Complete" and spec.get("runSeconds"):
                runtime = str(look(spec, "runtime", "name"))
                for nodes_or_any in (spec.get("nodes"), None):
                    self.past[runtime, nodes_or_any].append(spec["runSeconds"])

    def end(self, pod: Raw, start: datetime) -> End | None:
        """When a pod that starts at a time is expected to end, by the best that is known."""
        owner = Ref("trainer.kubeflow.org", "TrainJob", *owner_of(pod))
        job = self.view.get(owner)
        found = (job and self._reported(job)) or self._simulated(pod, start)
        return found or (job and self._as_before(job, start)) or self._deadline(pod, job, start)

    def _reported(self, job: Raw) -> End | None:
        said = look(job, "status", "trainerStatus") or {}
        left, when = said.get("estimatedRemainingSeconds"), parse_time(said.get("lastUpdatedTime") or "")
        if left is None or when is None:
            return None
        return End(when + timedelta(seconds=left), "the trainers' own estimates")

    def _simulated(self, pod: Raw, start: datetime) -> End | None:
        if not self.simulated:
            return None
        try:
            length = script_of(pod).length
        except Unreadable:
            return None
        return End(start + length, "the lengths of simulated pods") if length is not None else None

    def _as_before(self, job: Raw, start: datetime) -> End | None:
        """By past runs on the runtime, of the same size if there were any; those shorter than this one say nothing."""
        runtime = str(look(job, "spec", "runtimeRef", "name"))
        size = look(job, "spec", "trainer", "numNodes") or look(job, "status", "nodes")
        runs = self.past.get((runtime, size)) or self.past.get((runtime, None)) or ()
        passed = (self.now - start).total_seconds()
        longer = [seconds for seconds in runs if seconds > passed]
        return End(start + timedelta(seconds=median(longer)), f"past runs on {runtime}") if longer else None

    def _deadline(self, pod: Raw, job: Raw | None, start: datetime) -> End | None:
        limit = look(pod, "spec", "activeDeadlineSeconds")
        if limit is not None:
            return End(start + timedelta(seconds=limit), "deadlines")
        limit = look(job, "spec", "activeDeadlineSeconds")
        if job is None or limit is None:
            return None
        said = [one for one in look(job, "status", "conditions") or () if one.get("type") == "Suspended"]
        since = parse_time(look(said, 0, "lastTransitionTime") or job["metadata"].get("creationTimestamp") or "")
        return End(since + timedelta(seconds=limit), "deadlines") if since else None
