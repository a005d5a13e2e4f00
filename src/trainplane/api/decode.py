"""JSON bytes to a typed object, judged at speed as a strict API server judges; `check` explains what is refused."""

from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from trainplane.api import rules
from trainplane.api.check import check, refused
from trainplane.api.compiled import filler, lawful
from trainplane.api.documents import parse
from trainplane.api.meta import Wire, read
from trainplane.api.problem import Problem, Severity
from trainplane.api.scalars import whole
from trainplane.api.schema import openapi, strict_json_schema
from trainplane.api.structural import fill_defaults

if TYPE_CHECKING:
    import jsonschema_rs

FIRST = 16
"""How many values of a type are judged as `check` judges them: a validator is faster, and takes as long to build."""
T = TypeVar("T", bound=Wire)
_judged: Counter[type[Wire]] = Counter()


class InvalidError(Exception):
    """The object is refused; `problems` says everything that is wrong with it."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("; ".join(map(str, problems)))
        self.problems = tuple(problems)


def decode(data: bytes, type_: type[T]) -> T:
    """Read a JSON object; raises InvalidError with every problem where a strict API server would refuse it."""
    try:
        raw = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        raise InvalidError(_unreadable(data)) from None
    if not acceptable(raw, type_, nulls=b"null" in data):
        raise InvalidError([problem for problem in check(raw, openapi(type_)) if problem.severity is Severity.ERROR])
    return _typed(raw, type_)


def acceptable(raw: Any, type_: type[Wire], *, nulls: bool = True) -> bool:
    """Whether a strict API server would take a JSON value; `nulls=False` promises that there is no null in it."""
    _judged[type_] += 1
    return accepted(raw, type_, nulls=nulls) if _judged[type_] > FIRST else not refused(raw, openapi(type_))


def accepted(raw: Any, type_: type[Wire], *, nulls: bool = True) -> bool:
    """The same by a validator, however few were judged before."""
    if nulls:
        raw = fill_defaults(raw, openapi(type_))
    return _validator(type_).is_valid(raw) and lawful(type_)(filler(type_)(raw))


@cache
def _validator(type_: type[Wire]) -> "jsonschema_rs.Draft202012Validator":
    # Only here: a cluster starts without it.
    import jsonschema_rs

    return jsonschema_rs.Draft202012Validator(strict_json_schema(type_), validate_formats=True)


def _typed(raw: Any, type_: type[T]) -> T:
    try:
        return read(raw, type_)
    except msgspec.ValidationError:
        pass
    try:
        # To an API server 2.0 is an integer.
        return read(_whole_numbers(raw), type_)
    except msgspec.ValidationError as error:
        raise InvalidError([Problem(rules.WRONG_TYPE, (), str(error))]) from None


def _whole_numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _whole_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole_numbers(item) for item in value]
    return whole(value) if isinstance(value, float) else value


def _unreadable(data: bytes) -> list[Problem]:
    problems = [located.problem for located in parse(data).problems if located.severity is Severity.ERROR]
    return problems or [Problem(rules.SYNTAX, (), "the text is not JSON", "send one JSON object")]
