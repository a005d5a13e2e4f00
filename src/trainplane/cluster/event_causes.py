"""What the API server refuses in events: those of events.k8s.io say more, and cannot change."""

from collections.abc import Iterator

from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.cluster.causes import Cause, invalid, required
from trainplane.cluster.names import key_faults, path_name_faults, subdomain_faults

_TYPES = ("Normal", "Warning")
_LONGEST = 128
_LONGEST_NOTE = 1024
_FIXED = ("message", "reason", "action", "type", "reportingComponent", "reportingInstance", "eventTime")


def event_causes(new: Raw, old: Raw | None, _: str) -> Iterator[Cause]:
    """What is wrong with an event of the core group."""
    yield from _place_causes(new)
    if new.get("eventTime") and old is None:
        yield from _new_style(new, "reportingComponent")


def new_event_causes(new: Raw, old: Raw | None) -> Iterator[Cause]:
    """What is wrong with an event of events.k8s.io, in the words of the core group, in which it is stored."""
    name = new["metadata"].get("name") or ""
    for fault in subdomain_faults(name) if old is None and name and not any(path_name_faults(name)) else ():
        yield invalid("metadata.name", name, fault)
    yield from _place_causes(new)
    if not new.get("eventTime"):
        yield required("eventTime")
    elif old is None:
        yield from _new_style(new, "reportingController")
        yield from _strict_causes(new)
    for name in _FIXED if old is not None else ():
        if new.get(name) != (old or {}).get(name):
            yield invalid(name, new.get(name, ""), "field is immutable")


def _place_causes(new: Raw) -> Iterator[Cause]:
    place, home = look(new, "involvedObject", "namespace") or "", new["metadata"].get("namespace", "")
    if place != home and not (not place and home == "default") and not (place and new.get("eventTime")):
        yield invalid("involvedObject.namespace", place, "does not match event.namespace")


def _strict_causes(new: Raw) -> Iterator[Cause]:
    for name in ("reportingInstance", "action", "reason"):
        if len((new.get(name) or "").encode()) > _LONGEST:
            yield _bad(name, f"can have at most {_LONGEST} characters")
    if new.get("type") not in _TYPES:
        yield _bad("type", f"has invalid value: {new.get('type') or ''}")
    if len((new.get("message") or "").encode()) > _LONGEST_NOTE:
        yield _bad("message", f"can have at most {_LONGEST_NOTE} characters")
    series = new.get("series")
    if series is not None:
        if (series.get("count") or 0) < 2:
            yield _bad("series.count", "should be at least 2")
        if not series.get("lastObservedTime"):
            yield required("series.lastObservedTime")
    for name in ("firstTimestamp", "lastTimestamp", "count", "source"):
        if new.get(name):
            yield _bad(name, "needs to be unset")


def _new_style(new: Raw, controller: str) -> Iterator[Cause]:
    who = new.get("reportingComponent") or ""
    if not who:
        yield required(controller)
    for fault in key_faults(who):
        yield invalid(controller, who, fault)
    for name in ("reportingInstance", "action", "reason"):
        if not new.get(name):
            yield required(name)


def _bad(field: str, words: str) -> Cause:
    # The API server shows no value of these fields.
    return invalid(field, "", words)
