"""The status of a TrainJob: upstream's conditions and counts, and beside them a summary for people."""

from typing import Annotated, ClassVar

from msgspec import UNSET, UnsetType

from trainplane.api.meta import ATOMIC, BY_NAME, BY_TYPE, Condition, Field, Int32, Law, Time, Wire

STATES = ("Created", "Suspended", "Pending", "Starting", "Running", "Complete", "Failed")
"""The values of `status.summary.state`, in the order a job passes through them."""

_UPDATED_WHEN = Law(
    cel="has(self.lastUpdatedTime)",
    message="trainerStatus must say when it was last updated",
    holds=lambda status, _: "lastUpdatedTime" in status,
    todo="give lastUpdatedTime, the time of the trainer's report",
)


_Count = Annotated[Int32, Field(minimum=0)]


class ReplicatedJobStatus(Wire, frozen=True):
    """How many Jobs of one replicated job are in which state."""

    name: Annotated[str, Field(min_length=1, max_length=253, description="The name of the replicated job.")]
    ready: Annotated[_Count, Field(description="Jobs whose pods are all ready or have succeeded.")]
    succeeded: Annotated[_Count, Field(description="Jobs that have succeeded.")]
    failed: Annotated[_Count, Field(description="Jobs that have failed.")]
    active: Annotated[_Count, Field(description="Jobs with pods that wait or run.")]
    suspended: Annotated[_Count, Field(description="Jobs that are suspended.")]


class Metric(Wire, frozen=True):
    """One figure that the trainer reported."""

    name: Annotated[str, Field(min_length=1, max_length=64, description="What was measured.")]
    value: Annotated[str, Field(min_length=1, max_length=64, description="Its latest value, as text.")]


class TrainerStatus(Wire, frozen=True):
    """What the trainer itself reported."""

    SCHEMA: ClassVar[Field] = Field(laws=(_UPDATED_WHEN,))

    progress_percentage: (
        Annotated[Int32, Field(minimum=0, maximum=100, description="How much of the training is done, in percent.")]
        | UnsetType
    ) = UNSET
    estimated_remaining_seconds: (
        Annotated[Int32, Field(minimum=0, description="How long the trainer expects to need still.")] | UnsetType
    ) = UNSET
    metrics: (
        Annotated[tuple[Metric, ...], ATOMIC, Field(max_items=256, description="Figures such as loss or accuracy.")]
        | UnsetType
    ) = UNSET
    last_updated_time: Annotated[Time, Field(description="When the trainer reported this.")] | UnsetType = UNSET


class Summary(Wire, frozen=True):
    """A TrainJob's state in words for people."""

    state: Annotated[str, Field(enum=STATES, description="Where the job stands.")]
    reason: Annotated[str, Field(max_length=1024, description="Why, in one word.")] | UnsetType = UNSET
    message: (
        Annotated[str, Field(max_length=32768, description="Why, in a sentence, and what can be done about it.")]
        | UnsetType
    ) = UNSET
    since: Annotated[Time, Field(description="Since when the job has been in this state.")] | UnsetType = UNSET
    start_time: Annotated[Time, Field(description="When the first of the trainer's pods started.")] | UnsetType = UNSET
    completion_time: Annotated[Time, Field(description="When the job completed or failed.")] | UnsetType = UNSET
    nodes: (
        Annotated[Int32, Field(minimum=0, description="How many nodes it trains on, whoever said so.")] | UnsetType
    ) = UNSET
    restarts: (
        Annotated[Int32, Field(minimum=0, description="How often the job as a whole was started again.")] | UnsetType
    ) = UNSET


class TrainJobStatus(Wire, frozen=True):
    """How far a TrainJob has come."""

    SCHEMA: ClassVar[Field] = Field(min_properties=1)

    conditions: (
        Annotated[
            tuple[Condition, ...],
            BY_TYPE,
            Field(max_items=8, description="Suspended, Complete and Failed, once they have been decided."),
        ]
        | UnsetType
    ) = UNSET
    jobs_status: (
        Annotated[
            tuple[ReplicatedJobStatus, ...],
            BY_NAME,
            Field(max_items=100, description="The Jobs of each replicated job, counted by state."),
        ]
        | UnsetType
    ) = UNSET
    trainer_status: (
        Annotated[TrainerStatus, Field(description="Progress and figures that the trainer reported.")] | UnsetType
    ) = UNSET
    summary: Annotated[Summary, Field(description="The job's state in words, kept true at all times.")] | UnsetType = (
        UNSET
    )
    nodes: (
        Annotated[Int32, Field(minimum=0, description="How many nodes the trainer has now; read by autoscalers.")]
        | UnsetType
    ) = UNSET
    selector: (
        Annotated[str, Field(max_length=4096, description="The labels of the trainer's pods; read by autoscalers.")]
        | UnsetType
    ) = UNSET
