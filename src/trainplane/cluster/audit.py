"""The audit log: one line of JSON for each request, of who asked for what and how it ended; never what was sent."""

import logging
import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from trainplane.cluster.private_files import FILE_MODE, NotPrivate

LIMIT = 64 * 1024 * 1024
"""How long a file may become before it is put aside."""
KEPT = 4
"""How many files there are at most, the one that is written to included."""
LONGEST = 256
"""Characters of what a client says of itself."""
_LOG = logging.getLogger("trainplane.audit")


class AuditLog:
    """Lines in a file that nobody else may read; older ones are put aside as FILE.1, FILE.2 and so on."""

    def __init__(self, path: Path, *, now: Callable[[], datetime], limit: int = LIMIT) -> None:
        """Raises OSError where the file cannot be written to."""
        self._path = path
        self._now = now
        self._limit = limit
        self._file = self._open()
        self._size = os.fstat(self._file).st_size
        self._is_failing = False

    def write(self, line: Mapping[str, Any]) -> None:
        """Add a line; a disk that takes none is told of once, and keeps nobody from working."""
        at = self._now().astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        text = orjson.dumps({"time": at, **_shortened(line)}, option=orjson.OPT_APPEND_NEWLINE)
        try:
            if self._size + len(text) > self._limit:
                self._rotate()
            self._size += os.write(self._file, text)
            self._is_failing = False
        except OSError as error:
            if not self._is_failing:
                _LOG.warning("%s: %s; requests are not noted until it can be written to", self._path, error.strerror)
            self._is_failing = True

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def _open(self) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(self._path, flags, FILE_MODE)
        if os.fstat(descriptor).st_uid != os.geteuid():
            os.close(descriptor)
            raise NotPrivate(f"{self._path} belongs to another user; name another file")
        os.fchmod(descriptor, FILE_MODE)
        return descriptor

    def _rotate(self) -> None:
        for number in range(KEPT - 1, 0, -1):
            newer = self._aside(number - 1) if number > 1 else self._path
            if newer.exists():
                newer.replace(self._aside(number))
        opened = self._open()
        os.close(self._file)
        self._file, self._size = opened, 0

    def _aside(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")


def _shortened(line: Mapping[str, Any]) -> dict[str, Any]:
    """A line without what is empty, and with nothing that is longer than anybody reads."""
    return {
        name: value[:LONGEST] if isinstance(value, str) and name != "notes" else value
        for name, value in line.items()
        if value not in ("", None, [], ())
    }
