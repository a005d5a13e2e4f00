"""`trainplane top`: who holds what, jobs or nodes, those that hold most first."""

import asyncio
import sys
from typing import TYPE_CHECKING

import click

from trainplane.cli.output import output_option, show_names, show_value
from trainplane.cli.server import Server, Session, of_server
from trainplane.cli.tables import hint, lines, measure, show, terminal_width

if TYPE_CHECKING:
    from trainplane.cli.holding import Held, Used

METRICS = "/apis/metrics.k8s.io/v1beta1/pods"
EVERY = 2.0
"""Seconds between two looks with -w."""


@click.command()
@click.argument("sort", metavar="[jobs|nodes]", default="jobs", type=click.Choice(["jobs", "nodes"]))
@of_server()
@output_option()
@click.option("-w", "--watch", is_flag=True, help="Go on, and show it anew every two seconds.")
def top(server: Server, sort: str, *, output: str | None, watch: bool) -> None:
    """Say who holds what: jobs, or nodes with what is taken of them; those that hold most come first.

    What is held is what pods have asked for, because others cannot have it. Where the cluster measures what pods really
    use, that stands beside it.

    With -w a terminal shows it anew in the same place; elsewhere a new table follows whenever something has changed.

    \b
    trainplane top
    trainplane top nodes -w
    trainplane top jobs -A -o json | jq '.[0]'
    """
    from trainplane.cli.holding import as_json

    nodes = sort == "nodes"
    if watch:
        if output in ("json", "yaml", "name"):
            raise click.UsageError(f"-o {output} is one answer: leave out -w, or ask again")
        server.ask(lambda session: _follow(session, nodes=nodes, wide=output == "wide"))
        return
    held, namespace = server.ask(lambda session: _look(session, nodes=nodes))
    if output == "name":
        show_names("node" if nodes else "trainjob.trainer.kubeflow.org", (one.name for one in held))
    elif output in ("json", "yaml"):
        show_value([as_json(one) for one in held], output)
    else:
        _show(server, held, namespace, nodes=nodes, wide=output == "wide")


def _show(server: Server, held: "list[Held]", namespace: str, *, nodes: bool, wide: bool) -> None:
    from trainplane.cli.holding import together, top_table
    from trainplane.cli.sorts import NO_NODES

    if held:
        everywhere = not namespace and not nodes
        width = terminal_width()
        drawn = top_table(held, namespaces=everywhere, bars=True)
        # Bars are the first to give way where the terminal is narrow.
        fits = width is not None and max(map(measure, lines(drawn.narrowed(wide=wide)))) <= width
        show(drawn if fits else top_table(held, namespaces=everywhere), wide=wide)
        if nodes:
            hint(together(held))
    elif nodes:
        up = server.command("up --nodes 4 --simulate")
        click.echo(f"there are no nodes; {NO_NODES.format(up=up)}", err=True)
    else:
        where = f" in namespace {namespace}" if namespace else ""
        click.echo(f"no job holds anything{where}; see what there is: {server.command('get jobs')}", err=True)


async def _follow(session: Session, *, nodes: bool, wide: bool) -> None:
    """Show it anew every while."""
    before: list[Held] | None = None
    while True:
        held, namespace = await _look(session, nodes=nodes)
        if sys.stdout.isatty():
            click.clear()
        elif held == before:
            await asyncio.sleep(EVERY)
            continue
        elif before is not None:
            click.echo()
        _show(session.server, held, namespace, nodes=nodes, wide=wide)
        before = held
        await asyncio.sleep(EVERY)


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
    if not held and not nodes:
        await session.must_have_namespace()
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
