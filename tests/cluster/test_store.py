"""The Store: writes at expected revisions, reads of now and of before, watches, compaction, and logs that fail."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import orjson
import pytest

from tests.cluster.stores import Clock, Failing, Gated, gone, key, listed, obj, one, put, replay, running
from tests.patience import PATIENCE, STORY
from trainplane.cluster.keep import Keep
from trainplane.cluster.log import (
    Change,
    Closed,
    Compacted,
    Conflict,
    Key,
    Unreached,
    Unwritable,
    Write,
    body,
    decoded,
)
from trainplane.cluster.store import LEAP, Store, Watch


def run(story: Coroutine[Any, Any, None]) -> None:
    """Let the story happen, within a bound of time."""
    asyncio.run(asyncio.wait_for(story, STORY))


async def next_of(watch: Watch) -> list[int]:
    """The revisions of a watch's next batch."""
    return [change.revision for change in await asyncio.wait_for(anext(watch), PATIENCE)]


def test_an_object_carries_the_revision_it_is_stored_at() -> None:
    async def story() -> None:
        async with running() as store:
            first = await one(store, put(key("a"), image="x"))
            second = await one(store, put(key("a"), 1, image="y"))
            assert (first.revision, second.revision, store.revision) == (1, 2, 2)
            stored = store.get(key("a"))
            assert stored is not None
            assert stored.object == {
                "kind": "Pod",
                "metadata": {"name": "a", "namespace": "research", "resourceVersion": "2"},
                "spec": {"image": "y"},
            }
            assert second.before == first.after

    run(story())


@pytest.mark.parametrize(
    "metadata",
    [
        {"name": "a", "resourceVersion": "77"},
        {"labels": {"resourceVersion": "1"}, "name": "a"},
        {"annotations": {"last": '{"metadata":{"resourceVersion":"1"}}'}, "name": "a"},
    ],
)
def test_only_the_resource_version_of_the_object_itself_is_set(metadata: dict[str, Any]) -> None:
    given = {"metadata": metadata, "involvedObject": {"resourceVersion": "1"}}

    async def story() -> None:
        async with running() as store:
            change = await one(store, Write(key("a"), body(given), 0))
            deletion = await one(store, gone(key("a"), 1))
            for told, revision in ((change, "1"), (deletion, "2")):
                expected = {**given, "metadata": {**metadata, "resourceVersion": revision}}
                assert orjson.loads(told.value) == expected

    run(story())


def test_the_last_word_on_a_deleted_object_is_its_state_at_the_deletion() -> None:
    async def story() -> None:
        async with running() as store:
            for number in range(1, 10):
                await one(store, put(key("a"), number - 1, number=number))
            change = await one(store, gone(key("a"), 9))
            assert change.after is None
            assert orjson.loads(change.value)["metadata"]["resourceVersion"] == "10"
            assert orjson.loads(change.value)["spec"] == {"number": 9}
            assert store.get(key("a")) is None

    run(story())


@pytest.mark.parametrize(
    ("wish", "current"),
    [
        pytest.param(put(key("here")), 1, id="create what is there"),
        pytest.param(put(key("here"), 7), 1, id="update at another revision"),
        pytest.param(gone(key("here"), 7), 1, id="delete at another revision"),
        pytest.param(put(key("missing"), 1), 0, id="update what is not there"),
        pytest.param(gone(key("missing"), 1), 0, id="delete what is not there"),
    ],
)
def test_a_write_that_expects_another_revision_is_refused(wish: Write, current: int) -> None:
    async def story() -> None:
        async with running() as store:
            await one(store, put(key("here")))
            with pytest.raises(Conflict) as refused:
                await store.write(wish)
            assert (refused.value.key, refused.value.expected, refused.value.current) == (
                wish.key,
                wish.expected,
                current,
            )
            assert "read it again" in str(refused.value)
            assert store.revision == 1

    run(story())


def test_writes_together_are_made_all_or_none() -> None:
    async def story() -> None:
        async with running() as store:
            await store.write(put(key("a")), put(key("b")))
            with pytest.raises(Conflict):
                await store.write(put(key("c")), put(key("b")), gone(key("a"), 1))
            assert [item.key.name for item in store.list("pods").items] == ["a", "b"]
            changes = await store.write(put(key("c")), gone(key("a"), 1), put(key("b"), 2, image="x"))
            assert [change.revision for change in changes] == [3, 4, 5]
            assert [item.key.name for item in store.list("pods").items] == ["b", "c"]

    run(story())


