"""Live: the View that reflectors keep up to date; it stands still while a decision is taken, which never waits."""

from collections.abc import Iterable, Iterator

from trainplane.api.meta import Raw
from trainplane.reconcile.view import EVENTS, Ref, View

_Index = dict[str, dict[Ref, Raw]]
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

    __slots__ = ("_about", "_children", "_everything", "_kinds", "_news", "_owned")

    def __init__(self, objects: Iterable[Raw] = ()) -> None:
        super().__init__()
        self._everything: dict[Ref, Raw] = {}
        self._kinds: dict[tuple[str, str], dict[str, dict[Ref, Raw]]] = {}
        self._children: _Index = {}
        self._owned: _Index = {}
        self._about: _Index = {}
        self._news: dict[tuple[str, str], _News] = {}
        for raw in objects:
            self.put(raw)

    def __len__(self) -> int:
        """How many objects there are."""
        return len(self._everything)

    def get(self, ref: Ref) -> Raw | None:
        """The object, or None where there is none."""
        return self._everything.get(ref)

    def all(self, group: str, kind: str, *, namespace: str | None = None) -> Iterator[Raw]:
        """Every object of a kind, in one namespace or in all."""
        spaces = self._kinds.get((group, kind), {})
        if namespace is not None:
            yield from spaces.get(namespace, {}).values()
            return
        for objects in spaces.values():
            yield from objects.values()

    def controlled_by(self, uid: str) -> list[Raw]:
        """What the object of this uid controls."""
        return list(self._children.get(uid, {}).values())

    def owned_by(self, uid: str) -> list[Raw]:
        """What names the object of this uid among its owners, its controller or not."""
        return list(self._owned.get(uid, {}).values())

    def events_about(self, uid: str) -> list[Raw]:
        """The events about the object of this uid."""
        return list(self._about.get(uid, {}).values())

    def news(self, group: str, kind: str, *, since: int) -> tuple[int, list[Ref] | None]:
        """What came, changed or went of a kind since a number, and the next number; None where that is too long ago."""
        news = self._news.setdefault((group, kind), _News())
        end = news.first + len(news.refs)
        if not news.first <= since <= end:
            return end, None
        return end, list(dict.fromkeys(news.refs[since - news.first :]))

    def put(self, raw: Raw) -> Raw | None:
        """Let the object be as it is here; returns what it was."""
        ref = Ref.of(raw)
        before = self._everything.get(ref)
        if before is not None:
            self._unlink(ref, before, unless=raw)
        self._everything[ref] = raw
        self._kinds.setdefault((ref.group, ref.kind), {}).setdefault(ref.namespace, {})[ref] = raw
        self._tell(ref)
        for index, uid in self._links(ref, raw):
            index.setdefault(uid, {})[ref] = raw
        return before

    def remove(self, ref: Ref) -> Raw | None:
        """Let the object be gone; returns what it was."""
        before = self._everything.pop(ref, None)
        if before is not None:
            self._unlink(ref, before)
            self._tell(ref)
            spaces = self._kinds[ref.group, ref.kind]
            del spaces[ref.namespace][ref]
            if not spaces[ref.namespace]:
                del spaces[ref.namespace]
        return before

    def refs(self, group: str, kind: str) -> list[Ref]:
        """The way to every object of a kind."""
        return [ref for objects in self._kinds.get((group, kind), {}).values() for ref in objects]

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

    def _unlink(self, ref: Ref, raw: Raw, *, unless: Raw | None = None) -> None:
        kept = {(id(index), uid) for index, uid in self._links(ref, unless)} if unless else set()
        for index, uid in self._links(ref, raw):
            found = index.get(uid)
            if found is None or (id(index), uid) in kept:
                continue
            found.pop(ref, None)
            if not found:
                del index[uid]
