"""Failure: what went wrong when a Decision was carried out, and what that calls for."""

from typing import NamedTuple

from trainplane.cluster.errors import (
    ApiError,
    Conflict,
    Gone,
    Internal,
    NotFound,
    Timeout,
    TooManyRequests,
    Unauthorized,
    Unavailable,
)
from trainplane.reconcile.decision import Apply, Bind, Create, Delete, Patch, SetStatus

_LATER = (Conflict, Gone, Internal, Timeout, TooManyRequests, Unauthorized, Unavailable)
"""What a second try may cure: the View was old, or the API is busy or away."""
_REASONS: dict[type, tuple[str, str]] = {
    Create: ("FailedCreate", "Error creating"),
    Apply: ("FailedUpdate", "Error updating"),
    Patch: ("FailedUpdate", "Error updating"),
    SetStatus: ("FailedUpdate", "Error updating"),
    Delete: ("FailedDelete", "Error deleting"),
    Bind: ("FailedBinding", "Error binding"),
}


class Failure(NamedTuple):
    """What went wrong; a refusal will not pass by itself, and so is told in an Event."""

    error: Exception
    is_refusal: bool
    reason: str
    note: str

    @property
    def retry_after(self) -> float:
        """After how many seconds the API wants to be asked again; 0 where it says nothing of it."""
        return self.error.retry_after if isinstance(self.error, ApiError) else 0.0

    @property
    def name(self) -> str:
        """The error in a word."""
        return (self.error.why if isinstance(self.error, ApiError) else "") or type(self.error).__name__


def failure(action: Apply | Bind | Create | Delete | Patch | SetStatus, error: ApiError | OSError) -> Failure:
    """What an error means for an action."""
    reason, words = _REASONS[type(action)]
    if isinstance(action, Create | Apply) and action.complaint:
        reason = action.complaint
    # A new object that is not found lacks its namespace or its kind; any other was deleted since the View was made.
    passes = not isinstance(error, ApiError) or isinstance(error, _LATER)
    passes = passes or (isinstance(error, NotFound) and not isinstance(action, Create))
    return Failure(error, not passes, reason, f"{words}: {error}")
