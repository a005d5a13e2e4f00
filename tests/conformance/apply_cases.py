"""Recorded server-side applies, played on the pure functions of ownership: no server, no defaults, no validation.

The object that a real server answered with is the live object of the next request, because it holds the defaults which
are not ownership's to fill in. So each request is judged by itself: what it makes of the object, and who owns it then.
"""

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from trainplane.api.kinds import KINDS, Kind, by_plural
from trainplane.api.merge import merge_patch
from trainplane.api.quantity import parse
from trainplane.api.raw import look, put
from trainplane.cluster.errors import ApiError, Internal
from trainplane.cluster.ownership import Untyped, apply, update
from trainplane.cluster.tracking import blank_of, ignored_fields, merge_schema

CASES = Path(__file__).parent / "api" / "cases"
NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
_URL = re.compile(
    r"/(?:api|apis/(?P<group>[^/]+))/(?P<version>[^/]+)(?:/namespaces/[^/]+)?/(?P<plural>[a-z]+)"
    r"(?:/(?P<name>[^/]+))?(?:/(?P<sub>[^/]+))?$"
)
_SERVERS_OWN = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "namespace")
_REFUSALS = ("failed to create typed patch object", "Apply failed with", "metadata.managedFields must be nil")


@dataclass(frozen=True, slots=True)
class Served:
    """What a path of a case stands for."""

    row: Kind
    schema: dict[str, Any]
    key: tuple[str, str]
    subresource: str


@dataclass(slots=True)
class Replay:
    """One case as it is played: what is live, what was judged, and what was wrong."""

    live: dict[tuple[str, str], Any] = field(default_factory=dict)
    judged: int = 0
    wrong: list[str] = field(default_factory=list)


def recorded() -> list[Path]:
    """The cases that have managedFields to say something about."""
    return [path for path in sorted(CASES.glob("*.yaml")) if "managed: true" in path.read_text(encoding="utf-8")]


def play(path: Path) -> Replay:
    """Play a case to its end."""
    replay = Replay()
    for number, request in enumerate(yaml.safe_load(path.read_text(encoding="utf-8"))["requests"], 1):
        served = _served(request.get("path", ""), look(request.get("body"), "metadata", "name"))
        if served is None or "expect" not in request:
            continue
        wrong = list(_play_one(replay, request, served))
        replay.wrong += [f"request {number}, {request['method']} {request['path']}: {line}" for line in wrong]
    return replay


def _play_one(replay: Replay, request: Mapping[str, Any], served: Served) -> Iterator[str]:
    expect = request["expect"]
    old = replay.live.get(served.key)
    applies = request.get("contentType", "").startswith("application/apply-patch")
    body = request.get("body")
    if request["method"] in ("GET", "DELETE") or (body is None) or (expect["code"] >= 400 and not applies):
        if expect["code"] < 300 and "only" not in request and isinstance(expect.get("body"), dict):
            _adopt(replay, request, served, expect["body"])
        return
    if served.subresource and old is None:
        return
    try:
        made = _made(old, request, served, applies=applies)
    except (ApiError, Untyped) as refused:
        replay.judged += 1
        yield from _refused(refused, expect)
        return
    if expect["code"] >= 400:
        if str(look(expect, "body", "message")).startswith(_REFUSALS):
            yield f"was made, and the server refused: {look(expect, 'body', 'message')}"
        return
    replay.judged += 1
    yield from _compare(old, made, request, served)
    if "dryRun" not in (request.get("query") or {}):
        _adopt(replay, request, served, made)


