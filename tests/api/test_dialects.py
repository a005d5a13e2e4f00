"""Documents of every dialect, read in the hub's words."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainplane.api.dialects import DIALECTS, KINDS, Converted, to_hub
from trainplane.api.problem import Severity
from trainplane.api.raw import look

HUB = "trainer.kubeflow.org/v1alpha1"
LABEL = "trainer.kubeflow.org/trainjob-ancestor-step"
FRAMEWORK = "trainer.kubeflow.org/framework"
JOB_0 = ("spec", "template", "spec", "replicatedJobs", 0)


def runtime(version: str, **policy: Any) -> dict[str, Any]:
    """A runtime with OME's habits."""
    pod = {"containers": [{"name": "pytorch", "image": "i"}]}
    jobs = [{"name": "worker", "template": {"spec": {"template": {"spec": pod}}}}]
    spec = {"mlPolicy": policy or {"torch": {}}, "template": {"spec": {"replicatedJobs": jobs}}}
    return {"apiVersion": version, "kind": "TrainingRuntime", "metadata": {"name": "r"}, "spec": spec}


def job(version: str = "kubeflow.org/v2alpha1", **spec: Any) -> dict[str, Any]:
    """A TrainJob."""
    spec = {"runtimeRef": {"name": "r"}, **spec}
    return {"apiVersion": version, "kind": "TrainJob", "metadata": {"name": "j", "namespace": "team"}, "spec": spec}


def said(converted: Converted) -> list[tuple[str, str]]:
    """Notes in two words: the rule and the field."""
    return [(note.rule.id, note.field) for note in converted.notes]


@pytest.mark.parametrize("version", [version for version in DIALECTS if version != HUB])
def test_a_runtime_of_each_dialect_becomes_the_hubs(version: str) -> None:
    converted = to_hub(runtime(version))
    assert converted.changed
    assert converted.source_group == version.split("/")[0]
    assert converted.raw["apiVersion"] == HUB
    assert look(converted.raw, *JOB_0, "template", "metadata", "labels", LABEL) == "trainer"
    assert converted.raw["metadata"]["labels"] == {FRAMEWORK: "torch"}
    assert look(converted.raw, *JOB_0, "template", "spec", "template", "spec", "containers", 0, "name") == "pytorch"
    assert [rule for rule, _ in said(converted)] == ["TP030", "TP037", "TP038", "TP047"]
    assert not converted.refused


def test_a_hub_runtime_stays_as_it_is_and_what_is_inferred_is_said() -> None:
    document = runtime(HUB)
    converted = to_hub(document)
    assert converted.raw == document
    assert not converted.changed
    assert [rule for rule, _ in said(converted)] == ["TP037", "TP038", "TP048"]


@pytest.mark.parametrize(
    ("policy", "framework"),
    [
        ({"torch": {}}, "torch"),
        ({"mpi": {}}, "mpi"),
        ({"jax": {}}, "jax"),
        ({"xgboost": {}}, "xgboost"),
        ({"numNodes": 2}, None),
        ({"torch": {}, "mpi": {}}, None),
    ],
)
def test_the_framework_label_is_written_where_it_is_certain(policy: dict[str, Any], framework: str | None) -> None:
    converted = to_hub(runtime("ome.io/v1beta1", **policy))
    assert look(converted.raw, "metadata", "labels", FRAMEWORK) == framework
    assert (("TP047" if framework else "TP048"), "metadata") in said(converted)


def test_tune_is_torchtune() -> None:
    document = runtime("kubeflow.org/v2alpha1")
    look(document, *JOB_0, "template", "spec", "template", "spec", "containers", 0)["command"] = ["tune", "run"]
    assert to_hub(document).raw["metadata"]["labels"] == {FRAMEWORK: "torchtune"}


def test_an_unknown_framework_gets_the_nearest_known() -> None:
    document = runtime(HUB)
    document["metadata"]["labels"] = {FRAMEWORK: "torhc"}
    (note,) = [note for note in to_hub(document).notes if note.rule.id == "TP048"]
    assert note.path == ("metadata", "labels", FRAMEWORK)
    assert note.todo == "did you mean torch?"


