"""`trainplane profile`: where one rank of a running job spends its time, as a flame graph."""

from pathlib import Path

import click

from trainplane.cli.clusters import Refused
from trainplane.cli.server import Server, Session, of_server


@click.command()
@click.argument("job")
@of_server(everywhere=False)
@click.option("--rank", type=click.IntRange(0), default=0, show_default=True, help="Which rank.")
@click.option("--seconds", type=click.IntRange(1, 3600), default=10, show_default=True, help="How long to look.")
@click.option("--rate", type=click.IntRange(1, 1000), default=100, show_default=True, help="How often in a second.")
@click.option("--file", type=click.Path(path_type=Path, dir_okay=False), help="Where to write it; JOB-rank-N.svg here.")
def profile(server: Server, job: str, *, rank: int, seconds: int, rate: int, file: Path | None) -> int:
    """Show where a rank of a running job spends its time: a flame graph by py-spy.

    The program goes on while it is looked at, a little slower. py-spy must be in the environment of the job, and
    profiling be enabled: the annotation ome.io/profiling-enabled of the job or of its runtime says "true".

    \b
    trainplane kubectl annotate trainjob digits ome.io/profiling-enabled=true
    trainplane profile digits
    trainplane profile digits --rank 3 --seconds 30
    """
    place = file or Path(f"{job}-rank-{rank}.svg")
    if not place.parent.is_dir():
        raise Refused(f"{place.parent} is not a folder; name a file in one that is there")

    async def work(session: Session) -> bytes:
        return await _graph(session, job, rank=rank, seconds=seconds, rate=rate)

    graph = server.ask(work)
    try:
        place.write_bytes(graph)
    except OSError as error:
        raise Refused(f"{place}: {error.strerror}; name another file with --file") from None
    click.echo(place)
    return 0


async def _graph(session: Session, name: str, *, rank: int, seconds: int, rate: int) -> bytes:
    from trainplane.api.jobset import JOBSET_NAME
    from trainplane.api.trainer import PROFILING_ENABLED
    from trainplane.sdk.logs import POD, TRAINJOB
    from trainplane.sdk.profile import NotProfiled, choose, is_enabled, is_starting, processes, record, trainers

    job = await session.get(TRAINJOB, name)
    namespace = job["metadata"]["namespace"]
    pods = trainers((await session.client.list(POD, namespace=namespace, labels=f"{JOBSET_NAME}={name}")).items)
    if not pods:
        raise Refused(f"no pod of job {name} is running; see why: {session.command(f'why {name}')}")
    if not is_enabled(job, pods[0]):
        todo = session.server.kubectl(f"annotate trainjob {name} -n {namespace} {PROFILING_ENABLED}=true")
        raise Refused(f"profiling is not enabled for job {name}; whoever may change it enables it with: {todo}")
    streams = session.client.streams
    try:
        found = await processes(streams, pods)
        if is_starting(found):
            raise Refused(f"torchrun has not started the ranks of job {name} yet; look again in a moment")
        process = choose(found, rank)
        if process is None:
            raise Refused(
                _no_rank(name, rank, sorted({each.rank for each in found if each.rank is not None}), len(pods))
            )
        click.echo(f"looking at rank {rank} for {seconds} s: {process.command} in {process.pod}", err=True)
        pod = next(each for each in pods if each["metadata"]["name"] == process.pod)
        return await record(streams, pod, process, seconds=seconds, rate=rate)
    except NotProfiled as error:
        raise Refused(str(error)) from None


def _no_rank(name: str, rank: int, told: list[int], pods: int) -> str:
    there = ", ".join(map(str, told)) if told else f"0 to {pods - 1}" if pods > 1 else "0"
    return f"job {name} runs no Python process of rank {rank} that can be looked into; there are {there}"
