"""The objects of a cluster, whether it runs or not: counted, copied into a file, and replaced from one."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trainplane.cli.clusters import Cluster, Refused
from trainplane.cli.door import Answer, Ask, ask, counted
from trainplane.cli.keeper import holder
from trainplane.cluster.folder import Folder
from trainplane.cluster.log import Snapshot, StoreError
from trainplane.cluster.sqlite import Corrupt, Disk, Foreign, TooNew, backup_beside, read_backup
from trainplane.cluster.store import Store
from trainplane.control import clock


def count_objects(cluster: Cluster) -> Answer:
    """How many objects of each resource there are; raises Refused."""
    if holder(cluster):
        return ask(cluster, Ask())
    with _explained(), Disk(cluster.store, now=clock.seconds) as disk:
        return counted(Store(disk, now=clock.seconds))


def back_up(cluster: Cluster, path: Path) -> Snapshot:
    """Copy all objects into a new file, and read it again; raises Refused."""
    with _explained():
        if holder(cluster):
            # SQLite lets others read while one writes: the copy is what was durable at one moment.
            backup_beside(cluster.store, path)
        else:
            with Disk(cluster.store, now=clock.seconds) as disk:
                asyncio.run(disk.backup(path))
        return read_backup(path)


def look_into(path: Path) -> Snapshot:
    """What a backup holds; raises Refused."""
    with _explained():
        return read_backup(path)


def put_back(cluster: Cluster, path: Path) -> Answer:
    """Put the objects of a backup in place of all that is there; raises Refused, and then nothing was changed."""
    if holder(cluster):
        return ask(cluster, Ask(restore=str(path.absolute())))
    with _explained():
        snapshot = read_backup(path)
        try:
            return _put_into(cluster, snapshot)
        except (Corrupt, Foreign, TooNew):
            _set_aside(cluster)
            return _put_into(cluster, snapshot)


def _put_into(cluster: Cluster, snapshot: Snapshot) -> Answer:
    with Disk(cluster.store, now=clock.seconds) as disk:
        return asyncio.run(_replace(Store(disk, now=clock.seconds), snapshot))


def _set_aside(cluster: Cluster) -> None:
    """Move what cannot be read out of the way, so that somebody may still look into it."""
    with Folder(cluster.store, now=clock.seconds):
        for file in cluster.store.glob("store.db*"):
            file.replace(file.with_name(f"unreadable-{file.name}"))


async def _replace(store: Store, snapshot: Snapshot) -> Answer:
    running = asyncio.create_task(store.run(), name="store")
    try:
        await store.replace(snapshot)
    finally:
        store.close()
        await running
    return counted(store)


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except StoreError as error:
        raise Refused(str(error)) from None
