"""A fork server whose interpreter was started ahead of its time."""

import asyncio
import os
from contextlib import suppress
from pathlib import Path

import pytest

from trainplane.node.machine import Settings, choose
from trainplane.node.namespaced.client import start_early
from trainplane.node.namespaced.runner import NamespacedRunner


@pytest.mark.usefixtures("can_run_in_namespaces")
def test_an_interpreter_that_was_started_early_is_the_one_that_serves(tmp_path: Path) -> None:
    async def main() -> None:
        start_early(tmp_path)
        (early,) = children()
        runner = await choose(Settings(1, runner="namespaced"), tmp_path)
        try:
            assert isinstance(runner, NamespacedRunner)
            assert runner.processes[0] == early
        finally:
            await runner.close()
        assert not Path(f"/proc/{early}").exists()

    asyncio.run(main())


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
