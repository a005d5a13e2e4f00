"""Holding: what jobs hold and what is taken of nodes, as pods asked for it, and as it is measured beside that."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from trainplane.api.core import FAILED, SUCCEEDED
from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.cli.job_rows import NAMESPACE, state_of
from trainplane.cli.outlook import key_of
from trainplane.cli.rows import gpu_of, spelt, status_of
from trainplane.cli.tables import Column, Table
from trainplane.gang.forecast import Owner
from trainplane.why.scene import jobset_of
from trainplane.why.space import Counts, amount_of, nanos, needs

BAR = 10
Used = Mapping[Owner, Counts]
"""What pods are measured to use, by namespace and name."""


class Held(NamedTuple):
    """What a job or a node holds, has and uses, in billionths by resource."""

    namespace: str
    name: str
    state: str
    held: Counts
    has: Counts
    """Of a node; a job has nothing of its own."""
    used: Counts
    """Empty where nothing is measured."""
    places: tuple[str, ...]
    """The nodes of a job, or the jobs of a node."""


def running(pods: Iterable[Raw]) -> list[Raw]:
    """The pods that hold something on a node."""
    return [
        pod for pod in pods if look(pod, "spec", "nodeName") and look(pod, "status", "phase") not in (SUCCEEDED, FAILED)
    ]


def by_job(jobs: Iterable[Raw], pods: Iterable[Raw], used: Used) -> list[Held]:
    """What every job holds, most first; those that hold nothing are left out."""
    of: dict[Owner, list[Raw]] = {}
    for pod in running(pods):
        of.setdefault((str(pod["metadata"].get("namespace", "")), jobset_of(pod)), []).append(pod)
    found = [
        Held(
            *key_of(job),
            state_of(job),
            summed(map(needs, of[key_of(job)])),
            {},
            measured(of[key_of(job)], used),
            tuple(sorted({str(pod["spec"]["nodeName"]) for pod in of[key_of(job)]})),
        )
        for job in jobs
        if key_of(job) in of
    ]
    return sorted(found, key=most)


def by_node(nodes: Iterable[Raw], pods: Iterable[Raw], used: Used) -> list[Held]:
    """What is taken of every node, most first."""
    on: dict[str, list[Raw]] = {}
    for pod in running(pods):
        on.setdefault(str(pod["spec"]["nodeName"]), []).append(pod)
    found = []
    for node in nodes:
        name = str(node["metadata"]["name"])
        here = on.get(name, [])
        has = nanos(look(node, "status", "allocatable") or look(node, "status", "capacity") or {})
        jobs = sorted({jobset_of(pod) or str(pod["metadata"]["name"]) for pod in here})
        held = summed(map(needs, here))
        found.append(Held("", name, status_of(node), held, has, measured(here, used), tuple(jobs)))
    return sorted(found, key=most)


def summed(parts: Iterable[Counts]) -> Counts:
    """Amounts together."""
    total: Counts = {}
    for part in parts:
        for name, amount in part.items():
            total[name] = total.get(name, 0) + amount
    return total


def measured(pods: Iterable[Raw], used: Used) -> Counts:
    """What pods use together, as far as that is measured."""
    keys = ((str(pod["metadata"].get("namespace", "")), str(pod["metadata"]["name"])) for pod in pods)
    return summed(used[key] for key in keys if key in used)


def most(one: Held) -> tuple[int, int, int, str, str]:
    """Those with the most GPUs first, then CPUs, then memory."""
    held = one.held
    return -held.get(gpu_of(held), 0), -held.get("cpu", 0), -held.get("memory", 0), one.namespace, one.name


def top_table(rows: Sequence[Held], *, namespaces: bool = False, bars: bool = False) -> Table:
    """Who holds what; of nodes, of how much, and with bars where they are drawn for people."""
    whole = any(one.has for one in rows)
    columns = [
        Column("NAME", name=True),
        Column("STATUS" if whole else "STATE"),
        Column("CPU"),
        Column("MEMORY"),
        Column("GPU"),
    ]
    columns += [Column("PODS"), Column("CPU-USED"), Column("MEMORY-USED")]
    columns.append(Column("JOBS" if whole else "NODES", wide=True, prose=True))
    return Table(
        [NAMESPACE, *columns] if namespaces else columns,
        [
            [
                *([one.namespace] if namespaces else ()),
                one.name,
                one.state,
                *(
                    cell(one, name, bars=bars and name != "pods")
                    for name in ("cpu", "memory", gpu_of(one.has or one.held), "pods")
                ),
                spelt("cpu", one.used["cpu"]) if "cpu" in one.used else "",
                spelt("memory", one.used["memory"]) if "memory" in one.used else "",
                ", ".join(one.places),
            ]
            for one in rows
        ],
    )


def cell(one: Held, name: str, *, bars: bool) -> str:
    """`3`, or `3/8` where there is a whole; with a bar before it where one is drawn."""
    held, has = one.held.get(name, 0), one.has.get(name, 0)
    if not one.has:
        return spelt(name, held) if held else ""
    if not has:
        return ""
    text = f"{spelt(name, held)}/{spelt(name, has)}"
    return f"{bar(held / has)} {text}" if bars else text


def bar(part: float) -> str:
    """A part of a whole as a bar of ten cells."""
    full = min(BAR, round(part * BAR))
    return "█" * full + "░" * (BAR - full)


def together(rows: Sequence[Held]) -> str:
    """All nodes in one line: what is taken of what there is."""
    held, has = summed(one.held for one in rows), summed(one.has for one in rows)
    parts = []
    for name, word in (("cpu", "CPU"), ("memory", "memory"), (gpu_of(has), "GPU")):
        if has.get(name):
            share = f"{100 * held.get(name, 0) // has[name]} %"
            parts.append(f"{spelt(name, held.get(name, 0))} of {spelt(name, has[name])} {word} ({share})")
    return f"together: {', '.join(parts)}" if parts else "together: nothing"


def as_json(one: Held) -> dict[str, Any]:
    """A row for programs, with the same keys at all times."""

    def spell(counts: Counts) -> dict[str, str]:
        return {name: str(amount_of(name, amount)) for name, amount in sorted(counts.items())}

    return {
        "namespace": one.namespace or None,
        "name": one.name,
        "state": one.state,
        "held": spell(one.held),
        "allocatable": spell(one.has) if one.has else None,
        "used": spell(one.used) if one.used else None,
        "places": list(one.places),
    }
