"""The unclear places of the source documents are read as was decided: what was plainly meant works, and is told."""

import pytest

from trainplane.api.problem import Severity
from trainplane.lint import lint

CONTAINER = """\
            template:
              spec:
                containers:
                - name: {container}
                  image: registry.example.com/train:1
"""


def job(name: str, *, container: str = "main", label: str = "", before: str = "", extra: str = "") -> str:
    """One replicated job, as text."""
    text = f"      - name: {name}\n"
    text += f"        dependsOn:\n        - name: {before}\n          status: Complete\n" if before else ""
    text += "        template:\n"
    step = "trainer.kubeflow.org/trainjob-ancestor-step"
    text += f"          metadata:\n            labels:\n              {step}: {label}\n" if label else ""
    return f"{text}          spec:\n{extra}{CONTAINER.format(container=container)}"


def runtime(
    *jobs: str, policy: str = "torch: {}", version: str = "ome.io/v1beta1", kind: str = "TrainingRuntime"
) -> str:
    """A runtime, as text."""
    policies = "".join(f"    {line}\n" for line in policy.splitlines())
    head = f"apiVersion: {version}\nkind: {kind}\nmetadata:\n  name: rt\nspec:\n"
    return f"{head}  mlPolicy:\n{policies}  template:\n    spec:\n      replicatedJobs:\n{''.join(jobs)}"


def trainjob(reference: str = "name: rt\n    kind: TrainingRuntime", *, more: str = "") -> str:
    """A TrainJob, as text."""
    head = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata:\n  name: tj\nspec:\n"
    return f"{head}  runtimeRef:\n    {reference}\n{more}"


def heard(*texts: str) -> dict[str, Severity]:
    """Every id that is said of the texts, with its severity."""
    found = lint((f"{number}.yaml", text) for number, text in enumerate(texts)).located
    return {each.problem.rule.id: each.severity for each in found}


@pytest.mark.parametrize(
    "version",
    ["ome.io/v1beta1", "kubeflow.org/v2alpha1", "trainer.kubeflow.org/v2alpha1", "trainer.kubeflow.org/v2"],
)
@pytest.mark.parametrize("kind", ["TrainingRuntime", "ClusterTrainingRuntime"])
def test_runtimes_of_every_dialect_are_understood_and_that_is_told(version: str, kind: str) -> None:
    said = heard(runtime(job("worker"), version=version, kind=kind))
    assert set(said.values()) == {Severity.INFO}
    assert "TP030" in said


@pytest.mark.parametrize("group", ["kubeflow.org", "ome.io"])
def test_a_reference_may_name_a_dialects_group_and_that_is_told(group: str) -> None:
    said = heard(runtime(job("worker")), trainjob(f"apiGroup: {group}\n    name: rt\n    kind: TrainingRuntime"))
    assert said["TP034"] is Severity.INFO
    assert Severity.ERROR not in said.values()


def test_the_empty_group_stays_refused() -> None:
    assert heard(trainjob("apiGroup: ''\n    name: rt"))["TP102"] is Severity.ERROR


@pytest.mark.parametrize("name", ["node", "worker", "trainer-node", "anything"])
@pytest.mark.parametrize("container", ["node", "pytorch"])
def test_the_trainer_is_found_by_its_name_or_by_being_the_only_job(name: str, container: str) -> None:
    said = heard(runtime(job(name, container=container)))
    assert said["TP037"] is Severity.INFO
    assert ("TP038" in said) == (container != "node")
    assert set(said.values()) == {Severity.INFO}


def test_launcher_and_worker_are_enough_for_mpi() -> None:
    said = heard(runtime(job("launcher"), job("worker"), policy="numNodes: 4\nmpi:\n  numProcPerNode: 4"))
    assert said["TP040"] is Severity.INFO
    assert set(said.values()) == {Severity.INFO}


def test_the_launcher_of_an_ome_document_waits_for_its_workers_and_ends_the_job() -> None:
    text = runtime(job("launcher"), job("worker"), policy="numNodes: 4\nmpi:\n  numProcPerNode: 4")
    said = heard(text, trainjob())
    assert (said["TP121"], said["TP122"]) == (Severity.INFO, Severity.INFO)


