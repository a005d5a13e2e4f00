"""An Api for tests: in memory, at a time that stands still."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from itertools import count
from typing import Any

from trainplane.api.kinds import KINDS
from trainplane.cluster.api import Api
from trainplane.cluster.log import Forgetful
from trainplane.cluster.store import Store
from trainplane.controllers import admission
from trainplane.furniture import companions

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


@asynccontextmanager
async def api() -> AsyncIterator[Api]:
    """An Api with the namespace `ns`, while the context lasts."""
    store = Store(Forgetful(), now=NOW.timestamp)
    numbers = count(1)
    made = Api(
        store,
        kinds=KINDS,
        admission=admission(store),
        now=lambda: NOW,
        uid=lambda: f"00000000-0000-0000-0000-{next(numbers):012}",
        companions=lambda _: companions("certificate"),
    )
    async with asyncio.TaskGroup() as house:
        house.create_task(store.run())
        try:
            await made.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns"}})
            yield made
        finally:
            store.close()


def config_map(name: str = "a", **fields: Any) -> dict[str, Any]:
    """A ConfigMap in `ns`."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "ns"}, **fields}


def pod(name: str = "p", **spec: Any) -> dict[str, Any]:
    """A Pod in `ns`."""
    containers = [{"name": "c", "image": "example.test/c:1"}]
    metadata = {"name": name, "namespace": "ns"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers, **spec}}
