"""Logs, commands, processes and ports of pods, as streams."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.node.nodes import Nodes, container, phase, played, pod, ref
from tests.patience import PATIENCE
from trainplane.cluster.client import Channel, Log
from trainplane.cluster.errors import ApiError, BadRequest, InternalError


async def running(made: Nodes, *containers: Any, **spec: Any) -> None:
    said = containers or (container(script="echo up; exec sleep 600"),)
    await made.create(pod(containers=list(said), **spec))
    await made.until("p", lambda pod: phase(pod) == "Running")


async def heard(channel: Channel) -> tuple[dict[int, bytes], Any]:
    """What came on each stream until the end, and how it ended."""
    said: dict[int, bytes] = {}
    while (item := await channel.receive()) is not None:
        stream, data = item
        said[stream] = said.get(stream, b"") + data
    end = said.pop(3, None)
    return said, None if end is None else orjson.loads(end)


def test_a_command_runs_in_a_container(tmp_path: Path, runner: str) -> None:
    async def play(made: Nodes) -> None:
        await running(made, container(script="exec sleep 600", env=[{"name": "A", "value": "1"}]))
        channel = await made.running.streams.exec(ref("p"), ["sh", "-c", "echo $A; echo oops >&2; touch here"])
        said, end = await heard(channel)
        assert said[1] == b"1\n"
        assert (tmp_path / "jobs" / "ns" / "p" / "pods" / "p" / "here").exists()
        assert said[2] == b"oops\n"
        assert end == {"metadata": {}, "status": "Success"}

    played(tmp_path, play, runner=runner)


def test_its_exit_code_is_told(tmp_path: Path, runner: str) -> None:
    async def play(made: Nodes) -> None:
        await running(made)
        _, end = await heard(await made.running.streams.exec(ref("p"), ["sh", "-c", "exit 42"]))
        assert (end["reason"], end["details"]["causes"]) == (
            "NonZeroExitCode",
            [{"reason": "ExitCode", "message": "42"}],
        )

    played(tmp_path, play, runner=runner)


def test_input_goes_to_the_command_and_has_an_end(tmp_path: Path, runner: str) -> None:
    async def play(made: Nodes) -> None:
        await running(made)
        channel = await made.running.streams.exec(ref("p"), ["sort"], stdin=True)
        big = b"".join(f"{i:07}\n".encode() for i in reversed(range(40_000)))

        async def send() -> None:
            await channel.send(big)
            await channel.send(b"")

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(send())
            listening = tasks.create_task(heard(channel))
        said, end = listening.result()
        assert said[1] == b"".join(f"{i:07}\n".encode() for i in range(40_000))
        assert end["status"] == "Success"

    played(tmp_path, play, runner=runner)


def test_much_output_waits_for_who_reads_it(tmp_path: Path, runner: str) -> None:
    async def play(made: Nodes) -> None:
        await running(made)
        command = [sys.executable, "-c", "import sys; sys.stdout.write('x' * 20_000_000)"]
        said, end = await heard(await made.running.streams.exec(ref("p"), command))
        assert len(said[1]) == 20_000_000
        assert end["status"] == "Success"

    played(tmp_path, play, runner=runner)


def test_a_terminal_is_one_and_has_a_size(tmp_path: Path, runner: str) -> None:
    async def play(made: Nodes) -> None:
        await running(made)
        script = "test -t 0 && echo terminal; read answer; stty size; echo got $answer"
        channel = await made.running.streams.exec(ref("p"), ["sh", "-c", script], stdin=True, tty=True)
        await channel.send(orjson.dumps({"Width": 132, "Height": 43}), stream=4)
        await channel.send(b"yes\n")
        said, end = await heard(channel)
        assert b"terminal" in said[1]
        assert b"43 132" in said[1]
        assert b"got yes" in said[1]
        assert end["status"] == "Success"

    played(tmp_path, play, runner=runner)


def test_a_command_that_is_given_up_is_killed(tmp_path: Path) -> None:
    async def play(made: Nodes) -> None:
        await running(made)
        channel = await made.running.streams.exec(ref("p"), ["sh", "-c", "echo $$; exec sleep 600"])
        item = await channel.receive()
        assert item is not None
        pid = int(item[1])
        await channel.close()
        async with asyncio.timeout(PATIENCE):
            while Path(f"/proc/{pid}").exists():
                await asyncio.sleep(0.02)

    played(tmp_path, play)


def test_what_a_command_leaves_behind_does_not_hold_it_up(tmp_path: Path, runner: str) -> None:
    async def play(made: Nodes) -> None:
        await running(made)
        channel = await made.running.streams.exec(ref("p"), ["sh", "-c", "sleep 600 & echo done"])
        async with asyncio.timeout(PATIENCE):
            said, end = await heard(channel)
        assert (said[1], end["status"]) == (b"done\n", "Success")

    played(tmp_path, play, runner=runner)


@pytest.mark.parametrize(
    ("ask", "kind", "words"),
    [
        pytest.param(
            lambda streams: streams.exec(ref("p"), ["no-such"], container="a"),
            InternalError,
            'error executing command in container: exec: "no-such": executable file not found in $PATH',
            id="no such program",
        ),
        pytest.param(
            lambda streams: streams.exec(ref("p"), ["true"]),
            BadRequest,
            "a container name must be specified for pod p, choose one of: [a b]",
            id="which container",
        ),
        pytest.param(
            lambda streams: streams.exec(ref("p"), ["true"], container="x"),
            BadRequest,
            "container x is not valid for pod p",
            id="no such container",
        ),
        pytest.param(
            lambda streams: streams.attach(ref("p"), container="a", stdin=True),
            BadRequest,
            "the container takes no input; set stdin in its spec, or attach without it",
            id="no input",
        ),
        pytest.param(
            lambda streams: streams.port_forward(ref("p"), 1),
            InternalError,
            "failed to connect to port 1 of pod p: connection refused",
            id="nobody listens",
        ),
    ],
)
def test_what_cannot_be_done_says_why(tmp_path: Path, ask: Any, kind: type[ApiError], words: str) -> None:
    async def play(made: Nodes) -> None:
        await running(made, container("a", "exec sleep 600"), container("b", "exec sleep 600"))
        with pytest.raises(kind) as caught:
            await ask(made.running.streams)
        assert caught.value.message == words

    played(tmp_path, play)


def test_who_attaches_sees_what_comes_and_can_answer(tmp_path: Path, runner: str) -> None:
    async def play(made: Nodes) -> None:
        await running(made, container(script="read word; echo got $word; echo bad >&2", stdin=True))
        channel = await made.running.streams.attach(ref("p"), stdin=True)
        await channel.send(b"it\n")
        said, end = await heard(channel)
        assert (said[1], said[2]) == (b"got it\n", b"bad\n")
        assert end["status"] == "Success"
        assert phase(await made.ended()) == "Succeeded"

    played(tmp_path, play, runner=runner)


def test_input_once_ends_with_the_first_who_gave_some(tmp_path: Path, runner: str) -> None:
    async def play(made: Nodes) -> None:
        await running(made, container(script="cat; echo over", stdin=True, stdinOnce=True))
        watching = await made.running.streams.attach(ref("p"))
        await watching.close()
        channel = await made.running.streams.attach(ref("p"), stdin=True)
        await channel.send(b"it\n")
        await channel.close()
        assert phase(await made.ended()) == "Succeeded"
        assert await made.log() == "it\nover\n"

    played(tmp_path, play, runner=runner)


def test_a_port_is_reached(tmp_path: Path, runner: str) -> None:
    async def play(made: Nodes) -> None:
        echo = (
            "import socket, os; s = socket.create_server((os.environ['IP'], int(os.environ['PORT']))); print('up');"
            "c, _ = s.accept()\nwhile (d := c.recv(99)): c.sendall(d.upper())"
        )
        env = [
            {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
            {"name": "PORT", "value": "8080"},
        ]
        spec = container(command=[sys.executable, "-c", echo], env=env, ports=[{"containerPort": 8080}])
        await running(made, spec)
        async for _ in made.running.streams.log(ref("p"), Log(follow=True)):
            break
        channel = await made.running.streams.port_forward(ref("p"), 8080)
        await channel.send(b"hello")
        assert await channel.receive() == (1, b"HELLO")
        await channel.send(b"")
        assert await channel.receive() is None
        await channel.close()

    played(tmp_path, play, runner=runner)


def test_a_log_is_followed_to_the_end(tmp_path: Path, runner: str) -> None:
    async def play(made: Nodes) -> None:
        script = "for i in 1 2 3 4 5; do echo $i; sleep 0.05; done; printf end"
        await made.create(pod(containers=[container(script=script)]))
        await made.until("p", lambda pod: phase(pod) in ("Running", "Succeeded"))
        assert await made.log(follow=True) == "1\n2\n3\n4\n5\nend\n"

    played(tmp_path, play, runner=runner)


@pytest.mark.parametrize(
    ("spec", "said", "words"),
    [
        pytest.param(
            [container(script="exec sleep 600")],
            {"previous": True},
            'previous terminated container "c" in pod "p" not found',
            id="it has not run before",
        ),
        pytest.param(
            [container(script="true", env=[{"name": "A", "valueFrom": {"secretKeyRef": {"name": "x", "key": "y"}}}])],
            {},
            'container "c" in pod "p" is waiting to start: CreateContainerConfigError',
            id="it has not started",
        ),
        pytest.param(
            [container("a", "exec sleep 600"), container("b", "exec sleep 600")],
            {},
            "a container name must be specified for pod p, choose one of: [a b]",
            id="which container",
        ),
    ],
)
def test_a_log_that_is_not_there_says_why(tmp_path: Path, spec: Any, said: Any, words: str) -> None:
    async def play(made: Nodes) -> None:
        await made.create(pod(containers=spec))
        await made.until("p", lambda pod: pod.get("status", {}).get("containerStatuses"))
        with pytest.raises(BadRequest) as caught:
            await made.log(**said)
        assert caught.value.message == words

    played(tmp_path, play)
