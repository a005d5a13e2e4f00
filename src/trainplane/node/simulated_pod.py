"""A simulated pod: from its script, its last status and the time to its next status, and when that changes again."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from zlib import crc32

from trainplane.api.batch import COMPLETION_INDEX
from trainplane.api.core import CONTAINERS_READY, FAILED, INITIALIZED, PENDING, READY, RUNNING, SUCCEEDED
from trainplane.api.jobset import JOB_RESTART_ATTEMPT, RESTART_ATTEMPT
from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.api.times import moment, stamp
from trainplane.node.script import KILLED, Script, Unreadable, script_of
from trainplane.node.simulated_settings import WAITS, lacking
from trainplane.reconcile.view import View

TERMINATED = 143
"""The exit code of a program that was asked to stop, and did."""
BACK_OFF, MOST_BACK_OFF = timedelta(seconds=10), timedelta(minutes=5)
"""How long a container waits that is started for the third time; twice as long each time, up to the most."""
AT_ONCE = 100
"""How many runs of a container are caught up with in one look."""
STARTED_CONDITION = "PodReadyToStartContainers"


class Step(NamedTuple):
    """The next status of a pod, and when it changes again; None is never."""

    status: Raw
    next: datetime | None = None


class Play(NamedTuple):
    """One pod on its node: what it is to do, which try of it this is, and the time."""

    pod: Raw
    script: Script
    attempt: int
    now: datetime

    @property
    def spec(self) -> Mapping[str, Any]:
        """The pod's spec."""
        found: Mapping[str, Any] = self.pod["spec"]
        return found

    @property
    def rank(self) -> int | None:
        """The pod's completion index."""
        text = str(look(self.pod, "metadata", "annotations", COMPLETION_INDEX) or "")
        return int(text) if text.isdigit() else None


def step(pod: Raw, view: View, *, host: str, now: datetime) -> Step:
    """The next status of a pod that is on a node and has not ended."""
    old: Raw = pod.get("status") or {}
    base = {**old, "phase": PENDING, "startTime": old.get("startTime") or stamp(now)}
    if host:
        base |= {"hostIP": host, "hostIPs": [{"ip": host}]}
    started = moment(base["startTime"])
    try:
        script = script_of(pod)
    except Unreadable as error:
        return Step(waiting(pod, base, "CreateContainerConfigError", str(error), now=now))
    if script.image_pull_failure:
        image = pod["spec"]["containers"][0].get("image", "")
        return Step(waiting(pod, base, "ImagePullBackOff", f'Back-off pulling image "{image}"', now=now))
    if missing := lacking(pod, view):
        return Step(waiting(pod, base, WAITS, missing, now=now))
    play = Play(pod, script, attempt_of(pod, view) if script.fail_attempts else 1, now)
    limit = pod["spec"].get("activeDeadlineSeconds")
    end = None if limit is None else started + timedelta(seconds=limit)
    if end is not None and end <= now:
        message = "Pod was active on the node longer than the specified deadline"
        over = stopped(pod, now=now, code=KILLED)
        return Step({**over, "reason": "DeadlineExceeded", "message": message})
    ready = started + timedelta(seconds=script.start_seconds)
    if ready > now:
        return Step(waiting(pod, base, "ContainerCreating", "", now=now), soonest([ready, end]))
    done = run(play, base, ready)
    return Step(done.status, soonest([done.next, end]))


def run(play: Play, base: Raw, cursor: datetime) -> Step:
    """The status of a pod whose first container is started at a time."""
    base |= address(play.pod)
    inits: list[Raw] = []
    length = timedelta(seconds=play.script.init_seconds)
    containers = play.spec.get("initContainers") or ()
    for i, container in enumerate(containers):
        if container.get("restartPolicy") == "Always":
            inits.append(running(container, cursor))
        elif cursor + length > play.now:
            inits.append({**running(container, cursor), "ready": False})
            inits += [held(one, "PodInitializing") for one in containers[i + 1 :]]
            mains = [held(one, "PodInitializing") for one in play.spec["containers"]]
            status = {**base, "initContainerStatuses": inits, "containerStatuses": mains}
            return Step(told(status, {STARTED_CONDITION}, now=play.now), cursor + length)
        else:
            inits.append(ended(container, cursor, cursor + length))
            cursor += length
    return main(play, base, inits, cursor)


