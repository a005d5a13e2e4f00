"""HorizontalPodAutoscaler of autoscaling/v2 and its metrics."""

from typing import Annotated

from msgspec import UNSET, UnsetType

from trainplane.api.meta import ATOMIC, BY_TYPE, Int32, Int64, LabelSelector, ObjectMeta, Quantity, Time, Wire, always


class CrossVersionObjectReference(Wire, frozen=True):
    """The object that is scaled or measured."""

    kind: str
    name: str
    api_version: str | UnsetType = UNSET


class MetricIdentifier(Wire, frozen=True):
    """A metric by name and labels."""

    name: str
    selector: LabelSelector | UnsetType = UNSET


class MetricTarget(Wire, frozen=True):
    """The value to hold."""

    type: str
    average_utilization: Int32 | UnsetType = UNSET
    average_value: Quantity | UnsetType = UNSET
    value: Quantity | UnsetType = UNSET


class ContainerResourceMetricSource(Wire, frozen=True):
    """A resource of one container of every pod."""

    name: str
    container: str
    target: MetricTarget


class ExternalMetricSource(Wire, frozen=True):
    """A metric from outside the cluster."""

    metric: MetricIdentifier
    target: MetricTarget


class ObjectMetricSource(Wire, frozen=True):
    """A metric of one object."""

    described_object: CrossVersionObjectReference
    metric: MetricIdentifier
    target: MetricTarget


class PodsMetricSource(Wire, frozen=True):
    """A metric of every pod, averaged."""

    metric: MetricIdentifier
    target: MetricTarget


class ResourceMetricSource(Wire, frozen=True):
    """A resource of every pod."""

    name: str
    target: MetricTarget


class MetricSpec(Wire, frozen=True):
    """One metric to scale by; the source named by `type` is set."""

    type: str
    container_resource: ContainerResourceMetricSource | UnsetType = UNSET
    external: ExternalMetricSource | UnsetType = UNSET
    object: ObjectMetricSource | UnsetType = UNSET
    pods: PodsMetricSource | UnsetType = UNSET
    resource: ResourceMetricSource | UnsetType = UNSET


class HPAScalingPolicy(Wire, frozen=True):
    """How much one step may change."""

    type: str
    period_seconds: Int32
    value: Int32


class HPAScalingRules(Wire, frozen=True):
    """How fast to scale in one direction."""

    policies: Annotated[tuple[HPAScalingPolicy, ...], ATOMIC] | UnsetType = UNSET
    select_policy: str | UnsetType = UNSET
    stabilization_window_seconds: Int32 | UnsetType = UNSET
    tolerance: Quantity | UnsetType = UNSET


class HorizontalPodAutoscalerBehavior(Wire, frozen=True):
    """How fast to scale up and down."""

    scale_down: HPAScalingRules | UnsetType = UNSET
    scale_up: HPAScalingRules | UnsetType = UNSET


class HorizontalPodAutoscalerSpec(Wire, frozen=True):
    """What to scale, within which bounds, by which metrics."""

    max_replicas: Int32
    scale_target_ref: CrossVersionObjectReference
    behavior: HorizontalPodAutoscalerBehavior | UnsetType = UNSET
    metrics: Annotated[tuple[MetricSpec, ...], ATOMIC] | UnsetType = UNSET
    min_replicas: Int32 | UnsetType = UNSET


class MetricValueStatus(Wire, frozen=True):
    """The value seen."""

    average_utilization: Int32 | UnsetType = UNSET
    average_value: Quantity | UnsetType = UNSET
    value: Quantity | UnsetType = UNSET


class ContainerResourceMetricStatus(Wire, frozen=True):
    """A container resource as last seen."""

    name: str
    container: str
    current: MetricValueStatus


class ExternalMetricStatus(Wire, frozen=True):
    """An external metric as last seen."""

    current: MetricValueStatus
    metric: MetricIdentifier


class ObjectMetricStatus(Wire, frozen=True):
    """A metric of an object as last seen."""

    current: MetricValueStatus
    described_object: CrossVersionObjectReference
    metric: MetricIdentifier


class PodsMetricStatus(Wire, frozen=True):
    """A metric of pods as last seen."""

    current: MetricValueStatus
    metric: MetricIdentifier


class ResourceMetricStatus(Wire, frozen=True):
    """A pod resource as last seen."""

    name: str
    current: MetricValueStatus


class MetricStatus(Wire, frozen=True):
    """One metric as last seen."""

    type: str
    container_resource: ContainerResourceMetricStatus | UnsetType = UNSET
    external: ExternalMetricStatus | UnsetType = UNSET
    object: ObjectMetricStatus | UnsetType = UNSET
    pods: PodsMetricStatus | UnsetType = UNSET
    resource: ResourceMetricStatus | UnsetType = UNSET


class HorizontalPodAutoscalerCondition(Wire, frozen=True):
    """One observed aspect of the autoscaler."""

    status: str
    type: str
    last_transition_time: Time | UnsetType = UNSET
    message: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET


class HorizontalPodAutoscalerStatus(Wire, frozen=True):
    """What the autoscaler saw and did."""

    desired_replicas: Int32
    conditions: Annotated[tuple[HorizontalPodAutoscalerCondition, ...], BY_TYPE] | UnsetType = UNSET
    current_metrics: Annotated[tuple[MetricStatus, ...], ATOMIC] | UnsetType = UNSET
    current_replicas: Int32 | UnsetType = UNSET
    last_scale_time: Time | UnsetType = UNSET
    observed_generation: Int64 | UnsetType = UNSET


class HorizontalPodAutoscaler(Wire, frozen=True, kw_only=True):
    """A scale kept by metrics."""

    api_version: str = always("autoscaling/v2")
    kind: str = always("HorizontalPodAutoscaler")
    metadata: ObjectMeta = ObjectMeta()
    spec: HorizontalPodAutoscalerSpec
    status: HorizontalPodAutoscalerStatus | UnsetType = UNSET
