"""TrainJob, TrainingRuntime and ClusterTrainingRuntime of trainer.kubeflow.org/v1alpha1, and their label keys."""

import re
from typing import Annotated, Any, ClassVar

from msgspec import UNSET, UnsetType

from trainplane.api.containers import EnvVar, ResourceRequirements
from trainplane.api.jobset import JobSetSpec
from trainplane.api.meta import (
    ATOMIC,
    BY_NAME,
    Field,
    Int32,
    Int64,
    Law,
    ObjectMeta,
    Raw,
    Wire,
    always,
)
from trainplane.api.policies import MLPolicy, PodGroupPolicy
from trainplane.api.references import LocalObjectReference
from trainplane.api.runtime_patches import SEALED, RuntimePatch, TemplateMeta
from trainplane.api.trainjob_status import TrainJobStatus

GROUP = "trainer.kubeflow.org"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"

FRAMEWORK_LABEL = "trainer.kubeflow.org/framework"
"""On a runtime: its framework, by which SDKs find it."""
SUPPORT_LABEL = "trainer.kubeflow.org/support"
SUPPORT_DEPRECATED = "deprecated"
WEBHOOK_VALIDATION_LABEL = "trainer.kubeflow.org/webhook-validation"
"""On a runtime: `disabled` leaves its validation out."""
MANAGED_BY_LABEL = "trainer.kubeflow.org/managed-by"
LEGACY_FINALIZER = "trainer.kubeflow.org/resource-in-use"
"""Releases of Kubeflow Trainer before 2.3 put it on runtimes; it only ever needs to be taken off."""

SUBMITTER = "trainplane.dev/submitter"
"""The annotation by which a cluster of ours notes who made a TrainJob."""
METRICS_ENABLED = "ome.io/metrics-enabled"
PROFILING_ENABLED = "ome.io/profiling-enabled"
OPTIMIZATION_LEVEL = "ome.io/optimization-level"
GPU_TYPE = "ome.io/gpu-type"

CONTROLLER = "trainer.kubeflow.org/trainjob-controller"
"""`spec.managedBy` of a TrainJob that is ours to run."""
MULTIKUEUE = "kueue.x-k8s.io/multikueue"

CLUSTER_TRAINING_RUNTIME = "ClusterTrainingRuntime"
TRAINING_RUNTIME = "TrainingRuntime"

_NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://.+")
_FIXED_IN_TRAINER = ("image", "command", "args", "env", "resourcesPerNode", "numProcPerNode")


def _name(job: Raw) -> str | None:
    name: str | None = job.get("metadata", {}).get("name")
    return name


def _rfc1035(job: Raw, _: Any) -> bool:
    name = _name(job)
    return name is None or _NAME.fullmatch(name) is not None


def _short(job: Raw, _: Any) -> bool:
    name = _name(job)
    return name is None or len(name) <= 63


_ONLY_NODES_CHANGE = Law(
    # Spelt out, because the API server counts `self.?image == oldSelf.?image` as boundless work.
    cel=" && ".join(
        f"has(self.{name}) == has(oldSelf.{name}) && (!has(self.{name}) || self.{name} == oldSelf.{name})"
        for name in _FIXED_IN_TRAINER
    ),
    message="only numNodes can change after creation",
    holds=lambda new, old: all(new.get(name) == old.get(name) for name in _FIXED_IN_TRAINER),
    todo="delete the TrainJob and create it anew, or create another one",
    transition=True,
)
_RFC1035_NAME = Law(
    cel="self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
    message="metadata.name must match RFC 1035 DNS label format",
    holds=_rfc1035,
    todo="use lower-case letters, digits and '-', begin with a letter and end with a letter or a digit",
    about=("metadata", "name"),
)
_SHORT_NAME = Law(
    cel="size(self.metadata.name) <= 63",
    message="metadata.name must have at most 63 characters",
    holds=_short,
    todo="shorten it: names of pods and services are made from it",
    about=("metadata", "name"),
)
_STORAGE_URI = Law(
    cel="self == '' || self.matches('^[A-Za-z][A-Za-z0-9+.-]*://.+$')",
    message="storageUri must be a URI such as hf://owner/name, or empty",
    holds=lambda uri, _: uri == "" or _URI.fullmatch(uri) is not None,
    todo="write where the data lies with its scheme, such as hf://owner/name or s3://bucket/path",
)


