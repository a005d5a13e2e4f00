"""What is wrong with an object, judged by its OpenAPI schema as a strict API server would, in words for people."""

import re
from collections.abc import Hashable, Iterator, Mapping
from datetime import datetime
from functools import cache
from typing import Any

from trainplane.api import rules
from trainplane.api.misplaced import Frame, explain_unknown
from trainplane.api.problem import Path, Problem, Rule, Severity, show
from trainplane.api.remedies import is_quantity, name_of, shown, wrong_quantity, wrong_type, wrong_word
from trainplane.api.schema import INT_OR_STRING, LIST_MAP_KEYS, LIST_TYPE, PRESERVE, Schema
from trainplane.api.structural import fill_defaults, unlawful

ENOUGH = 500
"""After so many problems of one object the rest of it is passed over: nobody reads on, and finding them takes time."""
MAX_UNKNOWN = 50
"""How many unknown fields of one object are explained one by one: guessing what was meant takes its time."""

_INT_RANGES = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}
_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)\Z", re.ASCII
)


def check(value: Any, schema: Schema, *, path: Path = (), old: Any = None) -> Iterator[Problem]:
    """Everything that is wrong with a value; `path` goes before all paths, and `old` is what an update replaces."""
    walk = _Walk(path)
    try:
        walk.value(value, schema)
    except _EnoughError:
        yield from walk.found
        what = f"the object has more than {ENOUGH} problems"
        yield Problem(rules.TOO_MUCH, path, what, "mend these first")
        return
    yield from walk.found
    said = {problem.path for problem in walk.found if problem.severity is Severity.ERROR}
    for where, law in unlawful(fill_defaults(value, schema), schema, old=fill_defaults(old, schema)):
        if (*path, *where) not in said:
            yield Problem(rules.LAW, (*path, *where), law.message, law.todo)


def refused(value: Any, schema: Schema) -> bool:
    """Whether a strict API server refuses the value."""
    return any(problem.severity is Severity.ERROR for problem in check(value, schema))


class _EnoughError(Exception):
    """There are more problems than anyone reads."""


