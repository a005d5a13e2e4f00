"""Answers: objects, lists, tables and refusals as HTTP responses, in the form that was asked for."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import orjson
from aiohttp import web
from multidict import CIMultiDict

from trainplane.api.kinds import Kind
from trainplane.api.meta import Raw
from trainplane.cluster.discovery import Document
from trainplane.cluster.errors import ApiError, BadRequest, NotAcceptable
from trainplane.cluster.ground import Note
from trainplane.cluster.http.pieces import PIECE, Pieces
from trainplane.cluster.log import Stored
from trainplane.cluster.negotiation import PARTIAL, PARTIAL_LIST, TABLE, Form
from trainplane.cluster.reads import Listed
from trainplane.cluster.resources import BUILT_IN_GROUPS, resource_of
from trainplane.cluster.tables import include_problem, partial, table
from trainplane.cluster.wire import JSON, YAML

NAME = web.ResponseKey("name", str)
NOTES = web.ResponseKey("notes", list[str])
"""What an answer keeps for the audit log: the name of what it is about, and what is to be noted of it."""
_NOT_KEPT = ("Cache-Control", "no-cache, private")


def respond(
    body: Any, *, code: int = 200, form: Form, warnings: Sequence[str] = (), pretty: bool = False
) -> web.Response:
    """A response with a JSON value, or with JSON that is written already."""
    headers = CIMultiDict([_NOT_KEPT, ("Content-Type", form.media)])
    for warning in (each for each in warnings if not isinstance(each, Note)):
        headers.add("Warning", f"299 - {_quoted(warning)}")
    answer = web.Response(status=code, body=encoded(body, form.media, pretty=pretty), headers=headers)
    if notes := [str(each) for each in warnings if isinstance(each, Note)]:
        answer[NOTES] = notes
    return answer


def encoded(body: Any, media: str, *, pretty: bool = False) -> bytes | Pieces:
    """A JSON value in a media type."""
    if isinstance(body, Pieces):
        if media == JSON and not pretty and len(body) > PIECE:
            return body
        body = bytes(body)
    if isinstance(body, bytes):
        if media == JSON and not pretty:
            return body
        body = orjson.loads(body)
    if media == YAML:
        # Only here: nearly nobody asks for it.
        from trainplane.cluster.http.yaml_answers import as_yaml

        return as_yaml(body)
    return orjson.dumps(body, option=orjson.OPT_INDENT_2 if pretty else 0)


def refusal(error: ApiError, *, media: str = JSON) -> web.Response:
    """A Status that refuses, with what was to be warned of before."""
    headers = CIMultiDict([_NOT_KEPT, ("Content-Type", media)])
    for warning in error.warnings:
        headers.add("Warning", f"299 - {_quoted(warning)}")
    if error.retry_after:
        headers.add("Retry-After", str(error.retry_after))
    if error.http == 401:
        headers.add("WWW-Authenticate", "Bearer")
    return web.Response(status=error.http, body=encoded(error.status(), media), headers=headers)


def no_page() -> web.Response:
    """The answer on paths that lead nowhere."""
    return web.Response(status=404, text="404 page not found\n", content_type="text/plain", charset="utf-8")


def document(found: Document, *, matching: str = "") -> web.Response:
    """An answer that does not change, or that it has not changed."""
    headers = {"Etag": found.etag, "Vary": "Accept", "Cache-Control": "public"}
    if matching and found.etag in matching:
        return web.Response(status=304, headers=headers)
    return web.Response(body=found.body, headers={**headers, "Content-Type": found.content_type})


def object_in(raw: Raw, form: Form, *, now: datetime, include: str = "") -> Any:
    """One object in the form that was asked for."""
    if not form.kind or raw.get("kind") == "Status":
        return raw
    if form.kind == TABLE:
        if problem := include_problem(include):
            raise BadRequest(problem)
        metadata = {"resourceVersion": version} if (version := raw["metadata"].get("resourceVersion")) else {}
        return table(
            [raw],
            api_version=raw["apiVersion"],
            kind=raw["kind"],
            now=now,
            include=include,
            metadata=metadata,
            version=form.api_version,
        )
    if form.kind == PARTIAL_LIST:
        what = _go_name(raw["apiVersion"], raw["kind"])
        raise NotAcceptable(f"you requested {PARTIAL_LIST}, but the requested object is not a list ({what})")
    return partial(raw, form.api_version)


def _go_name(api_version: str, kind: str) -> str:
    """What a real server calls an object of a kind, or a list of them, within itself."""
    group = api_version.rpartition("/")[0]
    if group and group not in BUILT_IN_GROUPS:
        return f"*unstructured.Unstructured{'List' if kind.endswith('List') else ''}"
    package = "core" if group == "events.k8s.io" else group.partition(".")[0] or "core"
    return f"*{package}.{kind}"


def list_in(row: Kind, found: Listed, form: Form, *, now: datetime, include: str = "") -> Any:
    """A list in the form that was asked for; JSON as it is stored where that will do."""
    metadata: Raw = {"resourceVersion": str(found.revision)}
    if found.after:
        metadata["continue"] = found.after
    if found.remaining is not None:
        metadata["remainingItemCount"] = found.remaining
    if form.kind == TABLE:
        if problem := include_problem(include):
            raise BadRequest(problem)
        objects = [stored.object for stored in found.items]
        return table(
            objects,
            api_version=row.api_version,
            kind=row.kind,
            now=now,
            include=include,
            metadata=metadata,
            version=form.api_version,
        )
    if form.kind == PARTIAL_LIST:
        items = [partial(stored.object, form.api_version) for stored in found.items]
        return {"kind": PARTIAL_LIST, "apiVersion": form.api_version, "metadata": metadata, "items": items or None}
    if form.kind == PARTIAL:
        what = _go_name(row.api_version, row.list_kind)
        raise NotAcceptable(f"you requested {PARTIAL}, but the requested object is a list ({what})")
    if resource_of(row).custom and "continue" not in metadata:
        metadata["continue"] = ""
    return list_bytes(row, metadata, found.items)


def list_bytes(row: Kind, metadata: Raw, items: Iterable[Stored]) -> Pieces:
    """The JSON of a list; the items of built-in kinds are without their kind and apiVersion."""
    head = {"kind": row.list_kind, "apiVersion": row.api_version, "metadata": metadata}
    start = orjson.dumps(head)[:-1] + b',"items":['
    values = [stored.value for stored in items]
    if resource_of(row).custom or not values:
        return Pieces(start, values, between=b",", closing=b"]}")
    opening = orjson.dumps({"kind": row.kind, "apiVersion": row.api_version})[:-1] + b","
    return Pieces(start + b"{", [_after(value, opening) for value in values], between=b",{", closing=b"]}")


def _after(value: bytes, opening: bytes) -> bytes | memoryview:
    """An object without its kind and apiVersion, and without the brace that opens it."""
    if value.startswith(opening):
        return memoryview(value)[len(opening) :]
    raw: Mapping[str, Any] = orjson.loads(value)
    return orjson.dumps({name: item for name, item in raw.items() if name not in ("kind", "apiVersion")})[1:]


def _quoted(text: str) -> str:
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'
