"""Eviction: pods leave nodes that are lost or that they do not tolerate, and pods of nodes that are gone end."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from trainplane.api.conditions import condition
from trainplane.api.core import DISRUPTION_TARGET, FAILED, READY, SUCCEEDED
from trainplane.api.meta import Raw
from trainplane.api.nodes import NOT_READY, UNREACHABLE
from trainplane.api.raw import look, uid_of
from trainplane.api.times import moment
from trainplane.reconcile.controller import Controller
from trainplane.reconcile.decision import NOTHING, Action, Decision, Delete, Record, SetStatus
from trainplane.reconcile.view import Ref, View
from trainplane.upkeep.conditions import with_condition

DEFAULT_PATIENCE = timedelta(seconds=300)
"""How long a pod that says nothing stays on a node that is not ready or not reachable; admission writes the same."""
QUARANTINE = timedelta(seconds=40)
"""How long a pod is kept whose node is not there: the node may be new."""


def reconcile(pod: Raw, view: View, now: datetime) -> Decision:
    """What becomes of one pod for its node's sake."""
    if not is_on_node(pod, view):
        return NOTHING
    node = view.get(Ref("", "Node", "", pod["spec"]["nodeName"]))
    if node is None:
        return without_node(pod, now)
    marked = not_ready(pod, node, now)
    if pod["metadata"].get("deletionTimestamp"):
        return Decision.of(marked)
    taints = [taint for taint in look(node, "spec", "taints") or () if taint.get("effect") == "NoExecute"]
    left = patience(taints, look(pod, "spec", "tolerations") or (), now)
    if left is None:
        return Decision.of(marked)
    if left > timedelta(0):
        return Decision.of(marked, again=left)
    message = "Taint manager: deleting due to NoExecute taint"
    ref = Ref.of(pod)
    return Decision.of(
        [
            SetStatus(ref, disrupted(pod, "DeletionByTaintManager", message, now), uid_of(pod)),
            Record(ref, "Normal", "TaintManagerEviction", f"Marking for deletion Pod {ref.namespace}/{ref.name}"),
            Delete(ref, uid_of(pod)),
        ]
    )


def is_on_node(pod: Raw, _view: View) -> bool:
    """Whether a pod has a node and has not ended."""
    return bool(look(pod, "spec", "nodeName")) and look(pod, "status", "phase") not in (SUCCEEDED, FAILED)


def is_in_danger(pod: Raw, view: View) -> bool:
    """Whether a pod may have to leave: a change of a node that is well now wakes its pods."""
    if not is_on_node(pod, view):
        return False
    node = view.get(Ref("", "Node", "", pod["spec"]["nodeName"]))
    return node is None or not is_well(node)


def is_well(node: Raw) -> bool:
    """Whether a node is ready and sends nobody away."""
    ready = (condition(node.get("status") or {}, READY) or {}).get("status") == "True"
    return ready and not any(one.get("effect") == "NoExecute" for one in look(node, "spec", "taints") or ())


def without_node(pod: Raw, now: datetime) -> Decision:
    """A pod whose node is gone has failed, and nobody is left to stop its containers: it goes at once."""
    since = look(pod, "status", "startTime") or pod["metadata"].get("creationTimestamp")
    left = moment(since) + QUARANTINE - now if since else timedelta(0)
    if left > timedelta(0):
        return Decision(again=left)
    status = {**disrupted(pod, "DeletionByPodGC", "PodGC: node no longer exists", now), "phase": FAILED}
    return Decision((SetStatus(Ref.of(pod), status, uid_of(pod)), Delete(Ref.of(pod), uid_of(pod))))


def not_ready(pod: Raw, node: Raw, now: datetime) -> list[Action]:
    """A pod on a node that is not ready is not ready either: its Service must not send anybody there."""
    ready = condition(pod.get("status") or {}, READY)
    if (condition(node.get("status") or {}, READY) or {}).get("status") == "True":
        return []
    if ready is None or ready.get("status") != "True":
        return []
    status = with_condition(pod["status"], {"type": READY, "status": "False"}, now)
    return [
        SetStatus(Ref.of(pod), status, uid_of(pod)),
        Record(Ref.of(pod), "Warning", "NodeNotReady", "Node is not ready"),
    ]


def patience(taints: Iterable[Raw], tolerations: Iterable[Mapping[str, Any]], now: datetime) -> timedelta | None:
    """How long the pod may still stay on a node with these NoExecute taints; None for ever."""
    tolerations = list(tolerations)
    left = [stay(taint, tolerations, now) for taint in taints]
    return min((one for one in left if one is not None), default=None)


def stay(taint: Raw, tolerations: list[Mapping[str, Any]], now: datetime) -> timedelta | None:
    """How long one taint still lets the pod stay; None for ever."""
    since = moment(taint["timeAdded"]) if taint.get("timeAdded") else now
    met = [one for one in tolerations if tolerates(one, taint)]
    if not met:
        return since + DEFAULT_PATIENCE - now if taint["key"] in (NOT_READY, UNREACHABLE) else timedelta(0)
    limits = [int(one["tolerationSeconds"]) for one in met if one.get("tolerationSeconds") is not None]
    # Of several tolerations that limit the stay the shortest counts; where none does, the pod stays.
    return since + timedelta(seconds=max(0, min(limits))) - now if limits else None


def tolerates(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    """Whether a toleration is about this taint."""
    if toleration.get("effect") not in (None, "", taint["effect"]):
        return False
    if toleration.get("key") not in (None, "", taint["key"]):
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return True
    return bool(toleration.get("key")) and (toleration.get("value") or "") == (taint.get("value") or "")


def disrupted(pod: Raw, reason: str, message: str, now: datetime) -> Raw:
    """The pod's status, saying that it was sent away and did not fail by itself."""
    entry = {"type": DISRUPTION_TARGET, "status": "True", "reason": reason, "message": message}
    return with_condition(pod.get("status") or {}, entry, now)


def on_node(node: Raw, view: View) -> Iterator[Ref]:
    """The pods of a node that is gone, not ready, or sends pods away; those of a node that is well stay asleep."""
    name = node["metadata"]["name"]
    if view.has(Ref.of(node)) and is_well(node):
        return
    yield from map(Ref.of, view.pods_on(name))


EVICTION = Controller(
    name="eviction",
    group="",
    kind="Pod",
    reconcile=reconcile,
    cares=is_in_danger,
    watches=((("", "Node"), on_node),),
    reports_as="taint-eviction-controller",
)
"""The controller of pods on nodes that are lost, gone or not tolerated."""
