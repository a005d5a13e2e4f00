"""The same rooms on virtual time: what would happen to this queue, on nodes that are nowhere and without a disk."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from typing import NamedTuple

from trainplane.api.jobset import JOBSET_NAME
from trainplane.api.kinds import Kind
from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.cluster.api import Api
from trainplane.cluster.client import Client
from trainplane.cluster.collector import rarely
from trainplane.cluster.keep import Keep
from trainplane.cluster.log import Forgetful, decoded
from trainplane.cluster.resources import SERVED_KINDS
from trainplane.cluster.store import Store
from trainplane.control import virtual
from trainplane.control.loop import Loop
from trainplane.control.virtual import VirtualClock
from trainplane.controllers import admission, controllers
from trainplane.furniture import companions, furnish
from trainplane.node.simulated import Size, simulated
from trainplane.node.use import Use
from trainplane.reconcile.controller import Controller
from trainplane.trainjob.plans import Plans
from trainplane.upkeep.history import KEPT

TRAINJOB = ("trainer.kubeflow.org", "TrainJob")
ENDS = frozenset(("Complete", "Failed"))
"""The states of a TrainJob that will not change any more."""
HOT = 131_072
READY = 192 << 20
"""Nobody waits here: what is at work at once is kept ready, in the View and, by its bytes of text, in the Store.