@pytest.mark.parametrize("version", [version for version in DIALECTS if "TrainJob" in DIALECTS[version]])
@pytest.mark.parametrize("group", ["kubeflow.org", "ome.io"])
def test_a_runtime_named_in_a_dialects_group_is_named_in_the_hubs(version: str, group: str) -> None:
    converted = to_hub(job(version, runtimeRef={"apiGroup": group, "name": "r"}))
    assert converted.raw["spec"]["runtimeRef"] == {"apiGroup": "trainer.kubeflow.org", "name": "r"}
    assert ("TP034", "spec.runtimeRef.apiGroup") in said(converted)


@pytest.mark.parametrize("group", ["", "trainer.kubeflow.org", "example.org"])
def test_other_groups_are_left_for_validation(group: str) -> None:
    document = job(HUB, runtimeRef={"apiGroup": group, "name": "r"})
    converted = to_hub(document)
    assert converted.raw == document
    assert converted.notes == ()


def test_initializers_moved() -> None:
    converted = to_hub(
        job(
            suspend=True,
            datasetConfig={"storageUri": "hf://d", "secretRef": {"name": "s", "namespace": "team"}},
            trainer={"numNodes": 2},
            modelConfig={"input": {"storageUri": "hf://m", "env": [{"name": "A"}]}},
        )
    )
    spec = converted.raw["spec"]
    assert spec["initializer"] == {
        "dataset": {"storageUri": "hf://d", "secretRef": {"name": "s"}},
        "model": {"storageUri": "hf://m", "env": [{"name": "A"}]},
    }
    assert list(spec) == ["runtimeRef", "suspend", "initializer", "trainer"]
    back = converted.origin(("spec", "initializer", "model", "env", 0, "name"))
    assert back == ("spec", "modelConfig", "input", "env", 0, "name")
    assert converted.place(("spec", "datasetConfig")) == ("spec", "initializer", "dataset")


@pytest.mark.parametrize("version", ["kubeflow.org/v2alpha1", HUB])
def test_overrides_become_patches_in_their_order(version: str) -> None:
    """Kubeflow Trainer 2.0 had podSpecOverrides and 2.1 podTemplateOverrides in the hub's own version."""
    toleration = {"operator": "Exists"}
    converted = to_hub(
        job(
            version,
            podTemplateOverrides=[
                {"targetJobs": [{"name": "a"}, {"name": "b"}], "spec": {"tolerations": [toleration]}},
                {"targetJobs": [{"name": "a"}], "metadata": {"labels": {"x": "y"}}, "spec": {"tolerations": []}},
            ],
            runtimePatches=[{"manager": "kueue.x-k8s.io/manager"}],
        )
    )
    assert not converted.refused
    patches = converted.raw["spec"]["runtimePatches"]
    names = [patch["manager"] for patch in patches]
    assert names == ["trainplane.dev/convert", "trainplane.dev/convert-2", "kueue.x-k8s.io/manager"]
    jobs = patches[0]["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    pod = {"spec": {"tolerations": [toleration]}}
    assert jobs == [{"name": name, "template": {"spec": {"template": pod}}} for name in ("a", "b")]
    of_b = ("spec", "runtimePatches", 0, "trainingRuntimeSpec", "template", "spec", "replicatedJobs", 1)
    back = converted.origin((*of_b, "template", "spec", "template", "spec", "tolerations", 0, "operator"))
    assert back == ("spec", "podTemplateOverrides", 0, "spec", "tolerations", 0, "operator")
    assert converted.origin(("spec", "runtimePatches", 1, "manager")) == ("spec", "podTemplateOverrides", 1)
    assert converted.origin(("spec", "runtimePatches", 2, "manager")) == ("spec", "runtimePatches", 0, "manager")


def test_the_first_overrides_named_jobs_and_pod_fields_directly() -> None:
    override = {"targetReplicatedJobs": ["trainer-node"], "nodeSelector": {"a": "b"}, "serviceAccountName": "sa"}
    converted = to_hub(job(labels={"team": "x"}, podSpecOverrides=[override]))
    first, second = (patch["trainingRuntimeSpec"]["template"] for patch in converted.raw["spec"]["runtimePatches"])
    assert first == {"metadata": {"labels": {"team": "x"}}}
    (patched,) = second["spec"]["replicatedJobs"]
    assert patched["template"]["spec"]["template"] == {"spec": {"nodeSelector": {"a": "b"}, "serviceAccountName": "sa"}}
    path = ("spec", "runtimePatches", 1, "trainingRuntimeSpec", "template", "spec", "replicatedJobs", 0)
    back = converted.origin((*path, "template", "spec", "template", "spec", "nodeSelector", "a"))
    assert back == ("spec", "podSpecOverrides", 0, "nodeSelector", "a")
    labels = converted.origin(("spec", "runtimePatches", 0, "trainingRuntimeSpec", "template", "metadata", "labels"))
    assert labels == ("spec", "labels")


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"modelConfig": {"output": {"storageUri": "hf://m"}}}, "spec.modelConfig.output"),
        ({"trainer": {"numProcPerNode": "auto"}}, "spec.trainer.numProcPerNode"),
        ({"datasetConfig": {"secretRef": {"namespace": "other"}}}, "spec.datasetConfig.secretRef.namespace"),
        ({"datasetConfig": {}, "initializer": {"dataset": {}}}, "spec.datasetConfig"),
        ({"podSpecOverrides": [{"nodeSelector": {}}]}, "spec.podSpecOverrides[0]"),
        (
            {"podSpecOverrides": [{"targetJobs": [{"name": "node"}], "containers": [{"name": "x", "args": []}]}]},
            "spec.podSpecOverrides[0].containers[0].args",
        ),
        (
            {
                "podTemplateOverrides": [
                    {"targetJobs": [{"name": "a"}], "spec": {"containers": [{"name": "node", "env": []}]}}
                ]
            },
            "spec.podTemplateOverrides[0].spec.containers[0].env",
        ),
        (
            {"podTemplateOverrides": [{"targetJobs": [{"name": "a"}], "spec": {"hostNetwork": True}}]},
            "spec.podTemplateOverrides[0].spec.hostNetwork",
        ),
    ],
)
def test_what_cannot_be_said_is_an_error_with_a_remedy_and_nothing_is_lost(spec: dict[str, Any], field: str) -> None:
    converted = to_hub(job(**spec))
    (error,) = [note for note in converted.notes if note.severity is Severity.ERROR]
    assert (error.rule.id, error.field) == ("TP036", field)
    assert error.todo
    assert converted.refused
    kept = converted.raw["spec"]
    lost = [word for word in spec if word not in kept and word != "datasetConfig"]
    assert not lost


