"""ApiError: what the API answers when it refuses, as an exception here and as a Status on the wire, both ways."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from trainplane.api.meta import Raw
from trainplane.api.problem import Problem
from trainplane.cluster.causes import Cause, causes_of

STALE = "the object has been modified; please apply your changes to the latest version and try again"
BODY_TYPES = ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf")


class ApiError(Exception):
    """A refusal, with all that its Status says."""

    code: ClassVar[int] = 500
    reason: ClassVar[str] = ""

    def __init__(
        self,
        message: str,
        *,
        details: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
        code: int = 0,
        reason: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.details = None if details is None else dict(details)
        self.metadata = dict(metadata or {})
        self.http = code or self.code
        """The code of the answer: the kind of error's own, unless a webhook chose another."""
        self.why = self.reason if reason is None else reason
        self.warnings: tuple[str, ...] = ()
        """What a client is told beside the refusal."""

    def status(self) -> Raw:
        """The Status that tells a client of it."""
        status: Raw = {"kind": "Status", "apiVersion": "v1", "metadata": self.metadata, "status": "Failure"}
        if self.message:
            status["message"] = self.message
        if self.why:
            status["reason"] = self.why
        if self.details is not None:
            status["details"] = self.details
        return {**status, "code": self.http}

    @property
    def causes(self) -> list[Cause]:
        """What is wrong, field by field, where the error says so."""
        return [Cause.read(raw) for raw in (self.details or {}).get("causes") or () if isinstance(raw, Mapping)]

    @property
    def retry_after(self) -> int:
        """After how many seconds to ask again; 0 where nothing is said of it."""
        seconds = (self.details or {}).get("retryAfterSeconds")
        return seconds if isinstance(seconds, int) else 0


class BadRequest(ApiError):
    """The request cannot be understood."""

    code = 400
    reason = "BadRequest"


class Unauthorized(ApiError):
    """Nobody knows who is asking."""

    code = 401
    reason = "Unauthorized"

    def __init__(self, message: str = "Unauthorized", **said: Any) -> None:
        super().__init__(message, **said)


class Forbidden(ApiError):
    """Whoever asks may not do this, or nobody may."""

    code = 403
    reason = "Forbidden"

    @classmethod
    def of(cls, resource: str, name: str, why: str, *, causes: Iterable[Cause] = ()) -> "Forbidden":
        """`pods "p" is forbidden: WHY`; without a name where a collection is meant."""
        quoted = f' "{name}"' if name else ""
        return cls(f"{resource}{quoted} is forbidden: {why}", details=_about(resource, name, causes))

    @classmethod
    def path(cls, user: str, verb: str, path: str) -> "Forbidden":
        """A path that is no resource is not for this user."""
        return cls(f'forbidden: User "{user}" cannot {verb} path "{path}"', details={})


class NotFound(ApiError):
    """There is no such object, or no such resource."""

    code = 404
    reason = "NotFound"

    @classmethod
    def of(cls, resource: str, name: str) -> "NotFound":
        """`jobsets.jobset.x-k8s.io "a" not found`."""
        return cls(f'{resource} "{name}" not found', details=_about(resource, name))

    @classmethod
    def resource(cls) -> "NotFound":
        """A resource that is not served by a group version that is."""
        return cls("the server could not find the requested resource", details={})


class MethodNotAllowed(ApiError):
    """The resource has not that verb."""

    code = 405
    reason = "MethodNotAllowed"

    def __init__(self, message: str = "", **said: Any) -> None:
        super().__init__(
            message or "the server does not allow this method on the requested resource", **{"details": {}, **said}
        )


class NotAcceptable(ApiError):
    """The answer cannot be had in the form that is asked for."""

    code = 406
    reason = "NotAcceptable"

    @classmethod
    def media(cls, available: Iterable[str] = BODY_TYPES) -> "NotAcceptable":
        """None of the media types in Accept is available."""
        return cls(f"406: Not Acceptable\n\nAvailable representations: {', '.join(available)}", details={})

    @classmethod
    def form(cls, available: Iterable[str] = BODY_TYPES) -> "NotAcceptable":
        """The media type is available, but not as what it is asked for."""
        return cls(f"only the following media types are accepted: {', '.join(available)}")


class Conflict(ApiError):
    """The object is not what the request takes it for."""

    code = 409
    reason = "Conflict"

    @classmethod
    def of(cls, resource: str, name: str, why: str = STALE) -> "Conflict":
        """`Operation cannot be fulfilled on configmaps "a": WHY`."""
        return cls(f'Operation cannot be fulfilled on {resource} "{name}": {why}', details=_about(resource, name))


class ApplyConflict(Conflict):
    """An apply that would change what others own; `conflicts` has each manager, in words, and its fields."""

    def __init__(self, conflicts: Sequence[tuple[str, Sequence[str]]], **said: Any) -> None:
        self.conflicts = tuple((who, tuple(fields)) for who, fields in conflicts)
        causes = [
            Cause("FieldManagerConflict", field, f"conflict with {who}")
            for who, fields in self.conflicts
            for field in fields
        ]
        details = {"causes": [cause.raw() for cause in causes]}
        super().__init__(_conflict_words(self.conflicts), **{"details": details, **said})


class AlreadyExists(ApiError):
    """The name is taken."""

    code = 409
    reason = "AlreadyExists"

    @classmethod
    def of(cls, resource: str, name: str, *, deleting: bool = False) -> "AlreadyExists":
        """`configmaps "a" already exists`."""
        opening = "object is being deleted: " if deleting else ""
        return cls(f'{opening}{resource} "{name}" already exists', details=_about(resource, name))


