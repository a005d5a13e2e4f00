"""Views: kinds that show the objects of another kind under other names; both are one object in the Store."""

from collections.abc import Callable, Iterable

import msgspec
import orjson

from trainplane.api.dialects import to_hub
from trainplane.api.field_selectors import FieldQuery, FieldTerm, parse_fields
from trainplane.api.kinds import DIALECT_KINDS, HUB_KINDS, Kind
from trainplane.api.meta import Raw
from trainplane.api.problem import Severity
from trainplane.api.selectors import SelectorError
from trainplane.cluster.causes import Cause, causes_of
from trainplane.cluster.errors import BadRequest, Invalid
from trainplane.cluster.event_causes import new_event_causes
from trainplane.cluster.log import Stored

Received = tuple[Raw, tuple[str, ...]]
"""An object in the words of the stored kind, and what to warn of."""


class View(msgspec.Struct, frozen=True):
    """One kind as another shows it."""

    row: Kind
    """The kind that is asked for."""
    stored: Kind
    """The kind that is kept."""
    show: Callable[[Raw], Raw]
    receive: Callable[[Raw], Received]
    fields: tuple[tuple[str, str], ...] = ()
    """The beginnings of fields that selectors call otherwise: as shown, and as stored."""
    unsaid: tuple[str, ...] = ()
    """Fields of the stored kind that selectors cannot name here."""
    check: Callable[[Raw, Raw | None], Iterable[Cause]] = lambda _new, _old: ()
    """What is refused where an object of a built-in kind is written by this name."""

    def shown(self, stored: Stored) -> Stored:
        """A stored object as this view shows it."""
        return Stored(stored.key, stored.revision, orjson.dumps(self.show(stored.object)), 0)

    def encoded(self, value: bytes) -> bytes:
        """The JSON of an object as this view shows it."""
        return orjson.dumps(self.show(orjson.loads(value)))

    def selector(self, text: str) -> str:
        """A field selector in the words of the stored kind; one that cannot be read is left to who reads it next.

        Raises BadRequest where it names a field that only the stored kind has.
        """
        try:
            query = parse_fields(text)
        except SelectorError:
            return text
        return str(FieldQuery(tuple(FieldTerm(self._field(t.field), t.value, t.equal) for t in query.terms)))

    def _field(self, name: str) -> str:
        for shown, stored in self.fields:
            if name == shown or name.startswith(f"{shown}."):
                return stored + name.removeprefix(shown)
        if name.partition(".")[0] in self.unsaid:
            raise BadRequest(f"field label not supported: {name}")
        return name


def views(kinds: Iterable[Kind]) -> dict[tuple[str, str], View]:
    """The views among served kinds, by group and kind."""
    hub = {row.kind: row for row in HUB_KINDS}
    found: dict[tuple[str, str], View] = {}
    rows = tuple(kinds)
    for row in rows:
        if row in DIALECT_KINDS:
            found[row.group, row.kind] = View(row, hub[row.kind], _named(row), _in_hub)
    core = next((row for row in rows if (row.group, row.kind) == ("", "Event")), None)
    new = next((row for row in rows if (row.group, row.kind) == ("events.k8s.io", "Event")), None)
    if core and new:
        found[new.group, new.kind] = View(
            new,
            core,
            _new_event(_named(new, _EVENT_NAMES)),
            _core_event,
            fields=_EVENT_FIELDS,
            unsaid=_CORE_FIELDS,
            check=new_event_causes,
        )
    return found


def _named(row: Kind, names: dict[str, str] | None = None) -> Callable[[Raw], Raw]:
    def show(raw: Raw) -> Raw:
        """The object under another apiVersion, some fields under other names."""
        turned = {names.get(name, name): item for name, item in raw.items()} if names else raw
        return {**turned, "apiVersion": row.api_version}

    return show


def _in_hub(raw: Raw) -> Received:
    """A document of a dialect in the hub's words; raises Invalid where it cannot be said in them."""
    found = to_hub(raw)
    if found.refused:
        raise Invalid.of(str(raw.get("kind")), str(raw.get("metadata", {}).get("name", "")), causes_of(found.notes))
    return found.raw, tuple(str(note) for note in found.notes if note.severity is Severity.WARNING)


_EVENT_NAMES = {
    "count": "deprecatedCount",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "involvedObject": "regarding",
    "lastTimestamp": "deprecatedLastTimestamp",
    "message": "note",
    "reportingComponent": "reportingController",
    "source": "deprecatedSource",
}
"""The fields of an Event: as the core group calls them, and as events.k8s.io does."""
_CORE_NAMES = {new: old for old, new in _EVENT_NAMES.items()}
_EVENT_FIELDS = (("regarding", "involvedObject"), ("reportingController", "reportingComponent"))


_CORE_FIELDS = ("involvedObject", "reportingComponent", "source")
_LEFT_OUT = ("reportingController", "reportingInstance")
"""What of a new Event is not shown where it is empty."""


def _new_event(named: Callable[[Raw], Raw]) -> Callable[[Raw], Raw]:
    def show(raw: Raw) -> Raw:
        """The Event as events.k8s.io has it."""
        return {name: item for name, item in named(raw).items() if item != "" or name not in _LEFT_OUT}

    return show


def _core_event(raw: Raw) -> Received:
    """The Event as it is stored; words of the core group mean nothing in one of events.k8s.io."""
    unknown = [old for old in _EVENT_NAMES if old in raw]
    raw = {name: item for name, item in raw.items() if name not in unknown} if unknown else raw
    turned = {_CORE_NAMES.get(name, name): item for name, item in raw.items()}
    return {**turned, "apiVersion": "v1"}, tuple(f'unknown field "{name}"' for name in unknown)
