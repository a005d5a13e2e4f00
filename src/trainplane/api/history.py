"""TrainJobRecord: what is kept of a TrainJob that has ended, after the TrainJob itself is gone."""

from collections.abc import Mapping
from typing import Annotated

from msgspec import UNSET, UnsetType

from trainplane.api.meta import Field, Int32, Int64, ObjectMeta, Quantity, Time, Wire, always

GROUP = "trainplane.dev"
API_VERSION = f"{GROUP}/v1alpha1"
KIND = "TrainJobRecord"
DELETED = "Deleted"
OUTCOMES = ("Complete", "Failed", DELETED)


class RecordedTrainJob(Wire, frozen=True):
    """The TrainJob that a record is about."""

    name: Annotated[str, Field(min_length=1, max_length=253, description="Its name.")]
    uid: Annotated[str, Field(min_length=1, max_length=128, description="Its uid: names are used again.")]


class RecordedRuntime(Wire, frozen=True):
    """The runtime that a TrainJob ran on."""

    name: Annotated[str, Field(min_length=1, max_length=253, description="Its name.")]
    kind: Annotated[str, Field(max_length=63, description="ClusterTrainingRuntime, or one of the namespace.")]


class TrainJobRecordSpec(Wire, frozen=True, kw_only=True):
    """How a TrainJob ended, when, and what it took."""

    train_job: Annotated[RecordedTrainJob, Field(description="The TrainJob that ended.")]
    outcome: Annotated[str, Field(enum=OUTCOMES, description="How it ended.")]
    reason: Annotated[str, Field(max_length=1024, description="Why, in one word.")] | UnsetType = UNSET
    message: Annotated[str, Field(max_length=32768, description="Why, in a sentence.")] | UnsetType = UNSET
    submitter: (
        Annotated[str, Field(max_length=1024, description="Who made it; left out for administrators.")] | UnsetType
    ) = UNSET
    runtime: Annotated[RecordedRuntime, Field(description="The runtime that it ran on.")] | UnsetType = UNSET
    nodes: Annotated[Int32, Field(minimum=0, description="How many nodes it trained on.")] | UnsetType = UNSET
    restarts: (
        Annotated[Int32, Field(minimum=0, description="How often the job as a whole was started again.")] | UnsetType
    ) = UNSET
    creation_time: Annotated[Time, Field(description="When the TrainJob was made.")] | UnsetType = UNSET
    start_time: Annotated[Time, Field(description="When training began; left out if it never did.")] | UnsetType = UNSET
    completion_time: Annotated[Time, Field(description="When it completed, failed or was deleted.")]
    wait_seconds: (
        Annotated[Int64, Field(minimum=0, description="From the creation, or the last resume, to the start.")]
        | UnsetType
    ) = UNSET
    run_seconds: Annotated[Int64, Field(minimum=0, description="From the start to the end.")] | UnsetType = UNSET
    resource_seconds: (
        Annotated[Mapping[str, Quantity], Field(description="What its pods asked for, times the seconds they held it.")]
        | UnsetType
    ) = UNSET


class TrainJobRecord(Wire, frozen=True, kw_only=True):
    """What is kept of a TrainJob that has ended; nothing changes it."""

    api_version: str = always(API_VERSION)
    kind: str = always(KIND)
    metadata: ObjectMeta = ObjectMeta()
    spec: Annotated[TrainJobRecordSpec, Field(description="How the TrainJob ended, when, and what it took.")]
