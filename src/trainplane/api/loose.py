"""Reading JSON values whose shape nobody has checked yet: what has the wrong type counts as absent."""

from collections.abc import Iterator, Mapping
from typing import Any

from trainplane.api.problem import Path
from trainplane.api.raw import look

_NOTHING: Mapping[str, Any] = {}


def object_at(value: Any, *path: str | int) -> Mapping[str, Any]:
    """The object at the end of a path, or an empty one."""
    found = look(value, *path)
    return found if isinstance(found, Mapping) else _NOTHING


def objects_at(value: Any, *path: str | int) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """The objects of the list at the end of a path, each with its own path."""
    found = look(value, *path)
    for index, item in enumerate(found if isinstance(found, list) else ()):
        if isinstance(item, Mapping):
            yield (*path, index), item


def text_at(value: Any, *path: str | int) -> str:
    """The text at the end of a path, or ""."""
    found = look(value, *path)
    return found if isinstance(found, str) else ""


def texts_at(value: Any, *path: str | int) -> Iterator[tuple[Path, str]]:
    """The texts of the list at the end of a path, each with its own path."""
    found = look(value, *path)
    for index, item in enumerate(found if isinstance(found, list) else ()):
        if isinstance(item, str):
            yield (*path, index), item


def integer_at(value: Any, *path: str | int) -> int | None:
    """The integer at the end of a path, or None; true and false are no integers."""
    found = look(value, *path)
    return found if isinstance(found, int) and not isinstance(found, bool) else None
