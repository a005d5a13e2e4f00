"""`trainplane top`: who holds what, jobs or nodes, those that hold most first."""

from typing import TYPE_CHECKING

import click

from trainplane.cli.output import output_option, show_value
from trainplane.cli.server import Server, Session, of_server
from trainplane.cli.tables import hint, lines, measure, show, terminal_width

if TYPE_CHECKING:
    from trainplane.cli.holding import Held, Used

METRICS = "/apis/metrics.k8s.io/v1beta1/pods"


@click.command()
@click.argument("sort", metavar="[jobs|nodes]", default="jobs", type=click.Choice(["jobs", "nodes"]))
@of_server()
@output_option("wide", "json", "yaml")
def top(server: Server, sort: str, *, output: str | None) -> None:
    """Say who holds what: jobs, or nodes with what is taken of them; those that hold most come first.

    What is held is what pods have asked for, because others cannot have it. Where the cluster measures what pods really
    use, that stands beside it.

    \b
    trainplane top
    trainplane top nodes
    trainplane top jobs -A -o json | jq '.[0]'
    """
    from trainplane.cli.holding import as_json, together, top_table
    from trainplane.cli.sorts import NO_NODES

    nodes = sort == "nodes"
    held, namespace = server.ask(lambda session: _look(session, nodes=nodes))
    if output in ("json", "yaml"):
        show_value([as_json(one) for one in held], output)
    elif held:
        everywhere = not namespace and not nodes
        wide, width = output == "wide", terminal_width()
        drawn = top_table(held, namespaces=everywhere, bars=True)
        # Bars are the first to give way where the terminal is narrow.
        fits = width is not None and max(map(measure, lines(drawn.narrowed(wide=wide)))) <= width
        show(drawn if fits else top_table(held, namespaces=everywhere), wide=wide)
        if nodes:
            hint(together(held))
    elif nodes:
        click.echo(f"there are no nodes; {NO_NODES}", err=True)
    else:
        where = f" in namespace {namespace}" if namespace else ""
        click.echo(f"no job holds anything{where}; see what there is: {server.command('get jobs')}", err=True)


async def _look(session: Session, *, nodes: bool) -> "tuple[list[Held], str]":
    from trainplane.cli.holding import by_job, by_node
    from trainplane.cli.sorts import TRAINJOB, kind_row
    from trainplane.reconcile.view import View

    kinds = [kind_row(*one) for one in (("", "Pod"), ("", "Node") if nodes else TRAINJOB)]
    objects, refused = await session.gather(kinds, everywhere=nodes)
    for kind in refused:
        click.echo(f"note: you may not list {kind.plural}, so less can be told", err=True)
    view, used = View(objects), await _measured(session)
    pods = list(view.all("", "Pod"))
    held = by_node(view.all("", "Node"), pods, used) if nodes else by_job(view.all(*TRAINJOB), pods, used)
    return held, session.namespace


async def _measured(session: Session) -> "Used":
    """What pods use by the metrics API; nothing where there is none, or where it is not for the caller."""
    from trainplane.cli.holding import summed
    from trainplane.cluster.errors import ApiError
    from trainplane.why.space import nanos

    try:
        found = await session.client.read(METRICS)
    except ApiError:
        return {}
    return {
        (raw["metadata"].get("namespace", ""), raw["metadata"]["name"]): summed(
            nanos(container.get("usage") or {}) for container in raw.get("containers") or ()
        )
        for raw in (found.get("items") or () if isinstance(found, dict) else ())
    }
