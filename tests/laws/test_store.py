"""The laws of the Store: writers have one order, and a watch from any revision replays to what a list shows."""

import asyncio
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cluster.stores import Clock, gone, key, listed, put, replay, running
from tests.patience import STORY
from trainplane.cluster.keep import Keep
from trainplane.cluster.log import Change, Compacted, Conflict, Forgetful, Key, Record, Unwritable, Write
from trainplane.cluster.sqlite import Disk
from trainplane.cluster.store import Store, Watch

KEYS = [key("a"), key("b"), key("a", namespace="other"), Key("nodes", "", "n")]


class Fickle(Forgetful):
    """A log that takes its time, and now and then takes nothing in, as it is told beforehand."""

    def __init__(self, moods: Sequence[int]) -> None:
        self._moods = list(moods)

    async def append(self, record: Record) -> None:
        mood = self._moods.pop() if self._moods else 0
        for _ in range(abs(mood)):
            await asyncio.sleep(0)
        if mood < 0:
            raise Unwritable("as told")
        await super().append(record)


@dataclass(frozen=True)
class Act:
    """What a writer does next: wait, then write at some keys, with the right expectation or an old one."""

    pause: int
    keys: tuple[Key, ...]
    delete: bool
    stale: bool


@dataclass(frozen=True)
class Outcome:
    """What came of a wish: the changes, or the conflict, and between which revisions it was told."""

    writes: tuple[Write, ...]
    changes: tuple[Change, ...]
    conflict: Conflict | None
    asked: int
    told: int


acts = st.builds(
    Act,
    pause=st.integers(0, 3),
    keys=st.lists(st.sampled_from(KEYS), min_size=1, max_size=3, unique=True).map(tuple),
    delete=st.booleans(),
    stale=st.booleans(),
)
programs = st.lists(st.lists(acts, max_size=8), min_size=1, max_size=5)
moods = st.lists(st.integers(-2, 4), max_size=20)


def run(story: Coroutine[Any, Any, None]) -> None:
    """Let the story happen, within a bound of time."""
    asyncio.run(asyncio.wait_for(story, STORY))


def wishes(store: Store, act: Act, number: int) -> tuple[Write, ...]:
    """The writes of an act, as its writer sees the store."""
    made = []
    for at in act.keys:
        there = store.get(at)
        expected = there.revision if there else 0
        if act.stale:
            expected = max(0, expected - 1)
        made.append(gone(at, expected) if act.delete and expected else put(at, expected, writer=number))
    return tuple(made)


async def writer(store: Store, program: Sequence[Act], outcomes: list[Outcome], number: int) -> None:
    for act in program:
        for _ in range(act.pause):
            await asyncio.sleep(0)
        writes, asked = wishes(store, act, number), store.revision
        changes: tuple[Change, ...] = ()
        conflict = None
        try:
            changes = await store.write(*writes)
        except Conflict as refused:
            conflict = refused
        except Unwritable:
            continue
        outcomes.append(Outcome(writes, changes, conflict, asked, store.revision))


@given(programs, moods)
def test_concurrent_writers_have_one_order(program: Sequence[Sequence[Act]], mood: Sequence[int]) -> None:
    async def story() -> None:
        outcomes: list[Outcome] = []
        async with running(Fickle(mood)) as store:
            async with asyncio.TaskGroup() as tasks:
                for number, acts_ in enumerate(program):
                    tasks.create_task(writer(store, acts_, outcomes, number))
            made = sorted(
                (outcome for outcome in outcomes if outcome.changes), key=lambda each: each.changes[0].revision
            )
            # One after another, each finds what it expected, and leaves what the next one finds.
            at: dict[Key, list[tuple[int, int]]] = {each: [(0, 0)] for each in KEYS}
            revision = 0
            for outcome in made:
                assert outcome.asked <= revision
                for write, change in zip(outcome.writes, outcome.changes, strict=True):
                    revision += 1
                    assert change.revision == revision
                    assert at[write.key][-1][1] == write.expected
                    at[write.key].append((revision, revision if write.body else 0))
            assert revision == store.revision
            for each in KEYS:
                there = store.get(each)
                assert at[each][-1][1] == (there.revision if there else 0)
            for outcome in outcomes:
                if outcome.conflict:
                    _was_true(at[outcome.conflict.key], outcome.conflict, outcome)

    run(story())


