"""The output of a job: lines of all its pods, each with the step and the rank that wrote it, as one stream."""

import asyncio
import heapq
import re
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import aclosing, suppress

import msgspec
from msgspec.structs import replace

from trainplane.api.batch import COMPLETION_INDEX
from trainplane.api.failure import bare
from trainplane.api.jobset import JOB_INDEX, JOBSET_NAME, JOBSET_UID, REPLICATED_JOB_NAME, RESTART_ATTEMPT
from trainplane.api.kinds import KINDS
from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.api.ref import Ref
from trainplane.cluster.client import Client, Happened, Log, Streams
from trainplane.cluster.errors import ApiError, BadRequest, Expired, Forbidden, NotFound

POD = next(row for row in KINDS if row.kind == "Pod")
TRAINJOB = next(row for row in KINDS if row.kind == "TrainJob")
JOBSET = next(row for row in KINDS if row.kind == "JobSet")
LONGEST_LINE = 64 * 1024
"""A line that is longer is told in parts."""
_RANK = re.compile(r"^\[(?:rank|[a-z]+)(\d+)\]: ?")
"""What torchrun puts before a line when it is told to say whose it is."""
_TORCHRUN = re.compile(r"^[A-Z]\d{4} [\d:.]+ \d+ (?:site-packages/)?torch/distributed/(?:run|launcher|elastic)\b")
"""How a line begins that torchrun writes itself."""
_ALONE = {"PET_NPROC_PER_NODE": "1", "PET_TEE": None, "PET_RDZV_BACKEND": None}
"""The variables by which all that torchrun starts on a node is one process, lines do not say which, and no meeting of
the nodes gives out ranks as they come."""


class Line(msgspec.Struct, frozen=True):
    """One line of output, and who wrote it."""

    step: str
    index: int
    """The pod's place in its step: the node rank."""
    text: str
    rank: int | None = None
    """The process, where the line says it."""
    attempt: int = 0
    pod: str = ""
    container: str = ""
    time: str = ""

    @property
    def place(self) -> int:
        """The rank that `--rank` means: that of the process where the line says it, else that of the node."""
        return self.index if self.rank is None else self.rank

    @property
    def tag(self) -> str:
        """Who wrote it, in a word."""
        return f"{self.step}-{self.index}" if self.rank is None else f"rank {self.rank}"


class Wanted(msgspec.Struct, frozen=True):
    """Which lines."""

    steps: frozenset[str] = frozenset()
    """Empty is all of them."""
    ranks: frozenset[int] = frozenset()
    """Process ranks where lines say them, else node ranks; empty is all of them."""
    log: Log = msgspec.field(default_factory=Log)

    def of_pod(self, pod: Raw) -> bool:
        """Whether a pod may have such lines."""
        return not self.steps or _labels(pod).get(REPLICATED_JOB_NAME, "") in self.steps

    def of_line(self, line: Line) -> bool:
        """Whether a line is one."""
        return not self.ranks or line.place in self.ranks


class _Own:
    """Tells the pods of a job from those that an earlier one of its name has left for a moment."""

    def __init__(self, client: Client, job: Ref) -> None:
        self._client = client
        self._job = job
        self._jobset: str | None = ""

    async def has(self, pod: Raw) -> bool:
        said = _labels(pod).get(JOBSET_UID, "")
        if said and self._jobset is not None and said != self._jobset:
            self._jobset = await self._find()
        return not said or self._jobset is None or said == self._jobset

    async def _find(self) -> str | None:
        """The uid of the JobSet that the job has made; "" before it has, None where nobody may know."""
        try:
            job = await self._client.get(self._job)
            if self._job.kind == JOBSET.kind:
                return str(job["metadata"]["uid"])
            jobset = await self._client.get(Ref(JOBSET.group, JOBSET.kind, self._job.namespace, self._job.name))
        except NotFound:
            return ""
        except Forbidden:
            return None
        owners = [owner.get("uid") for owner in jobset["metadata"].get("ownerReferences") or ()]
        return str(jobset["metadata"]["uid"]) if job["metadata"]["uid"] in owners else ""


