"""`trainplane doctor`: what this machine, and the network between nodes, can do, and how to get more."""

import asyncio
from typing import TYPE_CHECKING

import click

from trainplane.cli.clusters import Cluster, of_cluster
from trainplane.cli.network import network
from trainplane.cli.output import output_option

if TYPE_CHECKING:
    from trainplane.node.survey import Survey


@click.group(invoke_without_command=True)
@of_cluster
@output_option("json")
@click.pass_context
def doctor(ctx: click.Context, cluster: Cluster, output: str | None) -> None:
    """Say what this machine can do for pods, and how to get more.

    Everything is tried, not guessed, and nothing is left behind; no cluster is needed. The exit code is 0 where pods
    can run isolated and nothing that they need is missing, else 1.

    \b
    trainplane doctor
    trainplane doctor -o json | jq '.findings[] | select(.found | not)'
    trainplane doctor network --nodes 4
    """
    if ctx.invoked_subcommand is not None:
        return
    from trainplane.control import clock
    from trainplane.node.survey import survey

    seen = asyncio.run(survey(cluster.folder, now=clock.now()))
    if output == "json":
        import json

        import msgspec

        click.echo(json.dumps({"healthy": seen.healthy, **msgspec.to_builtins(seen)}, indent=2))
    else:
        _show(seen)
    ctx.exit(0 if seen.healthy else 1)


def _show(seen: "Survey") -> None:
    from trainplane.cli.tables import say
    from trainplane.node.survey import NEEDED, USEFUL

    width = max(len(each.name) for each in seen.findings)
    said: set[str] = set()
    for weight, head in ((NEEDED, "what pods need"), (USEFUL, "what makes them better")):
        say(click.style(head, bold=True))
        for each in seen.findings:
            if each.weight == weight:
                mark = click.style("yes", fg="green") if each.found else click.style("no ", fg="yellow")
                say(f"  {mark}  {each.name:<{width}}  {each.what}")
                if each.todo and each.todo not in said:
                    said.add(each.todo)
                    say(f"       {'':<{width}}  to get it: {each.todo}")
    say(_verdict(seen))


def _verdict(seen: "Survey") -> str:
    if seen.healthy:
        return click.style("pods can run here, each in namespaces of its own", fg="green")
    lacking = ", ".join(each.name for each in seen.missing)
    so = "" if seen.runner == "namespaced" else "; pods would run as plain processes that see each other and your files"
    return click.style(f"missing: {lacking}{so}", fg="red")


doctor.add_command(network)
