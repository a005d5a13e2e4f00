"""Reflector: lists a kind, watches it from there, and has the Live View and whoever wants to know follow."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from itertools import repeat
from typing import TypeAlias

import msgspec

from trainplane.api.kinds import Kind
from trainplane.api.meta import Raw
from trainplane.cluster.client import Change, Client, Happened
from trainplane.cluster.errors import ApiError, Gone, NotFound
from trainplane.control.echoes import Echoes
from trainplane.control.live import Live, trimmed
from trainplane.control.queue import BackOff
from trainplane.control.unseen import Unseen
from trainplane.reconcile.view import Ref

Tell: TypeAlias = Callable[[Raw | None, Raw | None], None]
"""Told of an object as it was (None where it is new) and as it is (None where it is gone)."""

PAGE = 500
UNSERVED = 30.0
"""Seconds after which to ask again for a kind that the API does not serve; its CRD may have come."""


_log = logging.getLogger(__name__)


class Scope(msgspec.Struct, frozen=True):
    """What is watched: a kind, and which of its objects."""

    kind: Kind
    namespace: str = ""
    labels: str = ""
    fields: str = ""


class Reflector:
    """One kind of objects, as the API has them."""

    def __init__(
        self,
        scope: Scope,
        client: Client,
        live: Live,
        *,
        unseen: Unseen,
        tell: Tell,
        echoes: Echoes | None = None,
        back_off: BackOff | None = None,
    ) -> None:
        self.scope = scope
        self.synced = asyncio.Event()
        """Set when the View has what was there at first."""
        self.failures = 0
        """How often in a row the API could not be asked, or did not answer."""
        self._client = client
        self._live = live
        self._unseen = unseen
        self._echoes = echoes
        self._tell = tell
        self._back_off = back_off or BackOff()
        self._sort = (scope.kind.group, scope.kind.kind)

    async def run(self) -> None:
        """Follow the kind until cancelled, through lost connections, full histories and kinds that come later."""
        since = ""
        while True:
            wait = 0.0
            try:
                if not since:
                    since = await self._list()
                before = since
                async for change in self._watch(since):
                    since = self._take(change) or since
                    self.failures = 0
                # A server ends watches now and then; one that ends them at once is asked less and less.
                if since == before:
                    wait = self._fail()
            except Gone:
                since = ""
                wait = self._fail() if self.failures else 0.0
                self.failures += not self.failures
            except NotFound:
                since = ""
                self._replace([], 0)
                wait = UNSERVED
            except (ApiError, OSError) as error:
                wait = max(self._fail(), error.retry_after if isinstance(error, ApiError) else 0.0)
                _log.warning("%s cannot be watched, asking again in %g s: %s", self.scope.kind.resource, wait, error)
            await asyncio.sleep(wait)

    def _fail(self) -> float:
        self.failures += 1
        return self._back_off.delay(self.failures)

    def _watch(self, since: str) -> AsyncIterator[Change]:
        scope = self.scope
        return self._client.watch(
            scope.kind, namespace=scope.namespace, labels=scope.labels, fields=scope.fields, since=since
        )

    async def _list(self) -> str:
        """List everything in pages; returns where a watch goes on."""
        scope, items, after = self.scope, list[tuple[Raw, bytes]](), ""
        while True:
            page = await self._client.list(
                scope.kind,
                namespace=scope.namespace,
                labels=scope.labels,
                fields=scope.fields,
                limit=PAGE,
                after=after,
            )
            items += zip(page.items, page.sources or repeat(b""), strict=False)
            after = page.after
            if not after:
                break
        self._replace(items, int(page.resource_version) if page.resource_version.isdigit() else 0)
        return page.resource_version

    def _replace(self, items: list[tuple[Raw, bytes]], revision: int) -> None:
        """Let the View have exactly these objects of the kind."""
        new = [(self._whole(raw), source) for raw, source in items]
        there = {Ref.of(raw) for raw, _ in new}
        if self._echoes:
            self._echoes.listed(self._sort)
        for ref in self._live.refs(*self._sort):
            if ref not in there:
                self._gone(ref)
        for raw, source in new:
            self._put(raw, source)
        self._unseen.progress(self._sort, revision)
        self.synced.set()

    def _take(self, change: Change) -> str:
        """Let the View follow one change; returns where to go on after it."""
        version = change.resource_version
        match change.happened:
            case Happened.ADDED | Happened.MODIFIED:
                self._put(self._whole(change.object), change.source)
            case Happened.DELETED:
                self._gone(Ref.of(self._whole(change.object)))
            case Happened.BOOKMARK:
                pass
        if version.isdigit():
            self._unseen.progress(self._sort, int(version))
        return version

    def _put(self, raw: Raw, source: bytes) -> None:
        ref = Ref.of(raw)
        before = self._live.put(raw, ref=ref, source=source)
        if before is None or before["metadata"].get("resourceVersion") != raw["metadata"].get("resourceVersion"):
            self._unseen.changed(ref)
            self._tell(before, raw)

    def _gone(self, ref: Ref) -> None:
        before = self._live.remove(ref)
        if before is not None:
            self._unseen.changed(ref)
            self._tell(before, None)

    def _whole(self, raw: Raw) -> Raw:
        """The object as the View keeps it; lists leave out its kind."""
        kept, kind = trimmed(raw), self.scope.kind
        return kept if "kind" in kept else {"apiVersion": kind.api_version, "kind": kind.kind, **kept}
