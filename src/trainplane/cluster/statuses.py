"""Statuses read back: the ApiError that another server's answer tells of."""

from collections.abc import Mapping
from typing import Any

from trainplane.api.raw import as_object
from trainplane.cluster.errors import (
    AlreadyExists,
    ApiError,
    ApplyConflict,
    BadRequest,
    Conflict,
    Expired,
    Forbidden,
    Gone,
    Internal,
    InternalError,
    Invalid,
    MethodNotAllowed,
    NotAcceptable,
    NotFound,
    Timeout,
    TooLarge,
    TooManyRequests,
    Unauthorized,
    Unavailable,
    UnsupportedMediaType,
)

_BY_REASON: dict[str, type[ApiError]] = {
    kind.reason: kind
    for kind in (
        BadRequest,
        Unauthorized,
        Forbidden,
        NotFound,
        MethodNotAllowed,
        NotAcceptable,
        Conflict,
        AlreadyExists,
        Gone,
        Expired,
        TooLarge,
        UnsupportedMediaType,
        Invalid,
        TooManyRequests,
        InternalError,
        Unavailable,
        Timeout,
    )
}
_BY_CODE: dict[int, type[ApiError]] = {
    kind.code: kind for kind in _BY_REASON.values() if kind not in (AlreadyExists, Gone, InternalError)
}


def read(status: Mapping[str, Any], *, code: int = 0) -> ApiError:
    """The error that a Status tells of; its reason decides what it is, and its code where it has none."""
    reason, details = status.get("reason") or "", status.get("details")
    code = status.get("code") or code or 500
    said: dict[str, Any] = {
        "details": details if isinstance(details, Mapping) else None,
        "metadata": as_object(status.get("metadata")),
        "code": code,
        "reason": reason,
    }
    message = status.get("message") or ""
    kind = _BY_REASON.get(reason) or (_BY_CODE.get(code, Internal) if not reason else Internal)
    if kind is Conflict and (conflicts := _conflicts(details)):
        error = ApplyConflict(conflicts, **said)
        error.message, error.args = message, (message,)
        return error
    return kind(message, **said)


def read_text(text: str, *, code: int) -> ApiError:
    """The error of an answer that is no Status, such as `404 page not found`."""
    return _BY_CODE.get(code, Internal)(text.strip(), code=code, reason="")


def _conflicts(details: Any) -> list[tuple[str, list[str]]]:
    """The managers and fields of an apply's conflict."""
    found: dict[str, list[str]] = {}
    for cause in as_object(details).get("causes") or ():
        if as_object(cause).get("reason") == "FieldManagerConflict":
            who = str(cause.get("message", "")).removeprefix("conflict with ")
            found.setdefault(who, []).append(str(cause.get("field", "")))
    return list(found.items())
