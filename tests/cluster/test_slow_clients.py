"""Clients that take their time, or say too much, keep nobody else from being served."""

import asyncio
import time
from pathlib import Path
from urllib.parse import urlsplit

from tests.cluster.servers import Caller, serve
from tests.patience import PATIENCE
from trainplane.cluster.http.connections import HEAD_TIME, HEADER_LIMIT

MAPS = "/api/v1/namespaces/default/configmaps"
HEAD = f"POST {MAPS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


async def connect(call: Caller) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection on which anything can be said."""
    at = urlsplit(call.cluster.server)
    return await asyncio.open_connection(at.hostname, at.port, ssl=call.tls, server_hostname=at.hostname)


async def _end(reader: asyncio.StreamReader) -> bytes:
    try:
        return await asyncio.wait_for(reader.read(), PATIENCE)
    except ConnectionError:
        return b""


def test_heads_and_bodies_that_never_end_stall_nobody(tmp_path: Path) -> None:
    async def story(call: Caller) -> None:
        heads = [await connect(call) for _ in range(30)]
        bodies = [await connect(call) for _ in range(30)]
        for _, writer in heads:
            writer.write(HEAD.encode())
        for _, writer in bodies:
            writer.write(f"{HEAD}Content-Length: 1000\r\n\r\n{{".encode())
        began = time.monotonic()
        for number in range(20):
            code, _, _ = await call("POST", MAPS, body={"metadata": {"name": f"m{number}"}})
            assert code == 201
        assert time.monotonic() - began < HEAD_TIME
        # Whoever does not come to the end of a head is sent away, though it says a little more now and then.
        _, talking = heads[0]
        while not talking.is_closing() and time.monotonic() - began < PATIENCE:
            talking.write(b"X: y\r\n")
            await asyncio.sleep(0.2)
        assert talking.is_closing()
        assert await asyncio.gather(*(_end(reader) for reader, _ in heads)) == [b""] * len(heads)
        for _, writer in (*heads, *bodies):
            writer.transport.abort()

    serve(tmp_path, story)


def test_heads_that_are_too_long_are_refused(tmp_path: Path) -> None:
    async def story(call: Caller) -> None:
        for lines in (f"X: {'y' * (HEADER_LIMIT + 10)}\r\n", "".join(f"X-{n}: y\r\n" for n in range(2000))):
            reader, writer = await connect(call)
            writer.write(f"{HEAD}{lines}\r\n".encode())
            answer = await asyncio.wait_for(reader.read(), PATIENCE)
            assert b" 400 Bad Request" in answer.partition(b"\r\n")[0]
            assert b'"kind":"Status"' in answer
            assert b"yyy" not in answer
            writer.transport.abort()
        code, _, _ = await call("GET", MAPS)
        assert code == 200

    serve(tmp_path, story)


def test_bodies_that_are_too_long_are_refused_before_they_end(tmp_path: Path) -> None:
    async def story(call: Caller) -> None:
        reader, writer = await connect(call)
        writer.write(f"{HEAD}Content-Length: 99999999\r\n\r\n{{".encode())
        answer = await asyncio.wait_for(reader.readuntil(b"\r\n"), PATIENCE)
        assert b"413" in answer
        writer.transport.abort()

    serve(tmp_path, story)
