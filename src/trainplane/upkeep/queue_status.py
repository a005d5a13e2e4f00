"""Queues that say of themselves how many gangs wait in them and run from them, and what those hold."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime

from trainplane.api.core import FAILED, SUCCEEDED
from trainplane.api.meta import Raw
from trainplane.api.quantity import Amount, QuantityError, total
from trainplane.api.raw import look
from trainplane.api.requests import pod_requests
from trainplane.api.scheduling import (
    DEFAULT_QUEUE,
    GROUP_NAME_ANNOTATION,
    POD_GROUP_LABEL,
    QUEUE_NAME_ANNOTATION,
    VOLCANO_GROUP_NAME_ANNOTATION,
)
from trainplane.reconcile.controller import Controller
from trainplane.reconcile.decision import NOTHING, Decision, SetStatus
from trainplane.reconcile.view import Ref, View

VOLCANO = "scheduling.volcano.sh"
COSCHEDULING = "scheduling.x-k8s.io"
COUNTED = {
    "Pending": "pending",
    "Inqueue": "inqueue",
    "Scheduling": "inqueue",
    "Running": "running",
    "Completed": "completed",
    "Finished": "completed",
}
"""The count to which a gang in each phase belongs; one in any other counts as unknown."""


def reconcile(queue: Raw, view: View, now: datetime) -> Decision:  # noqa: ARG001 - every controller is told the time
    """What a queue's status should say."""
    metadata, old = queue["metadata"], queue.get("status") or {}
    if metadata.get("deletionTimestamp"):
        return NOTHING
    name = metadata["name"]
    groups = [
        raw for kind in (VOLCANO, COSCHEDULING) for raw in view.all(kind, "PodGroup") if queue_of_group(raw) == name
    ]
    counts = Counter(COUNTED.get(look(raw, "status", "phase") or "Pending", "unknown") for raw in groups)
    held = total(asked(pod) for pod in view.all("", "Pod") if is_placed(pod) and queue_of_pod(pod, view) == name)
    allocated = {resource: str(amount) for resource, amount in sorted(held.items()) if amount}
    status: Raw = {"state": old.get("state") or "Open", "allocated": allocated, **counts}
    if "reservation" in old:
        status["reservation"] = old["reservation"]
    if status == old:
        return NOTHING
    return Decision((SetStatus(Ref.of(queue), status, metadata.get("uid", "")),))


def is_placed(pod: Raw) -> bool:
    """Whether a pod holds a part of a node."""
    return bool(look(pod, "spec", "nodeName")) and look(pod, "status", "phase") not in (SUCCEEDED, FAILED)


def asked(pod: Raw) -> dict[str, Amount]:
    """What a pod holds; what cannot be read counts as nothing."""
    try:
        return pod_requests(look(pod, "spec") or {})
    except QuantityError:
        return {}


def queue_of_group(group: Raw) -> str:
    """The queue that a gang is in."""
    said = look(group, "spec", "queue") or look(group, "metadata", "annotations", QUEUE_NAME_ANNOTATION)
    return str(said or DEFAULT_QUEUE)


def queue_of_pod(pod: Raw, view: View) -> str:
    """The queue that a pod came from: its gang's, or the one that it names itself."""
    namespace, labels = pod["metadata"].get("namespace", ""), pod["metadata"].get("labels") or {}
    annotations = pod["metadata"].get("annotations") or {}
    member = annotations.get(GROUP_NAME_ANNOTATION) or annotations.get(VOLCANO_GROUP_NAME_ANNOTATION)
    kind, name = (COSCHEDULING, labels[POD_GROUP_LABEL]) if POD_GROUP_LABEL in labels else (VOLCANO, member)
    group = view.get(Ref(kind, "PodGroup", namespace, str(name))) if name else None
    mine = annotations.get(QUEUE_NAME_ANNOTATION)
    if group is None:
        return str(mine or DEFAULT_QUEUE)
    said = look(group, "spec", "queue") or look(group, "metadata", "annotations", QUEUE_NAME_ANNOTATION)
    return str(said or mine or DEFAULT_QUEUE)


def of_group(group: Raw, view: View) -> Iterator[Ref]:
    """The queue of a gang that has changed, where there is such an object."""
    yield from known(queue_of_group(group), view)


def of_pod(pod: Raw, view: View) -> Iterator[Ref]:
    """The queue of a pod that has changed; most clusters have none, and then nothing is looked up."""
    if any(True for _ in view.all(VOLCANO, "Queue")):
        yield from known(queue_of_pod(pod, view), view)


def known(name: str, view: View) -> Iterator[Ref]:
    """The queue of that name, if it is there."""
    ref = Ref(VOLCANO, "Queue", "", name)
    if view.get(ref) is not None:
        yield ref


QUEUE_STATUS = Controller(
    name="queue-status",
    group=VOLCANO,
    kind="Queue",
    reconcile=reconcile,
    watches=(((VOLCANO, "PodGroup"), of_group), ((COSCHEDULING, "PodGroup"), of_group), (("", "Pod"), of_pod)),
    pause=1.0,
)
"""The controller of what queues say of themselves; it looks once a second at most."""