def test_initializers_are_found_by_their_exact_names_only() -> None:
    stages = (job("dataset-initializer"), job("node", before="dataset-initializer"))
    assert heard(runtime(*stages))["TP039"] is Severity.INFO
    assert heard(runtime(job("initializer"), job("node")))["TP046"] is Severity.WARNING
    assert "TP046" not in heard(runtime(job("initializer"), job("node", before="initializer")))


def test_the_node_count_wins_over_parallelism_with_a_warning() -> None:
    counts = "            parallelism: 2\n            completions: 2\n"
    assert heard(runtime(job("worker", extra=counts), policy="numNodes: 4\ntorch: {}"))["TP070"] is Severity.WARNING
    assert "TP070" not in heard(runtime(job("worker", extra=counts), policy="numNodes: 2\ntorch: {}"))


def test_a_missing_framework_label_is_a_warning_with_a_fix_where_nothing_says_the_framework() -> None:
    hub = "trainer.kubeflow.org/v1alpha1"
    (found,) = (
        each
        for each in lint([("-", runtime(job("node", container="node", label="trainer"), version=hub))]).located
        if each.severity is not Severity.INFO
    )
    assert found.problem.rule.id == "TP048"
    assert "torch" in found.problem.todo


@pytest.mark.parametrize(
    ("policy", "refused"),
    [
        ("numNodes: 8\ntorch:\n  elasticPolicy: {minNodes: 2, maxNodes: 16, maxRestarts: 3}", False),
        ("torch:\n  elasticPolicy: {minNodes: 2, maxNodes: 16}", False),
        ("torch:\n  elasticPolicy: {maxRestarts: 3}", False),
        ("numNodes: 1\ntorch:\n  elasticPolicy: {minNodes: 2, maxNodes: 16}", True),
        ("torch:\n  numProcPerNode: auto", False),
        ("torch:\n  numProcPerNode: '4'", False),
        ("torch:\n  numProcPerNode: 4", False),
        ("torch:\n  numProcPerNode: many", True),
        ("mpi:\n  mpiImplementation: MPICH", False),
        ("pytorch: {}", True),
        ("tensorflow: {}", True),
        ("flux: {}", True),
    ],
)
def test_policies(policy: str, refused: bool) -> None:
    assert lint([("-", runtime(job("worker"), policy=policy))]).refused is refused


def test_intel_workers_alone_are_accepted_with_a_warning_and_refused_for_more_than_one_node() -> None:
    intel = runtime(job("worker"), policy="mpi:\n  numProcPerNode: 2\n  mpiImplementation: Intel")
    assert heard(intel)["TP045"] is Severity.WARNING
    assert not lint([("-", intel)]).refused
    assert "TP112" not in heard(intel, trainjob())
    assert heard(intel, trainjob(more="  trainer:\n    numNodes: 2\n"))["TP112"] is Severity.ERROR


def test_a_runtime_may_leave_out_the_image_and_then_the_trainjob_must_give_it() -> None:
    bare = runtime(job("worker")).replace("                  image: registry.example.com/train:1\n", "")
    assert heard(bare)["TP064"] is Severity.INFO
    assert heard(bare, trainjob())["TP111"] is Severity.ERROR
    assert "TP111" not in heard(bare, trainjob(more="  trainer:\n    image: registry.example.com/train:2\n"))


def test_deprecation_is_one_label_with_one_value() -> None:
    def labelled(value: str) -> str:
        return runtime(job("worker")).replace(
            "name: rt\n", f"name: rt\n  labels:\n    trainer.kubeflow.org/support: {value}\n"
        )

    said = heard(labelled("deprecated"), trainjob())
    assert (said["TP067"], said["TP114"]) == (Severity.WARNING, Severity.WARNING)
    assert heard(labelled("retired"))["TP068"] is Severity.WARNING
    assert "TP114" not in heard(labelled("retired"), trainjob())
