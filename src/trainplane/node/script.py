"""Script: what a simulated pod is to do, as its annotations say it."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, NamedTuple, TypeVar

from trainplane.api.quantity import Amount, QuantityError, parse

PREFIX = "simulate.trainplane.dev/"
LOST = f"{PREFIX}lost"
"""On a Node: "true" has it fall silent, as a machine that lost its power or its network."""
NODE = f"{PREFIX}node"
"""A label of the nodes that are simulated."""
OUT_OF_MEMORY = "OOMKilled"
KILLED = 137
T = TypeVar("T")


class Script(NamedTuple):
    """What a pod is to do. A field's annotation has its name, with dashes."""

    seconds: float | None = 5.0
    """How long its containers run; None is for ever."""
    start_seconds: float = 0.0
    """How long they take to be started."""
    init_seconds: float = 0.0
    """How long each init container runs that is no sidecar."""
    stop_seconds: float = 0.0
    """How long they take to stop when the pod is deleted; those that take longer than its grace are killed."""
    exit_code: int = 0
    reason: str = ""
    """Of the end of its containers, such as OOMKilled, which means exit code 137 where none is given."""
    message: str = ""
    """The termination message."""
    fail_ranks: frozenset[int] | None = None
    """The completion indexes that fail; None is all."""
    fail_attempts: frozenset[int] | None = None
    """The attempts that fail, the first being 1; None is all."""
    image_pull_failure: bool = False
    cpu: Amount | None = None
    memory: Amount | None = None
    """What each of its containers uses; None is what it requests."""

    def fails(self, *, rank: int | None, attempt: int) -> bool:
        """Whether the containers of a pod end badly."""
        if not self.exit_code:
            return False
        by_rank = self.fail_ranks is None or rank in self.fail_ranks
        return by_rank and (self.fail_attempts is None or attempt in self.fail_attempts)

    @property
    def length(self) -> timedelta | None:
        """How long its containers run; None is for ever."""
        return None if self.seconds is None else timedelta(seconds=self.seconds)


class Unreadable(Exception):
    """Annotations that say nothing that can be done; the message names each, and what to write instead."""


def script_of(pod: Mapping[str, Any]) -> Script:
    """What a pod is to do; raises Unreadable."""
    said = {
        key.removeprefix(PREFIX): value
        for key, value in (pod["metadata"].get("annotations") or {}).items()
        if key.startswith(PREFIX)
    }
    if not said:
        return PLAIN
    read: dict[str, Any] = {}
    wrong: list[str] = []
    for name, text in said.items():
        if name not in READERS:
            wrong.append(f"{PREFIX}{name}: there is no such annotation; there are {', '.join(READERS)}")
            continue
        reader, todo = READERS[name]
        try:
            read[name.replace("-", "_")] = reader(text.strip())
        except (ValueError, QuantityError):
            wrong.append(f"{PREFIX}{name}: {text!r} cannot be read; write {todo}")
    if wrong:
        raise Unreadable("; ".join(wrong))
    if "exit_code" not in read:
        if read.get("reason") == OUT_OF_MEMORY:
            read["exit_code"] = KILLED
        elif read.get("fail_ranks") is not None or read.get("fail_attempts") is not None:
            read["exit_code"] = 1
    return Script(**read)


PLAIN = Script()
"""What a pod does that says nothing of it."""


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 <= value < 10**9:
        raise ValueError(text)
    return value


def _length(text: str) -> float | None:
    return None if text == "forever" else _seconds(text)


def _code(text: str) -> int:
    value = int(text)
    if not 0 <= value <= 255:
        raise ValueError(text)
    return value


def _numbers(text: str) -> frozenset[int]:
    return frozenset(int(part) for part in text.split(","))


def _yes(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(text)
    return text == "true"


_SECONDS = "a number of seconds, such as 90 or 0.5"
_NUMBERS = "numbers with commas between them, such as 0,3"
READERS: Mapping[str, tuple[Callable[[str], Any], str]] = {
    "seconds": (_length, f"{_SECONDS}, or forever"),
    "start-seconds": (_seconds, _SECONDS),
    "init-seconds": (_seconds, _SECONDS),
    "stop-seconds": (_seconds, _SECONDS),
    "exit-code": (_code, "a number between 0 and 255"),
    "reason": (str, "a word"),
    "message": (str, "any text"),
    "fail-ranks": (_numbers, _NUMBERS),
    "fail-attempts": (_numbers, _NUMBERS),
    "image-pull-failure": (_yes, "true or false"),
    "cpu": (parse, "a quantity, such as 500m"),
    "memory": (parse, "a quantity, such as 4Gi"),
}
"""By annotation: how its text is read, and what one should write."""
