"""Numbers in a launcher's arguments (torchrun's --nnodes, mpirun's -np) that differ from the size of the training."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from trainplane.api.loose import texts_at
from trainplane.api.problem import Path

_NUMBER = r"(?:=|\s+)['\"]?([0-9]{1,9})(?![^\s'\"])"
_NNODES = r"--nnodes(?:=|\s+)['\"]?([0-9]{1,9}(?::[0-9]{1,9})?)(?![^\s'\"])"
_NPROC = rf"--nproc[-_]per[-_]node{_NUMBER}"
_RESTARTS = rf"--max[-_]restarts{_NUMBER}"
_RANKS = r"(?s)\bmpi(?:run|exec)(?:\.hydra)?\s(?:.*?\s)?(?:-np|-n|--np|--n)\s+([0-9]{1,9})(?![^\s'\"])"


class Wanted(NamedTuple):
    """What the arguments ought to say; "" where there is nothing to compare with."""

    nodes: str = ""
    """A number, or `min:max`."""
    procs: str = ""
    restarts: str = ""
    ranks: str = ""
    """mpirun's processes in all."""
    note: str = ""
    """How the ranks are counted."""


class Contradiction(NamedTuple):
    """A number in the arguments that is not the one that was wanted."""

    flag: str
    said: str
    wanted: str
    word: Path
    """From the container to the word that says it."""


def contradictions(container: Mapping[str, Any], wanted: Wanted) -> Iterator[Contradiction]:
    """The numbers in a container's command and arguments that are not those wanted."""
    words = [*texts_at(container, "command"), *texts_at(container, "args")]
    text = " ".join(word for _, word in words)
    if not words:
        return
    for pattern, flag, right, shown in (
        (_NNODES, "--nnodes", wanted.nodes, wanted.nodes),
        (_NPROC, "--nproc_per_node", wanted.procs, wanted.procs),
        (_RESTARTS, "--max_restarts", wanted.restarts, wanted.restarts),
        (_RANKS, "the number of processes", wanted.ranks, f"{wanted.ranks}, {wanted.note}"),
    ):
        found = re.search(pattern, text) if right else None
        if found and _bounds(found[1]) != _bounds(right):
            yield Contradiction(flag, found[1], shown, _word(words, found.start(1)))


def figure(value: Any) -> str:
    """A number or a text of digits as arguments would say it; "" for anything else."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value) if 0 <= value < 10**9 else ""
    return value if isinstance(value, str) and re.fullmatch(r"[0-9]{1,9}", value) else ""


def _bounds(text: str) -> tuple[int, int]:
    low, _, high = text.partition(":")
    return int(low), int(high or low)


def _word(words: list[tuple[Path, str]], offset: int) -> Path:
    for path, word in words:
        if offset <= len(word):
            return path
        offset -= len(word) + 1
    return words[-1][0]
