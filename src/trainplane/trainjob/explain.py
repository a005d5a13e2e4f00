"""What there is to say of a Plan: its arithmetic, what it replaced, what had no effect, and its objects in short."""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from trainplane.api.meta import Raw
from trainplane.api.problem import Path
from trainplane.api.requests import pod_requests, times, together
from trainplane.trainjob.blame import Chains, Mark
from trainplane.trainjob.plan import POD, Plan
from trainplane.trainjob.stages import Starter, stages, starters
from trainplane.trainjob.tree import at

WIDTH = 100
"""Where a command that is told in one line is cut."""
ORDER = ("ConfigMap", "Secret", "PodGroup", "JobSet", "HorizontalPodAutoscaler", "PodMonitor")
"""What is there before what needs it."""


@dataclass(frozen=True, slots=True)
class Part:
    """One replicated job of the JobSet."""

    name: str
    role: str
    """`trainer`, `launcher`, `dataset initializer`, `model initializer`; "" for a stage that runs as it is written."""
    pods: int
    asks: dict[str, str]
    """What one pod asks for."""


@dataclass(frozen=True, slots=True)
class Gang:
    """Pods that are placed together or not at all."""

    name: str
    pods: int
    asks: dict[str, str]


@dataclass(frozen=True, slots=True)
class Stage:
    """Replicated jobs that start together, and what they wait for."""

    jobs: tuple[str, ...]
    waits: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """How large the training is, what it asks for, and in which order it starts."""

    nodes: int
    procs: str
    processes: int
    world: int
    bounds: tuple[int, int] | None
    parts: tuple[Part, ...]
    total: dict[str, str]
    gangs: tuple[Gang, ...]
    stages: tuple[Stage, ...]


def arithmetic(plan: Plan) -> Arithmetic:
    """The numbers of a Plan."""
    found = starters(plan.jobset["spec"])
    asked = [
        pod_requests(spec, overhead=plan.overheads.get(spec.get("runtimeClassName", "")))
        for job in plan.replicated_jobs
        for spec in [at(job, (*POD, "spec")) or {}]
    ]
    size = plan.size
    low, high = size.min_nodes, size.max_nodes
    return Arithmetic(
        nodes=size.nodes,
        procs=size.procs,
        processes=size.procs_known,
        world=size.world,
        bounds=None if low is None or high is None else (low, high),
        parts=tuple(
            Part(job.name, role(plan, index), job.pods, together([asks]))
            for index, (job, asks) in enumerate(zip(found, asked, strict=True))
        ),
        total=together(times(job.pods, asks) for job, asks in zip(found, asked, strict=True)),
        gangs=tuple(
            Gang(raw["metadata"]["name"], raw["spec"]["minMember"], raw["spec"].get("minResources") or {})
            for raw in plan.companions
            if raw["kind"] == "PodGroup"
        ),
        stages=tuple(in_order(stages(found))),
    )


def role(plan: Plan, index: int) -> str:
    """The part that replicated job number `index` plays."""
    roles = plan.roles
    parts = (
        ("trainer", roles.trainer),
        ("launcher", roles.launcher),
        ("dataset initializer", roles.dataset_initializer),
        ("model initializer", roles.model_initializer),
    )
    return next((name for name, part in parts if part and part.index == index), "")


def in_order(found: Sequence[Sequence[Starter]]) -> Iterator[Stage]:
    """The stages, each after those it waits for; what waits for itself comes last."""
    left = [Stage(tuple(job.name for job in stage), stage[0].waits) for stage in found]
    started: set[str] = set()
    while left:
        ready = next((stage for stage in left if all(name in started for name, _ in stage.waits)), left[0])
        left.remove(ready)
        started.update(ready.jobs)
        yield ready


def training_pods(plan: Plan) -> int:
    """How many pods of the JobSet train: the trainer's, and the launcher where it counts as a node."""
    pods = {job.name: job.pods for job in starters(plan.jobset["spec"])}
    trainer, launcher = plan.roles.trainer, plan.roles.launcher
    policy = at(plan.raw_runtime, ("spec", "mlPolicy", "mpi")) or {}
    count = pods[trainer.name] if trainer else 0
    return count + (pods[launcher.name] if launcher and policy.get("runLauncherAsNode") else 0)


@dataclass(frozen=True, slots=True)
class Replaced:
    """A value that another took the place of; of a list without keys, the list."""

    path: Path
    old: Any
    new: Any
    before: Mark
    after: Mark


def replaced(chains: Chains) -> list[Replaced]:
    """The values of one document that another, or a step, took the place of."""
    found: dict[Path, list[tuple[Mark, Mark]]] = {}
    for path, marks in chains.items():
        pairs = [
            (before, after)
            for before, after in pairwise(marks)
            # The last step only spells amounts in their usual way.
            if after.replaced is not None and after.step != "shape"
        ]
        if pairs:
            whole = path[:-1] if isinstance(path[-1], int) else path
            found.setdefault(whole, []).append((pairs[0][0], pairs[-1][1]))
    return [
        Replaced(
            path,
            old=_joined([before.value for before, _ in pairs]),
            new=_joined([after.value for _, after in pairs]),
            before=pairs[0][0],
            after=pairs[0][1],
        )
        for path, pairs in found.items()
    ]


