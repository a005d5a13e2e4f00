"""A pod's status from what its node sees: phase, conditions, and how each container is. Pure."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from trainplane.api.core import (
    CONTAINERS_READY,
    DISRUPTION_TARGET,
    FAILED,
    INITIALIZED,
    PENDING,
    POD_SCHEDULED,
    READY,
    RUNNING,
    SUCCEEDED,
)
from trainplane.api.failure import CONDITION as FAILURE
from trainplane.api.failure import Verdict, ending
from trainplane.api.meta import Raw
from trainplane.api.times import stamp
from trainplane.node.restarts import Pace, back_off_left, is_ephemeral, is_sidecar, restarts
from trainplane.node.seen import KILLED, STATUS_UNKNOWN, Life, Scene, Seen

READY_TO_START = "PodReadyToStartContainers"
CRASH_LOOP = "CrashLoopBackOff"
OWN = (READY_TO_START, INITIALIZED, READY, CONTAINERS_READY, POD_SCHEDULED)
"""The conditions that a node writes, in the order in which it does."""
STATUSES = {
    "initContainers": "initContainerStatuses",
    "containers": "containerStatuses",
    "ephemeralContainers": "ephemeralContainerStatuses",
}
NOT_LOCATED = "The container could not be located when the pod was terminated"
RUNTIME = "trainplane"


def identity(pod: Raw) -> str:
    """The pod as messages name it: name_namespace(uid)."""
    metadata = pod["metadata"]
    return f"{metadata['name']}_{metadata.get('namespace', '')}({metadata.get('uid', '')})"


def phase(pod: Raw, scene: Scene, *, over: bool) -> str:
    """The phase; `over` where nothing of the pod runs or will run again."""
    before = (pod.get("status") or {}).get("phase")
    if before in (SUCCEEDED, FAILED):
        return str(before)
    init, apps = pod["spec"].get("initContainers") or (), pod["spec"]["containers"]
    if scene.doom and over:
        return FAILED
    for container in init:
        seen = scene.of(container["name"])
        if not is_sidecar(container) and seen.has_ended and seen.life and seen.life.code:
            if restarts(pod, container, seen.life):
                return PENDING
            return FAILED if over else PENDING
        waits = not seen.has_ended if not is_sidecar(container) else not seen.life
        if waits and not scene.initialized:
            return FAILED if over else PENDING
    found = [scene.of(container["name"]) for container in apps]
    if over:
        return SUCCEEDED if all(each.life and not each.life.code for each in found) else FAILED
    if any(not each.life for each in found):
        return PENDING
    if any(each.is_running for each in found):
        return RUNNING
    if any(restarts(pod, one, each.life) for one, each in zip(apps, found, strict=True) if each.life):
        return RUNNING
    # Containers that are done leave the pod running as long as its sidecars have not ended.
    return RUNNING if any(scene.of(each["name"]).is_running for each in init) else _ended(found)


def _ended(found: Iterable[Seen]) -> str:
    return SUCCEEDED if all(each.life and not each.life.code for each in found) else FAILED


def status(pod: Raw, scene: Scene, now: datetime, *, over: bool, pace: Pace) -> Raw:
    """The whole status as it is now; conditions that others wrote stay."""
    before, spec = pod.get("status") or {}, pod["spec"]
    new_phase = phase(pod, scene, over=over)
    lost = over and new_phase in (SUCCEEDED, FAILED) and bool(pod["metadata"].get("deletionTimestamp"))
    written: Raw = {name: before[name] for name in ("qosClass", "resize", "nominatedNodeName") if name in before}
    if generation := pod["metadata"].get("generation"):
        written["observedGeneration"] = generation
    written["phase"] = new_phase
    if scene.doom:
        written |= {"reason": scene.doom.reason, "message": scene.doom.message}
    elif before.get("reason") and before.get("phase") == new_phase:
        written |= {name: before[name] for name in ("reason", "message") if name in before}
    if scene.host:
        written |= {"hostIP": scene.host, "hostIPs": [{"ip": scene.host}]}
    if scene.addresses and not spec.get("hostNetwork"):
        written |= {"podIP": scene.addresses[0], "podIPs": [{"ip": address} for address in scene.addresses]}
    elif scene.addresses and scene.host:
        written |= {"podIP": scene.host, "podIPs": [{"ip": scene.host}]}
    written["startTime"] = before.get("startTime") or stamp(now)
    for key, statuses in STATUSES.items():
        if spec.get(key):
            written[statuses] = [
                _container(pod, each, scene.of(each["name"]), now=now, pace=pace, lost=lost, over=over)
                for each in spec[key]
            ]
    written["conditions"] = _conditions(pod, written, scene, now)
    return written


def current(pod: Raw, written: Raw | None) -> Raw:
    """The pod with the status that its node wrote last, and what others have added to it."""
    if written is None:
        return pod
    conditions = (pod.get("status") or {}).get("conditions") or ()
    foreign = [each for each in conditions if each["type"] not in OWN]
    own = [each for each in written["conditions"] if each["type"] in OWN]
    return {**pod, "status": {**written, "conditions": [*foreign, *own]}}


def changes(before: Raw, after: Raw) -> Raw:
    """What is to be written of a status, so that it becomes another one."""
    changed = {key: value for key, value in after.items() if before.get(key) != value}
    changed |= {key: None for key in before if key not in after}
    if "conditions" in changed:
        old = {each["type"]: each for each in before.get("conditions") or ()}
        changed["conditions"] = [each for each in after["conditions"] if old.get(each["type"]) != each]
    return changed


def with_addresses(pod: Raw, scene: Scene) -> Raw:
    """A pod as its containers are told of it: with the addresses that it has got."""
    told = {
        "hostIP": scene.host,
        "hostIPs": [{"ip": scene.host}],
        "podIP": scene.addresses[0] if scene.addresses else "",
        "podIPs": [{"ip": each} for each in scene.addresses],
    }
    return {**pod, "status": {**(pod.get("status") or {}), **told}}


def _container(pod: Raw, container: Raw, seen: Seen, *, now: datetime, pace: Pace, lost: bool, over: bool) -> Raw:
    name, init = container["name"], pod["spec"].get("initContainers") or ()
    regular_init = any(each is container for each in init) and not is_sidecar(container)
    started = seen.is_running and (seen.started or not container.get("startupProbe"))
    is_ready = started and (seen.ready or not container.get("readinessProbe"))
    if regular_init:
        is_ready = bool(seen.has_ended and seen.life and not seen.life.code)
    elif is_ephemeral(pod, container):
        is_ready = False
    state, last = _states(pod, container, seen, now=now, pace=pace, over=over)
    if lost and "waiting" in state:
        state = {
            "terminated": {
                "exitCode": KILLED,
                "reason": STATUS_UNKNOWN,
                "message": NOT_LOCATED,
                "startedAt": None,
                "finishedAt": None,
            }
        }
    written: Raw = {
        "name": name,
        "state": state,
        "lastState": last,
        "ready": is_ready,
        "restartCount": seen.restarts,
        "image": container.get("image") or "",
        "imageID": seen.image_id,
        "started": started,
    }
    if seen.life and seen.life.id:
        written["containerID"] = f"{RUNTIME}://{seen.life.id}"
    return written


def _states(pod: Raw, container: Raw, seen: Seen, *, now: datetime, pace: Pace, over: bool) -> tuple[Raw, Raw]:
    """The state and the last one."""
    last = _terminated(seen.last) if seen.last else {}
    life = seen.life
    if life and life.ended is None:
        return {"running": {"startedAt": stamp(life.started)}}, last
    if life and not over and restarts(pod, container, life):
        if seen.waiting[0]:
            return {"waiting": _waiting(*seen.waiting)}, _terminated(life)
        if left := back_off_left(seen, now, pace=pace):
            return {"waiting": _waiting(CRASH_LOOP, back_off_message(pod, container, left.seconds))}, _terminated(life)
    if life:
        return _terminated(life), last
    if seen.waiting[0]:
        return {"waiting": _waiting(*seen.waiting)}, last
    default = "PodInitializing" if pod["spec"].get("initContainers") else "ContainerCreating"
    return {"waiting": {"reason": default}}, last


def back_off_message(pod: Raw, container: Raw, seconds: float) -> str:
    """What a container in back-off says."""
    return f"back-off {duration(seconds)} restarting failed container={container['name']} pod={identity(pod)}"


def duration(seconds: float) -> str:
    """Seconds as Go prints them: 10s, 2m40s, 5m0s."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"


