"""What jobs wait for, asked with the caller's own rights: the cause, the place in line, the expected start."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from msgspec.structs import replace

from trainplane.api.meta import Raw
from trainplane.api.times import stamp
from trainplane.cli.job_rows import is_over, is_waiting, message_of, state_of
from trainplane.cli.outlook import READS as OUTLOOK_READS
from trainplane.cli.outlook import Outlook, key_of, outlook
from trainplane.cli.server import Session
from trainplane.cli.sorts import kind_row
from trainplane.cli.tables import Column, Table, pairs
from trainplane.cluster.ages import duration, parse_time
from trainplane.gang.forecast import Start, Turn
from trainplane.reconcile.view import View
from trainplane.why.cause import Cause
from trainplane.why.why import READS, cause_of


class Seen(NamedTuple):
    """What could be seen of a cluster."""

    view: View
    outlook: Outlook
    now: datetime
    hidden: tuple[str, ...]
    """The plurals of kinds that the caller may not list."""
    retyped: Callable[[str], str]
    """Commands in a sentence as the caller must type them."""


class Told(NamedTuple):
    """A job, and what can be told of why it is where it is."""

    job: Raw
    state: str
    cause: Cause | None
    turn: Turn | None
    start: Start | None
    starts_in: str


async def look_around(session: Session, now: datetime) -> Seen:
    """Everything that causes are read from, as far as the caller may see it."""
    kinds = [kind_row(*one) for one in dict.fromkeys((*READS, *OUTLOOK_READS))]
    objects, refused = await session.gather(kinds, everywhere=True)
    hidden = tuple(dict.fromkeys(kind.plural for kind in refused))
    return Seen(View(objects), outlook(objects, now, hidden=hidden), now, hidden, session.server.retyped)


def tell(job: Raw, seen: Seen) -> Told:
    """What can be told of a job."""
    waits = is_waiting(job)
    cause = cause_of(job, seen.view, seen.now)
    return Told(
        job,
        state_of(job),
        replace(cause, todo=seen.retyped(cause.todo)) if cause else None,
        None if is_over(job) else seen.outlook.turns.get(key_of(job)),
        seen.outlook.start(job) if waits else None,
        seen.outlook.starts_in(job) if waits else "",
    )


def sentence(told: Told) -> str:
    """Where a job stands and why, in one sentence."""
    name = told.job["metadata"]["name"]
    if told.cause is not None:
        return _about(name, told.cause.sentence) or f"{name} {_verb(told.state)}: {told.cause.sentence}"
    if told.state in ("Complete", "Failed") and (said := message_of(told.job)):
        return _about(name, said) or f"{name}: {said}"
    if told.state == "Running":
        return f"{name} is running, and nothing is in its way"
    said = message_of(told.job) or ("its JobSet is not made yet" if is_waiting(told.job) else "")
    return f"{name} {_verb(told.state)}" + (f": {said}" if said else "")


def _about(name: str, said: str) -> str:
    """What is said of the job itself with its name in it; "" where something else is spoken of."""
    start = next((start for start in (f"the job {name} ", "the job ") if said.startswith(start)), "")
    return f"{name} {said.removeprefix(start)}" if start else ""


def _verb(state: str) -> str:
    return _VERBS.get(state, f"is {state.lower()}")


_VERBS = {"Pending": "waits", "Created": "waits", "Starting": "is starting", "Failed": "has failed"}


def answer(told: Told, seen: Seen, *, again: str = "") -> list[str]:
    """The answer to `why`: the sentence, then since when, the place in line, the expected start, and the way out.

    Of a job that waits and has nothing in its way yet the way out is to look `again`.
    """
    cause = told.cause
    see = f"; see how it goes on: {again}" if again else ""
    soon = f"nothing is in its way so far{see}" if is_waiting(told.job) else ""
    return [
        sentence(told),
        *pairs(
            (
                ("since", since(cause, seen.now) if cause else _made(told.job, seen.now) if soon else ""),
                ("queue", place(told)),
                ("starts", expected(told)),
                ("do", cause.todo if cause else soon),
            )
        ),
    ]


def place(told: Told) -> str:
    """A job's place in line: `2 of 5 in default`; "" where it has none."""
    return f"{told.turn.position} of {told.turn.of} in {told.turn.queue}" if told.turn else ""


def since(cause: Cause | None, now: datetime) -> str:
    """Since when something is the matter: `3m12s (2026-01-31T12:00:00Z)`."""
    if cause is None or cause.since is None:
        return ""
    return f"{duration((now - cause.since).total_seconds())} ({stamp(cause.since)})"


def _made(job: Raw, now: datetime) -> str:
    """Since when a job is there."""
    made = parse_time(job["metadata"].get("creationTimestamp") or "")
    return f"{duration((now - made).total_seconds())} ({stamp(made)})" if made else ""


def expected(told: Told) -> str:
    """When a job is expected to start, and what that is judged by; "" where nobody can tell."""
    if told.start is None:
        return ""
    by = f", judging by {' and '.join(told.start.sources)}" if told.start.sources else ""
    soon = told.starts_in if told.starts_in == "soon" else f"in {told.starts_in}"
    return f"{soon} ({stamp(told.start.at)}){by}"


def as_json(told: Told) -> dict[str, Any]:
    """The answer for programs, with the same keys at all times; what is not known is null."""
    cause, start = told.cause, told.start
    return {
        "namespace": key_of(told.job)[0],
        "name": key_of(told.job)[1],
        "state": told.state,
        "cause": cause.id if cause else None,
        "sentence": cause.sentence if cause else None,
        "since": stamp(cause.since) if cause and cause.since else None,
        "todo": cause.todo if cause else None,
        "objects": [f"{ref.kind}/{ref.name}" for ref in cause.objects] if cause else [],
        "queue": told.turn._asdict() if told.turn else None,
        "expectedStart": stamp(start.at) if start else None,
        "judgedBy": list(start.sources) if start else [],
    }


def stuck(jobs: Sequence[Raw], seen: Seen) -> list[Told]:
    """The jobs that something keeps from going on, those with the same cause together, the longest first."""
    found = [told for told in (tell(job, seen) for job in jobs) if told.cause is not None and told.state != "Complete"]

    def order(told: Told) -> tuple[Any, ...]:
        cause = told.cause
        born = parse_time(told.job["metadata"].get("creationTimestamp") or "")
        began = (cause.since if cause else None) or born or seen.now
        return told.state == "Failed", cause.id if cause else "", began, key_of(told.job)

    return sorted(found, key=order)


def stuck_table(all_told: Sequence[Told], now: datetime, *, namespaces: bool = False) -> Table:
    """Jobs and their causes."""
    columns = [
        Column("NAME", name=True),
        Column("STATE"),
        Column("FOR"),
        Column("CAUSE"),
        Column("QUEUE", wide=True),
        Column("STARTS", wide=True),
        Column("WHY", prose=True),
        Column("DO", wide=True, prose=True),
    ]
    rows = []
    for told in all_told:
        cause = told.cause
        if cause is None:
            continue
        rows.append(
            [
                *([key_of(told.job)[0]] if namespaces else ()),
                key_of(told.job)[1],
                told.state,
                duration((now - cause.since).total_seconds()) if cause.since else "",
                cause.id,
                f"{told.turn.position}/{told.turn.of}" if told.turn else "",
                told.starts_in,
                cause.sentence,
                cause.todo,
            ]
        )
    return Table([Column("NAMESPACE"), *columns] if namespaces else columns, rows)
