"""What is refused: runtimes and TrainJobs that cannot work, each fault with its remedy."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from trainplane.api.loose import integer_at, object_at, objects_at, text_at, texts_at
from trainplane.api.problem import Path, Problem, Rule, did_you_mean
from trainplane.api.raw import look
from trainplane.api.roles import roles_of
from trainplane.trainjob import misplaced, rules, runtime_rules
from trainplane.trainjob.misplaced import JOBS, POD

POLICY: Path = ("spec", "mlPolicy")
FRAMEWORKS = ("torch", "mpi", "jax", "xgboost", "flux")
KINDS = ("ClusterTrainingRuntime", "TrainingRuntime")
GROUPS = ("trainer.kubeflow.org", "kubeflow.org", "ome.io")
STEPS = ("trainer", "dataset-initializer", "model-initializer")
ANCESTOR_LABEL = "trainer.kubeflow.org/trainjob-ancestor-step"

QUEUE_ANNOTATION = "scheduling.volcano.sh/queue-name"

RESERVED = {
    "torch": ("PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT"),
    "mpi": (
        "OMPI_MCA_orte_default_hostfile",
        "OMPI_MCA_orte_keep_fqdn_hostnames",
        "OMPI_MCA_orte_set_default_slots",
        "OMPI_MCA_plm_rsh_args",
    ),
    "xgboost": ("DMLC_TRACKER_URI", "DMLC_TRACKER_PORT", "DMLC_TASK_ID", "DMLC_NUM_WORKER"),
}
"""The variables that each policy sets, and that a TrainJob therefore may not."""

_MEANT = {
    **dict.fromkeys(("pytorch", "torchrun", "torchdistributed"), "torch"),
    **dict.fromkeys(("openmpi", "intelmpi", "mpich", "horovod", "deepspeed", "mlx"), "mpi"),
    **dict.fromkeys(("xgb",), "xgboost"),
}
_WITHOUT_POLICY = ("tensorflow", "tf", "mxnet", "paddle", "paddlepaddle", "plain")
_MANAGER = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/[-A-Za-z0-9._~%!$&'()*+,;=:/]+")
_COUNTS: tuple[Path, ...] = (
    (*POLICY, "numNodes"),
    (*POLICY, "torch", "numProcPerNode"),
    (*POLICY, "mpi", "numProcPerNode"),
    ("spec", "trainer", "numNodes"),
    ("spec", "trainer", "numProcPerNode"),
)


def runtime(obj: Mapping[str, Any]) -> Iterator[Problem]:
    """Everything for which a runtime is refused beyond its schema."""
    yield from misplaced.pods(obj)
    yield from _policy_names(obj)
    yield from _two_at_once(obj)
    yield from _elastic(obj)
    yield from _counts(obj)
    yield from _jobs(obj)
    yield from _env_targets(obj)
    queue: Path = ("spec", "template", "metadata", "annotations", QUEUE_ANNOTATION)
    if look(obj, *queue) == "":
        todo = "write spec.podGroupPolicy.volcano.queue, or remove the annotation"
        yield Problem(runtime_rules.EMPTY_QUEUE, queue, "the queue has no name", todo)


def trainjob(obj: Mapping[str, Any]) -> Iterator[Problem]:
    """Everything for which a TrainJob is refused whatever its runtime is."""
    yield from _reference(obj)
    yield from _counts(obj)
    for path, patch in objects_at(obj, "spec", "runtimePatches"):
        manager = text_at(patch, "manager")
        if manager and not _MANAGER.fullmatch(manager):
            todo = "write a domain, a slash and a name, such as example.com/me"
            yield Problem(rules.PATCH_MANAGER, (*path, "manager"), f"{manager!r} has no domain before a slash", todo)
        yield from _finalizers(patch, path)
    for path, _, container in _patched_containers(obj):
        if container.get("env") and container.get("name") in ("node", *STEPS[1:]):
            field = "spec.trainer.env" if container["name"] == "node" else "spec.initializer"
            what = f"the variables of the container {container['name']} are not a patch's to set"
            yield Problem(rules.PATCH_ENV, (*path, "env"), what, f"move them to {field}")


def pair(job: Mapping[str, Any], runtime: Mapping[str, Any]) -> Iterator[Problem]:
    """Everything for which a TrainJob is refused on this runtime; paths are the TrainJob's."""
    # The frameworks bring the whole pipeline along, which a document by itself does not need.
    from trainplane.trainjob.frameworks import torchtune

    yield from _reserved(job, runtime)
    yield from _bounds(job, runtime)
    yield from _image(job, runtime)
    yield from _launcher(job, runtime)
    yield from _initializers(job, runtime)
    yield from _patch_targets(job, runtime)
    yield from _queue(job, runtime)
    yield from torchtune.problems(job, runtime)


