"""Living: one life of a container while it lasts: output is taken, probes are tried, hooks run, its end is seen to."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from signal import SIGKILL, SIGTERM, Signals
from typing import Any

from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.node.handlers import HOOK_TIMEOUT, handle
from trainplane.node.lifecycle import Said
from trainplane.node.logs import Writer
from trainplane.node.pipes import Drain, Ends
from trainplane.node.probes import Found, Sort, Tally, failure, sorts
from trainplane.node.runner import Box, Exit, Runner, Started
from trainplane.node.seen import Seen

Tell = Callable[[Said], None]
Learn = Callable[[Sort, Tally, bool], None]
"""Told what a probe has found, and whether the container must end for it."""


class Living:
    """A container that runs."""

    def __init__(
        self,
        container: Raw,
        started: Started,
        ends: Ends,
        *,
        number: int,
        writer: Writer,
        runner: Runner,
        box: Box,
        address: str,
        tell: Tell,
    ) -> None:
        """`number` counts its lives, from 0; `tell` is for events."""
        self.started = started
        self.ends = ends
        self.writer = writer
        self.number = number
        self.container = container
        self._runner = runner
        self._box = box
        self._address = address
        self._tell = tell
        self._nurses: list[asyncio.Task[None]] = []
        self._drains = [Drain(ends.out, lambda data: writer.write("stdout", data))]
        if ends.err is not None:
            self._drains.append(Drain(ends.err, lambda data: writer.write("stderr", data)))

    def nurse(self, tasks: asyncio.TaskGroup, *, seen: Callable[[], Seen], learn: Learn) -> None:
        """Run its hook and its probes, as tasks of whoever looks after it."""
        if hook := look(self.container, "lifecycle", "postStart"):
            self._add(tasks, self._post_start(hook))
        for sort, probe in sorts(self.container):
            self._add(tasks, self._probe(sort, probe, seen=seen, learn=learn))

    def stop(self, tasks: asyncio.TaskGroup, *, grace: float) -> None:
        """Have it asked to end, with its hook first, and killed when the grace is over."""
        self._add(tasks, self._end(grace))

    async def over(self) -> Exit:
        """Wait for its end; all that it said is in its log then."""
        exit_ = await self._runner.wait(self.started)
        self.let_go()
        return exit_

    def let_go(self) -> None:
        """Take what it has said, and look after it no more."""
        for nurse in self._nurses:
            nurse.cancel()
        for drain in self._drains:
            drain.finish()
        if self.ends.feed:
            self.ends.feed.close()

    def _add(self, tasks: asyncio.TaskGroup, work: Coroutine[Any, Any, None]) -> None:
        self._nurses.append(tasks.create_task(work, name=f"{self._box.pod.name}/{self.container['name']}"))

    async def _handle(self, handler: Raw, *, timeout: float) -> Found:
        return await handle(
            self._runner,
            self._box,
            handler,
            container=self.container,
            started=self.started,
            address=self._address,
            timeout=timeout,
        )

    async def _post_start(self, hook: Raw) -> None:
        found = await self._handle(hook, timeout=HOOK_TIMEOUT)
        if not found.good:
            self._tell(Said("Warning", "FailedPostStartHook", f"PostStartHook failed: {found.message}".rstrip(": ")))
            await self._runner.kill(self.started, SIGKILL)

    async def _end(self, grace: float) -> None:
        """The hook and the wait for the end share the grace."""
        with suppress(TimeoutError):
            async with asyncio.timeout(grace):
                if grace and (hook := look(self.container, "lifecycle", "preStop")):
                    found = await self._handle(hook, timeout=grace)
                    if not found.good:
                        note = f"PreStopHook failed: {found.message}".rstrip(": ")
                        self._tell(Said("Warning", "FailedPreStopHook", note))
                if grace:
                    word = look(self.container, "lifecycle", "stopSignal") or "SIGTERM"
                    await self._runner.kill(self.started, Signals.__members__.get(word, SIGTERM))
                    await self._runner.wait(self.started)
                    return
        await self._runner.kill(self.started, SIGKILL)

    async def _probe(self, sort: Sort, probe: Raw, *, seen: Callable[[], Seen], learn: Learn) -> None:
        """Try a probe again and again."""
        tally = Tally.first(sort)
        await asyncio.sleep(probe.get("initialDelaySeconds") or 0)
        while True:
            if self._is_due(sort, seen()):
                found = await self._handle(probe, timeout=probe.get("timeoutSeconds") or 1)
                tally = tally.after(found, probe)
                if not found.good:
                    self._tell(Said("Warning", "Unhealthy", failure(sort, found)))
                learn(sort, tally, tally.is_fatal(sort, probe))
                if sort is Sort.STARTUP and tally.result:
                    return
            await asyncio.sleep(probe.get("periodSeconds") or 10)

    def _is_due(self, sort: Sort, seen: Seen) -> bool:
        """Before a container counts as started only its startup probe is tried; while it ends, only readiness."""
        if not seen.is_running or (seen.stopping and sort is not Sort.READINESS):
            return False
        return sort is Sort.STARTUP or seen.started or not self.container.get("startupProbe")
