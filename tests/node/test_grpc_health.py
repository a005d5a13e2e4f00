"""The question of gRPC probes, asked of a real server, and of what is none."""

import asyncio
import subprocess
from collections.abc import Iterator

import pytest

from tools.environments import NotMade, environment
from trainplane.node.grpc_health import check
from trainplane.node.probes import Found

SERVER = """
import concurrent.futures, grpc, sys
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
server = grpc.server(concurrent.futures.ThreadPoolExecutor())
answers = health.HealthServicer()
health_pb2_grpc.add_HealthServicer_to_server(answers, server)
answers.set("", health_pb2.HealthCheckResponse.SERVING)
answers.set("sick", health_pb2.HealthCheckResponse.NOT_SERVING)
answers.set("shy", health_pb2.HealthCheckResponse.UNKNOWN)
print(server.add_insecure_port("127.0.0.1:0"), flush=True)
server.start()
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def server() -> Iterator[int]:
    """The port of a real server."""
    try:
        python = environment("grpc") / "bin" / "python"
    except NotMade as error:
        pytest.skip(f"its packages cannot be installed: {error}")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([python, "-c", SERVER], text=True, **pipes) as running:
        assert running.stdout
        assert running.stdin
        yield int(running.stdout.readline())
        running.stdin.close()


async def asked(port: int, service: str) -> Found:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        async with asyncio.timeout(30):
            return await check(reader, writer, service=service, authority="pod:1", agent="probe")
    finally:
        writer.close()
        await writer.wait_closed()


@pytest.mark.parametrize(
    ("service", "good", "message"),
    [
        ("", True, "SERVING"),
        ("sick", False, 'service unhealthy (responded with "NOT_SERVING")'),
        ("shy", False, 'service unhealthy (responded with "UNKNOWN")'),
        ("missing", False, 'service unhealthy (responded with "UNKNOWN")'),
    ],
)
def test_what_a_server_says_of_a_service(server: int, service: str, good: bool, message: str) -> None:
    found = asyncio.run(asked(server, service))
    assert found.good is good
    assert message in found.message


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        pytest.param(b"", "what listens there is no gRPC server", id="says nothing"),
        pytest.param(b"HTTP/1.1 400 Bad Request\r\n\r\n", "nothing to say of the service s", id="HTTP/1"),
        pytest.param(b"\0\0\1\1\5\0\0\0\1\x88", "nothing to say of the service s", id="does not know the question"),
    ],
)
def test_who_says_nothing_of_its_health_is_not_healthy(answers: bytes, message: str) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"trailers")
        writer.write(answers)
        writer.close()

    async def story() -> Found:
        async with await asyncio.start_server(answer, "127.0.0.1", 0) as served:
            return await asked(served.sockets[0].getsockname()[1], "s")

    found = asyncio.run(story())
    assert not found.good
    assert message in found.message


def test_a_server_is_answered_while_it_thinks() -> None:
    """Settings are acknowledged, and a ping comes back, before the padded answer in two parts is taken together."""
    ping = b"\x00\x00\x08\x06\x00" + b"\x00" * 4 + b"abcdefgh"
    settings = b"\x00\x00\x00\x04\x00" + b"\x00" * 4
    first = b"\x00\x00\x06\x00\x08\x00\x00\x00\x01" + b"\x01\x00\x00\x00\x00\xff"
    second = b"\x00\x00\x03\x00\x01\x00\x00\x00\x01" + b"\x02\x08\x01"
    heard = bytearray()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(settings + ping)
        while b"\x00\x00\x08\x06\x01\x00\x00\x00\x00abcdefgh" not in heard:
            heard.extend(await reader.read(999))
        writer.write(first + second)
        writer.close()

    async def story() -> Found:
        async with await asyncio.start_server(answer, "127.0.0.1", 0) as served:
            return await asked(served.sockets[0].getsockname()[1], "")

    assert asyncio.run(story()).good
    assert b"\x00\x00\x00\x04\x01\x00\x00\x00\x00" in heard
