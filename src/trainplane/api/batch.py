"""Job of batch/v1, and the keys and words of its controller."""

from typing import Annotated

from msgspec import UNSET, UnsetType

from trainplane.api.meta import ATOMIC, EmbeddedMeta, Field, Int32, Int64, LabelSelector, ObjectMeta, Time, Wire, always
from trainplane.api.pod import PodTemplateSpec

JOB_NAME = "batch.kubernetes.io/job-name"
CONTROLLER_UID = "batch.kubernetes.io/controller-uid"
LEGACY_JOB_NAME = "job-name"
LEGACY_CONTROLLER_UID = "controller-uid"
COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
"""A label and an annotation of the pods of an Indexed Job."""
INDEX_FAILURE_COUNT = "batch.kubernetes.io/job-index-failure-count"
INDEX_IGNORED_FAILURE_COUNT = "batch.kubernetes.io/job-index-ignored-failure-count"
TRACKING_FINALIZER = "batch.kubernetes.io/job-tracking"
COMPLETION_INDEX_ENV = "JOB_COMPLETION_INDEX"
JOB_CONTROLLER = "kubernetes.io/job-controller"
"""What managedBy says when the Job controller of Kubernetes itself is meant."""

COMPLETE = "Complete"
FAILED = "Failed"
SUSPENDED = "Suspended"
FAILURE_TARGET = "FailureTarget"
SUCCESS_CRITERIA_MET = "SuccessCriteriaMet"

ALL_BY_TYPE = Field(list_type="atomic", merge_key="type", patch_strategy="merge")


class PodFailurePolicyOnExitCodesRequirement(Wire, frozen=True):
    """Exit codes of containers that a rule is about."""

    operator: str
    values: Annotated[tuple[Int32, ...], Field(list_type="set")]
    container_name: str | UnsetType = UNSET


class PodFailurePolicyOnPodConditionsPattern(Wire, frozen=True):
    """A pod condition that a rule is about."""

    type: str
    status: str | UnsetType = UNSET


class PodFailurePolicyRule(Wire, frozen=True):
    """What a matching pod failure does to the Job."""

    action: str
    on_exit_codes: PodFailurePolicyOnExitCodesRequirement | UnsetType = UNSET
    on_pod_conditions: Annotated[tuple[PodFailurePolicyOnPodConditionsPattern, ...], ATOMIC] | UnsetType = UNSET


class PodFailurePolicy(Wire, frozen=True):
    """Rules for pod failures; the first that matches decides."""

    rules: Annotated[tuple[PodFailurePolicyRule, ...], ATOMIC]


class SuccessPolicyRule(Wire, frozen=True):
    """Indexes that are enough for the Job to succeed."""

    succeeded_count: Int32 | UnsetType = UNSET
    succeeded_indexes: str | UnsetType = UNSET


class SuccessPolicy(Wire, frozen=True):
    """Rules by which an Indexed Job succeeds early."""

    rules: Annotated[tuple[SuccessPolicyRule, ...], ATOMIC]


class JobSpec(Wire, frozen=True):
    """How many pods to run to their end, and what to do when they fail."""

    template: PodTemplateSpec
    active_deadline_seconds: Int64 | UnsetType = UNSET
    backoff_limit: Int32 | UnsetType = UNSET
    backoff_limit_per_index: Int32 | UnsetType = UNSET
    completion_mode: str | UnsetType = UNSET
    completions: Int32 | UnsetType = UNSET
    managed_by: str | UnsetType = UNSET
    manual_selector: bool | UnsetType = UNSET
    max_failed_indexes: Int32 | UnsetType = UNSET
    parallelism: Int32 | UnsetType = UNSET
    pod_failure_policy: PodFailurePolicy | UnsetType = UNSET
    pod_replacement_policy: str | UnsetType = UNSET
    selector: LabelSelector | UnsetType = UNSET
    success_policy: SuccessPolicy | UnsetType = UNSET
    suspend: bool | UnsetType = UNSET
    ttl_seconds_after_finished: Int32 | UnsetType = UNSET


class JobTemplateSpec(Wire, frozen=True):
    """Jobs to be made."""

    metadata: EmbeddedMeta | UnsetType = UNSET
    spec: JobSpec | UnsetType = UNSET


class JobCondition(Wire, frozen=True):
    """One observed aspect of a Job."""

    status: str
    type: str
    last_probe_time: Time | UnsetType = UNSET
    last_transition_time: Time | UnsetType = UNSET
    message: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET


class UncountedTerminatedPods(Wire, frozen=True):
    """Finished pods not yet in the counters."""

    failed: Annotated[tuple[str, ...], Field(list_type="set")] | UnsetType = UNSET
    succeeded: Annotated[tuple[str, ...], Field(list_type="set")] | UnsetType = UNSET


class JobStatus(Wire, frozen=True):
    """How far a Job has come."""

    active: Int32 | UnsetType = UNSET
    completed_indexes: str | UnsetType = UNSET
    completion_time: Time | UnsetType = UNSET
    conditions: Annotated[tuple[JobCondition, ...], ALL_BY_TYPE] | UnsetType = UNSET
    failed: Int32 | UnsetType = UNSET
    failed_indexes: str | UnsetType = UNSET
    ready: Int32 | UnsetType = UNSET
    start_time: Time | UnsetType = UNSET
    succeeded: Int32 | UnsetType = UNSET
    terminating: Int32 | UnsetType = UNSET
    uncounted_terminated_pods: UncountedTerminatedPods | UnsetType = UNSET


class Job(Wire, frozen=True, kw_only=True):
    """Pods that run to their end."""

    api_version: str = always("batch/v1")
    kind: str = always("Job")
    metadata: ObjectMeta = ObjectMeta()
    spec: JobSpec
    status: JobStatus = JobStatus()
