"""`trainplane logs`: the output of all ranks of a job, merged, each line with who wrote it."""

from typing import TYPE_CHECKING

import click

from trainplane.cli.clusters import Refused
from trainplane.cli.server import Server, Session, of_server

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trainplane.api.meta import Raw
    from trainplane.sdk.logs import Line, Wanted


@click.command()
@click.argument("job")
@of_server(everywhere=False)
@click.option("-f", "--follow", is_flag=True, help="Go on until the job ends.")
@click.option("--rank", "ranks", type=click.IntRange(0), multiple=True, help="Only this rank; may be given again.")
@click.option("--step", "steps", multiple=True, metavar="NAME", help="Only this step of the job, such as node.")
@click.option("--tail", type=click.IntRange(0), metavar="N", help="The last N lines of each pod.")
@click.option("--since", type=click.IntRange(1), metavar="SECONDS", help="What is younger than this.")
@click.option("--timestamps", is_flag=True, help="With the time of each line.")
@click.option("-p", "--previous", is_flag=True, help="Of the containers' run before this one.")
@click.option("--failed-first", is_flag=True, help="The rank that failed first, before all others.")
def logs(
    server: Server,
    job: str,
    *,
    follow: bool,
    ranks: tuple[int, ...],
    steps: tuple[str, ...],
    tail: int | None,
    since: int | None,
    timestamps: bool,
    previous: bool,
    failed_first: bool,
) -> int:
    """Show what a job's pods wrote, all ranks merged in the order of time, each line with its rank.

    A rank is a process where the lines say which one wrote them, as they do for jobs of `trainplane run`; else it is
    the place of the pod in its step. Of a cluster on this machine the lines of pods that are gone are shown too, such
    as those that were stopped because another failed.

    \b
    trainplane logs digits
    trainplane logs digits -f --rank 0
    trainplane logs digits --failed-first --tail 20
    """
    from trainplane.cluster.client import Log
    from trainplane.sdk.logs import Wanted

    if follow and previous:
        raise click.UsageError("what ran before does not go on: give --follow or --previous")
    log = Log(tail_lines=tail, since_seconds=since, timestamps=timestamps, previous=previous)
    wanted = Wanted(frozenset(steps), frozenset(ranks), log)

    async def show(session: Session) -> int:
        return await _show(session, job, wanted, follow=follow, failed_first=failed_first)

    return server.ask(show)


async def _show(session: Session, name: str, wanted: "Wanted", *, follow: bool, failed_first: bool) -> int:
    from trainplane.api.failure import first_failure
    from trainplane.api.ref import Ref
    from trainplane.cli.tags import Tags
    from trainplane.sdk.logs import POD, TRAINJOB, Following, so_far, steps_of

    job = await session.get(TRAINJOB, name)
    ref, tags = Ref.of(job), Tags()
    pods = (await session.client.list(POD, namespace=ref.namespace, labels=_of(name))).items
    if unknown := sorted(wanted.steps - set(steps_of(pods))) if pods else ():
        known = ", ".join(steps_of(pods))
        raise Refused(f"job {name} has no step {unknown[0]}; its steps are {known}")
    if follow:
        from trainplane.cli.story import ended

        following = Following(session.client, session.client.streams, ref, wanted)
        return (await ended(session, ref, following, on_line=lambda line: click.echo(tags.line(line)))).code
    more = await _kept(session, job, wanted, pods)
    lines = [line async for line in so_far(session.client, session.client.streams, ref, wanted, more=more)]
    if failed_first and (failed := first_failure(pods)):
        lines.sort(key=lambda line: line.pod != failed.pod)
    for line in lines:
        click.echo(tags.line(line))
    if not lines:
        click.echo(f"job {name} has written nothing yet; see why: {session.command(f'why {name}')}", err=True)
    return 0


async def _kept(session: Session, job: "Raw", wanted: "Wanted", pods: "Sequence[Raw]") -> "list[list[Line]]":
    """What is kept of pods that are gone, as those of a job that failed are, where that is on this machine."""
    from trainplane.api.ref import Ref
    from trainplane.cluster.errors import ApiError
    from trainplane.sdk.kept import gone, lines_of

    cluster, metadata = session.server.cluster, job["metadata"]
    if cluster is None or wanted.log.previous:
        return []
    try:
        jobset = await session.client.get(Ref("jobset.x-k8s.io", "JobSet", metadata["namespace"], metadata["name"]))
        steps = {each["name"] for each in jobset["spec"]["replicatedJobs"]}
        there = {pod["metadata"]["uid"] for pod in pods}
        past = gone(cluster.logs, job, steps=wanted.steps & steps if wanted.steps else steps, there=there)
        return [await lines_of(cluster.logs, each, job, wanted) for each in past]
    except (ApiError, OSError):
        # What is kept may go at any time, and is no more than an addition.
        return []


def _of(name: str) -> str:
    from trainplane.api.jobset import JOBSET_NAME

    return f"{JOBSET_NAME}={name}"
