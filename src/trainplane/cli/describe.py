"""`trainplane describe`: all that is worth knowing of one job, or of what it runs on."""

from typing import TYPE_CHECKING

import click

from trainplane.cli.output import output_option, show_objects, show_value
from trainplane.cli.server import Server, Session, of_server
from trainplane.cli.tables import say

if TYPE_CHECKING:
    from trainplane.api.meta import Raw


@click.command(no_args_is_help=True)
@click.argument("words", metavar="[jobs|runtimes|nodes|queues|pods] NAME", nargs=-1)
@of_server(everywhere=False)
@output_option("json", "yaml", "name")
def describe(server: Server, words: tuple[str, ...], *, output: str | None) -> None:
    """Say all that is worth knowing of a job: how it stands and why, its pods, what happened.

    A name alone is a job's. Other sorts of objects are described by their columns, conditions and events.

    \b
    trainplane describe digits
    trainplane describe node node-0
    trainplane describe digits -o json
    """
    from trainplane.cli.sorts import sort_of

    match words:
        case (name,):
            word = "jobs"
        case (first, name):
            word = sort_of(first).word
        case _:
            raise click.UsageError("name one object: trainplane describe digits, or trainplane describe node node-0")
    if output == "name":
        show_objects([server.ask(lambda session: _object(session, word, name))], output, one=True)
    elif word == "jobs":
        _describe_job(server, name, output)
    elif output:
        show_objects([server.ask(lambda session: _object(session, word, name))], output, one=True)
    else:
        for line in server.ask(lambda session: _describe_other(session, word, name)):
            say(line)


def _describe_job(server: Server, name: str, output: str | None) -> None:
    from trainplane.cli.describing import Description, as_json, told
    from trainplane.control import clock

    async def work(session: Session) -> Description:
        from trainplane.cli.causes import look_around, tell
        from trainplane.cli.event_rows import about
        from trainplane.cli.history import recall
        from trainplane.cli.sorts import TRAINJOB, kind_row

        job = await recall(session, kind_row(*TRAINJOB), name)
        seen = await look_around(session, clock.now())
        events = about(seen.view.all("events.k8s.io", "Event"), job, seen.view)
        return Description(tell(job, seen), seen, events, session.command)

    found = server.ask(work)
    if output:
        show_value(as_json(found), output)
        return
    for line in told(found):
        say(line)


async def _object(session: Session, word: str, name: str) -> "Raw":
    from trainplane.api.scheduling import DEFAULT_QUEUE
    from trainplane.cli.clusters import Refused
    from trainplane.cli.get import default_queue, named
    from trainplane.cli.sorts import kind_row, sort_of

    try:
        return await named(session, [kind_row(*one) for one in sort_of(word).kinds], name)
    except Refused:
        if (word, name) != ("queues", DEFAULT_QUEUE):
            raise
        return default_queue()


async def _describe_other(session: Session, word: str, name: str) -> list[str]:
    from trainplane.cli.describing import told_other
    from trainplane.cli.sorts import World, kind_row, sort_of
    from trainplane.control import clock

    sort = sort_of(word)
    raw = await _object(session, word, name)
    reads = (*sort.reads, ("events.k8s.io", "Event"))
    objects, _ = await session.gather([kind_row(*one) for one in dict.fromkeys(reads)], everywhere=True)
    table = sort.table(World([raw], [*objects, raw], clock.now(), namespaces=False))
    events = [
        event
        for event in objects
        if event.get("kind") == "Event"
        and (event.get("regarding") or {}).get("name") == name
        and (event.get("regarding") or {}).get("kind") == raw["kind"]
    ]
    return list(told_other(raw, table, name, events=events, now=clock.now()))
