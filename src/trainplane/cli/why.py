"""`trainplane why`: what a job waits for, since when, and the way out."""

import click

from trainplane.cli.output import output_option, show_value
from trainplane.cli.server import Server, of_server
from trainplane.cli.tables import hint, say, show


@click.command()
@click.argument("job", required=False)
@of_server()
@click.option("--all", "every", is_flag=True, help="All jobs that do not go on, those with one cause together.")
@output_option("wide", "json", "yaml")
def why(server: Server, job: str | None, *, every: bool, output: str | None) -> None:
    """Say what a job waits for, since when, and the way out.

    It looks as deep as your own rights let it: at the runtime, the JobSet, its Jobs and pods, their gang, volumes and
    nodes, and names the deepest cause, of those that have others in their wake. What you may not see is left out, and
    that is said. Of a job that has failed, it says what ended it.

    \b
    trainplane why digits
    trainplane why --all
    trainplane why --all -A -o json | jq -r '.[] | .cause' | sort | uniq -c
    """
    if every == bool(job):
        raise click.UsageError("name a job, or ask for --all")
    if job is None:
        _all(server, output)
    else:
        _one(server, job, output)


def _one(server: Server, name: str, output: str | None) -> None:
    from trainplane.cli import causes
    from trainplane.cli.history import recall
    from trainplane.cli.server import Session
    from trainplane.cli.sorts import TRAINJOB, kind_row
    from trainplane.control import clock

    async def work(session: Session) -> tuple[causes.Told, causes.Seen]:
        job = await recall(session, kind_row(*TRAINJOB), name)
        seen = await causes.look_around(session, clock.now())
        return causes.tell(job, seen), seen

    told, seen = server.ask(work)
    if output in ("json", "yaml"):
        show_value(causes.as_json(told), output)
        return
    first, *rest = causes.answer(told, seen)
    say(click.style(first, bold=True))
    for line in rest:
        say(line)
    _confess(seen.hidden)


def _all(server: Server, output: str | None) -> None:
    from trainplane.api.meta import Raw
    from trainplane.cli import causes
    from trainplane.cli.server import Session
    from trainplane.cli.sorts import TRAINJOB, kind_row
    from trainplane.control import clock

    async def work(session: Session) -> tuple[list[Raw], causes.Seen, str]:
        jobs = await session.all(kind_row(*TRAINJOB))
        return jobs, await causes.look_around(session, clock.now()), session.namespace

    jobs, seen, namespace = server.ask(work)
    found = causes.stuck(jobs, seen)
    if output in ("json", "yaml"):
        show_value([causes.as_json(told) for told in found], output)
        return
    if found:
        show(causes.stuck_table(found, seen.now, namespaces=not namespace), wide=output == "wide")
        hint(f"next: {server.command('why')} JOB says what to do about one")
    else:
        where = f" in namespace {namespace}" if namespace else ""
        is_are = "is 1 job" if len(jobs) == 1 else f"are {len(jobs)} jobs"
        say(f"nothing is in the way of any job{where}; there {is_are}")
    _confess(seen.hidden)


def _confess(hidden: tuple[str, ...]) -> None:
    if hidden:
        click.echo(f"note: you may not list {', '.join(hidden)}, so less can be told", err=True)
