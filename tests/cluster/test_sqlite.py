"""The log on disk: restarts, who may open it, what it refuses, migrations, backups, and disks that fail."""

import asyncio
import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.stores import Clock, gone, key, listed, one, put, replay, running
from tests.patience import PATIENCE, STORY
from tests.places import ROOT
from trainplane.cluster.folder import Held, Open
from trainplane.cluster.keep import Keep
from trainplane.cluster.log import Compacted, DiskFault, DiskFull, DiskReadOnly, StoreError
from trainplane.cluster.sqlite import (
    APPLICATION,
    MIGRATIONS,
    Corrupt,
    Disk,
    Exists,
    Foreign,
    TooNew,
    migrate,
    read_backup,
)
from trainplane.cluster.store import LEAP, Store


def run(story: Coroutine[Any, Any, None]) -> None:
    """Let the story happen, within a bound of time."""
    asyncio.run(asyncio.wait_for(story, STORY))


def disk(folder: Path) -> Disk:
    """The log in a folder."""
    return Disk(folder, now=Clock())


def fill(folder: Path, *, objects: int = 20) -> dict[str, bytes]:
    """Write some objects, update and delete a few, and close."""
    state: dict[str, bytes] = {}

    async def story() -> None:
        with disk(folder) as log:
            async with running(log) as store:
                async with asyncio.TaskGroup() as tasks:
                    for number in range(objects):
                        tasks.create_task(one(store, put(key(f"p-{number:03}"), text="x" * 500)))
                for number in (1, 2, 3):
                    name = key(f"p-{number:03}")
                    there = store.get(name)
                    assert there is not None
                    await one(store, put(name, there.revision, image="new"))
                there = store.get(key("p-004"))
                assert there is not None
                await one(store, gone(key("p-004"), there.revision))
                state.update(listed(store))

    run(story())
    return state


def test_what_was_written_is_there_after_a_restart(tmp_path: Path) -> None:
    state = fill(tmp_path / "data")

    async def story() -> None:
        with disk(tmp_path / "data") as log:
            async with running(log) as store:
                assert listed(store) == state
                assert (store.revision, store.compacted) == (24, 0)
                assert replay(await anext(store.watch("pods", since=0)), {}) == state
                assert replay(await anext(store.watch("pods", since=20)), listed(store, at=20)) == state
                assert (await one(store, put(key("next")))).revision == 25

    run(story())


def test_compaction_is_remembered_and_never_takes_the_revision_back(tmp_path: Path) -> None:
    async def story() -> None:
        with disk(tmp_path / "data") as log:
            async with running(log) as store:
                await one(store, put(key("kept")))
                await one(store, put(key("a")))
                await one(store, put(key("a"), 2))
                await one(store, gone(key("a"), 3))
                assert await store.compact(4) == 4
        with disk(tmp_path / "data") as log:
            async with running(log) as store:
                assert (store.revision, store.compacted) == (4, 4)
                assert list(listed(store)) == ["research/kept"]
                with pytest.raises(Compacted):
                    store.watch("pods", since=3)
                assert (await one(store, put(key("a")))).revision == 5
        with closing(sqlite3.connect(tmp_path / "data/store.db")) as db:
            assert db.execute("SELECT revision FROM log").fetchall() == [(1,), (5,)]

    run(story())


def test_history_within_the_window_is_the_same_after_compaction_and_restart(tmp_path: Path) -> None:
    clock = Clock()
    keep = Keep(revisions=10, seconds=0, size=1 << 20)
    states: dict[int, dict[str, bytes]] = {}

    async def story() -> None:
        with disk(tmp_path / "data") as log:
            async with running(log, keep=keep, now=clock) as store:
                for number in range(60):
                    clock.now += 1
                    name = key(f"p-{number % 4}")
                    there = store.get(name)
                    if there and number % 3 == 0:
                        await one(store, gone(name, there.revision))
                    else:
                        await one(store, put(name, there.revision if there else 0, number=number))
                    states[store.revision] = listed(store)
                oldest = store.compacted
        with disk(tmp_path / "data") as log:
            async with running(log, keep=keep, now=clock) as store:
                assert store.compacted == oldest > 40
                for revision in range(oldest, 61):
                    assert listed(store, at=revision) == states[revision]

    run(story())


