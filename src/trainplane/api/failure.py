"""How a program failed: the class of its end, and which of a job's many failures came first and drew the others."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from trainplane.api.batch import COMPLETION_INDEX
from trainplane.api.jobset import JOB_INDEX, REPLICATED_JOB_NAME
from trainplane.api.meta import Raw
from trainplane.api.raw import look

CONDITION = "trainplane.dev/Failure"
"""The condition by which a node says of a pod how it failed: its reason is the class, its message the rank."""
ABORTED = 134
"""The exit code of a program that has ended itself with SIGABRT."""
SIGNALS = range(129, 193)
"""The exit codes that stand for a signal; above them a program chose the number itself, as ssh its 255."""
TAIL = 200
"""How many of the last lines are looked at for the cause."""


class ExitClass(StrEnum):
    """Why a program ended before it should; the value is a condition's reason."""

    OUT_OF_MEMORY = "OutOfMemory"
    DISK_FULL = "DiskFull"
    IMPORT_ERROR = "ImportError"
    SSH = "Ssh"
    NAME_NOT_FOUND = "NameNotFound"
    PORT_IN_USE = "PortInUse"
    NOT_STARTED = "NotStarted"
    COLLECTIVE_TIMEOUT = "CollectiveTimeout"
    USER_EXCEPTION = "UserException"
    SIGNAL = "Signal"
    EXIT_CODE = "ExitCode"
    NODE_LOST = "NodeLost"
    """Its node lost it: what ran it there was ended."""
    PEER_LOST = "PeerLost"
    """Another rank went away, and this one could not go on without it."""

    @property
    def words(self) -> str:
        """As a person says it."""
        return _WORDS[self]


_WORDS = {
    ExitClass.OUT_OF_MEMORY: "out of memory",
    ExitClass.DISK_FULL: "disk full",
    ExitClass.IMPORT_ERROR: "import error",
    ExitClass.SSH: "ssh",
    ExitClass.NAME_NOT_FOUND: "a host's name was not found",
    ExitClass.PORT_IN_USE: "port in use",
    ExitClass.NOT_STARTED: "the command could not be started",
    ExitClass.COLLECTIVE_TIMEOUT: "collective timeout",
    ExitClass.USER_EXCEPTION: "user exception",
    ExitClass.SIGNAL: "signal",
    ExitClass.EXIT_CODE: "exit code",
    ExitClass.NODE_LOST: "lost by its node",
    ExitClass.PEER_LOST: "lost a peer",
}
ADVICE = {
    ExitClass.OUT_OF_MEMORY: "give the job more memory, or make its batches smaller",
    ExitClass.DISK_FULL: "make room on the disk, or give the job a larger volume",
    ExitClass.IMPORT_ERROR: "install the package in the environment that the image stands for",
    ExitClass.SSH: "see that sshd runs on the workers and that the keys are those of the job",
    ExitClass.NAME_NOT_FOUND: "correct the name, or see what pods can reach: trainplane doctor network",
    ExitClass.PORT_IN_USE: "choose another port, or end what listens there",
    ExitClass.NOT_STARTED: "correct the command, or map the image to an environment that has it",
    ExitClass.COLLECTIVE_TIMEOUT: "look at the rank that does not answer: it hangs, or cannot be reached",
    ExitClass.USER_EXCEPTION: "mend what the traceback shows",
    ExitClass.SIGNAL: "see who ended it: the node's log, a deadline, or an operator",
    ExitClass.EXIT_CODE: "see the last lines of its log",
    ExitClass.NODE_LOST: "submit it again; what ran it on its node was ended, and the job allows no new pod for that",
    ExitClass.PEER_LOST: "look at the rank that went away first",
}

