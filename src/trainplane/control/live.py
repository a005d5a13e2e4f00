"""Live: the View that reflectors keep up to date; it stands still while a decision is taken, which never waits.

A decoded object is some ten times as large as its JSON. Where the API is in the same process and keeps that anyway, an
object that nobody has asked for in a while is let go, and decoded again when somebody does.
"""

from collections.abc import Iterable, Iterator

import orjson

from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.reconcile.view import EVENTS, Ref, View, node_of

_Refs = dict[Ref, None]
_Index = dict[str, _Refs]
HOT = 256
_NEWS = 8192
"""How many changes of a kind are told; who asks less often looks at everything."""


class _News:
    """The changes of a kind, numbered in the order in which they came."""

    __slots__ = ("first", "refs")

    def __init__(self) -> None:
        self.first = 0
        self.refs: list[Ref] = []

    def add(self, ref: Ref) -> None:
        """One more change."""
        self.refs.append(ref)
        if len(self.refs) > _NEWS:
            self.first += _NEWS // 2
            del self.refs[: _NEWS // 2]


class Live(View):
    """A View with objects that come, change and go; each costs as much as it has owners, however many there are."""

    __slots__ = (
        *("_about", "_children", "_everything", "_hot", "_kinds", "_lately"),
        *("_news", "_on_node", "_owned", "_sources", "variety"),
    )

    def __init__(self, objects: Iterable[Raw] = (), *, hot: int = HOT) -> None:
        """`hot`: how many objects are asked for before those that were not among them are let go."""
        super().__init__()
        self._hot = hot
        self._everything: dict[Ref, Raw | bytes] = {}
        """Each object, or its JSON where it was let go."""
        self._lately: dict[Ref, bytes] = {}
        """The JSON of objects that were asked for lately, and of those that were before them."""
        self._sources: dict[Ref, bytes] = {}
        self._kinds: dict[tuple[str, str], dict[str, _Refs]] = {}
        self.variety = 0
        """Grows when the first object of a kind comes, and when the last goes."""
        self._children: _Index = {}
        self._owned: _Index = {}
        self._about: _Index = {}
        self._on_node: _Index = {}
        self._news: dict[tuple[str, str], _News] = {}
        for raw in objects:
            self.put(raw)

    def __len__(self) -> int:
        """How many objects there are."""
        return len(self._everything)

    def get(self, ref: Ref) -> Raw | None:
        """The object, or None where there is none."""
        found = self._everything.get(ref)
        if isinstance(found, bytes):
            return self._decoded(ref, found)
        if ref in self._sources:
            self._ask(ref, self._sources.pop(ref))
        return found

    def has(self, ref: Ref) -> bool:
        """Whether there is such an object."""
        return ref in self._everything

    def has_any(self, group: str, kind: str) -> bool:
        """Whether there is any object of a kind."""
        return bool(self._kinds.get((group, kind)))

    def all(self, group: str, kind: str, *, namespace: str | None = None) -> Iterator[Raw]:
        """Every object of a kind, in one namespace or in all."""
        spaces = self._kinds.get((group, kind), {})
        for refs in spaces.values() if namespace is None else (spaces.get(namespace, {}),):
            for ref in refs:
                found = self._everything[ref]
                # Who walks over all of them has not asked for each.
                yield _read(found) if isinstance(found, bytes) else found

    def controlled_by(self, uid: str, kind: str = "") -> list[Raw]:
        """What the object of this uid controls, of one kind or of all."""
        refs: Iterable[Ref] = self._children.get(uid, ())
        return self._each([ref for ref in refs if ref.kind == kind] if kind else refs)

    def owned_by(self, uid: str) -> list[Raw]:
        """What names the object of this uid among its owners, its controller or not."""
        return self._each(self._owned.get(uid, ()))

    def events_about(self, uid: str) -> list[Raw]:
        """The events about the object of this uid."""
        return self._each(self._about.get(uid, ()))

    def pods_on(self, node: str) -> list[Raw]:
        """The pods that have this node, ended or not."""
        return self._each(self._on_node.get(node, ()))

    def news(self, group: str, kind: str, *, since: int) -> tuple[int, list[Ref] | None]:
        """What came, changed or went of a kind since a number, and the next number; None where that is too long ago."""
        news = self._news.setdefault((group, kind), _News())
        end = news.first + len(news.refs)
        if not news.first <= since <= end:
            return end, None
        return end, list(dict.fromkeys(news.refs[since - news.first :]))

    def put(self, raw: Raw, *, ref: Ref | None = None, source: bytes = b"") -> Raw | None:
        """Let the object be as it is here; returns what it was.

        `ref` is its Ref, where that is known already; `source` is its JSON, where somebody keeps that.
        """
        ref = ref or Ref.of(raw)
        before = self._forgotten(ref)
        self._everything[ref] = raw
        if before is None:
            spaces = self._kinds.setdefault((ref.group, ref.kind), {})
            self.variety += not spaces
            spaces.setdefault(ref.namespace, {})[ref] = None
        if before is None or _moved(before, raw):
            if before is not None:
                self._unlink(ref, before)
            for index, uid in self._links(ref, raw):
                index.setdefault(uid, {})[ref] = None
        self._tell(ref)
        if source:
            self._ask(ref, source)
        return before

    def remove(self, ref: Ref) -> Raw | None:
        """Let the object be gone; returns what it was."""
        before = self._forgotten(ref)
        if before is not None:
            del self._everything[ref]
            self._unlink(ref, before)
            self._tell(ref)
            spaces = self._kinds[ref.group, ref.kind]
            del spaces[ref.namespace][ref]
            if not spaces[ref.namespace]:
                del spaces[ref.namespace]
                self.variety += not spaces
        return before

    def refs(self, group: str, kind: str) -> list[Ref]:
        """The way to every object of a kind."""
        return [ref for objects in self._kinds.get((group, kind), {}).values() for ref in objects]

    def _each(self, refs: Iterable[Ref]) -> list[Raw]:
        return [raw for ref in refs if (raw := self.get(ref)) is not None]

    def _forgotten(self, ref: Ref) -> Raw | None:
        """The object, which is about to be another or none."""
        self._lately.pop(ref, None)
        self._sources.pop(ref, None)
        found = self._everything.get(ref)
        return _read(found) if isinstance(found, bytes) else found

    def _decoded(self, ref: Ref, source: bytes) -> Raw:
        raw = self._everything[ref] = _read(source)
        self._ask(ref, source)
        return raw

    def _ask(self, ref: Ref, source: bytes) -> None:
        """Note that an object was asked for."""
        self._lately[ref] = source
        if len(self._lately) > self._hot:
            self._everything |= self._sources
            self._lately, self._sources = {}, self._lately

    def _tell(self, ref: Ref) -> None:
        # Nobody is told of a kind that nobody has asked for yet.
        if news := self._news.get((ref.group, ref.kind)):
            news.add(ref)

    def _links(self, ref: Ref, raw: Raw) -> Iterator[tuple[_Index, str]]:
        """Under which uids an object is found, and in which index."""
        for owner in raw["metadata"].get("ownerReferences") or ():
            yield self._owned, owner["uid"]
            if owner.get("controller"):
                yield self._children, owner["uid"]
        if (ref.group, ref.kind) == EVENTS:
            yield self._about, (raw.get("regarding") or {}).get("uid", "")
        if node := node_of(ref, raw):
            yield self._on_node, node

    def _unlink(self, ref: Ref, raw: Raw) -> None:
        for index, uid in self._links(ref, raw):
            found = index.get(uid)
            if found is None:
                continue
            found.pop(ref, None)
            if not found:
                del index[uid]


def _moved(before: Raw, after: Raw) -> bool:
    """Whether an object is to be found elsewhere than it was: with other owners, on another node, about another."""
    if before["metadata"].get("ownerReferences") != after["metadata"].get("ownerReferences"):
        return True
    node = (before.get("spec") or {}).get("nodeName") != (after.get("spec") or {}).get("nodeName")
    return node or before.get("regarding") != after.get("regarding")


def trimmed(raw: Raw) -> Raw:
    """The object as a View keeps it: nobody decides by who manages which field.

    Of one that is suspended it is kept who did that: whoever waits for it will ask.
    """
    whole = raw["metadata"]
    if "managedFields" not in whole:
        return raw
    metadata = {name: value for name, value in whole.items() if name != "managedFields"}
    if look(raw, "spec", "suspend"):
        metadata["managedFields"] = [one for one in whole["managedFields"] or () if suspends(one)]
    return {**raw, "metadata": metadata}


def suspends(entry: Raw) -> bool:
    """Whether somebody wrote spec.suspend, by what the API server keeps of it."""
    return look(entry, "fieldsV1", "f:spec", "f:suspend") is not None


def _read(source: bytes) -> Raw:
    return trimmed(orjson.loads(source))
