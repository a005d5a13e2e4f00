"""Runtimes and TrainJobs of every framework for the laws of the pipeline, and the law of blame itself."""

from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from trainplane.api.meta import Raw
from trainplane.api.problem import show
from trainplane.trainjob.blame import Chains
from trainplane.trainjob.empty import told
from trainplane.trainjob.fields import spots
from trainplane.trainjob.plan import Plan
from trainplane.trainjob.tree import at, positions

Value = Any

NAMES = st.sampled_from(["a", "job-1", "digits", "x0"])
IMAGES = st.sampled_from(["example.com/a:1", "example.com/b:2", "busybox"])
WORDS = st.lists(
    st.sampled_from(["--epochs=3", "$(NUM_NODES)", "${WORLD_SIZE}", "$HOME", "train.py", "$$x"]), max_size=3
)
COUNTS = st.integers(1, 5)
AMOUNTS = st.sampled_from(["1", "4", "500m", "2.5", "16Gi", "0.5", "1000m"])
RESOURCES = st.fixed_dictionaries(
    {},
    optional={
        "limits": st.dictionaries(st.sampled_from(["cpu", "memory"]), AMOUNTS, max_size=2)
        | st.just({"nvidia.com/gpu": "4"}),
        "requests": st.dictionaries(st.sampled_from(["cpu", "memory"]), AMOUNTS, max_size=2),
    },
)
VARIABLES = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from(["SEED", "LR", "HOSTS"]), "value": st.sampled_from(["1", "x y", ""])}
    )
    | st.just({"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}),
    max_size=3,
    unique_by=lambda variable: variable["name"],
)
POLICIES = st.one_of(
    st.none(),
    st.just({}),
    st.fixed_dictionaries(
        {"torch": st.sampled_from([{}, {"numProcPerNode": "auto"}, {"numProcPerNode": 2}, {"numProcPerNode": "gpu"}])}
    ),
    st.builds(
        lambda low, more, restarts: {
            "torch": {
                "elasticPolicy": {"minNodes": low, "maxNodes": low + more, **({"maxRestarts": 3} if restarts else {})}
            }
        },
        COUNTS,
        st.integers(0, 3),
        st.booleans(),
    ),
    st.just({"jax": {}}),
    st.just({"xgboost": {}}),
    st.fixed_dictionaries(
        {
            "mpi": st.fixed_dictionaries(
                {},
                optional={
                    "numProcPerNode": COUNTS,
                    "mpiImplementation": st.sampled_from(["OpenMPI", "Intel", "MPICH"]),
                    "runLauncherAsNode": st.booleans(),
                    "sshAuthMountPath": st.sampled_from(["/root/.ssh", "/home/mpiuser/.ssh"]),
                },
            )
        }
    ),
)
GANGS = st.sampled_from(
    [
        None,
        {"coscheduling": {"scheduleTimeoutSeconds": 90}},
        {"volcano": {}},
        {"volcano": {"queue": "q", "minMember": 1}},
    ]
)


@st.composite
def containers(draw: st.DrawFn, name: str) -> Raw:
    """A container that may say much or little."""
    optional = {
        "command": st.just(["python"]),
        "args": WORDS,
        "env": VARIABLES,
        "resources": RESOURCES,
        "ports": st.just([{"containerPort": 8080, "name": "metrics"}]),
        "volumeMounts": st.builds(lambda: [{"name": "data", "mountPath": "/data"}]),
    }
    return draw(st.fixed_dictionaries({"name": st.just(name), "image": IMAGES}, optional=optional))


@st.composite
def replicated_jobs(draw: st.DrawFn, name: str, *, step: str = "", container: str = "node") -> Raw:
    """A replicated job with one container and perhaps a sidecar."""
    pod: Raw = {"containers": [draw(containers(container))]}
    if draw(st.booleans()):
        pod["containers"].append(draw(containers("sidecar")))
    # What initializers fetch must reach the trainer.
    pod["containers"][0].setdefault("volumeMounts", []).append({"name": "initializer", "mountPath": "/workspace"})
    pod["volumes"] = [{"name": "initializer", "emptyDir": {}}, {"name": "data", "emptyDir": {}}]
    spec: Raw = {"template": {"spec": pod}}
    if draw(st.booleans()):
        spec["parallelism"] = draw(COUNTS)
    job: Raw = {"name": name, "template": {"spec": spec}}
    if step:
        job["template"]["metadata"] = {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": step}}
    return job


@st.composite
def runtimes(draw: st.DrawFn) -> Raw:
    """A runtime of any framework, with or without initializers and gangs."""
    policy = draw(POLICIES)
    if policy is not None and "torch" not in policy and draw(st.booleans()):
        policy = {**policy, "numNodes": draw(COUNTS)}
    steps = [step for step in ("dataset-initializer", "model-initializer") if draw(st.booleans())]
    jobs: list[Raw] = [draw(replicated_jobs(step, step=step, container=step)) for step in steps]
    waits = [{"name": job["name"], "status": "Complete"} for job in jobs]
    trainer = draw(replicated_jobs("node", step="" if policy and "mpi" in policy else "trainer"))
    if waits:
        trainer["dependsOn"] = waits
    jobs.append(trainer)
    if policy and "mpi" in policy:
        jobs.append(draw(replicated_jobs("launcher", step=draw(st.sampled_from(["", "trainer"])))))
    metadata: Raw = {"name": "runtime"}
    if draw(st.booleans()):
        metadata["annotations"] = {"ome.io/metrics-enabled": "true", "ome.io/profiling-enabled": "true"}
    template: Raw = {"spec": {"replicatedJobs": jobs}}
    if draw(st.booleans()):
        template["metadata"] = {"labels": {"team": "vision"}, "annotations": {"note": "x"}}
    spec: Raw = {"template": template}
    if policy is not None:
        spec["mlPolicy"] = policy
    if gang := draw(GANGS):
        spec["podGroupPolicy"] = gang
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": metadata,
        "spec": spec,
    }


@st.composite
def patches(draw: st.DrawFn, jobs: list[str]) -> list[Raw]:
    """Patches of one or two managers, which may touch the same fields."""
    found = []
    for manager in draw(st.sampled_from([(), ("a.example.com/one",), ("a.example.com/one", "b.example.com/two")])):
        pod: Raw = draw(
            st.fixed_dictionaries(
                {},
                optional={
                    "nodeSelector": st.dictionaries(st.sampled_from(["zone", "disk"]), NAMES, max_size=2),
                    "tolerations": st.just([{"key": manager, "operator": "Exists"}]),
                    "serviceAccountName": NAMES,
                    "volumes": st.just([{"name": "more", "emptyDir": {}}]),
                    "containers": st.just([{"name": "sidecar", "env": [{"name": "BY", "value": manager}]}]),
                },
            )
        )
        job: Raw = {"name": draw(st.sampled_from(jobs)), "template": {"spec": {"template": {"spec": pod}}}}
        template: Raw = {"spec": {"replicatedJobs": [job]}}
        if draw(st.booleans()):
            template["metadata"] = {"labels": {"team": draw(NAMES)}, "annotations": {"by": manager}}
        found.append({"manager": manager, "trainingRuntimeSpec": {"template": template}})
    return found


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Raw, Raw]:
    """A TrainJob and its runtime."""
    runtime = draw(runtimes())
    names = [job["name"] for job in runtime["spec"]["template"]["spec"]["replicatedJobs"]]
    trainer = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "image": IMAGES,
                "command": st.just(["torchrun", "train.py"]),
                "args": WORDS,
                "env": VARIABLES,
                "numNodes": COUNTS,
                "numProcPerNode": COUNTS,
                "resourcesPerNode": RESOURCES,
            },
        )
    )
    spec: Raw = {"runtimeRef": {"name": "runtime"}}
    if trainer:
        spec["trainer"] = trainer
    initializer = {
        what: draw(
            st.fixed_dictionaries(
                {},
                optional={
                    "storageUri": st.just("hf://a/b"),
                    "env": VARIABLES,
                    "secretRef": st.just({"name": "token"}),
                },
            )
        )
        for what in ("dataset", "model")
        if f"{what}-initializer" in names and draw(st.booleans())
    }
    if initializer:
        spec["initializer"] = initializer
    if found := draw(patches(names)):
        spec["runtimePatches"] = found
    if draw(st.booleans()):
        spec["suspend"] = True
    metadata: Raw = {"name": draw(NAMES), "namespace": "ns"}
    if draw(st.booleans()):
        metadata["uid"] = "0-1"
    job = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": metadata, "spec": spec}
    return job, runtime