def _joined(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else values


def without_effect(job: Raw, objects: Callable[[Raw], Sequence[Raw] | None]) -> Iterator[Path]:
    """The fields of a TrainJob without which it becomes the very same objects; each is tried."""
    whole = objects(job)
    if whole is None:
        return
    for path in settings(job):
        if objects(without(job, path)) == whole:
            yield path


def settings(job: Raw) -> Iterator[Path]:
    """What a TrainJob sets beyond its runtime, setting by setting."""
    for top in (("spec", "trainer"), ("spec", "initializer", "dataset"), ("spec", "initializer", "model")):
        for field, value in (at(job, top) or {}).items():
            if field == "env":
                yield from ((*top, field, i) for i in range(len(value)))
            elif field == "resourcesPerNode":
                for what, amounts in value.items():
                    keys = amounts if isinstance(amounts, Mapping) else range(len(amounts))
                    yield from ((*top, field, what, key) for key in keys)
            else:
                yield (*top, field)
    yield from (("spec", "runtimePatches", i) for i in range(len(at(job, ("spec", "runtimePatches")) or ())))


def without(tree: Any, path: Path) -> Any:
    """The tree without the value at a path."""
    head, rest = path[0], path[1:]
    if isinstance(tree, list):
        return [without(item, rest) if rest and i == head else item for i, item in enumerate(tree) if rest or i != head]
    return {
        key: without(item, rest) if rest and key == head else item for key, item in tree.items() if rest or key != head
    }


def in_creation_order(objects: Sequence[Raw]) -> list[Raw]:
    """The objects in the order in which they are best made."""
    return sorted(objects, key=lambda raw: ORDER.index(raw["kind"]) if raw["kind"] in ORDER else len(ORDER))


def short(raw: Raw) -> Iterator[str]:
    """An object in a few lines: what matters of it."""
    kind, name, spec = raw["kind"], raw["metadata"]["name"], raw.get("spec") or {}
    match kind:
        case "JobSet":
            yield f"JobSet {name}" + (", suspended" if spec.get("suspend") else "")
            for job in spec.get("replicatedJobs") or ():
                yield from _job(job)
        case "PodGroup":
            asks = amounts(spec.get("minResources"))
            yield f"PodGroup {name}: {_pods(spec['minMember'])} together, asking for {asks}"
        case "ConfigMap":
            yield f"ConfigMap {name}: {', '.join(raw.get('data') or ())}"
        case "Secret":
            yield f"Secret {name}: keys that are made when it is created"
        case "HorizontalPodAutoscaler":
            yield f"HorizontalPodAutoscaler {name}: {spec.get('minReplicas')} to {spec.get('maxReplicas')} nodes"
        case _:
            yield f"{kind} {name}"


def _job(job: Raw) -> Iterator[str]:
    pods = int(job.get("replicas", 1)) * int(at(job, ("template", "spec", "parallelism")) or 1)
    waits = " and ".join(f"{d.get('name')} is {d.get('status')}" for d in job.get("dependsOn") or ())
    yield f"  {job['name']}: {_pods(pods)}{f', when {waits}' if waits else ''}"
    for what in ("labels", "annotations"):
        marks = at(job, (*POD, "metadata", what)) or {}
        if marks:
            yield f"    {what} " + ", ".join(f"{key}={value}" for key, value in marks.items())
    pod = at(job, (*POD, "spec")) or {}
    for what in ("initContainers", "containers"):
        for container in pod.get(what) or ():
            yield from (f"    {line}" for line in _container(container, first=what == "initContainers"))


def _pods(count: int) -> str:
    return f"{count} pod{'' if count == 1 else 's'}"


def _container(container: Raw, *, first: bool) -> Iterator[str]:
    yield f"{'init container' if first else 'container'} {container.get('name')}: {container.get('image', 'no image')}"
    words = [*(container.get("command") or ()), *(container.get("args") or ())]
    if words:
        # A script in an argument has many lines, and one is enough to know it by.
        text = " ".join(shlex.join(map(str, words)).split())
        yield f"  runs {text if len(text) <= WIDTH else text[: WIDTH - 1] + '…'}"
    resources = container.get("resources") or {}
    asks = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    if asks:
        yield f"  asks for {amounts(asks)}"
    if container.get("env"):
        yield "  env " + ", ".join(_variable(variable) for variable in container["env"])


def _variable(variable: Raw) -> str:
    if "valueFrom" in variable:
        return f"{variable['name']} from {next(iter(variable['valueFrom']), '?')}"
    value = str(variable.get("value", ""))
    return f"{variable['name']}={value if len(value) <= 40 else value[:39] + '…'}"


def amounts(resources: Mapping[str, Any] | None) -> str:
    """Resources in words: `16 cpu, 128Gi memory`."""
    return ", ".join(f"{amount} {name}" for name, amount in (resources or {}).items()) or "nothing"
