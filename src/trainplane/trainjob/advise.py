"""What works but is probably not meant, and what is worth knowing: warnings and information, never a refusal."""

from collections.abc import Iterator, Mapping
from typing import Any

from trainplane.api.loose import integer_at, object_at, objects_at, text_at
from trainplane.api.problem import Path, Problem
from trainplane.api.raw import look
from trainplane.api.roles import Role, Roles, roles_of
from trainplane.trainjob import rules, runtime_rules
from trainplane.trainjob.arguments import Wanted, contradictions, figure
from trainplane.trainjob.misplaced import JOBS, POD
from trainplane.trainjob.validate import POLICY, node_count

SUPPORT_LABEL = "trainer.kubeflow.org/support"
DEPRECATED = "deprecated"


def runtime(obj: Mapping[str, Any]) -> Iterator[Problem]:
    """What a runtime's author should know."""
    roles = roles_of(obj)
    yield from _support(obj)
    yield from _image(obj, roles)
    yield from _parallelism(obj, roles)
    yield from _arguments(obj, roles)
    yield from _restarts(obj)
    for path, job in objects_at(obj, *JOBS):
        yield from _mounts(obj, job, path=path)
        for kind in ("containers", "initContainers"):
            for where, container in objects_at(job, *POD, kind):
                yield from _chosen_gpus(container, (*path, *where))


def trainjob(obj: Mapping[str, Any]) -> Iterator[Problem]:
    """What a TrainJob's author should know whatever its runtime is."""
    yield from _chosen_gpus(object_at(obj, "spec", "trainer"), ("spec", "trainer"))


def pair(job: Mapping[str, Any], runtime: Mapping[str, Any]) -> Iterator[Problem]:
    """What the author of a TrainJob on this runtime should know; paths are the TrainJob's."""
    if look(runtime, "metadata", "labels", SUPPORT_LABEL) == DEPRECATED:
        name = text_at(job, "spec", "runtimeRef", "name")
        todo = "move to the runtime that takes its place"
        yield Problem(
            rules.RUNTIME_DEPRECATED, ("spec", "runtimeRef", "name"), f"the runtime {name} is deprecated", todo
        )


def _support(obj: Mapping[str, Any]) -> Iterator[Problem]:
    path: Path = ("metadata", "labels", SUPPORT_LABEL)
    value = look(obj, *path)
    if value == DEPRECATED:
        todo = "name the runtime that takes its place in an annotation or in its documentation"
        yield Problem(runtime_rules.DEPRECATED, path, "this runtime is marked as deprecated", todo)
    elif value is not None:
        todo = f"write {DEPRECATED}, or remove the label"
        yield Problem(runtime_rules.SUPPORT_VALUE, path, f"{value} has no meaning here, and nobody is warned", todo)


def _image(obj: Mapping[str, Any], roles: Roles) -> Iterator[Problem]:
    role = roles.ancestor
    if role and role.container and not text_at(obj, *_container(role), "image"):
        what = f"the container {role.container.name} has no image"
        yield Problem(
            runtime_rules.NO_IMAGE, _container(role), what, "every TrainJob on this runtime sets spec.trainer.image"
        )


def _container(role: Role) -> Path:
    return (*JOBS, role.index, *POD, "containers", role.container.index if role.container else 0)


def _parallelism(obj: Mapping[str, Any], roles: Roles) -> Iterator[Problem]:
    nodes = node_count(obj)
    if nodes is None or roles.trainer is None:
        return
    if roles.launcher and look(obj, *POLICY, "mpi", "runLauncherAsNode") is True:
        nodes = max(nodes - 1, 1)
    for field in ("parallelism", "completions"):
        path = (*JOBS, roles.trainer.index, "template", "spec", field)
        written = integer_at(obj, *path)
        if written is not None and written != nodes:
            what = f"{field} is {written}, and the policy makes it {nodes}"
            yield Problem(runtime_rules.PARALLELISM, path, what, f"remove {field}: the node count wins")