def unblamed(plan: Plan, chains: Chains) -> Iterator[str]:
    """Every breach of the law of blame: each leaf has one chain, it ends in the leaf's value, and sources are true."""
    leaves = {
        spot.path: spot.value
        for spot in spots(plan.objects)
        if not isinstance(spot.value, dict | list) or not spot.value
    }
    yield from (f"{show(path)} has no chain" for path in leaves if path not in chains)
    yield from (f"{show(path)} has a chain and is no leaf" for path in chains if path not in leaves)
    for path, value in leaves.items():
        last = chains[path][-1] if path in chains else None
        if last is None:
            continue
        if last.value != value or type(last.value) is not type(value):
            yield f"{show(path)} is {value!r}, and its chain ends in {last.value!r}"
        for mark in chains[path]:
            if mark.source.document and not mark.source.note:
                yield from untrue(plan, mark.source.document, mark.source.path, value=mark.value, of=show(path))


def untrue(plan: Plan, document: str, path: tuple[str | int, ...], *, value: Value, of: str) -> Iterator[str]:
    """Whether a document does not have the value where a source says it is; a number may have become text."""
    raw = {"job": plan.raw_job, "runtime": plan.raw_runtime}[document]
    there = positions(raw, path)
    found = at(raw, there) if len(there) == len(path) else None
    if isinstance(found, dict):
        found = told(found)  # of what is empty nothing is said
    if found != value and str(found) != value:
        yield f"{of} is {value!r}, said to be from {document} {show(path)}, where {found!r} is"