async def so_far(
    client: Client, streams: Streams, job: Ref, wanted: Wanted, *, more: Sequence[list[Line]] = ()
) -> AsyncIterator[Line]:
    """What a job's pods have written until now, and `more` that has its time, in the order of time; raises ApiError."""
    pods = await client.list(POD, namespace=job.namespace, labels=f"{JOBSET_NAME}={job.name}")
    own = _Own(client, job)
    asked = [(pod, name) for pod in pods.items if wanted.of_pod(pod) and await own.has(pod) for name in containers(pod)]
    read = await asyncio.gather(*(_all(streams, pod, name, wanted) for pod, name in asked))
    for line in heapq.merge(*read, *more, key=lambda line: line.time):
        yield line if wanted.log.timestamps else replace(line, time="")


async def _all(streams: Streams, pod: Raw, container: str, wanted: Wanted) -> list[Line]:
    log = replace(wanted.log, container=container, follow=False, timestamps=True)
    try:
        return [line async for line in _lines(streams, pod, log) if wanted.of_line(line)]
    except (BadRequest, NotFound):
        # It has not begun, or was never started before: there is nothing of it to tell.
        return []


class Following:
    """Lines as they are written, of pods that are there and of those that come."""

    def __init__(self, client: Client, streams: Streams, job: Ref, wanted: Wanted) -> None:
        self._client = client
        self._streams = streams
        self._job = job
        self._wanted = wanted
        self._own = _Own(client, job)
        self._queue: asyncio.Queue[Line | None] = asyncio.Queue(maxsize=1000)
        self._begun: set[tuple[str, str, int]] = set()
        self._open = 0
        self._over = asyncio.Event()
        self.pods: dict[str, Raw] = {}
        """The pods as they were last seen, those that are gone too."""

    def finish(self) -> None:
        """No pod will come any more: what is being read is read to its end, and that is all."""
        self._over.set()

    async def lines(self) -> AsyncIterator[Line]:
        """The lines, until `finish` was called and every pod has told all."""
        watching = asyncio.create_task(self._watch())
        try:
            while True:
                line = await self._queue.get()
                if line is None:
                    break
                yield line
        finally:
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching

    async def _watch(self) -> None:
        try:
            async with asyncio.TaskGroup() as readers:
                seeing = readers.create_task(self._see(readers))
                await self._over.wait()
                # One more look: what ended in this moment still has something to tell.
                seeing.cancel()
                await self._look(readers)
        finally:
            await self._queue.put(None)

    async def _see(self, readers: asyncio.TaskGroup) -> None:
        while True:
            since = await self._look(readers)
            with suppress(Expired):
                changes = self._client.watch(
                    POD, namespace=self._job.namespace, labels=f"{JOBSET_NAME}={self._job.name}", since=since
                )
                async with aclosing(changes):  # type: ignore[type-var]
                    async for change in changes:
                        if change.happened in (Happened.ADDED, Happened.MODIFIED):
                            await self._take(change.object, readers)

    async def _look(self, readers: asyncio.TaskGroup) -> str:
        page = await self._client.list(POD, namespace=self._job.namespace, labels=f"{JOBSET_NAME}={self._job.name}")
        for pod in page.items:
            await self._take(pod, readers)
        return page.resource_version

    async def _take(self, pod: Raw, readers: asyncio.TaskGroup) -> None:
        if not await self._own.has(pod):
            return
        uid = pod["metadata"]["uid"]
        self.pods[uid] = pod
        if not self._wanted.of_pod(pod):
            return
        for status in look(pod, "status", "containerStatuses") or ():
            key = (uid, status["name"], int(status.get("restartCount") or 0))
            begun = (status.get("state") or {}).keys() & {"running", "terminated"}
            if begun and key not in self._begun:
                first = not any(other[:2] == key[:2] for other in self._begun)
                self._begun.add(key)
                readers.create_task(self._read(pod, status["name"], first=first))

    async def _read(self, pod: Raw, container: str, *, first: bool) -> None:
        log = replace(self._wanted.log, container=container, follow=True)
        if not first:
            # What an earlier run of the container wrote was told already, whatever part was asked for.
            log = replace(log, tail_lines=None, since_seconds=None, since_time=None)
        try:
            async for line in _lines(self._streams, pod, log):
                if self._wanted.of_line(line):
                    await self._queue.put(line)
        except (ApiError, ConnectionError):
            # The pod is gone, or its node: there is no more to be had of it.
            return


