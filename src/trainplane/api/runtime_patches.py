"""spec.runtimePatches of a TrainJob: what its managers change of the runtime, for that TrainJob alone."""

from collections.abc import Mapping
from typing import Annotated

from msgspec import UNSET, UnsetType

from trainplane.api.affinity import Affinity, Toleration
from trainplane.api.containers import EnvVar, SecurityContext, VolumeMount
from trainplane.api.meta import ATOMIC, BY_NAME, EmbeddedMeta, Field, Int64, Law, Time, Wire
from trainplane.api.pod import PodSchedulingGate, PodSecurityContext
from trainplane.api.references import LocalObjectReference
from trainplane.api.volumes import Volume

IMMUTABLE = Law(
    cel="self == oldSelf",
    message="this cannot change after creation",
    holds=lambda new, old: bool(new == old),
    todo="delete the TrainJob and create it anew, or create another one",
    transition=True,
)
TemplateMeta = Annotated[EmbeddedMeta, Field(description="Labels and annotations to add.")]
SEALED = Field(laws=(IMMUTABLE,))


class ContainerPatch(Wire, frozen=True):
    """What a patch may add to one container."""

    name: Annotated[
        str, Field(min_length=1, max_length=253, description="The name of the container; the runtime must have it.")
    ]
    env: (
        Annotated[
            tuple[EnvVar, ...],
            BY_NAME,
            Field(
                max_items=128,
                description="Variables to add or replace. For the trainer and the initializers, use spec.trainer.env "
                "and spec.initializer instead.",
            ),
        ]
        | UnsetType
    ) = UNSET
    volume_mounts: (
        Annotated[
            tuple[VolumeMount, ...],
            BY_NAME,
            Field(max_items=128, description="Volumes to mount, each once."),
        ]
        | UnsetType
    ) = UNSET
    security_context: (
        Annotated[SecurityContext, Field(description="What the container may do, merged into the runtime's.")]
        | UnsetType
    ) = UNSET


_Containers = Annotated[tuple[ContainerPatch, ...], BY_NAME, Field(max_items=64), SEALED]


class PodSpecPatch(Wire, frozen=True):
    """What a patch may change in the pods of one replicated job."""

    service_account_name: (
        Annotated[str, SEALED, Field(max_length=253, description="The ServiceAccount of the pods.")] | UnsetType
    ) = UNSET
    node_selector: (
        Annotated[Mapping[str, str], Field(description="Labels that the nodes of the pods must have.")] | UnsetType
    ) = UNSET
    affinity: Annotated[Affinity, Field(description="Where the pods would rather be, or must be.")] | UnsetType = UNSET
    tolerations: (
        Annotated[
            tuple[Toleration, ...], ATOMIC, Field(max_items=128, description="The taints that the pods put up with.")
        ]
        | UnsetType
    ) = UNSET
    volumes: (
        Annotated[tuple[Volume, ...], BY_NAME, SEALED, Field(max_items=128, description="Volumes to add.")] | UnsetType
    ) = UNSET
    init_containers: (
        Annotated[_Containers, Field(description="Changes to the init containers, by their names.")] | UnsetType
    ) = UNSET
    containers: Annotated[_Containers, Field(description="Changes to the containers, by their names.")] | UnsetType = (
        UNSET
    )
    scheduling_gates: (
        Annotated[
            tuple[PodSchedulingGate, ...],
            BY_NAME,
            Field(max_items=16, description="Gates that must be lifted before the pods are scheduled."),
        ]
        | UnsetType
    ) = UNSET
    image_pull_secrets: (
        Annotated[
            tuple[LocalObjectReference, ...],
            BY_NAME,
            SEALED,
            Field(max_items=64, description="Secrets with which the images are pulled."),
        ]
        | UnsetType
    ) = UNSET
    security_context: (
        Annotated[PodSecurityContext, SEALED, Field(description="As whom the pods run, merged into the runtime's.")]
        | UnsetType
    ) = UNSET
    termination_grace_period_seconds: (
        Annotated[Int64, SEALED, Field(minimum=0, description="How long the pods have to end before they are killed.")]
        | UnsetType
    ) = UNSET


class PodTemplatePatch(Wire, frozen=True):
    """A patch for the pods of one replicated job."""

    metadata: TemplateMeta | UnsetType = UNSET
    spec: Annotated[PodSpecPatch, Field(description="Changes to the pods.")] | UnsetType = UNSET


class JobSpecPatch(Wire, frozen=True):
    """A patch for the Jobs of one replicated job."""

    template: Annotated[PodTemplatePatch, Field(description="Changes to the template of the pods.")] | UnsetType = UNSET


class JobTemplatePatch(Wire, frozen=True):
    """A patch for the template of one replicated job."""

    metadata: TemplateMeta | UnsetType = UNSET
    spec: Annotated[JobSpecPatch, Field(description="Changes to the Jobs.")] | UnsetType = UNSET


class ReplicatedJobPatch(Wire, frozen=True):
    """A patch for one replicated job."""

    name: Annotated[
        str,
        Field(min_length=1, max_length=253, description="The name of the replicated job; the runtime must have it."),
    ]
    template: Annotated[JobTemplatePatch, Field(description="Changes to its template.")] | UnsetType = UNSET


class JobSetSpecPatch(Wire, frozen=True):
    """A patch for the JobSet's replicated jobs."""

    replicated_jobs: (
        Annotated[
            tuple[ReplicatedJobPatch, ...],
            BY_NAME,
            Field(max_items=100, description="Changes to the replicated jobs, by their names."),
        ]
        | UnsetType
    ) = UNSET


class JobSetTemplatePatch(Wire, frozen=True):
    """A patch for the JobSet of a runtime."""

    metadata: TemplateMeta | UnsetType = UNSET
    spec: Annotated[JobSetSpecPatch, Field(description="Changes to the JobSet.")] | UnsetType = UNSET


class TrainingRuntimeSpecPatch(Wire, frozen=True):
    """A patch for what a runtime says."""

    template: Annotated[JobSetTemplatePatch, Field(description="Changes to the JobSet's template.")] | UnsetType = UNSET


class RuntimePatch(Wire, frozen=True):
    """What one manager changes of the runtime, for this TrainJob alone."""

    manager: Annotated[
        str,
        Field(
            min_length=1,
            max_length=253,
            description="Who made the patch, as domain/path, such as kueue.x-k8s.io/manager.",
            laws=(IMMUTABLE,),
        ),
    ]
    time: Annotated[Time, Field(description="When the patch last changed; set for you.")] | UnsetType = UNSET
    training_runtime_spec: (
        Annotated[TrainingRuntimeSpecPatch, Field(description="The changes, in the shape of the runtime's spec.")]
        | UnsetType
    ) = UNSET
