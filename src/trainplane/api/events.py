"""Event, in the form of core/v1 and in that of events.k8s.io/v1."""

from msgspec import UNSET, UnsetType

from trainplane.api.meta import Int32, MicroTime, ObjectMeta, Time, Wire, always
from trainplane.api.references import ObjectReference


class EventSource(Wire, frozen=True):
    """Who saw it."""

    component: str | UnsetType = UNSET
    host: str | UnsetType = UNSET


class CoreEventSeries(Wire, frozen=True):
    """How often it happened again."""

    count: Int32 | UnsetType = UNSET
    last_observed_time: MicroTime | UnsetType = UNSET


class CoreEvent(Wire, frozen=True, kw_only=True):
    """Something that happened to an object, as core/v1 tells it."""

    api_version: str = always("v1")
    kind: str = always("Event")
    metadata: ObjectMeta
    involved_object: ObjectReference
    type: str | UnsetType = UNSET
    action: str | UnsetType = UNSET
    count: Int32 | UnsetType = UNSET
    event_time: MicroTime | UnsetType = UNSET
    first_timestamp: Time | UnsetType = UNSET
    last_timestamp: Time | UnsetType = UNSET
    message: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    related: ObjectReference | UnsetType = UNSET
    reporting_component: str | UnsetType = UNSET
    reporting_instance: str | UnsetType = UNSET
    series: CoreEventSeries | UnsetType = UNSET
    source: EventSource | UnsetType = UNSET


class EventSeries(Wire, frozen=True):
    """How often it happened again."""

    count: Int32
    last_observed_time: MicroTime


class Event(Wire, frozen=True):
    """Something that happened to an object."""

    api_version: str = always("events.k8s.io/v1")
    kind: str = always("Event")
    metadata: ObjectMeta = ObjectMeta()
    # The schema requires it, but an event recorded through core/v1 has null here, and must be readable.
    event_time: MicroTime | UnsetType = UNSET
    type: str | UnsetType = UNSET
    action: str | UnsetType = UNSET
    deprecated_count: Int32 | UnsetType = UNSET
    deprecated_first_timestamp: Time | UnsetType = UNSET
    deprecated_last_timestamp: Time | UnsetType = UNSET
    deprecated_source: EventSource | UnsetType = UNSET
    note: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    regarding: ObjectReference | UnsetType = UNSET
    related: ObjectReference | UnsetType = UNSET
    reporting_controller: str | UnsetType = UNSET
    reporting_instance: str | UnsetType = UNSET
    series: EventSeries | UnsetType = UNSET
