"""`trainplane events`: what happened to a job and to all that was made for it."""

from typing import TYPE_CHECKING

import click

from trainplane.cli.output import output_option, show_objects
from trainplane.cli.server import Server, Session, of_server
from trainplane.cli.tables import show

if TYPE_CHECKING:
    from trainplane.api.meta import Raw

EVENT = ("events.k8s.io", "Event")
MADE = (("jobset.x-k8s.io", "JobSet"), ("batch", "Job"), ("", "Pod"), ("scheduling.x-k8s.io", "PodGroup"))


@click.command()
@click.argument("job", required=False)
@of_server()
@click.option("--warnings", is_flag=True, help="Only warnings.")
@output_option()
@click.option("-w", "--watch", is_flag=True, help="Go on, and print events as they come.")
def events(server: Server, job: str | None, *, warnings: bool, output: str | None, watch: bool) -> None:
    """Say what happened, to a job and all that was made for it, or to everything; the latest comes last.

    Events are kept for an hour.

    \b
    trainplane events digits
    trainplane events -A --warnings -w
    """
    from trainplane.cli.event_rows import event_table
    from trainplane.control import clock

    if watch:
        server.ask(lambda session: _follow(session, job, warnings=warnings, output=output))
        return
    found, namespace = server.ask(lambda session: _events(session, job, warnings=warnings))
    if output in ("json", "yaml", "name"):
        show_objects(found, output, one=False)
    elif found:
        show(event_table(found, clock.now(), namespaces=not namespace).told(server.retyped), wide=output == "wide")
    else:
        which = f" about {job}" if job else f" in namespace {namespace}" if namespace else ""
        kind = "warnings" if warnings else "events"
        todo = f"see how it stands: {server.command(f'describe {job}')}" if job else "look in all namespaces with -A"
        click.echo(f"there are no {kind}{which} from the last hour; {todo}", err=True)


async def _events(session: Session, job: str | None, *, warnings: bool) -> "tuple[list[Raw], str]":
    from trainplane.cli.event_rows import about, in_time
    from trainplane.cli.history import recall
    from trainplane.cli.sorts import TRAINJOB, kind_row
    from trainplane.reconcile.view import View

    found = await session.all(kind_row(*EVENT))
    if not found:
        await session.must_have_namespace()
    if job is not None:
        parent = await recall(session, kind_row(*TRAINJOB), job)
        objects, _ = await session.gather([kind_row(*one) for one in (TRAINJOB, *MADE)])
        found = about(found, parent, View(objects))
    return in_time(event for event in found if not warnings or event.get("type") == "Warning"), session.namespace


async def _follow(session: Session, job: str | None, *, warnings: bool, output: str | None) -> None:
    """Print events, and every new one, or one that was seen again."""
    from trainplane.cli.event_rows import event_table, last_seen
    from trainplane.cli.follow import changes, follow_objects
    from trainplane.cli.sorts import kind_row
    from trainplane.control import clock

    async def found_now() -> "list[Raw]":
        return (await _events(session, job, warnings=warnings))[0]

    if output in ("json", "yaml", "name"):
        await follow_objects(session, [kind_row(*EVENT)], found_now, output=output)
    printed: dict[str, str] = {}
    head = True
    async with changes(session, [kind_row(*EVENT)]) as change:
        while True:
            await change()
            found, namespace = await _events(session, job, warnings=warnings)
            fresh = [event for event in found if printed.get(event["metadata"]["uid"]) != last_seen(event)]
            printed.update((event["metadata"]["uid"], last_seen(event)) for event in fresh)
            retyped = session.server.retyped
            whole, new = (
                event_table(some, clock.now(), namespaces=not namespace).told(retyped) for some in (found, fresh)
            )
            if head or fresh:
                show(new, wide=output == "wide", head=head, beside=whole)
            head = False
