"""The simple JSONPath of printer columns and scale paths: `.status.conditions[?(@.type=="Completed")].status`."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

Step = Callable[[Any], Iterator[Any]]

_FIELD: Final = re.compile(r"\.((?:\\.|[^.\[\\])+)")
_QUOTED: Final = re.compile(r"\[(['\"])((?:\\.|(?!\1).)*)\1\]")
_INDEX: Final = re.compile(r"\[(-?\d+)\]")
_SLICE: Final = re.compile(r"\[(-?\d*):(-?\d*)\]")
_ALL: Final = re.compile(r"\[\*\]|\.\*")
_FILTER: Final = re.compile(r"\[\?\(\s*@(?P<path>[^=!<>\s]*)\s*(?:(?P<sign>==|!=)\s*(?P<value>[^)]*?)\s*)?\)\]")


class JsonPathError(ValueError):
    """A path that cannot be read; the message says which part."""


@lru_cache(maxsize=512)
def compiled(path: str) -> Callable[[Any], list[Any]]:
    """A function that finds what a path leads to in a JSON value: a list, empty where nothing is there."""
    steps = tuple(_steps(path))

    def find(value: Any) -> list[Any]:
        found = [value]
        for step in steps:
            found = [item for each in found for item in step(each)]
        return found

    return find


def _steps(path: str) -> Iterator[Step]:
    text = path.strip()
    if text.startswith("{") and text.endswith("}"):
        text = text[1:-1]
    text = text.removeprefix("$")
    if text and text[0] not in ".[":
        text = f".{text}"
    at = 0
    while at < len(text):
        found, step = _step(text, at)
        if found is None or step is None:
            raise JsonPathError(f"cannot read {text[at:]!r} of the path {path!r}; write it like .spec.items[0].name")
        yield step
        at = found.end()


def _step(text: str, at: int) -> tuple[re.Match[str] | None, Step | None]:
    if found := _ALL.match(text, at):
        return found, _all
    if found := _FIELD.match(text, at):
        return found, _member(re.sub(r"\\(.)", r"\1", found[1]))
    if found := _QUOTED.match(text, at):
        return found, _member(re.sub(r"\\(.)", r"\1", found[2]))
    if found := _INDEX.match(text, at):
        index = int(found[1])
        return found, _part(slice(index, index + 1 or None))
    if found := _SLICE.match(text, at):
        start, end = (int(part) if part else None for part in found.groups())
        return found, _part(slice(start, end))
    if found := _FILTER.match(text, at):
        return found, _filter(found["path"], found["sign"], found["value"])
    return None, None


def _member(name: str) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, Mapping) and name in value:
            yield value[name]

    return step


def _part(which: slice) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list | tuple):
            yield from value[which]

    return step


def _all(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        yield from value.values()
    elif isinstance(value, list | tuple):
        yield from value


def _filter(path: str, sign: str | None, text: str | None) -> Step:
    find = compiled(path)
    wanted = _literal(text) if text is not None else None

    def holds(item: Any) -> bool:
        found = find(item)
        if sign is None:
            return bool(found)
        return bool(found) and (found[0] == wanted) is (sign == "==")

    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list | tuple):
            yield from (item for item in value if holds(item))

    return step


def _literal(text: str) -> Any:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    if text in ("true", "false"):
        return text == "true"
    try:
        return int(text)
    except ValueError:
        raise JsonPathError(f"cannot compare with {text}; write a number, true, false or a text in quotes") from None
