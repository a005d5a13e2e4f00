"""What a PodGroup says of its pods: phases and counts as coscheduling and Volcano have them."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from trainplane.api.meta import Raw
from trainplane.api.times import stamp
from trainplane.gang.fit import VOLCANO, Pod

STICKY = ("Finished", "Failed")


def status(group: Raw, pods: Iterable[Pod], api: str, now: datetime) -> Raw:
    """The status that the PodGroup should have now."""
    return volcano(group, list(pods), now) if api == VOLCANO else coscheduling(group, list(pods), now)


def coscheduling(group: Raw, pods: list[Pod], now: datetime) -> Raw:
    """The status as the controller of coscheduling writes it; Finished and Failed stay."""
    old: Raw = group.get("status") or {}
    if old.get("phase") in STICKY:
        return old
    least = (group.get("spec") or {}).get("minMember") or 1
    phases = Counter(pod.phase for pod in pods)
    running, succeeded, failed = (phases[word] for word in ("Running", "Succeeded", "Failed"))
    if len(pods) < least:
        phase = "Pending"
    elif succeeded >= least:
        phase = "Finished"
    elif failed and failed + running + succeeded >= least:
        phase = "Failed"
    else:
        phase = "Running" if succeeded + running >= least else "Scheduling"
    new = {**old, "phase": phase}
    for name, count in (("running", running), ("succeeded", succeeded), ("failed", failed)):
        new.pop(name, None)
        if count:
            new[name] = count
    if phase != "Pending":
        new.setdefault("scheduleStartTime", _stamp(now))
        if not new.get("occupiedBy") and (owners := occupied_by(pods)):
            new["occupiedBy"] = owners
    return new


def occupied_by(pods: list[Pod]) -> str:
    """Who owns the first pod, as `namespace/name`, in order."""
    first = min(pods, key=lambda pod: pod.ref)
    owners = first.raw["metadata"].get("ownerReferences") or ()
    return ",".join(sorted(f"{first.namespace}/{owner['name']}" for owner in owners))


def volcano(group: Raw, pods: list[Pod], now: datetime) -> Raw:
    """The status as Volcano writes it."""
    old: Raw = group.get("status") or {}
    least = (group.get("spec") or {}).get("minMember") or 1
    phases = Counter(pod.phase for pod in pods)
    running, succeeded, failed = (phases[word] for word in ("Running", "Succeeded", "Failed"))
    unplaced = sum(not pod.node for pod in pods)
    if old.get("phase") == "Completed" or (pods and succeeded >= least and not running and not unplaced):
        phase = "Completed"
    elif running and running + succeeded < least and unplaced:
        phase = "Unknown"
    elif running and running + succeeded >= least:
        phase = "Running"
    else:
        phase = "Inqueue" if len(pods) >= least else "Pending"
    new = {**old, "phase": phase}
    for name, count in (("running", running), ("succeeded", succeeded), ("failed", failed)):
        new.pop(name, None)
        if count:
            new[name] = count
    scheduled = sum(bool(pod.node) and pod.phase != "Failed" for pod in pods) >= least
    if scheduled and not any(one.get("type") == "Scheduled" for one in old.get("conditions") or ()):
        said = {"type": "Scheduled", "status": "True", "reason": "tasks in gang are ready to be scheduled"}
        new["conditions"] = [*(old.get("conditions") or ()), {**said, "lastTransitionTime": _stamp(now)}]
    return new


def _stamp(now: datetime) -> str:
    return stamp(now)