class _Walk:
    """One walk through a value and its schema."""

    def __init__(self, path: Path) -> None:
        self.found: list[Problem] = []
        self._path: list[str | int] = list(path)
        self._frames: list[Frame] = []
        self._excused: set[Path] = set()
        """What is missing only because it stands elsewhere, which has been said already."""

    def value(self, value: Any, schema: Schema) -> None:
        """Check one value."""
        kind = schema.get("type")
        if kind == "object":
            if isinstance(value, Mapping):
                self._object(value, schema)
                return
        elif kind == "string":
            if isinstance(value, str):
                if len(schema) > 1:
                    self._text(value, schema)
                return
        elif kind == "array":
            if isinstance(value, list):
                self._list(value, schema)
                return
        elif kind in ("integer", "number"):
            if _is_number(value) and (kind == "number" or value == int(value)):
                self._number(value, schema)
                return
        elif kind == "boolean":
            if isinstance(value, bool):
                return
        elif INT_OR_STRING in schema:
            if isinstance(value, str):
                self._text(value, schema)
                return
            if _is_number(value) and value == int(value):
                return
        else:
            return
        if value is None:
            self._say(rules.NULL, f"{name_of(self._path_now)} is empty", "write a value, or remove the line")
        else:
            self._say(rules.WRONG_TYPE, *wrong_type(value, schema, self._path_now))

    @property
    def _path_now(self) -> Path:
        return tuple(self._path)

    def _add(self, problem: Problem) -> None:
        if len(self.found) == ENOUGH:
            raise _EnoughError
        self.found.append(problem)

    def _say(self, rule: Rule, what: str, todo: str = "") -> None:
        self._add(Problem(rule, self._path_now, what, todo))

    def _object(self, value: Mapping[str, Any], schema: Schema) -> None:
        properties: Mapping[str, Schema] = schema.get("properties", {})
        others: Schema | None = schema.get("additionalProperties")
        here = self._path_now
        self._frames.append(Frame(value, schema, here))
        if others is None and not schema.get(PRESERVE):
            unknown = [key for key in value if key not in properties]
            if unknown:
                problems, places = explain_unknown(unknown[:MAX_UNKNOWN], self._frames)
                for problem in problems:
                    self._add(problem)
                self._excused |= places
                if len(unknown) > MAX_UNKNOWN:
                    more = f"{len(unknown) - MAX_UNKNOWN:,} more fields here do not exist"
                    self._say(rules.UNKNOWN_FIELD, more, "mend the others first")
        required = schema.get("required", ())
        for key, item in value.items():
            child = properties.get(key, others)
            if child is None:
                continue
            if item is None:
                self._null((*here, key), child, required=key in required)
                continue
            self._path.append(key)
            self.value(item, child)
            self._path.pop()
        for key in required:
            if key not in value and "default" not in properties[key] and (*here, key) not in self._excused:
                what = f"{show(here) or 'the document'} needs the field {key}"
                self._add(Problem(rules.MISSING_FIELD, (*here, key), what, f"add {key}"))
        least = schema.get("minProperties", 0)
        if sum(item is not None for item in value.values()) < least and here not in self._excused:
            self._say(rules.WRONG_SIZE, f"{name_of(here)} has no fields", "write at least one, or remove it")
        self._frames.pop()

    def _null(self, path: Path, schema: Schema, *, required: bool) -> None:
        """An API server drops nulls from objects before it judges them."""
        if path in self._excused:
            return
        name = name_of(path)
        if required and "default" not in schema:
            todo = "write its value, or indent the lines below it if they are its content"
            self._add(Problem(rules.NULL, path, f"{name} is required, and empty here", todo))
        elif schema.get("type") in ("object", "array"):
            todo = "remove the line, or indent the lines below it if they are its content"
            self._add(Problem(rules.EMPTY_OBJECT, path, f"{name} is empty and has no effect", todo))

    def _list(self, value: list[Any], schema: Schema) -> None:
        self._size(len(value), schema, low="minItems", high="maxItems", unit="items")
        items: Schema = schema.get("items", {})
        path = self._path
        for index, item in enumerate(value):
            path.append(index)
            self.value(item, items)
            path.pop()
        if schema.get(LIST_TYPE) in ("map", "set"):
            self._unique(value, schema)

    def _unique(self, value: list[Any], schema: Schema) -> None:
        keys: list[str] = schema.get(LIST_MAP_KEYS, [])
        seen: dict[Hashable, int] = {}
        for index, item in enumerate(value):
            key = _identity(item, keys, schema.get("items", {}))
            if key is None:
                continue
            first = seen.setdefault(key, index)
            if first != index:
                called = (
                    shown(key)
                    if not isinstance(key, tuple)
                    else " and ".join(f"{name} {part}" for name, part in zip(keys, key, strict=True))
                )
                what = f"{called} is there already, as item {first} of {name_of(self._path_now)}"
                self._add(
                    Problem(rules.REPEATED_ITEM, (*self._path_now, index), what, "rename one of the two, or remove it")
                )

    def _size(self, size: int, schema: Schema, *, low: str, high: str, unit: str) -> None:
        least, most = schema.get(low), schema.get(high)
        name = name_of(self._path_now)
        if least is not None and size < least:
            what = f"{name} is empty" if size == 0 else f"{name} has {size} {unit}"
            self._say(rules.WRONG_SIZE, what, f"it needs at least {least} {unit if least != 1 else unit[:-1]}")
        if most is not None and size > most:
            self._say(rules.WRONG_SIZE, f"{name} has {size} {unit}", f"at most {most} are allowed")

    def _number(self, value: float, schema: Schema) -> None:
        low, high = _INT_RANGES.get(schema.get("format", ""), (None, None))
        low, high = schema.get("minimum", low), schema.get("maximum", high)
        if low is not None and value < low:
            self._say(
                rules.OUT_OF_RANGE, f"{value} is too small for {name_of(self._path_now)}", f"write at least {low}"
            )
        if high is not None and value > high:
            self._say(
                rules.OUT_OF_RANGE, f"{value} is too large for {name_of(self._path_now)}", f"write at most {high}"
            )
        self._enum(value, schema)

    def _text(self, value: str, schema: Schema) -> None:
        self._size(len(value), schema, low="minLength", high="maxLength", unit="characters")
        pattern = schema.get("pattern")
        if pattern and not _compiled(pattern).search(value):
            if is_quantity(schema):
                self._say(rules.WRONG_FORM, f"{shown(value)} is no quantity", wrong_quantity(value))
            else:
                self._say(
                    rules.WRONG_FORM,
                    f"{shown(value)} does not have the form of {name_of(self._path_now)}",
                    f"it must match {pattern}",
                )
        if schema.get("format") == "date-time" and not is_time(value):
            self._say(rules.WRONG_FORM, f"{shown(value)} is no time", "write it as 2030-01-31T12:00:00Z")
        self._enum(value, schema)

    def _enum(self, value: Any, schema: Schema) -> None:
        allowed = schema.get("enum")
        if allowed is not None and value not in allowed:
            self._say(
                rules.NOT_ALLOWED, f"{name_of(self._path_now)} cannot be {shown(value)}", wrong_word(value, allowed)
            )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value - value == 0


def is_time(text: str) -> bool:
    """Whether a text is a time as RFC 3339 has it."""
    found = _TIME.match(text)
    if found is None:
        return False
    try:
        datetime.fromisoformat(f"{found[1]}T{found[2]}")
    except ValueError:
        return False
    return True


def _identity(item: Any, keys: list[str], schema: Schema) -> Hashable:
    """What tells an item from the others of its list, or None where it says too little."""
    if not keys:
        return item if isinstance(item, str | int | float) else None
    if not isinstance(item, Mapping):
        return None
    properties = schema.get("properties", {})
    parts = tuple(item[key] if item.get(key) is not None else properties.get(key, {}).get("default") for key in keys)
    return parts if all(isinstance(part, str | int | float) for part in parts) else None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    # An API server's `$` is the very end of the text; Python's would also stand before a last line break.
    return re.compile(re.sub(r"(?<!\\)\$", r"\\Z", pattern), re.ASCII)
