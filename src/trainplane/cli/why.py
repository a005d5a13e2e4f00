"""`trainplane why`: what a job waits for, since when, and the way out."""

from typing import TYPE_CHECKING

import click

from trainplane.cli.output import output_option, show_objects, show_value
from trainplane.cli.server import Server, of_server
from trainplane.cli.tables import hint, say, show

if TYPE_CHECKING:
    from trainplane.api.meta import Raw
    from trainplane.cli.causes import Seen, Told
    from trainplane.cli.server import Session


@click.command()
@click.argument("job", required=False)
@of_server()
@click.option("--all", "every", is_flag=True, help="All jobs that do not go on, those with one cause together.")
@output_option()
@click.option("-w", "--watch", is_flag=True, help="Go on, and print below what changes.")
def why(server: Server, job: str | None, *, every: bool, output: str | None, watch: bool) -> None:
    """Say what a job waits for, since when, and the way out.

    It looks as deep as your own rights let it: at the runtime, the JobSet, its Jobs and pods, their gang, volumes and
    nodes, and names the deepest cause, of those that have others in their wake. What you may not see is left out, and
    that is said. Of a job that has failed, it says what ended it.

    \b
    trainplane why digits
    trainplane why --all
    trainplane why digits -w
    trainplane why --all -A -o json | jq -r '.[] | .cause' | sort | uniq -c
    """
    if every == bool(job):
        raise click.UsageError("name a job, or ask for --all")
    if watch and output in ("json", "yaml", "name"):
        raise click.UsageError(f"-o {output} is one answer: leave out -w, or ask again")
    if watch:
        server.ask(lambda session: _follow(session, job, wide=output == "wide"))
    elif job is None:
        _all(server, output)
    else:
        _one(server, job, output)


def _one(server: Server, name: str, output: str | None) -> None:
    from trainplane.cli import causes

    async def work(session: "Session") -> "tuple[Told, Seen, str]":
        return *await _told(session, name), session.command(f"why {name} -w")

    told, seen, again = server.ask(work)
    if output == "name":
        show_objects([told.job] if told.cause else [], output, one=True)
        return
    if output in ("json", "yaml"):
        show_value(causes.as_json(told), output)
        return
    _say(causes.answer(told, seen, again=again))
    _confess(seen.hidden)


async def _told(session: "Session", name: str) -> "tuple[Told, Seen]":
    from trainplane.cli import causes
    from trainplane.cli.history import recall
    from trainplane.cli.sorts import TRAINJOB, kind_row
    from trainplane.control import clock

    job = await recall(session, kind_row(*TRAINJOB), name)
    seen = await causes.look_around(session, clock.now())
    return causes.tell(job, seen), seen


def _say(answer: list[str]) -> None:
    first, *rest = answer
    say(click.style(first, bold=True))
    for line in rest:
        say(line)


async def _follow(session: "Session", name: str | None, *, wide: bool) -> None:
    """Print the answer, and again whenever it has changed: that for one job, until it has ended, or for all."""
    from trainplane.cli import causes
    from trainplane.cli.follow import Picture, changes, follow_rows
    from trainplane.cli.job_rows import is_over
    from trainplane.cli.sorts import TRAINJOB, kind_row
    from trainplane.control import clock

    kinds = [kind_row(*one) for one in (TRAINJOB, ("jobset.x-k8s.io", "JobSet"), ("", "Pod"))]

    async def look() -> Picture:
        jobs = await session.all(kind_row(*TRAINJOB))
        seen = await causes.look_around(session, clock.now())
        table = causes.stuck_table(causes.stuck(jobs, seen), seen.now, namespaces=not session.namespace)
        return Picture(table, _nothing(session, jobs))

    if name is None:
        return await follow_rows(session, kinds, look, wide=wide, gone="GoesOn")
    said = ""
    async with changes(session, kinds) as change:
        while True:
            await change()
            told, seen = await _told(session, name)
            if causes.sentence(told) != said:
                _say(causes.answer(told, seen))
            said = causes.sentence(told)
            if is_over(told.job):
                return None


def _all(server: Server, output: str | None) -> None:
    from trainplane.cli import causes
    from trainplane.cli.sorts import TRAINJOB, kind_row
    from trainplane.control import clock

    async def work(session: "Session") -> "tuple[list[Raw], Seen, str]":
        jobs = await session.all(kind_row(*TRAINJOB))
        if not jobs:
            await session.must_have_namespace()
        return jobs, await causes.look_around(session, clock.now()), _nothing(session, jobs)

    jobs, seen, nothing = server.ask(work)
    found = causes.stuck(jobs, seen)
    if output == "name":
        show_objects([told.job for told in found], output, one=False)
        return
    if output in ("json", "yaml"):
        show_value([causes.as_json(told) for told in found], output)
        return
    if found:
        show(causes.stuck_table(found, seen.now, namespaces=server.everywhere), wide=output == "wide")
        one = (
            server.command("why JOB") if not server.everywhere else server.command("why JOB -n NAMESPACE", namespace="")
        )
        hint(f"next: {one} says what to do about one")
    else:
        say(nothing)
    _confess(seen.hidden)


def _nothing(session: "Session", jobs: "list[Raw]") -> str:
    where = f" in namespace {session.namespace}" if session.namespace else ""
    if not jobs:
        return f"there are no jobs{where}; send one with: {session.send()}"
    return f"nothing is in the way of {f'any of {len(jobs)} jobs' if len(jobs) > 1 else 'the only job'}{where}"


def _confess(hidden: tuple[str, ...]) -> None:
    if hidden:
        click.echo(f"note: you may not list {', '.join(hidden)}, so less can be told", err=True)
