"""Logs: what containers say, one line after the other with its time, in files that outlive the pod."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from trainplane.cluster.client import Log
from trainplane.control import clock
from trainplane.node.report import path_of

SIZE = 10 * 1024 * 1024
"""How large a file grows before the next is begun."""
FILES = 5
"""How many files there are of one life of a container."""
LIVES = 5
"""How many former lives of a container are kept."""
KEPT = 1024 * 1024 * 1024
"""How many bytes of pods that are gone are kept."""
LONGEST_LINE = 16 * 1024
"""Of a longer line, each part is written as it comes."""
BLOCK = 64 * 1024
STREAMS = ("stdout", "stderr")


class Writer:
    """Writes what one life of a container says into its file."""

    def __init__(
        self, path: Path, *, size: int = SIZE, files: int = FILES, now: Callable[[], datetime] = clock.now
    ) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.is_open = True
        self._size = size
        self._files = files
        self._now = now
        self._file = path.open("ab", buffering=0)
        self._written = self._file.tell()
        self._rest = dict.fromkeys(STREAMS, b"")
        self._listeners: set[asyncio.Event] = set()
        self.taps: set[Callable[[int, bytes], None]] = set()
        """Told of everything as it comes, with the number of its stream: those who have attached."""
        self.failure = ""
        """Why something could not be written."""

    def write(self, stream: str, data: bytes) -> None:
        """Take what came from a stream; nothing at all is its end."""
        for tap in list(self.taps):
            tap(1 + STREAMS.index(stream), data)
        whole = self._rest[stream] + data
        *lines, rest = whole.split(b"\n")
        out = [self._line(stream, b"F", line) for line in lines]
        if not data and rest:
            out.append(self._line(stream, b"F", rest))
            rest = b""
        while len(rest) >= LONGEST_LINE:
            out.append(self._line(stream, b"P", rest[:LONGEST_LINE]))
            rest = rest[LONGEST_LINE:]
        self._rest[stream] = rest
        if out:
            self._append(b"".join(out))

    def close(self) -> None:
        """Nothing more will come."""
        for stream in STREAMS:
            if self._rest[stream]:
                self.write(stream, b"")
        self.is_open = False
        self._file.close()
        self._tell()

    def listen(self) -> asyncio.Event:
        """An event that is set when there is more to read, or nothing will come any more."""
        event = asyncio.Event()
        self._listeners.add(event)
        return event

    def forget(self, event: asyncio.Event) -> None:
        """Tell this one no more."""
        self._listeners.discard(event)

    def _line(self, stream: str, tag: bytes, text: bytes) -> bytes:
        return b" ".join((_stamp(self._now()), stream.encode(), tag, text)) + b"\n"

    def _append(self, data: bytes) -> None:
        try:
            if self._written and self._written + len(data) > self._size:
                self._rotate()
            self._file.write(data)
        except OSError as error:
            # A full disk must not end the container; what it said meanwhile is lost, and said to be.
            self.failure = f"{self.path} cannot be written: {error.strerror}; free some space"
            return
        self._written += len(data)
        self._tell()

    def _rotate(self) -> None:
        self._file.close()
        for i in range(self._files - 1, 0, -1):
            older = _numbered(self.path, i - 1)
            if older.exists():
                older.replace(_numbered(self.path, i))
        self._file = self.path.open("ab", buffering=0)
        self._written = 0

    def _tell(self) -> None:
        for event in self._listeners:
            event.set()


class Logs:
    """The logs of one node, by pod, container and life."""

    def __init__(self, folder: Path, *, kept: int = KEPT, size: int = SIZE) -> None:
        """`kept` bounds what pods leave behind, `size` one file, both in bytes."""
        self.folder = folder
        self._kept = kept
        self._size = size
        self._open: dict[Path, Writer] = {}

    def path(self, pod: str, container: str, life: int) -> Path:
        """The file of one life of a container; `pod` is namespace_name_uid."""
        return self.folder / pod / container / f"{life}.log"

    def writer(self, pod: str, container: str, life: int) -> Writer:
        """Begin to write about a life."""
        path = self.path(pod, container, life)
        for old in self.lives(pod, container):
            if old < life - LIVES:
                gone = self.path(pod, container, old)
                for file in (*_files(gone), path_of(gone)):
                    file.unlink(missing_ok=True)
        writer = self._open[path] = Writer(path, size=self._size)
        return writer

    def of(self, pod: str, container: str, life: int) -> Writer | None:
        """Who writes about a life, where it is not over."""
        writer = self._open.get(self.path(pod, container, life))
        return writer if writer and writer.is_open else None

    def close(self, writer: Writer) -> None:
        """A life is over."""
        writer.close()
        self._open.pop(writer.path, None)

    def lives(self, pod: str, container: str) -> list[int]:
        """The lives of a container that something is left of, the first one first."""
        found = (self.folder / pod / container).glob("*.log")
        return sorted(int(path.stem) for path in found if path.stem.isdigit())

    def tail(self, pod: str, container: str, life: int, *, lines: int) -> str:
        """The last lines of a life as one text."""
        path = self.path(pod, container, life)
        found = [text for _, text in _entries(_tail_of(_files(path), lines))]
        return b"".join(found).decode(errors="replace")

    async def read(self, pod: str, container: str, life: int, log: Log) -> AsyncIterator[bytes]:
        """What a container said, as it was asked for; raises FileNotFoundError where there is nothing."""
        path = self.path(pod, container, life)
        writer = self._open.get(path)
        files = _files(path)
        if not files:
            raise FileNotFoundError(path)
        since = clock.now() - timedelta(seconds=log.since_seconds) if log.since_seconds is not None else log.since_time
        left = log.limit_bytes
        async for block in _blocks(files, path, log, writer if log.follow else None):
            out = b"".join(
                (_stamp(time) + b" " + text if log.timestamps else text)
                for time, text in _entries(block, log.stream.lower())
                if since is None or time >= since
            )
            if left is not None:
                out = out[:left]
                left -= len(out)
            if out:
                yield out
            if left is not None and left <= 0:
                return

    def prune(self, alive: set[str]) -> list[str]:
        """Remove what is left of the pods that have been gone longest, where there is too much; returns their names."""
        gone = [path for path in self.folder.glob("*") if path.name not in alive and path.is_dir()]
        sizes = {path: sum(file.stat().st_size for file in path.rglob("*.log*")) for path in gone}
        total, removed = sum(sizes.values()), []
        for path in sorted(gone, key=lambda each: each.stat().st_mtime):
            if total <= self._kept:
                break
            total -= sizes[path]
            shutil.rmtree(path, ignore_errors=True)
            removed.append(path.name)
        return removed


def _numbered(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.{number}") if number else path


def _files(path: Path) -> list[Path]:
    """The files of one life, the oldest first."""
    found = [path] if path.exists() else []
    number = 1
    while (older := _numbered(path, number)).exists():
        found.insert(0, older)
        number += 1
    return found


def _tail_of(files: list[Path], lines: int) -> bytes:
    """The last so many lines of the files, whole."""
    parts, missing = list[bytes](), lines
    for path in reversed(files):
        if missing <= 0:
            break
        part = _end_of(path, missing)
        missing -= part.count(b"\n")
        parts.insert(0, part)
    return b"".join(parts)


def _end_of(path: Path, lines: int) -> bytes:
    """The last so many lines of a file, read from its end."""
    with path.open("rb") as file:
        place, data = file.seek(0, os.SEEK_END), b""
        while place > 0 and data.count(b"\n") <= lines:
            step = min(BLOCK, place)
            place -= step
            file.seek(place)
            data = file.read(step) + data
    return b"".join(_lines(data)[-lines:]) if lines else b""


async def _blocks(files: list[Path], path: Path, log: Log, writer: Writer | None) -> AsyncIterator[bytes]:
    """Whole lines of the files, and then what the writer adds until it is done."""
    heard = writer.listen() if writer else None
    try:
        current = path.open("rb")
    except FileNotFoundError:
        return
    try:
        if log.tail_lines is not None:
            yield _tail_of(files, log.tail_lines)
            current.seek(0, os.SEEK_END)
        else:
            for older in files[:-1]:
                for block in _whole_lines(older):
                    yield block
                    await asyncio.sleep(0)
        rest = b""
        while True:
            if heard:
                heard.clear()
            is_last = writer is None or not writer.is_open
            while data := current.read(BLOCK):
                whole, newline, rest = (rest + data).rpartition(b"\n")
                if newline:
                    yield whole + newline
                await asyncio.sleep(0)
            if os.fstat(current.fileno()).st_ino != path.stat().st_ino:
                current.close()
                current = path.open("rb")
                continue
            if is_last or heard is None:
                return
            await heard.wait()
    finally:
        current.close()
        if writer and heard:
            writer.forget(heard)


def _whole_lines(path: Path) -> Iterator[bytes]:
    rest = b""
    with path.open("rb") as file:
        while data := file.read(BLOCK):
            whole, newline, rest = (rest + data).rpartition(b"\n")
            if newline:
                yield whole + newline


def _lines(block: bytes) -> list[bytes]:
    """The lines that are whole; a carriage return ends none, for progress bars are full of them."""
    return [line + b"\n" for line in block.split(b"\n")[:-1]]


def _entries(block: bytes, wanted: str = "") -> Iterator[tuple[datetime, bytes]]:
    """Each line's time, and its text as the container wrote it; of one stream alone where one is wanted."""
    for line in _lines(block):
        time, _, rest = line.partition(b" ")
        stream, _, rest = rest.partition(b" ")
        tag, _, text = rest.partition(b" ")
        if not wanted or stream == wanted.encode():
            yield _time(time), text if tag == b"F" else text.removesuffix(b"\n")


def _stamp(time: datetime) -> bytes:
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f000Z").encode()


def _time(stamp: bytes) -> datetime:
    # Python reads six digits of a second; the files have nine, as those of other container runtimes do.
    return datetime.fromisoformat(stamp[:26].decode() + "+00:00")