def test_small_words_of_old_jobs() -> None:
    document = job(trainer={"numProcPerNode": "4"}, managedBy="kubeflow.org/trainjob-controller")
    del document["spec"]["runtimeRef"]
    document["spec"]["trainingRuntimeRef"] = {"name": "r"}
    assert to_hub(document).raw["spec"] == {
        "trainer": {"numProcPerNode": 4},
        "managedBy": "trainer.kubeflow.org/trainjob-controller",
        "runtimeRef": {"name": "r"},
    }


def test_in_the_hubs_own_version_types_are_what_they_are() -> None:
    """Kubeflow Trainer 2.3 refuses a text here, and so do we."""
    document = job(HUB, trainer={"numProcPerNode": "4"})
    assert to_hub(document).raw == document


@pytest.mark.parametrize(
    ("version", "kind", "rule", "remedy"),
    [
        ("trainer.kubeflow.org/v1alpha", "TrainJob", "TP031", "did you mean trainer.kubeflow.org/v1alpha1?"),
        ("trainer.kubflow.org/v1alpha1", "TrainingRuntime", "TP031", "did you mean trainer.kubeflow.org/v1alpha1?"),
        ("kubeflow.org/v2alpha2", "TrainJob", "TP031", "did you mean kubeflow.org/v2alpha1?"),
        ("ome.io/v1", "ClusterTrainingRuntime", "TP031", "did you mean ome.io/v1beta1?"),
        ("v1", "TrainJob", "TP031", f"did you mean {HUB}?"),
        ("trainer.kubeflow.org/v9", "Whatever", "TP031", "did you mean trainer.kubeflow.org/v2?"),
        ("ome.io/v1", "TrainJob", "TP031", "did you mean ome.io/v1beta1?"),
        ("ome.io/v1beta1", "TrainingJob", "TP032", f"write a TrainJob of {HUB} that names the runtime"),
        (HUB, "Trainjob", "TP032", "did you mean TrainJob?"),
        (HUB, "ClusterTrainRuntime", "TP032", "did you mean ClusterTrainingRuntime?"),
        (HUB, "Banana", "TP032", "its kinds are TrainJob, TrainingRuntime, ClusterTrainingRuntime"),
        ("ome.io/v1beta1", "TrainingRuntimes", "TP032", "did you mean TrainingRuntime?"),
        ("kubeflow.org/v1", "PyTorchJob", "TP033", "write a TrainJob on a runtime with mlPolicy.torch"),
        ("kubeflow.org/v2beta1", "MPIJob", "TP033", "write a TrainJob on a runtime with mlPolicy.mpi"),
        ("kubeflow.org/v1", "TFJob", "TP033", "write a TrainJob on a runtime without a framework policy"),
    ],
)
def test_what_is_nearly_ours_is_refused_with_a_guess(version: str, kind: str, rule: str, remedy: str) -> None:
    document = {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}}
    converted = to_hub(document)
    assert converted.raw == document
    (note,) = converted.notes
    assert note.rule.id == rule
    assert note.todo.startswith(remedy)
    assert note.field == ("apiVersion" if rule == "TP031" else "kind")


