"""What the agent sees of a pod on its node: the lives of its containers, its addresses, and what stands in its way."""

from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec
from msgspec.structs import replace

from trainplane.api.core import FAILED, SUCCEEDED
from trainplane.api.failure import Verdict
from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.node.downward import containers
from trainplane.node.runner import Exit

OOM_KILLED = "OOMKilled"
COMPLETED = "Completed"
ERROR = "Error"
STATUS_UNKNOWN = "ContainerStatusUnknown"
KILLED = 137
LOST = "The container could not be located after the node agent was started again"
WENT_DOWN = "The container went down with the process of its node that runs containers"
LONGEST_MESSAGE = 4096
LONGEST_FALLBACK = 2048
FALLBACK_LINES = 80
FALLBACK = "FallbackToLogsOnError"


class Life(msgspec.Struct, frozen=True):
    """One run of a container, from its start to its end."""

    started: datetime
    id: str = ""
    ended: datetime | None = None
    code: int = 0
    reason: str = ""
    message: str = ""

    def with_exit(self, exit_: Exit, *, message: str = "") -> "Life":
        """The same life, over."""
        code = 128 + exit_.signal if exit_.signal else exit_.code
        reason = OOM_KILLED if exit_.oom and code == KILLED else ERROR if code else COMPLETED
        if exit_.lost:
            reason, message = STATUS_UNKNOWN, WENT_DOWN
        return replace(self, ended=exit_.at, code=code, reason=reason, message=message)


class BackOff(msgspec.Struct, frozen=True):
    """How long a container that ended waits for its next start, and since when that is so."""

    seconds: float
    since: datetime


class Seen(msgspec.Struct, frozen=True):
    """One container."""

    life: Life | None = None
    """The latest."""
    last: Life | None = None
    """The one before."""
    restarts: int = 0
    waiting: tuple[str, str] = ("", "")
    """Why it could not be started: a reason and a message."""
    tried: datetime | None = None
    """When that was."""
    started: bool = False
    """Whether the startup probe has succeeded in this life."""
    ready: bool = False
    """Whether the readiness probe succeeds."""
    unhealthy: str = ""
    """The probe, startup or liveness, for which it must end."""
    stopping: bool = False
    back_off: BackOff | None = None
    image_id: str = ""

    @property
    def is_running(self) -> bool:
        """Whether it runs now."""
        return self.life is not None and self.life.ended is None

    @property
    def has_ended(self) -> bool:
        """Whether its latest life is over."""
        return self.life is not None and self.life.ended is not None


class Doom(msgspec.Struct, frozen=True):
    """Why the whole pod must end, and since when that is so."""

    reason: str
    message: str
    since: datetime
    evicted: bool = False
    """Whether that is not the pod's own doing."""
    grace: float | None = None
    """How long its containers have, where that is not as long as they want."""


class Scene(msgspec.Struct, frozen=True):
    """A pod as its node sees it."""

    containers: Mapping[str, Seen] = msgspec.field(default_factory=dict)
    addresses: tuple[str, ...] = ()
    """None before its box is made."""
    host: str = ""
    initialized: bool = False
    """Whether its init containers were all through once."""
    doom: Doom | None = None
    cleared: bool = False
    """Whether nothing of it is left on the node."""
    asked: datetime | None = None
    """When its containers were first asked to end."""
    tried: datetime | None = None
    """When its volumes or its box could not be made."""
    blame: Verdict | None = None
    """How a container of it failed, the last that did so by itself."""

    @property
    def lost(self) -> str:
        """What is to be said where a container was lost by the node in its latest life, else ""."""
        lives = (seen.life for seen in self.containers.values())
        return next((life.message for life in lives if life and life.reason == STATUS_UNKNOWN), "")

    def of(self, name: str) -> Seen:
        """What is seen of one container."""
        return self.containers.get(name, Seen())

    def with_container(self, name: str, seen: Seen) -> "Scene":
        """The same scene with one container changed."""
        return replace(self, containers={**self.containers, name: seen})


def remembered(pod: Raw) -> Scene:
    """The scene that a former life of the agent has written into the status; what ran then runs no more."""
    status = pod.get("status") or {}
    known = {
        each["name"]: _remembered(each)
        for key in ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
        for each in status.get(key) or ()
    }
    app = [each["name"] for each in pod["spec"]["containers"]]
    begun = any(known[name].life for name in app if name in known)
    over = status.get("phase") in (SUCCEEDED, FAILED)
    addresses = tuple(each["ip"] for each in status.get("podIPs") or ()) if over else ()
    named = {each["name"] for each in containers(pod)}
    return Scene({name: seen for name, seen in known.items() if name in named}, addresses=addresses, initialized=begun)


def _remembered(status: Raw) -> Seen:
    state, last = status.get("state") or {}, status.get("lastState") or {}
    life, before = _life(state.get("terminated")), _life(last.get("terminated"))
    if running := state.get("running"):
        started = time_of(running.get("startedAt")) or datetime.fromtimestamp(0, UTC)
        life = Life(started, ended=started, code=KILLED, reason=STATUS_UNKNOWN, message=LOST)
    elif life is None and before is not None:
        life, before = before, None
    return Seen(life, before, int(status.get("restartCount") or 0), image_id=status.get("imageID") or "")


def _life(terminated: Raw | None) -> Life | None:
    if not terminated:
        return None
    ended = time_of(terminated.get("finishedAt")) or datetime.fromtimestamp(0, UTC)
    return Life(
        time_of(terminated.get("startedAt")) or ended,
        id=(terminated.get("containerID") or "").rpartition("/")[2],
        ended=ended,
        code=int(terminated.get("exitCode") or 0),
        reason=terminated.get("reason") or "",
        message=terminated.get("message") or "",
    )


def time_of(text: str | None) -> datetime | None:
    """A time as the API writes it, or None."""
    return datetime.fromisoformat(text) if text else None


def termination_message(container: Raw, life: Life, *, written: str, log: str) -> str:
    """What a container said of its end: in its file, or, where it wants that and failed, with its last lines."""
    if written:
        return written.encode()[:LONGEST_MESSAGE].decode(errors="ignore")
    if container.get("terminationMessagePolicy") != FALLBACK or not life.code:
        return ""
    lines = log.splitlines(keepends=True)[-FALLBACK_LINES:]
    return "".join(lines).encode()[-LONGEST_FALLBACK:].decode(errors="ignore")


def grace_of(pod: Raw) -> float:
    """How long a pod's containers have to end when they are asked to, in seconds."""
    grace = look(pod, "spec", "terminationGracePeriodSeconds")
    return 30.0 if grace is None else float(grace)
