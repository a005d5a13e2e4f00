"""What tests of nodes may ask for: a way of running pods, or an engine that makes containers, one after the other."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.node import engines
from tests.node.engines import Engine
from tests.node.nodes import Nodes, nodes
from tests.patience import STORY
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


@pytest.fixture(scope="session", params=engines.NAMES)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Every engine that works here."""
    with engines.engine(str(request.param)) as made:
        yield made


Play = Callable[[Nodes], Coroutine[Any, Any, None]]


@pytest.fixture
def contained(engine: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., None]:
    """Play something on nodes that have the engine."""
    for name, value in engine.extra.items():
        monkeypatch.setenv(name, value)

    def play(part: Play, **settings: Any) -> None:
        async def all_of_it() -> None:
            how = {"runner": "container", "engine": engine.name, **settings}
            async with asyncio.timeout(STORY), nodes(tmp_path, **how) as made:
                await part(made)

        asyncio.run(all_of_it())

    return play