def main(play: Play, base: Raw, inits: list[Raw], cursor: datetime) -> Step:
    """The status of a pod whose init containers are done."""
    before = {one["name"]: one for one in base.get("containerStatuses") or ()}
    found = [perform(play, one, before.get(one["name"], {}), cursor) for one in play.spec["containers"]]
    statuses = [status for status, _ in found]
    ends = [look(one, "state", "terminated") for one in statuses]
    both = {"initContainerStatuses": inits} if inits else {}
    status = {**base, **both, "containerStatuses": statuses}
    if all(ends):
        latest = max(moment(end["finishedAt"]) for end in ends)
        sidecars = {one["name"] for one in play.spec.get("initContainers") or () if one.get("restartPolicy")}
        if inits:
            status["initContainerStatuses"] = [
                ended(one, cursor, latest) if one["name"] in sidecars else one for one in inits
            ]
        bad = any(end["exitCode"] for end in ends)
        return Step(told({**status, "phase": FAILED if bad else SUCCEEDED}, {STARTED_CONDITION}, now=play.now))
    true = {STARTED_CONDITION, INITIALIZED}
    if all(one["ready"] for one in statuses):
        true |= {CONTAINERS_READY, READY}
    return Step(told({**status, "phase": RUNNING}, true, now=play.now), soonest(at for _, at in found))


def perform(play: Play, container: Raw, old: Raw, cursor: datetime) -> tuple[Raw, datetime | None]:
    """The status of a container, through as many runs as there was time for, and when it changes next."""
    restarts, last = int(old.get("restartCount", 0)), look(old, "lastState", "terminated")
    begun = look(old, "state", "running", "startedAt")
    begins = moment(begun) if begun else moment(last["finishedAt"]) + back_off(restarts) if last else cursor
    for _ in range(AT_ONCE):
        if begins > play.now:
            return crashed(container, restarts, last or {}), begins
        end = None if play.script.length is None else begins + play.script.length
        if end is None or end > play.now:
            return running(container, begins, restarts=restarts, last=last), end
        is_bad = play.script.fails(rank=play.rank, attempt=play.attempt + restarts)
        code = play.script.exit_code if is_bad else 0
        state = termination(play.script if is_bad else None, code, begins, end)
        policy = play.spec.get("restartPolicy", "Always")
        if policy == "Never" or (policy == "OnFailure" and not code):
            return {**blank(container, restarts, last), "state": {"terminated": state}}, None
        restarts, last = restarts + 1, state
        begins = end + back_off(restarts)
    return crashed(container, restarts, last or {}), play.now + BACK_OFF


def stopped(pod: Raw, *, now: datetime, code: int) -> Raw:
    """The status of a pod whose containers were stopped."""
    status: Raw = pod.get("status") or {}
    for field in ("containerStatuses", "initContainerStatuses"):
        if status.get(field):
            status = {**status, field: [halted(one, now, code) for one in status[field]]}
    return told({**status, "phase": FAILED}, set(), now=now)


def halted(status: Raw, now: datetime, code: int) -> Raw:
    """The status of a container that was stopped; one that had ended stays as it was."""
    if look(status, "state", "terminated"):
        return status
    begun = look(status, "state", "running", "startedAt")
    state = {"exitCode": code if begun else KILLED, "reason": "Error" if begun else "ContainerStatusUnknown"}
    state |= {"startedAt": begun or stamp(now), "finishedAt": stamp(now)}
    return {**status, "ready": False, "started": False, "state": {"terminated": state}}


def attempt_of(pod: Raw, view: View) -> int:
    """Which try of its work a pod is: the JobSet's restarts count, and the pods of its Job that failed before it."""
    labels, rank = pod["metadata"].get("labels") or {}, look(pod, "metadata", "annotations", COMPLETION_INDEX)
    restarts = sum(int(labels.get(key) or 0) for key in (RESTART_ATTEMPT, JOB_RESTART_ATTEMPT))
    owner = next((one["uid"] for one in pod["metadata"].get("ownerReferences") or () if one.get("controller")), "")
    failed = [
        one
        for one in (view.controlled_by(owner) if owner else ())
        if one["kind"] == "Pod"
        and look(one, "status", "phase") == FAILED
        and look(one, "metadata", "annotations", COMPLETION_INDEX) == rank
        and one["metadata"].get("uid") != pod["metadata"].get("uid")
    ]
    return 1 + restarts + len(failed)