def test_the_file_does_not_grow_with_every_change(tmp_path: Path) -> None:
    clock = Clock()

    async def story() -> None:
        with disk(tmp_path / "data") as log:
            async with running(log, keep=Keep(revisions=100, seconds=0, size=1 << 20), now=clock) as store:
                for burst in range(60):
                    clock.now += 1
                    async with asyncio.TaskGroup() as tasks:
                        for number in range(20):
                            name = key(f"p-{number}")
                            there = store.get(name)
                            wish = put(name, there.revision if there else 0, burst=burst, text="x" * 5000)
                            tasks.create_task(one(store, wish))

    run(story())
    # 1,200 revisions of 5 kB were written, 6 MB in all.
    assert (tmp_path / "data/store.db").stat().st_size < 1_500_000


def test_room_is_given_back_after_much_is_deleted(tmp_path: Path) -> None:
    file = tmp_path / "data/store.db"

    async def story() -> None:
        with disk(tmp_path / "data") as log:
            async with running(log) as store:
                names = [key(f"p-{number}") for number in range(600)]
                await store.write(*(put(name, text="x" * 50_000) for name in names))
                full = _pages(file)
                await store.write(*(gone(name, number) for number, name in enumerate(names, 1)))
                await store.compact(store.revision)
                assert full - 200 < _pages(file) < full - 50
        assert file.stat().st_size < 1_000_000

    run(story())


def _pages(file: Path) -> int:
    with closing(sqlite3.connect(file)) as db:
        count: int = db.execute("PRAGMA page_count").fetchone()[0]
        return count


def test_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    async def story() -> None:
        with disk(tmp_path / "data") as log:
            async with running(log) as store:
                await one(store, put(key("a")))
                await log.backup(tmp_path / "backup.db")
                modes = {
                    path.name: stat.S_IMODE(path.stat().st_mode)
                    for path in (tmp_path / "data", tmp_path / "backup.db", *(tmp_path / "data").iterdir())
                }
                assert modes.pop("data") == 0o700
                assert set(modes) == {"backup.db", "lock", "store.db", "store.db-shm", "store.db-wal"}
                assert set(modes.values()) == {0o600}

    old = os.umask(0)
    try:
        run(story())
    finally:
        os.umask(old)


def test_a_folder_that_others_may_enter_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data").chmod(0o755)
    with pytest.raises(Open, match=r"mode 0755.*chmod 700"):
        disk(tmp_path / "data")
    assert list((tmp_path / "data").iterdir()) == []


def test_a_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    if os.geteuid():
        pytest.skip("needs root: only root may give a folder away")
    (tmp_path / "data").mkdir(mode=0o700)
    os.chown(tmp_path / "data", 12345, -1)
    with pytest.raises(Open, match=r"id 12345.*your own"):
        disk(tmp_path / "data")


def test_a_folder_is_made_with_those_above_it(tmp_path: Path) -> None:
    assert fill(tmp_path / "state/trainplane/data")


