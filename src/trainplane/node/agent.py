"""Agent: one node. It watches the pods that are bound to it, has each looked after, and tells of what happens."""

import asyncio
import logging
from contextlib import suppress

from msgspec.structs import replace

from trainplane.api.core import FAILED, SUCCEEDED
from trainplane.api.kinds import KINDS
from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.api.ref import Ref
from trainplane.control.live import Live
from trainplane.control.metrics import Metrics
from trainplane.control.record import Recorder
from trainplane.control.reflector import Reflector, Scope
from trainplane.control.unseen import Unseen
from trainplane.node.heartbeat import Heartbeat
from trainplane.node.home import Home, log_name
from trainplane.node.honour import refused
from trainplane.node.lifecycle import Said
from trainplane.node.room import out_of, outgrown, overfull, size_limits, storage_limits
from trainplane.node.runner import NotStarted
from trainplane.node.seen import Doom
from trainplane.node.worker import Worker
from trainplane.reconcile.decision import Record

REPORTER = "kubelet"
"""Who tells of pods on nodes; tools that look for its events know it by this name."""
PATIENCE = 5.0
"""Seconds after which a pod is looked after again whose worker has failed."""
GUARD = 2.0
"""Seconds between two looks at how much volumes with a limit hold."""
EVICTED = "Evicted"
SHUT_DOWN = "Terminated"
SHUT_DOWN_MESSAGE = "Pod was terminated in response to imminent node shutdown."
SLACK = 10.0
"""Seconds beyond the grace, in which what has ended is told; a machine that is busy needs them."""
POD = next(kind for kind in KINDS if kind.kind == "Pod" and not kind.group)

_log = logging.getLogger(__name__)