def _made(old: Any, request: Mapping[str, Any], served: Served, *, applies: bool) -> Any:
    agent = (request.get("headers") or {}).get("User-Agent", "apicases").partition("/")[0]
    query = request.get("query") or {}
    said: dict[str, Any] = {
        "manager": query.get("fieldManager", agent),
        "schema": served.schema,
        "now": NOW,
        "subresource": served.subresource,
        "ignored": ignored_fields(served.row, served.subresource),
        "blank": blank_of(served.row),
    }
    if applies:
        force = str(query.get("force", "false")).lower() not in ("false", "0", "")
        return apply(old, request["body"], force=force, **said).object
    if request.get("contentType", "").startswith("application/merge-patch"):
        new = merge_patch(old, request["body"])
    elif request.get("contentType", "").startswith("application/json-patch"):
        return old
    else:
        new = request["body"]
    answer = request["expect"].get("body")
    if "only" not in request and not served.subresource:
        # The server's defaults are owned by whoever writes an object without apply.
        sent = look(new, "metadata", "managedFields")
        new = _with_entries(answer, sent)
    return _with_entries(new, update(old, new, **said))


def _with_entries(raw: Mapping[str, Any], entries: Any) -> Any:
    metadata = {name: item for name, item in raw["metadata"].items() if name != "managedFields"}
    return {**raw, "metadata": metadata | ({} if entries is None else {"managedFields": entries})}


def _refused(refused: ApiError | Untyped, expect: Mapping[str, Any]) -> Iterator[str]:
    error = Internal(str(refused)) if isinstance(refused, Untyped) else refused
    mine, theirs = error.status(), expect["body"]
    for status in (mine, theirs):
        if look(status, "details", "causes"):
            status["details"]["causes"].sort(key=lambda cause: (cause.get("field", ""), cause.get("message", "")))
    if mine != theirs:
        yield f"refused with {mine}, and the server said {theirs}"


def _compare(old: Any, made: Any, request: Mapping[str, Any], served: Served) -> Iterator[str]:
    body = request["expect"]["body"]
    only = request.get("only")
    if only is None or "metadata.managedFields" in only:
        theirs = look(body, "metadata.managedFields") if only else look(body, "metadata", "managedFields")
        mine = look(made, "metadata", "managedFields")
        if not request.get("ordered"):
            mine, theirs = _in_order(mine), _in_order(theirs)
        mine, theirs = _timed(mine), _timed(theirs)
        if mine != theirs:
            yield f"managedFields\n{yaml.dump(mine)}and the server said\n{yaml.dump(theirs)}"
    made = _plain_secret(made) if served.row.kind == "Secret" else made
    pairs = [((), body)] if only is None else [(tuple(path.split(".")), body[path]) for path in only if path in body]
    for way, theirs in pairs:
        way = tuple(int(step) if step.isdigit() else step for step in way)
        if way[:1] in ((), ("spec",), ("data",), ("status",)) or way[:2] == ("metadata", "labels"):
            mine, before = look(made, *way), look(old, *way)
            if mine is None and (before is None or before != theirs):
                continue  # A default of the server's.
            schema = _schema_at(served.schema, way)
            yield from _unlike(mine, theirs, old=before, schema=schema, at=".".join(map(str, way)))


def _unlike(mine: Any, theirs: Any, *, old: Any, schema: dict[str, Any], at: str = "") -> Iterator[str]:
    """Where what was made is not in what the server answered, or lost what was there before."""
    if isinstance(mine, dict) and isinstance(theirs, dict):
        for name, item in mine.items():
            if at == ".metadata" and name in _SERVERS_OWN:
                continue
            child = schema.get("properties", {}).get(name) or schema.get("additionalProperties") or {}
            if item is None and child.get("type") == "string":
                item = ""
            if item in (None, {}, [], 0) and name not in theirs:
                continue
            if name == "stringData" or (name == "status" and not at and "status" not in theirs):
                continue
            yield from _unlike(item, theirs.get(name), old=look(old, name), schema=child, at=f"{at}.{name}")
        for name, item in theirs.items():
            default = schema.get("properties", {}).get(name, {}).get("default")
            kept = look(old, name) == item and item not in (None, "", {}, default)
            if name not in mine and kept and at != ".metadata":
                yield f"{at}.{name} is gone, and the server kept it"
    elif isinstance(mine, list) and isinstance(theirs, list) and "tolerations" not in at:
        if len(mine) != len(theirs):
            yield f"{at} is {mine}, and the server has {theirs}"
            return
        for index, (item, other) in enumerate(zip(mine, theirs, strict=True)):
            old_item = next((each for each in old or () if _same_name(each, other)), None)
            yield from _unlike(item, other, old=old_item, schema=schema.get("items", {}), at=f"{at}[{index}]")
    elif "tolerations" not in at and mine != theirs and not _same_quantity(mine, theirs, schema):
        yield f"{at} is {mine!r}, and the server has {theirs!r}"


