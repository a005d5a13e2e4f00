"""`trainplane scale`: another number of nodes for a job."""

from typing import TYPE_CHECKING

import click

from trainplane.cli.server import Server, Session, of_server

if TYPE_CHECKING:
    from trainplane.api.meta import Raw


@click.command()
@click.argument("job")
@of_server(everywhere=False)
@click.option("--nodes", type=click.IntRange(1), required=True, help="How many nodes it is to train on.")
@click.pass_context
def scale(ctx: click.Context, server: Server, job: str, *, nodes: int) -> None:
    """Give a job another number of nodes.

    It must be elastic: its runtime has bounds in torch.elasticPolicy, and the new number lies within them. Pods come or
    go while it runs, and its workers meet again at the new size. Other jobs keep the size that they were made with.

    \b
    trainplane scale digits --nodes 3
    """
    from trainplane.cli.changing import change_all

    async def change(session: Session, raw: "Raw") -> str:
        return await _scale(session, raw, nodes)

    ctx.exit(change_all(server, [job], change))


async def _scale(session: Session, job: "Raw", nodes: int) -> str:
    from trainplane.api.ref import Ref
    from trainplane.cli.clusters import Refused, count
    from trainplane.cli.job_rows import is_over, nodes_of, state_of
    from trainplane.cluster.client import Patch
    from trainplane.cluster.errors import Invalid

    name = job["metadata"]["name"]
    if is_over(job):
        raise Refused(f"{name} is {state_of(job)}, and has no nodes any more")
    before = nodes_of(job) or "as many nodes as its runtime says"
    if before == str(nodes):
        return f"{name} has {count(nodes, 'node')} already"
    patch = Patch.merge({"spec": {"trainer": {"numNodes": nodes}}})
    try:
        await session.client.patch(Ref.of(job), patch, uid=job["metadata"]["uid"])
    except Invalid as error:
        said = "; ".join(cause.message.removeprefix("Invalid value: ") for cause in error.causes) or error.message
        raise Refused(f"{name} cannot have {count(nodes, 'node')}: {' '.join(said.split())}") from None
    return f"{name}: {before} → {count(nodes, 'node')}"
