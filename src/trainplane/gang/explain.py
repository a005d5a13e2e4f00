"""Why a pod waits: Kubernetes' sentence, reason by reason and counted by node, and the condition that carries it."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.api.ref import Ref
from trainplane.api.times import stamp
from trainplane.gang.filters import FULL, NO_PORT, NOT_APART, UNWELCOME, never_holds
from trainplane.gang.fit import Pod
from trainplane.gang.gangs import Gang
from trainplane.gang.place import Placer
from trainplane.gang.spread import UNEVEN
from trainplane.reconcile.decision import Action, Patch, Record

SCHEDULED = "PodScheduled"
UNSCHEDULABLE = "Unschedulable"
GATED = "SchedulingGated"
GATED_NOTE = "Scheduling is blocked due to non-empty scheduling gates"
NO_NODES = "no nodes available to schedule pods"
NO_VICTIMS = "No preemption victims found for incoming pod"
NO_HELP = "Preemption is not helpful for scheduling"
NEVER = "preemption: not eligible due to preemptionPolicy=Never."
COMING = "preemption: not eligible due to a terminating pod on the nominated node."

NEVER_LATE = datetime.max.replace(tzinfo=UTC)
AGAIN = timedelta(seconds=10)
"""A waiting pod hears news of why it waits no sooner than this, and later ever more rarely."""


def counted(words: Sequence[str], total: int) -> str:
    """`0/4 nodes are available: 1 node(s) were unschedulable, 3 Insufficient cpu.`; sorted as upstream sorts."""
    lines = sorted(f"{count} {word}" for word, count in Counter(words).items())
    return f"0/{total} nodes are available: {', '.join(lines)}."


def sentence(placer: Placer, pod: Pod) -> str:
    """Why no node can take the pod now, and why sending others away would not help."""
    nodes = placer.ledger.nodes
    if not nodes:
        return NO_NODES
    found = placer.reasons(pod, nodes)
    words = [word for reasons in found for word in reasons]
    passing = (NO_PORT, NOT_APART, UNWELCOME, UNEVEN, FULL)
    help_ = [
        NO_VICTIMS
        if reasons
        and (reasons[0] in passing or reasons[0].startswith("Insufficient"))
        and not never_holds(pod.shape, node)
        else NO_HELP
        for node, reasons in zip(nodes, found, strict=True)
    ]
    return f"{counted(words, len(nodes))} {f'preemption: {counted(help_, len(nodes))}' if pod.may_preempt else NEVER}"


def refusal(placer: Placer, word: str) -> str:
    """A sentence for what no node could mend, such as a missing claim."""
    total = len(placer.ledger.nodes)
    return f"0/{total} nodes are available: {word}. preemption: {counted([NO_HELP] * total, total)}"


class Words(NamedTuple):
    """Why gangs of one kind have no room; each says it under its own name."""

    text: str
    """The sentence of the first pod without a node."""
    found: int
    """How many of its pods find room."""
    more: str = ""
    """What else is in their way."""

    def of(self, gang: Gang) -> str:
        """The words about one gang."""
        need = f"PodGroup {gang.name} needs room for {gang.need} pods at once, and {self.found} of them find it."
        return " ".join(filter(None, (self.text, need if gang.quorum > 1 else "", self.more)))


def with_room_coming(words: Words) -> Words:
    """The same words about a gang for which others are on their way out: nobody more need go."""
    return words._replace(text=f"{words.text.partition(' preemption: ')[0]} {COMING}") if words.text else words


def gang_words(placer: Placer, gang: Gang) -> Words:
    """Why the gang has no room: the sentence of its first pod without a node, and how many have one."""
    ledger = placer.ledger
    mark, without, found = ledger.mark(), None, 0
    for pod in gang.waiting:
        node = placer.best(pod)
        if node is None:
            without = without or pod
        else:
            found += 1
            ledger.place(pod, node)
    text = sentence(placer, without or gang.waiting[0]) if without or not found else ""
    ledger.undo(mark)
    return Words(text, found)


def overdue(gang: Gang, now: datetime) -> str:
    """That a gang has waited longer than it wanted to; "" where it has not."""
    if gang.patience is not None and now <= gang.patience:
        return ""
    limit = look(gang.group, "spec", "scheduleTimeoutSeconds")
    if gang.patience is None:
        made = [datetime.fromisoformat(pod.created) for pod in gang.waiting if pod.created]
        gang.patience = min(made) + timedelta(seconds=limit) if limit is not None and made else NEVER_LATE
    return f" It has waited longer than its scheduleTimeoutSeconds of {limit}." if now > gang.patience else ""


def condition(raw: Raw) -> Raw:
    """A pod's condition PodScheduled, {} where it has none."""
    for each in (raw.get("status") or {}).get("conditions") or ():
        if each.get("type") == SCHEDULED:
            found: Raw = each
            return found
    return {}


def told_at(pod: Pod, patience: timedelta) -> datetime | None:
    """When the pod may next be told why it waits; None where it does not say when it was made."""
    reason, when = pod.said
    made = _time(pod.created)
    if reason != UNSCHEDULABLE:
        return made and made + patience
    last = _time(when)
    if last is None or made is None:
        return None
    return last + max(AGAIN, last - made)


def tell(pod: Pod, message: str, now: datetime, *, reason: str = UNSCHEDULABLE) -> list[Action]:
    """The condition and the event that say why a pod waits; [] where it says so already."""
    return say(pod.raw, message, now, reason=reason)


def say(raw: Raw, message: str, now: datetime, *, reason: str = UNSCHEDULABLE) -> list[Action]:
    """The same for a pod that may be unreadable."""
    said, ref, uid = condition(raw), Ref.of(raw), raw["metadata"].get("uid", "")
    if (said.get("status"), said.get("reason"), said.get("message")) == ("False", reason, message):
        return []
    told = stamp(now)
    since = said.get("lastTransitionTime") if said.get("status") == "False" else None
    new = {
        "type": SCHEDULED,
        "status": "False",
        "reason": reason,
        "message": message,
        "lastProbeTime": told if since else None,
        "lastTransitionTime": since or told,
    }
    patch = Patch(ref, {"status": {"conditions": [new]}}, uid, "status", keyed=True)
    return [patch, Record(ref, "Warning", "FailedScheduling", message)] if reason == UNSCHEDULABLE else [patch]


def _time(text: str) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
