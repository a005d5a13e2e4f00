"""Defaults: what a TrainJob or runtime means where it says nothing. The webhook and the embedded API call the same."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from trainplane.api.loose import objects_at, text_at
from trainplane.api.meta import Raw
from trainplane.api.structural import defaulted
from trainplane.api.times import stamp
from trainplane.api.trainer import TrainingRuntime, TrainJob
from trainplane.trainjob.tree import at, put

PATCHES = ("spec", "runtimePatches")
TRAINER = ("spec", "trainer")
NODES = (*TRAINER, "numNodes")
ELASTIC = ("spec", "mlPolicy", "torch", "elasticPolicy")


def runtime(raw: Raw) -> Raw:
    """A runtime with the schema's defaults filled in."""
    filled: Raw = defaulted(TrainingRuntime, raw)
    return filled


def trainjob(raw: Raw, *, now: datetime, old: Raw | None = None, on: Raw | None = None) -> Raw:
    """A TrainJob with its defaults filled in; `old` is what it was before an update, `on` the runtime it names.

    A patch gets the time at which it was made or last changed. A job on an elastic runtime gets its starting size
    written down, so that there is a number to scale.
    """
    filled: Raw = defaulted(TrainJob, raw)
    if patches := list(objects_at(filled, *PATCHES)):
        before = {text_at(patch, "manager"): patch for _, patch in objects_at(old, *PATCHES)}
        for path, patch in patches:
            filled = put(filled, path, timed(dict(patch), before.get(text_at(patch, "manager")), now))
    return sized(filled, old, on)


def sized(job: Raw, old: Raw | None, on: Raw | None) -> Raw:
    """A TrainJob with the size that it begins with on the runtime that it names, or had before an update."""
    if on is None or at(job, NODES) is not None or not isinstance(at(job, TRAINER) or {}, dict):
        return job
    # An update that leaves the size out keeps the one the job has: it must not shrink by accident.
    size = starting_size(on) if old is None else at(old, NODES)
    return job if size is None else put(job, NODES, size)


def timed(patch: Raw, before: Mapping[str, Any] | None, now: datetime) -> Raw:
    """A patch with its time: the old one where nothing else changed, now where it is new or was changed."""
    if before is not None:
        same = time_free(patch) == time_free(before)
        when = before.get("time") if same else stamp(now)
        return {**time_free(patch), "time": when} if when else time_free(patch)
    return patch if patch.get("time") else {**patch, "time": stamp(now)}


def time_free(patch: Mapping[str, Any]) -> Raw:
    """A patch without its time: what counts when two are compared."""
    return {key: value for key, value in patch.items() if key != "time"}


def starting_size(on: Raw) -> int | None:
    """With how many nodes a job on an elastic runtime starts; None where its size cannot change."""
    if at(on, (*ELASTIC, "minNodes")) is None:
        return None
    size: Any = at(on, ("spec", "mlPolicy", "numNodes"))
    return int(size if size is not None else at(on, (*ELASTIC, "minNodes")))
