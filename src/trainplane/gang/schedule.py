"""The scheduler: one look at all pods and nodes, and who is bound, who is told why not, and who has to go."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from msgspec.structs import replace

from trainplane.api.quantity import Amount
from trainplane.api.raw import look
from trainplane.api.ref import Ref
from trainplane.api.scheduling import COSCHEDULING_SCHEDULER, VOLCANO_SCHEDULER
from trainplane.gang.evict import evictions
from trainplane.gang.explain import (
    GATED,
    GATED_NOTE,
    Words,
    condition,
    gang_words,
    overdue,
    refusal,
    say,
    tell,
    told_at,
    with_room_coming,
)
from trainplane.gang.fit import COSCHEDULING, VOLCANO, Node, Pod
from trainplane.gang.gangs import Gang, Known, forget, gangs, requested
from trainplane.gang.groups import status
from trainplane.gang.ledger import Ledger
from trainplane.gang.place import Placer
from trainplane.gang.preempt import Preemption, Victim, preempt, running
from trainplane.gang.queue import Queues
from trainplane.gang.reserve import Ends, Reservation, deadline, kept, reserve, still_holds
from trainplane.gang.score import Strategy
from trainplane.gang.volumes import missing, reachable
from trainplane.reconcile.decision import Action, Bind, Decision, Record, SetStatus
from trainplane.reconcile.news import News
from trainplane.reconcile.view import View

SCHEDULERS = frozenset(("", "default-scheduler", COSCHEDULING_SCHEDULER, VOLCANO_SCHEDULER, "trainplane"))
"""The schedulerNames whose pods are placed here."""
PATIENCE = timedelta(seconds=1)
"""A pod that waits no longer than this is not told why: it will be placed before anyone reads it."""


class Scheduler:
    """Decides for a whole cluster; remembers what it read, so that the next look costs what has changed."""

    def __init__(
        self,
        *,
        strategy: Strategy = Strategy.LEAST_ALLOCATED,
        schedulers: frozenset[str] = SCHEDULERS,
        ends: Ends = deadline,
        patience: timedelta = PATIENCE,
    ) -> None:
        self.ledger = Ledger()
        self.placer = Placer(self.ledger, strategy)
        self.schedulers = schedulers
        self.ends = ends
        self.patience = patience
        self.news = News()
        self.known: Known = {}

    def schedule(self, view: View, now: datetime) -> Decision:
        """What should be done about all pods now."""
        self.ledger.refresh(view)
        changed = self._changed_groups(view)
        forget(self.known, changed)
        self.placer.bound_claims = lambda pod: reachable(pod, view)
        look = _Look(self, view, now)
        try:
            look.run()
        finally:
            self.ledger.undo()
        return Decision.of([*look.actions, *self._statuses(changed, view, now)], again=look.again)

    def _changed_groups(self, view: View) -> list[Ref]:
        refs: list[Ref] = []
        for api in (COSCHEDULING, VOLCANO):
            changed = self.news.of(view, api, "PodGroup")
            if changed is None:
                self.known.clear()
                refs += map(Ref.of, view.all(api, "PodGroup"))
            else:
                refs += changed
        return refs

    def _statuses(self, changed: Iterable[Ref], view: View, now: datetime) -> Iterable[Action]:
        moved = (Ref(api, "PodGroup", *names) for api, *names in sorted(self.ledger.moved))
        for ref in dict.fromkeys((*changed, *moved)):
            raw = view.get(ref)
            if raw is not None:
                pods = self.ledger.groups.get((ref.group, ref.namespace, ref.name), {}).values()
                new = status(raw, pods, ref.group, now)
                if new != (raw.get("status") or {}):
                    yield SetStatus(ref, new, raw["metadata"].get("uid", ""))
        self.ledger.moved.clear()


class _Look:
    """One look: the state of a single decision."""

    def __init__(self, scheduler: Scheduler, view: View, now: datetime) -> None:
        self.scheduler, self.view, self.now = scheduler, view, now
        self.ledger, self.placer = scheduler.ledger, scheduler.placer
        self.actions: list[Action] = []
        self.again: timedelta | None = None
        self.queues = Queues(view, self.ledger)
        self.failed: dict[tuple[object, ...], Words | None] = {}
        """Of gangs that find no room: why, once one of them is told."""
        self.waiting: list[Gang] = []
        """Gangs that had their turn and found no room, in that order; the first of them that ever can gets a hold."""
        self.reservation: Reservation | None = None
        self.preempted = False
        self._victims: list[Victim] | None = None

    def run(self) -> None:
        """Give every gang its turn."""
        self._gated_and_unreadable()
        lines: dict[str, list[Gang]] = {}
        scheduler = self.scheduler
        for gang in gangs(self.ledger, self.view, scheduler.known, schedulers=scheduler.schedulers):
            trouble = gang.trouble or self.queues.trouble(gang)
            if trouble:
                self._tell(gang, trouble + ".")
            elif gang.need:
                lines.setdefault(gang.queue, []).append(gang)
            else:
                lines.setdefault(gang.queue, []).extend(_alone(gang, gang.waiting))
        for line in lines.values():
            line.sort(key=lambda gang: gang.order, reverse=True)
        while lines:
            gang = self.queues.next([line[-1] for line in lines.values()])
            line = lines[gang.queue]
            line.pop()
            if extras := self._turn(gang):
                line.extend(extras)
                line.sort(key=lambda gang: gang.order, reverse=True)
            self._pass_over(line)
            if not line:
                del lines[gang.queue]

    def _pass_over(self, line: list[Gang]) -> None:
        """Skip those who would find no room either and have nothing to hear yet: in a long queue nearly all."""
        failed, now = self.failed, self.now
        soonest: datetime | None = None
        while line and line[-1].signature in failed:
            gang = line[-1]
            heard = gang.heard
            if heard is None:
                break
            if heard > now:
                soonest = heard if soonest is None or heard < soonest else soonest
            elif gang.told is None or gang.told != (failed[gang.signature], overdue(gang, now)):
                break
            line.pop()
        self._come_back(soonest)

    def _turn(self, gang: Gang) -> list[Gang]:
        """Bind the gang or say why not; what is left of a gang that was bound waits as single pods."""
        signature = gang.signature
        if signature in self.failed:
            self.waiting.append(gang)
            self._tell_no_room(gang, signature)
            return []
        for pod in gang.waiting:
            if pod.shape.claims and (word := missing(pod, self.view)):
                self._tell(gang, refusal(self.placer, word))
                return []
        queue = self.queues.by_name[gang.queue]
        if word := queue.excess(gang.requests()):
            self._tell(gang, f"{word}.")
            return []
        placed = self._place(gang)
        if placed is None:
            self._wait(gang, signature)
            return []
        queue.take(requested([pod for pod, _ in placed]))
        for pod, node in placed:
            self.actions.append(Bind(pod.ref, node.name))
            note = f"Successfully assigned {pod.namespace}/{pod.ref.name} to {node.name}"
            self.actions.append(Record(pod.ref, "Normal", "Scheduled", note))
        done = {pod.uid for pod, _ in placed}
        return _alone(gang, [pod for pod in gang.waiting if pod.uid not in done])

    def _place(self, gang: Gang) -> list[tuple[Pod, Node]] | None:
        """A place for the gang that delays nobody before it."""
        if self._too_little(gang):
            return None
        mark = self.ledger.mark()
        if self.waiting and self.reservation is None:
            if self._together(gang) is None:
                return None
            self.ledger.undo(mark)
            self._reserve()
        return self._together(gang) if self.reservation is None else self._beside(gang, self.reservation)

    def _together(self, gang: Gang) -> list[tuple[Pod, Node]] | None:
        return self.placer.together(gang.waiting, max(gang.need, 1), near=gang.near)

    def _beside(self, gang: Gang, held: Reservation) -> list[tuple[Pod, Node]] | None:
        """A place beside the reservation, or in it for those who will have left by then."""
        mark = self.ledger.mark()
        placed = self._together(gang)
        if placed is not None:
            placed = self._checked(placed, mark)
        if placed is not None or held.at is None or not self._leaves_by(gang, held.at):
            return placed
        for node, resources in held.kept:
            self.ledger.hold(node, {name: -amount for name, amount in resources.items()})
        placed = self._together(gang)
        if placed is None:
            self.ledger.undo(mark)
            return None
        for node, resources in held.kept:
            self.ledger.hold(node, resources)
        return placed

    def _checked(self, placed: list[tuple[Pod, Node]], mark: int) -> list[tuple[Pod, Node]] | None:
        """The place, unless neighbours could make it stand in the way of the reservation."""
        held = self.reservation
        pods = [pod for pod, _ in placed]
        if held is None or not any(pod.shape.sociable or pod.shape.ports for pod in (*pods, *held.gang.waiting)):
            return placed
        if self._without_hold(held):
            return placed
        self.ledger.undo(mark)
        return None

    def _without_hold(self, held: Reservation) -> bool:
        mark = self.ledger.mark()
        for node, resources in held.kept:
            self.ledger.hold(node, {name: -amount for name, amount in resources.items()})
        fine = still_holds(self.placer, held)
        self.ledger.undo(mark)
        return fine

    def _leaves_by(self, gang: Gang, when: datetime) -> bool:
        limits = [pod.raw["spec"].get("activeDeadlineSeconds") for pod in gang.waiting]
        return all(limit is not None and self.now + timedelta(seconds=limit) <= when for limit in limits)

    def _reserve(self) -> None:
        for gang in self.waiting:
            found = reserve(self.placer, gang, self.scheduler.ends)
            if found is not None:
                self._hold(found)
                return
        self.waiting.clear()

    def _hold(self, found: Reservation) -> None:
        self.reservation = self.reservation or found
        for node, resources in found.kept:
            self.ledger.hold(node, resources)

    def _too_little(self, gang: Gang) -> bool:
        return bool(gang.least) and bool(self._missing_amounts(gang))

    def _missing_amounts(self, gang: Gang) -> Mapping[str, int]:
        free = self.ledger.free
        own = requested([pod for pod in gang.placed if not pod.finished])
        return {
            name: amount - free.get(name, 0) - own.get(name, 0)
            for name, amount in (gang.least or {}).items()
            if amount > free.get(name, 0) + own.get(name, 0)
        }

    def _wait(self, gang: Gang, signature: tuple[object, ...]) -> None:
        self.failed[signature] = None
        if self.preempted or not self._preempt(gang):
            self._tell_no_room(gang, signature)
        self.waiting.append(gang)

    def _tell_no_room(self, gang: Gang, signature: tuple[object, ...]) -> None:
        """Say why; the sentence is made when the first of its kind is told."""
        words = self.failed[signature]
        if words is None and self._is_due(gang):
            words = gang_words(self.placer, gang)
            if short := self._missing_amounts(gang) if gang.least else None:
                amounts = ", ".join(f"{Amount(amount)} more {name}" for name, amount in sorted(short.items()))
                words = words._replace(more=f"Its minResources are not free: {amounts} wanted.")
            if self.reservation is not None and self.reservation.gang is not gang:
                kept_for = f"Room is kept for {self.reservation.gang.name}, which is before it."
                words = words._replace(more=f"{words.more} {kept_for}".strip())
            self.failed[signature] = words
        if words and self._is_promised_room(gang):
            words = with_room_coming(words)
        if self._tell(gang, words.of(gang) if words else ""):
            gang.told = (words, overdue(gang, self.now))

    def _is_promised_room(self, gang: Gang) -> bool:
        """Whether pods are on their way out where the gang was told that it will run."""
        nominated = {look(pod.raw, "status", "nominatedNodeName") for pod in gang.waiting} - {None, ""}
        return bool(nominated) and any(
            pod.deleting for node in self.ledger.nodes if node.name in nominated for pod in node.pods.values()
        )

    def _preempt(self, gang: Gang) -> bool:
        if not self._is_above_somebody(gang):
            return False
        if self._victims is None:
            self._victims = running(self.ledger, self.view)
        if not any(victim.priority < gang.priority for victim in self._victims):
            return False
        going = [pod for node in self.ledger.nodes for pod in node.pods.values() if pod.deleting]
        if going:
            found = reserve(self.placer, gang, lambda _: None)
            if found is not None and all(pod.deleting for pod in found.leaving):
                # Room comes without sending anyone more away.
                self.preempted = True
                self._hold(found)
                return False
        if self.waiting and self.reservation is None:
            self._reserve()
        chosen = preempt(self.placer, gang, self._victims)
        if chosen is None:
            return False
        self.preempted = True
        self._evict(gang, chosen)
        return True

    def _is_above_somebody(self, gang: Gang) -> bool:
        """Whether any placed pod may be of lower priority; a class that Volcano names may be lower than its pods'."""
        return any(
            pod.priority < gang.priority or (pod.group is not None and pod.group[0] == VOLCANO)
            for node in self.ledger.nodes
            for pod in node.pods.values()
        )

    def _evict(self, gang: Gang, chosen: Preemption) -> None:
        leaving = tuple(pod for victim in chosen.victims for pod in victim.pods)
        self.actions += evictions(gang, chosen, self.now)
        self._hold(Reservation(gang, None, leaving, kept(chosen.placed, leaving, self.ledger)))

    def _is_due(self, gang: Gang) -> bool:
        if gang.heard is None:
            times = [told_at(pod, self.scheduler.patience) for pod in gang.waiting]
            gang.heard = min((at for at in times if at is not None), default=None) if None not in times else self.now
        return gang.heard is not None and gang.heard <= self.now

    def _tell(self, gang: Gang, text: str) -> bool:
        """Tell the gang's pods why they wait, where it is time; whether all of them say so already."""
        if not self._is_due(gang):
            self._come_back(gang.heard)
            return False
        late = overdue(gang, self.now) if gang.group is not None else ""
        known = True
        for pod in gang.waiting:
            at = told_at(pod, self.scheduler.patience)
            if at is not None and at > self.now:
                self._come_back(at)
                known = False
            elif news := tell(pod, text + late, self.now):
                self.actions += news
                known = False
        return known

    def _come_back(self, at: datetime | None) -> None:
        if at is not None:
            left = at - self.now
            self.again = left if self.again is None else min(self.again, left)

    def _gated_and_unreadable(self) -> None:
        for pod in self.ledger.gated.values():
            if not pod.deleting and condition(pod.raw).get("reason") != GATED:
                self.actions += tell(pod, GATED_NOTE, self.now, reason=GATED)
        for raw, why in self.ledger.unreadable.values():
            if not (raw.get("spec") or {}).get("nodeName"):
                self.actions += say(raw, f"the pod cannot be understood: {why}", self.now)


def _alone(gang: Gang, pods: list[Pod]) -> list[Gang]:
    """The pods of a gang that has its quorum, each for itself."""
    return [
        replace(
            gang,
            heard=None,
            _signature=(),
            name=f"{pod.namespace}/{pod.ref.name}",
            waiting=[pod],
            quorum=1,
            placed=[],
            near=False,
            least=None,
            group=None,
        )
        for pod in pods
    ]


def schedule(view: View, now: datetime) -> Decision:
    """What should be done about all pods now, by a scheduler that knows nothing but the View."""
    return Scheduler().schedule(view, now)
