"""`trainplane resume`: let suspended jobs go on."""

from typing import TYPE_CHECKING

import click

from trainplane.cli.server import Server, Session, of_server

if TYPE_CHECKING:
    from trainplane.api.meta import Raw

KUEUE = "kueue.x-k8s.io/queue-name"


@click.command()
@click.argument("jobs", metavar="JOB...", nargs=-1, required=True)
@of_server(everywhere=False)
@click.pass_context
def resume(ctx: click.Context, server: Server, jobs: tuple[str, ...]) -> None:
    """Let suspended jobs go on: they wait for nodes again, and begin anew.

    A job in a queue of Kueue is not resumed by hand: Kueue suspends it until there is quota for it.

    \b
    trainplane resume digits
    """
    from trainplane.cli.changing import change_all

    ctx.exit(change_all(server, jobs, _resume))


async def _resume(session: Session, job: "Raw") -> str:
    from trainplane.api.raw import look
    from trainplane.api.ref import Ref
    from trainplane.cli.clusters import Refused
    from trainplane.cli.job_rows import is_over, state_of
    from trainplane.cluster.client import Patch

    name = job["metadata"]["name"]
    if is_over(job):
        raise Refused(f"{name} is {state_of(job)}, and does not run again; send it under another name")
    if not look(job, "spec", "suspend"):
        return f"{name} is not suspended; see what it does with: {session.command(f'why {name}')}"
    if queue := look(job, "metadata", "labels", KUEUE):
        raise Refused(f"{name} waits in Kueue's queue {queue}, which resumes it when there is quota; leave it to Kueue")
    await session.client.patch(Ref.of(job), Patch.merge({"spec": {"suspend": False}}), uid=job["metadata"]["uid"])
    return f"{name} is resumed; see what it waits for with: {session.command(f'why {name}')}"
