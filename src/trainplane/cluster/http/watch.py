"""Watching over HTTP: events as lines, written as fast as the client reads, until the time is up."""

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from typing import Any

import orjson
from aiohttp import web

from trainplane.api.meta import Raw
from trainplane.cluster.errors import ApiError
from trainplane.cluster.ground import Call
from trainplane.cluster.negotiation import TABLE, Form
from trainplane.cluster.reads import Batch, Event, bookmark
from trainplane.cluster.tables import partial, table
from trainplane.cluster.wire import event_line, event_line_of

LONGEST = 3600
"""How many seconds a watch lasts where nothing is said."""
BOOKMARK_EVERY = 60.0
TURN = 0.5
GATHER = 0.02
"""How long events may gather after some were written: the first is told at once, and those of a crowd together."""
WRITE_LIMIT = 60.0
"""How long a client may take to read what was written, before it is taken for gone."""


class Lines:
    """Turns events into lines, in the form that was asked for."""

    def __init__(self, call: Call, form: Form, *, now: Callable[[], datetime]) -> None:
        self._call = call
        self._form = form
        self._now = now
        self._columns = True
        self._row = call.through.row if call.through else call.row

    def __call__(self, event: Event) -> bytes:
        """The line of an event."""
        if self._call.through:
            event = Event(event.type, self._call.through.encoded(event.encoded))
        if not self._form.kind:
            return event_line_of(event.type, event.encoded)
        return event_line(event.type, self._turned(orjson.loads(event.encoded)))

    def _turned(self, raw: Raw) -> Any:
        if self._form.kind != TABLE:
            return partial(raw, self._form.api_version)
        row, options = self._row, self._call.options
        made = table(
            [raw],
            api_version=row.api_version,
            kind=row.kind,
            now=self._now(),
            include=options.include_object,
            metadata={"resourceVersion": raw["metadata"].get("resourceVersion", "")},
            columns=self._columns,
            version=self._form.api_version,
        )
        self._columns = False
        return made


async def stream(
    request: web.BaseRequest,
    batches: AsyncIterator[Batch],
    call: Call,
    form: Form,
    *,
    now: Callable[[], datetime],
    revision: Callable[[], int],
    closing: asyncio.Event,
) -> web.StreamResponse:
    """Answer with a watch's events until it ends, its time is up, or the server closes."""
    response = web.StreamResponse(headers={"Content-Type": form.media, "Cache-Control": "no-cache, private"})
    response.enable_chunked_encoding()
    await response.prepare(request)
    lines = Lines(call, form, now=now)
    seconds = call.options.timeout_seconds
    loop = asyncio.get_running_loop()
    deadline = loop.time() + (seconds if seconds and seconds > 0 else LONGEST)
    ended: asyncio.Future[Any] = asyncio.ensure_future(closing.wait())
    teller = _Teller(response, batches, lines)
    telling = asyncio.ensure_future(teller.run())
    told = seen = 0
    bookmarked = loop.time()
    try:
        while True:
            left = deadline - loop.time()
            # A bookmark may only name what was told before it: a revision that a whole turn has gone by since.
            told, seen = seen, revision()
            done, _ = await asyncio.wait(
                {telling, ended}, timeout=max(0.0, min(left, TURN)), return_when=asyncio.FIRST_COMPLETED
            )
            if telling in done:
                telling.result()
                break
            if ended in done:
                break
            over = deadline - loop.time() <= 0
            wanted = call.options.allow_watch_bookmarks and (over or loop.time() - bookmarked > BOOKMARK_EVERY)
            if told and wanted and not teller.busy:
                await _write(response, lines(bookmark(call.row, told)))
                bookmarked = loop.time()
            if over:
                break
    except ApiError as error:
        await _write(response, event_line("ERROR", error.status()))
    finally:
        for waiting in (telling, ended):
            waiting.cancel()
        await asyncio.gather(telling, ended, return_exceptions=True)
        await batches.aclose()  # type: ignore[attr-defined]
    await response.write_eof()
    return response


class _Teller:
    """Writes events as they come, without a task for each batch."""

    def __init__(self, response: web.StreamResponse, batches: AsyncIterator[Batch], lines: Lines) -> None:
        self._response, self._batches, self._lines = response, batches, lines
        self.busy = False
        """Whether there may be events that are not written yet."""

    async def run(self) -> None:
        """Write until the watch ends."""
        async for events in self._batches:
            self.busy = True
            await _write(self._response, b"".join(map(self._lines, events)))
            await asyncio.sleep(GATHER)
            self.busy = False


async def _write(response: web.StreamResponse, data: bytes) -> None:
    if data:
        async with asyncio.timeout(WRITE_LIMIT):
            await response.write(data)
