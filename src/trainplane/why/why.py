"""Why a TrainJob does not go on: the table of causes, the deepest first, and the sentence for status.summary."""

from datetime import datetime

from trainplane.api.meta import Raw
from trainplane.reconcile.view import View
from trainplane.why import before_pods, ended, placing, queueing, starting, volumes
from trainplane.why.cause import Cause, Check
from trainplane.why.scene import Scene

FAILURES: tuple[Check, ...] = (
    ended.deadline_exceeded,
    starting.evicted,
    starting.out_of_memory,
    ended.restarts_exhausted,
    ended.job_failed,
)
"""Of a job that has failed: what ended it, the most telling first."""

CAUSES: tuple[Check, ...] = (
    # Nothing is to be done for the job at all.
    before_pods.being_deleted,
    before_pods.managed_by_another,
    before_pods.kueue_pending,
    before_pods.suspended,
    # What is made for it is refused: whatever is missing further on is missing because of that.
    before_pods.runtime_missing,
    before_pods.quota_exhausted,
    before_pods.service_account_missing,
    before_pods.pod_security,
    before_pods.priority_class_missing,
    before_pods.name_taken,
    before_pods.creation_refused,
    before_pods.controller_silent,
    before_pods.jobset_controller_silent,
    before_pods.job_controller_silent,
    # Pods are on nodes and do not come up; others may wait for them.
    starting.node_lost,
    starting.image_not_pulled,
    starting.settings_missing,
    starting.volume_not_mounted,
    starting.container_not_created,
    starting.out_of_memory,
    starting.init_container_failing,
    starting.crash_loop,
    starting.evicted,
    starting.pod_failed,
    starting.probe_failing,
    # Pods have no node: first what no scheduler can help, then what no waiting can help, then what takes time.
    placing.scheduling_gated,
    volumes.volume_claim_missing,
    volumes.volume_not_bound,
    placing.no_scheduler,
    placing.no_nodes,
    queueing.queue_unusable,
    placing.gang_deadlock,
    placing.gang_incomplete,
    placing.selector_unsatisfied,
    placing.taint_not_tolerated,
    placing.gang_too_large,
    queueing.queue_full,
    starting.preempted,
    placing.gang_waiting,
    placing.unschedulable,
    # All is on its way.
    starting.pods_starting,
    before_pods.dependency_not_met,
    before_pods.runtime_deprecated,
)
"""Of a job that has not ended: every cause comes before those that follow from it."""


READS: tuple[tuple[str, str], ...] = (
    ("", "ConfigMap"),
    ("", "Node"),
    ("", "PersistentVolumeClaim"),
    ("", "Pod"),
    ("batch", "Job"),
    ("events.k8s.io", "Event"),
    ("jobset.x-k8s.io", "JobSet"),
    ("scheduling.volcano.sh", "PodGroup"),
    ("scheduling.x-k8s.io", "PodGroup"),
    ("trainer.kubeflow.org", "ClusterTrainingRuntime"),
    ("trainer.kubeflow.org", "TrainingRuntime"),
)
"""(group, kind) of what causes are read from. Where a View lacks one of them less is told, and nothing wrong."""


def cause_of(job: Raw, view: View, now: datetime) -> Cause | None:
    """The deepest cause that keeps a TrainJob from going on; None where nothing is known to."""
    scene = Scene(job, view, now)
    if scene.finished and scene.failed is None:
        return None
    table = FAILURES if scene.failed is not None else CAUSES
    return next((cause for check in table if (cause := check(scene)) is not None), None)


def why(job: Raw, view: View, now: datetime) -> str:
    """What a TrainJob waits for, in a sentence with a way out; "" where nothing is known to be in its way."""
    cause = cause_of(job, view, now)
    return cause.told() if cause else ""
