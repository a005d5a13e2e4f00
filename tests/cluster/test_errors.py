"""Errors are what a real API server's Status says, and come back from one as what they were."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.conformance.apply_cases import CASES
from trainplane.api import rules
from trainplane.api.problem import Problem
from trainplane.cluster import causes, errors
from trainplane.cluster.causes import Cause
from trainplane.cluster.errors import (
    AlreadyExists,
    ApiError,
    ApplyConflict,
    Conflict,
    Expired,
    Forbidden,
    Internal,
    Invalid,
    NotFound,
)
from trainplane.cluster.statuses import read, read_text


def _failures(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if value.get("kind") == "Status" and value.get("status") == "Failure" and "code" in value:
            yield value
        for item in value.values():
            yield from _failures(item)
    elif isinstance(value, list):
        for item in value:
            yield from _failures(item)


RECORDED = [
    pytest.param(status, id=f"{path.stem}-{number}")
    for path in sorted(CASES.glob("*.yaml"))
    for number, status in enumerate(_failures(yaml.safe_load(path.read_text(encoding="utf-8"))))
]
KINDS = {
    "BadRequest": errors.BadRequest,
    "Unauthorized": errors.Unauthorized,
    "Forbidden": errors.Forbidden,
    "NotFound": errors.NotFound,
    "MethodNotAllowed": errors.MethodNotAllowed,
    "NotAcceptable": errors.NotAcceptable,
    "Conflict": errors.Conflict,
    "AlreadyExists": errors.AlreadyExists,
    "Expired": errors.Expired,
    "RequestEntityTooLarge": errors.TooLarge,
    "UnsupportedMediaType": errors.UnsupportedMediaType,
    "Invalid": errors.Invalid,
    "Timeout": errors.Timeout,
}


@pytest.mark.parametrize("status", RECORDED)
def test_a_recorded_status_is_read_and_written(status: dict[str, Any]) -> None:
    error = read(status)
    assert error.status() == status
    if "reason" in status:
        assert isinstance(error, KINDS[status["reason"]])
    assert str(error) == status.get("message", "")


@pytest.mark.parametrize("status", RECORDED)
def test_a_recorded_status_is_made(status: dict[str, Any]) -> None:
    """Errors about an object are put together from its kind and name as the real server does."""
    details = status.get("details") or {}
    about = ".".join(filter(None, (details.get("kind", ""), details.get("group", ""))))
    # A webhook's refusal has an opening of its own.
    message = re.sub(r'^admission webhook "[^"]*" denied the request: ', "", status.get("message", ""))
    name, status = details.get("name", ""), {**status, "message": message}
    match status.get("reason"):
        case "NotFound" if details:
            made: ApiError = NotFound.of(about, name)
        case "NotFound":
            made = NotFound.resource()
        case "AlreadyExists":
            made = AlreadyExists.of(about, name, deleting=message.startswith("object is being deleted"))
        case "Conflict" if name:
            made = Conflict.of(about, name, message.partition('": ')[2])
        case "Forbidden" if details:
            found = [Cause.read(cause) for cause in details.get("causes", ())]
            made = Forbidden.of(about, name, message.partition(" is forbidden: ")[2], causes=found)
        case "Invalid" if details.get("causes"):
            # A group without a kind is the API server's own slip.
            about = about if "kind" in details or not about else f".{about}"
            made = Invalid.of(about, name, [Cause.read(cause) for cause in details["causes"]])
        case _:
            return
    mine = made.status()
    if "[" in message:
        # Causes are recorded in sorted order, which the message may not be in.
        mine["message"], status = "".join(sorted(mine["message"])), {**status, "message": "".join(sorted(message))}
    assert mine == status


def test_conflicts_name_managers_and_fields() -> None:
    one = ApplyConflict([('"m1" using v1', [".data.k"])])
    assert one.message == 'Apply failed with 1 conflict: conflict with "m1" using v1: .data.k'
    two = ApplyConflict([('"m1"', [".data.k", ".data.l"]), ('"m3"', [".data.n"])])
    assert two.message == (
        'Apply failed with 3 conflicts: conflicts with "m1":\n- .data.k\n- .data.l\nconflicts with "m3":\n- .data.n'
    )
    again = read(two.status())
    assert isinstance(again, ApplyConflict)
    assert again.conflicts == two.conflicts
    assert again.status() == two.status()


def test_the_reason_decides_and_the_code_where_there_is_none() -> None:
    assert type(read({"reason": "Expired", "code": 410})) is Expired
    assert type(read({"code": 404})) is NotFound
    assert type(read({"code": 409})) is Conflict
    assert type(read({"code": 500, "message": "boom"})) is Internal
    assert type(read({"reason": "Unheard", "code": 404})) is Internal
    assert type(read_text("404 page not found\n", code=404)) is NotFound
    assert str(read_text("404 page not found\n", code=404)) == "404 page not found"


def test_an_expired_page_goes_on_with_its_token() -> None:
    assert Expired.page("abc").status()["metadata"] == {"continue": "abc"}


def test_nothing_in_a_status_is_trusted() -> None:
    odd: dict[str, Any]
    for odd in ({}, {"details": []}, {"details": {"causes": [1]}, "reason": "Conflict"}, {"metadata": None, "code": 1}):
        error = read(odd)
        assert error.causes == []
        assert error.retry_after == 0


def test_problems_are_causes_and_warnings_are_not() -> None:
    missing = Problem(rules.MISSING_FIELD, ("spec", "runtimeRef"), "runtimeRef is missing", "name a runtime")
    warning = Problem(rules.READ_OTHERWISE, ("data",), "on is read as true")
    error = Invalid.problems("TrainJob.trainer.kubeflow.org", "t", [missing, warning])
    assert error.message == (
        'TrainJob.trainer.kubeflow.org "t" is invalid: '
        "spec.runtimeRef: Required value: runtimeRef is missing; name a runtime"
    )
    assert [cause.reason for cause in error.causes] == [causes.REQUIRED]


def test_causes_speak_as_the_api_does() -> None:
    assert causes.invalid("a", -1, "must be 0 or more").message == "Invalid value: -1: must be 0 or more"
    assert causes.required("a").message == "Required value"
    assert causes.duplicate("a", {"name": "a"}).message == 'Duplicate value: {"name":"a"}'
    assert causes.not_supported("a", "X", ("A", "B")).message == 'Unsupported value: "X": supported values: "A", "B"'
    assert causes.too_many("a", 3, 1).message == "Too many: 3: must have at most 1 item"
    assert causes.not_found("a", "none").message == 'Not found: "none"'
    assert causes.unlawful("a", "field is immutable").message == "Invalid value: field is immutable"
