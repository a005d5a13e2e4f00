"""A whole server under faults, seen through its clients: killed under load, and on a disk that is full."""

import asyncio
import random
import resource
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path

import pytest

from tests.cluster.processes import Process
from tests.cluster.test_crash import KILLS
from tests.patience import PATIENCE, STORY
from trainplane.api.kinds import kind_of
from trainplane.api.meta import Raw
from trainplane.api.ref import Ref
from trainplane.cluster.client import Patch
from trainplane.cluster.errors import ApiError
from trainplane.cluster.remote import Remote

ROUNDS = max(3, KILLS // 10)
WRITERS = 4
CONFIG_MAPS = kind_of("v1", "ConfigMap")
assert CONFIG_MAPS


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Process]:
    process = Process(tmp_path)
    yield process
    process.stop()


def config_map(name: str, **data: str) -> Raw:
    metadata = {"name": name, "namespace": "default", "labels": {"load": "yes"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


class Load:
    """Writers, a watcher, and what each was told."""

    def __init__(self) -> None:
        self.acknowledged: dict[str, int] = {}
        """The newest version that a writer was told of its object."""
        self.seen: list[tuple[str, int]] = []
        """What the watcher was told, in order: the object's name and version."""
        self.since = ""

    async def write(self, client: Remote, name: str) -> None:
        """Change one object again and again, until the server is gone."""
        ref = Ref("", "ConfigMap", "default", name)
        number = 0
        while True:
            number += 1
            try:
                if name in self.acknowledged:
                    made = await client.patch(ref, Patch.merge({"data": {"n": f"{number}-{random.random()}"}}))
                else:
                    made = await client.apply(config_map(name), manager="load", force=True)
            except OSError:
                return
            self.acknowledged[name] = int(made["metadata"]["resourceVersion"])

    async def watch(self, client: Remote, *, until: int = 0) -> None:
        """Go on where the last watch ended, until the server is gone or a version has come."""
        assert CONFIG_MAPS
        changes = client.watch(CONFIG_MAPS, namespace="default", labels="load=yes", since=self.since)
        try:
            async with aclosing(changes) as told:  # type: ignore[type-var]
                async for change in told:
                    self.since = change.resource_version
                    if "name" in change.object["metadata"]:
                        self.seen.append((change.object["metadata"]["name"], int(self.since)))
                    if until and int(self.since) >= until:
                        return
        except OSError:
            return


def test_a_server_that_is_killed_loses_nothing_that_it_acknowledged(server: Process) -> None:
    dice = random.Random(1)
    load = Load()

    async def a_life() -> None:
        async with Remote.connect(server.kubeconfig) as client, asyncio.TaskGroup() as tasks:
            assert CONFIG_MAPS
            load.since = load.since or (await client.list(CONFIG_MAPS, labels="load=yes")).resource_version
            tasks.create_task(load.watch(client))
            for number in range(WRITERS):
                tasks.create_task(load.write(client, f"w{number}"))
            # The moment counts from the first acknowledgements, so that every life is one under load.
            before = sum(load.acknowledged.values())
            while len(load.acknowledged) < WRITERS or sum(load.acknowledged.values()) == before:
                await asyncio.sleep(0.01)
            await asyncio.sleep(dice.uniform(0, 0.4))
            server.kill()

    async def a_look() -> None:
        async with Remote.connect(server.kubeconfig) as client:
            assert CONFIG_MAPS
            there = {
                item["metadata"]["name"]: int(item["metadata"]["resourceVersion"])
                for item in (await client.list(CONFIG_MAPS, namespace="default", labels="load=yes")).items
            }
            # A write that nobody was told of may be there; one that somebody was told of must be.
            assert all(there[name] >= version for name, version in load.acknowledged.items())
            newest = max(there.values())
            if int(load.since) < newest:
                await asyncio.wait_for(load.watch(client, until=newest), PATIENCE)
            assert dict(load.seen) == there
            versions = [version for _, version in load.seen]
            assert versions == sorted(set(versions)), "an event came twice, or out of order"
            assert set(load.acknowledged.values()) <= set(versions), "an event was skipped"

    for _ in range(ROUNDS):
        server.start()
        asyncio.run(asyncio.wait_for(a_life(), STORY))
        server.start()
        asyncio.run(asyncio.wait_for(a_look(), STORY))
        server.kill()
    assert len(load.seen) > ROUNDS * WRITERS


def test_a_full_disk_is_a_clear_refusal_and_reads_go_on(server: Process) -> None:
    server.start()
    kept: dict[str, str] = {}

    async def fill() -> str:
        async with Remote.connect(server.kubeconfig) as client:
            await client.create(config_map("before", k="v"))
            files = [path.stat().st_size for path in (server.folder / "store").iterdir()]
            resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (max(files) + 300_000, resource.RLIM_INFINITY))
            refusals: list[ApiError] = []
            for number in range(60):
                try:
                    made = await client.create(config_map(f"large-{number}", k="x" * 50_000))
                    kept[made["metadata"]["name"]] = made["metadata"]["uid"]
                except ApiError as error:
                    refusals.append(error)
            assert (await client.get(Ref("", "ConfigMap", "default", "before")))["data"] == {"k": "v"}
            resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            await client.create(config_map("after", k="v"))
            assert {error.http for error in refusals} == {500}
            return refusals[-1].message

    async def look() -> None:
        async with Remote.connect(server.kubeconfig) as client:
            assert CONFIG_MAPS
            page = await client.list(CONFIG_MAPS, namespace="default", labels="load=yes")
            found = {item["metadata"]["name"]: item["metadata"]["uid"] for item in page.items}
            assert {name: uid for name, uid in found.items() if name.startswith("large")} == kept
            assert {"before", "after"} <= set(found)

    said = asyncio.run(asyncio.wait_for(fill(), STORY))
    assert "nothing was written" in said
    assert "Traceback" not in server.log.read_text()
    server.kill()
    server.start()
    asyncio.run(asyncio.wait_for(look(), STORY))
