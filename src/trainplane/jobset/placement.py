"""Exclusive placement of pods: the first pod of a Job finds a free part of the cluster, the others follow it there."""

from collections.abc import Callable, Iterator
from datetime import datetime

from trainplane.api.batch import COMPLETION_INDEX
from trainplane.api.jobset import (
    EXCLUSIVE_TOPOLOGY,
    JOB_INDEX,
    JOB_KEY,
    JOBSET_NAME,
    NODE_SELECTOR,
    PRIORITY,
    REPLICATED_JOB_NAME,
)
from trainplane.api.meta import Raw
from trainplane.api.problem import Problem
from trainplane.api.raw import look, put
from trainplane.api.times import stamp
from trainplane.jobset import change_rules as rules
from trainplane.jobset.fields import annotation, label, name_of, namespace_of, uid_of
from trainplane.reconcile.controller import Controller
from trainplane.reconcile.decision import NOTHING, Action, Decision, Delete, Patch
from trainplane.reconcile.view import Ref, View

ENDED = ("Failed", "Succeeded")
VIOLATION = "ExclusivePlacementViolation"


class Misplaced(Exception):
    """The place of a pod cannot be told, and why."""


def default_pod(pod: Raw, view: View) -> Raw:
    """A pod as it is created: its priority as a label, and its place; Misplaced where a node lacks the label asked for.

    The first pod keeps away from other Jobs' pods; the others are sent where the first is, once it has a node.
    """
    if annotation(pod, JOBSET_NAME) is None or annotation(pod, NODE_SELECTOR) is not None:
        return pod
    priority = look(pod, "spec", "priority")
    if priority is not None:
        pod = put(pod, ("metadata", "labels", PRIORITY), str(priority))
    topology = annotation(pod, EXCLUSIVE_TOPOLOGY)
    if topology is None:
        return pod
    if is_leader(pod):
        return kept_apart(pod, topology)
    leader = leader_of(pod, view)
    if isinstance(leader, str) or not look(leader, "spec", "nodeName"):
        return pod
    sent: Raw = put(pod, ("spec", "nodeSelector", topology), domain(leader, topology, view))
    return sent


def validate_pod(pod: Raw, view: View) -> Iterator[Problem]:
    """Why a pod cannot be created yet; whoever made it tries again."""
    topology = annotation(pod, EXCLUSIVE_TOPOLOGY)
    if annotation(pod, JOBSET_NAME) is None or annotation(pod, NODE_SELECTOR) is not None or topology is None:
        return
    if is_leader(pod):
        return
    path, wait = ("spec", "nodeSelector"), "wait until the first pod of the Job has a node"
    leader = leader_of(pod, view)
    if isinstance(leader, str):
        yield Problem(rules.NOT_PLACED, path, leader, wait)
    elif not look(leader, "spec", "nodeName"):
        yield Problem(rules.NOT_PLACED, path, f"the first pod of the Job, {name_of(leader)}, has no node yet", wait)
    elif topology not in (look(pod, "spec", "nodeSelector") or {}):
        yield Problem(rules.NOT_PLACED, path, f"the pod does not say which {topology} it goes to", wait)


def admit_default(new: Raw, old: Raw | None, lookup: object, *, now: datetime, see: Callable[[Raw], View]) -> Raw:
    """`default_pod` in the form of admission; `see` shows a Job's other pods and their nodes, where they matter."""
    del lookup, now
    if old is not None:
        return new
    try:
        return default_pod(new, see(new) if annotation(new, EXCLUSIVE_TOPOLOGY) is not None else View())
    except Misplaced:
        # The pod is refused for it in a moment, with the reason.
        return new


def admit_validate(new: Raw, old: Raw | None, lookup: object, *, see: Callable[[Raw], View]) -> Iterator[Problem]:
    """`validate_pod` in the form of admission, with what kept `default_pod` from telling the place."""
    del lookup
    if old is not None or annotation(new, EXCLUSIVE_TOPOLOGY) is None:
        return
    try:
        default_pod(new, see(new))
    except Misplaced as misplaced:
        yield Problem(rules.NOT_PLACED, ("spec", "nodeSelector"), str(misplaced))
        return
    yield from validate_pod(new, see(new))


def is_leader(pod: Raw) -> bool:
    """Whether this is the first pod of its Job."""
    return annotation(pod, COMPLETION_INDEX) == "0"


