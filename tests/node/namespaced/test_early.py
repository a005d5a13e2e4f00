"""A fork server whose interpreter was started ahead of its time."""

import asyncio
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.patience import PATIENCE
from trainplane.node.machine import Settings, choose
from trainplane.node.namespaced.addresses import GATEWAY
from trainplane.node.namespaced.client import start_ahead, tell_ahead
from trainplane.node.namespaced.early import begin, hello
from trainplane.node.namespaced.leftovers import label
from trainplane.node.namespaced.runner import NamespacedRunner


@pytest.mark.usefixtures("can_run_in_namespaces")
def test_an_interpreter_that_was_started_early_is_the_one_that_serves(tmp_path: Path) -> None:
    async def main() -> None:
        start_ahead(tmp_path / "node" / "namespaced")
        begin(tmp_path / "node" / "namespaced")
        early = await only_child()
        runner = await choose(Settings(1, runner="namespaced"), tmp_path)
        try:
            assert isinstance(runner, NamespacedRunner)
            assert runner.processes[0] == early
        finally:
            await runner.close()
        assert not Path(f"/proc/{early}").exists()

    asyncio.run(main())


@pytest.mark.usefixtures("can_run_in_namespaces")
def test_what_was_begun_early_is_of_no_use_where_another_start_is_wanted(tmp_path: Path) -> None:
    async def main() -> None:
        folder = tmp_path / "node" / "namespaced"
        start_ahead(folder)
        early = await only_child()
        tell_ahead(folder, {**hello(None, rootless=bool(os.geteuid()), ranges=None), "gateway": "10.9.9.9"})
        runner = await choose(Settings(1, runner="namespaced"), tmp_path)
        try:
            assert runner.gateway == GATEWAY
            assert isinstance(runner, NamespacedRunner)
            assert runner.processes[0] != early
        finally:
            await runner.close()
        assert not children()

    asyncio.run(main())


@pytest.mark.usefixtures("can_run_in_namespaces")
def test_what_was_begun_early_and_is_never_wanted_ends_with_whoever_began_it(tmp_path: Path) -> None:
    words = "import sys, pathlib; from trainplane.node.namespaced import client, early"
    folder = tmp_path / "node" / "namespaced"
    line = f"{words}; folder = pathlib.Path({str(folder)!r}); client.start_ahead(folder); early.begin(folder)"
    subprocess.run([sys.executable, "-c", line], check=True, timeout=PATIENCE)

    async def main() -> None:
        runner = await choose(Settings(1, runner="namespaced"), tmp_path)
        await runner.close()

    asyncio.run(main())
    assert not list(Path("/sys/fs/cgroup").rglob(f"trainplane-{label(folder)}*"))
    assert not (folder / "trial").exists()


async def only_child() -> int:
    """The one that was started; the kernel does not tell a program's words in the first moment of it."""
    async with asyncio.timeout(PATIENCE):
        while not (found := children()):
            await asyncio.sleep(0.01)
    (pid,) = found
    return pid


def children() -> list[int]:
    """The processes that this one has started and not yet buried, that are to be fork servers.

    Found by their parent: the kernel's own list of children leaves some out while others end.
    """
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == os.getpid() and b"namespaced.boot" in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
    return found