def _waiting(reason: str, message: str) -> Raw:
    return {"reason": reason, "message": message} if message else {"reason": reason}


def _terminated(life: Life) -> Raw:
    written: Raw = {"exitCode": life.code}
    if life.reason:
        written["reason"] = life.reason
    if life.message:
        written["message"] = life.message
    written |= {"startedAt": stamp(life.started), "finishedAt": stamp(life.ended or life.started)}
    if life.id:
        written["containerID"] = f"{RUNTIME}://{life.id}"
    return {"terminated": written}


def _conditions(pod: Raw, written: Raw, scene: Scene, now: datetime) -> list[Raw]:
    """The conditions: what others wrote first, then the node's own."""
    before = {each["type"]: each for each in (pod.get("status") or {}).get("conditions") or ()}
    kept = [each for kind, each in before.items() if kind not in OWN]
    # A pod that its node has lost did not fail by itself: Jobs may make another without counting it.
    disrupted = scene.doom.message if scene.doom and scene.doom.evicted else ""
    disrupted = disrupted or (scene.lost if written["phase"] == FAILED else "")
    if disrupted and DISRUPTION_TARGET not in before:
        kept.append(
            {
                "type": DISRUPTION_TARGET,
                "status": "True",
                "lastTransitionTime": stamp(now),
                "reason": "TerminationByKubelet",
                "message": disrupted,
            }
        )
    if scene.blame:
        kept = [*(each for each in kept if each["type"] != FAILURE), _failure(scene.blame, before.get(FAILURE), now)]
    generation = pod["metadata"].get("generation")
    own = []
    for kind, truth, reason, message in _own(pod, written, scene):
        old = before.get(kind) or {}
        same = old.get("status") == truth
        condition: Raw = {"type": kind, "status": truth, "lastProbeTime": None}
        condition["lastTransitionTime"] = (
            old["lastTransitionTime"] if same and old.get("lastTransitionTime") else stamp(now)
        )
        if reason:
            condition["reason"] = reason
        if message:
            condition["message"] = message
        if generation:
            condition["observedGeneration"] = generation
        own.append(condition)
    return [*kept, *own]