def node_count(runtime: Mapping[str, Any]) -> int | None:
    """How many nodes a runtime says a job has: numNodes, else minNodes; None where it says neither."""
    nodes = integer_at(runtime, *POLICY, "numNodes")
    return nodes if nodes is not None else integer_at(runtime, *POLICY, "torch", "elasticPolicy", "minNodes")


def _policy_names(obj: Mapping[str, Any]) -> Iterator[Problem]:
    for name in object_at(obj, *POLICY):
        folded = str(name).casefold().replace("-", "").replace("_", "")
        path = (*POLICY, name)
        if name == "flux":
            if look(obj, *path) is not None:
                yield Problem(
                    runtime_rules.FLUX, path, "Trainplane does not run Flux", "use mpi, which starts with mpirun"
                )
        elif name in FRAMEWORKS:
            continue
        elif folded in _MEANT:
            meant = _MEANT[folded]
            yield Problem(runtime_rules.POLICY_NAME, path, f"there is no policy {name}", f"did you mean {meant}?")
        elif folded in _WITHOUT_POLICY:
            todo = f"leave {name} out and keep numNodes alone (a plain runtime), or use mpi if it runs over MPI"
            yield Problem(runtime_rules.POLICY_NAME, path, f"there is no policy {name}", todo)


def _two_at_once(obj: Mapping[str, Any]) -> Iterator[Problem]:
    given = [str(name) for name, value in object_at(obj, *POLICY).items() if name in FRAMEWORKS and value is not None]
    if len(given) > 1:
        what = f"{' and '.join(given)} are given, and a job is started in one way"
        yield Problem(
            runtime_rules.TWO_POLICIES, (*POLICY, given[1]), what, "keep the one that the trainer's image is made for"
        )
    gangs: Path = ("spec", "podGroupPolicy")
    if look(obj, *gangs, "coscheduling") is not None and look(obj, *gangs, "volcano") is not None:
        second = [name for name in object_at(obj, *gangs) if name in ("coscheduling", "volcano")][1]
        what = "coscheduling and volcano are two schedulers, and one places the pods"
        yield Problem(runtime_rules.TWO_GANGS, (*gangs, second), what, "keep the one that the cluster runs")


def _elastic(obj: Mapping[str, Any]) -> Iterator[Problem]:
    path = (*POLICY, "torch", "elasticPolicy")
    low, high = integer_at(obj, *path, "minNodes"), integer_at(obj, *path, "maxNodes")
    nodes = integer_at(obj, *POLICY, "numNodes")
    if low is not None and high is not None and low > high:
        what = f"minNodes {low} is larger than maxNodes {high}"
        yield Problem(runtime_rules.BOUNDS_UPSIDE_DOWN, (*path, "minNodes"), what, "swap them, or raise maxNodes")
    elif nodes is not None and ((low is not None and nodes < low) or (high is not None and nodes > high)):
        what = f"numNodes {nodes} does not lie {_between(low, high)}"
        todo = "start within the bounds, or leave numNodes out to start with minNodes"
        yield Problem(runtime_rules.OUTSIDE_BOUNDS, (*POLICY, "numNodes"), what, todo)
    said = object_at(obj, *path)
    for given, missing in (("minNodes", "maxNodes"), ("maxNodes", "minNodes")):
        if said.get(given) is not None and said.get(missing) is None:
            todo = f"add {missing}; leave both out if the job shall only restart"
            yield Problem(runtime_rules.ONE_BOUND, (*path, given), f"{given} is given without {missing}", todo)


