"""Unseen: what was written for a key and has not come back by a watch; until then the View is too old to decide on."""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from trainplane.api.raw import look
from trainplane.control.live import Live
from trainplane.control.waking import Sort
from trainplane.reconcile.view import Ref

Key: TypeAlias = tuple[str, Ref]
"""Whose look it is, by the controller's name, and at what."""
Version: TypeAlias = tuple[Ref, str]
"""An object as it was at one time, by its resourceVersion."""

PATIENCE = 10.0
"""Seconds after which a write counts as seen: the watch may be of a part of the cluster that the object is not in."""
_SLACK = 64
"""How many entries of a heap may be out of date before it is made anew."""


@dataclass(slots=True)
class _Debt:
    """What has to be seen before a key may be decided on again."""

    since: float
    versions: dict[Sort, int] = field(default_factory=dict)
    going: dict[Ref, str] = field(default_factory=dict)
    """What was deleted, with its uid."""
    bound: set[Ref] = field(default_factory=set)
    parked: Callable[[], None] | None = None

    @property
    def is_paid(self) -> bool:
        return not (self.versions or self.going or self.bound)


class Unseen:
    """Writes on their way back. Revisions of a kind come in order, so one number a kind tells what was seen of it."""

    def __init__(self, live: Live, time: Callable[[], float]) -> None:
        self._live = live
        self._time = time
        self._revisions: dict[Sort, int] = {}
        self._debts: dict[Key, _Debt] = {}
        self._by_version: dict[Sort, list[tuple[int, int, Key]]] = {}
        self._by_ref: dict[Ref, set[Key]] = {}
        self._count = 0

    def __len__(self) -> int:
        """How many keys wait for a write to come back."""
        return len(self._debts)

    def wrote(self, key: Key, written: Version) -> None:
        """An object was written for a key; this is what it is now, as the API answered."""
        ref, version = written
        if not self.is_ahead(ref, version):
            return
        sort = (ref.group, ref.kind)
        debt = self._debt(key)
        debt.versions[sort] = max(int(version), debt.versions.get(sort, 0))
        self._count += 1
        waiting = self._by_version.setdefault(sort, [])
        heapq.heappush(waiting, (int(version), self._count, key))
        if len(waiting) > 2 * len(self._debts) + _SLACK:
            waiting[:] = [entry for entry in waiting if self._is_owed(sort, entry[0], entry[2])]
            heapq.heapify(waiting)

    def is_ahead(self, ref: Ref, version: str) -> bool:
        """Whether an object of this version is still to come; one of a kind that nobody watches never does."""
        seen = self._revisions.get((ref.group, ref.kind))
        return seen is not None and version.isdigit() and int(version) > seen

    def deleted(self, key: Key, ref: Ref, uid: str) -> None:
        """An object was deleted for a key."""
        if (ref.group, ref.kind) in self._revisions and not self._is_going(ref, uid):
            self._debt(key).going[ref] = uid
            self._by_ref.setdefault(ref, set()).add(key)

    def bound(self, key: Key, pod: Ref) -> None:
        """A pod was placed for a key."""
        if (pod.group, pod.kind) in self._revisions and not self._is_placed(pod):
            self._debt(key).bound.add(pod)
            self._by_ref.setdefault(pod, set()).add(key)

    def is_behind(self, key: Key, *, caught_up: Callable[[], None]) -> bool:
        """Whether the View lacks a write of this key; `caught_up` is called once when it no longer does."""
        debt = self._debts.get(key)
        if debt is None:
            return False
        if self._time() - debt.since >= PATIENCE:
            self.forget(key)
            return False
        debt.parked = caught_up
        return True

    def forget(self, key: Key) -> None:
        """A key is of no interest any more."""
        debt = self._debts.pop(key, None)
        for ref in (*debt.going, *debt.bound) if debt else ():
            self._release(ref, key)

    def progress(self, sort: Sort, revision: int) -> None:
        """Everything of a kind was seen up to a revision."""
        self._revisions[sort] = max(revision, self._revisions.get(sort, 0))
        waiting = self._by_version.get(sort, [])
        while waiting and waiting[0][0] <= revision:
            _, _, key = heapq.heappop(waiting)
            debt = self._debts.get(key)
            if debt and debt.versions.get(sort, revision + 1) <= revision:
                del debt.versions[sort]
                self._settle(key, debt)

    def changed(self, ref: Ref) -> None:
        """An object was seen to change, or to be gone."""
        for key in sorted(self._by_ref.get(ref, ())):
            debt = self._debts[key]
            if ref in debt.going and self._is_going(ref, debt.going[ref]):
                del debt.going[ref]
            if ref in debt.bound and self._is_placed(ref):
                debt.bound.remove(ref)
            if ref not in debt.going and ref not in debt.bound:
                self._release(ref, key)
                self._settle(key, debt)

    def _debt(self, key: Key) -> _Debt:
        debt = self._debts.setdefault(key, _Debt(self._time()))
        debt.since = self._time()
        return debt

    def _is_owed(self, sort: Sort, version: int, key: Key) -> bool:
        debt = self._debts.get(key)
        return debt is not None and debt.versions.get(sort) == version

    def _release(self, ref: Ref, key: Key) -> None:
        keys = self._by_ref.get(ref, set())
        keys.discard(key)
        if not keys:
            self._by_ref.pop(ref, None)

    def _settle(self, key: Key, debt: _Debt) -> None:
        if debt.is_paid:
            del self._debts[key]
            if debt.parked:
                debt.parked()

    def _is_going(self, ref: Ref, uid: str) -> bool:
        raw = self._live.get(ref)
        if raw is None or (uid and raw["metadata"].get("uid") != uid):
            return True
        return bool(raw["metadata"].get("deletionTimestamp"))

    def _is_placed(self, pod: Ref) -> bool:
        raw = self._live.get(pod)
        return raw is None or bool(look(raw, "spec", "nodeName") or raw["metadata"].get("deletionTimestamp"))
