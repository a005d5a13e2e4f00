"""A flame graph of one rank of a running job: which process it is, and what py-spy says of it."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.api.ref import Ref
from trainplane.api.roles import ANCESTOR_LABEL
from trainplane.api.trainer import PROFILING_ENABLED
from trainplane.cluster.client import Streams
from trainplane.cluster.remote_streams import ended
from trainplane.sdk.logs import containers, place
from trainplane.sdk.source import PYTHON
from trainplane.trainjob.observe import PROFILER_ADDRESS

PROBE = Path(__file__).parents[1] / "probe"
MISSING = 90
"""The exit code where py-spy is not in the container."""
AT_ONCE = 16
"""How many pods are asked at a time."""
_ENTRY = 126, 127
"""What a shell or a runtime says of a program that is not there."""


class NotProfiled(Exception):
    """There is no flame graph to be had: why, and what to do."""


@dataclass(frozen=True, slots=True)
class Process:
    """A Python process of a pod."""

    pod: str
    place: int
    """The pod's place in its step."""
    pid: int
    parent: int
    cpu: int
    command: str
    rank: int | None = None
    """As the process itself was told; None where it was told nothing."""
    own: bool = True
    """Whether it has the container's environment, as all have that the job started."""


@dataclass(frozen=True, slots=True)
class Answer:
    """How a command in a container ended, and what it wrote."""

    code: int
    out: bytes
    err: str


def is_enabled(job: Raw, pod: Raw) -> bool:
    """Whether a job may be profiled: its own annotation or that of its runtime says so."""
    if (look(job, "metadata", "annotations") or {}).get(PROFILING_ENABLED) == "true":
        return True
    named = look(pod, "spec", "containers") or ()
    return any(each["name"] == PROFILER_ADDRESS for container in named for each in container.get("env") or ())


def trainers(pods: Sequence[Raw]) -> list[Raw]:
    """The pods that train and run now, in the order of their places."""
    running = [pod for pod in pods if look(pod, "status", "phase") == "Running"]
    step = [pod for pod in running if (look(pod, "metadata", "labels") or {}).get(ANCESTOR_LABEL) == "trainer"]
    return sorted(step or running, key=place)


def choose(processes: Sequence[Process], rank: int) -> Process | None:
    """The process of a rank: the one that was told so, else the first one of the pod at that place."""
    told = [each for each in processes if each.rank is not None]
    here = [each for each in told if each.rank == rank] if told else [each for each in processes if each.place == rank]
    here = [each for each in here if each.own] or here
    # What a rank forks, such as loaders of data, inherits its environment.
    pids = {(each.pod, each.pid) for each in here}
    first = [each for each in here if (each.pod, each.parent) not in pids]
    return max(first, key=lambda each: each.cpu, default=None)


def is_starting(processes: Sequence[Process]) -> bool:
    """Whether torchrun is there, and none of the ranks that it starts."""
    return any("torchrun" in each.command for each in processes) and all(each.rank is None for each in processes)


async def processes(streams: Streams, pods: Sequence[Raw]) -> list[Process]:
    """The Python processes of pods; raises ApiError, and NotProfiled where no pod can be looked into."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def of(pod: Raw) -> list[Process]:
        async with gate:
            answer = await run(streams, pod, [PYTHON, "-c", _source("processes.py")])
        if answer.code:
            name = pod["metadata"]["name"]
            what = (
                "has no program called python" if answer.code in _ENTRY else f"cannot be looked into: {_last(answer)}"
            )
            raise NotProfiled(f"pod {name} {what}; profile a job whose image has Python")
        return [Process(pod["metadata"]["name"], place(pod), **each) for each in orjson.loads(answer.out)]

    found = await asyncio.gather(*map(of, pods))
    return [each for some in found for each in some]


async def record(streams: Streams, pod: Raw, process: Process, *, seconds: int, rate: int) -> bytes:
    """The flame graph of a process, as SVG; raises ApiError and NotProfiled."""
    words = [PYTHON, "-c", _source("record.py"), str(process.pid), str(seconds), str(rate)]
    answer = await run(streams, pod, words)
    if answer.code == 0 and answer.out.lstrip().startswith(b"<?xml"):
        return answer.out
    raise NotProfiled(refusal(answer, process))


async def run(streams: Streams, pod: Raw, words: Sequence[str]) -> Answer:
    """Run a command in a pod's first container and take all that it writes; raises ApiError."""
    ref = Ref("", "Pod", pod["metadata"]["namespace"], pod["metadata"]["name"])
    channel = await streams.exec(ref, words, container=containers(pod)[0])
    out, err, code = b"", b"", 255
    try:
        while (heard := await channel.receive()) is not None:
            number, data = heard
            if number == 3:
                said = ended(data)
                if not isinstance(said, int):
                    raise said
                code = said
                break
            out, err = (out, err + data) if number == 2 else (out + data, err)
    finally:
        await channel.close()
    return Answer(code, out, err.decode(errors="replace"))


def _source(name: str) -> str:
    return (PROBE / name).read_text(encoding="utf-8")


def _last(answer: Answer) -> str:
    lines = [line.strip() for line in answer.err.splitlines() if line.strip()]
    return lines[-1] if lines else f"exit code {answer.code}"


def refusal(answer: Answer, process: Process) -> str:
    """Why py-spy gave no graph, and what to do."""
    where = f"process {process.pid} of pod {process.pod}"
    said = answer.err.lower()
    if answer.code == MISSING:
        return f"py-spy is not in the environment of pod {process.pod}; install it there: pip install py-spy"
    if "permission denied" in said or "operation not permitted" in said:
        return (
            f"{where} may not be looked into; add the capability SYS_PTRACE to the trainer's container, "
            "or set the node's sysctl kernel.yama.ptrace_scope to 0"
        )
    if "no such process" in said or "check that the process is running" in said:
        return f"{where} ended before it could be profiled; profile a job that still runs"
    # What follows the first line is for those who write py-spy.
    first = next((line.strip() for line in answer.err.splitlines() if line.strip()), f"exit code {answer.code}")
    why, todo = first.removeprefix("Error: "), "see that its version knows the Python of the image"
    return f"py-spy cannot profile {where}: {why}; {todo}"