class RuntimeRef(Wire, frozen=True):
    """The runtime that a TrainJob runs on."""

    name: Annotated[str, Field(min_length=1, max_length=253, description="The name of the runtime.")]
    api_group: (
        Annotated[
            str,
            Field(
                default=GROUP,
                min_length=1,
                max_length=253,
                description="The group of the runtime. It is looked for there first, then in the other groups that "
                "Trainplane understands.",
            ),
        ]
        | UnsetType
    ) = UNSET
    kind: (
        Annotated[
            str,
            Field(
                default=CLUSTER_TRAINING_RUNTIME,
                max_length=253,
                description="ClusterTrainingRuntime for one that all namespaces share, TrainingRuntime for one of the "
                "TrainJob's own namespace.",
            ),
        ]
        | UnsetType
    ) = UNSET


class Initializer(Wire, frozen=True):
    """Where to get a dataset or a model from."""

    storage_uri: (
        Annotated[
            str,
            Field(
                max_length=2048,
                description="Where the data lies, with its scheme: hf://owner/name, s3://bucket/path.",
                laws=(_STORAGE_URI,),
            ),
        ]
        | UnsetType
    ) = UNSET
    env: (
        Annotated[
            tuple[EnvVar, ...], BY_NAME, Field(max_items=128, description="Variables for the initializer's container.")
        ]
        | UnsetType
    ) = UNSET
    secret_ref: (
        Annotated[
            LocalObjectReference,
            Field(description="A Secret whose keys become variables of the initializer, such as an access token."),
        ]
        | UnsetType
    ) = UNSET


class Initializers(Wire, frozen=True):
    """What is fetched before training starts."""

    dataset: Annotated[Initializer, Field(description="The dataset, put at /workspace/dataset.")] | UnsetType = UNSET
    model: (
        Annotated[Initializer, Field(description="The model to start from, put at /workspace/model.")] | UnsetType
    ) = UNSET


_Words = Annotated[tuple[Annotated[str, Field(max_length=1048576)], ...], ATOMIC, Field(max_items=128)]


class Trainer(Wire, frozen=True):
    """What the training containers run, and on how many nodes."""

    image: (
        Annotated[str, Field(max_length=500, description="The image to train with; the runtime's when left out.")]
        | UnsetType
    ) = UNSET
    command: (
        Annotated[_Words, Field(description="The command of the training container; the runtime's when left out.")]
        | UnsetType
    ) = UNSET
    args: (
        Annotated[_Words, Field(description="Its arguments; the runtime's when left out. An empty list clears them.")]
        | UnsetType
    ) = UNSET
    env: (
        Annotated[
            tuple[EnvVar, ...],
            BY_NAME,
            Field(
                max_items=128,
                description="Variables of the training container, beside the runtime's and before them. "
                "Those that the framework's policy sets are not yours to set.",
            ),
        ]
        | UnsetType
    ) = UNSET
    num_nodes: (
        Annotated[
            Int32,
            Field(
                minimum=1,
                description="How many nodes to train on; the runtime's mlPolicy.numNodes when left out. It may change "
                "after creation only under an elasticPolicy and within its bounds.",
            ),
        ]
        | UnsetType
    ) = UNSET
    resources_per_node: (
        Annotated[
            ResourceRequirements,
            Field(description="What each node's training container needs; the runtime's when left out."),
        ]
        | UnsetType
    ) = UNSET
    num_proc_per_node: (
        Annotated[
            Int32,
            Field(
                minimum=1,
                description="How many processes to start on each node. When left out, the runtime's policy decides, "
                "for torch by the GPUs or CPUs of the container.",
            ),
        ]
        | UnsetType
    ) = UNSET


