"""The dialects of the family: documents of OME and of older Kubeflow Trainers, read in the hub's words."""

from collections.abc import Mapping
from typing import Any

import msgspec

from trainplane.api.draft import Draft, Move
from trainplane.api.meta import Raw
from trainplane.api.old_words import modern
from trainplane.api.problem import Path, Problem, did_you_mean
from trainplane.api.raw import as_object, look, put
from trainplane.api.roles import (
    ANCESTOR_LABEL,
    DATASET_INITIALIZER,
    JOBS,
    MODEL_INITIALIZER,
    TRAINER_STEP,
    Found,
    Roles,
    roles_of,
)
from trainplane.api.rules import (
    DIALECT,
    FRAMEWORK_INFERRED,
    INITIALIZER_INFERRED,
    NO_EQUIVALENT,
    OLD_OPERATOR_KIND,
    TRAINER_INFERRED,
    UNKNOWN_KIND,
    UNKNOWN_VERSION,
)
from trainplane.api.rules import FRAMEWORK_LABEL as NO_FRAMEWORK
from trainplane.api.trainer import (
    API_VERSION,
    CLUSTER_TRAINING_RUNTIME,
    FRAMEWORK_LABEL,
    GROUP,
    TRAINING_RUNTIME,
)

RUNTIMES = (TRAINING_RUNTIME, CLUSTER_TRAINING_RUNTIME)
TRAIN_JOB = "TrainJob"
KINDS = (TRAIN_JOB, *RUNTIMES)

DIALECTS: dict[str, tuple[str, ...]] = {
    API_VERSION: KINDS,
    "ome.io/v1beta1": KINDS,
    "kubeflow.org/v2alpha1": KINDS,
    "trainer.kubeflow.org/v2alpha1": KINDS,
    "trainer.kubeflow.org/v2": KINDS,
}
"""Every apiVersion that is understood, and its kinds; the first is the hub's."""

STRANGERS = ("OptimizationJob",)
"""Kinds of the hub's group that are not ours to judge."""

OLD_OPERATOR_KINDS = {
    "PyTorchJob": "a TrainJob on a runtime with mlPolicy.torch",
    "MPIJob": "a TrainJob on a runtime with mlPolicy.mpi",
    "JAXJob": "a TrainJob on a runtime with mlPolicy.jax",
    "XGBoostJob": "a TrainJob on a runtime with mlPolicy.xgboost",
    "TFJob": "a TrainJob on a runtime without a framework policy, or with mlPolicy.mpi and Horovod",
    "MXJob": "a TrainJob on a runtime without a framework policy, or with mlPolicy.mpi and Horovod",
    "PaddleJob": "a TrainJob on a runtime without a framework policy",
}
"""The jobs of the Kubeflow Training Operator v1, and what to write instead."""

POLICIES = ("torch", "mpi", "jax", "xgboost")
PLAIN = "plain"
"""What has no framework policy."""
FRAMEWORKS = (*POLICIES, "torchtune", "deepspeed", "mlx", PLAIN)
"""The framework labels in use."""


UNSAYABLE = (UNKNOWN_VERSION, UNKNOWN_KIND, OLD_OPERATOR_KIND, NO_EQUIVALENT)
"""The notes after which there is no document in the hub's words."""


class Converted(msgspec.Struct, frozen=True):
    """A document in the hub's words, what there is to say about the author's, and where its parts come from."""

    raw: Raw
    notes: tuple[Problem, ...] = ()
    """Their paths are in the author's document."""
    source_group: str = ""
    changed: bool = False
    moves: tuple[Move, ...] = ()

    @property
    def refused(self) -> bool:
        """Whether the document cannot be said in the hub's words."""
        return any(note.rule in UNSAYABLE for note in self.notes)

    def origin(self, path: Path) -> Path:
        """Where the author wrote what is at `path` of the converted document."""
        moves = [move for move in self.moves if path[: len(move.new)] == move.new]
        return max(moves, key=lambda move: len(move.new)).back(path) if moves else path

    def place(self, path: Path) -> Path:
        """Where in the converted document stands what the author wrote at `path`."""
        moves = [move for move in self.moves if move.whole and path[: len(move.old)] == move.old]
        if moves:
            move = max(moves, key=lambda move: len(move.old))
            return (*move.new, *path[len(move.old) :])
        if look(self.raw, *path) is None:
            # It went in pieces: the first one stands for all.
            return next((move.new for move in self.moves if move.old[: len(path)] == path), path)
        return path


