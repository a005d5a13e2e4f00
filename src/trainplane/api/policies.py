"""The policies of a runtime: how its framework is started, and how its pods are scheduled together."""

from typing import Annotated, Any, ClassVar

from msgspec import UNSET, UnsetType

from trainplane.api.autoscaling import MetricSpec
from trainplane.api.meta import Field, Int32, IntOrString, Law, Raw, Wire

TRAINER_CONTAINER = "node"
"""The name of the trainer's replicated job and container in upstream's runtimes."""

FRAMEWORKS = ("torch", "mpi", "jax", "xgboost", "flux")
"""The members of `mlPolicy` of which at most one may be present."""

_LESS_THAN_TWO_FRAMEWORKS = Law(
    cel=f"{' + '.join(f'(has(self.{name}) ? 1 : 0)' for name in FRAMEWORKS)} <= 1",
    message=f"at most one of {', '.join(FRAMEWORKS)} may be given",
    holds=lambda policy, _: sum(name in policy for name in FRAMEWORKS) <= 1,
    todo="keep the framework that the trainer's image runs and remove the others",
)


def _within_bounds(policy: Raw, _: Any) -> bool:
    elastic = policy.get("torch", {}).get("elasticPolicy", {})
    if "numNodes" not in policy or "minNodes" not in elastic or "maxNodes" not in elastic:
        return True
    low, nodes, high = elastic["minNodes"], policy["numNodes"], elastic["maxNodes"]
    return bool(low <= nodes <= high)


_WITHIN_BOUNDS = Law(
    cel="!has(self.numNodes) || !has(self.torch) || !has(self.torch.elasticPolicy) "
    "|| !has(self.torch.elasticPolicy.minNodes) || !has(self.torch.elasticPolicy.maxNodes) "
    "|| (self.torch.elasticPolicy.minNodes <= self.numNodes && self.numNodes <= self.torch.elasticPolicy.maxNodes)",
    message="numNodes must lie between torch.elasticPolicy.minNodes and torch.elasticPolicy.maxNodes",
    holds=_within_bounds,
    todo="numNodes is the size to start with: choose one within the bounds, or leave it out to start with minNodes",
)
_BOTH_BOUNDS = Law(
    cel="has(self.minNodes) == has(self.maxNodes)",
    message="minNodes and maxNodes must be given together",
    holds=lambda policy, _: ("minNodes" in policy) == ("maxNodes" in policy),
    todo="give both to let the job change its size, or neither to let it only restart",
)
_ORDERED_BOUNDS = Law(
    cel="!has(self.minNodes) || !has(self.maxNodes) || self.minNodes <= self.maxNodes",
    message="minNodes must not be greater than maxNodes",
    holds=lambda policy, _: (
        "minNodes" not in policy or "maxNodes" not in policy or bool(policy["minNodes"] <= policy["maxNodes"])
    ),
    todo="swap them, or raise maxNodes",
)
_METRICS_NEED_BOUNDS = Law(
    cel="!has(self.metrics) || size(self.metrics) == 0 || has(self.maxNodes)",
    message="metrics need minNodes and maxNodes",
    holds=lambda policy, _: not policy.get("metrics") or "maxNodes" in policy,
    todo="say between which sizes the autoscaler may choose",
)
_NOT_THE_TRAINER = Law(
    cel=f"!('{TRAINER_CONTAINER}' in self)",
    message=f"the container {TRAINER_CONTAINER} always gets these variables and need not be listed",
    holds=lambda names, _: TRAINER_CONTAINER not in names,
    todo="remove it from the list",
)
_ONE_SCHEDULER = Law(
    cel="!(has(self.coscheduling) && has(self.volcano))",
    message="at most one of coscheduling, volcano may be given",
    holds=lambda policy, _: not ("coscheduling" in policy and "volcano" in policy),
    todo="keep the one whose scheduler runs in the cluster",
)


