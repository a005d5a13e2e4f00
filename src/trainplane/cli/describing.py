"""Descriptions: how a job stands and why, its pods and what happened to them, in a page."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any, NamedTuple

import click

from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.cli import causes
from trainplane.cli.event_rows import event_table, in_time
from trainplane.cli.job_rows import is_over, nodes_of, when
from trainplane.cli.outlook import key_of
from trainplane.cli.output import without_managers
from trainplane.cli.rows import pod_order, pod_table
from trainplane.cli.tables import Table, lines, pairs, terminal_width
from trainplane.cluster.pod_cells import pod_status
from trainplane.why.scene import jobset_of

LAST = 10
"""How many events are shown; `events` shows all."""


class Description(NamedTuple):
    """A job, what is known of it, and how commands about it are spelt."""

    told: causes.Told
    seen: causes.Seen
    events: list[Raw]
    command: Callable[[str], str]


def told(found: Description) -> Iterator[str]:
    """The page about a job."""
    job, now = found.told.job, found.seen.now
    yield click.style(causes.sentence(found.told), bold=True)
    yield from pairs(facts(found))
    pods = pods_of(found)
    if pods:
        yield ""
        yield click.style("Pods", bold=True)
        yield from _indented(without(pod_table(pods, now), "JOB"))
    events = in_time(found.events)
    if events:
        yield ""
        yield click.style("Events", bold=True)
        yield from _indented(event_table(events[-LAST:], now).told(found.seen.retyped))
        if len(events) > LAST:
            yield f"  … and {len(events) - LAST} before: {found.command('events ' + key_of(job)[1])}"
    if found.seen.hidden:
        yield ""
        yield f"note: you may not list {', '.join(found.seen.hidden)}, so less can be told"


def facts(found: Description) -> Iterator[tuple[str, str]]:
    """What is known of a job, in words and values."""
    job, now, cause = found.told.job, found.seen.now, found.told.cause
    summary, spec = look(job, "status", "summary") or {}, job.get("spec") or {}
    kind = look(spec, "runtimeRef", "kind") or "ClusterTrainingRuntime"
    yield "do", cause.todo if cause else ""
    yield "namespace", key_of(job)[0]
    yield "state", found.told.state + (f", {summary['reason']}" if summary.get("reason") else "")
    yield "since", causes.since(cause, now) or when(summary.get("since"), now)
    yield "queue", causes.place(found.told)
    yield "starts", causes.expected(found.told)
    yield "runtime", f"{look(spec, 'runtimeRef', 'name')} ({kind})"
    yield "nodes", nodes_of(job)
    yield "asks for", asks(spec)
    yield "image", str(look(spec, "trainer", "image") or "")
    yield "progress", progress(job)
    yield "restarts", str(summary.get("restarts") or "")
    yield "created", when(job["metadata"].get("creationTimestamp"), now)
    yield "started", when(summary.get("startTime"), now)
    yield "ended", when(summary.get("completionTime"), now) if is_over(job) else ""
    limit, ttl = spec.get("activeDeadlineSeconds"), spec.get("ttlSecondsAfterFinished")
    yield "deadline", f"{limit} s of being active" if limit is not None else ""
    yield "kept", f"{ttl} s after its end" if ttl is not None else ""


def asks(spec: Raw) -> str:
    """What a job asks for each of its nodes."""
    resources = look(spec, "trainer", "resourcesPerNode") or {}
    amounts = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    return ", ".join(f"{name} {amount}" for name, amount in amounts.items()) + (" a node" if amounts else "")


def progress(job: Raw) -> str:
    """What the trainer reported: percent, time left, and figures."""
    said = look(job, "status", "trainerStatus") or {}
    parts = []
    if said.get("progressPercentage") is not None:
        parts.append(f"{said['progressPercentage']} %")
    if said.get("estimatedRemainingSeconds") is not None:
        parts.append(f"{said['estimatedRemainingSeconds']} s left")
    parts += [f"{one.get('name')} {one.get('value')}" for one in said.get("metrics") or ()]
    return ", ".join(parts)


def pods_of(found: Description) -> list[Raw]:
    """The pods of the job."""
    space, name = key_of(found.told.job)
    return [pod for pod in found.seen.view.all("", "Pod", namespace=space) if jobset_of(pod) == name]


def as_json(found: Description) -> dict[str, Any]:
    """The page for programs: the object itself, and beside it what the server does not say."""
    return {
        "job": without_managers(found.told.job),
        "why": causes.as_json(found.told),
        "pods": [
            {
                "name": pod["metadata"]["name"],
                "status": pod_status(pod),
                "node": look(pod, "spec", "nodeName"),
            }
            for pod in sorted(pods_of(found), key=pod_order)
        ],
        "events": [
            {key: event.get(key) for key in ("type", "reason", "note", "regarding", "eventTime")}
            for event in in_time(found.events)
        ],
    }


def told_other(raw: Raw, table: Table, name: str, *, events: Iterable[Raw], now: datetime) -> Iterator[str]:
    """The page about anything else: its row, its conditions and its events."""
    row = next((row for row in table.rows if row[0] == name), ())
    yield click.style(f"{raw['kind']} {name}", bold=True)
    # How old it is stands beside when it was made.
    cells = [
        (column.head.lower(), cell)
        for column, cell in zip(table.columns[1:], row[1:], strict=False)
        if column.head != "AGE"
    ]
    yield from pairs([*cells, ("created", when(raw["metadata"].get("creationTimestamp"), now))])
    yield from pairs(
        (
            f"{one.get('type')}",
            f"{one.get('status')} {one.get('reason') or ''}: {one.get('message') or ''}".rstrip(": "),
        )
        for one in look(raw, "status", "conditions") or ()
    )
    last = in_time(events)[-LAST:]
    if last:
        yield ""
        yield click.style("Events", bold=True)
        yield from _indented(event_table(last, now))


def without(table: Table, head: str) -> Table:
    """The table without a column."""
    kept = [i for i, column in enumerate(table.columns) if column.head != head]
    return Table([table.columns[i] for i in kept], [[row[i] for i in kept] for row in table.rows])


def _indented(table: Table) -> list[str]:
    width = terminal_width()
    return [f"  {line}" for line in lines(table.narrowed(wide=False), width=width - 2 if width else None)]
