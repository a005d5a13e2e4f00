"""What older TrainJobs said, in today's words: initializers, overrides, labels, managers."""

from collections.abc import Iterator, Mapping
from typing import Any

from trainplane.api.draft import Draft
from trainplane.api.meta import Raw
from trainplane.api.problem import Path
from trainplane.api.raw import as_object, look, named_items, put, rename
from trainplane.api.roles import DATASET_INITIALIZER, MODEL_INITIALIZER, NODE
from trainplane.api.rules import MOVED_FIELD, NO_EQUIVALENT, RUNTIME_GROUP
from trainplane.api.trainer import CONTROLLER, GROUP

DIALECT_GROUPS = ("kubeflow.org", "ome.io")
OLD_CONTROLLER = "kubeflow.org/trainjob-controller"
MANAGER = "trainplane.dev/convert"
"""Who made the runtimePatches that were overrides."""

POD_FIELDS = frozenset(
    (
        "serviceAccountName",
        "nodeSelector",
        "affinity",
        "tolerations",
        "volumes",
        "initContainers",
        "containers",
        "schedulingGates",
        "imagePullSecrets",
        "securityContext",
        "terminationGracePeriodSeconds",
    )
)
"""What a runtime patch may say of a pod."""
CONTAINER_FIELDS = frozenset({"name", "env", "volumeMounts", "securityContext"})
TARGETS = ("targetJobs", "targetReplicatedJobs")
SETTLED_ENV = {
    NODE: "spec.trainer.env",
    DATASET_INITIALIZER: "spec.initializer.dataset.env",
    MODEL_INITIALIZER: "spec.initializer.model.env",
}
"""Containers whose environment no patch may set, and the field that does."""


def modern(spec: Mapping[str, Any], draft: Draft, *, namespace: str, dialect: bool) -> Raw:
    """The spec of a TrainJob in today's words.

    In the hub's own version the types of fields are what they are, so only words it no longer has are replaced.
    """
    new = _runtime_ref(dict(spec), draft)
    new = _initializer(new, draft, namespace=namespace)
    new = _patches(new, draft)
    if dialect:
        new = _managed_by(new, draft)
        new = _processes(new, draft)
    return new


def _runtime_ref(spec: Raw, draft: Draft) -> Raw:
    word = "runtimeRef"
    if "trainingRuntimeRef" in spec and "runtimeRef" not in spec:
        word = "trainingRuntimeRef"
        draft.note(MOVED_FIELD, ("spec", word), "spec.trainingRuntimeRef is spec.runtimeRef now")
        draft.moved(new=("spec", "runtimeRef"), old=("spec", word))
        spec = rename(spec, {word: ("runtimeRef", spec[word])})
    group = look(spec, "runtimeRef", "apiGroup")
    if group not in DIALECT_GROUPS:
        return spec
    what = f"the runtime is looked for in {group} first, then in the other groups"
    todo = f"Kubeflow Trainer knows only {GROUP}: converted, it is named there"
    draft.note(RUNTIME_GROUP, ("spec", word, "apiGroup"), what, todo=todo)
    return as_raw(put(spec, ("runtimeRef", "apiGroup"), GROUP))


def _initializer(spec: Raw, draft: Draft, *, namespace: str) -> Raw:
    for old, part in ((("datasetConfig",), "dataset"), (("modelConfig", "input"), "model")):
        config = look(spec, *old)
        if not isinstance(config, Mapping):
            continue
        path, field = ("spec", *old), f"spec.{'.'.join(old)}"
        if look(spec, "initializer", part) is not None:
            what = f"{field} and spec.initializer.{part} are both there"
            draft.note(NO_EQUIVALENT, path, what, todo=f"keep spec.initializer.{part} and remove {field}")
            continue
        draft.note(MOVED_FIELD, path, f"{field} is spec.initializer.{part} now")
        draft.moved(new=("spec", "initializer", part), old=path)
        config = _secret(config, draft, path=path, namespace=namespace)
        spec = _swap(spec, old, ("initializer", part), config)
    if look(spec, "modelConfig", "output") is not None:
        todo = "save the model from the training code, and say where in spec.trainer.env"
        what = "nothing exports a trained model for the job"
        draft.note(NO_EQUIVALENT, ("spec", "modelConfig", "output"), what, todo=todo)
    return spec