def _plain_secret(made: Any) -> Any:
    """A Secret as it is stored: what stringData says is in data."""
    said = {name: b64encode(text.encode()).decode() for name, text in (made.get("stringData") or {}).items()}
    return {**made, "data": {**(made.get("data") or {}), **said}}


def _same_name(a: Any, b: Any) -> bool:
    return isinstance(a, dict) and isinstance(b, dict) and "name" in a and a.get("name") == b.get("name")


def _same_quantity(mine: Any, theirs: Any, schema: Mapping[str, Any]) -> bool:
    if "pattern" not in schema or "x-kubernetes-int-or-string" not in schema or mine is None or theirs is None:
        return False
    return parse(str(mine)) == parse(str(theirs))


def _timed(entries: Any) -> list[Any]:
    """The entries with nothing said of a time but that there is one."""
    return [{**each, "time": "<time>"} if "time" in each else each for each in entries or ()]


def _in_order(entries: Any) -> Any:
    def rank(entry: Mapping[str, Any]) -> tuple[str, ...]:
        return (entry["operation"], entry["manager"], entry.get("subresource", ""))

    return sorted(entries, key=rank) if entries else entries


def _adopt(replay: Replay, request: Mapping[str, Any], served: Served, made: Any) -> None:
    """Make the server's answer the live object; where only parts of it were recorded, the rest is ours."""
    body, only = request["expect"].get("body"), request.get("only")
    if only is None and isinstance(body, dict) and body.get("kind") == served.row.kind:
        replay.live[served.key] = body
        return
    for path in only or ():
        if path in body and not any(step == "*" for step in path.split(".")):
            way = [int(step) if step.isdigit() else step for step in path.split(".")]
            made = put(made, way, body[path])
    replay.live[served.key] = _settled(put(made, ("metadata", "uid"), "<uid>"))


def _settled(raw: Any) -> Any:
    if isinstance(raw, dict):
        return {name: _settled(item) for name, item in raw.items() if item is not None}
    return [_settled(item) for item in raw] if isinstance(raw, list) else raw


def _schema_at(schema: dict[str, Any], way: tuple[str | int, ...]) -> dict[str, Any]:
    for step in way:
        if isinstance(step, int):
            schema = schema.get("items", {})
        else:
            schema = schema.get("properties", {}).get(step) or schema.get("additionalProperties") or {}
    return schema


def _served(path: str, name: str | None) -> Served | None:
    match = _URL.match(path)
    if match is None:
        return None
    group, plural = match["group"] or "", match["plural"]
    if (group, plural) == ("apps", "deployments"):
        row = Kind("apps", "v1", "Deployment", "deployments", "", status=True)
        schema = _DEPLOYMENT
    else:
        found = by_plural(group, plural)
        if found is None:
            return None
        row, schema = found, merge_schema(found)
    if match["sub"] not in (None, "status"):
        return None
    return Served(row, schema, (plural, match["name"] or name or ""), match["sub"] or "")


_JOB = next(row for row in KINDS if row.kind == "Job")
_DEPLOYMENT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": merge_schema(_JOB)["properties"]["metadata"],
        "spec": {
            "type": "object",
            "properties": {
                "replicas": {"type": "integer"},
                "paused": {"type": "boolean"},
                "minReadySeconds": {"type": "integer"},
                "revisionHistoryLimit": {"type": "integer"},
                "selector": {"type": "object", "x-kubernetes-map-type": "atomic"},
                "strategy": {"type": "object", "properties": {"type": {"type": "string"}}},
                "template": merge_schema(_JOB)["properties"]["spec"]["properties"]["template"],
            },
        },
        "status": {"type": "object"},
    },
}
"""As much of a Deployment as the cases apply: the kind is not served here, but its template shows what others do."""
