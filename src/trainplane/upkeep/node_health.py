"""Node health: a node that is not heard of is marked, and keeps pods away until it is heard of again."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from trainplane.api.conditions import condition
from trainplane.api.core import READY
from trainplane.api.meta import Raw
from trainplane.api.nodes import NODE_LEASE_NAMESPACE, NOT_READY, REMOVING_NODE, UNREACHABLE, UNSCHEDULABLE
from trainplane.api.raw import look
from trainplane.api.times import moment, stamp
from trainplane.reconcile.controller import Controller
from trainplane.reconcile.decision import Action, Decision, Patch, Record, SetStatus
from trainplane.reconcile.view import Ref, View
from trainplane.upkeep.conditions import with_condition

GRACE = timedelta(seconds=50)
"""How long a node may be silent."""
STARTUP_GRACE = timedelta(seconds=60)
"""How long a new node may be silent."""
PRESSURES = {
    "MemoryPressure": "node.kubernetes.io/memory-pressure",
    "DiskPressure": "node.kubernetes.io/disk-pressure",
    "PIDPressure": "node.kubernetes.io/pid-pressure",
    "NetworkUnavailable": "node.kubernetes.io/network-unavailable",
}
"""Conditions that keep new pods away while they are True, and the taints that do it."""
KEPT_BY_NODE = (READY, "MemoryPressure", "DiskPressure", "PIDPressure")
"""The conditions that the node itself reports, and that nobody knows once it is silent."""
OURS = frozenset([NOT_READY, UNREACHABLE, UNSCHEDULABLE, *PRESSURES.values()])
"""The taints that are kept here; all others are left alone."""


def reconcile(node: Raw, view: View, now: datetime) -> Decision:
    """What should be done about one node now; of one that is gone, that is noted: nothing else tells when it went."""
    there = view.get(Ref.of(node))
    if there is None or there["metadata"].get("uid") != node["metadata"].get("uid"):
        said = f"Node {name_of(node)} event: Removing Node {name_of(node)} from Controller"
        return Decision((Record(Ref.of(node), "Normal", REMOVING_NODE, said),))
    if node["metadata"].get("deletionTimestamp"):
        return Decision()
    left = time_left(node, view, now)
    old: Raw = node.get("status") or {}
    status = old if left > timedelta(0) else silent(old, now)
    actions: list[Action] = []
    if status != old:
        actions.append(SetStatus(Ref.of(node), status, node["metadata"].get("uid", "")))
    actions += tainted(node, status, now)
    if is_ready(old) and not is_ready(status):
        actions.append(
            Record(Ref.of(node), "Normal", "NodeNotReady", f"Node {name_of(node)} status is now: NodeNotReady")
        )
    return Decision.of(actions, again=left if left > timedelta(0) else None)


def time_left(node: Raw, view: View, now: datetime) -> timedelta:
    """How long the node may still be silent: by its last report or the renewal of its lease, whichever is later."""
    lease = view.get(Ref("coordination.k8s.io", "Lease", NODE_LEASE_NAMESPACE, name_of(node)))
    ready = condition(node.get("status") or {}, READY) or {}
    heard = [] if gave_up(ready) else [(ready.get("lastHeartbeatTime"), GRACE)]
    # A lease that is good for longer says that the node need not be heard of sooner.
    promised = timedelta(seconds=look(lease, "spec", "leaseDurationSeconds") or 0)
    heard.append((look(lease, "spec", "renewTime"), max(GRACE, promised)))
    moments = [moment(text) + patience for text, patience in heard if text]
    if born := node["metadata"].get("creationTimestamp"):
        moments.append(moment(born) + STARTUP_GRACE)
    return max(moments, default=now) - now


def gave_up(ready: Raw) -> bool:
    """Whether the condition was written here and not by the node; then its times are not the node's."""
    return ready.get("status") == "Unknown" and ready.get("reason") in ("NodeStatusUnknown", "NodeStatusNeverUpdated")


def silent(status: Raw, now: datetime) -> Raw:
    """The status of a node that is not heard of: nobody knows how it is."""
    for type_ in KEPT_BY_NODE:
        old = condition(status, type_)
        if old is None:
            entry = {
                "type": type_,
                "status": "Unknown",
                "reason": "NodeStatusNeverUpdated",
                "message": "Kubelet never posted node status.",
                "lastHeartbeatTime": stamp(now),
            }
            status = with_condition(status, entry, now)
        elif old.get("status") != "Unknown":
            entry = {
                "type": type_,
                "status": "Unknown",
                "reason": "NodeStatusUnknown",
                "message": "Kubelet stopped posting node status.",
            }
            status = with_condition(status, entry, now)
    return status


def tainted(node: Raw, status: Raw, now: datetime) -> Iterator[Patch]:
    """The node's taints brought into line with its conditions."""
    old: list[Raw] = look(node, "spec", "taints") or []
    wanted = list(wanted_taints(node, status))
    kept = [one for one in old if one["key"] not in OURS or (one["key"], one["effect"]) in wanted]
    there = {(one["key"], one["effect"]) for one in kept}
    added = [
        {"key": key, "effect": effect, "timeAdded": stamp(now)} for key, effect in wanted if (key, effect) not in there
    ]
    if added or len(kept) != len(old):
        version = node["metadata"].get("resourceVersion")
        guard = {"metadata": {"resourceVersion": version}} if version and status == (node.get("status") or {}) else {}
        yield Patch(
            Ref.of(node), {**guard, "spec": {"taints": [*kept, *added] or None}}, node["metadata"].get("uid", "")
        )


def wanted_taints(node: Raw, status: Raw) -> Iterator[tuple[str, str]]:
    """Key and effect of the taints that the node's state asks for."""
    ready = condition(status, READY)
    if ready is not None and ready.get("status") != "True":
        key = UNREACHABLE if ready.get("status") == "Unknown" else NOT_READY
        yield key, "NoSchedule"
        yield key, "NoExecute"
    for type_, key in PRESSURES.items():
        if (condition(status, type_) or {}).get("status") == "True":
            yield key, "NoSchedule"
    if look(node, "spec", "unschedulable"):
        yield UNSCHEDULABLE, "NoSchedule"


def is_ready(status: Raw) -> bool:
    """Whether a node's status says that it is ready."""
    return (condition(status, READY) or {}).get("status") == "True"


def name_of(node: Raw) -> str:
    """The node's name."""
    return str(node["metadata"]["name"])


def of_lease(lease: Raw, view: View) -> Iterator[Ref]:
    """The node that a lease is of: it may be heard of again, or the lease may be good for less long than it was."""
    if lease["metadata"].get("namespace") == NODE_LEASE_NAMESPACE:
        ref = Ref("", "Node", "", str(lease["metadata"]["name"]))
        if view.get(ref) is not None:
            yield ref


NODE_HEALTH = Controller(
    name="node-health",
    group="",
    kind="Node",
    reconcile=reconcile,
    watches=((("coordination.k8s.io", "Lease"), of_lease),),
    outlives=True,
    reports_as="node-controller",
)
"""The controller of nodes that are silent, and of the taints that follow from a node's conditions."""
