"""The program that holds a pod: it waits, whatever it is told, and buries what ends."""

import io
import os
import platform
import signal
import subprocess
import tarfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from tests.patience import PATIENCE
from trainplane.node import pause

T = TypeVar("T")


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_it_is_a_program_of_one_part_that_begins_within_it(machine: str) -> None:
    content = pause.program(machine)
    assert content[:7] == b"\x7fELF\x02\x01\x01"
    base, size = (int.from_bytes(content[at : at + 8], "little") for at in (64 + 16, 64 + 32))
    assert size == len(content)
    assert base < int.from_bytes(content[24:32], "little") < base + size


def test_its_archive_holds_it_and_nothing_else() -> None:
    if not pause.is_known(platform.machine()):
        pytest.skip(f"there is none for {platform.machine()}")
    with tarfile.open(fileobj=io.BytesIO(pause.archive())) as tar:
        (found,) = tar.getmembers()
        assert (found.name, found.mode) == ("pause", 0o555)
        extracted = tar.extractfile(found)
        assert extracted
        assert extracted.read() == pause.program(platform.machine())


def test_it_waits_and_buries_its_children(tmp_path: Path) -> None:
    if not pause.is_known(platform.machine()):
        pytest.skip(f"there is none for {platform.machine()}")
    file = tmp_path / "pause"
    file.write_bytes(pause.program(platform.machine()))
    file.chmod(0o755)
    # The shell becomes the program, and leaves it a child that ends.
    line = f"sleep 0.3 & exec {file}"
    with subprocess.Popen(["sh", "-c", line], stdin=subprocess.DEVNULL) as made:
        try:
            (child,) = _until(lambda: _children(made.pid), bool)
            _until(lambda: Path(f"/proc/{made.pid}/cmdline").read_bytes(), lambda line: line == f"{file}\0".encode())
            _until(lambda: os.path.exists(f"/proc/{child}"), lambda is_there: not is_there)
            assert made.poll() is None
        finally:
            made.kill()
    assert made.returncode == -signal.SIGKILL


def _children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _until(look: Callable[[], T], holds: Callable[[T], bool]) -> T:
    end = time.monotonic() + PATIENCE
    while not holds(found := look()):
        assert time.monotonic() < end, found
        time.sleep(0.01)
    return found