def waiting(pod: Raw, base: Raw, reason: str, message: str, *, now: datetime) -> Raw:
    """The status of a pod of which no container was started yet."""
    spec, first = pod["spec"], pod["spec"].get("initContainers") or ()
    mains = [held(one, "PodInitializing" if first else reason, "" if first else message) for one in spec["containers"]]
    status = {**base, "containerStatuses": mains}
    if first:
        inits = [
            held(one, reason if i == 0 else "PodInitializing", message if i == 0 else "") for i, one in enumerate(first)
        ]
        status["initContainerStatuses"] = inits
    return told(status, set() if first else {INITIALIZED}, now=now)


def held(container: Raw, reason: str, message: str = "") -> Raw:
    """The status of a container that is not started yet."""
    state = {"reason": reason, **({"message": message} if message else {})}
    return {**blank(container), "state": {"waiting": state}}


def crashed(container: Raw, restarts: int, last: Raw) -> Raw:
    """The status of a container that will be started again."""
    text = f"back-off {int(back_off(restarts).total_seconds())}s restarting failed container={container['name']}"
    return {**blank(container, restarts, last), "state": {"waiting": {"reason": "CrashLoopBackOff", "message": text}}}


def running(container: Raw, since: datetime, *, restarts: int = 0, last: Raw | None = None) -> Raw:
    """The status of a container that runs."""
    state = {"running": {"startedAt": stamp(since)}}
    return {**blank(container, restarts, last), "ready": True, "started": True, "state": state}


def ended(container: Raw, begun: datetime, end: datetime) -> Raw:
    """The status of a container that ended well."""
    return {**blank(container), "ready": True, "state": {"terminated": termination(None, 0, begun, end)}}


def termination(script: Script | None, code: int, begun: datetime, end: datetime) -> Raw:
    """How a container ended."""
    reason = (script.reason if script else "") or ("Error" if code else "Completed")
    message = {"message": script.message} if script and script.message else {}
    return {"exitCode": code, "reason": reason, **message, "startedAt": stamp(begun), "finishedAt": stamp(end)}


def blank(container: Raw, restarts: int = 0, last: Raw | None = None) -> Raw:
    """What every status of a container says."""
    image = container.get("image", "")
    return {
        "name": container["name"],
        "image": image,
        "imageID": f"simulated://{image}",
        "ready": False,
        "started": False,
        "restartCount": restarts,
        "lastState": {"terminated": last} if last else {},
    }


def told(status: Raw, true: set[str], *, now: datetime) -> Raw:
    """The status with its conditions; one keeps its time as long as it stays what it is."""
    old = {one["type"]: one for one in status.get("conditions") or ()}
    over = {SUCCEEDED: "PodCompleted", FAILED: "PodFailed"}.get(status["phase"], "")
    mine = []
    for type_ in (STARTED_CONDITION, INITIALIZED, READY, CONTAINERS_READY):
        value = "True" if type_ in true or (type_ == INITIALIZED and over == "PodCompleted") else "False"
        was = old.pop(type_, {})
        since = was.get("lastTransitionTime") if was.get("status") == value else None
        why = over if over and type_ != STARTED_CONDITION else "" if value == "True" else _UNREADY.get(type_, "")
        entry = {"type": type_, "status": value, "lastProbeTime": None, "lastTransitionTime": since or stamp(now)}
        mine.append({**entry, "reason": why} if why else entry)
    return {**status, "conditions": [*mine, *old.values()]}


_UNREADY = {
    INITIALIZED: "ContainersNotInitialized",
    READY: "ContainersNotReady",
    CONTAINERS_READY: "ContainersNotReady",
}


def address(pod: Raw) -> Raw:
    """An address of the pod's own, out of ten million: drawn from its uid, so that it is the same at every look."""
    if look(pod, "status", "podIP"):
        return {}
    number = crc32(str(pod["metadata"].get("uid", "")).encode()) % (1 << 24)
    ip = f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
    return {"podIP": ip, "podIPs": [{"ip": ip}]}


def back_off(restarts: int) -> timedelta:
    """How long a container waits before it is started for the n-th time again; the first time not at all."""
    return timedelta(0) if restarts <= 1 else min(MOST_BACK_OFF, BACK_OFF * 2 ** min(restarts - 2, 10))


def soonest(moments: Iterable[datetime | None]) -> datetime | None:
    """The first of some moments."""
    return min((one for one in moments if one is not None), default=None)