_SAID: dict[ExitClass, tuple[str, ...]] = {
    ExitClass.DISK_FULL: ("No space left on device", "Disk quota exceeded", r"\[Errno (?:28|122)\]"),
    ExitClass.OUT_OF_MEMORY: (
        "out of memory",
        "OutOfMemoryError",
        r"\bMemoryError\b",
        "[Cc]annot allocate memory",
        "can't allocate memory",
        "std::bad_alloc",
    ),
    ExitClass.IMPORT_ERROR: (r"\bModuleNotFoundError\b", r"\bImportError\b"),
    ExitClass.SSH: (
        r"Permission denied \(publickey",
        "Host key verification failed",
        r"\bssh: ",
        "kex_exchange_identification",
        "unable to reliably start one or more daemons",
        "lost communication with a remote daemon",
    ),
    # Programs that go on trying warn of names that are not there yet; only what ended one counts.
    ExitClass.NAME_NOT_FOUND: (r"\bgaierror\b", "NameResolutionError", "Could not resolve host"),
    ExitClass.PORT_IN_USE: (r"Error\b.*Address already in use", "EADDRINUSE"),
    ExitClass.COLLECTIVE_TIMEOUT: (
        "[Cc]ollective operation timeout",
        r"Timed out waiting \d+ms",
        "[Ww]ait timeout",
        "Socket Timeout",
        "DistStoreError",
        "DEADLINE_EXCEEDED",
        r"timed out after \d+",
    ),
    ExitClass.PEER_LOST: (
        "Connection closed by peer",
        "Connection reset by peer",
        "Broken pipe",
        "connectFullMesh failed",
        "remote process exited",
        "RendezvousConnectionError",
        "NCCL error",
        "unhandled system error",
    ),
}
"""What programs say of a cause, in the order in which one hides another."""
_TAG = re.compile(r"^\[(?:rank|[a-z]+)(\d+)\]: ?")
"""Whose a line is; torch says it itself before its tracebacks, and torchrun before every line when it is told to."""
_EXCEPTION = re.compile(r"^Traceback \(most recent call last\)")
_RANK = re.compile(r"^\s*rank\s*:\s*(\d+) \(local_rank: \d+\)")
_CODE = re.compile(r"^\s*exitcode\s*:\s*(-?\d+) ")
_ENDED = re.compile(r"^\[rank(\d+)\]: trainplane: this rank ended with (signal|exit code) (\d+)$")
"""What a rank under mpirun says when its program fails, where `run` started it."""
_UNKNOWN = "ContainerStatusUnknown"
_SECONDARY = (ExitClass.PEER_LOST, ExitClass.COLLECTIVE_TIMEOUT)


class Verdict(NamedTuple):
    """How a program ended: the class, the rank that torchrun blames where it does, and the exit code of that one."""

    kind: ExitClass
    rank: int | None
    code: int


def judge(code: int, lines: Sequence[str], *, oom: bool = False, started: bool = True) -> Verdict:
    """What a program's end means, by its exit code, which is above 128 for a signal, and its last lines."""
    said = lines[-TAIL:]
    if not oom and started and (verdicts := [_judged(*each) for each in _fallen(said)]):
        return next((each for each in verdicts if each.kind not in _SECONDARY), verdicts[0])
    rank, own, code = _blamed(said, code)
    if oom:
        return Verdict(ExitClass.OUT_OF_MEMORY, rank, code)
    if not started:
        return Verdict(ExitClass.NOT_STARTED, rank, code)
    return _judged(rank, own, code)


def _judged(rank: int | None, own: Sequence[str], code: int) -> Verdict:
    """What the end of a rank means by its own lines."""
    text = "\n".join(own)
    # Compiled for the first failure, and kept: most processes that load this see none.
    found = next((found for found, said in _SAID.items() if re.search("|".join(said), text)), None)
    if found is None:
        is_exception = any(_EXCEPTION.match(line) for line in own)
        # Threads of a library that are still at work when an exception ends the program often have it abort.
        by_itself = code not in SIGNALS or code == ABORTED
        otherwise = ExitClass.SIGNAL if code in SIGNALS else ExitClass.EXIT_CODE
        found = ExitClass.USER_EXCEPTION if is_exception and by_itself else otherwise
    return Verdict(found, rank, code)


def _fallen(lines: Sequence[str]) -> Iterator[tuple[int, list[str], int]]:
    """The ranks that say themselves that they failed, the first one first: each with its own lines and exit code."""
    for line in lines:
        if said := _ENDED.match(line):
            mine = [bare(other) for other in lines if (tag := _TAG.match(other)) and tag[1] == said[1]]
            yield int(said[1]), mine, int(said[3]) + (128 if said[2] == "signal" else 0)


def _blamed(lines: Sequence[str], code: int) -> tuple[int | None, list[str], int]:
    """The rank that torchrun blames, that rank's lines or all where it blames none, and its exit code."""
    rank, at_cause = None, False
    for line in lines:
        at_cause = at_cause or "Root Cause" in line
        if at_cause and (said := _RANK.match(line)):
            rank = int(said[1])
        if at_cause and (said := _CODE.match(line)):
            number = int(said[1])
            code = 128 - number if number < 0 else number
    mine = [(_TAG.match(line), line) for line in lines[: report_at(lines)]]
    kept = [line for tag, line in mine if rank is None or tag is None or int(tag[1]) == rank]
    return rank, [bare(line) for line in kept], code


