"""`trainplane history`: jobs that have ended, those among them that are gone."""

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

import click

from trainplane.cli.clusters import Refused
from trainplane.cli.durations import duration
from trainplane.cli.output import output_option, show_objects
from trainplane.cli.server import Server, Session, of_server
from trainplane.cli.tables import hint, show

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from trainplane.api.kinds import Kind
    from trainplane.api.meta import Raw


@click.command()
@click.argument("job", required=False)
@of_server()
@click.option("--since", callback=duration, metavar="TIME", help="Only those that ended in the last 30m, 12h or 7d.")
@click.option("--failed", is_flag=True, help="Only those that failed.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="How many, the last first.")
@output_option()
@click.option("-w", "--watch", is_flag=True, help="Go on, and print jobs as they end.")
def history(
    server: Server,
    job: str | None,
    *,
    since: timedelta | None,
    failed: bool,
    limit: int,
    output: str | None,
    watch: bool,
) -> None:
    """List jobs that have ended, whether they are still there or not: how, when, and what they took.

    A job that was deleted before its end has the outcome Deleted.

    WAITED is from the creation, or the last resume, to the start of training, RAN from there to the end. USED is what
    the pods asked for, times how long they held it. A cluster of `up` keeps the last thousand; of a cluster where
    nobody keeps records, the finished jobs that are still there are listed.

    \b
    trainplane history
    trainplane history digits -o wide
    trainplane history -A --since 7d --failed
    trainplane history -o json | jq '[.items[].spec.runSeconds] | add'
    """
    from trainplane.cli.job_rows import history_table
    from trainplane.control import clock

    now = clock.now()
    after = now - since if since else None

    def choose(records: "list[Raw]") -> "list[Raw]":
        return _chosen(records, job=job, failed=failed, after=after)[:limit]

    if watch:
        nothing = partial(_nothing, server, narrowed=bool(job or since or failed))
        server.ask(lambda session: _follow(session, choose, nothing, output=output))
        return
    records, namespace = server.ask(_records)
    found = choose(records)
    if output in ("json", "yaml", "name"):
        show_objects(found, output, one=False)
        return
    if not found:
        click.echo(_nothing(server, namespace, narrowed=bool(job or since or failed)), err=True)
        return
    show(history_table(found, now, namespaces=not namespace).told(server.retyped), wide=output == "wide")
    if len(found) < len(records) and len(found) == limit:
        hint(f"{limit} of {len(records)}; --limit shows more")


async def _records(session: Session) -> "tuple[list[Raw], str]":
    """All records, and records of those that have ended and have none."""
    from trainplane.cli.sorts import RECORD, TRAINJOB, kind_row
    from trainplane.reconcile.view import View
    from trainplane.upkeep.history import ending, record

    rows = [kind_row(*one) for one in (RECORD, TRAINJOB, ("jobset.x-k8s.io", "JobSet"), ("batch", "Job"), ("", "Pod"))]
    objects, refused = await session.gather(rows)
    if len(refused) > 1 and {row.kind for row in refused} >= {RECORD[1], TRAINJOB[1]}:
        raise Refused("you may list neither trainjobs nor their records; ask whoever runs the cluster for that right")
    view = View(objects)
    kept = list(view.all(*RECORD))
    known = {raw["spec"]["trainJob"]["uid"] for raw in kept}
    for job in view.all(*TRAINJOB):
        end = ending(job)
        if end is not None and job["metadata"].get("uid") not in known:
            kept.append(record(job, end, view))
    if not kept:
        await session.must_have_namespace()
    return sorted(kept, key=lambda raw: str(raw["spec"]["completionTime"]), reverse=True), session.namespace


async def _follow(
    session: Session,
    choose: "Callable[[list[Raw]], list[Raw]]",
    nothing: "Callable[[str], str]",
    *,
    output: str | None,
) -> None:
    """Print the records, and every new one; a job that ran twice has two."""
    from trainplane.cli.follow import changes
    from trainplane.cli.job_rows import history_table
    from trainplane.cli.sorts import RECORD, TRAINJOB, kind_row
    from trainplane.control import clock

    def key_of(raw: "Raw") -> tuple[str, str]:
        return raw["metadata"].get("namespace", ""), raw["metadata"]["name"]

    printed: set[tuple[str, str]] = set()
    head, silent = True, True
    async with changes(session, [kind_row(*RECORD), kind_row(*TRAINJOB)]) as change:
        while True:
            await change()
            found = choose((await _records(session))[0])
            fresh = [raw for raw in found if key_of(raw) not in printed]
            if output in ("json", "yaml", "name"):
                for raw in fresh:
                    if printed and output == "yaml":
                        click.echo("---")
                    show_objects([raw], output, one=True)
                    printed.add(key_of(raw))
                continue
            printed |= set(map(key_of, fresh))
            if fresh:
                all_of = not session.namespace
                retyped = session.server.retyped
                whole, new = (
                    history_table(some, clock.now(), namespaces=all_of).told(retyped) for some in (found, fresh)
                )
                show(new, wide=output == "wide", head=head, beside=whole)
                head = False
            elif silent:
                click.echo(nothing(session.namespace), err=True)
            silent = False


def _chosen(records: "list[Raw]", *, job: str | None, failed: bool, after: "datetime | None") -> "list[Raw]":
    from trainplane.cluster.ages import parse_time

    def wanted(spec: "Raw") -> bool:
        ended = parse_time(spec["completionTime"])
        return (
            (job is None or spec["trainJob"]["name"] == job)
            and (not failed or spec["outcome"] == "Failed")
            and (after is None or (ended is not None and ended >= after))
        )

    return [raw for raw in records if wanted(raw["spec"])]


def _nothing(server: Server, namespace: str, *, narrowed: bool) -> str:
    where = f" in namespace {namespace}" if namespace else ""
    if narrowed:
        return f"no job that has ended{where} is like that; see all of them: {server.command('history')}"
    return f"no job has ended yet{where}; see what runs: {server.command('get jobs')}"


async def recall(session: Session, kind: "Kind", name: str) -> "Raw":
    """The TrainJob of a name; where it is gone, what is known of it is said."""
    from trainplane.cli.sorts import RECORD, kind_row

    try:
        return await session.get(kind, name)
    except Refused:
        objects, _ = await session.gather([kind_row(*RECORD)])
        past = [raw["spec"] for raw in objects if raw["spec"]["trainJob"]["name"] == name]
        if not past:
            raise
        last = max(past, key=lambda spec: str(spec["completionTime"]))
        word = {"Complete": "completed", "Deleted": "was deleted"}.get(last["outcome"], "failed")
        told = session.command(f"history {name}")
        raise Refused(f"job {name} is gone: it {word} at {last['completionTime']}; see {told} -o wide") from None