def _between(low: int | None, high: int | None) -> str:
    if low is None:
        return f"below maxNodes {high}"
    return f"above minNodes {low}" if high is None else f"between {low} and {high}"


def _counts(obj: Mapping[str, Any]) -> Iterator[Problem]:
    for path in _COUNTS:
        value = look(obj, *path)
        number = (
            int(value) if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,9}", value) else integer_at(obj, *path)
        )
        if number is not None and number < 1:
            yield Problem(runtime_rules.BELOW_ONE, path, f"{path[-1]} is {value}", "write 1 or more")


def _jobs(obj: Mapping[str, Any]) -> Iterator[Problem]:
    spec = object_at(obj, *JOBS[:-1])
    misplaced_pod = any(look(obj, *JOBS[:depth], "containers") is not None for depth in (1, 2, 3))
    if not spec.get("replicatedJobs") and not misplaced_pod:
        deepest = next((JOBS[:depth] for depth in (4, 3, 2, 1) if look(obj, *JOBS[:depth]) is not None), ("spec",))
        what = "the runtime has no replicated job, so a TrainJob on it would never finish"
        todo = "add one, usually called node, to spec.template.spec.replicatedJobs"
        yield Problem(runtime_rules.NO_JOBS, deepest, what, todo)
    for path, job in objects_at(obj, *JOBS):
        step, replicas = look(job, "template", "metadata", "labels", ANCESTOR_LABEL), integer_at(job, "replicas")
        if step in STEPS and replicas is not None and replicas != 1:
            what = f"the {step} has {replicas} replicas, and must have one"
            todo = "remove replicas; the number of nodes is spec.mlPolicy.numNodes"
            yield Problem(runtime_rules.STEP_REPLICAS, (*path, "replicas"), what, todo)
        yield from _port_names(job, path)


def _port_names(job: Mapping[str, Any], path: Path) -> Iterator[Problem]:
    for kind in ("containers", "initContainers"):
        for where, container in objects_at(job, *POD, kind):
            seen: set[str] = set()
            for place, port in objects_at(container, "ports"):
                name = text_at(port, "name")
                if name and name in seen:
                    what = f"a port called {name} is there already"
                    todo = "give every port of the container a name of its own"
                    yield Problem(runtime_rules.PORT_NAME_TWICE, (*path, *where, *place, "name"), what, todo)
                seen.add(name)


def _env_targets(obj: Mapping[str, Any]) -> Iterator[Problem]:
    templates = {text_at(job, "name"): job for _, job in objects_at(obj, *JOBS)}
    for path, target in objects_at(obj, *POLICY, "torch", "envInjection", "targets"):
        name = text_at(target, "jobName")
        if name and name not in templates:
            yield _nowhere((*path, "jobName"), "job", name, templates, rule=runtime_rules.ENV_TARGET)
            continue
        known = _container_names(templates.get(name))
        for where, container in texts_at(target, "containerNames"):
            if container not in known:
                yield _nowhere((*path, *where), "container", container, known, rule=runtime_rules.ENV_TARGET)


def _container_names(job: Mapping[str, Any] | None) -> list[str]:
    kinds = ("containers", "initContainers")
    return [text_at(container, "name") for kind in kinds for _, container in objects_at(job, *POD, kind)]


