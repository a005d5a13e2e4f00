"""A fork server whose interpreter was started ahead of its time."""

import asyncio
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
    """The processes that this one has started and not yet buried, that are to be fork servers."""
    own = Path("/proc/self/task").glob("*/children")
    pids = [int(word) for file in own for word in file.read_text().split()]
    return [pid for pid in pids if b"namespaced.boot" in Path(f"/proc/{pid}/cmdline").read_bytes()]
