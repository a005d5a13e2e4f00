"""A whole embedded cluster for tests, on a free port of the loopback address."""

import asyncio
import io
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from tests.patience import STORY
from trainplane.cluster.kubeconfig import load
from trainplane.embed import Config, Running, running


class Caller:
    """The little HTTP that a test needs."""

    def __init__(self, cluster: Running, session: aiohttp.ClientSession, tls: ssl.SSLContext) -> None:
        self.cluster = cluster
        self._session = session
        self.tls = tls

    async def __call__(self, method: str, path: str, *, body: Any = None, **said: Any) -> tuple[int, Any, Any]:
        """The code, the value and the headers of an answer."""
        headers = {"User-Agent": "tests/1", **said.pop("headers", {})}
        if isinstance(body, bytes):
            said["data"] = io.BytesIO(body)
            headers.setdefault("Content-Type", "application/json")
        elif body is not None:
            said["json"] = body
        url = self.cluster.server + path
        async with self._session.request(method, url, headers=headers, ssl=said.pop("ssl", self.tls), **said) as answer:
            is_json = answer.content_type == "application/json"
            value = await answer.json() if is_json else await answer.text()
            return answer.status, value, answer.headers

    @asynccontextmanager
    async def stream(self, path: str, **said: Any) -> AsyncIterator[aiohttp.ClientResponse]:
        """An answer that goes on."""
        async with self._session.get(self.cluster.server + path, ssl=self.tls, **said) as answer:
            yield answer


def serve(folder: Path, story: Callable[[Caller], Awaitable[None]]) -> None:
    """Play a story against a cluster of its own."""

    async def play() -> None:
        async with running(Config(folder / "cluster")) as cluster:
            target = load([cluster.kubeconfig])
            async with aiohttp.ClientSession() as session:
                await story(Caller(cluster, session, target.client_context()))

    asyncio.run(asyncio.wait_for(play(), STORY))