def test_a_write_may_depend_on_other_keys() -> None:
    home = Key("namespaces", "", "research")

    async def story() -> None:
        async with running() as store:
            with pytest.raises(Conflict):
                await store.write(put(key("a")), given={home: 1})
            await one(store, put(home))
            await store.write(put(key("a")), given={home: 1})
            await one(store, gone(home, 1))
            with pytest.raises(Conflict) as refused:
                await store.write(put(key("b")), given={home: 1})
            assert refused.value.key == home

    run(story())


def test_wishes_that_cannot_be_meant_are_refused_at_once() -> None:
    async def story() -> None:
        async with running() as store:
            with pytest.raises(ValueError, match="key of their own"):
                await store.write(put(key("a")), put(key("a")))
            with pytest.raises(ValueError, match="expect the revision"):
                await store.write(gone(key("a"), 0))

    run(story())


def test_of_writers_at_the_same_revision_one_wins() -> None:
    async def attempt(store: Store, image: str) -> int:
        try:
            await store.write(put(key("a"), 1, image=image))
        except Conflict as refused:
            return refused.current
        return 0

    async def story() -> None:
        async with running() as store:
            await one(store, put(key("a")))
            async with asyncio.TaskGroup() as tasks:
                attempts = [tasks.create_task(attempt(store, str(number))) for number in range(20)]
            assert sorted(task.result() for task in attempts) == [0] + [2] * 19

    run(story())


def test_a_list_is_in_the_order_of_etcd() -> None:
    """`a-b/x` is before `a/x`, since `-` is before `/`."""
    places = [("a", "z"), ("a-b", "x"), ("b", "a"), ("a", "b.c"), ("a", "b"), ("a0", "x")]

    async def story() -> None:
        async with running() as store:
            for namespace, name in places:
                await one(store, put(key(name, namespace=namespace)))
            assert list(listed(store)) == ["a-b/x", "a/b", "a/b.c", "a/z", "a0/x", "b/a"]
            assert list(listed(store, namespace="a")) == ["a/b", "a/b.c", "a/z"]
            assert store.list("nodes").items == ()
            assert (store.count("pods"), store.count("pods", namespace="a"), store.count("nodes")) == (6, 3, 0)
            assert store.resources() == ["pods"]

    run(story())


def test_a_list_shows_what_was_there_at_a_revision() -> None:
    async def story() -> None:
        async with running() as store:
            states = [listed(store)]
            for write in (
                put(key("a")),
                put(key("b")),
                put(key("a"), 1, image="x"),
                gone(key("b"), 2),
                put(Key("nodes", "", "n")),
                put(key("b")),
                put(key("a", namespace="other")),
            ):
                await store.write(write)
                states.append(listed(store))
            assert [listed(store, at=revision) for revision in range(8)] == states
            assert list(listed(store, at=7, namespace="other")) == ["other/a"]
            with pytest.raises(Unreached):
                store.list("pods", at=8)
            await store.compact(3)
            assert [listed(store, at=revision) for revision in range(3, 8)] == states[3:]
            with pytest.raises(Compacted) as refused:
                store.list("pods", at=2)
            assert (refused.value.revision, refused.value.oldest) == (2, 3)

    run(story())


def test_a_watch_replays_and_then_waits() -> None:
    async def story() -> None:
        async with running() as store:
            for name in "abc":
                await one(store, put(key(name)))
            watch = store.watch("pods", since=1)
            assert await next_of(watch) == [2, 3]
            async with asyncio.TaskGroup() as tasks:
                coming = tasks.create_task(next_of(watch))
                await asyncio.sleep(0)
                assert not coming.done()
                await store.write(put(key("d")), put(key("e")))
            assert coming.result() == [4, 5]

    run(story())


def test_a_watch_tells_of_its_resource_and_namespace_alone() -> None:
    async def story() -> None:
        async with running() as store:
            everywhere = store.watch("pods", since=0)
            here = store.watch("pods", namespace="research", since=0)
            await store.write(put(key("a", namespace="other")), put(key("a")), put(Key("nodes", "", "a")))
            assert await next_of(everywhere) == [1, 2]
            assert await next_of(here) == [2]
            assert everywhere.revision == here.revision == 3

    run(story())


def test_a_watch_from_a_future_revision_waits_for_what_is_after_it() -> None:
    async def story() -> None:
        async with running() as store:
            watch = store.watch("pods", since=2)
            for name in "abc":
                await one(store, put(key(name)))
            assert await next_of(watch) == [3]

    run(story())


