"""Fields found by the path that a person types, by key or position: of rendered objects also by the path's end."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from trainplane.api.meta import Raw
from trainplane.api.problem import Path, did_you_mean, show
from trainplane.trainjob.blame import Chains, members
from trainplane.trainjob.plan import Plan
from trainplane.trainjob.tree import element_keys, key_of, positions

GAP = re.compile(r"…|\.\.\.?")
"""Stands for any steps between: `spec.replicatedJobs[node]…env[SEED]`."""
_STEP = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)|\.")
MANY = 10
"""How many fields are named where a path fits several."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in an object: its path by keys, and the position of each step."""

    path: Path
    """Begins with kind and name, as the chains of blame do."""
    places: tuple[int | None, ...]
    value: Any

    @property
    def field(self) -> str:
        """The path as it is shown, without kind and name: elements of lists in brackets."""
        return spelled(self.path, self.places)


class NotOne(Exception):
    """The path fits no field, or several; the message says what to do."""


def find(objects: Sequence[Raw], text: str) -> Spot:
    """The one place that a typed path means; raises NotOne."""
    blocks = [block for block in map(_steps, GAP.split(text.strip())) if block]
    every = list(spots(objects))
    found = [spot for spot in every if blocks and fits(spot, blocks)]
    whole = [spot for spot in found if len(blocks) == 1 and len(blocks[0]) in (len(spot.path) - 2, len(spot.path))]
    if len(found) == 1 or len(whole) == 1:
        return (whole or found)[0]
    if not found:
        raise NotOne(nothing_fits(text, blocks, every))
    few = [f"  {spot.field} of the {spot.path[0]} {spot.path[1]}" for spot in found[:MANY]]
    more = [f"  and {len(found) - MANY} more"] if len(found) > MANY else []
    raise NotOne("\n".join([f"{text} fits {len(found)} fields; write more of the path:", *few, *more]))


def _steps(text: str) -> list[str]:
    return [in_brackets or word for in_brackets, word in _STEP.findall(text) if in_brackets or word]


def written(document: Raw, text: str) -> Path | None:
    """The place in a document that a typed path means, whole and by position; None where there is none."""
    value: Any = document
    path: list[str | int] = []
    for word in _steps(text):
        if isinstance(value, list):
            keys = [str(key) for key in element_keys(value, path[-1] if path else "")]
            index = keys.index(word) if word in keys else int(word) if word.isdecimal() else len(value)
            if index >= len(value):
                return None
            path.append(index)
            value = value[index]
        elif isinstance(value, dict) and word in value:
            path.append(word)
            value = value[word]
        else:
            return None
    return tuple(path) or None


def reached(plan: Plan, chains: Chains, document: str, path: Path) -> list[Path]:
    """The leaves that something at a place of a document reaches, or is worked out from."""
    raw = plan.raw_job if document == "job" else plan.raw_runtime
    found = []
    for leaf, marks in chains.items():
        sources = [positions(raw, mark.source.path) for mark in marks if mark.source.document == document]
        if any(source[: len(path)] == path for source in sources):
            found.append(leaf)
    return found


def spelled(path: Path, places: Sequence[int | None]) -> str:
    """A path without kind and name, elements of lists in brackets, and the way to a pod left out."""
    text = ""
    for step, place in zip(path[2:], places[2:], strict=True):
        part = show((step,))
        text += f"[{step}]" if place is not None else part if not text or part.startswith("[") else f".{part}"
    return text.replace("].template.spec.template.spec.", "]…")


def nothing_fits(text: str, blocks: Sequence[Sequence[str]], every: Sequence[Spot]) -> str:
    """That no field has this path, and which is nearest."""
    last = blocks[-1][-1] if blocks else ""
    known = {str(spot.path[-1]): spot for spot in reversed(every)}
    fields = {spot.field: spot for spot in every if spot.field}
    # A right ending under a wrong way is nearer than a way that merely looks alike.
    near = known.get(last) or known.get(did_you_mean(last, known)) or fields.get(did_you_mean(text, fields))
    hint = f"did you mean {near.field}?" if near else "`trainplane render` shows what there is"
    return f"no rendered object has a field {text}; {hint}"


def fits(spot: Spot, blocks: Sequence[Sequence[str]]) -> bool:
    """Whether the last block ends the spot's path, and the others stand before it in order."""
    end = len(spot.path) - len(blocks[-1])
    if end < 0 or not _same(spot, end, blocks[-1]):
        return False
    start = 0
    for block in blocks[:-1]:
        here = next((i for i in range(start, end - len(block) + 1) if _same(spot, i, block)), None)
        if here is None:
            return False
        start = here + len(block)
    return True


def _same(spot: Spot, start: int, block: Sequence[str]) -> bool:
    steps = zip(spot.path[start:], spot.places[start:], block, strict=False)
    return all(word in (str(step), None if place is None else str(place)) for step, place, word in steps)


def spots(objects: Sequence[Raw]) -> Iterator[Spot]:
    """Every place of every object, what holds others too."""
    for root in roots(objects):
        yield from _below(root.value, root.path, root.places)


def roots(objects: Sequence[Raw]) -> list[Spot]:
    """The objects themselves as places."""
    return [Spot((raw["kind"], raw["metadata"]["name"]), (None, None), raw) for raw in objects]


def leaves(spot: Spot) -> list[Spot]:
    """The leaves below a place; of a named element, what it holds beside its name."""
    found = [each for each in _below(spot.value, spot.path, spot.places) if members(each.value, each.path) is None]
    holders = {each.path[:depth] for each in found if not _is_key(each) for depth in range(len(each.path))}
    return [each for each in found if not _is_key(each) or each.path[:-1] not in holders]


def _is_key(spot: Spot) -> bool:
    element = spot.places[-2] is not None
    return element and spot.path[-1] == key_of(spot.path[-3]) and str(spot.value) == spot.path[-2]


def _below(value: Any, path: Path, places: tuple[int | None, ...]) -> Iterator[Spot]:
    yield Spot(path, places, value)
    inner = members(value, path)
    for place, (key, item) in enumerate((inner or {}).items()):
        yield from _below(item, (*path, key), (*places, place if isinstance(value, list) else None))