def _swap(spec: Raw, old: tuple[str, ...], new: tuple[str, str], value: Any) -> Raw:
    """Take `old` out of a spec and put `value` at `new`, in the place of the old word where that became empty."""
    head = old[0]
    rest = {key: item for key, item in as_object(spec[head]).items() if old[1:] and key != old[1]}
    if rest or new[0] in spec:
        kept = {**spec, head: rest} if rest else {key: item for key, item in spec.items() if key != head}
        return as_raw(put(kept, new, value))
    return rename(spec, {head: (new[0], {new[1]: value})})


def _secret(config: Mapping[str, Any], draft: Draft, *, path: Path, namespace: str) -> Mapping[str, Any]:
    """An initializer's secretRef names a Secret of the job's own namespace, and no other."""
    home = look(config, "secretRef", "namespace")
    if home is None:
        return config
    if home != namespace:
        what = f"the Secret is in the namespace {home}, and a job reads Secrets of its own namespace only"
        todo = "copy the Secret into the job's namespace and remove this line"
        draft.note(NO_EQUIVALENT, (*path, "secretRef", "namespace"), what, todo=todo)
        return config
    return {**config, "secretRef": {k: v for k, v in config["secretRef"].items() if k != "namespace"}}


def _patches(spec: Raw, draft: Draft) -> Raw:
    """Labels, annotations and overrides as runtimePatches: one patch each, so that their order keeps its meaning."""
    patches: list[tuple[Path, Raw]] = []
    gone: set[str] = set()
    metadata = {word: spec[word] for word in ("labels", "annotations") if isinstance(spec.get(word), Mapping)}
    if metadata:
        gone |= set(metadata)
        patches.append((("spec", next(iter(metadata))), {"template": {"metadata": metadata}}))
    for word in ("podSpecOverrides", "podTemplateOverrides"):
        overrides = spec.get(word)
        if isinstance(overrides, list) and _translatable(overrides, draft, at=("spec", word)):
            gone.add(word)
            patches.extend((("spec", word, i), _patch(override)) for i, override in enumerate(overrides))
    if not gone:
        return spec
    for word in sorted(gone, key=list(spec).index):
        draft.note(MOVED_FIELD, ("spec", word), f"spec.{word} is part of spec.runtimePatches now")
    made = _managed(patches, spec.get("runtimePatches"), draft)
    return _in_place(spec, gone, made, draft)


def _in_place(spec: Raw, gone: set[str], made: list[Raw], draft: Draft) -> Raw:
    """The spec with runtimePatches where the first old word stood; patches that were there already come last."""
    theirs = spec.get("runtimePatches")
    for i in range(len(theirs) if isinstance(theirs, list) else 0):
        draft.moved(new=("spec", "runtimePatches", len(made) + i), old=("spec", "runtimePatches", i))
    every = [*made, *theirs] if isinstance(theirs, list) else made
    new: Raw = {}
    for key, item in spec.items():
        if key in gone or key == "runtimePatches":
            new.setdefault("runtimePatches", every)
        else:
            new[key] = item
    return new


def _managed(patches: list[tuple[Path, Raw]], theirs: Any, draft: Draft) -> list[Raw]:
    taken = {look(patch, "manager") for patch in theirs} if isinstance(theirs, list) else set()
    names = (f"{MANAGER}-{n}" if n else MANAGER for n in (0, *range(2, len(patches) + len(taken) + 3)))
    free = (name for name in names if name not in taken)
    made = []
    for i, (old, patch) in enumerate(patches):
        new: Path = ("spec", "runtimePatches", i)
        draft.added(new=new, old=old)
        for place, source in _sources(patch, old):
            draft.moved(new=(*new, "trainingRuntimeSpec", *place), old=source)
        made.append({"manager": next(free), "trainingRuntimeSpec": patch})
    return made


