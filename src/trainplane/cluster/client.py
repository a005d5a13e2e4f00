"""Client: the seam. Everything above it works the same against our cluster and a real one; Streams stands beside it."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol

import msgspec

from trainplane.api.kinds import Kind
from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.api.ref import Ref
from trainplane.cluster.wire import JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH


class Happened(StrEnum):
    """What a watch tells of an object."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"
    """Nothing happened up to this resourceVersion; the object holds nothing else."""


class Change(msgspec.Struct, frozen=True):
    """One event of a watch; an ERROR is raised instead, as an ApiError."""

    happened: Happened
    object: Raw
    source: bytes = b""
    """The JSON of just this object, where the API keeps it in this process anyway."""

    @property
    def resource_version(self) -> str:
        """Where to go on after this change."""
        return look(self.object, "metadata", "resourceVersion") or ""


class Page(msgspec.Struct, frozen=True):
    """A list, or the first part of one; `resource_version` is where a watch of the same goes on."""

    items: tuple[Raw, ...]
    resource_version: str
    after: str = ""
    """The token that the next page is asked for with; "" at the end."""
    sources: tuple[bytes, ...] = ()
    """The JSON of each item, where the API keeps it in this process anyway."""


class Patch(msgspec.Struct, frozen=True):
    """A change to an object in one of the forms that the API takes, apply aside."""

    form: str
    body: Any

    @classmethod
    def merge(cls, body: Raw) -> "Patch":
        """A JSON merge patch: null removes."""
        return cls(MERGE_PATCH, body)

    @classmethod
    def json(cls, operations: Sequence[Raw]) -> "Patch":
        """A JSON patch: operations, in order."""
        return cls(JSON_PATCH, list(operations))

    @classmethod
    def strategic(cls, body: Raw) -> "Patch":
        """A strategic merge patch; kinds that a CRD defines have none."""
        return cls(STRATEGIC_PATCH, body)

    @classmethod
    def status(cls, status: Raw, *, version: str = "") -> "Patch":
        """What makes this the status of an object, of one version of it where that is given."""
        operations: list[Raw] = [{"op": "add", "path": "/status", "value": status}]
        if version:
            operations.append({"op": "replace", "path": "/metadata/resourceVersion", "value": version})
        return cls.json(operations)


class Client(Protocol):
    """The verbs. Each raises an ApiError where the API refuses."""

    async def get(self, ref: Ref) -> Raw:
        """The object."""
        ...

    async def list(
        self, kind: Kind, *, namespace: str = "", labels: str = "", fields: str = "", limit: int = 0, after: str = ""
    ) -> Page:
        """The objects of a kind, in one namespace or in all."""
        ...

    def watch(
        self, kind: Kind, *, namespace: str = "", labels: str = "", fields: str = "", since: str
    ) -> AsyncIterator[Change]:
        """What happens to objects of a kind from a list's resourceVersion on; raises Expired when that is too old."""
        ...

    async def create(self, obj: Raw) -> Raw:
        """Make an object; raises AlreadyExists."""
        ...

    async def apply(self, obj: Raw, *, manager: str, uid: str = "", force: bool = False) -> Raw:
        """Own the fields of `obj`; with a uid, only on the object that has it."""
        ...

    async def patch(self, ref: Ref, patch: Patch, *, uid: str = "", subresource: str = "") -> Raw:
        """Change an object; with a uid, only the object that has it."""
        ...

    async def set_status(self, ref: Ref, status: Raw, *, uid: str = "", version: str = "") -> Raw:
        """Make this the object's status; with a uid, only on the object that has it, with a version only on that."""
        ...

    async def bind(self, pod: Ref, node: str) -> None:
        """Place a pod on a node."""
        ...

    async def delete(
        self, ref: Ref, *, uid: str = "", propagation: str = "Background", grace: int | None = None
    ) -> None:
        """Delete an object; with a uid, only the object that has it. With a grace, in seconds, other than its own."""
        ...


class Log(msgspec.Struct, frozen=True):
    """Which part of a container's output; None is where nothing was said."""

    container: str = ""
    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    tail_lines: int | None = None
    since_seconds: int | None = None
    since_time: datetime | None = None
    limit_bytes: int | None = None
    stream: str = ""
    """Stdout or Stderr alone; "" is both."""


class Channel(Protocol):
    """An open stream to a container; numbers are those of the wire.

    0 is input, 1 output, 2 errors, 3 the end: a Status in JSON, as the API writes it. 4 is sent with the size of the
    terminal, `{"Width":80,"Height":24}`. A channel to a port has 0 and 1 alone.
    """

    async def send(self, data: bytes, *, stream: int = 0) -> None:
        """Send bytes; none at all end the input."""
        ...

    async def receive(self) -> tuple[int, bytes] | None:
        """The next bytes and the stream that they came on, or None at the end."""
        ...

    async def close(self) -> None:
        """Give it up."""
        ...


class Streams(Protocol):
    """What flows to and from pods."""

    def log(self, pod: Ref, log: Log) -> AsyncIterator[bytes]:
        """A container's output."""
        ...

    async def exec(
        self, pod: Ref, command: Sequence[str], *, container: str = "", stdin: bool = False, tty: bool = False
    ) -> Channel:
        """Run a command in a container."""
        ...

    async def attach(self, pod: Ref, *, container: str = "", stdin: bool = False, tty: bool = False) -> Channel:
        """Join a container's process."""
        ...

    async def port_forward(self, pod: Ref, port: int) -> Channel:
        """Reach a port of a pod."""
        ...
