"""`trainplane wait`: until a job is what you wait for, or can no longer become it."""

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING

import click

from trainplane.cli.clusters import Refused
from trainplane.cli.durations import duration, readable
from trainplane.cli.server import Server, Session, of_server
from trainplane.cli.tables import clean

if TYPE_CHECKING:
    from trainplane.api.meta import Raw
    from trainplane.api.ref import Ref

TIMED_OUT = 124
"""As `timeout` of every Unix has it."""
DELETE = "delete"
STATES = ("Pending", "Starting", "Running", "Suspended", "Complete", "Failed")
_PASSED = {"Pending", "Starting", "Running"}
"""What a job passes through: who waits for one of them is content with what follows it."""


@click.command()
@click.argument("jobs", metavar="JOB...", nargs=-1, required=True)
@of_server(everywhere=False)
@click.option(
    "--for",
    "goal",
    default="Complete",
    show_default=True,
    metavar="STATE",
    help="Complete, Failed, Running, Suspended, Pending, Starting, finished, or delete; condition=STATE is taken too.",
)
@click.option("--timeout", callback=duration, metavar="TIME", help="How long: 90s, 30m, 2h; for ever by default.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing; the exit code tells.")
@click.pass_context
def wait(
    ctx: click.Context, server: Server, jobs: tuple[str, ...], *, goal: str, timeout: timedelta | None, quiet: bool
) -> None:
    """Wait until jobs are complete, or whatever else --for says.

    Each change of state is told on the standard error. Exit codes: 0 when all are what was waited for; 1 when one no
    longer can be, as a job that failed will never complete; 124 when the time is up.

    \b
    trainplane wait digits && echo done
    trainplane wait digits --for Running --timeout 10m
    trainplane wait digits --for delete
    """
    ctx.exit(server.ask(lambda session: _wait(session, jobs, goal=_goal(goal), timeout=timeout, quiet=quiet)))


def _goal(text: str) -> str:
    """The goal in our own words; kubectl's `condition=Complete` and `delete` are understood."""
    word = text.removeprefix("condition=").removesuffix("=true").removesuffix("=True")
    known = {name.casefold(): name for name in (*STATES, "finished", DELETE)} | {
        "deleted": DELETE,
        "completed": "Complete",
    }
    found = known.get(word.casefold())
    if found is None:
        from trainplane.cli.group import refuse

        refuse(word, "state to wait for", [*STATES, "finished", DELETE])
    return found


def met(job: "Raw | None", goal: str) -> bool | None:
    """Whether a job is what is waited for; None where it may still become so, False where it never will."""
    from trainplane.cli.job_rows import is_over, state_of

    if goal == DELETE:
        return True if job is None else None
    if job is None:
        return False
    state = state_of(job)
    if state == goal or (goal == "finished" and is_over(job)):
        return True
    if goal in _PASSED and state in (*_PASSED, "Complete") and STATES.index(state) > STATES.index(goal):
        return True
    return False if is_over(job) else None


async def _wait(session: Session, names: tuple[str, ...], *, goal: str, timeout: timedelta | None, quiet: bool) -> int:
    """Follow all to the goal; the first that can no longer reach it ends the waiting."""
    tasks = [asyncio.create_task(_one(session, name, goal=goal, quiet=quiet)) for name in dict.fromkeys(names)]
    try:
        async with asyncio.timeout(timeout.total_seconds() if timeout else None):
            for ended in asyncio.as_completed(tasks):
                if code := await ended:
                    return code
    except TimeoutError:
        if not quiet:
            todo = session.command(f"why {names[0]}") if len(names) == 1 else session.command("why --all")
            wanted = "deleted" if goal == DELETE else goal
            click.echo(f"Error: not {wanted} within {readable(timeout)}; see why: {todo}", err=True)
        return TIMED_OUT
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return 0


async def _one(session: Session, name: str, *, goal: str, quiet: bool) -> int:
    """Follow one job to its goal."""
    from trainplane.api.ref import Ref
    from trainplane.cli.follow import changes
    from trainplane.cli.history import recall
    from trainplane.cli.job_rows import message_of, state_of
    from trainplane.cli.sorts import TRAINJOB, kind_row

    kind = kind_row(*TRAINJOB)
    try:
        first = await recall(session, kind, name)
    except Refused:
        if goal == DELETE:
            return 0
        raise
    ref, uid, last = Ref.of(first), first["metadata"]["uid"], ""
    async with changes(session, [kind], namespace=ref.namespace, fields=f"metadata.name={name}") as change:
        while True:
            await change()
            job = await _same(session, ref, uid)
            state = state_of(job) if job else "deleted"
            if state != last and not quiet:
                said = session.server.retyped(message_of(job)) if job else ""
                click.echo(clean(f"{name} is {state}" + (f": {said}" if said else "")), err=True)
            last, found = state, met(job, goal)
            if found is False and not quiet:
                more = f"; {session.command(f'why {name}')} says more" if job else ""
                click.echo(f"Error: {name} will not be {goal} any more{more}", err=True)
            if found is not None:
                return 0 if found else 1


async def _same(session: Session, ref: "Ref", uid: str) -> "Raw | None":
    """The object, unless it is gone or another has its name."""
    from trainplane.cluster.errors import NotFound

    try:
        job = await session.client.get(ref)
    except NotFound:
        return None
    return job if job["metadata"]["uid"] == uid else None