def _sources(patch: Raw, old: Path) -> Iterator[tuple[Path, Path]]:
    """For the parts of a patch that an author wrote: where they are in it, and where they were."""
    for word in as_object(look(patch, "template", "metadata")):
        yield ("template", "metadata", word), ("spec", word)
    wrapped = old[1:2] == ("podTemplateOverrides",)
    for j, job in named_items(look(patch, "template", "spec", "replicatedJobs")):
        pod: Path = ("template", "spec", "replicatedJobs", j, "template", "spec", "template")
        if wrapped:
            yield pod, old
        else:
            yield from (((*pod, "spec", word), (*old, word)) for word in as_object(look(job, *pod[4:], "spec")))


def _patch(override: Mapping[str, Any]) -> Raw:
    """One override as the trainingRuntimeSpec of a patch: the same words for each job it is meant for."""
    said = {key: item for key, item in override.items() if key not in TARGETS}
    # podTemplateOverrides say metadata and spec; podSpecOverrides say the pod's fields straight away.
    pod = said if said.keys() <= {"metadata", "spec"} else {"spec": said}
    jobs = [{"name": name, "template": {"spec": {"template": pod}}} for name in _targets(override)]
    return {"template": {"spec": {"replicatedJobs": jobs}}}


def _targets(override: Mapping[str, Any]) -> list[str]:
    found = override.get(TARGETS[0], override.get(TARGETS[1]))
    items = found if isinstance(found, list) else []
    names = [item.get("name") if isinstance(item, Mapping) else item for item in items]
    return [name for name in names if isinstance(name, str)]


def _translatable(overrides: list[Any], draft: Draft, *, at: Path) -> bool:
    """Whether every word of the overrides exists in a patch; those that do not are noted, and then none is moved."""
    before = len(draft.notes)
    for i, override in enumerate(overrides):
        override = as_object(override)
        if not _targets(override):
            draft.note(NO_EQUIVALENT, (*at, i), "the override names no job", todo="name the jobs it is for: targetJobs")
        wrapped = at[-1] == "podTemplateOverrides"
        pod = as_object(override.get("spec")) if wrapped else override
        where = (*at, i, "spec") if wrapped else (*at, i)
        for word in pod:
            if word not in POD_FIELDS and not (word in TARGETS and not wrapped):
                _no_patch(draft, (*where, word), f"{word} of a pod")
        for kind in ("containers", "initContainers"):
            for j, container in named_items(pod.get(kind)):
                _check_container(container, draft, at=(*where, kind, j), settled=kind == "containers")
    return len(draft.notes) == before


def _check_container(container: Mapping[str, Any], draft: Draft, *, at: Path, settled: bool) -> None:
    name = container["name"]
    for word in container:
        if word == "env" and settled and name in SETTLED_ENV:
            what = f"a patch may not set the environment of the container {name}"
            draft.note(NO_EQUIVALENT, (*at, word), what, todo=f"move it to {SETTLED_ENV[name]}")
        elif word not in CONTAINER_FIELDS:
            _no_patch(draft, (*at, word), f"{word} of a container")


def _no_patch(draft: Draft, path: Path, what: str) -> None:
    todo = "set it in the runtime, or in spec.trainer where it is the trainer's"
    draft.note(NO_EQUIVALENT, path, f"a runtime patch cannot set {what}", todo=todo)


def _managed_by(spec: Raw, draft: Draft) -> Raw:
    if spec.get("managedBy") != OLD_CONTROLLER:
        return spec
    draft.note(MOVED_FIELD, ("spec", "managedBy"), f"the controller is called {CONTROLLER} now")
    return {**spec, "managedBy": CONTROLLER}


def _processes(spec: Raw, draft: Draft) -> Raw:
    said = look(spec, "trainer", "numProcPerNode")
    path = ("spec", "trainer", "numProcPerNode")
    if not isinstance(said, str):
        return spec
    if said.isascii() and said.isdigit():
        draft.note(MOVED_FIELD, path, "numProcPerNode of a TrainJob is a number now")
        return as_raw(put(spec, path[1:], int(said)))
    what = f"numProcPerNode of a TrainJob is a number now, and {said} is none"
    todo = "remove it, and say mlPolicy.torch.numProcPerNode in the runtime"
    draft.note(NO_EQUIVALENT, path, what, todo=todo)
    return spec


def as_raw(value: Any) -> Raw:
    """A JSON object as a dict."""
    return dict(value)
