"""JobSet of jobset.x-k8s.io/v1alpha2, its policies, and its keys."""

from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import UNSET, UnsetType

from trainplane.api.batch import JobTemplateSpec
from trainplane.api.claims import EmbeddedPersistentVolumeClaim
from trainplane.api.meta import BY_NAME, Condition, Field, Int32, Law, ObjectMeta, Strings, Wire, always

API_VERSION = "jobset.x-k8s.io/v1alpha2"
CONTROLLER_NAME = "jobset.sigs.k8s.io/jobset-controller"
"""What managedBy says when the JobSet controller itself is meant."""

JOBSET_NAME = "jobset.sigs.k8s.io/jobset-name"
JOBSET_UID = "jobset.sigs.k8s.io/jobset-uid"
REPLICATED_JOB_NAME = "jobset.sigs.k8s.io/replicatedjob-name"
REPLICATED_JOB_REPLICAS = "jobset.sigs.k8s.io/replicatedjob-replicas"
GLOBAL_REPLICAS = "jobset.sigs.k8s.io/global-replicas"
JOB_INDEX = "jobset.sigs.k8s.io/job-index"
JOB_GLOBAL_INDEX = "jobset.sigs.k8s.io/job-global-index"
JOB_KEY = "jobset.sigs.k8s.io/job-key"
RESTART_ATTEMPT = "jobset.sigs.k8s.io/restart-attempt"
JOB_RESTART_ATTEMPT = "jobset.sigs.k8s.io/job-restart-attempt"
GROUP_NAME = "jobset.sigs.k8s.io/group-name"
GROUP_REPLICAS = "jobset.sigs.k8s.io/group-replicas"
JOB_GROUP_INDEX = "jobset.sigs.k8s.io/job-group-index"
COORDINATOR = "jobset.sigs.k8s.io/coordinator"
PRIORITY = "jobset.sigs.k8s.io/priority"
"""A label of pods only, with the number of their priority."""
IN_PLACE_RESTART_ATTEMPT = "jobset.sigs.k8s.io/in-place-restart-attempt"
DISABLE_IN_PLACE_RESTART = "jobset.sigs.k8s.io/disable-in-place-restart"
EXCLUSIVE_TOPOLOGY = "alpha.jobset.sigs.k8s.io/exclusive-topology"
"""An annotation: the node label whose every value takes one job at a time."""
NODE_SELECTOR = "alpha.jobset.sigs.k8s.io/node-selector"
NAMESPACED_JOB = "alpha.jobset.sigs.k8s.io/namespaced-job"
NO_SCHEDULE = "alpha.jobset.sigs.k8s.io/no-schedule"

COMPLETED = "Completed"
FAILED = "Failed"
SUSPENDED = "Suspended"
RESTARTING = "RestartingJobSet"
STARTUP_POLICY_IN_PROGRESS = "StartupPolicyInProgress"
STARTUP_POLICY_COMPLETED = "StartupPolicyCompleted"

JOB_FAILURE_REASONS = (
    "BackoffLimitExceeded",
    "DeadlineExceeded",
    "FailedIndexes",
    "MaxFailedIndexesExceeded",
    "PodFailurePolicy",
)
"""What onJobFailureReasons may name."""


def _unchanged(value: Any, old: Any) -> bool:
    return bool(value == old)


def _one_way_to_order(spec: Any, _: Any) -> bool:
    ordered = spec.get("startupPolicy", {}).get("startupPolicyOrder") == "InOrder"
    return not (ordered and any("dependsOn" in job for job in spec.get("replicatedJobs", ())))


def _no_namespaces(policy: Any, _: Any) -> bool:
    return not any(claim.get("metadata", {}).get("namespace") for claim in policy.get("templates", ()))


IMMUTABLE = Law(
    cel="self == oldSelf",
    message="this cannot change once the JobSet is created",
    holds=_unchanged,
    todo="make a new JobSet",
    transition=True,
)
ONE_WAY_TO_ORDER = Law(
    cel="!has(self.startupPolicy) || self.startupPolicy.startupPolicyOrder != 'InOrder'"
    " || !has(self.replicatedJobs) || self.replicatedJobs.all(job, !has(job.dependsOn))",
    message="startupPolicy InOrder and dependsOn exclude each other",
    holds=_one_way_to_order,
    todo="drop startupPolicy and say the order with dependsOn",
)
NO_NAMESPACES = Law(
    cel="!has(self.templates) || self.templates.all(claim, !has(claim.metadata)"
    " || !has(claim.metadata.namespace) || claim.metadata.namespace == '')",
    message="a claim is made in the namespace of its JobSet",
    holds=_no_namespaces,
    todo="remove metadata.namespace from the template",
)


class Coordinator(Wire, frozen=True):
    """The pod whose name all others are told."""

    replicated_job: str
    job_index: int | UnsetType = UNSET
    pod_index: int | UnsetType = UNSET


class FailurePolicyRule(Wire, frozen=True):
    """What the failure of a matching Job does to the JobSet."""

    name: str
    action: Annotated[
        str,
        Field(
            enum=(
                "FailJobSet",
                "RestartJobSet",
                "RestartJobSetAndIgnoreMaxRestarts",
                "RestartJob",
                "RestartJobAndIgnoreMaxRestarts",
            )
        ),
    ]
    on_job_failure_reasons: tuple[str, ...] | UnsetType = UNSET
    on_job_failure_message_patterns: tuple[str, ...] | UnsetType = UNSET
    target_replicated_jobs: Strings | UnsetType = UNSET


