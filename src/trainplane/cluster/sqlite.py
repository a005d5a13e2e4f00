"""The log on disk: one SQLite file in WAL mode, many writes to a commit, checked when it is opened."""

import asyncio
import os
import sqlite3
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import TracebackType

from trainplane.cluster.folder import Folder, fault, sync
from trainplane.cluster.log import (
    Change,
    DiskFault,
    DiskFull,
    DiskReadOnly,
    Kept,
    Key,
    Record,
    Row,
    Snapshot,
    Stored,
    StoreError,
)

APPLICATION = 0x54504C4E
"""What SQLite's header says of whose file it is: TPLN."""

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE log (
        revision INTEGER PRIMARY KEY,
        resource TEXT NOT NULL,
        namespace TEXT NOT NULL,
        name TEXT NOT NULL,
        value BLOB,
        place INTEGER NOT NULL,
        sum INTEGER NOT NULL
    );
    CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
    INSERT INTO meta VALUES ('compacted', 0);
    """,
)
"""Each step leads from the version that is its position to the next; a file's version is SQLite's user_version."""

_FILE = "store.db"
_ROWS = 500
_FORGOTTEN = 1_000
_PAGES_SPARE = 1_000
_PAGES_BUSY = 100
_PAGES_CLOSING = 10_000
_RESTORE = "restore a backup, or move the file away to start empty"


class Corrupt(StoreError):
    """The file is damaged."""


class Foreign(StoreError):
    """The file is not ours."""


class TooNew(StoreError):
    """The file was written by a newer version."""


class Exists(StoreError):
    """There is a file already where a backup should go."""


class Disk:
    """A log in a folder; a context manager, since a folder is held until it is closed."""

    def __init__(
        self, path: Path, *, now: Callable[[], float], durable: bool = True, held: Folder | None = None
    ) -> None:
        """Open the log in a folder, or make one; refuse what is held, damaged, foreign or too new.

        `held` is the folder where this process has it already; it is closed with the log. Of one that is not `durable`
        a loss of power may take the last records before it is closed, and nothing else does: no commit waits for the
        disk.
        """
        self._folder = held or Folder(path, now=now)
        self._durable = durable
        self._file = path / _FILE
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="log")
        self._forgotten = 0
        try:
            self._db = self._open()
        except BaseException:
            self._folder.close()
            raise

    def __enter__(self) -> "Disk":
        """Itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Finish what is being written, fold the write-ahead log into the file, and let go of the folder."""
        self._thread.shutdown()
        self._shrink(_PAGES_CLOSING)
        self._db.close()
        self._folder.close()

    def load(self) -> Kept:
        """Everything that was kept, each row checked against its sum."""
        with _explained(self._file):
            (compacted,) = self._db.execute("SELECT value FROM meta WHERE name = 'compacted'").fetchone()
            return Kept(compacted, list(_rows(self._db, self._file)))

    async def append(self, record: Record) -> None:
        """Keep a record in one transaction: a durable one in a thread of its own, for it has to be waited for."""
        if not self._durable:
            self._append(record)
            return
        await asyncio.get_running_loop().run_in_executor(self._thread, self._append, record)

    async def fold(self) -> None:
        """Fold the write-ahead log into the file now: whoever closes it soon then has nothing to wait for."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._fold)

    def _fold(self) -> None:
        # What does not succeed here is tried again when it is closed.
        with suppress(sqlite3.Error):
            self._db.execute("PRAGMA wal_checkpoint")

    async def check(self) -> None:
        """Read and check the whole file; raises Corrupt. Writing goes on beside it."""
        await asyncio.to_thread(_check_beside, self._file)

    async def backup(self, path: Path) -> None:
        """Copy everything that is durable now into a new file at `path`. Writing goes on beside it."""
        await asyncio.to_thread(_backup, self._file, path)

    def _open(self) -> sqlite3.Connection:
        wal = self._file.with_name(f"{_FILE}-wal")
        try:
            if not self._file.exists():
                if wal.exists():
                    raise Corrupt(f"{self._file} is gone, but {wal.name} is there; put both back, or {_RESTORE}")
                _create(self._file)
            # SQLite would open a file that may only be read, and leave others like it beside it.
            os.close(os.open(self._file, os.O_RDWR | os.O_CLOEXEC))
        except OSError as error:
            raise fault(self._file, error) from error
        with _explained(self._file):
            db = sqlite3.connect(self._file, isolation_level=None, check_same_thread=False)
            try:
                _accept(db, self._file)
                db.execute("PRAGMA journal_mode = WAL")
                db.execute(f"PRAGMA synchronous = {'FULL' if self._durable else 'NORMAL'}")
                db.execute("PRAGMA journal_size_limit = 67108864")
            except BaseException:
                db.close()
                raise
        return db

    def _append(self, record: Record) -> None:
        with _explained(self._file):
            try:
                # Between statements this thread must wait for the interpreter, so there are few of them.
                alone = len(record.changes) <= _ROWS and record.compacted is None
                if not alone:
                    self._db.execute("BEGIN IMMEDIATE")
                self._write(record)
                if not alone:
                    self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    with suppress(sqlite3.Error):
                        self._db.execute("ROLLBACK")
                raise
            self._forgotten += len(record.forget)
            if self._forgotten >= _FORGOTTEN:
                self._forgotten = 0
                self._shrink(_PAGES_BUSY)

    def _write(self, record: Record) -> None:
        if record.replace:
            self._db.execute("DELETE FROM log")
        for start in range(0, len(record.forget), _ROWS):
            part = record.forget[start : start + _ROWS]
            self._db.execute(f"DELETE FROM log WHERE revision IN ({','.join('?' * len(part))})", part)  # noqa: S608
        for start in range(0, len(record.changes), _ROWS):
            _insert(self._db, record.changes[start : start + _ROWS])
        if record.compacted is not None:
            self._db.execute("UPDATE meta SET value = ? WHERE name = 'compacted'", (record.compacted,))

    def _shrink(self, most: int) -> None:
        """Give a bounded number of pages back where many are free; fewer are soon written again anyway."""
        # Where the disk does not let us tidy up nothing is lost, and what was written before stands.
        with suppress(sqlite3.Error):
            (spare,) = self._db.execute("PRAGMA freelist_count").fetchone()
            (pages,) = self._db.execute("PRAGMA page_count").fetchone()
            if spare > max(_PAGES_SPARE, pages // 4):
                # Only a script goes on to the end of this one; `execute` gives a single page back.
                self._db.executescript(f"PRAGMA incremental_vacuum({most})")


def backup_beside(folder: Path, path: Path) -> None:
    """Copy what the log in a folder holds into a new file, while another process has the folder and goes on writing."""
    _backup(folder / _FILE, path)


def read_backup(path: Path) -> Snapshot:
    """What a backup holds, for `Store.replace`; one of an older version is read as this one would have written it."""
    if not path.is_file():
        raise Foreign(f"{path} is not there; name a file that a backup wrote")
    with (
        _explained(path),
        closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as file,
        closing(sqlite3.connect(":memory:", isolation_level=None)) as copy,
    ):
        file.backup(copy)
        _accept(copy, path)
        (compacted,) = copy.execute("SELECT value FROM meta WHERE name = 'compacted'").fetchone()
        newest: dict[Key, Row] = {}
        revision: int = compacted
        for row in _rows(copy, path):
            newest.pop(row.key, None)
            newest[row.key] = row
            revision = max(revision, row.revision)
    items = [Stored(row.key, row.revision, row.value, row.place) for row in newest.values() if row.value is not None]
    return Snapshot(revision, items)


def migrate(db: sqlite3.Connection, steps: Sequence[str] = MIGRATIONS) -> None:
    """Bring a file to the newest version, all the way or not at all."""
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version == len(steps):
        return
    script = "".join(steps[version:])
    try:
        db.executescript(f"BEGIN IMMEDIATE;{script}PRAGMA user_version = {len(steps)};COMMIT;")
    except sqlite3.Error:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _create(file: Path) -> None:
    """Make an empty log under another name first, so that a file of ours is never half made."""
    new = file.with_name(f"{file.name}.new")
    new.unlink(missing_ok=True)
    os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    with _explained(file), closing(sqlite3.connect(new, isolation_level=None)) as db:
        # The disk has it once, when it is whole: SQLite would wait for every step, a tenth of a start in all.
        db.execute("PRAGMA synchronous = OFF")
        db.execute("PRAGMA auto_vacuum = INCREMENTAL")
        db.execute(f"PRAGMA application_id = {APPLICATION}")
        migrate(db)
        db.execute("PRAGMA journal_mode = WAL")
    sync(new)
    new.rename(file)
    sync(file.parent)


def _accept(db: sqlite3.Connection, file: Path) -> None:
    """Take a file of ours that is whole, and bring it to this version; refuse any other."""
    if not file.stat().st_size:
        raise Corrupt(f"{file} is empty; {_RESTORE}")
    (application,) = db.execute("PRAGMA application_id").fetchone()
    if application != APPLICATION:
        raise Foreign(f"{file} is a database of another program; move it away, or name another folder")
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version > len(MIGRATIONS):
        raise TooNew(
            f"{file} has version {version}, and this Trainplane knows up to {len(MIGRATIONS)}; "
            "install the newer Trainplane again, or restore a backup that this one made"
        )
    # It reads what loading reads anyway, and takes about a millisecond for each megabyte: a file whose free pages are
    # in disorder shows no damage in any object, and would fail a write much later.
    _check(db, file)
    migrate(db)


def _check(db: sqlite3.Connection, file: Path) -> None:
    (found,) = db.execute("PRAGMA quick_check(1)").fetchone()
    if found != "ok":
        raise Corrupt(f"{file} is damaged ({found}); {_RESTORE}")


def _check_beside(file: Path) -> None:
    with _explained(file), closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as db:
        _check(db, file)
        for _ in _rows(db, file):
            pass


def _backup(file: Path, path: Path) -> None:
    new = path.with_name(f"{path.name}.new")
    try:
        if path.exists():
            raise Exists(f"{path} is there already; name another file")
        new.unlink(missing_ok=True)
        os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        with (
            _explained(path),
            closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as source,
            closing(sqlite3.connect(new)) as copy,
        ):
            source.backup(copy)
            # A file that stands alone must be readable where nothing can be written beside it.
            copy.execute("PRAGMA journal_mode = DELETE")
        sync(new)
        new.rename(path)
        sync(path.parent)
    except OSError as error:
        raise fault(path, error) from error
    finally:
        with suppress(OSError):
            new.unlink(missing_ok=True)


def _insert(db: sqlite3.Connection, changes: Sequence[Change]) -> None:
    values: list[object] = []
    for change in changes:
        value, place = (change.after.value, change.after.place) if change.after else (None, 0)
        values += (change.revision, *change.key, value, place, _sum(change.revision, change.key, value))
    if changes:
        db.execute(f"INSERT INTO log VALUES {','.join(['(?,?,?,?,?,?,?)'] * len(changes))}", values)  # noqa: S608


def _rows(db: sqlite3.Connection, file: Path) -> Iterator[Row]:
    found = db.execute("SELECT revision, resource, namespace, name, value, place, sum FROM log ORDER BY revision")
    for revision, resource, namespace, name, value, place, check in found:
        key = Key(sys.intern(resource), sys.intern(namespace), name)
        if check != _sum(revision, key, value):
            raise Corrupt(f"{file} is damaged: revision {revision} is not what was written; {_RESTORE}")
        yield Row(revision, key, value, place)


def _sum(revision: int, key: Key, value: bytes | None) -> int:
    """What tells whether a row is as it was written; SQLite has sums of its own in the write-ahead log alone."""
    resource, namespace, name = key
    return zlib.crc32(value or b"", zlib.crc32(f"{revision} {resource} {namespace} {name}".encode()))


@contextmanager
def _explained(file: Path) -> Iterator[None]:
    """SQLite's errors as ours, with what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise _explain(file, error) from error


def _explain(file: Path, error: sqlite3.Error) -> StoreError:
    # The low byte is the kind of error; the others say more of the same.
    match getattr(error, "sqlite_errorcode", sqlite3.SQLITE_IOERR) & 0xFF:
        case sqlite3.SQLITE_FULL:
            return DiskFull(f"{file}: the disk is full, so nothing was written; make room and repeat")
        case sqlite3.SQLITE_READONLY:
            return DiskReadOnly(f"{file}: the disk takes no writes ({error}); make it writable and repeat")
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return Corrupt(f"{file} is damaged ({error}); {_RESTORE}")
        case _:
            return DiskFault(f"{file}: {error}, so nothing was written; look into the disk and repeat")
