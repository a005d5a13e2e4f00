"""The wire: requests of the Kubernetes API as values and as HTTP, in both directions, and watch events as lines.

Nothing here opens a socket: the server, the client and the SDK are thin shells around it.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode

import msgspec

from trainplane.api.meta import Raw
from trainplane.cluster import options as query_options
from trainplane.cluster.options import APPLY_PATCH, Options

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
PATCHES = (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH)

_METHODS = {
    "get": "GET",
    "list": "GET",
    "watch": "GET",
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
    "deletecollection": "DELETE",
}
_WITHOUT_NAME = ("list", "watch", "deletecollection")
_OF_A_NAMESPACE = ("status", "finalize")
"""What may follow namespaces/NAME and is no resource inside the namespace."""


class Request(msgspec.Struct, frozen=True):
    """What is asked of the API: a verb, what it is about, and its options.

    A namespace itself is the resource `namespaces` with a name, and in no namespace. `below` is what follows a
    subresource on the path, as with `pods/NAME/proxy/PATH`.
    """

    verb: str
    version: str
    resource: str
    group: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    below: str = ""
    options: Options = msgspec.field(default_factory=Options)
    content_type: str = ""
    """The media type of the body, without its parameters."""

    @property
    def method(self) -> str:
        """The HTTP method."""
        return _METHODS[self.verb]

    @property
    def api_version(self) -> str:
        """`group/version`, or the version alone in the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def scope(self) -> str:
        """The namespace that access is judged in; that of a namespace is itself."""
        return self.name if self.resource == "namespaces" and not self.namespace else self.namespace

    @property
    def fits(self) -> bool:
        """Whether the verb can be used on such a path: objects are made in collections and changed by name."""
        if self.verb == "create":
            return bool(self.subresource) or not self.name
        return self.verb in _METHODS and bool(self.name) != (self.verb in _WITHOUT_NAME)

    @property
    def path(self) -> str:
        """The path of the URL."""
        parts = ["apis", self.group, self.version] if self.group else ["api", self.version]
        if self.namespace:
            parts += ["namespaces", self.namespace]
        parts += [part for part in (self.resource, self.name, self.subresource) if part]
        below = "/" + quote(self.below) if self.below else ""
        return "/" + "/".join(quote(part, safe=":@+,$&='()!*;~") for part in parts) + below

    @property
    def query(self) -> query_options.Pairs:
        """The query of the URL, in pairs."""
        pairs = query_options.write(self.options)
        return (("watch", "true"), *pairs) if self.verb == "watch" else pairs

    @property
    def url(self) -> str:
        """The path and the query, as the first line of the request has them."""
        query = urlencode(self.query, quote_via=quote)
        return f"{self.path}?{query}" if query else self.path


class Plain(msgspec.Struct, frozen=True):
    """A path that is no resource: discovery, health, `/version`, `/openapi/…`, or nothing at all."""

    path: str

    @property
    def parts(self) -> tuple[str, ...]:
        """The path's parts."""
        return tuple(part for part in self.path.split("/") if part)


def parse(method: str, path: str, query: str = "", *, content_type: str = "") -> Request | Plain:
    """What an HTTP request asks for; `path` and `query` are as they came, with their escapes.

    A method that no resource has makes a request without a verb. Raises BadRequest for a number that is none.
    """
    text = unquote(path)
    parts = text.strip("/").split("/")
    found = _resource(parts)
    if found is None:
        return Plain(text)
    group, version, parts, old_watch = found
    namespace, parts = _in_namespace(parts)
    if not all(part and part not in (".", "..") for part in parts[:3]):
        return Plain(text)
    resource, name, subresource = (*parts[:3], "", "")[:3]
    pairs = parse_qsl(query, keep_blank_values=True)
    if old_watch and name:
        # The old way to watch one object.
        pairs, name = [("fieldSelector", f"metadata.name={name}"), *pairs], ""
    verb = _verb(method, pairs, name=name, watch=old_watch)
    if not name and verb in ("list", "watch", "deletecollection"):
        pairs = [pair for pair in pairs if pair[0] != "watch"]
    return Request(
        verb,
        version,
        resource,
        group=group,
        namespace=namespace,
        name=name,
        subresource=subresource,
        below="/".join(parts[3:]),
        options=query_options.read(verb, pairs),
        content_type=media_type(content_type),
    )


def _resource(parts: list[str]) -> tuple[str, str, list[str], bool] | None:
    """The group, the version, what follows, and whether it is watched in the old way; None for other paths."""
    if parts[0] == "api":
        head, rest = ["", *parts[1:2]], parts[2:]
    elif parts[0] == "apis":
        head, rest = parts[1:3], parts[3:]
        if not all(head):
            return None
    else:
        return None
    old_watch = rest[:1] == ["watch"]
    rest = rest[1:] if old_watch else rest
    if len(head) < 2 or not head[1] or not rest:
        return None
    return head[0], head[1], rest, old_watch


def _in_namespace(parts: list[str]) -> tuple[str, list[str]]:
    """The namespace that a path goes through, and what follows."""
    if parts[0] == "namespaces" and len(parts) > 2 and parts[2] not in _OF_A_NAMESPACE:
        return parts[1], parts[2:]
    return "", parts


def _verb(method: str, pairs: list[tuple[str, str]], *, name: str, watch: bool) -> str:
    match method:
        case "GET":
            if name:
                return "get"
            asked = next((query_options.truth(text) for key, text in pairs if key == "watch"), False)
            return "watch" if asked or watch else "list"
        case "POST":
            return "create"
        case "PUT":
            return "update"
        case "PATCH":
            return "patch"
        case "DELETE":
            return "delete" if name else "deletecollection"
    return ""


def media_type(header: str) -> str:
    """The media type of a Content-Type, in lower case and without parameters."""
    return header.partition(";")[0].strip().lower()


def event_line(kind: str, obj: Raw) -> bytes:
    """A watch event as the line that a client reads: ADDED, MODIFIED, DELETED, BOOKMARK or ERROR, and the object."""
    return msgspec.json.encode({"type": kind, "object": obj}) + b"\n"


@lru_cache(maxsize=512)
def event_line_of(kind: str, encoded: bytes) -> bytes:
    """The same for an object that is JSON already, so that a change is written once for all who watch."""
    return b'{"type":"%b","object":%b}\n' % (kind.encode(), encoded.strip())


class Events:
    """Watch events out of the bytes of an answer, in whatever pieces these come."""

    def __init__(self, *, limit: int = 64 * 1024 * 1024) -> None:
        self._rest = bytearray()
        self._limit = limit

    def feed(self, data: bytes) -> Iterator[tuple[str, Any]]:
        """The events that are complete now; raises ValueError where the bytes are no events."""
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._rest += line
            whole, self._rest = bytes(self._rest), bytearray()
            if whole.strip():
                yield _event(whole)
        self._rest += rest
        if len(self._rest) > self._limit:
            raise ValueError(f"a watch event has more than {self._limit} bytes")


def _event(line: bytes) -> tuple[str, Any]:
    event = msgspec.json.decode(line)
    if not isinstance(event, dict) or not isinstance(event.get("type"), str):
        raise ValueError("a line of a watch is no event: it has no type")
    return event["type"], event.get("object")