class ElasticPolicy(Wire, frozen=True):
    """How a torch job may change its size while it runs, and how often it may restart."""

    SCHEMA: ClassVar[Field] = Field(laws=(_BOTH_BOUNDS, _ORDERED_BOUNDS, _METRICS_NEED_BOUNDS))

    min_nodes: (
        Annotated[Int32, Field(minimum=1, description="The fewest nodes with which the job goes on training.")]
        | UnsetType
    ) = UNSET
    max_nodes: Annotated[Int32, Field(minimum=1, description="The most nodes the job may grow to.")] | UnsetType = UNSET
    max_restarts: (
        Annotated[
            Int32,
            Field(
                minimum=0,
                description="How often the workers are started again after a failure or a change of size before the "
                "job fails. Alone, without bounds, it allows restarts at a fixed size.",
            ),
        ]
        | UnsetType
    ) = UNSET
    metrics: (
        Annotated[
            tuple[MetricSpec, ...],
            Field(
                max_items=32,
                list_type="atomic",
                description="What decides the size within the bounds, in the words of a HorizontalPodAutoscaler. "
                "Without metrics the size changes only by hand, through the TrainJob's scale subresource.",
            ),
        ]
        | UnsetType
    ) = UNSET


class EnvInjectionTarget(Wire, frozen=True):
    """Further containers of one job that get the rendezvous variables."""

    job_name: Annotated[
        str, Field(min_length=1, max_length=253, description="The name of the replicated job in the template.")
    ]
    container_names: Annotated[
        tuple[Annotated[str, Field(max_length=63)], ...],
        Field(
            min_items=1,
            max_items=8,
            list_type="set",
            description="The containers of that job that get the variables too; the trainer's own always does.",
            laws=(_NOT_THE_TRAINER,),
        ),
    ]


class EnvInjection(Wire, frozen=True):
    """Where else the rendezvous variables go."""

    targets: (
        Annotated[
            tuple[EnvInjectionTarget, ...],
            Field(
                max_items=16, list_type="map", keys=("jobName",), description="The jobs and their containers, by job."
            ),
        ]
        | UnsetType
    ) = UNSET


class Torch(Wire, frozen=True):
    """PyTorch, started by torchrun."""

    num_proc_per_node: (
        Annotated[
            IntOrString,
            Field(
                minimum=1,
                pattern=r"^(auto|cpu|gpu|[1-9][0-9]*)$",
                description="How many processes torchrun starts on each node: a number; gpu, one for each GPU of the "
                "container; cpu, one for each CPU; or auto, gpu where the container has GPUs and cpu where not. "
                "A TrainJob's trainer.numProcPerNode goes before it.",
            ),
        ]
        | UnsetType
    ) = UNSET
    elastic_policy: (
        Annotated[
            ElasticPolicy,
            Field(description="Lets the job go on with fewer or more nodes than it started with, and restart workers."),
        ]
        | UnsetType
    ) = UNSET
    env_injection: (
        Annotated[
            EnvInjection,
            Field(description="Containers beside the trainer's that need the PET_* variables, such as a sidecar."),
        ]
        | UnsetType
    ) = UNSET


class MPI(Wire, frozen=True):
    """MPI: a launcher that starts processes on the nodes over ssh."""

    num_proc_per_node: (
        Annotated[
            Int32,
            Field(
                minimum=1,
                default=1,
                description="How many processes may run on each node: the slots in the hostfile.",
            ),
        ]
        | UnsetType
    ) = UNSET
    mpi_implementation: (
        Annotated[
            str,
            Field(
                enum=("OpenMPI", "Intel", "MPICH"),
                default="OpenMPI",
                description="Whose mpirun the launcher's image has. It decides the form of the hostfile and the "
                "names of the variables that configure mpirun.",
            ),
        ]
        | UnsetType
    ) = UNSET
    ssh_auth_mount_path: (
        Annotated[
            str,
            Field(
                default="/root/.ssh",
                max_length=4096,
                description="The folder where ssh and sshd look for keys: the .ssh folder of the image's user.",
            ),
        ]
        | UnsetType
    ) = UNSET
    run_launcher_as_node: (
        Annotated[
            bool,
            Field(
                default=False,
                description="Whether the launcher trains too. It then counts as one of the nodes and is the first "
                "in the hostfile.",
            ),
        ]
        | UnsetType
    ) = UNSET


class JAX(Wire, frozen=True):
    """JAX; it has no settings."""


class XGBoost(Wire, frozen=True):
    """XGBoost; it has no settings."""


class Flux(Wire, frozen=True):
    """Flux, which documents may name and Trainplane does not run."""

    num_proc_per_node: (
        Annotated[Int32, Field(minimum=1, default=1, description="How many processes may run on each node.")]
        | UnsetType
    ) = UNSET


