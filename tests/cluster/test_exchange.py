"""Requests and answers by HTTP/1.1, from servers that answer in every way that is allowed, and in others."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.patience import PATIENCE
from trainplane.cluster.exchange import Answer, Cut, Exchange


class Server:
    """Answers each request with the next of its answers; None closes the connection instead."""

    def __init__(self, answers: list[bytes | None]) -> None:
        self.answers = answers
        self.requests: list[tuple[str, bytes]] = []
        self.connections = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while self.answers:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                length = next((int(line[15:]) for line in head.splitlines() if line.startswith("Content-Length")), 0)
                self.requests.append((head.splitlines()[0], await reader.readexactly(length)))
                answer = self.answers.pop(0)
                if answer is None:
                    break
                writer.write(answer)
                if b"Connection: close" in answer:
                    break
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()


@asynccontextmanager
async def asked(server: Server) -> AsyncIterator[Exchange]:
    serving = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    port = serving.sockets[0].getsockname()[1]
    exchange = Exchange(f"http://127.0.0.1:{port}/base/", tls=None, name="", connect_limit=PATIENCE, widest=2)
    try:
        yield exchange
    finally:
        exchange.close()
        serving.close()
        await asyncio.sleep(0.01)


def played(answers: list[bytes | None], play: Callable[[Exchange, Server], Coroutine[Any, Any, None]]) -> None:
    async def all_of_it() -> None:
        server = Server(answers)
        async with asyncio.timeout(PATIENCE), asked(server) as exchange:
            await play(exchange, server)

    asyncio.run(all_of_it())


def ok(text: str, *more: str) -> bytes:
    head = ["HTTP/1.1 200 OK", f"Content-Length: {len(text)}", *more, "", text]
    return "\r\n".join(head).encode()


async def get(exchange: Exchange, method: str = "GET", body: bytes | None = None) -> Answer:
    return await exchange.ask(method, "/x", headers={"Accept": "*/*"}, body=body)


@pytest.mark.parametrize(
    ("raw", "status", "content"),
    [
        pytest.param(ok("whole"), 200, b"whole", id="with its length"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nwho\r\n2;a=b\r\nle\r\n0\r\nTrailer: x\r\n\r\n",
            200,
            b"whole",
            id="in chunks",
        ),
        pytest.param(b"HTTP/1.0 200 OK\r\nConnection: close\r\n\r\nwhole", 200, b"whole", id="until the end"),
        pytest.param(
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", 404, b"", id="100"
        ),
        pytest.param(b"HTTP/1.1 204 No Content\r\n\r\n", 204, b"", id="nothing"),
    ],
)
def test_an_answer_is_read_however_it_comes(raw: bytes, status: int, content: bytes) -> None:
    async def play(exchange: Exchange, server: Server) -> None:
        answer = await get(exchange)
        assert (answer.head.status, answer.content) == (status, content)
        assert server.requests == [("GET /base/x HTTP/1.1", b"")]

    played([raw], play)


def test_connections_are_kept_and_headers_may_come_twice() -> None:
    async def play(exchange: Exchange, server: Server) -> None:
        first = await get(exchange, "POST", b"{}")
        assert first.head.all("warning") == ["a", "b"]
        assert (await get(exchange)).content == b"2"
        assert server.connections == 1
        assert server.requests[0] == ("POST /base/x HTTP/1.1", b"{}")

    played([ok("1", "Warning: a", "WARNING: b"), ok("2")], play)


def test_a_kept_connection_that_was_closed_is_no_fault() -> None:
    async def play(exchange: Exchange, server: Server) -> None:
        await get(exchange)
        # The server reads this one and closes the connection without a word.
        assert (await get(exchange)).content == b"2"
        assert server.connections == 2

    played([ok("1"), None, ok("2")], play)


def test_what_may_have_been_done_is_not_asked_again() -> None:
    async def play(exchange: Exchange, server: Server) -> None:
        await get(exchange)
        with pytest.raises(Cut):
            await get(exchange, "POST", b"{}")
        assert len(server.requests) == 2

    played([ok("1"), None, ok("2")], play)


def test_half_an_answer_is_none() -> None:
    async def play(exchange: Exchange, server: Server) -> None:
        with pytest.raises(Cut):
            await get(exchange)
        assert len(server.requests) == 1

    played([b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\nhal"], play)


def test_as_many_at_once_as_there_is_room_for() -> None:
    async def play(exchange: Exchange, server: Server) -> None:
        answers = await asyncio.gather(*(get(exchange) for _ in range(8)))
        assert sorted(answer.content for answer in answers) == [b"%d" % number for number in range(8)]
        assert server.connections == 2

    played([ok(str(number)) for number in range(8)], play)


def chunk(text: str) -> bytes:
    return f"{len(text):x}\r\n{text}\r\n".encode()


def test_what_lasts_is_told_piece_by_piece() -> None:
    go_on = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk("one"))
        await go_on.wait()
        writer.write(chunk("two") + b"0\r\n\r\n")
        writer.close()

    async def play() -> None:
        serving = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = serving.sockets[0].getsockname()[1]
        exchange = Exchange(f"http://127.0.0.1:{port}", tls=None, name="", connect_limit=5, widest=2)
        async with asyncio.timeout(20), exchange.stream("/x", headers={}, answer_limit=5) as (head, pieces):
            assert head.status == 200
            assert await anext(pieces) == b"one"
            go_on.set()
            assert [piece async for piece in pieces] == [b"two"]
        serving.close()
        await asyncio.sleep(0.01)

    asyncio.run(play())


def test_what_lasts_and_breaks_off_is_not_taken_for_its_end() -> None:
    async def play(exchange: Exchange, server: Server) -> None:
        async with exchange.stream("/x", headers={}, answer_limit=5) as (_, pieces):
            assert await anext(pieces) == b"one"
            with pytest.raises(Cut):
                await anext(pieces)
        assert server.connections == 1

    played(
        [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n" + chunk("one") + b"5\r\ntw"],
        play,
    )
