"""What tests of nodes may ask for: a way of running pods, one after the other."""

import asyncio
from pathlib import Path

import pytest

from trainplane.node.machine import Settings, choose
from trainplane.node.namespaced.client import Unable


@pytest.fixture(params=["process", "namespaced"])
def runner(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Every Runner that this machine allows."""
    name = str(request.param)

    async def attempt(folder: Path) -> None:
        await (await choose(Settings(1, runner=name), folder)).close()

    if name == "namespaced":
        try:
            asyncio.run(attempt(tmp_path_factory.mktemp("attempt")))
        except Unable as error:
            pytest.skip(f"pods cannot have namespaces here: {error}")
    return name