class Gone(ApiError):
    """What was there is no longer kept."""

    code = 410
    reason = "Gone"


class Expired(Gone):
    """The state that is asked for is no longer kept: list again."""

    reason = "Expired"

    @classmethod
    def watch(cls, version: int, oldest: int) -> "Expired":
        """A watch from before what is kept."""
        return cls(f"too old resource version: {version} ({oldest})")

    @classmethod
    def list(cls) -> "Expired":
        """A list of a state that is no longer kept."""
        return cls("The resourceVersion for the provided list is too old.")

    @classmethod
    def page(cls, token: str) -> "Expired":
        """A later page of a list that is no longer kept; `token` goes on with the newest state instead."""
        return cls(
            "The provided continue parameter is too old to display a consistent list result. You can start a new list "
            "without the continue parameter, or use the continue token in this response to retrieve the remainder of "
            "the results. Continuing with the provided token results in an inconsistent list - objects that were "
            "created, modified, or deleted between the time the first chunk was returned and now may show up in the "
            "list.",
            metadata={"continue": token},
        )


class TooLarge(ApiError):
    """The request has more bytes than are read."""

    code = 413
    reason = "RequestEntityTooLarge"

    @classmethod
    def limit(cls, limit: int) -> "TooLarge":
        """More than `limit` bytes."""
        return cls(f"Request entity too large: limit is {limit}")


class UnsupportedMediaType(ApiError):
    """The body is in a form that is not read here."""

    code = 415
    reason = "UnsupportedMediaType"

    @classmethod
    def body(cls, accepted: Iterable[str] = BODY_TYPES) -> "UnsupportedMediaType":
        """The media types that would be read."""
        return cls(
            "the body of the request was in an unknown format - accepted media types include: " + ", ".join(accepted)
        )

    @classmethod
    def patch(cls) -> "UnsupportedMediaType":
        """A patch of a built-in kind in no known form."""
        return cls("415: Unsupported Media Type", details={})


class Invalid(ApiError):
    """The object is well-formed and cannot be; the causes say why, all at once."""

    code = 422
    reason = "Invalid"

    @classmethod
    def of(cls, kind: str, name: str, causes: Iterable[Cause]) -> "Invalid":
        """`Job.batch "j" is invalid: CAUSE`, or `[CAUSE, CAUSE]`; `kind` is qualified by its group."""
        causes = list(causes)
        # A cause that is found twice is told once, though the details keep both.
        words = list(dict.fromkeys(str(cause) for cause in causes))
        told = words[0] if len(words) == 1 else f"[{', '.join(words)}]" if words else ""
        why = f": {told}" if told else ""
        return cls(f'{kind} "{name}" is invalid{why}', details=_about(kind, name, causes))

    @classmethod
    def problems(cls, kind: str, name: str, problems: Iterable[Problem]) -> "Invalid":
        """The object has these problems."""
        return cls.of(kind, name, causes_of(problems))

    @classmethod
    def options(cls, kind: str, causes: Iterable[Cause]) -> "Invalid":
        """The options of a request are wrong; `kind` is PatchOptions and the like."""
        return cls.of(f"{kind}.meta.k8s.io", "", causes)

    @classmethod
    def patch(cls) -> "Invalid":
        """A JSON patch that does not fit the object; the API server says no more than this."""
        return cls("the server rejected our request due to an error in our request", details={})


class TooManyRequests(ApiError):
    """Not now."""

    code = 429
    reason = "TooManyRequests"


class Internal(ApiError):
    """The request failed for a reason that is not the client's."""


class InternalError(Internal):
    """The same with the reason spelt out, as some parts of the API server do."""

    reason = "InternalError"


class Unavailable(ApiError):
    """The server, or something that it needs, is not there now."""

    code = 503
    reason = "ServiceUnavailable"


class Timeout(ApiError):
    """It took too long."""

    code = 504
    reason = "Timeout"

    @classmethod
    def future(cls, version: int, current: int) -> "Timeout":
        """A list of a state that has not come yet."""
        words = "Too large resource version"
        causes = [{"reason": "ResourceVersionTooLarge", "message": words}]
        details = {"causes": causes, "retryAfterSeconds": 1}
        return cls(f"Timeout: {words}: {version}, current: {current}", details=details)


def success(resource: str, name: str, uid: str) -> Raw:
    """The Status of a delete that is done."""
    details = {**_about(resource, name), "uid": uid}
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def created() -> Raw:
    """The Status of a binding or an eviction that is done."""
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def _about(resource: str, name: str, causes: Iterable[Cause] = ()) -> Raw:
    """The details of an error about an object; a plural or a kind is followed by its group after a dot."""
    kind, _, group = resource.partition(".")
    about: Raw = {"name": name, "group": group, "kind": kind, "causes": [cause.raw() for cause in causes]}
    return {key: value for key, value in about.items() if value}


def _conflict_words(conflicts: Sequence[tuple[str, Sequence[str]]]) -> str:
    count = sum(len(fields) for _, fields in conflicts)
    if count == 1:
        who, fields = next(row for row in conflicts if row[1])
        return f"Apply failed with 1 conflict: conflict with {who}: {fields[0]}"
    lines = [line for who, fields in conflicts for line in (f"conflicts with {who}:", *(f"- {f}" for f in fields))]
    return f"Apply failed with {count} conflicts: " + "\n".join(lines)
