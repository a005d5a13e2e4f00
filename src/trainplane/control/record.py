"""Record: Events about objects; what is said again and again becomes a series of one."""

from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Protocol, TypeAlias

import msgspec

from trainplane.api.kinds import Kind
from trainplane.api.meta import Raw, micro_time
from trainplane.cluster.client import Client, Patch
from trainplane.cluster.errors import AlreadyExists, ApiError, NotFound
from trainplane.control.live import Live
from trainplane.control.metrics import Metrics
from trainplane.reconcile.decision import Record
from trainplane.reconcile.view import Ref

ACTION = "Reconciling"
LONGEST_NOTE = 1024
LONGEST_NAME = 220
"""Of the object's name, as much as leaves room for what tells its events apart."""
SERIES = timedelta(minutes=6)
"""How long after the last time the same words belong to the same series."""
QUIET = timedelta(seconds=10)
"""How long a count that has not doubled may be out of date, so that a storm of events is not one of writes."""
MOST = 4096
"""How many series are remembered."""
TRIES = 5
"""How many names are tried; another process may have made an Event at the same moment."""

_Words: TypeAlias = tuple[Ref, str, str, str, str, str]


class Clock(Protocol):
    """What tells the time: the module `clock`, or a virtual one."""

    def now(self) -> datetime:
        """The time, in UTC."""
        ...


class _Series(msgspec.Struct):
    """An Event that was made, and how often it happened."""

    ref: Ref
    last: datetime
    told: datetime
    count: int = 1


class Recorder:
    """Makes Events. They are a courtesy: one that the API does not take is counted and let go."""

    def __init__(
        self,
        client: Client,
        live: Live,
        clock: Clock,
        *,
        kinds: Mapping[tuple[str, str], Kind],
        metrics: Metrics,
        instance: str = "trainplane",
    ) -> None:
        """`instance` names this process among others that run the same controllers."""
        self._client = client
        self._live = live
        self._clock = clock
        self._kinds = kinds
        self._metrics = metrics
        self._instance = instance
        self._series: OrderedDict[_Words, _Series] = OrderedDict()
        self._last_number = 0

    async def record(self, said: Record, *, by: str) -> None:
        """Make the Event, or count it once more where it was made a short while ago."""
        about, now = self._regarding(said.regarding), self._clock.now()
        words = (said.regarding, about.get("uid", ""), said.type, said.reason, said.note, by)
        series = self._series.get(words)
        try:
            if series and now - series.last <= SERIES and await self._repeated(series, now, by=by):
                self._series.move_to_end(words)
                return
            ref = await self._made(said, about, now=now, by=by)
            self._metrics.writes.add(by, "create", "Event")
        except (ApiError, OSError):
            self._metrics.lost_events.add(by)
            return
        self._series[words] = _Series(ref, last=now, told=now)
        self._series.move_to_end(words)
        while len(self._series) > MOST:
            self._series.popitem(last=False)

    async def _repeated(self, series: _Series, now: datetime, *, by: str) -> bool:
        """Count an Event once more; False where it is gone."""
        series.count += 1
        series.last = now
        doubled = series.count.bit_count() == 1
        if not doubled and now - series.told < QUIET:
            return True
        series.told = now
        patch = {"series": {"count": series.count, "lastObservedTime": micro_time(now)}}
        try:
            await self._client.patch(series.ref, Patch.merge(patch))
        except NotFound:
            return False
        self._metrics.writes.add(by, "patch", "Event")
        return True

    async def _made(self, said: Record, about: Raw, *, now: datetime, by: str) -> Ref:
        namespace = said.regarding.namespace or "default"
        event: Raw = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "eventTime": micro_time(now),
            "type": said.type,
            "reason": said.reason,
            "action": ACTION,
            "note": _shortened(said.note),
            "regarding": about,
            "reportingController": by,
            "reportingInstance": self._instance,
        }
        for _ in range(TRIES):
            name = f"{said.regarding.name[:LONGEST_NAME]}.{self._number(now):x}"
            with suppress(AlreadyExists):
                made = await self._client.create({**event, "metadata": {"name": name, "namespace": namespace}})
                return Ref.of(made)
        raise AlreadyExists.of("events.events.k8s.io", name)

    def _number(self, now: datetime) -> int:
        """A number that no other Event of this process has, and that grows with time."""
        self._last_number = max(self._last_number + 1, int(now.timestamp() * 1_000_000) * 1_000)
        return self._last_number

    def _regarding(self, ref: Ref) -> Raw:
        raw, row = self._live.get(ref), self._kinds.get((ref.group, ref.kind))
        about = {"kind": ref.kind, "namespace": ref.namespace, "name": ref.name}
        about["apiVersion"] = raw["apiVersion"] if raw else row.api_version if row else ref.group
        for field in ("uid", "resourceVersion"):
            about[field] = (raw or {}).get("metadata", {}).get(field, "")
        return {name: value for name, value in about.items() if value}


def _shortened(note: str) -> str:
    """A note that an API server takes: it counts bytes."""
    said = note.encode()
    if len(said) <= LONGEST_NOTE:
        return note
    return said[: LONGEST_NOTE - len("…".encode())].decode(errors="ignore") + "…"