def _reference(obj: Mapping[str, Any]) -> Iterator[Problem]:
    path: Path = ("spec", "runtimeRef")
    reference = object_at(obj, *path)
    kind, name = reference.get("kind"), text_at(reference, "name")
    if isinstance(kind, str) and kind and kind not in KINDS:
        near = did_you_mean(kind, KINDS)
        if kind == kind.lower() and ("-" in kind or name in KINDS):
            what = f"{kind} looks like the name of a runtime, not like a kind"
            todo = f"did you mean name: {kind}, kind: ClusterTrainingRuntime?"
            yield Problem(rules.SWAPPED, (*path, "kind"), what, todo)
        else:
            todo = f"did you mean {near}?" if near else f"write {' or '.join(KINDS)}"
            yield Problem(rules.REFERENCE_KIND, (*path, "kind"), f"there is no kind {kind} of runtime", todo)
    group = reference.get("apiGroup")
    if group == "":
        todo = "leave the field out, or write trainer.kubeflow.org"
        yield Problem(rules.EMPTY_GROUP, (*path, "apiGroup"), "the empty group has no runtimes", todo)
    elif isinstance(group, str) and group not in GROUPS:
        near = did_you_mean(group, GROUPS)
        todo = f"did you mean {near}?" if near else "leave the field out to mean trainer.kubeflow.org"
        yield Problem(rules.REFERENCE_GROUP, (*path, "apiGroup"), f"there are no runtimes in the group {group}", todo)


def _finalizers(patch: Mapping[str, Any], path: Path) -> Iterator[Problem]:
    """The finalizers that a patch sets, at any of the three places that take metadata."""
    template: Path = ("trainingRuntimeSpec", "template")
    jobs = [where for where, _ in objects_at(patch, "trainingRuntimeSpec", *JOBS[1:])]
    for here in (template, *((*job, *inner) for job in jobs for inner in (("template",), POD[:-1]))):
        field: Path = (*here, "metadata", "finalizers")
        if look(patch, *field):
            what = "pods, Jobs and JobSets with a finalizer cannot go until somebody lifts it"
            yield Problem(rules.PATCH_FINALIZERS, (*path, *field), what, "remove it; use a label or an annotation")


def _patched_containers(obj: Mapping[str, Any]) -> Iterator[tuple[Path, str, Mapping[str, Any]]]:
    """Every container that a TrainJob's patches name: its path, its job, and the patch."""
    for path, patch in objects_at(obj, "spec", "runtimePatches"):
        for job_path, job in objects_at(patch, "trainingRuntimeSpec", *JOBS[1:]):
            for kind in ("containers", "initContainers"):
                for where, container in objects_at(job, *POD, kind):
                    yield (*path, *job_path, *where), text_at(job, "name"), container


def _reserved(job: Mapping[str, Any], runtime: Mapping[str, Any]) -> Iterator[Problem]:
    policy = object_at(runtime, *POLICY)
    for framework, names in RESERVED.items():
        if policy.get(framework) is None:
            continue
        for path, variable in objects_at(job, "spec", "trainer", "env"):
            if variable.get("name") in names:
                what = f"{variable['name']} is set by the {framework} policy"
                todo = "remove it; set spec.trainer.numNodes or numProcPerNode instead"
                yield Problem(rules.RESERVED_ENV, (*path, "name"), what, todo)


def _bounds(job: Mapping[str, Any], runtime: Mapping[str, Any]) -> Iterator[Problem]:
    nodes = integer_at(job, "spec", "trainer", "numNodes")
    elastic = (*POLICY, "torch", "elasticPolicy")
    low, high = integer_at(runtime, *elastic, "minNodes"), integer_at(runtime, *elastic, "maxNodes")
    if nodes is not None and ((low is not None and nodes < low) or (high is not None and nodes > high)):
        what = f"{nodes} nodes do not lie {_between(low, high)}, the runtime's bounds"
        yield Problem(
            rules.JOB_OUTSIDE_BOUNDS, ("spec", "trainer", "numNodes"), what, "choose a number within the bounds"
        )


def _image(job: Mapping[str, Any], runtime: Mapping[str, Any]) -> Iterator[Problem]:
    if text_at(job, "spec", "trainer", "image"):
        return
    role = roles_of(runtime).ancestor
    if role is None or role.container is None:
        return
    if not text_at(runtime, *JOBS, role.index, *POD, "containers", role.container.index, "image"):
        path: Path = ("spec", "trainer") if object_at(job, "spec", "trainer") else ("spec", "runtimeRef")
        what = f"the container {role.container.name} of the runtime has no image, and the TrainJob gives none"
        yield Problem(rules.IMAGE_NOWHERE, path, what, "set spec.trainer.image")


