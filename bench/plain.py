"""A server that stores and decides nothing: aiohttp behind the same TLS, for what the road alone costs.

`python -m bench.plain CERTIFICATE ITEM LIST` prints its port. POST answers with what was sent and tells all who GET
/watch; GET /list and anything else answer with the files' contents.
"""

import asyncio
import ssl
import sys
from pathlib import Path

from aiohttp import web


class Plain:
    """The server's answers."""

    def __init__(self, item: bytes, listed: bytes) -> None:
        self._item, self._list = item, listed
        self._queues: set[asyncio.Queue[bytes]] = set()

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        if request.method in ("POST", "PATCH"):
            sent = await request.content.read()
            for queue in self._queues:
                queue.put_nowait(sent)
            return web.Response(body=sent, content_type="application/json")
        if request.path == "/watch":
            return await self._watch(request)
        body = self._list if request.path == "/list" else self._item
        return web.Response(body=body, content_type="application/json")

    async def _watch(self, request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.enable_chunked_encoding()
        await response.prepare(request)
        queue: asyncio.Queue[bytes] = asyncio.Queue()
        self._queues.add(queue)
        while True:
            await response.write(await queue.get() + b"\n")


async def main(certificate: str, item: str, listed: str) -> None:
    """Serve until killed."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    plain = Plain(Path(item).read_bytes(), Path(listed).read_bytes())
    runner = web.ServerRunner(web.Server(plain.answer, access_log=None))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
