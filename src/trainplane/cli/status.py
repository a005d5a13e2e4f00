"""`trainplane status`: whether a cluster runs, what it holds, and how long its certificates last."""

from datetime import datetime
from typing import Any

import click

from trainplane.cli.clusters import Cluster, Refused, of_cluster, readable_size, size_of
from trainplane.cli.keeper import holder, record
from trainplane.cluster.ages import duration
from trainplane.control import clock


@click.command()
@of_cluster
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", help="The format.")
@click.pass_context
def status(ctx: click.Context, cluster: Cluster, output: str) -> None:
    """Say whether a cluster runs, what it holds, and how long its certificates last.

    The exit code is 0 where it runs and answers, else 1. In JSON, what is not known is null.

    \b
    trainplane status
    trainplane status -o json | jq .objects
    """
    said = state(cluster.must_exist())
    if output == "json":
        import json

        click.echo(json.dumps(said, indent=2))
    else:
        click.echo("\n".join(_lines(cluster, said)))
    ctx.exit(0 if said["running"] and not said["problem"] else 1)


def state(cluster: Cluster) -> dict[str, Any]:
    """All that can be said of a cluster, with the same keys at all times."""
    from trainplane.cli.contents import count_objects

    keeper, said = holder(cluster), record(cluster)
    ours = said if keeper and said and said.pid == keeper.pid else None
    try:
        contents, problem = count_objects(cluster), None
    except Refused as error:
        contents, problem = None, error.message
    return {
        "name": cluster.name,
        "running": keeper is not None,
        "pid": keeper.pid if keeper else None,
        "since": keeper.since if keeper else None,
        "server": ours.server if ours else None,
        "data": str(cluster.folder),
        "log": str(cluster.log) if ours and ours.detached else None,
        "revision": contents.revision if contents else None,
        "objects": contents.objects if contents else None,
        "bytes": size_of(cluster.folder),
        "certificates": _certificates(cluster),
        "problem": problem,
    }


def _certificates(cluster: Cluster) -> dict[str, str | None]:
    """Until when each certificate holds; those with less than a third of their life left are renewed at a start."""
    from trainplane.cluster.certificates import Pair
    from trainplane.cluster.credentials import ADMIN_FILE, AUTHORITY_FILE, SERVING_FILE
    from trainplane.cluster.private_files import read_private

    ends: dict[str, str | None] = {}
    for word, file in (("authority", AUTHORITY_FILE), ("serving", SERVING_FILE), ("admin", ADMIN_FILE)):
        pem = read_private(cluster.pki / file)
        try:
            ends[word] = Pair.read(pem).certificate.not_valid_after_utc.isoformat() if pem else None
        except ValueError:
            ends[word] = None
    return ends


def _lines(cluster: Cluster, said: dict[str, Any]) -> list[str]:
    now = clock.now()
    if said["running"]:
        age = duration((now - datetime.fromisoformat(said["since"])).total_seconds())
        where = f" at {said['server']}" if said["server"] else ""
        first = f"cluster {cluster.name} is running{where}: process {said['pid']} for {age}, since {said['since']}"
    else:
        first = f"cluster {cluster.name} is stopped; start it with: {cluster.command('up')}"
    lines = [first, f"  data          {said['data']} ({readable_size(said['bytes'])})"]
    if said["log"]:
        lines.append(f"  log           {said['log']}")
    if said["problem"]:
        lines.append(f"  problem       {said['problem']}")
    else:
        lines.append(f"  objects       {sum(said['objects'].values())} at revision {said['revision']}")
        lines += [f"    {number:>6}    {resource}" for resource, number in said["objects"].items()]
    for word, end in said["certificates"].items():
        left = f"until {end[:10]}, {duration((datetime.fromisoformat(end) - now).total_seconds())}" if end else "none"
        lines.append(f"  {word:<12}  {left}")
    return lines
