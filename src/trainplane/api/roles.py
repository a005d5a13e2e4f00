"""Which replicated job of a runtime plays which part, and which of its containers is meant."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec

from trainplane.api.problem import Path, Problem, Rule
from trainplane.api.raw import as_object, look, named_items
from trainplane.api.rules import (
    CONTAINER_INFERRED,
    CONTAINER_UNCLEAR,
    INITIALIZER_INFERRED,
    LABELLED_WITHOUT_CONTAINER,
    LAUNCHER_INFERRED,
    NO_LAUNCHER,
    NO_TRAINER,
    PLAIN_INITIALIZER,
    STEP_TWICE,
    TRAINER_INFERRED,
)

ANCESTOR_LABEL = "trainer.kubeflow.org/trainjob-ancestor-step"
"""On a replicated job's template: the part it plays, one of the three below; other values mean nothing."""
TRAINER_STEP = "trainer"
DATASET_INITIALIZER = "dataset-initializer"
MODEL_INITIALIZER = "model-initializer"
LAUNCHER = "launcher"
NODE = "node"
"""What Kubeflow Trainer calls the trainer's container, and MPI's workers."""
NODE_NAMES = (NODE, "worker", "trainer-node")
"""What authors call the job that trains."""

JOBS: Path = ("spec", "template", "spec", "replicatedJobs")
"""Where a runtime has its replicated jobs."""


class Found(StrEnum):
    """How we know."""

    LABEL = "label"
    NAME = "name"
    ONLY = "only one"


class Container(msgspec.Struct, frozen=True):
    """The container of a job that the settings of a TrainJob reach."""

    index: int
    name: str
    found: Found


class Role(msgspec.Struct, frozen=True):
    """A replicated job that plays a part."""

    index: int
    name: str
    found: Found
    container: Container | None


class Stage(msgspec.Struct, frozen=True):
    """A replicated job that plays no part: it runs as it is written."""

    index: int
    name: str


