"""The View follows the API through everything that a connection to it goes through."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.control.clusters import NAMESPACE, Cluster, cluster, config_map
from trainplane.api.kinds import KINDS, Kind
from trainplane.control import virtual
from trainplane.control.live import Live
from trainplane.control.queue import BackOff
from trainplane.control.reflector import PAGE, Reflector, Scope
from trainplane.control.unseen import Unseen
from trainplane.reconcile.view import Ref

ROW = next(row for row in KINDS if row.kind == "ConfigMap")


class Follower:
    """A reflector at work, its View, and what it told."""

    def __init__(self, made: Cluster, scope: Scope) -> None:
        self.live = Live()
        self.told: list[str] = []
        unseen = Unseen(self.live, asyncio.get_running_loop().time)
        self.reflector = Reflector(
            scope, made.client, self.live, unseen=unseen, tell=self.tell, back_off=BackOff(first=1, most=8)
        )

    def tell(self, before: object, after: object) -> None:
        raw = after or before
        assert isinstance(raw, dict)
        self.told.append(f"{raw['metadata']['name']} {'came' if not before else 'changed' if after else 'went'}")

    @property
    def names(self) -> list[str]:
        return sorted(raw["metadata"]["name"] for raw in self.live.all("", "ConfigMap", namespace=NAMESPACE))


@asynccontextmanager
async def following(made: Cluster, scope: Scope | None = None) -> AsyncIterator[Follower]:
    follower = Follower(made, scope or Scope(ROW, namespace=NAMESPACE, fields="metadata.name!=kube-root-ca.crt"))
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(follower.reflector.run())
        await follower.reflector.synced.wait()
        try:
            yield follower
        finally:
            task.cancel()


def ref(name: str) -> Ref:
    return Ref("", "ConfigMap", NAMESPACE, name)


def test_it_tells_of_what_comes_changes_and_goes() -> None:
    async def main() -> None:
        async with cluster() as made:
            await made.api.create(config_map("old"))
            async with following(made) as seen:
                await made.api.create(config_map("new"))
                await made.api.apply(config_map("new", a="1"), manager="me")
                await made.api.delete(ref("old"))
                await asyncio.sleep(1)
                assert seen.told == ["old came", "new came", "new changed", "old went"]
                raw = seen.live.get(ref("new"))
                assert raw
                assert raw["data"] == {"a": "1"}
                assert "managedFields" not in raw["metadata"]

    virtual.run(main())


def test_after_a_cut_it_goes_on_where_it_was_and_misses_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with cluster() as made, following(made) as seen:
            await made.api.create(config_map("a"))
            await asyncio.sleep(1)
            made.client.cut()
            await asyncio.sleep(100)
            assert seen.reflector.failures >= 5
            assert seen.reflector.failures <= 20, "it asks less and less often"
            await made.api.create(config_map("b"))
            await made.api.delete(ref("a"))
            assert seen.names == ["a"]
            made.client.mend()
            await asyncio.sleep(20)
            assert seen.names == ["b"]
            assert seen.told == ["a came", "b came", "a went"], "nothing is told twice"

    virtual.run(main())
    assert "configmaps cannot be watched, asking again in 8 s: the connection is cut" in caplog.messages


def test_where_history_is_gone_it_lists_again_and_tells_the_difference() -> None:
    async def main() -> None:
        async with cluster() as made:
            for name in ("stays", "changes", "goes"):
                await made.api.create(config_map(name))
            async with following(made) as seen:
                made.client.cut()
                await asyncio.sleep(10)
                seen.told.clear()
                await made.api.delete(ref("goes"))
                await made.api.apply(config_map("changes", a="1"), manager="me")
                await made.api.create(config_map("comes"))
                await made.store.compact(made.store.revision)
                made.client.mend()
                await asyncio.sleep(20)
                assert sorted(seen.told) == ["changes changed", "comes came", "goes went"]
                assert seen.names == ["changes", "comes", "stays"]

    virtual.run(main())


def test_a_kind_that_is_not_served_counts_as_empty() -> None:
    async def main() -> None:
        row = Kind("nobody.example", "v1", "Widget", "widgets", "core:ConfigMap")
        async with cluster() as made, following(made, Scope(row)) as seen:
            assert list(seen.live.all("nobody.example", "Widget")) == []

    virtual.run(main())


def test_a_watch_says_what_it_wants() -> None:
    async def main() -> None:
        async with cluster() as made:
            scope = Scope(ROW, labels="mine=yes")
            async with following(made, scope) as seen:
                for name, labels in (("a", {"mine": "yes"}), ("b", {})):
                    raw = config_map(name)
                    await made.api.create({**raw, "metadata": {**raw["metadata"], "labels": labels}})
                await asyncio.sleep(1)
                assert seen.names == ["a"]

    virtual.run(main())


def test_more_than_a_page_is_listed_whole() -> None:
    async def main() -> None:
        async with cluster() as made:
            async with asyncio.TaskGroup() as tasks:
                for i in range(PAGE + 3):
                    tasks.create_task(made.api.create(config_map(f"c{i}")))
            async with following(made) as seen:
                assert len(seen.names) == PAGE + 3

    virtual.run(main())