class MLPolicy(Wire, frozen=True):
    """The framework of a runtime and the number of its nodes."""

    SCHEMA: ClassVar[Field] = Field(laws=(_LESS_THAN_TWO_FRAMEWORKS, _WITHIN_BOUNDS))

    num_nodes: (
        Annotated[
            Int32,
            Field(
                minimum=1,
                description="How many nodes a TrainJob has that does not say it itself: 1 when left out, or minNodes "
                "of an elasticPolicy. With an elasticPolicy it is the size to start with.",
            ),
        ]
        | UnsetType
    ) = UNSET
    torch: (
        Annotated[Torch, Field(description="PyTorch with torchrun: each node gets the PET_* variables.")] | UnsetType
    ) = UNSET
    mpi: (
        Annotated[
            MPI, Field(description="MPI: a launcher with a hostfile and ssh keys. Also for DeepSpeed, Horovod and MLX.")
        ]
        | UnsetType
    ) = UNSET
    jax: (
        Annotated[JAX, Field(description="JAX: each node gets the coordinator's address and its own number.")]
        | UnsetType
    ) = UNSET
    xgboost: (
        Annotated[XGBoost, Field(description="XGBoost: each worker gets the tracker's address and its own number.")]
        | UnsetType
    ) = UNSET
    flux: (
        Annotated[
            Flux,
            Field(description="Known so that documents can be read. Trainplane refuses to run it: use mpi instead."),
        ]
        | UnsetType
    ) = UNSET

    @property
    def framework(self) -> Torch | MPI | JAX | XGBoost | Flux | None:
        """The framework that is given, or None for plain containers."""
        for policy in (self.torch, self.mpi, self.jax, self.xgboost, self.flux):
            if not isinstance(policy, UnsetType):
                return policy
        return None


class Coscheduling(Wire, frozen=True):
    """Gangs by the coscheduling plugin of scheduler-plugins."""

    schedule_timeout_seconds: (
        Annotated[
            Int32,
            Field(default=60, description="How long the scheduler waits for the rest of a gang before it lets go."),
        ]
        | UnsetType
    ) = UNSET


class NetworkTopology(Wire, frozen=True):
    """How near to each other Volcano places the pods of a gang."""

    mode: (
        Annotated[
            str,
            Field(
                enum=("hard", "soft"),
                default="hard",
                description="hard: the gang waits until it fits below the tier; soft: the tier is a preference.",
            ),
        ]
        | UnsetType
    ) = UNSET
    highest_tier_allowed: (
        Annotated[int, Field(default=1, description="The highest tier of the network that the gang may span.")]
        | UnsetType
    ) = UNSET


class Volcano(Wire, frozen=True):
    """Gangs by Volcano."""

    min_member: (
        Annotated[
            Int32,
            Field(
                minimum=1,
                description="How many of the trainer's pods must find a place before any of them starts. "
                "When left out: all of them, or minNodes of an elasticPolicy.",
            ),
        ]
        | UnsetType
    ) = UNSET
    queue: (
        Annotated[str, Field(max_length=253, description="The Volcano queue; Volcano's own default when left out.")]
        | UnsetType
    ) = UNSET
    priority_class_name: (
        Annotated[
            str,
            Field(
                max_length=253,
                description="The PriorityClass of the gang; the one of its pods when left out.",
            ),
        ]
        | UnsetType
    ) = UNSET
    network_topology: (
        Annotated[
            NetworkTopology, Field(description="How near to each other the pods are placed in the cluster's network.")
        ]
        | UnsetType
    ) = UNSET


class PodGroupPolicy(Wire, frozen=True):
    """Which scheduler places the pods of a job together or not at all."""

    SCHEMA: ClassVar[Field] = Field(laws=(_ONE_SCHEDULER,))

    coscheduling: (
        Annotated[
            Coscheduling, Field(description="PodGroups of scheduling.x-k8s.io, for the coscheduling scheduler plugin.")
        ]
        | UnsetType
    ) = UNSET
    volcano: (
        Annotated[Volcano, Field(description="PodGroups of scheduling.volcano.sh, for the Volcano scheduler.")]
        | UnsetType
    ) = UNSET
