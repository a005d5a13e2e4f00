"""Reading objects: get, list with its pages, and watch with selectors and bookmarks."""

import asyncio
import json
import posixpath
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import msgspec
import orjson

from trainplane.api.field_selectors import FieldQuery, parse_fields
from trainplane.api.kinds import Kind
from trainplane.api.meta import Raw
from trainplane.api.selectors import LabelQuery, SelectorError, parse_labels
from trainplane.cluster.bodies import json_fault
from trainplane.cluster.causes import Cause, invalid
from trainplane.cluster.errors import BadRequest, Expired, Internal, NotFound, Timeout
from trainplane.cluster.ground import Answer, Call, Ground
from trainplane.cluster.log import Change, Compacted, Stored
from trainplane.cluster.names import key_faults, value_faults
from trainplane.cluster.options import Options
from trainplane.cluster.resources import resource_of

FUTURE_WAIT = 3.0
"""How long a list waits for a revision that has not come yet."""
_METADATA = ("metadata.name", "metadata.namespace")
_EVENT_FIELDS = (
    *(f"involvedObject.{name}" for name in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion")),
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
)
_FIELDS: dict[tuple[str, str], tuple[str, ...]] = {
    ("", "Pod"): (
        *("spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork"),
        *("status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName"),
    ),
    ("", "Node"): ("spec.unschedulable",),
    ("", "Namespace"): ("status.phase",),
    ("", "Secret"): ("type",),
    ("", "Service"): ("spec.clusterIP", "spec.type"),
    ("batch", "Job"): ("status.successful",),
    ("", "Event"): _EVENT_FIELDS,
}
_OUTER_WORDS = ("or 'end of string'", "expected: identifier after ','")
_OPEN = "'('"
_NO_NUMBER = re.compile("'(.*)' is not a whole number")
_NOT_BASE64 = re.compile("[^A-Za-z0-9_-]")
_PAGES = "meta.k8s.io/v1"
_LONGEST_VERSION = 40
"""How many digits of a resourceVersion are read."""
_OWN_WORDS = (
    ("", "Pod"),
    ("", "Node"),
    ("", "Namespace"),
    ("", "Secret"),
    ("", "Service"),
    ("batch", "Job"),
    ("", "Event"),
)


class Selection(msgspec.Struct, frozen=True):
    """What a list or a watch is about."""

    labels: LabelQuery
    fields: FieldQuery

    @property
    def is_everything(self) -> bool:
        """Whether every object is meant."""
        return not self.labels.requirements and not self.fields.terms

    def matches(self, raw: Mapping[str, Any]) -> bool:
        """Whether an object is meant."""
        return self.fields.matches(raw) and self.labels.matches(raw["metadata"].get("labels") or {})


class Listed(msgspec.Struct, frozen=True):
    """A list, or a page of one."""

    items: Sequence[Stored]
    revision: int
    after: str = ""
    remaining: int | None = None


class Event(msgspec.Struct, frozen=True):
    """One event of a watch: its type and the object as JSON."""

    type: str
    encoded: bytes
    stored: Stored | None = None
    """The object whose JSON it is, where it is one that is or was stored just so."""

    @property
    def object(self) -> Raw:
        """The decoded object, shared with others who ask: it must not be changed."""
        if self.stored is not None:
            return self.stored.object
        decoded: Raw = orjson.loads(self.encoded)
        return decoded


Batch = list[Event]
"""Events that came together."""


def selection(row: Kind, options: Options) -> Selection:
    """What the selectors of a request mean for a kind; raises BadRequest."""
    try:
        labels = parse_labels(options.label_selector)
    except SelectorError as error:
        raise BadRequest(_label_words(error)) from None
    try:
        fields = parse_fields(options.field_selector)
    except SelectorError as error:
        raise BadRequest(_field_words(options.field_selector, error)) from None
    key = (row.group, row.kind)
    known = (*_METADATA, *_FIELDS.get(key, ()))
    for term in fields.terms:
        if term.field not in known:
            if key in _OWN_WORDS or resource_of(row).custom:
                raise BadRequest(
                    f'field label "{term.field}" not supported for Job'
                    if row.kind == "Job"
                    else f"field label not supported: {term.field}"
                )
            only = ", ".join(f'"{name}"' for name in _METADATA)
            raise BadRequest(f'"{term.field}" is not a known field selector: only {only}')
    return Selection(labels, fields)


def _field_words(text: str, error: SelectorError) -> str:
    if error.what.startswith("unescaped character"):
        return "invalid field selector: unescaped character in value: 61"
    if error.what.startswith("invalid escape"):
        return f"invalid field selector: {error.what}"
    return f"invalid selector: '{text}'; {error.what}"


def _label_words(error: SelectorError) -> str:
    if error.what.endswith(_OUTER_WORDS):
        return error.what
    if error.about:
        return f"unable to parse requirement: {_label_cause(*error.about)}"
    if number := _NO_NUMBER.fullmatch(error.what):
        cause = invalid("values[0]", number[1], "for 'Gt', 'Lt' operators, the value must be an integer")
        return f"unable to parse requirement: {cause}"
    words = error.what.replace(f"', expected: {_OPEN}", f"' expected: {_OPEN}")
    return f"unable to parse requirement: {words}"


def _label_cause(key: str, *values: str) -> Cause:
    """What is wrong with a label of a selector: its key, or a value of it."""
    for value in values:
        return invalid(f"values[0][{key}]", value, "; ".join(value_faults(value)))
    return invalid("<nil>", key, "; ".join(key_faults(key)))


class Reads:
    """The verbs that read."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    async def get_at(self, call: Call) -> Answer:
        """One object, not older than the options say."""
        if call.options.resource_version:
            try:
                await self._awaited(call.options)
            except BadRequest as error:
                raise Internal(error.message) from None
        return self.get(call)

    def get(self, call: Call) -> Answer:
        """One object."""
        stored = self._ground.find(call.key)
        if stored is None:
            raise NotFound.of(call.asked.resource, call.name)
        return Answer(200, stored.object, stored.value)

    async def list(self, call: Call) -> Listed:
        """The objects of a kind that are selected, or a page of them."""
        row, options, store = call.row, call.options, self._ground.store
        selected = selection(row, options)
        start, revision = "", 0
        if options.continue_:
            if options.resource_version not in ("", "0"):
                raise BadRequest("specifying resource version is not allowed when using continue")
            start, revision = _opened(options.continue_)
        elif options.resource_version:
            try:
                revision = await self._awaited(options)
            except BadRequest as error:
                raise BadRequest(f"invalid resource version: {error.message}") from None
        exact = bool(options.continue_ and revision >= 0) or options.resource_version_match == "Exact"
        # A page at a revision is of that revision, though nothing was said of how to match it.
        exact = exact or bool(options.limit > 0 and revision > 0 and not options.resource_version_match)
        try:
            found = store.list(row.resource, namespace=call.namespace, at=revision if exact and revision >= 0 else None)
        except Compacted:
            if options.continue_:
                raise Expired.page(_token(start, -1)) from None
            raise Expired.list() from None
        items = found.items
        if start:
            items = [stored for stored in items if _place(stored, call.namespace) >= start]
        if not selected.is_everything:
            items = [stored for stored in items if selected.matches(stored.object)]
        limit = options.limit
        if limit <= 0 or len(items) <= limit or options.resource_version == "0":
            return Listed(items, found.revision)
        page = items[:limit]
        remaining = len(items) - limit if selected.is_everything and revision >= 0 else None
        # The first key after the last that was given.
        following = _place(page[-1], call.namespace) + "\0"
        return Listed(page, found.revision, _token(following, found.revision), remaining)

    async def _awaited(self, options: Options) -> int:
        """The revision that a list asks for, once it is there; raises Timeout."""
        text, store = options.resource_version, self._ground.store
        if fault := _version_fault(text):
            raise BadRequest(_version_words(text, fault))
        version = int(text)
        deadline = asyncio.get_running_loop().time() + FUTURE_WAIT
        while version > store.revision:
            if asyncio.get_running_loop().time() > deadline:
                raise Timeout.future(version, store.revision)
            await asyncio.sleep(0.05)
        return version

    def watch(self, call: Call) -> AsyncIterator[Batch]:
        """What happens to the objects that are selected, in batches; raises Expired when the revision is gone."""
        options = call.options
        selected = selection(call.row, options)
        text = options.resource_version
        if text and (fault := _version_fault(text)):
            raise Internal(_version_words(text, fault))
        return self._events(call, selected, int(text or 0))

    async def _events(self, call: Call, selected: Selection, since: int) -> AsyncIterator[Batch]:
        row, options, store = call.row, call.options, self._ground.store
        if since == 0 or options.send_initial_events:
            while since > store.revision:
                await asyncio.sleep(0.05)
            found = store.list(row.resource, namespace=call.namespace)
            there = [Event("ADDED", stored.value, stored) for stored in found.items if selected.matches(stored.object)]
            since = found.revision
            if options.send_initial_events and options.allow_watch_bookmarks:
                there.append(bookmark(row, since, {"k8s.io/initial-events-end": "true"}))
            yield there
        try:
            while since > store.revision:
                # A revision that has not come yet is waited for in silence.
                await asyncio.sleep(0.05)
            watch = store.watch(row.resource, namespace=call.namespace, since=since)
            async for changes in watch:
                events = [event for change in changes if (event := happened(change, selected))]
                if events:
                    yield events
        except Compacted as gone:
            raise Expired.watch(gone.revision, store.revision) from None


def _place(stored: Stored, namespace: str) -> str:
    """The key of an object within what is listed."""
    return stored.key.name if namespace else stored.key.path


def happened(change: Change, selected: Selection) -> Event | None:
    """What a change is to somebody who watches a selection; None where it is nothing."""
    before, after = change.before, change.after
    if selected.is_everything:
        if after is None:
            return Event("DELETED", change.value)
        return Event("MODIFIED" if before else "ADDED", change.value, after)
    was = before is not None and selected.matches(before.object)
    now = after is not None and selected.matches(after.object)
    if now:
        return Event("MODIFIED" if was else "ADDED", change.value, after)
    if was and before is not None:
        # The content that matched last, under the revision at which it ceased to.
        return Event("DELETED", before.at(change.revision))
    return None


def bookmark(row: Kind, revision: int, annotations: Raw | None = None) -> Event:
    """An event that says how far a watch has come."""
    metadata: Raw = {"resourceVersion": str(revision)}
    if annotations:
        metadata["annotations"] = annotations
    obj = {"kind": row.kind, "apiVersion": row.api_version, "metadata": metadata}
    return Event("BOOKMARK", json.dumps(obj, separators=(",", ":")).encode())


def _version_fault(text: str) -> str:
    """What keeps a text from being a resourceVersion; "" where nothing does."""
    if not (text.isascii() and text.isdigit()):
        return "invalid syntax"
    return "value out of range" if len(text) > _LONGEST_VERSION or int(text) >= 2**64 else ""


def _version_words(text: str, fault: str) -> str:
    return f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": {fault}'


def _token(start: str, revision: int) -> str:
    said = {"v": _PAGES, "rv": revision, "start": start}
    return urlsafe_b64encode(json.dumps(said, separators=(",", ":")).encode()).decode().rstrip("=")


def _opened(token: str) -> tuple[str, int]:
    """The last key and the revision of a continue token; raises BadRequest."""
    try:
        said = json.loads(urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    except (ValueError, UnicodeDecodeError):
        raise _bad_token(_token_fault(token)) from None
    held = said if isinstance(said, dict) else {}
    version, revision, start = held.get("v"), held.get("rv"), held.get("start")
    if version != _PAGES:
        raise _bad_token(f"server does not recognize this encoded version {version or ''}")
    if not isinstance(revision, int) or not revision:
        raise _bad_token(f"incorrect encoded start resourceVersion (version {version})")
    if not isinstance(start, str) or not start:
        raise _bad_token(f"encoded start key empty (version {version})")
    if posixpath.normpath(f"/{start}") != f"/{start}".rstrip("/"):
        raise _bad_token(start)
    return start, revision


def _bad_token(fault: str) -> BadRequest:
    return BadRequest(f"invalid continue token: continue key is not valid: {fault}")


def _token_fault(token: str) -> str:
    if found := _NOT_BASE64.search(token):
        return f"illegal base64 data at input byte {found.start()}"
    if len(token) % 4 == 1:
        return f"illegal base64 data at input byte {len(token) - 1}"
    content = urlsafe_b64decode(token + "=" * (-len(token) % 4))
    return json_fault(content)
