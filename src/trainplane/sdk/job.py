"""A TrainJob from a few words: which program, on how many nodes, with what."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from trainplane.api.kinds import HUB
from trainplane.api.meta import Raw
from trainplane.api.raw import look, put
from trainplane.api.roles import roles_of
from trainplane.sdk import source
from trainplane.sdk.source import Archive

MANAGER = "trainplane.dev/run"
"""Whose the patch is that adds the code's volume to the runtime."""
TAGGED = {
    "PET_TEE": "3",
    "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE": "[rank${rank}]: ",
    "PYTHONUNBUFFERED": "1",
}
"""Makes torchrun say whose each line is, and Python write it at once."""
GPU = "nvidia.com/gpu"
RESTARTS = 3
"""How often the workers of an elastic job begin anew, where the runtime does not say."""


class Unfit(Exception):
    """The runtime cannot run this: what, and what to do."""


@dataclass(frozen=True, slots=True)
class Asked:
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
    env: Mapping[str, str] = field(default_factory=dict)
    namespace: str = "default"


def name_of(script: str, mark: str) -> str:
    """A name for a run of a script: what it is called, and a mark that tells runs apart."""
    plain = re.sub(r"[^a-z0-9]+", "-", script.rpartition("/")[2].removesuffix(".py").lower()).strip("-")
    return f"{plain[:30].strip('-') or 'run'}-{mark}"


def is_torch(runtime: Raw) -> bool:
    """Whether a runtime starts programs with torchrun."""
    return look(runtime, "spec", "mlPolicy", "torch") is not None


def launch_words(runtime: Raw, script: str, arguments: Sequence[str]) -> tuple[str, ...]:
    """The command line for a script under a runtime: torchrun where that is its way, else Python."""
    if not script.endswith(".py"):
        return (f"./{script}", *arguments)
    return ("torchrun", script, *arguments) if is_torch(runtime) else ("python", script, *arguments)


def train_job(asked: Asked, runtime: Raw, archive: Archive | None) -> Raw:
    """The TrainJob; with an archive, its pods unpack it before they begin. Raises Unfit."""
    if archive and look(runtime, "spec", "mlPolicy", "mpi") is not None:
        # Only the launcher would unpack it; mpirun starts the program on nodes that do nothing but wait in sshd.
        raise Unfit(
            f"runtime {runtime['metadata']['name']} starts programs with mpirun, and its workers would not have the "
            "code; put it into the image or on a volume, and run a TrainJob whose command is mpirun with -f"
        )
    command = source.command(asked.words) if archive else list(asked.words)
    env = {**(TAGGED if is_torch(runtime) else {"PYTHONUNBUFFERED": "1"}), **asked.env}
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
    wanted = {"cpu": asked.cpus, "memory": asked.memory, GPU: str(asked.gpus) if asked.gpus else ""}
    if given := {name: value for name, value in wanted.items() if value}:
        trainer["resourcesPerNode"] = {"requests": given, "limits": given}
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


def elastic_runtime(runtime: Raw, asked: Asked) -> Raw:
    """A runtime of the job's own that may grow and shrink between the two sizes; raises Unfit."""
    if asked.elastic is None or not is_torch(runtime):
        raise Unfit(f"runtime {runtime['metadata']['name']} is not for torch: only torch jobs can change their size")
    least, most = asked.elastic
    torch = look(runtime, "spec", "mlPolicy", "torch") or {}
    policy = {"maxRestarts": RESTARTS, **(torch.get("elasticPolicy") or {}), "minNodes": least, "maxNodes": most}
    spec = put(runtime["spec"], ("mlPolicy", "torch", "elasticPolicy"), policy)
    spec["mlPolicy"] = {name: value for name, value in spec["mlPolicy"].items() if name != "numNodes"}
    labels = look(runtime, "metadata", "labels") or {}
    return {
        "apiVersion": runtime["apiVersion"],
        "kind": "TrainingRuntime",
        "metadata": {"name": asked.name, "namespace": asked.namespace, "labels": dict(labels)},
        "spec": spec,
    }


def _patch(runtime: Raw, archive: Archive) -> Raw:
    roles = roles_of(runtime)
    role = roles.launcher or roles.trainer
    if role is None or role.container is None:
        raise Unfit(
            f"runtime {runtime['metadata']['name']} does not say which container runs the trainer; "
            "label its job, or choose another with --runtime"
        )
    pod = {
        "volumes": [source.volume(archive)],
        "containers": [{"name": role.container.name, "volumeMounts": [source.mount()]}],
    }
    job = {"name": role.name, "template": {"spec": {"template": {"spec": pod}}}}
    return {"manager": MANAGER, "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [job]}}}}
