"""`trainplane suspend`: stop jobs for now, and keep them."""

from typing import TYPE_CHECKING

import click

from trainplane.cli.server import Server, Session, of_server

if TYPE_CHECKING:
    from trainplane.api.meta import Raw


@click.command()
@click.argument("jobs", metavar="JOB...", nargs=-1, required=True)
@of_server(everywhere=False)
@click.pass_context
def suspend(ctx: click.Context, server: Server, jobs: tuple[str, ...]) -> None:
    """Stop jobs for now: their pods go, and what they held is free for others.

    What a job has not saved is lost, as when a node is lost: it begins again when it is resumed.

    \b
    trainplane suspend digits
    trainplane get jobs -o name | cut -d/ -f2 | xargs trainplane suspend
    """
    from trainplane.cli.changing import change_all

    ctx.exit(change_all(server, jobs, _suspend))


async def _suspend(session: Session, job: "Raw") -> str:
    from trainplane.api.raw import look
    from trainplane.api.ref import Ref
    from trainplane.cli.clusters import Refused
    from trainplane.cli.job_rows import is_over, state_of
    from trainplane.cluster.client import Patch

    name = job["metadata"]["name"]
    if is_over(job):
        raise Refused(f"{name} is {state_of(job)} already, and holds nothing; there is nothing to suspend")
    if look(job, "spec", "suspend"):
        return f"{name} is suspended already; let it go on with: {session.command(f'resume {name}')}"
    await session.client.patch(Ref.of(job), Patch.merge({"spec": {"suspend": True}}), uid=job["metadata"]["uid"])
    return f"{name} is suspended; let it go on with: {session.command(f'resume {name}')}"
