"""What is refused and warned of in runtimes and TrainJobs: each rule broken once, and kept once."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest

from trainplane.api.problem import Problem
from trainplane.api.raw import put
from trainplane.trainjob import access, advise, validate

POLICY = "spec.mlPolicy"
JOBS = "spec.template.spec.replicatedJobs"
POD = f"{JOBS}.0.template.spec.template.spec"
CONTAINER = f"{POD}.containers.0"
ELASTIC = f"{POLICY}.torch.elasticPolicy"


def changed(obj: Any, changes: Mapping[str, Any]) -> Any:
    """The object with each dotted path set; numbers are positions in lists."""
    for path, value in changes.items():
        steps = [int(step) if step.isdigit() else step.replace("~", ".") for step in path.split(".")]
        obj = put(obj, steps, value)
    return obj


def job(name: str = "node", **fields: Any) -> dict[str, Any]:
    pod = {"containers": [{"name": "node", "image": "train:1"}]}
    return {"name": name, "template": {"spec": {"template": {"spec": pod}}}, **fields}


def runtime(**changes: Any) -> Any:
    labels = {"trainer.kubeflow.org/framework": "torch"}
    base = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainingRuntime",
        "metadata": {"name": "rt", "labels": labels},
        "spec": {"mlPolicy": {"torch": {}}, "template": {"spec": {"replicatedJobs": [job()]}}},
    }
    return changed(base, changes)


def trainjob(**changes: Any) -> Any:
    base = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "tj"},
        "spec": {"runtimeRef": {"name": "rt", "kind": "TrainingRuntime"}},
    }
    return changed(base, changes)


def said(problems: Iterable[Problem]) -> list[tuple[str, str]]:
    return sorted((problem.rule.id, problem.field) for problem in problems)


def of_runtime(changes: Mapping[str, Any]) -> list[Problem]:
    obj = runtime(**changes)
    return [*validate.runtime(obj), *advise.runtime(obj)]


BOUNDS = {f"{ELASTIC}.minNodes": 2, f"{ELASTIC}.maxNodes": 8}
LABEL = "trainer~kubeflow~org/trainjob-ancestor-step"
MPI = {POLICY: {"numNodes": 2, "mpi": {"numProcPerNode": 2}}}
LAUNCHER = job("launcher")
FETCHING = changed(
    job("model-initializer"),
    {"template.spec.template.spec.containers.0.volumeMounts": [{"name": "initializer", "mountPath": "/workspace"}]},
)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({}, [], id="a plain torch runtime is fine"),
        pytest.param({POLICY: {"numNodes": 2}}, [], id="no framework policy is fine"),
        pytest.param({POLICY: {"pytorch": {}}}, [("TP051", "spec.mlPolicy.pytorch")], id="pytorch means torch"),
        pytest.param({POLICY: {"PyTorch": {}}}, [("TP051", "spec.mlPolicy.PyTorch")], id="in any spelling"),
        pytest.param({POLICY: {"tensorflow": {}}}, [("TP051", "spec.mlPolicy.tensorflow")], id="no TensorFlow"),
        pytest.param({POLICY: {"mxnet": {}}}, [("TP051", "spec.mlPolicy.mxnet")], id="no MXNet"),
        pytest.param({POLICY: {"flux": {}}}, [("TP052", "spec.mlPolicy.flux")], id="no Flux"),
        pytest.param(
            {"spec.template.spec": {"containers": [{"name": "node"}]}},
            [("TP053", "spec.template.spec.containers")],
            id="a pod for a JobSet",
        ),
        pytest.param(
            {"spec.template": {"containers": [{"name": "node"}]}},
            [("TP053", "spec.template.containers")],
            id="a pod for a JobSet template",
        ),
        pytest.param(
            {JOBS: [{"name": "node", "containers": [{"name": "node"}]}]},
            [("TP054", f"{JOBS}[0].containers")],
            id="a pod in the replicated job",
        ),
        pytest.param(
            {JOBS: [{"name": "node", "template": {"spec": {"containers": [{"name": "node"}]}}}]},
            [("TP054", f"{JOBS}[0].template.spec.containers")],
            id="a pod for a job",
        ),
        pytest.param({JOBS: [{"name": "node"}]}, [("TP055", f"{JOBS}[0]")], id="a name only"),
        pytest.param(
            {POLICY: {"torch": {}, "mpi": {}}}, [("TP056", "spec.mlPolicy.mpi")], id="two policies, at the second"
        ),
        pytest.param({POLICY: {"torch": {}, "mpi": None}}, [], id="a null policy does not count"),
        pytest.param(
            {"spec.podGroupPolicy": {"volcano": {}, "coscheduling": {}}},
            [("TP057", "spec.podGroupPolicy.coscheduling")],
            id="two gangs",
        ),
        pytest.param({"spec.podGroupPolicy": {"volcano": {}}}, [], id="one gang"),
        pytest.param(BOUNDS, [], id="bounds without numNodes"),
        pytest.param({**BOUNDS, f"{POLICY}.numNodes": 8}, [], id="numNodes at the upper bound"),
        pytest.param({**BOUNDS, f"{POLICY}.numNodes": 2}, [], id="numNodes at the lower bound"),
        pytest.param({f"{ELASTIC}.minNodes": 2, f"{ELASTIC}.maxNodes": 2}, [], id="bounds that leave one size"),
        pytest.param(
            {**BOUNDS, f"{POLICY}.numNodes": 9}, [("TP059", "spec.mlPolicy.numNodes")], id="numNodes above the bounds"
        ),
        pytest.param(
            {**BOUNDS, f"{POLICY}.numNodes": 1}, [("TP059", "spec.mlPolicy.numNodes")], id="numNodes below the bounds"
        ),
        pytest.param(
            {f"{ELASTIC}.minNodes": 3, f"{ELASTIC}.maxNodes": 2},
            [("TP058", f"{ELASTIC}.minNodes")],
            id="bounds upside down",
        ),
        pytest.param({f"{ELASTIC}.maxNodes": 2}, [("TP060", f"{ELASTIC}.maxNodes")], id="one bound"),
        pytest.param({f"{ELASTIC}.maxRestarts": 2}, [], id="restarts alone"),
        pytest.param({f"{POLICY}.numNodes": 0}, [("TP061", "spec.mlPolicy.numNodes")], id="no nodes"),
        pytest.param(
            {f"{POLICY}.torch.numProcPerNode": "0"},
            [("TP061", "spec.mlPolicy.torch.numProcPerNode")],
            id="no processes",
        ),
        pytest.param({f"{POLICY}.torch.numProcPerNode": "gpu"}, [], id="processes by GPUs"),
        pytest.param({JOBS: []}, [("TP062", JOBS)], id="no jobs"),
        pytest.param({"spec.template": None}, [("TP062", "spec")], id="no template"),
        pytest.param(
            {f"{JOBS}.0.template.metadata.labels.{LABEL}": "trainer", f"{JOBS}.0.replicas": 2},
            [("TP063", f"{JOBS}[0].replicas")],
            id="two replicas of the trainer",
        ),
        pytest.param({f"{JOBS}.0.replicas": 2}, [], id="two replicas of an unlabelled job"),
        pytest.param(
            {f"{CONTAINER}.image": None},
            [("TP064", f"{JOBS}[0].template.spec.template.spec.containers[0]")],
            id="no image",
        ),
        pytest.param(
            {f"{CONTAINER}.env": [{"name": "CUDA_VISIBLE_DEVICES", "value": "0"}]},
            [("TP065", f"{JOBS}[0].template.spec.template.spec.containers[0].env[0].name")],
            id="chosen GPUs",
        ),
        pytest.param(
            {"metadata.labels.trainer~kubeflow~org/support": "deprecated"},
            [("TP067", "metadata.labels[trainer.kubeflow.org/support]")],
            id="deprecated",
        ),
        pytest.param(
            {"metadata.labels.trainer~kubeflow~org/support": "old"},
            [("TP068", "metadata.labels[trainer.kubeflow.org/support]")],
            id="another value of the support label",
        ),
        pytest.param(
            {"spec.template.spec.failurePolicy": {"maxRestarts": 3}, f"{POD}.restartPolicy": "OnFailure"},
            [("TP069", f"{JOBS}[0].template.spec.template.spec.restartPolicy")],
            id="restarts at two levels",
        ),
        pytest.param(
            {"spec.template.spec.failurePolicy": {"maxRestarts": 3}, f"{POD}.restartPolicy": "Never"},
            [],
            id="restarts at one level",
        ),
        pytest.param({f"{POD}.restartPolicy": "OnFailure"}, [], id="restarts in the pod alone"),
        pytest.param(
            {f"{POLICY}.numNodes": 4, f"{JOBS}.0.template.spec.parallelism": 2},
            [("TP070", f"{JOBS}[0].template.spec.parallelism")],
            id="parallelism against numNodes",
        ),
        pytest.param(
            {f"{POLICY}.numNodes": 4, f"{JOBS}.0.template.spec.parallelism": 4}, [], id="parallelism as numNodes"
        ),
        pytest.param(
            {f"{CONTAINER}.ports": [{"name": "m", "containerPort": 1}, {"name": "m", "containerPort": 2}]},
            [("TP071", f"{JOBS}[0].template.spec.template.spec.containers[0].ports[1].name")],
            id="a port name twice",
        ),
        pytest.param(
            {f"{CONTAINER}.ports": [{"containerPort": 1}, {"containerPort": 2}]}, [], id="ports without names"
        ),
        pytest.param(
            {f"{POLICY}.torch.envInjection.targets": [{"jobName": "nod", "containerNames": ["a"]}]},
            [("TP073", f"{POLICY}.torch.envInjection.targets[0].jobName")],
            id="variables for no job",
        ),
        pytest.param(
            {f"{POLICY}.torch.envInjection.targets": [{"jobName": "node", "containerNames": ["a"]}]},
            [("TP073", f"{POLICY}.torch.envInjection.targets[0].containerNames[0]")],
            id="variables for no container",
        ),
        pytest.param(
            {
                f"{POLICY}.torch.envInjection.targets": [{"jobName": "node", "containerNames": ["a"]}],
                f"{POD}.initContainers": [{"name": "a", "image": "a:1"}],
            },
            [],
            id="variables for a container",
        ),
        pytest.param(
            {"spec.template.metadata.annotations.scheduling~volcano~sh/queue-name": ""},
            [("TP074", "spec.template.metadata.annotations[scheduling.volcano.sh/queue-name]")],
            id="no queue",
        ),
        pytest.param(
            {"spec.template.metadata.annotations.scheduling~volcano~sh/queue-name": "research"}, [], id="a queue"
        ),
        pytest.param(
            {f"{CONTAINER}.volumeMounts": [{"name": "v", "mountPath": "/v"}]},
            [("TP072", f"{JOBS}[0].template.spec.template.spec.containers[0].volumeMounts[0].name")],
            id="a mount without a volume",
        ),
        pytest.param(
            {f"{CONTAINER}.volumeMounts": [{"name": "v", "mountPath": "/v"}], f"{POD}.volumes": [{"name": "v"}]},
            [],
            id="a mount of a volume",
        ),
        pytest.param(
            {
                f"{CONTAINER}.volumeMounts": [{"name": "v", "mountPath": "/v"}],
                "spec.template.spec.volumeClaimPolicies": [{"templates": [{"metadata": {"name": "v"}}]}],
            },
            [],
            id="a mount of a claim",
        ),
    ],
)
def test_runtimes(changes: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert said(of_runtime(changes)) == expected


@pytest.mark.parametrize(
    ("policy", "words", "warned"),
    [
        pytest.param({"numNodes": 4, "torch": {}}, ["--nnodes=4"], False, id="the same number"),
        pytest.param({"numNodes": 4, "torch": {}}, ["--nnodes=2"], True, id="another number"),
        pytest.param({"numNodes": 4, "torch": {}}, ["--nnodes", "2"], True, id="another number, in two words"),
        pytest.param({"numNodes": 4, "torch": {}}, ["bash", "-c", "torchrun --nnodes=2 x.py"], True, id="in a script"),
        pytest.param({"numNodes": 4, "torch": {}}, ["--nnodes=$PET_NNODES"], False, id="a variable"),
        pytest.param({"numNodes": 4, "torch": {}}, ["--nnodes=${NUM_NODES}"], False, id="a placeholder"),
        pytest.param({"torch": {}}, ["--nnodes=2"], False, id="the policy says no number"),
        pytest.param({"numNodes": 4, "torch": {}}, ["--nnodes=2:8"], True, id="elastic arguments, fixed policy"),
        pytest.param(
            {"torch": {"elasticPolicy": {"minNodes": 2, "maxNodes": 8}}}, ["--nnodes=2:8"], False, id="bounds"
        ),
        pytest.param(
            {"torch": {"elasticPolicy": {"minNodes": 2, "maxNodes": 4}}}, ["--nnodes=2:8"], True, id="other bounds"
        ),
        pytest.param({"torch": {"numProcPerNode": 4}}, ["--nproc_per_node=2"], True, id="processes"),
        pytest.param({"torch": {"numProcPerNode": "4"}}, ["--nproc-per-node", "4"], False, id="the same processes"),
        pytest.param(
            {"torch": {"numProcPerNode": "gpu"}}, ["--nproc_per_node=auto"], False, id="words are not compared"
        ),
        pytest.param({"torch": {"elasticPolicy": {"maxRestarts": 3}}}, ["--max_restarts=5"], True, id="restarts"),
        pytest.param({"numNodes": 4, "mpi": {"numProcPerNode": 4}}, ["mpirun", "-np", "16", "x"], False, id="ranks"),
        pytest.param({"numNodes": 4, "mpi": {"numProcPerNode": 4}}, ["mpirun", "-n", "8", "x"], True, id="other ranks"),
        pytest.param({"numNodes": 4, "mpi": {"numProcPerNode": 4}}, ["head", "-n", "8"], False, id="not mpirun's -n"),
    ],
)
def test_arguments_that_contradict_the_policy(policy: dict[str, Any], words: list[str], warned: bool) -> None:
    problems = of_runtime({POLICY: policy, f"{CONTAINER}.args": words})
    assert [problem.rule.id for problem in problems if problem.rule.id == "TP066"] == ["TP066"] * warned


def test_the_launcher_counts_among_the_nodes_when_it_trains_too() -> None:
    mpi = {"numNodes": 4, "mpi": {"runLauncherAsNode": True}}
    jobs = [job("launcher"), changed(job("worker"), {"template.spec.parallelism": 3})]
    assert "TP070" not in [problem.rule.id for problem in of_runtime({POLICY: mpi, JOBS: jobs})]
    alone = {"numNodes": 4, "mpi": {}}
    assert "TP070" in [problem.rule.id for problem in of_runtime({POLICY: alone, JOBS: jobs})]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({}, [], id="fine"),
        pytest.param({"spec.runtimeRef.kind": "torch-rt"}, [("TP100", "spec.runtimeRef.kind")], id="swapped"),
        pytest.param(
            {"spec.runtimeRef.kind": "trainruntime"}, [("TP101", "spec.runtimeRef.kind")], id="in small letters"
        ),
        pytest.param({"spec.runtimeRef.kind": "TrainRuntime"}, [("TP101", "spec.runtimeRef.kind")], id="no such kind"),
        pytest.param({"spec.runtimeRef.apiGroup": ""}, [("TP102", "spec.runtimeRef.apiGroup")], id="the empty group"),
        pytest.param(
            {"spec.runtimeRef.apiGroup": "batch"}, [("TP103", "spec.runtimeRef.apiGroup")], id="another group"
        ),
        pytest.param({"spec.runtimeRef.apiGroup": "ome.io"}, [], id="a dialect's group"),
        pytest.param({"spec.trainer.numNodes": 0}, [("TP061", "spec.trainer.numNodes")], id="no nodes"),
        pytest.param(
            {"spec.trainer.numProcPerNode": -2}, [("TP061", "spec.trainer.numProcPerNode")], id="no processes"
        ),
        pytest.param(
            {"spec.runtimePatches": [{"manager": "me"}]}, [("TP105", "spec.runtimePatches[0].manager")], id="manager"
        ),
        pytest.param(
            {"spec.runtimePatches": [{"manager": "a.b/"}]}, [("TP105", "spec.runtimePatches[0].manager")], id="no path"
        ),
        pytest.param({"spec.runtimePatches": [{"manager": "a.b/c"}]}, [], id="a manager"),
        pytest.param({"spec.trainer.env": [{"name": "PET_NNODES"}]}, [], id="PET_ without a runtime is left alone"),
        pytest.param(
            {"spec.trainer.env": [{"name": "CUDA_VISIBLE_DEVICES"}]}, [("TP065", "spec.trainer.env[0].name")], id="GPUs"
        ),
    ],
)
def test_trainjobs(changes: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    obj = trainjob(**changes)
    assert said([*validate.trainjob(obj), *advise.trainjob(obj)]) == expected


def patch(*, name: str = "node", container: str = "node", **fields: Any) -> dict[str, Any]:
    pod = {"containers": [{"name": container, **fields}]}
    target = {"name": name, "template": {"spec": {"template": {"spec": pod}}}}
    return {"manager": "a.b/c", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [target]}}}}


def test_variables_of_the_trainer_are_not_a_patchs_to_set() -> None:
    def rules(item: dict[str, Any]) -> list[str]:
        return [problem.rule.id for problem in validate.trainjob(trainjob(**{"spec.runtimePatches": [item]}))]

    assert rules(patch(env=[{"name": "A"}])) == ["TP116"]
    assert rules(patch(container="sidecar", env=[{"name": "A"}])) == []
    assert rules(patch(volumeMounts=[{"name": "A"}])) == []


@pytest.mark.parametrize(
    ("job_changes", "runtime_changes", "expected"),
    [
        pytest.param({}, {}, [], id="fine"),
        pytest.param(
            {"spec.trainer.env": [{"name": "PET_NNODES"}]}, {}, [("TP104", "spec.trainer.env[0].name")], id="torch"
        ),
        pytest.param({"spec.trainer.env": [{"name": "PET_NNODES"}]}, {POLICY: {"jax": {}}}, [], id="not torch"),
        pytest.param(
            {"spec.trainer.env": [{"name": "DMLC_TASK_ID"}]},
            {POLICY: {"xgboost": {}}},
            [("TP104", "spec.trainer.env[0].name")],
            id="xgboost",
        ),
        pytest.param({"spec.trainer.numNodes": 9}, BOUNDS, [("TP106", "spec.trainer.numNodes")], id="above the bounds"),
        pytest.param({"spec.trainer.numNodes": 8}, BOUNDS, [], id="at the upper bound"),
        pytest.param({"spec.trainer.numNodes": 2}, BOUNDS, [], id="at the lower bound"),
        pytest.param({}, {f"{CONTAINER}.image": None}, [("TP111", "spec.runtimeRef")], id="no image anywhere"),
        pytest.param({"spec.trainer.image": "a:1"}, {f"{CONTAINER}.image": None}, [], id="the TrainJob's image"),
        pytest.param(
            {"spec.trainer.numNodes": 2}, {POLICY: {"mpi": {}}}, [("TP112", "spec.trainer.numNodes")], id="MPI"
        ),
        pytest.param({}, MPI, [("TP112", "spec.runtimeRef")], id="MPI, by the runtime's count"),
        pytest.param({"spec.trainer.numNodes": 1}, MPI, [], id="MPI on one node"),
        pytest.param({}, {**MPI, JOBS: [LAUNCHER, job("worker")]}, [], id="MPI with a launcher"),
        pytest.param(
            {"spec.initializer.dataset.storageUri": "hf://a/b"},
            {},
            [("TP113", "spec.initializer.dataset")],
            id="dataset",
        ),
        pytest.param(
            {"spec.initializer.model.storageUri": "hf://a/b"},
            {JOBS: [FETCHING, job()]},
            [],
            id="a model and its initializer",
        ),
        pytest.param(
            {"spec.initializer.model.storageUri": "hf://a/b"},
            {JOBS: [job("model-initializer"), job()]},
            [("TP113", "spec.initializer.model")],
            id="a model with nowhere to put it",
        ),
        pytest.param(
            {},
            {"metadata.labels.trainer~kubeflow~org/support": "deprecated"},
            [("TP114", "spec.runtimeRef.name")],
            id="deprecated",
        ),
    ],
)
def test_a_trainjob_on_its_runtime(
    job_changes: dict[str, Any], runtime_changes: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    pair = trainjob(**job_changes), runtime(**runtime_changes)
    assert said([*validate.pair(*pair), *advise.pair(*pair)]) == expected


@pytest.mark.parametrize(
    ("item", "todo"),
    [
        (patch(name="nod"), "did you mean node?"),
        (patch(container="nodes"), "did you mean node?"),
        (patch(name="zzz"), "it has node"),
        (patch(), ""),
    ],
)
def test_patches_name_what_the_runtime_has(item: dict[str, Any], todo: str) -> None:
    problems = list(validate.pair(trainjob(**{"spec.runtimePatches": [item]}), runtime()))
    assert [(problem.rule.id, problem.todo) for problem in problems] == ([("TP115", todo)] if todo else [])


@pytest.mark.parametrize(
    ("group", "resource", "warned"),
    [
        ("ome.io", "clustertrainingruntimes", True),
        ("trainer.kubeflow.org", "clustertrainingruntimes/status", True),
        ("", "nodes", True),
        ("ome.io", "trainingruntimes", False),
        ("", "pods", False),
        ("example.com", "nodes", False),
    ],
)
def test_a_role_ends_at_its_namespace(group: str, resource: str, warned: bool) -> None:
    role = {"kind": "Role", "rules": [{"apiGroups": [group], "resources": ["pods", resource], "verbs": ["get"]}]}
    assert said(access.role(role)) == [("TP140", "rules[0].resources[1]")] * warned


@pytest.mark.parametrize("judge", [validate.runtime, validate.trainjob, advise.runtime, advise.trainjob, access.role])
@pytest.mark.parametrize("junk", [None, 1, "x", [], [None], {}, {"a": 1}, True])
def test_what_has_the_wrong_shape_is_left_to_the_schema(judge: Callable[[Any], Iterable[Problem]], junk: Any) -> None:
    for changes in (
        {"spec": junk},
        {"metadata": junk},
        {POLICY: junk},
        {JOBS: junk},
        {"spec.runtimeRef": junk},
        {"rules": junk},
    ):
        for obj in (runtime(**changes), trainjob(**changes)):
            list(judge(obj))