def kept_apart(pod: Raw, topology: str) -> Raw:
    """The first pod, drawn to pods of its own Job and away from those of others of the same priority, anywhere."""
    own = label(pod, JOB_KEY)
    together = {"key": JOB_KEY, "operator": "In", "values": [own]}
    apart = [{"key": JOB_KEY, "operator": "Exists"}, {"key": JOB_KEY, "operator": "NotIn", "values": [own]}]
    if priority := label(pod, PRIORITY):
        apart.append({"key": PRIORITY, "operator": "In", "values": [priority]})
    for kind, expressions in (("podAffinity", [together]), ("podAntiAffinity", apart)):
        path = ("spec", "affinity", kind, "requiredDuringSchedulingIgnoredDuringExecution")
        term = {
            "labelSelector": {"matchExpressions": expressions},
            "topologyKey": topology,
            "namespaceSelector": {},
        }
        pod = put(pod, path, [*(look(pod, *path) or ()), term])
    return pod


def leader_of(pod: Raw, view: View) -> Raw | str:
    """The first pod of the same Job, or why it cannot be told."""
    parts = [label(pod, key) for key in (JOBSET_NAME, REPLICATED_JOB_NAME, JOB_INDEX)]
    if not all(parts):
        return "the pod lacks labels of its JobSet, so its Job's first pod cannot be found"
    name = f"{'-'.join(parts)}-0"
    found = [
        raw
        for raw in view.all("", "Pod", namespace=namespace_of(pod))
        if name_of(raw).rpartition("-")[0] == name
        and not raw["metadata"].get("deletionTimestamp")
        and look(raw, "status", "phase") not in ENDED
    ]
    if len(found) != 1:
        return f"there {'is no pod' if not found else f'are {len(found)} pods'} {name} to follow"
    owner = controller_uid(pod)
    if not owner or controller_uid(found[0]) != owner:
        return f"the pod {name_of(found[0])} belongs to another Job"
    return found[0]


def controller_uid(raw: Raw) -> str:
    """The uid of the object that controls this one, or ""."""
    owners = raw["metadata"].get("ownerReferences") or ()
    return next((str(one["uid"]) for one in owners if one.get("controller")), "")


def domain(leader: Raw, topology: str, view: View) -> str:
    """The part of the cluster in which the first pod is."""
    name = leader["spec"]["nodeName"]
    node = view.get(Ref("", "Node", "", name))
    if node is None:
        raise Misplaced(f"the node {name} of {name_of(leader)} does not exist; the pod is tried again")
    found = label(node, topology)
    if not found:
        raise Misplaced(f"the node {name} has no label {topology}; label it, or ask for another topology")
    return found


def reconcile(pod: Raw, view: View, now: datetime) -> Decision:
    """The pods of a Job deleted that went elsewhere than its first pod: they are made anew, and follow it."""
    topology = annotation(pod, EXCLUSIVE_TOPOLOGY)
    if topology is None or annotation(pod, NODE_SELECTOR) is not None or not is_leader(pod):
        return NOTHING
    if not look(pod, "spec", "nodeName") or pod["metadata"].get("deletionTimestamp"):
        return NOTHING
    others = followers(pod, view)
    if not others:
        return NOTHING
    place = domain(pod, topology, view)
    if all((look(raw, "spec", "nodeSelector") or {}).get(topology) == place for raw in others):
        return NOTHING
    actions: list[Action] = []
    for raw in others:
        told = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": VIOLATION,
            "message": f"the pod is not in the {topology} of the first pod of its Job, {place}",
            "lastTransitionTime": stamp(now),
        }
        patch = {"status": {"conditions": [told]}}
        actions.append(Patch(Ref.of(raw), patch, uid_of(raw), subresource="status", keyed=True))
        actions.append(Delete(Ref.of(raw), uid_of(raw)))
    return Decision.of(actions)


def followers(leader: Raw, view: View) -> list[Raw]:
    """The other pods of the first pod's Job that are there to stay."""
    owner = controller_uid(leader)
    return [
        raw
        for raw in view.controlled_by(owner)
        if raw["kind"] == "Pod"
        and label(raw, JOB_KEY) == label(leader, JOB_KEY)
        and uid_of(raw) != uid_of(leader)
        and not raw["metadata"].get("deletionTimestamp")
    ]


def leaders(raw: Raw, view: View) -> Iterator[Ref]:
    """The first pod of the Job of this pod: a pod that comes after it wants a look at both."""
    if annotation(raw, EXCLUSIVE_TOPOLOGY) is not None and not is_leader(raw):
        leader = leader_of(raw, view)
        if not isinstance(leader, str):
            yield Ref.of(leader)


PLACEMENT = Controller(
    name="jobset-placement",
    group="",
    kind="Pod",
    reconcile=reconcile,
    cares=lambda pod, _view: annotation(pod, EXCLUSIVE_TOPOLOGY) is not None,
    watches=((("", "Pod"), leaders), (("", "Node"), lambda _raw, _view: ())),
)
"""Watches over exclusively placed pods; nodes are named so that they are in its View."""
