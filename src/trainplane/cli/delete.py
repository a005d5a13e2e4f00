"""`trainplane delete`: jobs, with all that was made for them."""

import asyncio
from typing import TYPE_CHECKING

import click

from trainplane.cli.server import Server, Session, of_server

if TYPE_CHECKING:
    from trainplane.api.meta import Raw

PATIENCE = 60.0
STEP = 0.1


@click.command()
@click.argument("jobs", metavar="[JOB]...", nargs=-1)
@of_server(everywhere=False)
@click.option("--all", "every", is_flag=True, help="All jobs of the namespace; asks first.")
@click.option("--finished", is_flag=True, help="All jobs of the namespace that have ended.")
@click.option("--wait/--no-wait", default=True, help="Return when they are gone; at once otherwise.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.pass_context
def delete(
    ctx: click.Context, server: Server, jobs: tuple[str, ...], *, every: bool, finished: bool, wait: bool, yes: bool
) -> None:
    """Delete jobs, with all that was made for them.

    What is known of a job stays in `trainplane history`. Claims and what lies on them stay, unless the
    job's runtime says otherwise.

    \b
    trainplane delete digits
    trainplane delete --finished
    """
    from trainplane.cli.changing import change_all
    from trainplane.cli.clusters import confirm, count

    if sum((bool(jobs), every, finished)) != 1:
        raise click.UsageError("name jobs, or ask for --finished or --all")
    names = list(jobs)
    if not names:
        names = server.ask(lambda session: _names(session, finished=finished))
        if not names:
            click.echo(f"there are no {'finished ' if finished else ''}jobs to delete")
            return
    if every:
        confirm(
            f"This deletes {count(len(names), 'job')}, running ones among them: {', '.join(names)}\nGo on?", yes=yes
        )

    async def change(session: Session, job: "Raw") -> str:
        return await _delete(session, job, wait=wait)

    ctx.exit(change_all(server, names, change))


async def _names(session: Session, *, finished: bool) -> list[str]:
    from trainplane.cli.job_rows import is_over
    from trainplane.cli.sorts import TRAINJOB, kind_row

    there = await session.all(kind_row(*TRAINJOB))
    return sorted(str(job["metadata"]["name"]) for job in there if is_over(job) or not finished)


async def _delete(session: Session, job: "Raw", *, wait: bool) -> str:
    from trainplane.api.ref import Ref
    from trainplane.cli.clusters import Refused
    from trainplane.cluster.errors import NotFound

    ref, name, uid = Ref.of(job), job["metadata"]["name"], job["metadata"]["uid"]
    try:
        await session.client.delete(ref, uid=uid)
        if not wait:
            return f"{name} is being deleted"
        for _ in range(int(PATIENCE / STEP)):
            if (await session.client.get(ref))["metadata"]["uid"] != uid:
                break
            await asyncio.sleep(STEP)
        else:
            held = ", ".join((await session.client.get(ref))["metadata"].get("finalizers") or ()) or "nothing visible"
            raise Refused(f"{name} is still there after {PATIENCE:.0f} s; it is held by: {held}")
    except NotFound:
        pass
    return f"{name} is deleted"
