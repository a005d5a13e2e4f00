"""Probes: when a container is started, alive and ready, by what its probes find again and again. Pure."""

from enum import StrEnum

import msgspec
from msgspec.structs import replace

from trainplane.api.meta import Raw


class Sort(StrEnum):
    """What a probe is for."""

    STARTUP = "startup"
    LIVENESS = "liveness"
    READINESS = "readiness"


class Found(msgspec.Struct, frozen=True):
    """What one try of a probe found; an error of the probe itself proves nothing."""

    good: bool
    message: str = ""
    error: bool = False


class Tally(msgspec.Struct, frozen=True):
    """How often in a row a probe found the same, and what that says."""

    result: bool
    good: int = 0
    bad: int = 0

    @classmethod
    def first(cls, sort: Sort) -> "Tally":
        """Before anything is known a container counts as alive, but neither as started nor as ready."""
        return cls(sort is Sort.LIVENESS)

    def after(self, found: Found, probe: Raw) -> "Tally":
        """The tally after one more try; the result turns after as many of a kind as the probe's thresholds say."""
        if found.error:
            return self
        if found.good:
            good = self.good + 1
            turned = good >= (probe.get("successThreshold") or 1)
            return Tally(True if turned else self.result, good=good)
        bad = self.bad + 1
        turned = bad >= (probe.get("failureThreshold") or 3)
        return replace(self, result=False if turned else self.result, good=0, bad=bad)

    def is_fatal(self, sort: Sort, probe: Raw) -> bool:
        """Whether the container must end for it."""
        return sort is not Sort.READINESS and self.bad >= (probe.get("failureThreshold") or 3)


def sorts(container: Raw) -> list[tuple[Sort, Raw]]:
    """The probes of a container."""
    return [(sort, container[f"{sort}Probe"]) for sort in Sort if container.get(f"{sort}Probe")]


def failure(sort: Sort, found: Found) -> str:
    """What the event says of a probe that failed."""
    what = "errored" if found.error else "failed"
    return f"{sort.capitalize()} probe {what}: {found.message}".rstrip()


def port_of(container: Raw, port: int | str) -> int | None:
    """The number of a port that is given as a number or by name; None where no port has the name."""
    if isinstance(port, int) or str(port).isdigit():
        return int(port)
    for each in container.get("ports") or ():
        if each.get("name") == port:
            return int(each["containerPort"])
    return None
