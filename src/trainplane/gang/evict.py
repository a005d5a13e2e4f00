"""Evictions: victims are told why and deleted with their grace, and the pods they make room for where it will be."""

from collections.abc import Iterator
from datetime import datetime

from trainplane.api.meta import Raw
from trainplane.api.times import stamp
from trainplane.gang.fit import Pod
from trainplane.gang.gangs import Gang
from trainplane.gang.preempt import Preemption
from trainplane.reconcile.decision import Action, Delete, Patch, Record

TARGET = "DisruptionTarget"


def evictions(gang: Gang, chosen: Preemption, now: datetime) -> Iterator[Action]:
    """All that is done so that the gang has room."""
    who = gang.waiting[0].scheduler or "default-scheduler"
    for victim in chosen.victims:
        for pod in victim.pods:
            yield Patch(pod.ref, {"status": {"conditions": _conditions(pod, who, now)}}, pod.uid, "status")
            yield Delete(pod.ref, pod.uid)
            yield Record(pod.ref, "Normal", "Preempted", f"Preempted by {gang.name} of priority {gang.priority}")
    for pod, node in chosen.placed:
        if (pod.raw.get("status") or {}).get("nominatedNodeName") != node.name:
            yield Patch(pod.ref, {"status": {"nominatedNodeName": node.name}}, pod.uid, "status")


def _conditions(pod: Pod, who: str, now: datetime) -> list[Raw]:
    new = {
        "type": TARGET,
        "status": "True",
        "reason": "PreemptionByScheduler",
        "message": f"{who}: preempting to accommodate a higher priority pod",
        "lastProbeTime": None,
        "lastTransitionTime": stamp(now),
    }
    return [*(one for one in (pod.raw.get("status") or {}).get("conditions") or () if one.get("type") != TARGET), new]
