"""A TrainJob in a world of its own: made through admission, decided about by the controller, moved on by a test."""

from datetime import timedelta
from typing import Any

from tests.conformance.world import World
from tests.trainjob import worlds
from trainplane.api.raw import put
from trainplane.reconcile.decision import Decision
from trainplane.reconcile.view import Ref, View
from trainplane.trainjob.reconcile import TRAINJOB, reconcile
from trainplane.trainjob.snapshot import owner

Raw = dict[str, Any]

API = "trainer.kubeflow.org/v1alpha1"
JOB = Ref("trainer.kubeflow.org", "TrainJob", "ns", "job")
JOBSET = Ref("jobset.x-k8s.io", "JobSet", "ns", "job")
CHILD = Ref("batch", "Job", "ns", "job-node-0")
SNAPSHOT = Ref("", "ConfigMap", "ns", "job-runtime-snapshot")
TORCH: Raw = {"torch": {}}
ELASTIC: Raw = {"numNodes": 3, "torch": {"elasticPolicy": {"minNodes": 2, "maxNodes": 4, "maxRestarts": 3}}}


def runtime(policy: Raw | None = None, *jobs: Raw, **spec: Any) -> Raw:
    """A TrainingRuntime as an author writes it."""
    return {"apiVersion": API, **worlds.runtime(TORCH if policy is None else policy, *jobs, **spec)}


def trainjob(trainer: Raw | None = None, *, kind: str = "TrainingRuntime", **spec: Any) -> Raw:
    """A TrainJob as an author writes it."""
    raw = {"apiVersion": API, **worlds.trainjob(trainer if trainer is not None else {})}
    return {**raw, "spec": {**raw["spec"], "runtimeRef": {"name": "rt", "kind": kind}, **spec}}


def foreign_jobset(*, suspend: bool) -> Raw:
    """A JobSet of the TrainJob's name that somebody else made."""
    job = worlds.replicated("theirs", {"name": "theirs", "image": "other:1"})
    metadata = {"name": "job", "namespace": "ns"}
    spec = {"suspend": suspend, "replicatedJobs": [job]}
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": metadata, "spec": spec}


class Story(World):
    """A world with one TrainJob called `job`."""

    def __init__(self, *documents: Raw) -> None:
        super().__init__("ns")
        for document in documents:
            self.create(document)
        self.settle()

    @property
    def job(self) -> Raw:
        """The TrainJob."""
        return self.objects[JOB]

    @property
    def jobset(self) -> Raw:
        """Its JobSet."""
        return self.objects[JOBSET]

    @property
    def conditions(self) -> dict[str, tuple[str, str]]:
        """Status and reason of each condition."""
        return {one["type"]: (one["status"], one["reason"]) for one in self.job["status"].get("conditions", ())}

    @property
    def summary(self) -> Raw:
        """What the TrainJob says of itself to people."""
        found: Raw = self.job["status"]["summary"]
        return found

    @property
    def told(self) -> tuple[str, str, str]:
        """State, reason and sentence."""
        return self.summary["state"], self.summary["reason"], self.summary["message"]

    def decide(self, **options: Any) -> Decision:
        """What the controller wants now."""
        return reconcile(self.job, self.view(), self.now, **options)

    def actions(self, kind: type, **options: Any) -> list[Any]:
        """What it wants of one sort."""
        return [action for action in self.decide(**options).actions if isinstance(action, kind)]

    def edit(self, ref: Ref, *path: str | int, to: Any) -> None:
        """Change one value of an object."""
        self.objects[ref] = put(self.objects[ref], path, to)

    def wait(self, seconds: float) -> None:
        """Let time go by, and the controller look."""
        self.now += timedelta(seconds=seconds)
        self.settle()

    def jobset_says(self, *, condition: Raw | None = None, counts: dict[str, Raw] | None = None, **status: Any) -> None:
        """Give the JobSet a status, and let the controller look."""
        zero = dict.fromkeys(("ready", "succeeded", "failed", "active", "suspended"), 0)
        if counts is not None:
            status["replicatedJobsStatus"] = [{"name": name, **zero, **count} for name, count in counts.items()]
        if condition is not None:
            when = self.now.strftime("%Y-%m-%dT%H:%M:%SZ")
            status["conditions"] = [{"status": "True", "message": "", "lastTransitionTime": when, **condition}]
        self.edit(JOBSET, "status", to={**self.jobset.get("status", {}), **status})
        self.settle()

    def fails(self, message: str = "jobset failed", reason: str = "FailedJobs") -> None:
        """The JobSet reports its failure."""
        self.jobset_says(condition={"type": "Failed", "reason": reason, "message": message})

    def completes(self) -> None:
        """The JobSet reports its success."""
        self.jobset_says(condition={"type": "Completed", "reason": "AllJobsCompleted", "message": "jobset completed"})

    def child(self, name: str = "job-node-0", *, size: int = 1, uid: str = "child", **status: Any) -> None:
        """A Job of the JobSet appears, or takes the place of the one of that name."""
        metadata = {"name": name, "namespace": "ns", "uid": uid, "ownerReferences": [owner(self.jobset)]}
        metadata["labels"] = {"jobset.sigs.k8s.io/jobset-name": "job"}
        spec = {"parallelism": size, "completions": size}
        self.keep({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec, "status": status})

    def pod(self, rank: int, *, of: str = "child", **body: Any) -> None:
        """A pod of a Job appears."""
        owned = {"apiVersion": "batch/v1", "kind": "Job", "name": "job-node-0", "uid": of, "controller": True}
        metadata = {"name": f"job-node-0-{rank}-x", "namespace": "ns", "uid": f"pod-{rank}", "ownerReferences": [owned]}
        metadata["annotations"] = {"batch.kubernetes.io/job-completion-index": str(rank)}
        self.keep({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, **body})

    def event(
        self, about: Raw, note: str, *, reason: str = "JobCreationFailed", when: str = "2026-01-02T03:05:00Z"
    ) -> None:
        """A Warning about an object."""
        metadata = about["metadata"]
        regarding = {"kind": about["kind"], "namespace": "ns", "name": metadata["name"], "uid": metadata["uid"]}
        self.serial += 1
        self.keep(
            {
                "apiVersion": "events.k8s.io/v1",
                "kind": "Event",
                "metadata": {"name": f"event-{self.serial}", "namespace": "ns"},
                "type": "Warning",
                "reason": reason,
                "note": note,
                "eventTime": when,
                "regarding": regarding,
            }
        )

    def woken_by(self, raw: Raw) -> set[Ref]:
        """The TrainJobs that the controller looks at again when this object changed."""
        kind = Ref.of(raw).group, raw["kind"]
        view: View = self.view()
        return {ref for watched, wake in TRAINJOB.watches if watched == kind for ref in wake(raw, view)}
