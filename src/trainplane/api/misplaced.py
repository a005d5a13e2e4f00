"""Where a field belongs that the API does not have in this place."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from trainplane.api import rules
from trainplane.api.problem import Path, Problem, did_you_mean, show
from trainplane.api.schema import Schema

_ALIKE = 0.8
_DEEPEST = 3
_FEW = 10


class Frame(msgspec.Struct, frozen=True):
    """An object on the way to where we are: what it holds, and what it may hold."""

    value: Mapping[str, Any]
    schema: Schema
    path: Path


class _Home(msgspec.Struct, frozen=True):
    """Where an unknown field belongs: below this object, above it, or here under another name."""

    below: Path = ()
    above: Path | None = None
    name: str = ""


def explain_unknown(keys: Sequence[str], frames: Sequence[Frame]) -> tuple[list[Problem], set[Path]]:
    """One problem for each group of unknown keys; and the places where those keys, put right, would be."""
    here = frames[-1]
    groups: dict[_Home, list[str]] = {}
    for key in keys:
        home = _home(key, frames)
        groups.setdefault(home, []).append(key)
    problems: list[Problem] = []
    places: set[Path] = set()
    for home, group in groups.items():
        if home.below:
            problems.append(_down(group, here, home.below))
            places.update((*here.path, *home.below[:depth]) for depth in range(1, len(home.below) + 1))
            places.update((*here.path, *home.below, key) for key in group)
        elif home.above is not None:
            problems.append(_up(group, here, home.above))
            places.update((*home.above, key) for key in group)
        else:
            problems.extend(_unknown(key, here, home.name) for key in group)
            places.add((*here.path, home.name))
    return problems, places


def _home(key: str, frames: Sequence[Frame]) -> _Home:
    """The most likely place of a key; an empty object that could hold it comes first."""
    here = frames[-1]
    properties = here.schema.get("properties", {})
    holders = [name for name, child in properties.items() if _lacks(key, here.value.get(name), child)]
    empty = [name for name in holders if name in here.value and not here.value[name]]
    if empty:
        return _Home(below=(empty[0],))
    near = did_you_mean(key, [name for name in properties if name not in here.value])
    if near and did_you_mean(key, [near], cutoff=_ALIKE):
        return _Home(name=near)
    present = [name for name in holders if name in here.value]
    if present:
        return _Home(below=(present[0],))
    for frame in reversed(frames[:-1]):
        if key in frame.schema.get("properties", {}) and key not in frame.value:
            return _Home(above=frame.path)
    if holders:
        return _Home(below=(holders[0],))
    if near:
        return _Home(name=near)
    deeper = list(_deeper(key, here.schema, ()))
    shortest = min(deeper, key=len, default=())
    return _Home(below=shortest) if sum(len(way) == len(shortest) for way in deeper) == 1 else _Home()


def _lacks(key: str, value: Any, schema: Schema) -> bool:
    """Whether an object may hold the key and does not."""
    return key in schema.get("properties", {}) and (value is None or (isinstance(value, Mapping) and key not in value))


def _deeper(key: str, schema: Schema, way: Path) -> Iterator[Path]:
    for name, child in schema.get("properties", {}).items():
        if way and key in child.get("properties", {}):
            yield (*way, name)
        if len(way) + 1 < _DEEPEST:
            yield from _deeper(key, child, (*way, name))


def _down(keys: list[str], here: Frame, below: Path) -> Problem:
    them, are = ("it", "belongs") if len(keys) == 1 else ("these lines", "belong")
    target = show(below)
    what = f"{_and(keys)} {are} under {target}"
    return Problem(rules.MISPLACED, (*here.path, keys[0]), what, f"indent {them} under {target}")


def _up(keys: list[str], here: Frame, above: Path) -> Problem:
    them, are = ("it", "belongs") if len(keys) == 1 else ("these lines", "belong")
    owner = here.path[len(above)]
    place = f"to {show(above)}" if above else "to the top of the document"
    what = f"{_and(keys)} {are} {place}, beside {owner}"
    return Problem(rules.MISPLACED, (*here.path, keys[0]), what, f"indent {them} by less, like {owner}")


def _unknown(key: str, here: Frame, near: str) -> Problem:
    known = sorted(here.schema.get("properties", {}))
    if near:
        todo = f"did you mean {near}?"
    elif known and len(known) <= _FEW:
        todo = f"remove it; the fields here are {_and(known)}"
    else:
        todo = "remove it, or check its name and its indentation"
    return Problem(
        rules.UNKNOWN_FIELD, (*here.path, key), f"{show(here.path) or 'the document'} has no field {key}", todo
    )


def _and(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