def test_many_changes_are_one_awakening() -> None:
    async def story() -> None:
        async with running() as store:
            watch = store.watch("pods", since=0)
            async with asyncio.TaskGroup() as tasks:
                for number in range(100):
                    tasks.create_task(one(store, put(key(f"p-{number}"))))
            assert await next_of(watch) == list(range(1, 101))

    run(story())


def test_a_watch_that_falls_behind_is_ended_and_holds_nobody_up() -> None:
    async def story() -> None:
        async with running(keep=Keep(revisions=10, seconds=0, size=1 << 20), now=(clock := Clock())) as store:
            slow, quick = store.watch("pods", since=0), store.watch("pods", since=0)
            seen: list[int] = []
            for number in range(100):
                clock.now += 1
                await one(store, put(key("a"), number))
                seen += await next_of(quick)
            assert seen == list(range(1, 101))
            with pytest.raises(Compacted, match="list again"):
                await anext(slow)
            assert store.compacted >= 88

    run(story())


def test_a_quiet_watch_does_not_grow_old() -> None:
    async def story() -> None:
        async with running() as store:
            quiet, elsewhere = store.watch("nodes", since=0), store.watch("pods", namespace="other", since=0)
            async with asyncio.TaskGroup() as tasks:
                coming = [tasks.create_task(next_of(watch)) for watch in (quiet, elsewhere)]
                for number in range(20):
                    await one(store, put(key("a"), number))
                await store.compact(20)
                assert quiet.revision == elsewhere.revision == 20
                await store.write(put(Key("nodes", "", "n")), put(key("a", namespace="other")))
            assert [task.result() for task in coming] == [[21], [22]]
            with pytest.raises(Compacted):
                store.watch("nodes", since=19)

    run(story())


def test_a_watch_ends_with_what_was_written_when_the_store_closes() -> None:
    async def collect(watch: Watch, seen: list[Change]) -> None:
        async for changes in watch:
            seen += changes

    async def story() -> None:
        seen: list[Change] = []
        async with asyncio.TaskGroup() as tasks, running() as store:
            tasks.create_task(collect(store.watch("pods", since=0), seen))
            await one(store, put(key("a")))
            store.close()
            with pytest.raises(Closed):
                await store.write(put(key("b")))
        assert [change.key.name for change in seen] == ["a"]

    run(story())


def test_nobody_sees_a_write_before_it_is_durable() -> None:
    async def story() -> None:
        log = Gated()
        async with running(log) as store:
            watch = store.watch("pods", since=0)
            async with asyncio.TaskGroup() as tasks:
                writing = tasks.create_task(one(store, put(key("a"))))
                clashing = tasks.create_task(_refused(store, put(key("a"))))
                coming = tasks.create_task(next_of(watch))
                for _ in range(20):
                    await asyncio.sleep(0)
                assert not any(task.done() for task in (writing, clashing, coming))
                assert (store.get(key("a")), store.revision, watch.revision) == (None, 0, 0)
                log.gate.set()
            assert writing.result().revision == 1
            assert clashing.result() == 1

    run(story())


async def _refused(store: Store, write: Write) -> int:
    with pytest.raises(Conflict) as refused:
        await store.write(write)
    return refused.value.current


def test_writes_that_wait_share_a_commit() -> None:
    async def story() -> None:
        log = Gated()
        async with running(log) as store:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(one(store, put(key("first"))))
                await asyncio.sleep(0.01)
                for number in range(50):
                    tasks.create_task(one(store, put(key(f"p-{number}"))))
                await asyncio.sleep(0.01)
                log.gate.set()
            assert [len(record.changes) for record in log.records] == [1, 50]

    run(story())


def test_a_writer_that_gives_up_in_the_queue_writes_nothing() -> None:
    async def story() -> None:
        log = Gated()
        async with running(log) as store, asyncio.TaskGroup() as tasks:
            tasks.create_task(one(store, put(key("first"))))
            await asyncio.sleep(0.01)
            waiting = tasks.create_task(one(store, put(key("second"))))
            await asyncio.sleep(0.01)
            waiting.cancel()
            log.gate.set()
        assert list(listed(store)) == ["research/first"]

    run(story())


def test_writers_under_way_hear_when_the_store_is_stopped() -> None:
    async def story() -> None:
        store = Store(Gated(), now=Clock())
        async with asyncio.TaskGroup() as tasks:
            house = tasks.create_task(store.run())
            writers = [tasks.create_task(_closed(store, name)) for name in "ab"]
            await asyncio.sleep(0.01)
            writers.append(tasks.create_task(_closed(store, "c")))
            await asyncio.sleep(0.01)
            house.cancel()
        assert all(writer.result() for writer in writers)

    run(story())