def test_a_second_opener_is_told_who_holds_the_data(tmp_path: Path) -> None:
    clock = Clock()
    clock.now = 1893499200.0
    with Disk(tmp_path / "data", now=clock):
        with pytest.raises(Held) as refused:
            disk(tmp_path / "data")
        holder = refused.value.holder
        assert holder is not None
        assert (holder.pid, holder.host, holder.since) == (
            os.getpid(),
            os.uname().nodename,
            "2030-01-01T12:00:00+00:00",
        )
        assert f"process {os.getpid()} on" in str(refused.value)
        again = subprocess.run(
            [sys.executable, "-m", "tests.cluster.writer", str(tmp_path / "data"), "1"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert again.returncode
        assert f"process {os.getpid()} on" in again.stderr
    disk(tmp_path / "data").close()


def _flip(file: Path, find: bytes) -> None:
    text = bytearray(file.read_bytes())
    place = text.index(find)
    text[place] ^= 1
    file.write_bytes(text)


def _write_at(file: Path, place: int, said: bytes) -> None:
    text = file.read_bytes()
    file.write_bytes(text[:place] + said + text[place + len(said) :])


DAMAGE: list[tuple[str, Callable[[Path], object], type[StoreError], str]] = [
    ("an object's text", lambda file: _flip(file, b"x" * 50), Corrupt, "restore a backup"),
    ("an object's name", lambda file: _flip(file, b"researchp-0"), Corrupt, "restore a backup"),
    ("not a database", lambda file: file.write_bytes(b"hello" * 5000), Corrupt, "restore a backup"),
    ("an empty file", lambda file: file.write_bytes(b""), Corrupt, "empty"),
    ("half a file", lambda file: os.truncate(file, file.stat().st_size // 8192 * 4096), Corrupt, "restore a backup"),
    (
        "pages of zeros",
        lambda file: file.write_bytes(file.read_bytes()[:4096] + bytes(file.stat().st_size - 4096)),
        Corrupt,
        "restore a backup",
    ),
    ("free pages that are not there", lambda file: _write_at(file, 36, (7).to_bytes(4, "big")), Corrupt, "restore a"),
    ("another program's", lambda file: _sql(file, "PRAGMA application_id = 7"), Foreign, "another program"),
    ("a newer version's", lambda file: _sql(file, "PRAGMA user_version = 99"), TooNew, "version 99.*install the newer"),
]


def _sql(file: Path, *statements: str) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
        for statement in statements:
            db.execute(statement)


@pytest.mark.parametrize(("what", "harm", "error", "words"), DAMAGE, ids=[row[0] for row in DAMAGE])
def test_a_file_that_is_not_whole_and_ours_is_refused_and_left_alone(
    tmp_path: Path, what: str, harm: Callable[[Path], object], error: type[StoreError], words: str
) -> None:
    file = tmp_path / "data/store.db"
    fill(tmp_path / "data", objects=200)
    harm(file)
    before = file.read_bytes()
    with pytest.raises(error, match=words) as refused, disk(tmp_path / "data") as log:
        Store(log, now=Clock())
    assert str(file) in str(refused.value), what
    assert file.read_bytes() == before
    with pytest.raises(error):
        read_backup(file)


def test_what_was_confirmed_outlives_the_process_though_no_commit_waits_for_the_disk(tmp_path: Path) -> None:
    async def story() -> None:
        with Disk(tmp_path / "data", now=Clock(), durable=False) as log:
            async with running(log) as store:
                for number in range(5):
                    await one(store, put(key(f"p-{number}")))
                # As it lies there when the process is killed now.
                shutil.copytree(tmp_path / "data", tmp_path / "left")
                expected = listed(store)
        (tmp_path / "left").chmod(0o700)
        for folder in ("left", "data"):
            with disk(tmp_path / folder) as log:
                async with running(log) as store:
                    assert listed(store) == expected

    run(story())


def test_a_log_whose_file_is_gone_is_refused(tmp_path: Path) -> None:
    fill(tmp_path / "data")
    (tmp_path / "data/store.db").rename(tmp_path / "away")
    (tmp_path / "data/store.db-wal").write_bytes(b"")
    with pytest.raises(Corrupt, match="put both back"):
        disk(tmp_path / "data")


def test_the_whole_file_can_be_checked_while_it_is_in_use(tmp_path: Path) -> None:
    fill(tmp_path / "data", objects=200)

    async def story() -> None:
        with disk(tmp_path / "data") as log:
            async with running(log) as store:
                await one(store, put(key("a")))
                await log.check()
                _flip(tmp_path / "data/store.db", b"x" * 50)
                with pytest.raises(Corrupt):
                    await log.check()

    run(story())


def test_a_file_of_version_0_is_brought_to_this_version(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    _sql(folder / "store.db", f"PRAGMA application_id = {APPLICATION}")
    assert fill(folder)
    with closing(sqlite3.connect(folder / "store.db")) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)


def test_a_step_to_the_next_version_keeps_what_is_there_or_changes_nothing(tmp_path: Path) -> None:
    fill(tmp_path / "data")
    steps = (*MIGRATIONS, "ALTER TABLE log ADD COLUMN writer TEXT NOT NULL DEFAULT 'nobody';")
    with closing(sqlite3.connect(tmp_path / "data/store.db", isolation_level=None)) as db:
        with pytest.raises(sqlite3.Error):
            migrate(db, (*steps, "UPDATE nothing SET x = 1;"))
        assert db.execute("PRAGMA user_version").fetchone() == (1,)
        assert "writer" not in [row[1] for row in db.execute("PRAGMA table_info(log)")]
        migrate(db, steps)
        assert db.execute("PRAGMA user_version").fetchone() == (2,)
        assert db.execute("SELECT count(*), max(writer) FROM log").fetchone() == (24, "nobody")
    with pytest.raises(TooNew):
        disk(tmp_path / "data")


def test_a_backup_of_a_live_store_is_one_moment_of_it(tmp_path: Path) -> None:
    """Every commit writes the same number at two keys; a backup that tears a commit would show two numbers."""

    async def busy(store: Store, number: int) -> None:
        first, second = key(f"a-{number}"), key(f"b-{number}")
        for count in range(40):
            there, beside = store.get(first), store.get(second)
            await store.write(
                put(first, there.revision if there else 0, count=count),
                put(second, beside.revision if beside else 0, count=count),
            )

    async def story() -> None:
        with disk(tmp_path / "data") as log:
            async with running(log) as store:
                async with asyncio.TaskGroup() as tasks:
                    for number in range(8):
                        tasks.create_task(busy(store, number))
                    for number in range(5):
                        acknowledged = store.revision
                        await log.backup(tmp_path / f"{number}.db")
                        snapshot = read_backup(tmp_path / f"{number}.db")
                        assert snapshot.revision >= acknowledged
                        counts = {item.key.name: item.object["spec"]["count"] for item in snapshot.items}
                        assert all(counts[f"a-{i}"] == counts[f"b-{i}"] for i in range(8) if f"a-{i}" in counts)
                with pytest.raises(Exists, match="name another"):
                    await log.backup(tmp_path / "0.db")
                with pytest.raises(DiskFault):
                    await log.backup(tmp_path / "no/such/folder.db")

    run(story())
    assert not list(tmp_path.glob("*.new*"))


def test_a_restore_brings_back_what_was_there_at_a_newer_revision(tmp_path: Path) -> None:
    fill(tmp_path / "data")

    async def story() -> None:
        with disk(tmp_path / "data") as log:
            async with running(log) as store:
                before = {path: item.object["spec"] for path, item in _items(store)}
                await log.backup(tmp_path / "backup.db")
                await one(store, put(key("later")))
                seen = store.revision
                await store.replace(read_backup(tmp_path / "backup.db"))
                assert {path: item.object["spec"] for path, item in _items(store)} == before
                assert store.revision >= seen + LEAP
                state = listed(store)
        for folder in ("data", "elsewhere"):
            with disk(tmp_path / folder) as log:
                async with running(log) as store:
                    if folder == "elsewhere":
                        await store.replace(read_backup(tmp_path / "backup.db"))
                        assert store.revision >= 24 + LEAP
                        assert {path: item.object["spec"] for path, item in _items(store)} == before
                    else:
                        assert listed(store) == state
                    with pytest.raises(Compacted):
                        store.watch("pods", since=24)
                    there = store.get(key("p-000"))
                    assert there is not None
                    assert (await one(store, gone(key("p-000"), there.revision))).revision > there.revision

    run(story())


def _items(store: Store) -> Iterator[tuple[str, Any]]:
    return ((item.key.path, item) for item in store.list("pods").items)


def test_a_backup_that_is_not_there_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(Foreign, match="not there"):
        read_backup(tmp_path / "none.db")


FULL = """
import asyncio, json, resource, sys
from pathlib import Path
from tests.cluster.stores import Clock, key, listed, one, put, running
from trainplane.cluster.keep import Keep
from trainplane.cluster.log import Unwritable
from trainplane.cluster.sqlite import Disk

async def story(folder, revisions):
    failed = written = 0
    with Disk(folder, now=Clock()) as log:
        async with running(log, keep=Keep(revisions=revisions, seconds=-1)) as store:
            await one(store, put(key("first")))
            resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
            error = None
            for number in range(100):
                try:
                    await one(store, put(key(f"p-{number}"), text="x" * 20_000))
                    written += 1
                except Unwritable as refused:
                    failed, error = failed + 1, str(refused)
            count, revision = store.count("pods"), store.revision
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            after = (await one(store, put(key("after")))).revision
    print(json.dumps([failed, written, count, revision, after, error]))

asyncio.run(story(Path(sys.argv[1]), int(sys.argv[2])))
"""


@pytest.mark.parametrize("revisions", [pytest.param(1000, id="while growing"), pytest.param(2, id="while compacting")])
def test_a_file_that_may_not_grow_is_an_error_for_its_writers_alone(tmp_path: Path, revisions: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path / "data"), str(revisions)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    failed, written, count, revision, after, error = json.loads(done.stdout)
    assert failed > 0
    assert written > 0
    assert (count, revision, after) == (written + 1, written + 1, written + 2)
    assert "nothing was written" in error
    with disk(tmp_path / "data") as log:
        store = Store(log, now=Clock())
        assert (store.count("pods"), store.revision) == (written + 2, written + 2)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MB, where one may be mounted."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m,mode=700", "trainplane-test", str(place)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("needs to mount a small file system: only root may, and not in every container")
    yield place
    subprocess.run(["umount", "-l", str(place)], timeout=PATIENCE, check=True)


def test_a_full_disk_refuses_writes_and_loses_nothing(small_disk: Path) -> None:
    async def story() -> None:
        with disk(small_disk / "data") as log:
            async with running(log) as store:
                written = 0
                with suppress(DiskFull):
                    for number in range(100):
                        await one(store, put(key(f"p-{number}"), text="x" * 20_000))
                        written += 1
                assert 5 < written < 60
                with pytest.raises(DiskFull, match="make room"):
                    await one(store, put(key("large"), text="x" * 20_000))
                assert (store.count("pods"), store.revision) == (written, written)
                with pytest.raises(DiskFull):
                    await log.backup(small_disk / "backup.db")
                assert not (small_disk / "backup.db").exists()
                subprocess.run(["mount", "-o", "remount,size=8m", str(small_disk)], timeout=PATIENCE, check=True)
                assert (await one(store, put(key("after")))).revision == written + 1
                await log.check()
        with disk(small_disk / "data") as log:
            assert Store(log, now=Clock()).count("pods") == written + 1

    run(story())


def test_a_disk_that_cannot_be_written_is_refused_as_such(small_disk: Path) -> None:
    state = fill(small_disk / "data")
    for option in ("remount,ro", "remount,rw"):
        subprocess.run(["mount", "-o", option, str(small_disk)], timeout=PATIENCE, check=True)
        if option == "remount,ro":
            with pytest.raises(DiskReadOnly, match="name another place"):
                disk(small_disk / "data")
            with pytest.raises(DiskReadOnly):
                disk(small_disk / "new")
    with disk(small_disk / "data") as log:
        assert listed(Store(log, now=Clock())) == state


def test_a_file_without_the_right_to_write_is_refused_as_such(tmp_path: Path) -> None:
    file = tmp_path / "data/store.db"
    state = fill(tmp_path / "data")
    file.chmod(0o400)
    if os.access(file, os.W_OK):
        pytest.skip("needs a user who is not root: root may write everywhere")
    with pytest.raises(DiskReadOnly, match="make it writable"):
        disk(tmp_path / "data")
    assert sorted(path.name for path in file.parent.iterdir()) == ["lock", "store.db"]
    file.chmod(0o600)
    with disk(tmp_path / "data") as log:
        assert listed(Store(log, now=Clock())) == state