async def _lines(streams: Streams, pod: Raw, log: Log) -> AsyncIterator[Line]:
    """The lines of one container."""
    who, held = writer(pod, log.container), b""
    ref = Ref("", "Pod", pod["metadata"]["namespace"], pod["metadata"]["name"])
    pieces = streams.log(ref, log)
    async with aclosing(pieces):  # type: ignore[type-var]
        async for piece in pieces:
            *whole, held = (held + piece).split(b"\n")
            for raw in whole:
                yield line_of(who, raw, stamped=log.timestamps)
            if len(held) > LONGEST_LINE:
                yield line_of(who, held, stamped=log.timestamps)
                held = b""
    if held:
        yield line_of(who, held, stamped=log.timestamps)


def line_of(who: Line, raw: bytes, *, stamped: bool) -> Line:
    """A line as it was written, with its time and its rank taken from before it."""
    text = raw.decode(errors="replace").rstrip("\r")
    time = ""
    if stamped:
        time, _, text = text.partition(" ")
    said = _RANK.match(text)
    rank = int(said[1]) if said else None if _TORCHRUN.match(text) else who.rank
    # Torch says it a second time before its own tracebacks.
    return replace(who, text=bare(text), rank=rank, time=time)


def writer(pod: Raw, container: str) -> Line:
    """Who writes what comes from a container."""
    labels, several = _labels(pod), len(containers(pod)) > 1
    return Line(
        step=labels.get(REPLICATED_JOB_NAME) or pod["metadata"]["name"],
        index=place(pod),
        text="",
        rank=place(pod) if _is_alone(pod, container) else None,
        attempt=int(labels.get(RESTART_ATTEMPT) or 0),
        pod=pod["metadata"]["name"],
        container=container if several else "",
    )


def _is_alone(pod: Raw, container: str) -> bool:
    """Whether a container is a node of torchrun with one process, whose rank is the node's."""
    own: Raw = next((each for each in look(pod, "spec", "containers") or () if each["name"] == container), {})
    env = {each["name"]: each.get("value") for each in own.get("env") or ()}
    words = (*(own.get("command") or ()), *(own.get("args") or ()))
    if any("--rdzv" in word for word in words) or not (env.get("PET_NNODES") or "").isdecimal():
        return False
    return all(env.get(name) == value for name, value in _ALONE.items())


def place(pod: Raw) -> int:
    """A pod's place in its step, over all Jobs of it."""
    labels = _labels(pod)
    said = (
        labels.get(COMPLETION_INDEX),
        (look(pod, "metadata", "annotations") or {}).get(COMPLETION_INDEX),
        labels.get(JOB_INDEX),
    )
    # A step of several Jobs has one pod in each: the first of its Job, and told from others by the Job.
    return next((number for each in said if each and each.isdecimal() and (number := int(each))), 0)


def containers(pod: Raw) -> Sequence[str]:
    """The containers whose output is a job's."""
    return [each["name"] for each in look(pod, "spec", "containers") or ()]


def steps_of(pods: Iterable[Raw]) -> list[str]:
    """The steps that pods belong to."""
    return sorted({_labels(pod).get(REPLICATED_JOB_NAME, "") for pod in pods} - {""})


def _labels(pod: Raw) -> dict[str, str]:
    return look(pod, "metadata", "labels") or {}