@pytest.mark.parametrize(
    ("version", "kind"),
    [
        ("jobset.x-k8s.io/v1alpha2", "JobSet"),
        ("v1", "ConfigMap"),
        ("rbac.authorization.k8s.io/v1", "Role"),
        ("ome.io/v1beta1", "ServingRuntime"),
        ("ome.io/v1beta1", "ClusterServingRuntime"),
        ("ome.io/v1beta1", "ClusterBaseModel"),
        ("kubeflow.org/v1", "Notebook"),
        ("kubeflow.org/v1beta1", "Experiment"),
        ("sagemaker.services.k8s.aws/v1alpha1", "TrainingJob"),
        ("trainer.kubeflow.org/v1alpha1", "OptimizationJob"),
        ("config.trainer.kubeflow.org/v1alpha1", "Configuration"),
    ],
)
def test_strangers_pass(version: str, kind: str) -> None:
    document = {"apiVersion": version, "kind": kind}
    assert to_hub(document) == Converted(document, source_group=version.rpartition("/")[0])


@pytest.mark.parametrize("spec", [None, [], "x", {}])
@pytest.mark.parametrize("kind", KINDS)
def test_a_document_without_a_spec_is_left_to_the_schema(kind: str, spec: Any) -> None:
    document = {"apiVersion": "kubeflow.org/v2alpha1", "kind": kind, "spec": spec}
    assert to_hub(document).raw == {**document, "apiVersion": HUB}


def test_a_job_without_a_template_gets_none() -> None:
    document = runtime("ome.io/v1beta1")
    document["spec"]["template"]["spec"]["replicatedJobs"] = [{"name": "node"}]
    assert look(to_hub(document).raw, *JOB_0) == {"name": "node"}


WORDS = ["name", "template", "metadata", "labels", LABEL, "spec", "containers", "replicatedJobs", "mlPolicy", "mpi"]
WORDS += [
    "runtimeRef",
    "trainingRuntimeRef",
    "apiGroup",
    "datasetConfig",
    "modelConfig",
    "input",
    "secretRef",
    "trainer",
]
WORDS += [
    "namespace",
    "podSpecOverrides",
    "podTemplateOverrides",
    "targetJobs",
    "runtimePatches",
    "annotations",
    "torch",
]
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["node", "worker", "launcher", "kubeflow.org", "4"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=5),
    max_leaves=25,
)


@given(version=st.sampled_from(list(DIALECTS)), kind=st.sampled_from(KINDS), metadata=values, spec=values)
def test_any_shape_converts_once_and_the_author_keeps_the_document(
    version: str, kind: str, metadata: Any, spec: Any
) -> None:
    document = {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}
    before = copy.deepcopy(document)
    converted = to_hub(document)
    assert document == before
    for note in converted.notes:
        assert note.path[:-1] == () or look(document, *note.path[:-1]) is not None
    again = to_hub(converted.raw)
    assert converted.refused or again.raw == converted.raw


def test_an_error_about_a_container_does_not_hide_the_rest_of_the_document() -> None:
    document = runtime(HUB)
    template = look(document, *JOB_0, "template")
    template["metadata"] = {"labels": {LABEL: "trainer"}}
    template["spec"]["template"]["spec"]["containers"] = [{"name": "a"}, {"name": "b"}]
    converted = to_hub(document)
    assert "TP043" in dict(said(converted))
    assert not converted.refused
