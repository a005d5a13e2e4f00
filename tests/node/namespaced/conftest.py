"""What tests of whole clusters need of the machine."""

import asyncio

import pytest

from trainplane.node.namespaced.client import Unable
from trainplane.node.namespaced.runner import NamespacedRunner


@pytest.fixture(scope="session")
def can_run_in_namespaces(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skips where the machine refuses namespaces, and says what to do."""

    async def attempt() -> None:
        runner = NamespacedRunner(tmp_path_factory.mktemp("attempt"))
        await runner.sweep()
        await runner.close()

    try:
        asyncio.run(attempt())
    except Unable as error:
        pytest.skip(str(error))
