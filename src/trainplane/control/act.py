"""Act: a Decision becomes calls of the Client, none where nothing would change."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import groupby
from typing import Any, TypeAlias, TypeVar, assert_never

import msgspec

from trainplane.api.core import FAILED, SUCCEEDED
from trainplane.api.merge import same
from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.cluster.client import Client
from trainplane.cluster.client import Patch as ClientPatch
from trainplane.cluster.errors import AlreadyExists, ApiError, Conflict, NotFound
from trainplane.control.adopt import takeover
from trainplane.control.echoes import Echoes
from trainplane.control.failure import Failure, failure
from trainplane.control.keys import generated
from trainplane.control.live import Live
from trainplane.control.metrics import Metrics
from trainplane.control.record import Clock, Recorder
from trainplane.control.unseen import Key, Unseen
from trainplane.reconcile.controller import Controller
from trainplane.reconcile.decision import (
    Action,
    Apply,
    Bind,
    Create,
    Decision,
    Delete,
    Patch,
    Record,
    SetStatus,
)
from trainplane.reconcile.view import Ref

MANAGER = "trainplane"
"""Who owns the fields that are applied."""
WIDEST = 64
"""How many calls are under way at once for one Decision."""

T = TypeVar("T")
Doing: TypeAlias = Apply | Bind | Create | Delete | Patch | SetStatus
_VERBS = {sort: sort.__name__.lower() for sort in (Apply, Bind, Create, Delete, Patch, SetStatus)}


class Chain(msgspec.Struct, frozen=True):
    """What is done to one object, in order, and what is told of it when it is done."""

    ref: Ref
    actions: tuple[Doing, ...]
    records: tuple[Record, ...] = ()

    @property
    def sort(self) -> tuple[Any, ...]:
        """Chains of one sort that follow on one another may be carried out at once."""
        return (self.ref[:2], *map(type, self.actions)) if self.actions else ()


class Actor:
    """Carries out what controllers decide."""

    def __init__(
        self,
        client: Client,
        live: Live,
        *,
        unseen: Unseen,
        echoes: Echoes,
        recorder: Recorder,
        metrics: Metrics,
        clock: Clock,
    ) -> None:
        self._client = client
        self._live = live
        self._unseen = unseen
        self._echoes = echoes
        self._recorder = recorder
        self._metrics = metrics
        self._clock = clock
        self.written = 0
        """How many writes were made, by whomever."""

    async def act(self, controller: Controller, ref: Ref, decision: Decision) -> Failure | None:
        """Carry out a Decision about an object, in order; returns the first thing that went wrong.

        A refused Create, Apply or the like is told in an Event, and nothing but a status is written after it. Where
        the View turns out to be old, or the API does not answer, all of the rest is left for the next look.
        """
        if len(decision.actions) == 1 and not isinstance(alone := decision.actions[0], Record):
            # Most Decisions are one status: nothing is to be put in order.
            return await self._carry_out(controller, ref, Chain(target(alone), (alone,)))
        failed: Failure | None = None
        done: list[Record] = []
        for _, batch in groupby(chains(decision.actions), key=lambda chain: chain.sort):
            for some in slowly(list(batch)):
                if failed and not (failed.is_refusal and is_status(some)):
                    continue
                outcomes = await at_once([partial(self._carry_out, controller, ref, chain) for chain in some])
                failed = failed or next(filter(None, outcomes), None)
                done += [
                    said for chain, fault in zip(some, outcomes, strict=True) if not fault for said in chain.records
                ]
        # Last: nobody who waits for what is done waits for the news of it.
        for start in range(0, len(done), WIDEST):
            await at_once([partial(self.record, controller, said) for said in done[start : start + WIDEST]])
        return failed

    async def _carry_out(self, controller: Controller, ref: Ref, chain: Chain) -> Failure | None:
        for action in chain.actions:
            try:
                await self._do(controller, (controller.name, ref), action, on=chain.ref)
            except (ApiError, OSError) as error:
                failed = failure(action, error)
                if failed.is_refusal:
                    # A scheduler decides for the whole cluster, and tells of the pod that it meant.
                    about = ref if ref.kind and not isinstance(action, Bind) else chain.ref
                    await self.record(controller, Record(about, "Warning", failed.reason, failed.note))
                return failed
        return None

    async def record(self, controller: Controller, said: Record) -> None:
        """Make an Event in the name of a controller."""
        await self._recorder.record(said, by=controller.reports_as or controller.name)

    async def _do(self, controller: Controller, key: Key, action: Doing, *, on: Ref) -> None:
        there = self._live.get(on)
        if there and is_so(action, there):
            return
        written = await self._write(action)
        self.written += 1
        self._metrics.writes.add(controller.name, _VERBS[type(action)], on.kind)
        if isinstance(action, Bind):
            self._scheduled(there)
            self._unseen.bound(key, on)
        elif isinstance(action, Delete):
            self._unseen.deleted(key, on, action.uid)
        # A Scale has the version of the object that it is of, but is not that object.
        elif written and written.get("kind") == on.kind:
            version = (on, str(written["metadata"].get("resourceVersion", "")))
            self._unseen.wrote(key, version)
            self._echoes.wrote(key, version)

    async def _write(self, action: Doing) -> Raw | None:
        match action:
            case Create():
                return await self._create(action)
            case Apply():
                return await self._apply(action)
            case Patch(ref, body, uid, subresource, keyed):
                patch = ClientPatch.strategic(body) if keyed else ClientPatch.merge(body)
                return await self._client.patch(ref, patch, uid=uid, subresource=subresource)
            case SetStatus():
                ref, status = action.ref, action.status
                return await self._client.set_status(ref, status, uid=action.uid, version=action.version)
            case Bind(pod, node):
                await self._client.bind(pod, node)
                return None
            case Delete():
                await self._delete(action)
                return None
            case other:
                assert_never(other)

    async def _create(self, action: Create) -> Raw:
        """Make an object; the one that is there already is it, unless another controls what is not shared."""
        try:
            return await self._client.create(generated(action.object, action.generate))
        except AlreadyExists as taken:
            there = await self._client.get(Ref.of(action.object))
            if there["metadata"].get("deletionTimestamp"):
                raise Conflict(f"{taken.message}, and is being deleted") from None
            if not action.shared and controller_of(there) != controller_of(action.object):
                raise
            return there

    async def _apply(self, action: Apply) -> Raw:
        ref = Ref.of(action.object)
        there = await self._client.get(ref)
        if not is_of(there, action.uid):
            raise Conflict.of(ref.kind, ref.name)
        operations = takeover(there, MANAGER)
        if operations:
            await self._client.patch(ref, ClientPatch.json(operations), uid=action.uid)
        return await self._client.apply(action.object, manager=MANAGER, uid=action.uid, force=True)

    async def _delete(self, action: Delete) -> None:
        try:
            await self._client.delete(action.ref, uid=action.uid, propagation=action.propagation)
        except (NotFound, Conflict):
            # The object of that uid is gone, whatever has its name now.
            return

    def _scheduled(self, pod: Raw | None) -> None:
        made = look(pod, "metadata", "creationTimestamp")
        if isinstance(made, str):
            waited = self._clock.now() - datetime.fromisoformat(made)
            self._metrics.scheduling.observe(max(0.0, waited.total_seconds()))


async def at_once(calls: Sequence[Callable[[], Awaitable[T]]]) -> list[T]:
    """What calls come to that are under way together."""
    if len(calls) == 1:
        return [await calls[0]()]

    async def run(call: Callable[[], Awaitable[T]]) -> T:
        return await call()

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(run(call)) for call in calls]
    return [task.result() for task in tasks]


def chains(actions: Iterable[Action]) -> Iterator[Chain]:
    """Actions by the object that they are about, in order; a Record tells of what stands before it.

    A status is on its own: it is written even where something else was refused.
    """
    doing: list[Doing] = []
    records: list[Record] = []
    about: Ref | None = None
    for action in actions:
        if isinstance(action, Record):
            records.append(action)
            about = about or action.regarding
            continue
        ref = target(action)
        alone = isinstance(action, SetStatus) or (doing and isinstance(doing[-1], SetStatus))
        if about and (records or alone or about != ref):
            yield Chain(about, tuple(doing), tuple(records))
            doing, records = [], []
        about = ref
        doing.append(action)
    if about:
        yield Chain(about, tuple(doing), tuple(records))


def slowly(batch: Sequence[Chain]) -> Iterator[Sequence[Chain]]:
    """A batch in parts, each twice as large as the last: what is refused once will be refused a thousand times."""
    start, size = 0, 1
    while start < len(batch):
        yield batch[start : start + size]
        start, size = start + size, min(2 * size, WIDEST)


def target(action: Doing) -> Ref:
    """The object that an action is about."""
    match action:
        case Create() | Apply():
            return Ref.of(action.object)
        case Bind():
            return action.pod
        case Patch() | Delete() | SetStatus():
            return action.ref
        case other:
            assert_never(other)


def is_so(action: Doing, there: Raw) -> bool:
    """Whether an action would change nothing about the object that is there."""
    match action:
        case Patch():
            return not action.subresource and holds(there, action.patch)
        case SetStatus():
            old = there.get("status") or {}
            # What is not even equal is not the same, and nearly nothing is that a controller writes.
            return is_of(there, action.uid) and old == action.status and same(old, action.status)
        case Bind():
            return bool(look(there, "spec", "nodeName") == action.node)
        case Delete():
            return is_of(there, action.uid) and is_going(there)
        case Create() | Apply():
            # The API answers these: a View may be old, and an apply may take a field away that is not in it.
            return False
        case other:
            assert_never(other)


def holds(there: Any, patch: Any) -> bool:
    """Whether a JSON merge patch would change nothing."""
    if not isinstance(patch, Mapping):
        return same(there, patch)
    if not isinstance(there, Mapping):
        return False
    return all(
        key not in there if value is None else key in there and holds(there[key], value) for key, value in patch.items()
    )


def is_going(raw: Raw) -> bool:
    """Whether another delete would change nothing: a pod that has ended need not wait for the end of its grace."""
    metadata = raw["metadata"]
    waits = metadata.get("deletionGracePeriodSeconds") and look(raw, "status", "phase") in (SUCCEEDED, FAILED)
    return bool(metadata.get("deletionTimestamp")) and not waits


def is_status(batch: Iterable[Chain]) -> bool:
    """Whether nothing but a status is written that does not depend on what went before."""
    doing = [action for chain in batch for action in chain.actions]
    return all(isinstance(action, SetStatus) and not action.after_all for action in doing)


def is_of(raw: Raw, uid: str) -> bool:
    """Whether this is the object of that uid, where one is named."""
    return not uid or raw["metadata"].get("uid") == uid


def controller_of(raw: Raw) -> str:
    """The uid of what controls an object; "" where nothing does."""
    owners = raw["metadata"].get("ownerReferences") or ()
    return next((str(owner["uid"]) for owner in owners if owner.get("controller")), "")