class TrainJobSpec(Wire, frozen=True):
    """What to train, on which runtime."""

    runtime_ref: Annotated[
        RuntimeRef, Field(description="The runtime: how the framework is started and what the pods look like."), SEALED
    ]
    initializer: (
        Annotated[Initializers, SEALED, Field(description="A dataset and a model to fetch before training starts.")]
        | UnsetType
    ) = UNSET
    trainer: (
        Annotated[
            Trainer,
            Field(
                description="What to run, and on how many nodes, where it differs from the runtime.",
                laws=(_ONLY_NODES_CHANGE,),
            ),
        ]
        | UnsetType
    ) = UNSET
    runtime_patches: (
        Annotated[
            tuple[RuntimePatch, ...],
            Field(
                max_items=16,
                list_type="map",
                keys=("manager",),
                description="Changes to the runtime for this TrainJob alone, applied in this order.",
            ),
        ]
        | UnsetType
    ) = UNSET
    suspend: (
        Annotated[
            bool,
            Field(
                default=False,
                description="True stops the job and frees what it holds, or keeps it from starting; false lets it run.",
            ),
        ]
        | UnsetType
    ) = UNSET
    active_deadline_seconds: (
        Annotated[
            Int64,
            SEALED,
            Field(
                minimum=1,
                description="How long the job may be active before it fails, counted from its creation or from when "
                "it was last resumed.",
            ),
        ]
        | UnsetType
    ) = UNSET
    ttl_seconds_after_finished: (
        Annotated[
            Int32,
            Field(
                minimum=0,
                description="How long to keep the TrainJob after it has completed or failed; then it is deleted with "
                "all that belongs to it. For ever when left out.",
            ),
        ]
        | UnsetType
    ) = UNSET
    managed_by: (
        Annotated[
            str,
            SEALED,
            Field(
                default=CONTROLLER,
                enum=(CONTROLLER, MULTIKUEUE),
                max_length=253,
                description="Who runs the job. With any other than the default it is left alone here.",
            ),
        ]
        | UnsetType
    ) = UNSET


class TrainJob(Wire, frozen=True, kw_only=True):
    """One training: what to run, on which runtime, and how far it has come."""

    SCHEMA: ClassVar[Field] = Field(
        description="One training: what to run, on which runtime, and how far it has come.",
        laws=(_RFC1035_NAME, _SHORT_NAME),
    )

    api_version: str = always(API_VERSION)
    kind: str = always("TrainJob")
    metadata: ObjectMeta = ObjectMeta()
    spec: Annotated[TrainJobSpec, Field(description="What to train, on which runtime.")]
    status: Annotated[TrainJobStatus, Field(description="How far the job has come.")] = TrainJobStatus()


class JobSetTemplate(Wire, frozen=True):
    """The JobSet that a runtime makes for each TrainJob."""

    SCHEMA: ClassVar[Field] = Field(min_properties=1)

    metadata: TemplateMeta | UnsetType = UNSET
    spec: (
        Annotated[JobSetSpec, Field(description="The JobSet: its replicated jobs, their order and their policies.")]
        | UnsetType
    ) = UNSET


class TrainingRuntimeSpec(Wire, frozen=True):
    """How TrainJobs run on this runtime."""

    SCHEMA: ClassVar[Field] = Field(min_properties=1)

    ml_policy: (
        Annotated[
            MLPolicy,
            Field(
                description="The framework and the number of nodes. With no framework, plain containers are run; "
                "with no mlPolicy at all, the template is taken as it is."
            ),
        ]
        | UnsetType
    ) = UNSET
    pod_group_policy: (
        Annotated[PodGroupPolicy, Field(description="Lets the pods of each stage start together or not at all.")]
        | UnsetType
    ) = UNSET
    template: Annotated[JobSetTemplate, Field(description="The JobSet that each TrainJob becomes.")] | UnsetType = UNSET


class TrainingRuntime(Wire, frozen=True, kw_only=True):
    """A way to run TrainJobs, for one namespace."""

    SCHEMA: ClassVar[Field] = Field(
        description="A way to run TrainJobs, for the TrainJobs of its own namespace: a framework and a JobSet template."
    )

    api_version: str = always(API_VERSION)
    kind: str = always(TRAINING_RUNTIME)
    metadata: ObjectMeta = ObjectMeta()
    spec: Annotated[TrainingRuntimeSpec, Field(description="How TrainJobs run on this runtime.")] = (
        TrainingRuntimeSpec()
    )


class ClusterTrainingRuntime(Wire, frozen=True, kw_only=True):
    """A way to run TrainJobs, for all namespaces."""

    SCHEMA: ClassVar[Field] = Field(
        description="A way to run TrainJobs, for the TrainJobs of all namespaces: a framework and a JobSet template."
    )

    api_version: str = always(API_VERSION)
    kind: str = always(CLUSTER_TRAINING_RUNTIME)
    metadata: ObjectMeta = ObjectMeta()
    spec: Annotated[TrainingRuntimeSpec, Field(description="How TrainJobs run on this runtime.")] = (
        TrainingRuntimeSpec()
    )