def _arguments(obj: Mapping[str, Any], roles: Roles) -> Iterator[Problem]:
    if look(obj, *POLICY, "torch") is not None and roles.trainer and roles.trainer.container:
        yield from _torchrun(obj, _container(roles.trainer))
    role = roles.launcher or roles.trainer
    if look(obj, *POLICY, "mpi") is not None and role and role.container:
        yield from _mpirun(obj, _container(role))


def _torchrun(obj: Mapping[str, Any], path: Path) -> Iterator[Problem]:
    elastic = (*POLICY, "torch", "elasticPolicy")
    low, high = figure(look(obj, *elastic, "minNodes")), figure(look(obj, *elastic, "maxNodes"))
    wanted = Wanted(
        nodes=f"{low}:{high}" if low and high else figure(look(obj, *POLICY, "numNodes")),
        procs=figure(look(obj, *POLICY, "torch", "numProcPerNode")),
        restarts=figure(look(obj, *elastic, "maxRestarts")),
    )
    yield from _contradict(obj, path, wanted)


def _mpirun(obj: Mapping[str, Any], path: Path) -> Iterator[Problem]:
    nodes, slots = figure(look(obj, *POLICY, "numNodes")), figure(look(obj, *POLICY, "mpi", "numProcPerNode"))
    # Without slots the number of GPUs may decide, which only the TrainJob knows.
    if nodes and slots:
        ranks = str(int(nodes) * int(slots))
        yield from _contradict(obj, path, Wanted(ranks=ranks, note=f"{nodes} nodes of {slots}"))


def _contradict(obj: Mapping[str, Any], path: Path, wanted: Wanted) -> Iterator[Problem]:
    for found in contradictions(object_at(obj, *path), wanted):
        what = f"the arguments say {found.flag} {found.said}, and the policy says {found.wanted}"
        todo = "let both say the same, or remove the argument"
        yield Problem(runtime_rules.ARGUMENTS, (*path, *found.word), what, todo)


def _restarts(obj: Mapping[str, Any]) -> Iterator[Problem]:
    restarts = (*JOBS[:-1], "failurePolicy", "maxRestarts"), (*POLICY, "torch", "elasticPolicy", "maxRestarts")
    if not any(integer_at(obj, *path) for path in restarts):
        return
    for path, job in objects_at(obj, *JOBS):
        if look(job, *POD, "restartPolicy") == "OnFailure":
            what = "the container restarts inside its pod before the failure policy hears of a failure"
            todo = "write restartPolicy: Never and let the failure policy restart the whole job"
            yield Problem(runtime_rules.RESTARTS_MULTIPLY, (*path, *POD, "restartPolicy"), what, todo)


def _mounts(obj: Mapping[str, Any], job: Mapping[str, Any], *, path: Path) -> Iterator[Problem]:
    volumes = {text_at(volume, "name") for _, volume in objects_at(job, *POD, "volumes")}
    for _, policy in objects_at(obj, *JOBS[:-1], "volumeClaimPolicies"):
        volumes |= {text_at(claim, "metadata", "name") for _, claim in objects_at(policy, "templates")}
    for kind in ("containers", "initContainers"):
        for where, container in objects_at(job, *POD, kind):
            for place, mount in objects_at(container, "volumeMounts"):
                name = text_at(mount, "name")
                if name and name not in volumes:
                    what = f"the template has no volume {name}"
                    todo = "add it to volumes or volumeClaimPolicies, unless a patch of the TrainJob brings it"
                    yield Problem(runtime_rules.MOUNT_WITHOUT_VOLUME, (*path, *where, *place, "name"), what, todo)


def _chosen_gpus(container: Mapping[str, Any], path: Path) -> Iterator[Problem]:
    for where, variable in objects_at(container, "env"):
        if variable.get("name") == "CUDA_VISIBLE_DEVICES":
            what = "which GPUs a container sees is decided where its pod is placed"
            todo = "remove the variable and ask for nvidia.com/gpu as a resource limit"
            yield Problem(runtime_rules.CHOSEN_GPUS, (*path, *where, "name"), what, todo)
