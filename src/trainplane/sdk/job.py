"""A TrainJob from a few words: which program, on how many nodes, with what."""

import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from trainplane.api.kinds import HUB
from trainplane.api.meta import Raw
from trainplane.api.raw import look, put
from trainplane.api.roles import Role, roles_of
from trainplane.sdk import source
from trainplane.sdk.source import Archive

MANAGER = "trainplane.dev/run"
"""Whose the patch is that adds the code's volume to the runtime."""
AT_ONCE = {"PYTHONUNBUFFERED": "1"}
"""Makes Python write each line at once."""
TAGGED = {
    "PET_TEE": "3",
    "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE": "[rank${rank}]: ",
    **AT_ONCE,
}
"""Makes torchrun say whose each line is. It looks for lines ten times a second, and takes as long to stop."""
GPU = "nvidia.com/gpu"
RESTARTS = 3
"""How often the workers of an elastic job begin anew, where the runtime does not say."""


class Unfit(Exception):
    """The runtime cannot run this: what, and what to do."""


class Asked(msgspec.Struct, frozen=True):
    """What somebody wants to run."""

    name: str
    words: tuple[str, ...]
    """The program and its arguments."""
    nodes: int = 0
    """0 is as many as the runtime says."""
    processes: int = 0
    gpus: int = 0
    cpus: str = ""
    memory: str = ""
    elastic: tuple[int, int] | None = None
    image: str = ""
    env: Mapping[str, str] = msgspec.field(default_factory=dict)
    namespace: str = "default"

    @property
    def resources(self) -> Raw:
        """What a container of each node asks for; empty where nothing is said."""
        wanted = {"cpu": self.cpus, "memory": self.memory, GPU: str(self.gpus) if self.gpus else ""}
        given = {name: value for name, value in wanted.items() if value}
        return {"requests": given, "limits": given} if given else {}


def name_of(script: str, mark: str) -> str:
    """A name for a run of a script: what it is called, and a mark that tells runs apart."""
    plain = re.sub(r"[^a-z0-9]+", "-", script.rpartition("/")[2].removesuffix(".py").lower()).strip("-")
    return f"{plain[:30].strip('-') or 'run'}-{mark}"


def is_torch(runtime: Raw) -> bool:
    """Whether a runtime starts programs with torchrun."""
    return look(runtime, "spec", "mlPolicy", "torch") is not None


def is_mpi(runtime: Raw) -> bool:
    """Whether a runtime starts programs with mpirun."""
    return look(runtime, "spec", "mlPolicy", "mpi") is not None


def launch_words(runtime: Raw, script: str, arguments: Sequence[str]) -> tuple[str, ...]:
    """The command line for a script under a runtime: torchrun where that is its way, else Python."""
    if not script.endswith(".py"):
        return (f"./{script}", *arguments)
    return ("torchrun", script, *arguments) if is_torch(runtime) else (source.PYTHON, script, *arguments)


def train_job(asked: Asked, runtime: Raw, archive: Archive | None) -> Raw:
    """The TrainJob; with an archive, its pods unpack it before they begin. Raises Unfit."""
    # Where a node has one process the node says whose a line is; of one that may come and go it does not.
    is_alone = asked.processes == 1 and not asked.elastic
    env = {**(TAGGED if is_torch(runtime) and not is_alone else AT_ONCE), **asked.env}
    command = list(asked.words)
    if archive and is_mpi(runtime):
        command = source.mpi_command(asked.words, names=sorted({*env, *_passed_on(runtime)}))
    elif archive:
        command = source.command(asked.words)
    trainer: Raw = {
        "command": command,
        "args": [],
        "env": [{"name": name, "value": value} for name, value in env.items()],
    }
    if asked.nodes:
        trainer["numNodes"] = asked.nodes
    if asked.processes:
        trainer["numProcPerNode"] = asked.processes
    if asked.image:
        trainer["image"] = asked.image
    if asked.resources and not _waits(runtime):
        trainer["resourcesPerNode"] = asked.resources
    job: Raw = {
        "apiVersion": HUB,
        "kind": "TrainJob",
        "metadata": {"name": asked.name, "namespace": asked.namespace},
        "spec": {
            "runtimeRef": {"name": runtime["metadata"]["name"], "kind": runtime["kind"]},
            "trainer": trainer,
        },
    }
    return put(job, ("spec", "runtimePatches"), [_patch(runtime, archive)]) if archive else job


