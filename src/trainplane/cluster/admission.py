"""Admission: default, then validate, then accept, by a table that is handed in; cluster knows no room."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Protocol

import msgspec

from trainplane.api.meta import Raw
from trainplane.api.problem import Problem, Severity
from trainplane.api.ref import Ref
from trainplane.cluster.errors import Invalid

Lookup = Callable[[Ref], Raw | None]


class Default(Protocol):
    """Fills an object in."""

    def __call__(self, new: Raw, old: Raw | None, lookup: Lookup, *, now: datetime) -> Raw:
        """The object as it will be stored."""
        ...


class Validate(Protocol):
    """Judges a defaulted object."""

    def __call__(self, new: Raw, old: Raw | None, lookup: Lookup) -> Iterable[Problem]:
        """Everything that is wrong with it, and what its author should know."""
        ...


class Admission(msgspec.Struct, frozen=True):
    """What admits objects of one kind."""

    default: Default
    validate: Validate


Table = Mapping[str, Admission]
"""Admission by resource, as `Kind.resource` spells it."""


def judged(admission: Admission, new: Raw, old: Raw | None, *, lookup: Lookup, kind: str) -> tuple[str, ...]:
    """What to warn of; raises Invalid with everything that is wrong."""
    problems = list(admission.validate(new, old, lookup))
    if any(problem.severity is Severity.ERROR for problem in problems):
        raise Invalid.problems(kind, new["metadata"].get("name", ""), problems)
    return tuple(str(problem) for problem in problems if problem.severity is Severity.WARNING)