class Agent:
    """Runs the pods of one node."""

    def __init__(self, home: Home, heartbeat: Heartbeat) -> None:
        """`home.say` is replaced: what workers tell becomes Events."""
        self.home = replace(home, say=self._say)
        self.workers: dict[str, Worker] = {}
        """By uid."""
        self.synced = asyncio.Event()
        self._heartbeat = heartbeat
        self._live = Live()
        self._said: asyncio.Queue[Record] = asyncio.Queue()
        kinds = {(kind.group, kind.kind): kind for kind in KINDS}
        self._recorder = Recorder(
            home.client, self._live, home.clock, kinds=kinds, metrics=Metrics(), instance=home.node
        )
        self._tasks: asyncio.TaskGroup

    async def run(self) -> None:
        """Run until cancelled."""
        time = asyncio.get_running_loop().time
        scope = Scope(POD, fields=f"spec.nodeName={self.home.node}")
        async with asyncio.TaskGroup() as self._tasks:
            self._tasks.create_task(self._heartbeat.run(), name=f"{self.home.node} heartbeat")
            self._tasks.create_task(self._tell(), name=f"{self.home.node} events")
            self._tasks.create_task(self._guard(), name=f"{self.home.node} volumes")
            reflector = Reflector(
                scope, self.home.client, self._live, unseen=Unseen(self._live, time), tell=self._changed
            )
            self._tasks.create_task(reflector.run(), name=f"{self.home.node} pods")
            await reflector.synced.wait()
            self.synced.set()

    async def settled(self) -> None:
        """Wait until the API knows of the node, and the node of its pods."""
        await self.synced.wait()
        await self._heartbeat.ready.wait()

    async def shut_down(self, *, within: float) -> None:
        """Have every pod end as when a machine is shut down, and wait for that so many seconds."""
        doom = Doom(SHUT_DOWN, SHUT_DOWN_MESSAGE, self.home.clock.now(), evicted=True, grace=within)
        for worker in self.workers.values():
            worker.end(doom)
        with suppress(TimeoutError):
            async with asyncio.timeout(within + SLACK):
                while self.workers:
                    await asyncio.sleep(0.01)

    def worker(self, pod: Ref) -> Worker | None:
        """Who looks after a pod now."""
        return next((each for each in self.workers.values() if each.box.pod == pod and not each.is_gone), None)

    def logged(self) -> set[str]:
        """The logs of the pods that the node has."""
        return {log_name(raw) for raw in self._live.all("", "Pod")}

    def _changed(self, before: Raw | None, after: Raw | None) -> None:
        if before is not None and (after is None or after["metadata"]["uid"] != before["metadata"]["uid"]):
            worker = self.workers.get(before["metadata"]["uid"])
            if worker:
                worker.lose()
        if after is None:
            return
        worker = self.workers.get(after["metadata"]["uid"])
        if worker:
            worker.see(after)
        elif _wants_work(after):
            self._tasks.create_task(self._look_after(after), name=f"{self.home.node} {after['metadata']['name']}")

    async def _look_after(self, pod: Raw) -> None:
        """Look after a pod until it is over; a fault of ours costs the pod its containers, and nobody else anything."""
        uid = pod["metadata"]["uid"]
        while True:
            worker = self.workers[uid] = Worker(pod, self.home)
            if doom := self._rejected(worker):
                worker.end(doom)
            try:
                await worker.run()
            except Exception as error:  # noqa: BLE001 - whatever it is, the other pods of the node must go on
                _log.error("the pod %s could not be looked after", pod["metadata"]["name"], exc_info=error)
                note = f"the node failed at this pod and begins anew; please report this: {_fault(error)}"
                self._say(worker.pod, Said("Warning", "FailedSync", note))
            else:
                break
            finally:
                self.workers.pop(uid, None)
            try:
                await self.home.runner.remove(worker.box)
            except (NotStarted, OSError) as error:
                _log.warning("the box of %s could not be removed: %s", pod["metadata"]["name"], error)
            await asyncio.sleep(PATIENCE)
            found = self._live.get(worker.box.pod)
            if found is None or found["metadata"]["uid"] != uid:
                break
            pod = found
        latest = self._live.get(worker.box.pod)
        if latest and latest["metadata"]["uid"] == uid and _is_newer(latest, worker.pod) and _wants_work(latest):
            # It changed while the worker was on its way out.
            self._tasks.create_task(self._look_after(latest), name=f"{self.home.node} {latest['metadata']['name']}")

    def _rejected(self, worker: Worker) -> Doom | None:
        """Why a new pod cannot be taken: whoever placed it may not have known of others that came just then."""
        if look(worker.pod, "status", "startTime") or worker.pod["metadata"].get("deletionTimestamp"):
            return None
        others = [each.pod for each in self.workers.values() if each is not worker and not each.scene.cleared]
        refusal = refused(worker.pod) or out_of(worker.pod, others, self.home.allocatable)
        if refusal is None:
            return None
        self._say(worker.pod, Said("Warning", refusal[0], refusal[1]))
        return Doom(refusal[0], f"Pod was rejected: {refusal[1]}", self.home.clock.now())

    async def _guard(self) -> None:
        """End pods that have more on disk than they may."""
        while True:
            await asyncio.sleep(GUARD)
            for worker in list(self.workers.values()):
                limits, storage = size_limits(worker.pod), storage_limits(worker.pod)
                if not (limits or storage) or worker.scene.doom or not worker.living:
                    continue
                folder, logs = self.home.folders.pod(worker.uid), self.home.logs.folder / log_name(worker.pod)
                message = await asyncio.to_thread(outgrown, folder / "volumes", limits)
                message = message or await asyncio.to_thread(overfull, folder, logs, storage)
                if message:
                    self._say(worker.pod, Said("Warning", EVICTED, message))
                    worker.end(Doom(EVICTED, message, self.home.clock.now()))

    def _say(self, pod: Raw, said: Said) -> None:
        ref = Ref("", "Pod", pod["metadata"].get("namespace", ""), pod["metadata"]["name"])
        self._said.put_nowait(Record(ref, said.type, said.reason, said.note))

    async def _tell(self) -> None:
        while True:
            said = await self._said.get()
            await self._recorder.record(said, by=REPORTER)


def _wants_work(pod: Raw) -> bool:
    """Whether there is anything to do for a pod: it is not over, or it is and wants to go."""
    over = look(pod, "status", "phase") in (SUCCEEDED, FAILED)
    return not over or bool(pod["metadata"].get("deletionTimestamp"))


def _is_newer(pod: Raw, than: Raw) -> bool:
    return bool(pod["metadata"].get("deletionTimestamp")) and not than["metadata"].get("deletionTimestamp")


def _fault(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"