def _launcher(job: Mapping[str, Any], runtime: Mapping[str, Any]) -> Iterator[Problem]:
    if look(runtime, *POLICY, "mpi") is None:
        return
    roles = roles_of(runtime)
    asked = integer_at(job, "spec", "trainer", "numNodes")
    if roles.launcher is not None:
        one_of_them = look(runtime, *POLICY, "mpi", "runLauncherAsNode") is True
        if roles.trainer is None and one_of_them and asked is not None and asked > 1:
            what = f"{asked} nodes are asked for, and the runtime has no job beside {roles.launcher.name} to be them"
            todo = "add a job called node that runs sshd to the runtime, or run on one node"
            yield Problem(rules.LAUNCHER_NOWHERE, ("spec", "trainer", "numNodes"), what, todo)
        return
    nodes = asked if asked is not None else node_count(runtime)
    if nodes is not None and nodes > 1:
        path: Path = ("spec", "runtimeRef") if asked is None else ("spec", "trainer", "numNodes")
        what = f"{nodes} nodes are asked for, and the runtime has no job launcher that reaches them"
        todo = "split mpirun out of the runtime into a job called launcher, or run on one node"
        yield Problem(rules.LAUNCHER_NOWHERE, path, what, todo)


def _initializers(job: Mapping[str, Any], runtime: Mapping[str, Any]) -> Iterator[Problem]:
    if not object_at(job, "spec", "initializer"):
        return
    roles = roles_of(runtime)
    for field, role in (("dataset", roles.dataset_initializer), ("model", roles.model_initializer)):
        if look(job, "spec", "initializer", field) is None:
            continue
        path: Path = ("spec", "initializer", field)
        if role is None:
            what = f"the runtime has no job {field}-initializer that would fetch it"
            yield Problem(rules.INITIALIZER_NOWHERE, path, what, "use a runtime that has one, or remove the field")
        elif role.container and not any(
            mount.get("name") == "initializer"
            for _, mount in objects_at(
                runtime, *JOBS, role.index, *POD, "containers", role.container.index, "volumeMounts"
            )
        ):
            what = f"the runtime's {role.name} mounts no volume initializer, so what it fetches would be lost"
            todo = "mount a volume called initializer in the runtime, in the initializer and in the trainer"
            yield Problem(rules.INITIALIZER_NOWHERE, path, what, todo)


def _patch_targets(job: Mapping[str, Any], runtime: Mapping[str, Any]) -> Iterator[Problem]:
    templates = {text_at(item, "name"): item for _, item in objects_at(runtime, *JOBS)}
    for path, patch in objects_at(job, "spec", "runtimePatches"):
        for place, target in objects_at(patch, "trainingRuntimeSpec", *JOBS[1:]):
            name = text_at(target, "name")
            if name and name not in templates:
                yield _nowhere((*path, *place, "name"), "job", name, templates)
    for path, job_name, container in _patched_containers(job):
        name, known = text_at(container, "name"), _container_names(templates.get(job_name))
        if job_name in templates and name and name not in known:
            yield _nowhere((*path, "name"), "container", name, known)


def _queue(job: Mapping[str, Any], runtime: Mapping[str, Any]) -> Iterator[Problem]:
    if look(runtime, "spec", "podGroupPolicy", "volcano") is None:
        return
    for path, patch in objects_at(job, "spec", "runtimePatches"):
        queue: Path = ("trainingRuntimeSpec", "template", "metadata", "annotations", QUEUE_ANNOTATION)
        if look(patch, *queue) == "":
            todo = "name a queue, or remove the annotation"
            yield Problem(runtime_rules.EMPTY_QUEUE, (*path, *queue), "the queue has no name", todo)


def _nowhere(path: Path, noun: str, name: str, known: Iterable[str], *, rule: Rule = rules.PATCH_NOWHERE) -> Problem:
    near = did_you_mean(name, known)
    todo = f"did you mean {near}?" if near else f"it has {', '.join(known)}"
    return Problem(rule, path, f"the runtime has no {noun} {name}", todo)
