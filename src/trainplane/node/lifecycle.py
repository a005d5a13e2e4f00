"""From a Pod and its processes to what should happen next. Pure."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from trainplane.api.core import FAILED, SUCCEEDED
from trainplane.api.meta import Raw
from trainplane.node.restarts import Pace, back_off_left, is_sidecar, restarts, restarts_all
from trainplane.node.seen import Doom, Scene, Seen, grace_of, time_of
from trainplane.node.status import identity, status

DEADLINE = "DeadlineExceeded"
DEADLINE_MESSAGE = "Pod was active on the node longer than the specified deadline"
RETRY = 2.0
"""Seconds after which what could not be started is tried again; what it lacks may have come."""
LEAST_GRACE = 1.0
LAST_GRACE = 2.0
"""What every container gets between the request to end and the kill, however little is left."""


class Prepare(msgspec.Struct, frozen=True):
    """Make the volumes and the box."""


class Start(msgspec.Struct, frozen=True):
    """Start a container, for the first time or again."""

    container: str


class Stop(msgspec.Struct, frozen=True):
    """Ask a container to end, and kill it when the grace is over."""

    container: str
    grace: float
    why: str


class StartOver(msgspec.Struct, frozen=True):
    """Let every container begin anew, as if none had run; what they were becomes their last state."""


class Clear(msgspec.Struct, frozen=True):
    """Remove the box and the volumes."""


class Forget(msgspec.Struct, frozen=True):
    """Let the object go from the API."""


Step: TypeAlias = Prepare | Start | Stop | StartOver | Clear | Forget


class Said(msgspec.Struct, frozen=True):
    """An event about the pod."""

    type: str
    reason: str
    note: str


class Turn(msgspec.Struct, frozen=True):
    """What to do after one look at a pod, what its status is, and when to look again."""

    scene: Scene
    """The scene, with what the look itself found out: that a deadline has passed, that the pod is initialized."""
    status: Raw
    steps: tuple[Step, ...] = ()
    said: tuple[Said, ...] = ()
    again: timedelta | None = None


def decide(pod: Raw, scene: Scene, now: datetime, *, pace: Pace | None = None) -> Turn:
    """What a node does next for a pod that is bound to it."""
    pace = pace or Pace()
    scene = _with_deadline(pod, scene, now)
    over = is_over(pod, scene)
    if over:
        steps: list[Step] = [] if scene.cleared else [Clear()]
        if pod["metadata"].get("deletionTimestamp") and scene.cleared:
            steps.append(Forget())
        return Turn(scene, status(pod, scene, now, over=True, pace=pace), tuple(steps))
    if _is_ending(pod, scene):
        steps = list(_end(pod, scene, now))
    elif any(_starts_over(pod, scene)):
        steps = list(_start_over(pod, scene))
    elif not scene.addresses:
        # What is missing for it may come; until then the pod waits.
        waits = scene.tried is not None and now < scene.tried + timedelta(seconds=RETRY)
        steps = [] if waits else [Prepare()]
    else:
        steps = [*_unhealthy(pod, scene), *_starts(pod, scene, now, pace=pace)]
        if _is_initialized(pod, scene):
            scene = replace(scene, initialized=True)
    return Turn(
        scene,
        status(pod, scene, now, over=False, pace=pace),
        tuple(steps),
        tuple(_said(pod, scene, now, pace=pace)),
        _again(pod, scene, now, pace=pace),
    )


def is_over(pod: Raw, scene: Scene) -> bool:
    """Whether nothing of a pod runs, and nothing will."""
    if any(seen.is_running for seen in scene.containers.values()):
        return False
    if (pod.get("status") or {}).get("phase") in (SUCCEEDED, FAILED):
        return True
    return bool(pod["metadata"].get("deletionTimestamp") or scene.doom) or _is_complete(pod, scene)


def _with_deadline(pod: Raw, scene: Scene, now: datetime) -> Scene:
    limit, begun = pod["spec"].get("activeDeadlineSeconds"), time_of((pod.get("status") or {}).get("startTime"))
    if limit is None or begun is None or scene.doom or is_over(pod, scene):
        return scene
    passed = now >= begun + timedelta(seconds=limit)
    return replace(scene, doom=Doom(DEADLINE, DEADLINE_MESSAGE, now)) if passed else scene


def _is_ending(pod: Raw, scene: Scene) -> bool:
    if pod["metadata"].get("deletionTimestamp") or scene.doom:
        return True
    return _is_complete(pod, scene) or (pod.get("status") or {}).get("phase") in (SUCCEEDED, FAILED)


def _is_complete(pod: Raw, scene: Scene) -> bool:
    """Whether the containers that count have ended for good; sidecars do not count."""
    for container in pod["spec"].get("initContainers") or ():
        life = scene.of(container["name"]).life
        if not is_sidecar(container) and life and life.ended and life.code and not restarts(pod, container, life):
            return True
    for container in pod["spec"]["containers"]:
        life = scene.of(container["name"]).life
        if life is None or life.ended is None or restarts(pod, container, life):
            return False
    return True


def _end(pod: Raw, scene: Scene, now: datetime) -> Iterator[Step]:
    """Containers end together, sidecars after them, the last of them first."""
    grace = _grace_left(pod, scene, now)
    init = pod["spec"].get("initContainers") or ()
    first = [*pod["spec"]["containers"], *(each for each in init if not is_sidecar(each))]
    first += pod["spec"].get("ephemeralContainers") or ()
    running = [each["name"] for each in first if scene.of(each["name"]).is_running]
    if not running:
        sidecars = [each["name"] for each in init if is_sidecar(each) and scene.of(each["name"]).is_running]
        running = sidecars[-1:]
    for name in running:
        if not scene.of(name).stopping:
            yield Stop(name, grace, f"Stopping container {name}")


def _grace_left(pod: Raw, scene: Scene, now: datetime) -> float:
    metadata, grace = pod["metadata"], grace_of(pod)
    given = metadata.get("deletionGracePeriodSeconds")
    if metadata.get("deletionTimestamp") and given is not None:
        grace = float(given)
    if scene.doom and scene.doom.grace is not None:
        grace = min(grace, scene.doom.grace)
    grace = max(grace, LEAST_GRACE)
    if scene.asked is None:
        return grace
    return max(grace - (now - scene.asked).total_seconds(), LAST_GRACE)


def _starts_over(pod: Raw, scene: Scene) -> Iterator[bool]:
    for container in (*(pod["spec"].get("initContainers") or ()), *pod["spec"]["containers"]):
        life = scene.of(container["name"]).life
        yield bool(life and life.ended and restarts_all(container, life))


def _start_over(pod: Raw, scene: Scene) -> Iterator[Step]:
    containers = (*(pod["spec"].get("initContainers") or ()), *pod["spec"]["containers"])
    running = [each["name"] for each in containers if scene.of(each["name"]).is_running]
    for name in reversed(running):
        if not scene.of(name).stopping:
            yield Stop(name, 0.0, f"Stopping container {name}")
    if not running:
        yield StartOver()


def _unhealthy(pod: Raw, scene: Scene) -> Iterator[Step]:
    """Containers whose startup or liveness probe has failed must end."""
    for container in (*(pod["spec"].get("initContainers") or ()), *pod["spec"]["containers"]):
        seen = scene.of(container["name"])
        if seen.unhealthy and seen.is_running and not seen.stopping:
            probe = container.get(f"{seen.unhealthy}Probe") or {}
            grace = probe.get("terminationGracePeriodSeconds")
            yield Stop(
                container["name"],
                max(grace_of(pod) if grace is None else float(grace), LEAST_GRACE),
                f"Container {container['name']} failed {seen.unhealthy} probe, will be restarted",
            )


def _starts(pod: Raw, scene: Scene, now: datetime, *, pace: Pace) -> Iterator[Step]:
    """What may start now: init containers one after the other, then all the others together; added ones at any time."""
    for container in pod["spec"].get("ephemeralContainers") or ():
        if _may_start(pod, container, scene.of(container["name"]), now=now, pace=pace):
            yield Start(container["name"])
    for container in pod["spec"].get("initContainers") or ():
        seen = scene.of(container["name"])
        if is_sidecar(container):
            if not seen.is_running and _may_start(pod, container, seen, now=now, pace=pace):
                yield Start(container["name"])
            if not scene.initialized and not _has_started(container, seen):
                return
        elif not scene.initialized and not _is_done(seen):
            if not seen.is_running and _may_start(pod, container, seen, now=now, pace=pace):
                yield Start(container["name"])
            return
    for container in pod["spec"]["containers"]:
        seen = scene.of(container["name"])
        if not seen.is_running and _may_start(pod, container, seen, now=now, pace=pace):
            yield Start(container["name"])


def _is_initialized(pod: Raw, scene: Scene) -> bool:
    """Whether every init container is through; once that was so it stays."""
    if scene.initialized:
        return True
    return all(
        _has_started(each, scene.of(each["name"])) if is_sidecar(each) else _is_done(scene.of(each["name"]))
        for each in pod["spec"].get("initContainers") or ()
    )


def _has_started(container: Raw, seen: Seen) -> bool:
    return seen.is_running and (seen.started or not container.get("startupProbe"))


def _is_done(seen: Seen) -> bool:
    return bool(seen.life and seen.life.ended and not seen.life.code)


def _may_start(pod: Raw, container: Raw, seen: Seen, *, now: datetime, pace: Pace) -> bool:
    if seen.tried and now < seen.tried + timedelta(seconds=RETRY):
        return False
    if seen.life is None:
        return True
    return restarts(pod, container, seen.life) and back_off_left(seen, now, pace=pace) is None


def _said(pod: Raw, scene: Scene, now: datetime, *, pace: Pace) -> Iterator[Said]:
    for container in (*(pod["spec"].get("initContainers") or ()), *pod["spec"]["containers"]):
        seen = scene.of(container["name"])
        ended = seen.life is not None and seen.life.ended is not None
        if ended and seen.life and restarts(pod, container, seen.life) and back_off_left(seen, now, pace=pace):
            note = f"Back-off restarting failed container {container['name']} in pod {identity(pod)}"
            yield Said("Warning", "BackOff", note)


def _again(pod: Raw, scene: Scene, now: datetime, *, pace: Pace) -> timedelta | None:
    """When something is due that nobody will tell of: a back-off's end, another try, a deadline."""
    due = list[datetime]()
    for seen in scene.containers.values():
        if seen.tried:
            due.append(seen.tried + timedelta(seconds=RETRY))
        if (left := back_off_left(seen, now, pace=pace)) and seen.life and seen.life.ended:
            due.append(seen.life.ended + timedelta(seconds=left.seconds))
    if scene.tried and not scene.addresses:
        due.append(scene.tried + timedelta(seconds=RETRY))
    limit, begun = pod["spec"].get("activeDeadlineSeconds"), time_of((pod.get("status") or {}).get("startTime"))
    if limit is not None and begun is not None and not scene.doom:
        due.append(begun + timedelta(seconds=limit))
    later = [each - now for each in due if each > now]
    return min(later, default=None)