def own_runtime(runtime: Raw, asked: Asked) -> Raw | None:
    """A runtime of the job's own where a TrainJob cannot say all that is asked for; raises Unfit."""
    if asked.elastic:
        return elastic_runtime(runtime, asked)
    if is_mpi(runtime) and (asked.image or (asked.resources and _waits(runtime))):
        return mpi_runtime(runtime, asked)
    return None


def mpi_runtime(runtime: Raw, asked: Asked) -> Raw:
    """A runtime of the job's own whose workers have what was asked for: a TrainJob's words reach the launcher."""
    _, worker = _running(runtime)
    place = ("template", "spec", "replicatedJobs", worker.index, "template", "spec", "template", "spec", "containers")
    spec, index = runtime["spec"], worker.container.index if worker.container else 0
    if asked.image:
        spec = put(spec, (*place, index, "image"), asked.image)
    if asked.resources and _waits(runtime):
        spec = put(spec, (*place, index, "resources"), asked.resources)
    return _own(runtime, asked, spec)


def _waits(runtime: Raw) -> bool:
    """Whether the launcher of a runtime only waits for its workers, and trains nothing itself."""
    return is_mpi(runtime) and not look(runtime, "spec", "mlPolicy", "mpi", "runLauncherAsNode")


def elastic_runtime(runtime: Raw, asked: Asked) -> Raw:
    """A runtime of the job's own that may grow and shrink between the two sizes; raises Unfit."""
    if asked.elastic is None or not is_torch(runtime):
        raise Unfit(f"runtime {runtime['metadata']['name']} is not for torch: only torch jobs can change their size")
    least, most = asked.elastic
    torch = look(runtime, "spec", "mlPolicy", "torch") or {}
    policy = {"maxRestarts": RESTARTS, **(torch.get("elasticPolicy") or {}), "minNodes": least, "maxNodes": most}
    spec = put(runtime["spec"], ("mlPolicy", "torch", "elasticPolicy"), policy)
    spec["mlPolicy"] = {name: value for name, value in spec["mlPolicy"].items() if name != "numNodes"}
    return _own(runtime, asked, spec)


def _own(runtime: Raw, asked: Asked, spec: Raw) -> Raw:
    labels = look(runtime, "metadata", "labels") or {}
    return {
        "apiVersion": runtime["apiVersion"],
        "kind": "TrainingRuntime",
        "metadata": {"name": asked.name, "namespace": asked.namespace, "labels": dict(labels)},
        "spec": spec,
    }


def _patch(runtime: Raw, archive: Archive) -> Raw:
    jobs = [_mounted(role, archive) for role in _running(runtime)]
    return {"manager": MANAGER, "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": jobs}}}}


def _running(runtime: Raw) -> list[Role]:
    """The jobs whose pods run the program: mpirun's workers as well as its launcher. Raises Unfit."""
    name, roles = runtime["metadata"]["name"], roles_of(runtime)
    if is_mpi(runtime) and not roles.launcher:
        raise Unfit(
            f"runtime {name} starts programs with mpirun, and has no job called launcher to do so; "
            "add one, or choose another with --runtime"
        )
    found = [roles.launcher, roles.trainer] if is_mpi(runtime) else [roles.trainer]
    if any(role is None or role.container is None for role in found):
        raise Unfit(
            f"runtime {name} does not say which container runs the trainer; "
            "label its job, or choose another with --runtime"
        )
    return [role for role in found if role]


def _mounted(role: Role, archive: Archive) -> Raw:
    pod = {
        "volumes": [source.volume(archive)],
        "containers": [{"name": role.container.name if role.container else "", "volumeMounts": [source.mount()]}],
    }
    return {"name": role.name, "template": {"spec": {"template": {"spec": pod}}}}


def _passed_on(runtime: Raw) -> Iterator[str]:
    """The variables that the runtime gives its launcher, and that say the same on every node."""
    role = roles_of(runtime).launcher
    jobs = look(runtime, "spec", "template", "spec", "replicatedJobs") or ()
    if role is None or role.container is None:
        return
    pod = look(jobs[role.index], "template", "spec", "template", "spec") or {}
    for variable in pod["containers"][role.container.index].get("env") or ():
        if not look(variable, "valueFrom", "fieldRef") and not look(variable, "valueFrom", "resourceFieldRef"):
            yield str(variable["name"])
