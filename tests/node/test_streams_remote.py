"""The same streams through our own client over HTTPS: what a pod says, takes and listens on."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from datetime import timedelta
from pathlib import Path

import orjson
import pytest

from tests.patience import STORY
from trainplane.api.meta import Raw
from trainplane.api.ref import Ref
from trainplane.cluster.client import Channel, Log
from trainplane.cluster.errors import ApiError, BadRequest, NotFound
from trainplane.cluster.remote import Remote
from trainplane.cluster.remote_streams import ended
from trainplane.control import clock
from trainplane.embed import Config, running
from trainplane.node.machine import Settings

POD = Ref("", "Pod", "default", "p")
ECHO = """
import os, socket
server = socket.create_server((os.environ["IP"], 8080))
print("up", flush=True)
while True:
    connection, _ = server.accept()
    while (data := connection.recv(65536)):
        connection.sendall(data.upper())
    connection.close()
"""


def pod(*command: str, **fields: object) -> Raw:
    env = [{"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]
    container = {"name": "c", "image": "x", "command": list(command), "env": env, **fields}
    spec = {"containers": [container], "restartPolicy": "Never"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"}, "spec": spec}


def with_pod(folder: Path, made: Raw, story: Callable[[Remote], Awaitable[None]]) -> None:
    """Play a story once the pod runs."""

    async def whole() -> None:
        config = Config(folder / "cluster", machine=Settings(1, runner="process"))
        async with running(config) as cluster, Remote.connect(cluster.kubeconfig) as client:
            await client.create(made)
            while ((await client.get(POD)).get("status") or {}).get("phase") not in ("Running", "Succeeded"):
                await asyncio.sleep(0.02)
            await story(client)

    asyncio.run(asyncio.wait_for(whole(), STORY))


async def heard(channel: Channel) -> tuple[dict[int, bytes], int | ApiError | None]:
    """What came on each stream, and what the last word means."""
    said: dict[int, bytes] = {}
    while (item := await channel.receive()) is not None:
        said[item[0]] = said.get(item[0], b"") + item[1]
    await channel.close()
    end = said.pop(3, None)
    return said, None if end is None else ended(end)


def test_a_log_is_read_in_part_and_followed_to_its_end(tmp_path: Path) -> None:
    async def story(client: Remote) -> None:
        async def log(**said: object) -> bytes:
            return b"".join([part async for part in client.streams.log(POD, Log(**said))])  # type: ignore[arg-type]

        followed = b""
        async for part in client.streams.log(POD, Log(follow=True)):
            followed += part
            # What goes to two streams keeps its order only where one has been read before the other is written.
            for word in (b"2\n", b"oops\n"):
                if followed.endswith(word):
                    (output / word.decode().strip()).touch()
        assert followed == b"1\n2\noops\n3\n"
        assert await log(tail_lines=1) == b"3\n"
        assert await log(limit_bytes=3) == b"1\n2"
        assert await log(stream="Stderr") == b"oops\n"
        assert await log(since_time=clock.now() + timedelta(hours=1)) == b""
        assert await log(since_time=clock.now() - timedelta(hours=1), tail_lines=2) == b"oops\n3\n"
        with pytest.raises(BadRequest, match="previous terminated container"):
            await log(previous=True)
        with pytest.raises(NotFound):
            async for _ in client.streams.log(Ref("", "Pod", "default", "none"), Log()):
                pass

    output = tmp_path / "cluster" / "jobs" / "default" / "p" / "output"
    heard = "until test -e $TRAINPLANE_OUTPUT/{}; do sleep 0.05; done"
    script = f"echo 1; echo 2; {heard.format('2')}; echo oops >&2; {heard.format('oops')}; echo 3"
    with_pod(tmp_path, pod("sh", "-c", script), story)


def test_a_command_takes_input_and_ends_with_a_code(tmp_path: Path) -> None:
    async def story(client: Remote) -> None:
        channel = await client.streams.exec(POD, ["sh", "-c", "cat; echo bad >&2; exit 9"], stdin=True)
        much = b"0123456789" * 100_000

        async def send() -> None:
            await channel.send(much)
            await channel.send(b"")

        sending = asyncio.create_task(send())
        said, end = await heard(channel)
        await sending
        assert (said, end) == ({1: much, 2: b"bad\n"}, 9)
        _, end = await heard(await client.streams.exec(POD, ["no-such-program"]))
        assert isinstance(end, ApiError)
        assert "no-such-program" in end.message

    with_pod(tmp_path, pod("sleep", "600"), story)


def test_a_terminal_has_a_size(tmp_path: Path) -> None:
    async def story(client: Remote) -> None:
        channel = await client.streams.exec(POD, ["sh", "-c", "read x; stty size"], stdin=True, tty=True)
        await channel.send(orjson.dumps({"Width": 99, "Height": 33}), stream=4)
        await channel.send(b"\n")
        said, end = await heard(channel)
        assert b"33 99" in said[1]
        assert end == 0

    with_pod(tmp_path, pod("sleep", "600"), story)


def test_a_process_is_joined(tmp_path: Path) -> None:
    async def story(client: Remote) -> None:
        channel = await client.streams.attach(POD, stdin=True)
        await channel.send(b"it\n")
        said, end = await heard(channel)
        assert (said, end) == ({1: b"got it\n"}, 0)

    with_pod(tmp_path, pod("sh", "-c", "read word; echo got $word", stdin=True), story)


def test_ports_are_reached_side_by_side(tmp_path: Path) -> None:
    async def story(client: Remote) -> None:
        log = client.streams.log(POD, Log(follow=True))
        async with aclosing(log):  # type: ignore[type-var]
            assert await anext(log) == b"up\n"

        async def ask(word: bytes) -> bytes:
            channel = await client.streams.port_forward(POD, 8080)
            await channel.send(word)
            await channel.send(b"")
            said, _ = await heard(channel)
            await channel.close()
            return said[1]

        words = [f"word {i} ".encode() * 20_000 for i in range(3)]
        assert await asyncio.gather(*map(ask, words)) == [word.upper() for word in words]
        closed = await client.streams.port_forward(POD, 81)
        with pytest.raises(ApiError, match="failed to connect to port 81 of pod p"):
            await closed.receive()
        await closed.close()

    with_pod(tmp_path, pod(sys.executable, "-c", ECHO, ports=[{"containerPort": 8080}]), story)
