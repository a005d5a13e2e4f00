"""A terminal with a program on it, as a person sits before one; and kubectls of more than one age."""

import fcntl
import os
import pty
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.patience import PATIENCE


class Terminal:
    """A program on a terminal of its own; what it writes is read as it comes."""

    def __init__(self, words: Sequence[str], environment: Mapping[str, str], *, rows: int = 24, columns: int = 80):
        self._ours, theirs = pty.openpty()
        self._size(rows, columns)
        self.process = subprocess.Popen(
            words, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True
        )
        os.close(theirs)
        self._said = b""

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._ours)

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._ours, text.encode())

    def until(self, word: str) -> str:
        """What was written up to a word, which is read and forgotten."""
        end = time.monotonic() + PATIENCE
        while word.encode() not in self._said:
            left = end - time.monotonic()
            assert left > 0, f"{word!r} did not come, but {self._said!r}"
            if select.select([self._ours], [], [], left)[0]:
                self._said += self._read()
        before, _, self._said = self._said.partition(word.encode())
        return before.decode(errors="replace")

    def resize(self, rows: int, columns: int) -> None:
        """Pull at the corner of the window."""
        self._size(rows, columns)
        self.process.send_signal(signal.SIGWINCH)

    def ended(self) -> int:
        """The exit code, once the program has one."""
        end = time.monotonic() + PATIENCE
        while (code := self.process.poll()) is None:
            assert time.monotonic() < end, f"it goes on, and says {self._said!r}"
            if select.select([self._ours], [], [], 0.05)[0]:
                self._said += self._read()
        return code

    def _size(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def _read(self) -> bytes:
        try:
            return os.read(self._ours, 65536)
        except OSError:
            # Nobody has the other end any more.
            time.sleep(0.01)
            return b""


def kubectl_of(version: str) -> str:
    """The path of a kubectl of this age; skips the test where there is none.

    The newest lies beside Python. Others are named `kubectl.1.32`, on the PATH or beside gcloud, which brings some.
    """
    beside = shutil.which("kubectl", path=str(Path(sys.executable).parent))
    if beside and _version(beside).startswith(f"v{version}."):
        return beside
    gcloud = shutil.which("gcloud")
    places = [os.environ.get("PATH", ""), *([str(Path(gcloud).resolve().parent)] if gcloud else [])]
    found = shutil.which(f"kubectl.{version}", path=os.pathsep.join(places))
    if found is None:
        pytest.skip(f"needs kubectl {version}: put it on the PATH under the name kubectl.{version}")
    return found


def _version(kubectl: str) -> str:
    done = subprocess.run(
        [kubectl, "version", "--client"], capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    return done.stdout.partition("Client Version: ")[2].partition("\n")[0]
