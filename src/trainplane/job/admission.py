"""Admission of Jobs, in the form in which the embedded API and the webhook ask every room."""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TypeAlias

from trainplane.api.batch import Job
from trainplane.api.check import check
from trainplane.api.decode import acceptable
from trainplane.api.meta import Raw
from trainplane.api.problem import Problem, Severity
from trainplane.api.schema import openapi
from trainplane.job import default as defaults
from trainplane.job import validate as checks
from trainplane.reconcile.view import Ref

Lookup: TypeAlias = Callable[[Ref], Raw | None]


def default(new: Raw, old: Raw | None, lookup: Lookup, *, now: datetime) -> Raw:  # noqa: ARG001 - the form of all rooms
    """The Job as it will be stored."""
    return defaults.default(new, old)


def validate(new: Raw, old: Raw | None, lookup: Lookup) -> Iterator[Problem]:  # noqa: ARG001 - the form of all rooms
    """Everything that is wrong with a defaulted Job; what has the wrong shape is told in the schema's words."""
    if not acceptable(new, Job):
        yield from (p for p in check(new, openapi(Job)) if p.severity is Severity.ERROR)
    yield from checks.validate(new, old)