It is the same there and here as long as both keep it; what one of them lets go is read again, and is there twice.
"""
SELDOM = (500_000, 50, 100)
"""When cyclic garbage is looked for: nearly everything that is made here stays, and there is next to none."""
HISTORY = Keep(revisions=2_000, seconds=5.0)
"""Nobody looks back in a world that is made to be looked at once."""


class World:
    """A cluster on virtual time: its API, and whoever decides in it."""

    def __init__(
        self, store: Store, *, nodes: int, size: Size | None, gates: frozenset[str], seed: int, kept: bool = True
    ) -> None:
        """`kept` is False where nobody will edit an object or ask for a job that is gone."""
        chance = random.Random(seed)  # noqa: S311 - the same seed is to give the same run
        self.clock = VirtualClock()
        self._plans = Plans()
        self.api = Api(
            store,
            kinds=SERVED_KINDS,
            admission=admission(store, gates, plans=self._plans),
            now=self.clock.now,
            uid=lambda: uid_of(chance.getrandbits(128)),
            place=chance.randrange,
            companions=lambda _: companions("simulated"),
        )
        self.api.ground.keeps_owners = kept
        self._gates, self._nodes, self._size = gates, nodes, size
        self._records = KEPT if kept else 0

    def controllers(self) -> tuple[Controller, ...]:
        """Everybody who decides, with nothing remembered yet."""
        deciding = controllers(self._gates, records=self._records, plans=self._plans)
        return (*deciding, *simulated(self._nodes, self._size))

    @asynccontextmanager
    async def controlled(self, client: Client | None = None) -> AsyncIterator[Loop]:
        """Everybody at work until the block ends; they reach the API through a Client where one is given."""
        loop = Loop(self.controllers(), client or self.api, self.clock, scopes={}, kinds=SERVED_KINDS, hot=HOT)
        async with asyncio.TaskGroup() as tasks:
            at_work = (tasks.create_task(loop.run()), tasks.create_task(Use(loop.live, self.clock).run()))
            try:
                yield loop
            finally:
                for task in at_work:
                    task.cancel()


@asynccontextmanager
async def world(
    *, nodes: int, size: Size | None = None, gates: frozenset[str] = frozenset(), seed: int = 0, kept: bool = True
) -> AsyncIterator[World]:
    """A furnished cluster without a disk, on virtual time; nobody decides in it before `World.controlled`.

    `kept` is False where nobody will edit an object or ask for a job that is gone: that takes less time.
    """
    store = Store(Forgetful(), now=asyncio.get_running_loop().time, keep=HISTORY)
    async with asyncio.TaskGroup() as house:
        house.create_task(store.run())
        try:
            made = World(store, nodes=nodes, size=size, gates=gates, seed=seed, kept=kept)
            await furnish(made.api)
            yield made
        finally:
            store.close()


def uid_of(bits: int) -> str:
    """A uid of so many random bits: what `uuid.UUID(int=bits, version=4)` writes, in less than half of the time."""
    drawn = f"{bits:032x}"
    variant = "89ab"[int(drawn[16], 16) & 3]
    return f"{drawn[:8]}-{drawn[8:12]}-4{drawn[13:16]}-{variant}{drawn[17:20]}-{drawn[20:]}"


class Fate(NamedTuple):
    """What became of a TrainJob."""

    name: str
    state: str
    waited: timedelta | None
    """From its making until its pods ran; None where that never came."""
    ended: datetime | None


class Outcome(NamedTuple):
    """What became of a queue."""

    took: timedelta
    fates: tuple[Fate, ...]
    writes: Counter[tuple[str, ...]]
    """How many writes there were, by controller, verb and kind."""

    @property
    def states(self) -> Counter[str]:
        """How many TrainJobs ended in each state."""
        return Counter(fate.state for fate in self.fates)


def simulate(
    objects: Sequence[Raw],
    *,
    nodes: int,
    size: Size | None = None,
    gates: frozenset[str] = frozenset(),
    seed: int = 0,
    within: timedelta = timedelta(days=7),
) -> Outcome:
    """What would become of these objects on so many nodes, until every TrainJob among them has ended or time is up."""

    async def main() -> Outcome:
        async with world(nodes=nodes, size=size, gates=gates, seed=seed, kept=False) as made, made.controlled() as loop:
            began = made.clock.now()
            for raw in objects:
                await made.api.create(raw)
            with suppress(TimeoutError):
                async with asyncio.timeout(within.total_seconds()):
                    await ended(made.api, sum(raw["kind"] == "TrainJob" for raw in objects))
            took = made.clock.now() - began
            # What the API knows may not have come to the View yet.
            starts = first_starts((await made.api.list(kind("", "Pod"))).items)
            fates = tuple(fate(raw, starts) for raw in (await made.api.list(kind(*TRAINJOB))).items)
            writes = Counter({labels: int(count) for labels, count in loop.metrics.writes.items().items()})
            return Outcome(took, fates, writes)

    with rarely(SELDOM), decoded(READY):
        return virtual.run(main())


async def ended(api: Api, count: int) -> None:
    """Wait until so many TrainJobs have ended."""
    row = kind(*TRAINJOB)
    page = await api.list(row)
    over = {raw["metadata"]["uid"] for raw in page.items if end_of(raw)}
    if len(over) >= count:
        return
    async for change in api.watch(row, since=page.resource_version):
        if end_of(change.object):
            over.add(change.object["metadata"]["uid"])
            if len(over) >= count:
                return


def kind(group: str, name: str) -> Kind:
    """A row of the Kind table."""
    return next(row for row in SERVED_KINDS if (row.group, row.kind) == (group, name))


def end_of(job: Raw) -> Raw | None:
    """The condition that says that a TrainJob has ended."""
    found = look(job, "status", "conditions") or ()
    return next((one for one in found if one["type"] in ENDS and one["status"] == "True"), None)


def first_starts(pods: Iterable[Raw]) -> dict[tuple[str, str], datetime]:
    """When the first pod of each TrainJob ran, by its namespace and name."""
    found: dict[tuple[str, str], datetime] = {}
    for pod in pods:
        name, start = look(pod, "metadata", "labels", JOBSET_NAME), look(pod, "status", "startTime")
        if name and start:
            key, at = (pod["metadata"]["namespace"], name), datetime.fromisoformat(start)
            found[key] = min(at, found.get(key, at))
    return found


def fate(job: Raw, starts: Mapping[tuple[str, str], datetime]) -> Fate:
    """What became of a TrainJob."""
    metadata, end = job["metadata"], end_of(job)
    start = starts.get((metadata["namespace"], metadata["name"]))
    made = datetime.fromisoformat(metadata["creationTimestamp"])
    return Fate(
        metadata["name"],
        end["type"] if end else "Unfinished",
        start - made if start else None,
        datetime.fromisoformat(end["lastTransitionTime"]) if end else None,
    )
