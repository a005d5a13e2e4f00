"""What lint says of a runtime's pods: resources that a server refuses, privileges, and what a program would miss."""

from collections.abc import Iterator, Mapping
from typing import Any

from trainplane.api.loose import object_at, objects_at, text_at, texts_at
from trainplane.api.problem import Path, Problem
from trainplane.api.raw import look
from trainplane.api.roles import Role, Roles, roles_of
from trainplane.api.trainer import METRICS_ENABLED
from trainplane.trainjob import container as container_rules
from trainplane.trainjob import pod_rules
from trainplane.trainjob.arguments import figure
from trainplane.trainjob.misplaced import JOBS, POD
from trainplane.trainjob.validate import POLICY

CONTAINERS = ("containers", "initContainers")
RDMA_DEVICES = "/dev/infiniband"
BASELINE = frozenset(
    (
        *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD"),
        *("NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
    )
)
"""The capabilities that the Pod Security level baseline lets a container add."""


def runtime(obj: Mapping[str, Any]) -> Iterator[Problem]:
    """What a runtime's pods would meet on a cluster, as far as it can be seen beforehand."""
    roles = roles_of(obj)
    if look(obj, *POLICY, "mpi") is not None:
        from trainplane.trainjob import mpi_contract

        yield from mpi_contract.runtime(obj, roles)
    yield from _processes(obj, roles)
    yield from _metrics(obj, roles)
    yield from _lifetime(obj)
    for path, job in objects_at(obj, *JOBS):
        place = (*path, *POD)
        pod = object_at(job, *POD)
        yield from _volumes(pod, place)
        yield from _host_namespaces(pod, place)
        for kind in CONTAINERS:
            for where, container in objects_at(pod, kind):
                yield from _privileges(container, (*place, *where))
                yield from container_rules.image(container, (*place, *where))
                yield from container_rules.interfaces(container, (*place, *where))
                yield from container_rules.resources(container.get("resources"), (*place, *where, "resources"))


def _volumes(pod: Mapping[str, Any], path: Path) -> Iterator[Problem]:
    for where, volume in objects_at(pod, "volumes"):
        if volume.get("hostPath") is None:
            continue
        folder = text_at(volume, "hostPath", "path")
        if folder.startswith(RDMA_DEVICES):
            what = f"{folder} of the machine is what RDMA needs, and the levels baseline and restricted refuse it"
            todo = "run it in a namespace of the Pod Security level privileged, or use an RDMA device plugin"
            yield Problem(pod_rules.RDMA, (*path, *where, "hostPath"), what, todo)
        else:
            what = (
                f"the volume is {folder or 'a folder'} of the machine; Pod Security refuses it from level baseline up"
            )
            todo = "use a claim, an emptyDir or a ConfigMap"
            yield Problem(pod_rules.HOST_PATH, (*path, *where, "hostPath"), what, todo)


def _host_namespaces(pod: Mapping[str, Any], path: Path) -> Iterator[Problem]:
    for field in ("hostNetwork", "hostPID", "hostIPC"):
        if pod.get(field) is True:
            what = f"{field} shares the machine's own; Pod Security refuses it from level baseline up"
            yield Problem(pod_rules.HOST_NAMESPACE, (*path, field), what, f"remove {field}")


def _privileges(container: Mapping[str, Any], path: Path) -> Iterator[Problem]:
    place = (*path, "securityContext")
    context = object_at(container, "securityContext")
    if context.get("privileged") is True:
        what = "the container has all rights on its machine; Pod Security refuses it from level baseline up"
        todo = "remove it, and add the capabilities that the program needs"
        yield Problem(pod_rules.PRIVILEGED, (*place, "privileged"), what, todo)
    elif context.get("allowPrivilegeEscalation") is True:
        what = "the program may gain rights; the Pod Security level restricted refuses it"
        yield Problem(pod_rules.ESCALATION, (*place, "allowPrivilegeEscalation"), what, "write false")
    for where, capability in texts_at(context, "capabilities", "add"):
        if capability == "IPC_LOCK":
            what = "IPC_LOCK lets RDMA pin memory, and the Pod Security levels baseline and restricted refuse it"
            todo = "run it in a namespace of the level privileged"
            yield Problem(pod_rules.RDMA, (*place, *where), what, todo)
        elif capability.removeprefix("CAP_") not in BASELINE:
            what = f"{capability} is refused from the Pod Security level baseline up"
            yield Problem(pod_rules.CAPABILITY, (*place, *where), what, "remove it unless the program fails without")


def _container(role: Role | None) -> Path | None:
    return (*JOBS, role.index, *POD, "containers", role.container.index) if role and role.container else None


def _processes(obj: Mapping[str, Any], roles: Roles) -> Iterator[Problem]:
    """How many processes a node runs, against the devices that its container asks for."""
    path = _container(roles.trainer)
    if path is None:
        return
    asked = object_at(obj, *path, "resources")
    for framework in ("torch", "mpi"):
        place = (*POLICY, framework, "numProcPerNode")
        count = look(obj, *place)
        if figure(count) and (framework, figure(count)) != ("mpi", "1"):
            # Only where both are written: most runtimes leave the resources to the TrainJob.
            from trainplane.trainjob.processes import gpus

            devices = gpus(asked)
            if devices and devices != int(count):
                what = f"{count} processes on each node, and its container asks for {devices} GPUs"
                yield Problem(pod_rules.SLOTS_AND_GPUS, place, what, f"write {devices}, or ask for {count} GPUs")


def _metrics(obj: Mapping[str, Any], roles: Roles) -> Iterator[Problem]:
    path: Path = ("metadata", "annotations", METRICS_ENABLED)
    if look(obj, *path) != "true" or roles.trainer is None:
        return
    containers = objects_at(obj, *JOBS, roles.trainer.index, *POD, "containers")
    names = {text_at(port, "name") for _, container in containers for _, port in objects_at(container, "ports")}
    if "metrics" not in names:
        todo = "declare the port: name metrics, with the number where the trainer serves them"
        what = f"no port of {roles.trainer.name} is called metrics, so 8080 is taken"
        yield Problem(pod_rules.METRICS_PORT, path, what, todo)


def _lifetime(obj: Mapping[str, Any]) -> Iterator[Problem]:
    ttl: Path = (*JOBS[:-1], "ttlSecondsAfterFinished")
    if look(obj, *ttl) is not None:
        what = "the JobSet and its pods would be removed, and the TrainJob would stay without them"
        todo = "remove it here, and set spec.ttlSecondsAfterFinished of the TrainJob"
        yield Problem(pod_rules.TEMPLATE_TTL, ttl, what, todo)
    policy: Path = (*JOBS[:-1], "failurePolicy")
    if not look(obj, *policy, "maxRestarts"):
        return
    for path, job in objects_at(obj, *JOBS):
        if object_at(job, *POD).get("containers") and look(job, *POD, "restartPolicy") is None:
            what = f"the pods of {text_at(job, 'name') or 'a job'} say no restartPolicy, and JobSet makes it OnFailure"
            todo = "write restartPolicy: Never, so that the failure policy hears of a failure at once"
            yield Problem(pod_rules.RESTART_UNSAID, (*path, *POD), what, todo)
