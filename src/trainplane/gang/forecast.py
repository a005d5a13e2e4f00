"""Forecast: where everybody stands in line, and when each will have room if nothing new comes and ends are as expected.

It is the scheduler itself that decides here, again and again, in a world where pods leave when they are expected to.
"""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

from trainplane.api.jobset import JOBSET_NAME
from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.api.ref import Ref
from trainplane.gang.fit import FINISHED
from trainplane.gang.gangs import Gang, gangs
from trainplane.gang.ledger import Ledger
from trainplane.gang.queue import Queues
from trainplane.gang.reserve import moment
from trainplane.gang.schedule import SCHEDULERS, Scheduler
from trainplane.reconcile.decision import Bind, Delete
from trainplane.reconcile.view import View

SILENT = timedelta(days=365)
"""Nobody is told anything in a world that is only thought of."""
STEPS = 200
READS = 400_000
"""How many objects are looked at in all: a forecast of a large cluster takes fewer steps."""

CLOSE = timedelta(seconds=1)
LOOKED_AT = frozenset({"Namespace", "Node", "PersistentVolumeClaim", "PodGroup", "PriorityClass", "Queue"})
"""What the scheduler looks at besides pods."""

Owner = tuple[str, str]
"""Namespace and name of the JobSet, and so of the TrainJob, of a pod; of the pod where it has none."""


class End(NamedTuple):
    """When a pod is expected to end, and what that is judged by."""

    at: datetime
    source: str


Ends = Callable[[Raw, datetime], End | None]
"""When a pod that starts at a time is expected to end; None where that is not known."""


class Turn(NamedTuple):
    """A place in line: the queue, the position from 1, and how many wait there."""

    queue: str
    position: int
    of: int


class Start(NamedTuple):
    """When there will be room, and what that is judged by."""

    at: datetime
    sources: tuple[str, ...]


def owner_of(pod: Raw) -> Owner:
    """Whose pod it is."""
    metadata = pod["metadata"]
    name = look(metadata, "labels", JOBSET_NAME) or metadata["name"]
    return str(metadata.get("namespace", "")), str(name)


def line(view: View) -> dict[Owner, Turn]:
    """Who stands where in which queue; those that cannot be tried at all stand nowhere."""
    ledger = Ledger()
    ledger.refresh(view)
    queues = Queues(view, ledger)
    waiting = [
        gang for gang in gangs(ledger, view, {}, schedulers=SCHEDULERS) if not gang.trouble and not queues.trouble(gang)
    ]
    lines: dict[str, dict[Owner, None]] = {}
    for gang in sorted(waiting, key=lambda gang: gang.order):
        lines.setdefault(gang.queue, {}).setdefault(_owner(gang))
    return {
        owner: Turn(queue, position, len(owners))
        for queue, owners in lines.items()
        for position, owner in enumerate(owners, start=1)
    }


def _owner(gang: Gang) -> Owner:
    return owner_of(gang.waiting[0].raw)


def forecast(objects: Iterable[Raw], now: datetime, *, ends: Ends) -> dict[Owner, Start]:
    """When those who wait will have room; those for whom that cannot be told are left out.

    A pod whose end is not known stays for ever, so that nobody is promised what it holds. Ends that lie close together,
    for how far off they are, count as one: a forecast is no more exact than that anyway.
    """
    world, begin = _World(list(objects), ends), now
    for _ in range(max(3, min(STEPS, READS // (len(world.others) + len(world.pods) + 1)))):
        world.place(now)
        if not world.wait or not world.leaving:
            break
        now = max(now, world.leaving[0][0])
        world.leave(now + max(CLOSE, (now - begin) / 50))
    return world.starts


class _World:
    """A cluster as it may become."""

    def __init__(self, objects: list[Raw], ends: Ends) -> None:
        self.ends = ends
        self.others = [raw for raw in objects if raw.get("kind") in LOOKED_AT]
        self.pods: dict[Ref, Raw] = {}
        self.leaving: list[tuple[datetime, int, Ref, str]] = []
        self.numbers = count()
        self.starts: dict[Owner, Start] = {}
        self.sources: dict[str, None] = {}
        self.scheduler = Scheduler(patience=SILENT)
        for raw in objects:
            if raw.get("kind") == "Pod" and look(raw, "status", "phase") not in FINISHED:
                self.pods[Ref.of(raw)] = raw
                if look(raw, "spec", "nodeName"):
                    started = look(raw, "status", "startTime") or raw["metadata"].get("creationTimestamp")
                    self._expect(Ref.of(raw), moment(started) if started else None)

    @property
    def wait(self) -> bool:
        """Whether anybody still has no node."""
        return any(not look(raw, "spec", "nodeName") for raw in self.pods.values())

    def place(self, now: datetime) -> None:
        """Let the scheduler bind whom it can, and send away whom it would."""
        decision = self.scheduler.schedule(View([*self.others, *self.pods.values()]), now)
        for action in decision.actions:
            if isinstance(action, Bind):
                raw = self.pods[action.pod]
                status = {**(raw.get("status") or {}), "phase": "Running", "startTime": now.isoformat()}
                self.pods[action.pod] = {**raw, "spec": {**raw["spec"], "nodeName": action.node}, "status": status}
                self.starts.setdefault(owner_of(raw), Start(now, tuple(self.sources)))
                self._expect(action.pod, now)
            elif isinstance(action, Delete) and action.ref.kind == "Pod":
                self.pods.pop(action.ref, None)

    def leave(self, now: datetime) -> None:
        """Let those go whose time has come."""
        while self.leaving and self.leaving[0][0] <= now:
            _, _, ref, source = heappop(self.leaving)
            if self.pods.pop(ref, None) is not None:
                self.sources.setdefault(source)

    def _expect(self, ref: Ref, started: datetime | None) -> None:
        end = self.ends(self.pods[ref], started) if started else None
        if end is not None:
            heappush(self.leaving, (end.at, next(self.numbers), ref, end.source))