class FailurePolicy(Wire, frozen=True):
    """How often and how to start again when a Job has failed."""

    max_restarts: Int32 | UnsetType = UNSET
    restart_strategy: (
        Annotated[str, Field(default="Recreate", enum=("Recreate", "BlockingRecreate", "InPlaceRestart"))] | UnsetType
    ) = UNSET
    rules: tuple[FailurePolicyRule, ...] | UnsetType = UNSET


class Network(Wire, frozen=True):
    """Whether and how pods find each other by name."""

    enable_dns_hostnames: bool | UnsetType = msgspec.field(name="enableDNSHostnames", default=UNSET)
    subdomain: str | UnsetType = UNSET
    publish_not_ready_addresses: bool | UnsetType = UNSET


class DependsOn(Wire, frozen=True):
    """A replicated job that must come first, and how far."""

    name: str
    status: Annotated[str, Field(enum=("Ready", "Complete"))]


class ReplicatedJob(Wire, frozen=True, kw_only=True):
    """Equal Jobs from one template."""

    name: str
    group_name: Annotated[str, Field(default="default")] | UnsetType = UNSET
    replicas: Annotated[Int32, Field(default=1)] | UnsetType = UNSET
    depends_on: (
        Annotated[
            tuple[DependsOn, ...],
            Field(list_type="map", keys=("name",), max_items=5, laws=(IMMUTABLE,)),
        ]
        | UnsetType
    ) = UNSET
    template: JobTemplateSpec


class StartupPolicy(Wire, frozen=True):
    """Whether replicated jobs start in the order they are listed."""

    startup_policy_order: Annotated[str, Field(enum=("AnyOrder", "InOrder"))]


class JobSetSuccessPolicy(Wire, frozen=True):
    """Which replicated jobs must complete for the JobSet to complete."""

    operator: Annotated[str, Field(enum=("All", "Any"))]
    target_replicated_jobs: Strings | UnsetType = UNSET


class VolumeRetentionPolicy(Wire, frozen=True):
    """What becomes of the claims when the JobSet is deleted."""

    when_deleted: Annotated[str, Field(default="Delete", enum=("Delete", "Retain"))] | UnsetType = UNSET


class VolumeClaimPolicy(Wire, frozen=True):
    """Claims that the Jobs of a JobSet share."""

    SCHEMA: ClassVar[Field] = Field(laws=(NO_NAMESPACES,))

    templates: (
        Annotated[tuple[EmbeddedPersistentVolumeClaim, ...], Field(list_type="atomic", max_items=50)] | UnsetType
    ) = UNSET
    retention_policy: VolumeRetentionPolicy | UnsetType = UNSET


class JobSetSpec(Wire, frozen=True):
    """Which Jobs to run together, and what to do when they end."""

    SCHEMA: ClassVar[Field] = Field(laws=(ONE_WAY_TO_ORDER,))

    replicated_jobs: Annotated[tuple[ReplicatedJob, ...], BY_NAME] | UnsetType = UNSET
    network: Annotated[Network, Field(laws=(IMMUTABLE,))] | UnsetType = UNSET
    success_policy: Annotated[JobSetSuccessPolicy, Field(laws=(IMMUTABLE,))] | UnsetType = UNSET
    failure_policy: Annotated[FailurePolicy, Field(laws=(IMMUTABLE,))] | UnsetType = UNSET
    startup_policy: Annotated[StartupPolicy, Field(laws=(IMMUTABLE,))] | UnsetType = UNSET
    suspend: bool | UnsetType = UNSET
    coordinator: Coordinator | UnsetType = UNSET
    managed_by: str | UnsetType = UNSET
    ttl_seconds_after_finished: Annotated[Int32, Field(minimum=0)] | UnsetType = UNSET
    volume_claim_policies: (
        Annotated[
            tuple[VolumeClaimPolicy, ...],
            Field(list_type="atomic", max_items=50, laws=(IMMUTABLE,)),
        ]
        | UnsetType
    ) = UNSET


class ReplicatedJobStatus(Wire, frozen=True):
    """How many Jobs of a replicated job are in which state."""

    name: str
    ready: Int32
    succeeded: Int32
    failed: Int32
    active: Int32
    suspended: Int32
    job_restarts: Annotated[tuple[Int32, ...], Field(list_type="atomic", max_items=1024)] | UnsetType = UNSET
    job_restarts_count_towards_max: (
        Annotated[tuple[Int32, ...], Field(list_type="atomic", max_items=1024)] | UnsetType
    ) = UNSET


class JobSetStatus(Wire, frozen=True):
    """How far a JobSet has come."""

    conditions: Annotated[tuple[Condition, ...], Field(list_type="map", keys=("type",))] | UnsetType = UNSET
    restarts: Int32 | UnsetType = UNSET
    restarts_count_towards_max: Int32 | UnsetType = UNSET
    terminal_state: str | UnsetType = UNSET
    replicated_jobs_status: (
        Annotated[tuple[ReplicatedJobStatus, ...], Field(list_type="map", keys=("name",))] | UnsetType
    ) = UNSET
    previous_in_place_restart_attempt: Annotated[Int32, Field(minimum=0)] | UnsetType = UNSET
    current_in_place_restart_attempt: Annotated[Int32, Field(minimum=0)] | UnsetType = UNSET


class JobSet(Wire, frozen=True, kw_only=True):
    """Jobs that are one piece of work."""

    api_version: str = always(API_VERSION)
    kind: str = always("JobSet")
    metadata: ObjectMeta = ObjectMeta()
    spec: JobSetSpec = JobSetSpec()
    status: JobSetStatus = JobSetStatus()