class Roles(msgspec.Struct, frozen=True):
    """The parts of a runtime's replicated jobs, and what was inferred or is unclear about them."""

    trainer: Role | None = None
    """The job whose pods are the training nodes. With a launcher, the workers that mpirun reaches."""
    launcher: Role | None = None
    """The job that starts mpirun; only with mlPolicy.mpi."""
    dataset_initializer: Role | None = None
    model_initializer: Role | None = None
    stages: tuple[Stage, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def ancestor(self) -> Role | None:
        """The job that should carry the ancestor label `trainer`: a TrainJob's image, command and args go there."""
        if self.trainer and self.trainer.found is Found.LABEL:
            return self.trainer
        return self.launcher or self.trainer


def roles_of(runtime: Mapping[str, Any]) -> Roles:
    """The roles of a runtime's jobs; a value of the wrong shape counts as absent."""
    return find_roles(look(runtime, *JOBS), as_object(look(runtime, "spec", "mlPolicy")))


def find_roles(jobs: Any, policy: Mapping[str, Any], *, at: Path = JOBS) -> Roles:
    """The roles of replicated jobs under an ML policy; `at` is where the list stands in its document."""
    cast = _Cast(dict(named_items(jobs)), mpi=policy.get("mpi") is not None, at=at)
    dataset = cast.initializer(DATASET_INITIALIZER)
    model = cast.initializer(MODEL_INITIALIZER)
    launcher = cast.launcher()
    trainer = cast.trainer()
    cast.advise(launcher, trainer)
    return Roles(
        trainer=trainer,
        launcher=launcher,
        dataset_initializer=dataset,
        model_initializer=model,
        stages=tuple(Stage(i, cast.name(i)) for i in cast.free),
        problems=tuple(cast.problems),
    )


class _Cast:
    """Hands out the parts, one after the other; `free` are the jobs that have none yet."""

    def __init__(self, jobs: Mapping[int, Mapping[str, Any]], *, mpi: bool, at: Path) -> None:
        self.jobs = jobs
        self.mpi = mpi
        self.at = at
        self.free = list(jobs)
        self.problems: list[Problem] = []

    def name(self, index: int) -> str:
        return str(self.jobs[index]["name"])

    def step(self, index: int) -> str:
        """What the job says of itself by its ancestor label."""
        label = look(self.jobs[index], "template", "metadata", "labels", ANCESTOR_LABEL)
        return label if isinstance(label, str) else ""

    def say(self, rule: Rule, index: int, what: str, *, todo: str, field: Path = ("name",)) -> None:
        self.problems.append(Problem(rule, (*self.at, index, *field), what, todo))

    def initializer(self, step: str) -> Role | None:
        labelled = [i for i in self.free if self.step(i) == step]
        if labelled:
            self.once(step, labelled)
            return self.take(labelled[0], Found.LABEL, container=step)
        named = [i for i in self.free if self.name(i) == step and not self.step(i)]
        if not named:
            return None
        what = f"the job {step} is taken for the {step.replace('-', ' ')} by its name"
        self.say(INITIALIZER_INFERRED, named[0], what, todo=_label_it(step))
        return self.take(named[0], Found.NAME, container=step)

    def launcher(self) -> Role | None:
        named = [i for i in self.free if self.name(i) == LAUNCHER and self.step(i) in ("", TRAINER_STEP)]
        if not self.mpi or not named:
            return None
        if self.step(named[0]) == TRAINER_STEP:
            return self.take(named[0], Found.LABEL, container=NODE)
        if not any(self.step(i) == TRAINER_STEP for i in self.free):
            what = "the job launcher is taken for the MPI launcher by its name"
            todo = f"{_label_it(TRAINER_STEP)}, and say dependsOn and successPolicy too"
            self.say(LAUNCHER_INFERRED, named[0], what, todo=todo)
        return self.take(named[0], Found.NAME, container=NODE)

    def trainer(self) -> Role | None:
        labelled = [i for i in self.free if self.step(i) == TRAINER_STEP]
        if labelled:
            self.once(TRAINER_STEP, labelled)
            return self.take(labelled[0], Found.LABEL, container=NODE)
        candidates = [i for i in self.free if not self.step(i)]
        # A launcher without mlPolicy.mpi is a stage, unless it is all there is.
        candidates = [i for i in candidates if self.name(i) != LAUNCHER] or candidates
        named = [i for i in candidates if self.name(i) in NODE_NAMES]
        chosen = named or candidates
        if len(chosen) != 1:
            if chosen:
                self.unclear(chosen)
            return None
        found = Found.NAME if named else Found.ONLY
        self.tell_trainer(chosen[0], found)
        return self.take(chosen[0], found, container=NODE)

    def tell_trainer(self, index: int, found: Found) -> None:
        name = self.name(index)
        how = "by its name" if found is Found.NAME else "because it is the only one that can be"
        if not self.launched():
            self.say(
                TRAINER_INFERRED, index, f"the job {name} is taken for the trainer {how}", todo=_label_it(TRAINER_STEP)
            )
        elif name != NODE:
            # A launcher finds its workers by their name, in Kubeflow Trainer only by the name `node`.
            what = f"the job {name} is taken for the MPI workers {how}"
            self.say(TRAINER_INFERRED, index, what, todo="for Kubeflow Trainer call it node")

    def launched(self) -> bool:
        return any(i not in self.free and self.name(i) == LAUNCHER for i in self.jobs)

    def unclear(self, chosen: Sequence[int]) -> None:
        names = _listed([self.name(i) for i in chosen])
        what = f"{names} could each be the trainer, and none is labelled"
        todo = f"add the label {ANCESTOR_LABEL}: {TRAINER_STEP} to template.metadata.labels of the one that trains"
        self.say(NO_TRAINER, chosen[0], what, todo=todo)

    def once(self, step: str, labelled: Sequence[int]) -> None:
        if len(labelled) > 1:
            names = _listed([self.name(i) for i in labelled])
            what = f"{names} are all labelled {step}; {self.name(labelled[0])} is taken"
            field = ("template", "metadata", "labels", ANCESTOR_LABEL)
            self.say(STEP_TWICE, labelled[1], what, todo="remove the label from all but one", field=field)

    def take(self, index: int, found: Found, *, container: str) -> Role:
        self.free.remove(index)
        return Role(index, self.name(index), found, self.container(index, container, labelled=found is Found.LABEL))

    def container(self, index: int, wanted: str, *, labelled: bool) -> Container | None:
        field: Path = ("template", "spec", "template", "spec", "containers")
        containers = dict(named_items(look(self.jobs[index], *field)))
        for i, container in containers.items():
            if container["name"] == wanted:
                return Container(i, wanted, Found.NAME)
        if len(containers) == 1:
            ((i, container),) = containers.items()
            name = str(container["name"])
            what = f"{name} is taken for the container {wanted} because it is the only one"
            todo = f"Kubeflow Trainer wants it to be called {wanted}"
            self.say(CONTAINER_INFERRED, index, what, todo=todo, field=(*field, i, "name"))
            return Container(i, name, Found.ONLY)
        if containers:
            rule = LABELLED_WITHOUT_CONTAINER if labelled else CONTAINER_UNCLEAR
            names = _listed([str(container["name"]) for container in containers.values()])
            what = f"none of the containers {names} of the job {self.name(index)} is called {wanted}"
            self.say(rule, index, what, todo=f"call the one that a TrainJob's settings are for {wanted}", field=field)
        return None

    def advise(self, launcher: Role | None, trainer: Role | None) -> None:
        """Say what cannot be seen job by job."""
        if self.mpi and not launcher and trainer:
            what = f"mlPolicy.mpi is set, and there is no job {LAUNCHER} beside {trainer.name}"
            todo = f"start mpirun in a job called {LAUNCHER}, and sshd in {trainer.name}"
            self.say(NO_LAUNCHER, trainer.index, what, todo=todo)
        for i in self.free:
            if self.name(i) == "initializer" and trainer and "initializer" not in self.waits_for(trainer.name):
                what = f"the job initializer is a plain stage, and {trainer.name} starts beside it"
                todo = f"give {trainer.name} a dependsOn of name initializer and status Complete"
                self.say(PLAIN_INITIALIZER, i, what, todo=todo)

    def waits_for(self, name: str) -> set[str]:
        """All jobs that `name` depends on, directly or not."""
        awaited: dict[str, set[str]] = {}
        for index, job in self.jobs.items():
            names = {str(dependency["name"]) for _, dependency in named_items(job.get("dependsOn"))}
            awaited.setdefault(self.name(index), set()).update(names)
        known: set[str] = set()
        ahead = [name]
        while ahead:
            new = awaited.get(ahead.pop(), set()) - known
            known |= new
            ahead.extend(new)
        return known


def _label_it(step: str) -> str:
    return f"to say so, add the label {ANCESTOR_LABEL}: {step} to its template.metadata.labels"


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
