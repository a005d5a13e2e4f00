"""Fixtures of the suite over Client."""

import itertools
import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress

import pytest

from tests.conformance.scenes import PODS, Play, Scene, World
from tests.places import need_real_kubeconfig
from trainplane.api.ref import Ref
from trainplane.cluster.errors import NotFound

_numbers = itertools.count()


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    made = World(tmp_path_factory.mktemp("world") / "cluster")
    made.start()
    made.wait()
    yield made
    made.close()


@pytest.fixture(params=["api", "embedded", "real"])
def play(request: pytest.FixtureRequest, world: World) -> Play:
    """Play a story in a namespace of its own, on each client."""
    which: str = request.param
    if which == "real":
        need_real_kubeconfig()
    client, namespace = world.clients[which], f"suite-{os.getpid()}-{next(_numbers)}"

    def now(story: Callable[[Scene], Awaitable[None]]) -> None:
        async def whole() -> None:
            await client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
            try:
                await story(Scene(client, namespace))
            finally:
                # A pod that was bound waits for its node, and there is none that would let it go.
                for pod in (await client.list(PODS, namespace=namespace)).items:
                    with suppress(NotFound):
                        await client.delete(Ref.of(pod), grace=0)
                await client.delete(Ref("", "Namespace", "", namespace))

        world.play(whole())

    return now
