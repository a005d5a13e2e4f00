"""`trainplane exec`: run a command in a container of a job, beside the training."""

import asyncio
import os
import signal
import sys
import termios
import tty as terminal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click
import orjson

from trainplane.cli.clusters import Refused
from trainplane.cli.server import Server, Session, of_server, refusal

if TYPE_CHECKING:
    from trainplane.api.meta import Raw
    from trainplane.cluster.client import Channel

LOST = 255
"""The exit code where the connection ended before the command did."""


class _Divided(click.Command):
    """A command whose options may stand after the job as well, where -- divides them from the words to run."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does."""
        ctx.allow_interspersed_args = "--" in args
        ctx.ignore_unknown_options = not ctx.allow_interspersed_args
        return super().parse_args(ctx, args)


@click.command(cls=_Divided)
@of_server(everywhere=False)
@click.option("--rank", type=click.IntRange(0), default=0, help="The pod's place in its step; the first by default.")
@click.option("--step", default="", metavar="NAME", help="The step of the job; the trainer by default.")
@click.option("-c", "--container", default="", metavar="NAME", help="The container; the first by default.")
@click.option("-i", "--stdin", is_flag=True, help="Pass the standard input on.")
@click.option("-t", "--tty", is_flag=True, help="With a terminal.")
@click.argument("job")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def exec(  # noqa: A001 - the verb's name
    server: Server,
    job: str,
    command: tuple[str, ...],
    *,
    rank: int,
    step: str,
    container: str,
    stdin: bool,
    tty: bool,
) -> int:
    """Run a command in a pod of a job, and leave with its exit code.

    Without the -- before the command all options come before the job.

    \b
    trainplane exec digits -- nvidia-smi
    trainplane exec digits --rank 1 -- ls -l /workspace/output
    trainplane exec -it digits -- bash
    """
    words = command[1:] if command[0] == "--" else command
    if not words:
        raise click.UsageError("give a command to run")
    if tty and not (stdin and sys.stdin.isatty()):
        raise click.UsageError("--tty needs --stdin, and a terminal here; leave it out")

    async def work(session: Session) -> int:
        return await _run(session, job, words, rank=rank, step=step, container=container, stdin=stdin, tty=tty)

    return server.ask(work)


async def _run(
    session: Session,
    name: str,
    words: tuple[str, ...],
    *,
    rank: int,
    step: str,
    container: str,
    stdin: bool,
    tty: bool,
) -> int:
    from trainplane.api.jobset import JOBSET_NAME
    from trainplane.api.ref import Ref
    from trainplane.sdk.logs import POD, TRAINJOB, containers

    job = await session.get(TRAINJOB, name)
    namespace = job["metadata"]["namespace"]
    pods = (await session.client.list(POD, namespace=namespace, labels=f"{JOBSET_NAME}={name}")).items
    pod = _chosen(pods, name, step=step, rank=rank, why=session.command(f"why {name}"))
    ref = Ref("", "Pod", namespace, pod["metadata"]["name"])
    if container and container not in containers(pod):
        raise Refused(f"pod {ref.name} has no container {container}; it has {', '.join(containers(pod))}")
    channel = await session.client.streams.exec(
        ref, words, container=container or containers(pod)[0], stdin=stdin, tty=tty
    )
    try:
        with _raw(tty):
            return await converse(channel, stdin=stdin, tty=tty)
    finally:
        await channel.close()


def _chosen(pods: "tuple[Raw, ...]", name: str, *, step: str, rank: int, why: str) -> "Raw":
    from trainplane.api.roles import ANCESTOR_LABEL
    from trainplane.sdk.logs import place, steps_of, writer

    running = [pod for pod in pods if (pod.get("status") or {}).get("phase") == "Running"]
    if not running:
        raise Refused(f"no pod of job {name} is running; see why: {why}")

    def fits(pod: "Raw") -> bool:
        if step:
            return writer(pod, "").step == step
        return str((pod["metadata"].get("labels") or {}).get(ANCESTOR_LABEL, "trainer")) == "trainer"

    found = [pod for pod in running if fits(pod)] or ([] if step else running)
    if step and not found:
        raise Refused(f"step {step} of job {name} has no pod that runs; those of {', '.join(steps_of(running))} do")
    chosen = [pod for pod in found if place(pod) == rank]
    if not chosen:
        there = ", ".join(str(place(pod)) for pod in sorted(found, key=place))
        raise Refused(f"job {name} has no pod at rank {rank}; there are {there}")
    return chosen[0]


async def converse(channel: "Channel", *, stdin: bool, tty: bool) -> int:
    """Pass input and output on until the command ends; returns its exit code. Raises Refused where it did not run."""
    from trainplane.cluster.remote_streams import ended

    async with asyncio.TaskGroup() as tasks:
        helpers = [tasks.create_task(_feed(channel))] if stdin else []
        if tty:
            await _resize(channel)
            loop = asyncio.get_running_loop()
            loop.add_signal_handler(signal.SIGWINCH, lambda: helpers.append(tasks.create_task(_resize(channel))))
        code: int | None = None
        while (heard := await channel.receive()) is not None:
            number, data = heard
            if number == 3:
                said = ended(data)
                if not isinstance(said, int):
                    raise Refused(refusal(said))
                code = said
                break
            stream = sys.stderr.buffer if number == 2 else sys.stdout.buffer
            stream.write(data)
            stream.flush()
        for helper in helpers:
            helper.cancel()
    return LOST if code is None else code


async def _feed(channel: "Channel") -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    try:
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(os.dup(0), "rb"))
        while data := await reader.read(32 * 1024):
            await channel.send(data)
    except ValueError:
        # A plain file is no pipe to wait for, and is all there already.
        await channel.send(await asyncio.to_thread(sys.stdin.buffer.read))
    await channel.send(b"")


async def _resize(channel: "Channel") -> None:
    size = os.get_terminal_size()
    await channel.send(orjson.dumps({"Width": size.columns, "Height": size.lines}), stream=4)


@contextmanager
def _raw(wanted: bool) -> Iterator[None]:
    """The terminal gives every key as it is pressed, and is as it was afterwards."""
    if not wanted:
        yield
        return
    before = termios.tcgetattr(0)
    try:
        terminal.setraw(0)
        yield
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)
