"""`trainplane run`: a script and its folder, or a document, as a job that is watched to its end."""

import asyncio
import os
import re
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from trainplane.cli import document
from trainplane.cli.clusters import Refused
from trainplane.cli.places import configured, images_option
from trainplane.cli.server import Server, Session, of_server

if TYPE_CHECKING:
    from trainplane.api.meta import Raw
    from trainplane.api.ref import Ref
    from trainplane.embed import Running
    from trainplane.node.images import ImageMapping
    from trainplane.sdk.job import Asked
    from trainplane.sdk.source import Archive

DEFAULT_RUNTIME, ELASTIC_RUNTIME = "torch-distributed", "torch-elastic"
INTERRUPTED = 130
STOPPING = 10.0
"""Seconds that the pods of a job have to go before the cluster that was started for it does."""
_NAME = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
T = TypeVar("T")


class Stopped(Exception):
    """Somebody pressed Ctrl-C."""


def _pairs(context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for value in values:
        name, equals, rest = value.partition("=")
        if not name or not equals:
            raise click.BadParameter(f"{value!r} is not NAME=VALUE", context, option)
        found[name] = rest
    return found


def _sizes(context: click.Context, option: click.Parameter, value: str) -> tuple[int, int] | None:
    if not value:
        return None
    least, colon, most = value.partition(":")
    if not colon or not least.isdecimal() or not most.isdecimal() or not 1 <= int(least) <= int(most):
        raise click.BadParameter(f"{value!r} is not LEAST:MOST, such as 1:4", context, option)
    return int(least), int(most)


def _amount(context: click.Context, option: click.Parameter, value: str) -> str:
    from trainplane.api.quantity import QuantityError, parse

    try:
        if value and parse(value).nano <= 0:
            raise click.BadParameter(f"{value!r} is nothing; leave it out, or ask for more", context, option)
    except QuantityError:
        raise click.BadParameter(f"{value!r} is no amount, such as 2, 500m or 4Gi", context, option) from None
    return value


def _name(context: click.Context, option: click.Parameter, value: str) -> str:
    if value and not _NAME.fullmatch(value):
        use = "use at most 63 lower-case letters, digits and '-', a letter first"
        raise click.BadParameter(f"{value!r} is no name for a job; {use}", context, option)
    return value


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@of_server(everywhere=False, may_start=True)
@click.option("--nodes", type=click.IntRange(1), metavar="N", help="How many nodes; as many as the runtime says.")
@click.option("--nproc", type=click.IntRange(1), metavar="N", help="Processes on each node.")
@click.option("--runtime", metavar="NAME", help=f"The runtime; {DEFAULT_RUNTIME} by default.")
@click.option("--gpus", type=click.IntRange(0), default=0, metavar="N", help="GPUs for each node.")
@click.option("--cpus", default="", metavar="N", callback=_amount, help="CPUs for each node, such as 2 or 500m.")
@click.option("--memory", default="", metavar="SIZE", callback=_amount, help="Memory for each node, such as 4Gi.")
@click.option("--elastic", default="", metavar="LEAST:MOST", callback=_sizes, help="Nodes may come and go.")
@click.option("--image", default="", help="The image; that of the runtime by default.")
@click.option("-e", "--env", multiple=True, metavar="NAME=VALUE", callback=_pairs, help="A variable; again for more.")
@click.option("--job-name", default="", metavar="NAME", callback=_name, help="What to call the job.")
@click.option("-f", "--filename", metavar="FILE|-", type=click.Path(allow_dash=True), help="A document.")
@click.option("--detach", "-d", is_flag=True, help="Return when the job is taken.")
@images_option("--map-image")
@click.argument("script", required=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def run(
    server: Server, script: str | None, arguments: tuple[str, ...], *, images: "tuple[ImageMapping, ...]", **said: Any
) -> int:
    """Run a script with its folder on several nodes, show what it writes, and leave with its exit code.

    The folder of the script is shipped as one archive, without what .trainplaneignore or .gitignore names; the script
    runs in a fresh copy of it. Options come before the script; what follows it is the script's own. What it writes
    into $TRAINPLANE_OUTPUT is kept, and the end says where. Under an MPI runtime the launcher starts it with mpirun.

    Where no cluster runs, one is started for the time of the job, and stopped with it; the job and its output are there
    again after the next `trainplane up`. --map-image says what images are in it, as --image of `up` does.

    Ctrl-C asks whether to stop the job; a second one leaves it alone and goes.

    \b
    trainplane run --nodes 2 --nproc 2 train.py --epochs 3
    trainplane run --gpus 1 train.py
    trainplane run --elastic 1:4 train.py
    trainplane run --runtime deepspeed-distributed --nodes 2 --nproc 2 train.py
    trainplane run -f job.yaml
    """
    detach, filename = said.pop("detach"), said.pop("filename")
    if (script is None) == (filename is None):
        raise click.UsageError("give a script to run, or a document with -f, and not both")
    if filename is not None:
        given = [name for name, value in said.items() if value]
        if given or arguments:
            raise click.UsageError(f"the document says everything: leave out --{(given or ['arguments'])[0]}")

    if (sizes := said["elastic"]) and said["nodes"] and not sizes[0] <= said["nodes"] <= sizes[1]:
        raise click.UsageError(f"--nodes {said['nodes']} is not within --elastic {sizes[0]}:{sizes[1]}")
    own = {name for option in run.params for name in option.opts if name.startswith("--")}
    if late := [word for word in arguments if word.partition("=")[0] in own]:
        click.echo(f"note: {late[0]} is given to the script; options of `run` come before it", err=True)
    # Whatever cannot be read is told before a cluster is started for it.
    objects = document.objects_of(filename) if filename is not None else ()
    archive = packed(Path(script)) if script is not None else None

    async def work(session: Session) -> int:
        if script is not None and archive is not None:
            ref = await submit_script(session, Path(script), arguments, archive=archive, **said)
        else:
            ref = await document.send(session, objects)
        if detach:
            click.echo(ref.name)
            click.echo(f"watch it: {session.command(f'logs -f {ref.name}')}", err=True)
            return 0
        return await watch(session, ref)

    if not server.is_stopped:
        if images:
            raise click.UsageError("--map-image is for a cluster that `run` starts; one runs, and `up --image` told it")
        return server.ask(work)
    if detach:
        raise Refused(f"no cluster runs that could go on with the job; start one with: {server.command('up --detach')}")
    from trainplane.cli.alone import work_alone

    def greet(_: "Running") -> None:
        folder = server.cluster.folder if server.cluster else ""
        click.echo(f"no cluster runs, so one does for this job, and ends with it; its data: {folder}", err=True)

    return work_alone(server, work, images=(*images, *configured()), greet=greet)


def packed(script: Path) -> "Archive":
    """The script's folder as an archive; raises Refused."""
    from trainplane.sdk.source import NotShipped, pack

    if not script.is_file():
        what = "is a folder" if script.is_dir() else "does not exist"
        raise Refused(f"{script} {what}; name the script to run")
    try:
        with script.open("rb"):
            pass
        return pack(script.parent)
    except OSError as error:
        raise Refused(f"{script}: {error.strerror}; make it readable") from None
    except NotShipped as error:
        raise Refused(str(error)) from None


async def submit_script(
    session: Session, script: Path, arguments: Sequence[str], *, archive: "Archive", **said: Any
) -> "Ref":
    """Ship the script's folder and make the job."""
    from trainplane.sdk.job import Asked, Unfit, is_mpi, launch_words, name_of, own_runtime, train_job
    from trainplane.sdk.source import with_ranks

    runtime = await _runtime(session, said["runtime"] or (ELASTIC_RUNTIME if said["elastic"] else DEFAULT_RUNTIME))
    asked = Asked(
        name=said["job_name"] or name_of(script.name, os.urandom(2).hex()),
        words=launch_words(runtime, script.name, arguments),
        nodes=said["nodes"] or 0,
        processes=said["nproc"] or 0,
        gpus=said["gpus"],
        cpus=said["cpus"],
        memory=said["memory"],
        elastic=said["elastic"],
        image=said["image"],
        env=said["env"],
        namespace=session.home,
    )
    archive = with_ranks(archive) if is_mpi(runtime) else archive
    try:
        own = own_runtime(runtime, asked)
        job = train_job(asked, own or runtime, archive)
    except Unfit as error:
        raise Refused(str(error)) from None
    size = f"{len(archive.data) / 1000:.1f} kB" if len(archive.data) > 999 else f"{len(archive.data)} bytes"
    files = f"{archive.files} file{'s' * (archive.files != 1)}"
    click.echo(f"shipping {script.parent.resolve()}: {files}, {size} as {archive.name}", err=True)
    return await _submit(session, asked, job, archive=archive, own=own)


async def _submit(session: Session, asked: "Asked", job: "Raw", *, archive: "Archive", own: "Raw | None") -> "Ref":
    """Make the job and what it needs, and tie both together, so that they go when it goes."""
    from trainplane.api.ref import Ref
    from trainplane.cluster.client import Patch
    from trainplane.cluster.errors import AlreadyExists, ApiError
    from trainplane.sdk.source import configmap

    try:
        if own:
            await session.client.create(own)
        made = await session.client.create(job)
    except AlreadyExists:
        todo = f"give this one another --job-name, or delete that: {session.command(f'delete {asked.name}')}"
        raise Refused(f"there is a job {asked.name} already; {todo}") from None
    except ApiError:
        if own:
            with suppress(ApiError):
                await session.client.delete(Ref.of(own))
        raise
    owner = {
        "apiVersion": made["apiVersion"],
        "kind": made["kind"],
        "name": asked.name,
        "uid": made["metadata"]["uid"],
    }
    tie = {"metadata": {"ownerReferences": [owner]}}
    code = configmap(archive, namespace=asked.namespace, owner=owner)
    try:
        # Its pods are not there yet, and find it when they come.
        await session.client.create(code)
    except AlreadyExists:
        # What other jobs have shipped is theirs too.
        await session.client.patch(Ref.of(code), Patch.strategic(tie))
    except ApiError:
        with suppress(ApiError):
            await session.client.delete(Ref.of(made), propagation="Foreground")
        raise
    if own:
        await session.client.patch(Ref.of(own), Patch.merge(tie))
    for warning in session.client.take_warnings():
        click.echo(f"warning: {warning}", err=True)
    return Ref.of(made)


async def _runtime(session: Session, name: str) -> "Raw":
    """The runtime of a name, the namespace's own first; raises Refused with the nearest name."""
    from trainplane.api.kinds import KINDS
    from trainplane.api.ref import Ref
    from trainplane.cluster.errors import NotFound

    rows = {row.kind: row for row in KINDS if row.kind in ("TrainingRuntime", "ClusterTrainingRuntime")}
    own = rows["TrainingRuntime"]
    with suppress(NotFound):
        return await session.client.get(Ref(own.group, own.kind, session.home, name))
    return await session.get(rows["ClusterTrainingRuntime"], name)


async def watch(session: Session, ref: "Ref") -> int:
    """Tell the job's story to its end; Ctrl-C asks before it stops anything."""
    from trainplane.cli import story
    from trainplane.sdk.logs import Following, Wanted

    following = Following(session.client, session.client.streams, ref, Wanted())
    click.echo(f"{ref.name} is taken; in another terminal: {session.command(f'why {ref.name}')}", err=True)
    telling = asyncio.ensure_future(story.told(session, ref, following))
    try:
        while True:
            try:
                end = await _or_stopped(telling)
                break
            except Stopped:
                if await _asked_to_stop(ref.name, goes_on=not session.server.is_stopped):
                    await session.client.delete(ref, propagation="Foreground")
                    if session.server.is_stopped:
                        await asyncio.wait([telling], timeout=STOPPING)
                    click.echo(f"{ref.name} is stopped", err=True)
                    return INTERRUPTED
    finally:
        telling.cancel()
        await asyncio.gather(telling, return_exceptions=True)
    if end.state == "Complete" and end.job:
        click.echo(f"{ref.name} is complete after {story.took(end.job)}", err=True)
        click.echo(outputs(session, ref), err=True)
    else:
        click.echo(await story.report(session, ref, end), err=True)
        click.echo(f"all of its output: {session.command(f'logs {ref.name}')}", err=True)
    return end.code


def outputs(session: Session, ref: "Ref") -> str:
    """Where what the job wrote is kept, where that is on this machine."""
    cluster = session.server.cluster
    folder = cluster.jobs / ref.namespace / ref.name / "output" if cluster else None
    if folder is None or not folder.is_dir():
        return f"its output: {session.command(f'logs {ref.name}')}"
    kept = sorted(path.name for path in folder.iterdir())
    return (
        f"what it kept: {folder} ({', '.join(kept[:5])}{', …' if len(kept) > 5 else ''})"
        if kept
        else f"its folder: {folder}"
    )


async def _or_stopped(task: "asyncio.Future[T]") -> T:
    """What the task comes to; raises Stopped at Ctrl-C, and the task goes on."""
    loop = asyncio.get_running_loop()
    pressed: asyncio.Future[None] = loop.create_future()

    def press() -> None:
        if not pressed.done():
            pressed.set_result(None)

    loop.add_signal_handler(signal.SIGINT, press)
    either: set[asyncio.Future[Any]] = {task, pressed}
    try:
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        pressed.cancel()
    if not task.done():
        raise Stopped
    return task.result()


async def _asked_to_stop(name: str, *, goes_on: bool) -> bool:
    """Whether to stop the job; nobody to ask means yes, and another Ctrl-C leaves it alone and goes."""
    if not sys.stdin.isatty():
        return True
    try:
        answer = await asyncio.to_thread(click.prompt, f"\nstop {name}? [y/N]", "", show_default=False, err=True)
    except click.Abort:
        click.echo(f"{name} goes on {'without you' if goes_on else 'when the cluster is started again'}", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None
    return str(answer).strip().lower() in ("y", "yes")