def _failure(blame: Verdict, old: Raw | None, now: datetime) -> Raw:
    """How a container failed, for whoever may read pods but not their logs: nothing that it wrote is told."""
    who = "" if blame.rank is None else f"rank {blame.rank}: "
    how = ending(blame.code)
    told = {"type": FAILURE, "status": "True", "reason": str(blame.kind), "message": f"{who}{blame.kind.words}, {how}"}
    same = old is not None and all(old.get(key) == value for key, value in told.items())
    return {**told, "lastTransitionTime": old["lastTransitionTime"] if old and same else stamp(now)}


def _own(pod: Raw, written: Raw, scene: Scene) -> Iterator[tuple[str, str, str, str]]:
    """Type, status, reason and message of each condition of the node."""
    done = {SUCCEEDED: "PodCompleted", FAILED: "PodFailed"}.get(written["phase"], "")
    yield READY_TO_START, _truth(bool(scene.addresses) and not scene.cleared), "", ""
    sidecars = {each["name"] for each in pod["spec"].get("initContainers") or () if is_sidecar(each)}
    init, apps = written.get("initContainerStatuses") or [], written["containerStatuses"]
    incomplete = [
        each["name"] for each in init if (not each["started"] if each["name"] in sidecars else not each["ready"])
    ]
    if written["phase"] == SUCCEEDED:
        yield INITIALIZED, "True", "PodCompleted", ""
    elif incomplete and not scene.initialized:
        yield INITIALIZED, "False", "ContainersNotInitialized", _listed("incomplete", incomplete)
    else:
        yield INITIALIZED, "True", "", ""
    unready = [
        each["name"] for each in (*init, *apps) if not each["ready"] and (each in apps or each["name"] in sidecars)
    ]
    if done:
        containers_ready = ("False", done, "")
    elif unready:
        containers_ready = ("False", "ContainersNotReady", _listed("unready", unready))
    else:
        containers_ready = ("True", "", "")
    missing = list(_gates(pod))
    if containers_ready[0] == "True" and missing:
        yield READY, "False", "ReadinessGatesNotReady", ", ".join(missing)
    else:
        yield READY, *containers_ready
    yield CONTAINERS_READY, *containers_ready
    yield POD_SCHEDULED, "True", "", ""


def _gates(pod: Raw) -> Iterator[str]:
    held = {each["type"]: each.get("status") for each in (pod.get("status") or {}).get("conditions") or ()}
    for gate in pod["spec"].get("readinessGates") or ():
        name = gate["conditionType"]
        if name not in held:
            yield f'corresponding condition of pod readiness gate "{name}" does not exist.'
        elif held[name] != "True":
            yield f'the status of pod readiness gate "{name}" is not "True", but {held[name]}'


def _listed(what: str, names: Iterable[str]) -> str:
    return f"containers with {what} status: [{' '.join(names)}]"


def _truth(value: bool) -> str:
    return "True" if value else "False"
