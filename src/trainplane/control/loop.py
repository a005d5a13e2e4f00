"""The loop: a change wakes a key, the key is looked at, and what its controller decides is done; in one TaskGroup."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from functools import partial

from trainplane.api.kinds import DIALECT_KINDS, KINDS, Kind
from trainplane.api.meta import Raw
from trainplane.cluster.client import Client
from trainplane.control.act import Actor
from trainplane.control.echoes import Echoes
from trainplane.control.failure import Failure
from trainplane.control.live import HOT, Live
from trainplane.control.metrics import Labels, Metrics
from trainplane.control.queue import BackOff, Queue
from trainplane.control.record import Clock, Recorder
from trainplane.control.reflector import Reflector, Scope
from trainplane.control.unseen import PATIENCE, Key, Unseen
from trainplane.control.waking import Audience, Happening, Interest, Sort, interests, is_last_to_end, owners, wakened
from trainplane.reconcile.controller import Controller, at_once
from trainplane.reconcile.decision import Create, Decision, Record, SetStatus
from trainplane.reconcile.view import Ref

WORKERS = 4
"""How many keys of a controller are looked at at once; while one waits for a write, another is decided on."""
CALM = 0.05
"""Seconds between two writes of a status: what happens to a hundred pods at once is told once, not a hundred times."""
SOON = 0.1
"""Seconds within which what is due counts as being done; no Controller may let a change settle longer."""
FAILED = "ReconcileFailed"
STATES = ("trainer.kubeflow.org", "TrainJob")

_log = logging.getLogger(__name__)


class Loop:
    """Controllers, what they see, and what they have to do."""

    def __init__(
        self,
        controllers: Sequence[Controller],
        client: Client,
        clock: Clock,
        *,
        scopes: Mapping[Sort, Scope],
        kinds: Iterable[Kind] = (*KINDS, *DIALECT_KINDS),
        metrics: Metrics | None = None,
        instance: str = "trainplane",
        back_off: BackOff | None = None,
        hot: int = HOT,
    ) -> None:
        """`scopes` narrows what is watched of a kind; kinds that are not in it are watched whole.

        `hot` is how many objects the View keeps decoded at least.
        """
        time = asyncio.get_running_loop().time
        rows: dict[Sort, Kind] = {}
        for row in kinds:
            rows.setdefault((row.group, row.kind), row)
        self.controllers = controllers
        self.live = Live(hot=hot)
        self.metrics = metrics or Metrics()
        self._time = time
        self._clock = clock
        self._rows = rows
        self._unseen = Unseen(self.live, time)
        self._echoes = Echoes(self._unseen)
        recorder = Recorder(client, self.live, clock, kinds=rows, metrics=self.metrics, instance=instance)
        self._actor = Actor(
            client,
            self.live,
            unseen=self._unseen,
            echoes=self._echoes,
            recorder=recorder,
            metrics=self.metrics,
            clock=clock,
        )
        self._calm: dict[Key, float] = {}
        """Until when a key is left alone whose status was just written, or whose controller asks for a pause."""
        self._awaited: set[Key] = set()
        """What has come to its end, and is not left alone."""
        self._held: set[Key] = set()
        """Whose status was left to the next look."""
        self._gone: dict[Key, Raw] = {}
        """What was deleted, for those who want to hear of it."""
        self.queues = {each.name: Queue[Ref](time, back_off=back_off) for each in controllers}
        if len(self.queues) < len(controllers):
            raise ValueError("every controller needs a name of its own")
        self.reflectors = [
            Reflector(
                scopes.get(sort) or Scope(self._row(sort, interested)),
                client,
                self.live,
                unseen=self._unseen,
                echoes=self._echoes,
                tell=partial(self._tell, Audience(interested, self.live)),
                back_off=back_off,
            )
            for sort, interested in interests(controllers).items()
        ]
        self._measure()

    async def run(self, *, workers: int = WORKERS) -> None:
        """Run until cancelled. A fault of the machinery surfaces and ends it; one of a controller does not."""
        async with asyncio.TaskGroup() as tasks:
            for reflector in self.reflectors:
                tasks.create_task(reflector.run(), name=f"watch {reflector.scope.kind.resource}")
            # Who decides before everything was seen would take what it has not seen for missing.
            for reflector in self.reflectors:
                await reflector.synced.wait()
            for controller in self.controllers:
                if not controller.kind:
                    self.queues[controller.name].add(Ref("", "", "", controller.name))
                for i in range(workers):
                    tasks.create_task(self._work(controller), name=f"{controller.name} {i}")

    @property
    def is_idle(self) -> bool:
        """Whether nobody has anything to do now, or soon, or waits for what was written."""
        now = self._time()
        queues = self.queues.values()
        busy = any(len(queue) or queue.running or is_soon(queue.next_due, now) for queue in queues)
        return not busy and not len(self._unseen) and all(until <= now for until in self._calm.values())

    def _row(self, sort: Sort, interested: Iterable[Interest]) -> Kind:
        row = self._rows.get(sort)
        if row is None:
            names = ", ".join(each.controller.name for each in interested)
            raise ValueError(f"{names}: there is no kind {sort[1]} in the group {sort[0] or 'core'!r}")
        return row

    def _tell(self, audience: Audience, before: Raw | None, after: Raw | None) -> None:
        happening = Happening.of(before, after)
        version, now = happening.version, self._time()
        mine = self._echoes.heard(version)
        for interest in audience.of(happening):
            controller = interest.controller
            name = controller.name
            if before is not None and after is None and interest.is_its_own and controller.outlives:
                self._gone[name, happening.ref] = before
            try:
                for ref in (refs := wakened(interest, happening, view=self.live, rows=self._rows)):
                    rest = interest.rest
                    if controller.ripe is not at_once and interest.is_its_own and after:
                        rest = controller.ripe(after, self._clock.now()).total_seconds()
                    key = (name, ref)
                    if key != mine and not self._echoes.is_put_aside(key, version, due=now + rest):
                        self.queues[name].add(ref, after=rest)
                if interest.owns and refs and is_last_to_end(before, after, self.live):
                    # Somebody waits for this, and nothing more can come with it.
                    for ref in owners(controller, after or {}, self._rows):
                        self._awaited.add((name, ref))
                        self.queues[name].add(ref)
            except Exception as error:  # noqa: BLE001 - a controller's fault, whatever it is, must not end the watch
                self._fault(controller, error, f"when {happening.ref.kind} {happening.ref.name} changed")

    async def _work(self, controller: Controller) -> None:
        queue = self.queues[controller.name]
        while True:
            ref = await queue.get()
            written = self._actor.written
            try:
                await self._look(controller, queue, ref)
            finally:
                queue.done(ref)
            if self._actor.written == written:
                # A look that wrote nothing has not let anybody else have a turn yet.
                await asyncio.sleep(0)

    async def _look(self, controller: Controller, queue: Queue[Ref], ref: Ref) -> None:
        """Decide about one object and do it."""
        key = (controller.name, ref)
        if self._unseen.is_behind(key, caught_up=partial(queue.add, ref)):
            queue.add(ref, after=PATIENCE)
            return
        began = self._time()
        rest = self._calm.get(key, began) - began
        if rest > 0 and key not in self._awaited:
            queue.add(ref, after=rest)
            return
        self._calm.pop(key, None)
        self._awaited.discard(key)
        gone = self._gone.pop(key, None)
        raw = gone or (self.live.get(ref) if ref.kind else {})
        if raw is None:
            queue.forget(ref)
            self._held.discard(key)
            return
        try:
            decision = self._batched(key, controller.reconcile(raw, self.live, self._clock.now()))
            failed = await self._act(controller, ref, decision) if decision.actions else None
        except Exception as error:  # noqa: BLE001 - a controller's fault, whatever it is, must not take the others down
            self._fault(controller, error, f"at {ref.kind} {ref.namespace}/{ref.name}")
            queue.retry(ref)
            if ref.kind:
                note = f"the {controller.name} controller failed and tries again; please report this: {fault(error)}"
                await self._actor.record(controller, Record(ref, "Warning", FAILED, note))
            return
        self.metrics.reconciles.observe(self._time() - began, controller.name)
        # What is refused for one that is gone, as in a namespace that goes too, is never allowed later.
        if failed and not (gone and failed.is_refusal):
            self.metrics.errors.add(controller.name, failed.name)
            if gone:
                self._gone.setdefault(key, gone)
            queue.retry(ref, at_least=failed.retry_after)
            return
        queue.forget(ref)
        if gone:
            # Another may have come in its place.
            queue.add(ref)
            return
        told = key in self._held or any(isinstance(action, SetStatus) for action in decision.actions)
        if rest := max(CALM if told else 0.0, controller.pause):
            self._calm[key] = self._time() + rest
        if decision.again is not None:
            # Who wants to look again at once would keep everybody else from it.
            queue.add(ref, after=max(decision.again.total_seconds(), CALM))

    async def _act(self, controller: Controller, ref: Ref, decision: Decision) -> Failure | None:
        """Carry out a Decision; who asks for a look meanwhile is heard after it, unless it is an echo of it."""
        key, final = (controller.name, ref), False
        self._echoes.begin(key)
        try:
            failed = await self._actor.act(controller, ref, decision)
            final = decision.final and failed is None
            return failed
        finally:
            for due in self._echoes.end(key, final=final):
                self.queues[controller.name].add(ref, after=max(0.0, due - self._time()))

    def _batched(self, key: Key, decision: Decision) -> Decision:
        """The Decision, its status left to the next look where what is made now will change it again, but only once."""
        last = decision.actions[-1] if decision.actions else None
        may_wait = isinstance(last, SetStatus) and last.can_wait and key not in self._held
        if not may_wait or not any(isinstance(action, Create) for action in decision.actions):
            self._held.discard(key)
            return decision
        self._held.add(key)
        soon = timedelta(seconds=CALM)
        return Decision(decision.actions[:-1], soon if decision.again is None else min(soon, decision.again))

    def _fault(self, controller: Controller, error: Exception, where: str) -> None:
        self.metrics.errors.add(controller.name, type(error).__name__)
        _log.error("the %s controller failed %s", controller.name, where, exc_info=error)

    def _measure(self) -> None:
        def each(count: Callable[[Queue[Ref]], int]) -> Mapping[Labels, float]:
            return {(name,): count(queue) for name, queue in self.queues.items()}

        by, gauge = ("controller",), self.metrics.gauge
        gauge("trainplane_queue_depth", "Keys that wait for a look.", labels=by, read=lambda: each(len))
        gauge("trainplane_queue_later", "Keys to be looked at later.", labels=by, read=lambda: each(lambda q: q.later))
        gauge("trainplane_jobs", "TrainJobs by state.", labels=("state",), read=lambda: states(self.live))


async def run(
    controllers: Sequence[Controller],
    client: Client,
    clock: Clock,
    *,
    workers: int = WORKERS,
    scopes: Iterable[Scope] = (),
    metrics: Metrics | None = None,
    instance: str = "trainplane",
) -> None:
    """Run controllers until cancelled.

    `scopes` narrow what is watched of a kind, as an operator does on somebody else's cluster; `instance` names this
    process in its events. One that raises is tried again later, says so in an event, and leaves the others alone.
    """
    narrow = {(scope.kind.group, scope.kind.kind): scope for scope in scopes}
    loop = Loop(controllers, client, clock, scopes=narrow, metrics=metrics, instance=instance)
    await loop.run(workers=workers)


def is_soon(due: float | None, now: float) -> bool:
    """Whether somebody only waits for more to come with what has changed."""
    return due is not None and due <= now + SOON


def states(live: Live) -> Mapping[Labels, float]:
    """How many TrainJobs are in each state."""
    counts: dict[Labels, float] = {}
    for raw in live.all(*STATES):
        state = ((raw.get("status") or {}).get("summary") or {}).get("state") or "Unknown"
        counts[state,] = counts.get((state,), 0) + 1
    return counts


def fault(error: Exception) -> str:
    """An exception in one line; of a group, the first."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}".removesuffix(": ")
