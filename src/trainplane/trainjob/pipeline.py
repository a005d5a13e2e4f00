"""The pipeline: the steps from a TrainJob and its runtime to a Plan, in order, and the blame for what each did."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, TypeAlias

import msgspec

from trainplane.api.meta import Raw, read
from trainplane.api.problem import Problem, Severity
from trainplane.api.roles import roles_of
from trainplane.api.trainer import TrainingRuntimeSpec, TrainJob
from trainplane.trainjob.blame import Chains, mark
from trainplane.trainjob.elastic import elastic
from trainplane.trainjob.emit import shape
from trainplane.trainjob.frameworks import framework
from trainplane.trainjob.gangs import gangs
from trainplane.trainjob.initializers import initializers
from trainplane.trainjob.nodes import nodes
from trainplane.trainjob.observe import observe
from trainplane.trainjob.overrides import command, resources, user_env
from trainplane.trainjob.patches import count, patched, patches
from trainplane.trainjob.plan import Plan, Source
from trainplane.trainjob.substitute import substitute
from trainplane.trainjob.template import identity, template

Step: TypeAlias = Callable[[Plan], Plan]

STEPS: tuple[Step, ...] = (
    template,
    patches,
    identity,
    nodes,
    resources,
    initializers,
    command,
    user_env,
    framework,
    elastic,
    substitute,
    gangs,
    observe,
    shape,
)
"""Read it top to bottom: each step sees what those above it did."""


class Refused(Exception):
    """The TrainJob cannot be rendered; it holds every problem, not the first."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(str(problem) for problem in self.problems))


class Surroundings(msgspec.Struct, frozen=True):
    """What a render needs to know of the cluster; nothing of it changes what the TrainJob means."""

    overheads: Mapping[str, Mapping[str, Any]] = msgspec.field(default_factory=dict)
    """What each RuntimeClass adds to a pod, by name."""
    kinds: frozenset[str] = frozenset()
    """Kinds beyond our own that the cluster serves, as `Kind.group`."""


ALONE = Surroundings()


def start(job: Raw, runtime: Raw, around: Surroundings = ALONE, *, blamed: bool = False) -> Plan:
    """The Plan before the first step: the inputs as they are, defaulted and valid, and an empty JobSet.

    Where it is to be `blamed`, steps note what they read.
    """
    name = job["metadata"]["name"]
    first = (
        (("JobSet", name), Source("", note="every TrainJob becomes one JobSet")),
        (("JobSet", name, "metadata", "name"), Source("job", ("metadata", "name"))),
    )
    return Plan(
        raw_job=job,
        raw_runtime=runtime,
        job=read(job, TrainJob),
        runtime=read(runtime.get("spec") or {}, TrainingRuntimeSpec),
        roles=roles_of(runtime),
        jobset={
            "apiVersion": "jobset.x-k8s.io/v1alpha2",
            "kind": "JobSet",
            "metadata": {"name": name},
            "spec": {},
        },
        overheads=around.overheads,
        kinds=around.kinds,
        reads=first if blamed else None,
    )


def build(job: Raw, runtime: Raw, around: Surroundings = ALONE) -> Plan:
    """What the TrainJob becomes on this runtime. Both are in the hub's words and defaulted."""
    plan = start(job, runtime, around)
    for step in STEPS:
        plan = step(plan)
    return accepted(plan)


def build_with_blame(job: Raw, runtime: Raw, around: Surroundings = ALONE) -> tuple[Plan, Chains]:
    """The same, and for every leaf of every object the steps that set it."""
    plan = start(job, runtime, around, blamed=True)
    before: Plan | None = None
    chains: Chains = {}
    for step in STEPS:
        for part in parts(step, plan):
            after = part(plan)
            chains = mark(chains, before, after, step=step.__name__)
            plan = before = after.but(reads=())
    return accepted(plan), chains


def parts(step: Step, plan: Plan) -> list[Step]:
    """The parts of a step that are blamed one by one: each manager's patch may replace what another's has set."""
    return [partial(patched, index=index) for index in range(count(plan))] if step is patches else [step]


def accepted(plan: Plan) -> Plan:
    """The Plan, unless a step found that it cannot work."""
    errors = [problem for problem in plan.problems if problem.severity is Severity.ERROR]
    if errors:
        raise Refused(errors)
    return plan
