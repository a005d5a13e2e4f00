"""Causes: what is wrong with one field, in the words and with the reasons of the Kubernetes API."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from trainplane.api import rules
from trainplane.api.meta import Raw
from trainplane.api.problem import Problem, Severity

INVALID = "FieldValueInvalid"
REQUIRED = "FieldValueRequired"
DUPLICATE = "FieldValueDuplicate"
NOT_SUPPORTED = "FieldValueNotSupported"
FORBIDDEN = "FieldValueForbidden"
TOO_LONG = "FieldValueTooLong"
TOO_MANY = "FieldValueTooMany"
NOT_FOUND = "FieldValueNotFound"
TYPE_INVALID = "FieldValueTypeInvalid"

_REASONS = {
    rules.MISSING_FIELD: REQUIRED,
    rules.REPEATED_ITEM: DUPLICATE,
    rules.NOT_ALLOWED: NOT_SUPPORTED,
    rules.WRONG_TYPE: TYPE_INVALID,
}


class Cause(msgspec.Struct, frozen=True):
    """One reason for a refusal, at one field; the message begins with what is the matter: `Required value: …`."""

    reason: str
    field: str
    message: str

    def __str__(self) -> str:
        """Where and what, as the message of a Status has it."""
        return f"{self.field}: {self.message}"

    def raw(self) -> Raw:
        """The cause as a Status holds it."""
        found = {"reason": self.reason, "message": self.message, "field": self.field}
        return {name: text for name, text in found.items() if text}

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> "Cause":
        """The cause that a Status holds."""
        return cls(raw.get("reason") or "", raw.get("field") or "", raw.get("message") or "")


def invalid(field: str, value: Any, detail: str) -> Cause:
    """The value is not one that the field can have."""
    return Cause(INVALID, field, _said("Invalid value", shown(value), detail))


def wrong_type(field: str, value: Any, detail: str) -> Cause:
    """The value is of another type than the field."""
    return Cause(TYPE_INVALID, field, _said("Invalid value", shown(value), detail))


def unlawful(field: str, detail: str) -> Cause:
    """A rule of the schema is broken; such causes do not show the value."""
    return Cause(INVALID, field, _said("Invalid value", detail))


def required(field: str, detail: str = "") -> Cause:
    """The field must have a value."""
    return Cause(REQUIRED, field, _said("Required value", detail))


def duplicate(field: str, value: Any) -> Cause:
    """Another item has that value already."""
    return Cause(DUPLICATE, field, _said("Duplicate value", shown(value)))


def not_found(field: str, value: Any) -> Cause:
    """What the value names is not there."""
    return Cause(NOT_FOUND, field, _said("Not found", shown(value)))


def not_supported(field: str, value: Any, supported: Iterable[str]) -> Cause:
    """The value is not one of the few that the field knows."""
    words = ", ".join(shown(word) for word in supported)
    return Cause(NOT_SUPPORTED, field, _said("Unsupported value", shown(value), f"supported values: {words}"))


def forbidden(field: str, detail: str) -> Cause:
    """The field may not be set, or not be changed."""
    return Cause(FORBIDDEN, field, _said("Forbidden", detail))


def too_long(field: str, limit: int) -> Cause:
    """The value has more bytes than the field can have."""
    return Cause(TOO_LONG, field, f"Too long: may not be more than {limit} bytes")


def too_many(field: str, actual: int, limit: int) -> Cause:
    """The list has more items than it can have."""
    items = "item" if limit == 1 else "items"
    return Cause(TOO_MANY, field, f"Too many: {actual}: must have at most {limit} {items}")


def cause_of(problem: Problem) -> Cause:
    """A Problem as a cause: what is wrong and what to do, at its field."""
    reason = _REASONS.get(problem.rule, INVALID)
    words = "; ".join(filter(None, (problem.what, problem.todo)))
    return Cause(reason, problem.field or "<nil>", f"{_OPENINGS[reason]}: {words}")


def causes_of(problems: Iterable[Problem]) -> list[Cause]:
    """The causes of the problems that refuse an object; warnings and information are no causes."""
    return [cause_of(problem) for problem in problems if problem.severity is Severity.ERROR]


def shown(value: Any) -> str:
    """A value as causes show it: JSON on one line."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _said(*parts: str) -> str:
    return ": ".join(filter(None, parts))


_OPENINGS = {
    INVALID: "Invalid value",
    TYPE_INVALID: "Invalid value",
    REQUIRED: "Required value",
    DUPLICATE: "Duplicate value",
    NOT_SUPPORTED: "Unsupported value",
}
