"""Causes that lie with the queue of a gang: it is not there, is closed, or holds all that it may."""

import re

from trainplane.api.meta import Raw
from trainplane.api.quantity import QuantityError, parse
from trainplane.reconcile.view import Ref
from trainplane.why.cause import Cause
from trainplane.why.placing import unscheduled
from trainplane.why.scene import Scene, stage, time_of
from trainplane.why.sentence import amount

VOLCANO = "scheduling.volcano.sh"
_FULL = re.compile(
    r"^queue (?P<queue>\S+) may hold (?P<most>\S+) of (?P<name>\S+): "
    r"(?P<held>\S+) are held and (?P<wanted>\S+) more are wanted"
)
_GONE = re.compile(r"^queue (?P<queue>\S+) does not exist; there are (?P<others>.+)$")
_CLOSED = re.compile(r"^queue (?P<queue>\S+) is closed")


def queue_unusable(scene: Scene) -> Cause | None:
    """The queue that the job names is not there, or is closed."""
    for pod in scene.waiting:
        said = str(unscheduled(pod).get("message", ""))
        if found := _GONE.match(said):
            name, others = found["queue"], found["others"].rstrip(".")
            what = f"there is no queue {name} for the pods of {stage(pod)}; there are {others}"
            return _cause("QueueUnusable", pod, name, (what, f"create the Queue {name}, or name another one"))
        if found := _CLOSED.match(said):
            name = found["queue"]
            what = f"the queue {name}, which the pods of {stage(pod)} wait in, is closed"
            return _cause("QueueUnusable", pod, name, (what, "open it again, or name another queue"))
    return None


def queue_full(scene: Scene) -> Cause | None:
    """The queue holds as much as it may, or never may hold enough."""
    for pod in scene.waiting:
        found = _FULL.match(str(unscheduled(pod).get("message", "")))
        if found is None:
            continue
        name, resource = found["queue"], found["name"]
        raise_it = f"raise spec.capability: kubectl edit queue {name}"
        try:
            most, held, wanted = (parse(found[key]) for key in ("most", "held", "wanted"))
        except QuantityError:
            continue
        asks = f"{stage(pod)} asks for {amount(resource, wanted)}"
        if wanted.nano > most.nano:
            what = f"the queue {name} may hold {amount(resource, most)} at most, and {asks}"
            return _cause("QueueFull", pod, name, (what, f"ask for less, use another queue, or {raise_it}"))
        what = f"the queue {name} may hold {amount(resource, most)}: {held} are held, and {asks} more"
        return _cause(
            "QueueFull", pod, name, (what, f"wait for other jobs of {name} to end, ask for less, or {raise_it}")
        )
    return None


def _cause(id_: str, pod: Raw, queue: str, words: tuple[str, str]) -> Cause:
    since = time_of(unscheduled(pod).get("lastTransitionTime"))
    return Cause(id_, *words, since, (Ref(VOLCANO, "Queue", "", queue), Ref.of(pod)))
