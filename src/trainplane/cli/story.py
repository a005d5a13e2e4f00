"""The story of one job as it happens: its stages, its output, how far it is, and how it ended."""

import asyncio
import re
from collections.abc import Callable
from contextlib import aclosing, suppress
from datetime import datetime
from typing import NamedTuple

import click
from msgspec.structs import replace

from trainplane.api.failure import ADVICE, ExitClass, Failure, first_failure, judge, report_at
from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.api.ref import Ref
from trainplane.cli.server import Session
from trainplane.cli.tables import clean, plain
from trainplane.cli.tags import Foot, Tags, progress_of
from trainplane.cluster.client import Happened
from trainplane.cluster.errors import ApiError, Expired
from trainplane.sdk.logs import TRAINJOB, Following, Line, Wanted, so_far

DRAIN = 20.0
"""Seconds that the output of a job that has ended may take to arrive."""
GONE = 3
"""The exit code for a job that was deleted while somebody waited for it."""
_NUMBERS = re.compile(r"\d+")
LAST = 20
"""How many of the last lines of the rank that failed are shown."""


class Ended(NamedTuple):
    """How a job ended."""

    job: Raw | None
    """None: it was deleted."""
    state: str
    failure: Failure | None

    @property
    def code(self) -> int:
        """The exit code to leave with: 0, or that of the rank that failed first."""
        if self.state == "Complete":
            return 0
        return GONE if self.job is None else self.failure.code if self.failure else 1


async def ended(
    session: Session,
    ref: Ref,
    following: Following,
    *,
    on_line: Callable[[Line], None],
    on_change: Callable[[Raw], None] = lambda _: None,
) -> Ended:
    """Hand on every line, and the job at each change of it, until it has ended and all that it wrote is told."""

    async def tell() -> None:
        async for line in following.lines():
            on_line(line)

    telling = asyncio.create_task(tell())
    try:
        job = await _last(session, ref, on_change)
        following.finish()
        with suppress(TimeoutError):
            await asyncio.wait_for(telling, DRAIN)
    finally:
        telling.cancel()
        await asyncio.gather(telling, return_exceptions=True)
    return _ended(job, following)


async def told(session: Session, ref: Ref, following: Following) -> Ended:
    """Tell the whole story on the terminal: stages and the progress on the standard error, output on the standard."""
    foot, tags, stages = Foot(), Tags(), Stages()

    def on_line(line: Line) -> None:
        foot.above(tags.line(line))
        if line.place == 0 and (at := progress_of(line.text)):
            foot.say(f"{ref.name}: {at}")

    def on_change(job: Raw) -> None:
        # How it ended is told by whoever asked for the story, with more than a stage can say.
        if (said := stages.take(job)) and not has_ended(job):
            foot.above(click.style(session.server.retyped(said), dim=True), err=True)

    try:
        return await ended(session, ref, following, on_line=on_line, on_change=on_change)
    finally:
        foot.clear()


class Stages:
    """Says what is new about a job's state, and nothing twice."""

    def __init__(self) -> None:
        self._last = ("", "")

    def take(self, job: Raw) -> str:
        """A line where the state or what is said of it changed, other than in numbers, else ""."""
        summary = look(job, "status", "summary") or {}
        state, message = summary.get("state") or "Pending", clean(summary.get("message") or "")
        before, self._last = self._last, (state, _NUMBERS.sub("", message))
        # A state that falls back for the same reason is nothing new; one that goes on to run is.
        if self._last == before or (message and self._last[1] == before[1] and state != "Running"):
            return ""
        return f"{state.lower()}{': ' if message else ''}{message}"


async def _last(session: Session, ref: Ref, on_change: Callable[[Raw], None]) -> Raw | None:
    """The job once it has ended; None where it was deleted before."""
    fields = f"metadata.name={ref.name}"
    while True:
        page = await session.client.list(TRAINJOB, namespace=ref.namespace, fields=fields)
        if not page.items:
            return None
        job = page.items[0]
        on_change(job)
        if has_ended(job):
            return job
        with suppress(Expired):
            changes = session.client.watch(
                TRAINJOB, namespace=ref.namespace, fields=fields, since=page.resource_version
            )
            async with aclosing(changes):  # type: ignore[type-var]
                async for change in changes:
                    if change.happened is Happened.DELETED:
                        return None
                    if change.happened is Happened.BOOKMARK:
                        continue
                    on_change(change.object)
                    if has_ended(change.object):
                        return change.object


def has_ended(job: Raw) -> bool:
    """Whether nothing more happens to a job."""
    conditions = look(job, "status", "conditions") or ()
    return any(each["type"] in ("Complete", "Failed") and each["status"] == "True" for each in conditions)


def _ended(job: Raw | None, following: Following) -> Ended:
    state = (look(job, "status", "summary", "state") if job else None) or ("Deleted" if job is None else "Failed")
    return Ended(job, state, None if state == "Complete" else first_failure(following.pods.values()))


async def report(session: Session, ref: Ref, end: Ended) -> str:
    """The failure report: who failed first, how, its last lines, and what to do."""
    if end.job is None:
        return f"{ref.name} was deleted before it ended"
    message = session.server.retyped(clean(look(end.job, "status", "summary", "message") or ""))
    failure = end.failure
    if failure is None:
        return f"{ref.name} failed: {message or 'no pod of it says why'}"
    failure, lines = _refined(failure, await _written_by(session, ref, failure.pod))
    said = [f"  {plain(line.text)}" for line in lines[-LAST:]]
    return "\n".join([f"{ref.name} failed: {failure.told()}", *said, f"what to do: {ADVICE[failure.kind]}"])


def _refined(failure: Failure, lines: list[Line]) -> tuple[Failure, list[Line]]:
    """The failure with what its pod's lines say of it, and those of the rank that is to blame."""
    said = [f"[rank{line.rank}]: {line.text}" if line.rank is not None else line.text for line in lines]
    verdict = judge(failure.code, said, oom=failure.kind is ExitClass.OUT_OF_MEMORY)
    if failure.kind is ExitClass.EXIT_CODE:
        failure = replace(failure, kind=verdict.kind, code=verdict.code)
    rank = failure.rank if failure.rank is not None else verdict.rank
    own = [line for line in lines if line.rank == rank] if rank is not None else lines
    own = own[: report_at([line.text for line in own])]
    return replace(failure, rank=rank), own or lines


async def _written_by(session: Session, ref: Ref, pod: str) -> list[Line]:
    try:
        lines = [line async for line in so_far(session.client, session.client.streams, ref, Wanted())]
    except ApiError:
        # Whoever may not read logs is told what the pod's status says.
        return []
    return [line for line in lines if line.pod == pod]


def took(job: Raw) -> str:
    """How long a job took from its creation to its end, where both are known."""
    made = look(job, "metadata", "creationTimestamp")
    conditions = look(job, "status", "conditions") or ()
    over = [each["lastTransitionTime"] for each in conditions if each["type"] in ("Complete", "Failed")]
    if not made or not over:
        return ""
    seconds = (datetime.fromisoformat(max(over)) - datetime.fromisoformat(made)).total_seconds()
    return f"{seconds:.0f} s"