def to_hub(raw: Raw) -> Converted:
    """Read a document of any dialect in the hub's words; what is not of the family passes unchanged."""
    version, kind = raw.get("apiVersion"), raw.get("kind")
    if not isinstance(version, str) or not isinstance(kind, str):
        return Converted(raw)
    group = version.rpartition("/")[0]
    problem = _refusal(version, kind, group=group)
    if problem or kind not in DIALECTS.get(version, ()):
        return Converted(raw, (problem,) if problem else (), group)
    draft = Draft()
    new = raw
    if version != API_VERSION:
        draft.note(DIALECT, ("apiVersion",), f"{version} is read as {API_VERSION}")
        new = {**raw, "apiVersion": API_VERSION}
    if kind == TRAIN_JOB:
        new = _train_job(new, draft, dialect=version != API_VERSION)
    else:
        new = _runtime(new, draft, dialect=version != API_VERSION)
    return Converted(new, tuple(draft.notes), group, new != raw, tuple(draft.moves))


def _refusal(version: str, kind: str, *, group: str) -> Problem | None:
    """Why a document that names our words, or nearly, is none of ours; None for ours and for strangers."""
    if kind in DIALECTS.get(version, ()):
        return None
    if kind in OLD_OPERATOR_KINDS and group == "kubeflow.org":
        what = f"{kind} is a kind of the Kubeflow Training Operator v1"
        return Problem(OLD_OPERATOR_KIND, ("kind",), what, f"write {OLD_OPERATOR_KINDS[kind]}")
    if kind in KINDS:
        near = did_you_mean(version, [v for v in DIALECTS if kind in DIALECTS[v]]) or API_VERSION
        return Problem(UNKNOWN_VERSION, ("apiVersion",), f"there is no {kind} in {version}", f"did you mean {near}?")
    if group == "ome.io" and kind == "TrainingJob":
        what = "OME's TrainingJob is not understood, only its runtimes are"
        return Problem(UNKNOWN_KIND, ("kind",), what, f"write a {TRAIN_JOB} of {API_VERSION} that names the runtime")
    return _misspelt(version, kind, group=group)


def _misspelt(version: str, kind: str, *, group: str) -> Problem | None:
    # Groups that we share with others get the benefit of the doubt: ServingRuntime is no misspelt TrainingRuntime.
    near = did_you_mean(kind, KINDS, cutoff=0.6 if group == GROUP else 0.85)
    if version in DIALECTS:
        if kind in STRANGERS or (not near and group != GROUP):
            return None
        hint = f"did you mean {near}?" if near else f"its kinds are {', '.join(DIALECTS[version])}"
        return Problem(UNKNOWN_KIND, ("kind",), f"there is no kind {kind} in {version}", hint)
    if group == GROUP:
        hint = f"did you mean {did_you_mean(version, DIALECTS) or API_VERSION}?"
        return Problem(
            UNKNOWN_VERSION, ("apiVersion",), f"there is no version {version.rpartition('/')[2]} of {GROUP}", hint
        )
    return None


def _train_job(raw: Raw, draft: Draft, *, dialect: bool) -> Raw:
    spec = raw.get("spec")
    if not isinstance(spec, Mapping):
        return raw
    namespace = look(raw, "metadata", "namespace")
    new = modern(spec, draft, namespace=namespace if isinstance(namespace, str) else "", dialect=dialect)
    return raw if new == spec else {**raw, "spec": new}