def report_at(lines: Sequence[str]) -> int:
    """Where torchrun begins to tell of its own end, which is never the cause; after the last line where it does not."""
    report = len(lines)
    for place, line in enumerate(lines):
        if "ChildFailedError" in line:
            report = next((i for i in range(place, -1, -1) if _EXCEPTION.match(lines[i])), place)
    return report


def ending(code: int) -> str:
    """An exit code in words."""
    return f"signal {code - 128}" if code in SIGNALS else f"exit code {code}"


def bare(line: str) -> str:
    """A line without whose it is, however often that is said."""
    while said := _TAG.match(line):
        line = line[said.end() :]
    return line


class Failure(msgspec.Struct, frozen=True):
    """The failure that came first."""

    pod: str
    step: str
    index: int
    """The pod's place in its step."""
    node: str
    container: str
    code: int
    kind: ExitClass
    rank: int | None = None
    """The process, where that is known."""
    at: str = ""
    others: int = 0
    """How many pods failed besides, because of it or after it."""

    def told(self) -> str:
        """In one sentence, without anything that the program wrote."""
        who = f"rank {self.rank}" if self.rank is not None else f"{self.step}-{self.index}"
        where = f" on {self.node}" if self.node else ""
        how = ending(self.code)
        kind = f"{self.kind.words}, " if self.kind not in (ExitClass.SIGNAL, ExitClass.EXIT_CODE) else ""
        more = f"; {self.others} other pod{'s' * (self.others > 1)} failed after it" if self.others else ""
        return f"{who} (pod {self.pod}{where}) failed first: {kind}{how}{more}"


def first_failure(pods: Iterable[Raw]) -> Failure | None:
    """The failure that drew the others, of the pods of a job's last attempt; None where none failed.

    It is the earliest; among those of one second, one that is not itself the loss of another.
    """
    seen = [(failure, _was_asked(pod)) for pod in pods for failure in _failures(pod)]
    # Those that were told to end when another had failed are not to blame, unless nobody else is there.
    found = [failure for failure, was_asked in seen if not was_asked] or [failure for failure, _ in seen]
    if not found:
        return None
    first = min(found, key=lambda failure: (failure.at, failure.kind in _SECONDARY, failure.step, failure.index))
    # A rank that lost another may notice at once, and its node say so a moment before.
    causes = [failure for failure in found if failure.kind not in _SECONDARY]
    if first.kind in _SECONDARY and causes:
        first = min(causes, key=lambda failure: (failure.at, failure.step, failure.index))
    others = len({failure.pod for failure, _ in seen} - {first.pod})
    return replace(first, others=others)


def _failures(pod: Raw) -> Iterable[Failure]:
    labels = look(pod, "metadata", "labels") or {}
    said = _condition(pod)
    for status in (
        *(look(pod, "status", "initContainerStatuses") or ()),
        *(look(pod, "status", "containerStatuses") or ()),
    ):
        ended: Mapping[str, Any] = look(status, "state", "terminated") or look(status, "lastState", "terminated") or {}
        code, why = ended.get("exitCode") or 0, ended.get("reason")
        if not code or (why == _UNKNOWN and not ended.get("finishedAt")):
            # One that never ran is not to blame for anything.
            continue
        index = labels.get(COMPLETION_INDEX) or labels.get(JOB_INDEX) or "0"
        known = said.get("reason") in ExitClass.__members__.values()
        bare_end = judge(code, (), oom=why == "OOMKilled", started=why != "StartError")
        kind = ExitClass(said["reason"]) if known else ExitClass.NODE_LOST if why == _UNKNOWN else bare_end.kind
        rank = re.match(r"rank (\d+)\b", said.get("message") or "")
        # A launcher ends with a code of its own; that of the rank it blames says more.
        own = re.search(r"(signal|exit code) (\d+)$", said.get("message") or "") if known else None
        code = int(own[2]) + (128 if own[1] == "signal" else 0) if own else int(code)
        yield Failure(
            pod=pod["metadata"]["name"],
            step=labels.get(REPLICATED_JOB_NAME) or pod["metadata"]["name"],
            index=int(index) if index.isdecimal() else 0,
            node=look(pod, "spec", "nodeName") or "",
            container=status["name"],
            code=code,
            kind=kind,
            rank=int(rank[1]) if rank else None,
            at=ended.get("finishedAt") or "",
        )


def _was_asked(pod: Raw) -> bool:
    """Whether a pod was told to end before it failed, as far as that shows."""
    return bool(look(pod, "metadata", "deletionTimestamp")) and not _condition(pod)


def _condition(pod: Raw) -> Mapping[str, Any]:
    return next((each for each in look(pod, "status", "conditions") or () if each.get("type") == CONDITION), {})
