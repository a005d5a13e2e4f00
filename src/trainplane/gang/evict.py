"""Evictions: victims are told why and deleted with their grace, and the pods they make room for where it will be."""

from collections.abc import Iterator
from datetime import datetime

from trainplane.api.meta import Raw
from trainplane.api.times import stamp
from trainplane.gang.gangs import Gang
from trainplane.gang.preempt import Preemption
from trainplane.reconcile.decision import Action, Delete, Patch, Record

TARGET = "DisruptionTarget"


def evictions(gang: Gang, chosen: Preemption, now: datetime) -> Iterator[Action]:
    """All that is done so that the gang has room."""
    who = gang.waiting[0].scheduler or "default-scheduler"
    for victim in chosen.victims:
        for pod in victim.pods:
            yield Patch(pod.ref, {"status": {"conditions": [_disrupted(who, now)]}}, pod.uid, "status", keyed=True)
            yield Delete(pod.ref, pod.uid)
            yield Record(pod.ref, "Normal", "Preempted", f"Preempted by {gang.name} of priority {gang.priority}")
    for pod, node in chosen.placed:
        if (pod.raw.get("status") or {}).get("nominatedNodeName") != node.name:
            yield Patch(pod.ref, {"status": {"nominatedNodeName": node.name}}, pod.uid, "status")


def _disrupted(who: str, now: datetime) -> Raw:
    return {
        "type": TARGET,
        "status": "True",
        "reason": "PreemptionByScheduler",
        "message": f"{who}: preempting to accommodate a higher priority pod",
        "lastProbeTime": None,
        "lastTransitionTime": stamp(now),
    }
