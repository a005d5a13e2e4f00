"""What the API server refuses in events: those of events.k8s.io say more, and only their series can change."""

from collections.abc import Iterator
from typing import Any

from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.cluster.causes import Cause, invalid, required
from trainplane.cluster.go_structs import as_go
from trainplane.cluster.names import key_faults, path_name_faults, subdomain_faults

_TYPES = ("Normal", "Warning")
_LONGEST = 128
_LONGEST_NOTE = 1024
_OLD_WORDS = ("firstTimestamp", "lastTimestamp", "count", "source")
"""What events had before they were of events.k8s.io."""
_TEXTS = ("reason", "message", "type", "action", "reportingInstance")
_TIMES = ("firstTimestamp", "lastTimestamp", "eventTime")
_STRUCTS = {"involvedObject": "ObjectReference", "related": "ObjectReference", "source": "EventSource"}


def event_causes(new: Raw, _: Raw | None, __: str) -> Iterator[Cause]:
    """What is wrong with an event of the core group."""
    yield from _any_style(new, "reportingComponent")


def new_event_causes(new: Raw, old: Raw | None) -> Iterator[Cause]:
    """What is wrong with an event of events.k8s.io, in the words of the core group, in which it is stored."""
    name = new["metadata"].get("name") or ""
    for fault in subdomain_faults(name) if old is None and name and not any(path_name_faults(name)) else ():
        yield invalid("metadata.name", name, fault)
    yield from _any_style(new, "reportingController")
    if old is None or new.get("series") != old.get("series"):
        yield from _series_causes(new.get("series"))
    if old is not None:
        yield from _change_causes(new, old)
        return
    if not new.get("eventTime"):
        yield required("eventTime")
    if new.get("type") not in _TYPES:
        yield _bad("type", f"has invalid value: {new.get('type') or ''}")
    for name in _OLD_WORDS:
        if new.get(name):
            yield _bad(name, "needs to be unset")


def _any_style(new: Raw, controller: str) -> Iterator[Cause]:
    """What is wrong with an event whichever way it is written; one that has a time of its own says more."""
    place, home = look(new, "involvedObject", "namespace") or "", new["metadata"].get("namespace", "")
    if not new.get("eventTime"):
        if place != home and not (not place and home == "default"):
            yield invalid("involvedObject.namespace", place, "does not match event.namespace")
        return
    if not place and home not in ("default", "kube-system"):
        yield invalid("involvedObject.namespace", place, "does not match event.namespace")
    who = new.get("reportingComponent") or ""
    if not who:
        yield required(controller)
    for fault in key_faults(who):
        yield invalid(controller, who, fault)
    for name in ("reportingInstance", "action", "reason"):
        if not new.get(name):
            yield required(name)
        elif len(new[name].encode()) > _LONGEST:
            yield _bad(name, f"can have at most {_LONGEST} characters")
    if len((new.get("message") or "").encode()) > _LONGEST_NOTE:
        yield _bad("message", f"can have at most {_LONGEST_NOTE} characters")


def _series_causes(series: Raw | None) -> Iterator[Cause]:
    if series is None:
        return
    if (series.get("count") or 0) < 2:
        yield _bad("series.count", "should be at least 2")
    if not series.get("lastObservedTime"):
        yield required("series.lastObservedTime")


def _change_causes(new: Raw, old: Raw) -> Iterator[Cause]:
    fixed: dict[str, Any] = {name: as_go(new.get(name), type_) for name, type_ in _STRUCTS.items()}
    fixed |= {name: new.get(name) or "" for name in _TEXTS} | {name: new.get(name) for name in _TIMES}
    fixed["count"] = new.get("count") or 0
    for name, shown in fixed.items():
        if (new.get(name) or None) != (old.get(name) or None):
            yield invalid(name, shown, "field is immutable")
    who, was = new.get("reportingComponent") or "", old.get("reportingComponent") or ""
    if who != was:
        yield invalid("reportingController", who, "field is immutable")


def _bad(field: str, words: str) -> Cause:
    # The API server shows no value of these fields.
    return invalid(field, "", words)