def _runtime(raw: Raw, draft: Draft, *, dialect: bool) -> Raw:
    if not isinstance(raw.get("spec"), Mapping):
        return raw
    roles = roles_of(raw)
    labelled: dict[Path, str] = {}
    new: Any = raw
    for index, step in _unlabelled(roles) if dialect else ():
        template: Path = (*JOBS, index, "template")
        if _takes_labels(raw, template):
            new = _label(new, template, ANCESTOR_LABEL, value=step, draft=draft)
            labelled[(*JOBS, index, "name")] = f"converted, it carries the label {ANCESTOR_LABEL}: {step}"
    for problem in roles.problems:
        told = problem.rule in (TRAINER_INFERRED, INITIALIZER_INFERRED) and problem.path in labelled
        draft.notes.append(msgspec.structs.replace(problem, todo=labelled[problem.path]) if told else problem)
    return dict(_framework(new, roles, draft, dialect=dialect))


def _unlabelled(roles: Roles) -> list[tuple[int, str]]:
    """The jobs that play a part without saying so, and the step their label should name.

    One whose container is unclear gets no label: with it, the runtime would be refused for that container.
    """
    parts = (
        (roles.ancestor, TRAINER_STEP),
        (roles.dataset_initializer, DATASET_INITIALIZER),
        (roles.model_initializer, MODEL_INITIALIZER),
    )
    return [
        (role.index, step)
        for role, step in parts
        # A launcher that is labelled is taken at its word, also when it does not say that it waits for the workers.
        if role and role.container and role.found is not Found.LABEL and role is not roles.launcher
    ]


def _framework(raw: Raw, roles: Roles, draft: Draft, *, dialect: bool) -> Raw:
    path: Path = ("metadata", "labels", FRAMEWORK_LABEL)
    said = look(raw, *path)
    if said is not None:
        if said not in FRAMEWORKS:
            near = did_you_mean(str(said), FRAMEWORKS)
            hint = f"did you mean {near}?" if near else f"the known ones are {', '.join(FRAMEWORKS)}"
            draft.note(NO_FRAMEWORK, path, f"the framework {said} is not known", todo=hint)
        return raw
    framework = infer_framework(raw, roles)
    if dialect and framework != PLAIN and isinstance(raw.get("metadata"), Mapping) and _takes_labels(raw, ()):
        what = f"the framework is {framework}, by the ML policy"
        todo = f"converted, the runtime carries the label {FRAMEWORK_LABEL}: {framework}"
        draft.note(FRAMEWORK_INFERRED, ("metadata",), what, todo=todo)
        return dict(_label(raw, (), FRAMEWORK_LABEL, value=framework, draft=draft))
    what = f"the runtime has no label {FRAMEWORK_LABEL}"
    which = framework if framework != PLAIN else f"the framework's name, or {PLAIN}"
    draft.note(NO_FRAMEWORK, ("metadata",), what, todo=f"add it: {which}")
    return raw


def infer_framework(runtime: Mapping[str, Any], roles: Roles) -> str:
    """The framework of a runtime by its ML policy; `plain` where the policy names none, or several."""
    policy = as_object(look(runtime, "spec", "mlPolicy"))
    named = [name for name in POLICIES if policy.get(name) is not None]
    if named != ["torch"]:
        return named[0] if len(named) == 1 else PLAIN
    trainer = roles.trainer
    container: Any = None
    if trainer and trainer.container:
        pod: Path = ("template", "spec", "template", "spec", "containers", trainer.container.index)
        container = look(runtime, *JOBS, trainer.index, *pod)
    return "torchtune" if look(container, "command", 0) == "tune" else "torch"


def _takes_labels(raw: Raw, owner: Path) -> bool:
    """Whether the object at a path can be given a label without writing over what its author wrote."""
    inside = (look(raw, *owner, "metadata"), look(raw, *owner, "metadata", "labels"))
    return isinstance(look(raw, *owner), Mapping) and all(isinstance(value, Mapping | None) for value in inside)


def _label(raw: Any, owner: Path, key: str, *, value: str, draft: Draft) -> Any:
    """Label the object at a path, and remember which place of the author's document asked for it."""
    path = (*owner, "metadata", "labels", key)
    depth = max(end for end in range(len(path)) if isinstance(look(raw, *path[:end]), Mapping))
    draft.added(new=path[: depth + 1], old=path[:depth])
    # A new `metadata` goes before the `spec` that it describes.
    return put(raw, path, value, first=depth == len(owner))
