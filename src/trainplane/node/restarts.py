"""Whether a container that ended starts again, and how long it waits for that. Pure."""

from datetime import datetime, timedelta

import msgspec

from trainplane.api.meta import Raw
from trainplane.node.seen import BackOff, Life, Seen

ALWAYS, ON_FAILURE, NEVER = "Always", "OnFailure", "Never"
RESTART_ALL = "RestartAllContainers"


class Pace(msgspec.Struct, frozen=True):
    """How fast containers that end again and again are started: twice as long a wait each time, up to the most."""

    first: float = 10.0
    most: float = 300.0


def is_sidecar(container: Raw) -> bool:
    """Whether an init container goes on beside the others; asked of init containers only."""
    return container.get("restartPolicy") == ALWAYS


def is_ephemeral(pod: Raw, container: Raw) -> bool:
    """Whether a container was added to a pod that runs, to look into it."""
    return any(each["name"] == container["name"] for each in pod["spec"].get("ephemeralContainers") or ())


def restarts(pod: Raw, container: Raw, life: Life) -> bool:
    """Whether a container whose life is over gets another."""
    if pod["metadata"].get("deletionTimestamp") or is_ephemeral(pod, container):
        return False
    if rule := matching_rule(container, life):
        return rule.get("action") in ("Restart", RESTART_ALL)
    policy = container.get("restartPolicy") or pod["spec"].get("restartPolicy") or ALWAYS
    is_init = any(each["name"] == container["name"] for each in pod["spec"].get("initContainers") or ())
    if policy == ALWAYS and is_init and not is_sidecar(container):
        policy = ON_FAILURE
    return policy == ALWAYS or (policy == ON_FAILURE and life.code != 0)


def matching_rule(container: Raw, life: Life) -> Raw | None:
    """The first of a container's own rules that is about this end."""
    for rule in container.get("restartPolicyRules") or ():
        codes = rule.get("exitCodes") or {}
        within = life.code in (codes.get("values") or ())
        if within == (codes.get("operator") == "In"):
            found: Raw = rule
            return found
    return None


def restarts_all(container: Raw, life: Life) -> bool:
    """Whether this end has every container of the pod start anew."""
    rule = matching_rule(container, life)
    return rule is not None and rule.get("action") == RESTART_ALL


def back_off_left(seen: Seen, now: datetime, *, pace: Pace) -> BackOff | None:
    """The back-off that a container which ended still waits in, or None where it may start."""
    held, life = seen.back_off, seen.life
    if held is None or life is None or life.ended is None or _is_stale(held, life.ended, pace):
        return None
    return held if now < life.ended + timedelta(seconds=held.seconds) else None


def next_back_off(seen: Seen, now: datetime, *, pace: Pace) -> BackOff:
    """What the next wait will be, once a container is started again now."""
    held, life = seen.back_off, seen.life
    if held is None or life is None or life.ended is None or _is_stale(held, life.ended, pace):
        return BackOff(pace.first, now)
    return BackOff(min(held.seconds * 2, pace.most), now)


def _is_stale(held: BackOff, ended: datetime, pace: Pace) -> bool:
    """Whether the container has run well for so long that what was before no longer counts."""
    return (ended - held.since).total_seconds() > 2 * pace.most
