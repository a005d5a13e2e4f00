"""Regular expressions as JobSet reads them, in RE2's form: read into steps, and looked for in a time that is bounded.

Python's own matcher would not do: it knows other words, and an expression such as `(a+)+$` can keep it busy for years,
and with it everybody whose jobs the same process looks after.
"""

from functools import lru_cache
from typing import NamedTuple, TypeAlias

from trainplane.jobset.expression_text import At, Both, Either, Node, One, Repeat, Unreadable, read

MOST_STEPS = 10_000
"""How long what an expression is read into may be."""


class Take(NamedTuple):
    """One character that is in a class, and then the next step."""

    one: One


class Stand(NamedTuple):
    """A place in the text, and then the next step."""

    at: At


class Fork(NamedTuple):
    """Several steps to go on with."""

    ways: tuple[int, ...]


Step: TypeAlias = Take | Stand | Fork | None
"""None is the end: all of the expression was found."""


def occurs(pattern: str, text: str) -> bool:
    """Whether an expression matches somewhere in a text; one that is none matches nothing."""
    try:
        steps = _steps(pattern)
    except Unreadable:
        return False
    return _found(steps, text)


@lru_cache(maxsize=256)
def _steps(pattern: str) -> tuple[Step, ...]:
    """An expression as steps; raises Unreadable."""
    steps: list[Step] = []
    _lay(read(pattern), steps)
    steps.append(None)
    return tuple(steps)


def _lay(node: Node, steps: list[Step]) -> None:
    """Add the steps of a part; the one after them is what follows it."""
    if len(steps) > MOST_STEPS:
        raise Unreadable("the expression is too large")
    match node:
        case One():
            steps.append(Take(node))
        case At():
            steps.append(Stand(node))
        case Both(parts):
            for part in parts:
                _lay(part, steps)
        case Either(ways):
            _lay_either(ways, steps)
        case Repeat(part, least, most):
            for _ in range(least):
                _lay(part, steps)
            if most is None:
                _lay_often(part, steps)
            else:
                _lay_at_most(part, most - least, steps)


def _lay_either(ways: tuple[Node, ...], steps: list[Step]) -> None:
    fork = len(steps)
    steps.append(None)
    starts, ends = [], []
    for way in ways:
        starts.append(len(steps))
        _lay(way, steps)
        ends.append(len(steps))
        steps.append(None)
    steps[fork] = Fork(tuple(starts))
    for end in ends:
        steps[end] = Fork((len(steps),))


def _lay_often(part: Node, steps: list[Step]) -> None:
    fork = len(steps)
    steps.append(None)
    _lay(part, steps)
    steps.append(Fork((fork,)))
    steps[fork] = Fork((fork + 1, len(steps)))


def _lay_at_most(part: Node, times: int, steps: list[Step]) -> None:
    forks = []
    for _ in range(times):
        forks.append(len(steps))
        steps.append(None)
        _lay(part, steps)
    for fork in forks:
        steps[fork] = Fork((fork + 1, len(steps)))


def _found(steps: tuple[Step, ...], text: str) -> bool:
    """Whether the steps can be gone from any place of the text; all ways are gone at once, so none is gone twice."""
    end = len(steps) - 1
    standing: list[int] = []
    for place in range(len(text) + 1):
        taking = _taking(steps, [*standing, 0], text, place)
        if end in taking:
            return True
        if place < len(text):
            standing = _after(steps, taking, text[place])
    return False


def _taking(steps: tuple[Step, ...], waiting: list[int], text: str, place: int) -> list[int]:
    """The steps that take a character, and the end, as far as they are reached at a place without taking any."""
    found, seen = [], set[int]()
    while waiting:
        number = waiting.pop()
        if number in seen:
            continue
        seen.add(number)
        step = steps[number]
        if isinstance(step, Fork):
            waiting += step.ways
        elif isinstance(step, Stand):
            if step.at.holds(text, place):
                waiting.append(number + 1)
        else:
            found.append(number)
    return found


def _after(steps: tuple[Step, ...], taking: list[int], char: str) -> list[int]:
    """Where those come that take this character; a part that is repeated a thousand times is asked once."""
    known: dict[int, bool] = {}
    after = []
    for number in taking:
        step = steps[number]
        if isinstance(step, Take):
            is_in = known.get(id(step.one))
            if is_in is None:
                is_in = known[id(step.one)] = step.one.is_in(char)
            if is_in:
                after.append(number + 1)
    return after