def _was_true(at: list[tuple[int, int]], conflict: Conflict, outcome: Outcome) -> None:
    """What a conflict says was there was there at some moment between the question and the answer."""
    ends = [begin for begin, _ in at[1:]] + [outcome.told + 1]
    assert any(
        current == conflict.current and begin <= outcome.told and end > outcome.asked
        for (begin, current), end in zip(at, ends, strict=True)
    )
    assert conflict.current != conflict.expected


steps = st.lists(
    st.one_of(acts, st.tuples(st.just("compact"), st.integers(0, 30)), st.tuples(st.just("watch"), st.integers(0, 30))),
    max_size=40,
)


@given(steps, moods)
def test_a_watch_from_any_revision_replays_to_what_a_list_shows(steps: Sequence[Any], mood: Sequence[int]) -> None:
    async def story() -> None:
        model: dict[Key, bytes] = {}
        states: list[dict[Key, bytes]] = [{}]
        watches: list[tuple[Watch, str, dict[str, bytes]]] = []
        async with running(Fickle(mood)) as store:
            for number, step in enumerate(steps):
                with suppress(Conflict, Unwritable):
                    match step:
                        case ("compact", through):
                            await store.compact(through)
                        case ("watch", since) if store.compacted <= since <= store.revision:
                            for namespace in ("", "research"):
                                watch = store.watch("pods", namespace=namespace, since=since)
                                watches.append((watch, namespace, shown(states[since], namespace)))
                        case Act():
                            for change in await store.write(*wishes(store, step, number)):
                                model.pop(change.key, None)
                                model |= {change.key: change.value} if change.after else {}
                                states.append(dict(model))
            assert store.revision == len(states) - 1
            for revision in range(store.compacted, store.revision + 1):
                for namespace in ("", "research"):
                    found = listed(store, namespace=namespace, at=revision)
                    assert list(found.items()) == list(shown(states[revision], namespace).items())
            for watch, namespace, state in watches:
                await _follow(store, watch, namespace, state)

    run(story())


def shown(state: dict[Key, bytes], namespace: str) -> dict[str, bytes]:
    """The pods of a state, as a list has them."""
    pods = {at.path: value for at, value in state.items() if at.resource == "pods"}
    return {path: value for path, value in sorted(pods.items()) if path.startswith(namespace)}


async def _follow(store: Store, watch: Watch, namespace: str, state: dict[str, bytes]) -> None:
    """A watch ends at what a list shows, unless it fell behind what is kept, and says so."""
    try:
        while watch.revision < store.revision:
            state = replay(await anext(watch), state)
    except Compacted as behind:
        lost = behind.revision
    else:
        assert state == listed(store, namespace=namespace)
        return
    assert lost < store.compacted


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(0, 3)), max_size=60), st.integers(1, 8), st.floats(0, 10))
def test_what_is_recent_or_young_is_kept(program: Sequence[tuple[int, float]], revisions: int, seconds: float) -> None:
    async def story() -> None:
        clock, times = Clock(), {0: 0.0}
        async with running(keep=Keep(revisions=revisions, seconds=seconds), now=clock) as store:
            for name, pause in program:
                clock.now += pause
                there = store.get(key(f"p-{name}"))
                await store.write(put(key(f"p-{name}"), there.revision if there else 0))
                times[store.revision] = clock.now
                assert store.revision - store.compacted >= min(revisions, store.revision)
                assert not store.compacted or clock.now - times[store.compacted] > seconds

    run(story())


@settings(max_examples=15)
@given(steps)
def test_a_store_that_is_opened_again_is_the_same_store(steps: Sequence[Any]) -> None:
    async def story(folder: Path) -> None:
        with Disk(folder, now=Clock()) as disk:
            async with running(disk) as store:
                for number, step in enumerate(steps):
                    with suppress(Conflict):
                        match step:
                            case ("compact", through):
                                await store.compact(through)
                            case Act():
                                await store.write(*wishes(store, step, number))
        with Disk(folder, now=Clock()) as disk:
            again = Store(disk, now=Clock())
        again.close()
        assert (again.revision, again.compacted) == (store.revision, store.compacted)
        for resource in ("pods", "nodes"):
            assert await _told(again, resource) == await _told(store, resource)
            for revision in range(store.compacted, store.revision + 1):
                assert again.list(resource, at=revision) == store.list(resource, at=revision)

    with TemporaryDirectory() as folder:
        run(story(Path(folder) / "data"))


async def _told(store: Store, resource: str) -> list[Change]:
    """Every change that is kept, as a watch of a closed store tells them before it ends."""
    return [change async for changes in store.watch(resource, since=store.compacted) for change in changes]
