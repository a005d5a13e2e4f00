"""`trainplane get`: what there is, in tables for people and in every form for programs."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import click

from trainplane.cli.clusters import Refused
from trainplane.cli.output import output_option, show_objects
from trainplane.cli.server import Server, Session, of_server
from trainplane.cli.tables import Table, hint, show

if TYPE_CHECKING:
    from trainplane.api.kinds import Kind
    from trainplane.api.meta import Raw


class Asked(NamedTuple):
    """What a call of `get` is about."""

    word: str
    names: tuple[str, ...]
    job: str
    labels: str


@click.command()
@click.argument("sort", metavar="[jobs|runtimes|nodes|queues|pods]", default="jobs")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@of_server()
@click.option("-l", "--selector", "labels", default="", metavar="LABELS", help="Only those with these labels.")
@click.option("--job", default="", metavar="NAME", help="Of pods: only those of this job.")
@output_option()
@click.option("-w", "--watch", is_flag=True, help="Go on, and print below what changes.")
def get(
    server: Server, sort: str, names: tuple[str, ...], *, labels: str, job: str, output: str | None, watch: bool
) -> None:
    """List jobs, runtimes, nodes, queues or pods.

    Jobs that run come first, then those that wait, in the order of their turn: QUEUE is their place in line, and STARTS
    when there should be room for them, where enough is known of run times to tell. It is judged by what trainers
    report, by past runs on the same runtime, and by deadlines; `describe` says by which.

    With -w every row that changes is printed again below the others, as kubectl does, and one that is gone once more
    as Deleted.

    \b
    trainplane get
    trainplane get jobs -A -o wide
    trainplane get pods --job digits
    trainplane get jobs -o name | xargs -n1 echo
    trainplane get jobs -w
    """
    from trainplane.cli.sorts import sort_of

    asked = Asked(sort_of(sort).word, names, job, labels)
    if watch:
        server.ask(lambda session: _follow(session, asked, output=output))
        return
    if output in ("json", "yaml", "name"):
        show_objects(server.ask(lambda session: _objects(session, asked)), output, one=len(names) == 1)
        return
    table, notes = server.ask(lambda session: _table(session, asked))
    if table.rows:
        show(table, wide=output == "wide")
    for note in notes:
        click.echo(note, err=True)
    if table.rows and asked.word == "jobs" and any("Pending" in row for row in table.rows):
        hint(f"next: {server.command('why --all')} says what they wait for")


async def _objects(session: Session, asked: Asked, *, gone: bool = False) -> "list[Raw]":
    """What is asked for; names that are not there are refused, or left out where they may be `gone`."""
    from trainplane.api.jobset import JOBSET_NAME
    from trainplane.api.scheduling import DEFAULT_QUEUE
    from trainplane.cli.sorts import kind_row, sort_of
    from trainplane.cluster.errors import NotFound

    sort = sort_of(asked.word)
    kinds = [kind_row(*one) for one in sort.kinds]
    found: list[Raw] = []
    if asked.names:
        for name in asked.names:
            with suppress(*((Refused,) if gone else ())):
                found.append(await named(session, kinds, name))
        return found
    labels = ",".join(filter(None, (asked.labels, f"{JOBSET_NAME}={asked.job}" if asked.job else "")))
    for kind in kinds:
        namespace = session.namespace if kind.namespaced else ""
        try:
            found += (await session.client.list(kind, namespace=namespace, labels=labels)).items
        except NotFound:
            # A cluster without this kind has none of it.
            continue
    if asked.word == "queues" and not labels and DEFAULT_QUEUE not in (raw["metadata"]["name"] for raw in found):
        found.insert(0, default_queue())
    return found


def default_queue() -> "Raw":
    """The queue that is there from the start, whether anyone has made an object of it or not."""
    from trainplane.api.scheduling import DEFAULT_QUEUE

    return {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": DEFAULT_QUEUE}}


async def named(session: Session, kinds: "Sequence[Kind]", name: str) -> "Raw":
    """The object of a name, of the first kind that has one."""
    refused: Refused | None = None
    for kind in kinds:
        try:
            return await session.get(kind, name)
        except Refused as error:
            refused = refused or error
    raise refused or AssertionError(f"{name} is of no kind")


async def _table(session: Session, asked: Asked, *, gone: bool = False) -> tuple[Table, list[str]]:
    """The table, and what has to be said beside it."""
    from trainplane.cli.sorts import World, kind_row, sort_of
    from trainplane.control import clock

    sort = sort_of(asked.word)
    about, (objects, refused) = await asyncio.gather(
        _objects(session, asked, gone=gone),
        session.gather([kind_row(*one) for one in sort.reads if one not in sort.kinds], everywhere=True),
    )
    if asked.word in ("jobs", "nodes", "queues"):
        # Those that are not asked for wait in the same line.
        everybody, more = await session.gather([kind_row(*one) for one in sort.kinds], everywhere=True)
        objects, refused = [*objects, *everybody], [*refused, *more]
    hidden = tuple(dict.fromkeys(kind.plural for kind in refused))
    world = World(about, objects, clock.now(), namespaces=session.namespace == "", hidden=hidden)
    table = sort.table(world).told(session.server.retyped)
    notes = []
    if not table.rows:
        if not gone:
            await _check(session, asked)
        notes.append(_nothing(session, asked))
    elif hidden:
        notes.append(f"note: without the right to list {', '.join(hidden)} in all namespaces, less can be told")
    return table, notes


async def _check(session: Session, asked: Asked) -> None:
    """Nothing, if what was asked about is there; raises Refused."""
    from trainplane.cli.history import recall
    from trainplane.cli.sorts import TRAINJOB, kind_row

    if asked.word in ("jobs", "pods"):
        await session.must_have_namespace()
    if asked.job:
        await recall(session, kind_row(*TRAINJOB), asked.job)


def _nothing(session: Session, asked: Asked) -> str:
    from trainplane.cli.sorts import sort_of

    where = f" in namespace {session.namespace}" if session.namespace and asked.word in ("jobs", "pods") else ""
    which = (f" of job {asked.job}" if asked.job else "") + (f" with {asked.labels}" if asked.labels else "")
    if asked.labels:
        return f"there are no {asked.word}{which}{where}; see all of them: {session.command(f'get {asked.word}')}"
    todo = sort_of(asked.word).next.format(
        history=session.command("history"),
        why=session.command("why --all"),
        send=session.send(),
        up=session.server.command("up --nodes 4 --simulate"),
    )
    return f"there are no {asked.word}{which}{where}; {todo}"


async def _follow(session: Session, asked: Asked, *, output: str | None) -> None:
    """Print everything, and after that what differs from when it was last printed."""
    from trainplane.cli.follow import Picture, follow_objects, follow_rows
    from trainplane.cli.sorts import kind_row, sort_of

    kinds = [kind_row(*one) for one in sort_of(asked.word).kinds]
    if asked.names:
        # A name that is misspelt is told at once; one that goes later is no mistake.
        await _objects(session, asked)

    async def look() -> Picture:
        table, notes = await _table(session, asked, gone=True)
        return Picture(table, notes[0] if notes else "")

    if output in ("json", "yaml", "name"):
        await follow_objects(session, kinds, lambda: _objects(session, asked, gone=True), output=output)
    else:
        await follow_rows(session, kinds, look, wide=output == "wide", gone="Deleted")
