"""Stages: which replicated jobs start together, and a proof that every gang can be filled as its pods appear."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

Wait = tuple[str, str]
"""A replicated job, and the state in which it lets others start: Ready or Complete."""


class Starter(msgspec.Struct, frozen=True):
    """A replicated job as the question of starting sees it."""

    name: str
    pods: int
    waits: tuple[Wait, ...] = ()
    gang: str = ""
    """The gang its pods are in; "" for pods that are placed one by one."""
    first_alone: bool = False
    """Whether the other pods appear only after the first is placed, as with exclusive topology."""


class Deadlock(msgspec.Struct, frozen=True):
    """Gangs that can never be filled, and why: each waits for the next, and the last for the first."""

    gang: str
    needs: int
    appear: int
    """How many of its pods exist while it waits."""
    cycle: tuple[str, ...]

    def __str__(self) -> str:
        """The cycle in words."""
        return (
            f"the gang {self.gang} starts when {self.needs} pods are there, and only {self.appear} ever are: "
            + " waits for ".join(self.cycle)
        )


def starters(jobset_spec: Mapping[str, Any]) -> list[Starter]:
    """The replicated jobs of a JobSet with what each waits for."""
    jobs: Sequence[Mapping[str, Any]] = jobset_spec.get("replicatedJobs") or ()
    in_order = (jobset_spec.get("startupPolicy") or {}).get("startupPolicyOrder") == "InOrder"
    out: list[Starter] = []
    for i, job in enumerate(jobs):
        waits = [(str(d.get("name")), str(d.get("status"))) for d in job.get("dependsOn") or ()]
        if in_order and i:
            waits.append((str(jobs[i - 1]["name"]), "Ready"))
        spec = (job.get("template") or {}).get("spec") or {}
        pods = int(job.get("replicas", 1)) * int(spec.get("parallelism", 1))
        out.append(Starter(name=str(job["name"]), pods=pods, waits=tuple(sorted(set(waits)))))
    return out


def stages(jobs: Iterable[Starter]) -> list[list[Starter]]:
    """The jobs that start together: those that wait for exactly the same."""
    by_waits: dict[tuple[Wait, ...], list[Starter]] = {}
    for job in jobs:
        by_waits.setdefault(job.waits, []).append(job)
    return list(by_waits.values())


def deadlocks(jobs: Sequence[Starter], quorum: Mapping[str, int]) -> list[Deadlock]:
    """The gangs that can never be filled in the order in which pods appear; none means every pod can start.

    Pods appear when what their job waits for has come true, a gang is placed when its quorum has appeared, and a job
    is Ready, and in time Complete, when its pods are placed. All of this only ever grows, so running it until nothing
    changes visits every state that any order of events can reach.
    """
    placed: set[str] = set()
    while True:
        here = {gang: appeared(jobs, gang, placed) for gang in quorum}
        now = {job.name for job in jobs if starts(job, placed) and is_filled(job, here, quorum)}
        if now <= placed:
            break
        placed |= now
    return [
        Deadlock(gang, needs=quorum[gang], appear=here[gang], cycle=cycle(jobs, gang, placed))
        for gang in quorum
        if here[gang] < quorum[gang]
    ]


def starts(job: Starter, placed: set[str]) -> bool:
    """Whether the job's pods may appear."""
    return all(name in placed for name, _ in job.waits)


def appeared(jobs: Sequence[Starter], gang: str, placed: set[str]) -> int:
    """How many pods of a gang exist before it is placed."""
    return sum(
        min(job.pods, 1) if job.first_alone and job.name not in placed else job.pods
        for job in jobs
        if job.gang == gang and starts(job, placed)
    )


def is_filled(job: Starter, here: Mapping[str, int], quorum: Mapping[str, int]) -> bool:
    """Whether nothing keeps the job's pods from being placed."""
    return not job.gang or job.gang not in quorum or here[job.gang] >= quorum[job.gang]


def cycle(jobs: Sequence[Starter], gang: str, placed: set[str]) -> tuple[str, ...]:
    """A way from the gang back to itself, or to the job that nobody starts."""
    by_name = {job.name: job for job in jobs}
    way = [f"gang {gang}"]
    seen: set[str] = set()
    current = gang
    while True:
        late = next((j for j in jobs if j.gang == current and (j.first_alone or not starts(j, placed))), None)
        if late is None:
            return (*way, "pods that no replicated job makes")
        if late.name in seen:
            return tuple(way)
        seen.add(late.name)
        way.append(late.name)
        if late.first_alone and starts(late, placed):
            return (*way, f"its first pod, which waits for gang {current}")
        missing = next(name for name, _ in late.waits if name not in placed)
        way.append(missing)
        blocker = by_name.get(missing)
        if blocker is None:
            return tuple(way)
        if missing == late.name or missing in seen:
            return tuple(way)
        if not blocker.gang or starts(blocker, placed):
            if not blocker.gang:
                return tuple(way)
            way.append(f"gang {blocker.gang}")
            if blocker.gang == gang:
                return tuple(way)
            current = blocker.gang
        else:
            seen.add(missing)
            return (*way, *(name for name, _ in blocker.waits[:1]))