async def _closed(store: Store, name: str) -> bool:
    with pytest.raises(Closed, match="when it opens again"):
        await store.write(put(key(name)))
    return True


def test_a_log_that_fails_is_told_to_its_writers_and_forgiven() -> None:
    async def story() -> None:
        log = Failing()
        async with running(log) as store:
            await one(store, put(key("a")))
            watch = store.watch("pods", since=1)
            log.broken = True
            for write in (put(key("b")), put(key("a"), 1), gone(key("a"), 1)):
                with pytest.raises(Unwritable, match="make some"):
                    await store.write(write)
            with pytest.raises(Unwritable):
                await store.compact(1)
            with pytest.raises(Unwritable):
                await store.replace(store.snapshot())
            assert (list(listed(store)), store.revision, store.compacted) == (["research/a"], 1, 0)
            log.broken = False
            assert (await one(store, put(key("b")))).revision == 2
            assert await next_of(watch) == [2]

    run(story())


@pytest.mark.parametrize(
    ("keep", "seconds", "compacted"),
    [
        pytest.param(Keep(revisions=10, seconds=5, size=1 << 20), 1.0, 89, id="more than ten, and old"),
        pytest.param(Keep(revisions=10, seconds=500, size=1 << 20), 1.0, 0, id="more than ten, but young"),
        pytest.param(Keep(revisions=1000, seconds=5, size=1 << 20), 1.0, 0, id="old, but few"),
        pytest.param(Keep(revisions=1000, seconds=500, size=1000), 0.0, 89, id="too large"),
    ],
)
def test_history_goes_when_it_is_neither_recent_nor_young_or_too_large(
    keep: Keep, seconds: float, compacted: int
) -> None:
    async def story() -> None:
        async with running(keep=keep, now=(clock := Clock())) as store:
            for number in range(100):
                clock.now += seconds
                await one(store, put(key("a"), number))
            assert store.compacted == pytest.approx(compacted, abs=3)
            assert store.count("pods") == 1

    run(story())


def test_a_snapshot_in_place_of_everything_is_newer_than_all() -> None:
    async def story() -> None:
        async with running() as store:
            for name in "abc":
                await one(store, put(key(name)))
            snapshot = store.snapshot()
            watch = store.watch("pods", since=3)
            async with asyncio.TaskGroup() as tasks:
                ended = tasks.create_task(_ended(watch))
                await asyncio.sleep(0)
                await store.write(gone(key("a"), 1), put(key("b"), 2, image="x"), put(key("d")))
                await store.replace(snapshot)
            assert ended.result() > LEAP
            assert store.revision > 6 + LEAP
            items = store.list("pods").items
            assert [item.object["spec"] for item in items] == [{}, {}, {}]
            assert [item.object["metadata"]["resourceVersion"] for item in items] == [str(i.revision) for i in items]
            assert [item.key.name for item in items] == ["a", "b", "c"]
            with pytest.raises(Compacted):
                store.watch("pods", since=6)
            with pytest.raises(Conflict):
                await store.write(put(key("a"), 1))
            fresh = store.watch("pods", since=store.revision)
            await one(store, put(key("a"), items[0].revision, image="y"))
            assert len(await next_of(fresh)) == 1

    run(story())


async def _ended(watch: Watch) -> int:
    with pytest.raises(Compacted) as ended:
        async for _ in watch:
            pass
    return ended.value.oldest


def test_a_watch_and_a_list_agree_after_many_changes() -> None:
    async def story() -> None:
        async with running() as store:
            watch = store.watch("pods", since=0)
            state: dict[str, bytes] = {}
            for number in range(3000):
                name = key(f"p-{number % 7}")
                there = store.get(name)
                wish = (
                    gone(name, there.revision)
                    if there and number % 5 == 0
                    else put(name, there.revision if there else 0)
                )
                await store.write(wish)
            while watch.revision < store.revision:
                state = replay(await anext(watch), state)
            assert state == listed(store)

    run(story())


def test_an_object_without_metadata_cannot_be_stored() -> None:
    with pytest.raises(KeyError):
        body({"kind": "Pod"})
    assert body(obj(key("a"))).at(5) == body({**obj(key("a"))}).at(5)


def test_an_object_at_rest_is_not_read_again_because_another_changes() -> None:
    async def story() -> None:
        async with running() as store:
            still = (await one(store, put(key("still"), image="x"))).after
            assert still is not None
            known = still.object
            for revision in range(1, 101):
                await one(store, put(key("busy"), revision if revision > 1 else 0, image="y" * 1000))
                await store.compact(store.revision)
            assert still.object is known

    with decoded(10_000):
        run(story())
