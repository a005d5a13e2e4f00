"""Admission: each rule of upstream's webhooks at its field, what may change later, and warnings at creation and use."""

from collections.abc import Iterable
from typing import Any

import pytest

from tests.conformance.world import Denied
from tests.trainjob.stories import ELASTIC, JOB, JOBSET, Story, runtime, trainjob
from tests.trainjob.worlds import replicated
from trainplane.api.problem import Problem, Severity
from trainplane.api.raw import put
from trainplane.reconcile.view import View
from trainplane.trainjob import admission, snapshot
from trainplane.trainjob.pipeline import ALONE
from trainplane.trainjob.plans import Plans

NODE = {"name": "node", "image": "train:1"}
TUNE: dict[str, Any] = {"command": ["tune", "run"]}
QLORA = ["model.lora_attn_modules=[q_proj]", "model.quantize_base=True"]
MPI = (replicated("launcher", NODE, step="trainer"), replicated("node", NODE))


def initializer(what: str, *, mounted: bool = True) -> dict[str, Any]:
    container: dict[str, Any] = {"name": f"{what}-initializer", "image": "fetch:1"}
    if mounted:
        container["volumeMounts"] = [{"name": "initializer", "mountPath": "/workspace"}]
    return replicated(f"{what}-initializer", container, step=f"{what}-initializer")


def tune(model: str) -> dict[str, Any]:
    raw = runtime({"torch": {}}, replicated("node", {**NODE, **TUNE}, step="trainer"))
    return {**raw, "metadata": {"name": f"torchtune-{model}"}}


def patch(spec: dict[str, Any] | None = None, *, job: str = "node", manager: str = "acme.io/me") -> dict[str, Any]:
    target = {"name": job, "template": {"spec": {"template": {"spec": spec or {}}}}}
    return {"manager": manager, "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [target]}}}}


def judged(job: dict[str, Any], *others: dict[str, Any], old: dict[str, Any] | None = None) -> list[Problem]:
    """What admission says of a TrainJob in the namespace of these objects."""
    view = View(
        [put(raw, ("metadata", "namespace"), "ns") if raw["kind"] == "TrainingRuntime" else raw for raw in others]
    )
    now = Story().now
    filled = admission.default(job, old, view.get, now=now)
    return list(admission.validate(filled, old, view.get))


def errors(problems: Iterable[Problem]) -> set[str]:
    return {problem.field for problem in problems if problem.severity is Severity.ERROR}


def named(job: dict[str, Any], name: str) -> dict[str, Any]:
    return put(job, ("spec", "runtimeRef", "name"), name)


def test_what_admission_has_built_is_there_for_the_controller() -> None:
    story, plans = Story(runtime(), trainjob()), Plans()
    view = View([put(runtime(), ("metadata", "namespace"), "ns")])
    new = put(story.job, ("metadata", "generation"), 1)
    assert list(admission.validate(new, None, view.get, plans=plans)) == []
    found = snapshot.find_runtime(new, view.get)
    assert found is not None
    assert plans.outline(new, snapshot.unstamped(found), ALONE) is not None
    changed = put(new, ("spec", "trainer"), {"numNodes": 3})
    assert plans.outline(changed, snapshot.unstamped(found), ALONE) is None


def test_what_was_only_tried_is_not_taken_for_the_change_that_follows() -> None:
    story, plans = Story(runtime(), trainjob()), Plans()
    found = put(runtime(), ("metadata", "namespace"), "ns")
    second = put(story.job, ("metadata", "generation"), 2)
    tried = put(second, ("spec", "labels"), {"team": "a"})
    plans.build(tried, found, ALONE)
    assert plans.outline(tried, found, ALONE) is not None
    assert plans.outline(second, found, ALONE) is None


DATASET = {"dataset": {"storageUri": "hf://a/b"}}
MODEL = {"model": {"storageUri": "hf://a/b"}}
ENV = "spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs[0].template.spec.template.spec"
RULES = [
    pytest.param(trainjob(kind="Sketch"), [runtime()], {"spec.runtimeRef.kind"}, id="R1 unsupported runtime"),
    pytest.param(trainjob(), [], {"spec.runtimeRef"}, id="R2 no such TrainingRuntime"),
    pytest.param(trainjob(kind="ClusterTrainingRuntime"), [runtime()], {"spec.runtimeRef"}, id="R3 none of it"),
    pytest.param(trainjob(initializer=DATASET), [runtime()], {"spec.initializer.dataset"}, id="J1 no dataset job"),
    pytest.param(
        trainjob(initializer=DATASET),
        [runtime({"torch": {}}, initializer("dataset", mounted=False), replicated("node", NODE, step="trainer"))],
        {"spec.initializer.dataset"},
        id="J3 dataset without its volume",
    ),
    pytest.param(trainjob(initializer=MODEL), [runtime()], {"spec.initializer.model"}, id="J4 no model job"),
    pytest.param(
        trainjob(initializer=MODEL),
        [runtime({"torch": {}}, initializer("model", mounted=False), replicated("node", NODE, step="trainer"))],
        {"spec.initializer.model"},
        id="J6 model without its volume",
    ),
    pytest.param(
        trainjob(runtimePatches=[patch(manager="me")]), [runtime()], {"spec.runtimePatches[0].manager"}, id="J7 manager"
    ),
    pytest.param(
        trainjob(runtimePatches=[patch(job="nobody")]),
        [runtime()],
        {"spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs[0].name"},
        id="J8 unknown job",
    ),
    pytest.param(
        trainjob(runtimePatches=[patch({"initContainers": [{"name": "x"}]})]),
        [runtime()],
        {f"{ENV}.initContainers[0].name"},
        id="J9 unknown init container",
    ),
    pytest.param(
        trainjob(runtimePatches=[patch({"containers": [{"name": "x"}]})]),
        [runtime()],
        {f"{ENV}.containers[0].name"},
        id="J10 unknown container",
    ),
    pytest.param(
        trainjob(runtimePatches=[patch({"containers": [{"name": "node", "env": [{"name": "A", "value": "1"}]}]})]),
        [runtime()],
        {f"{ENV}.containers[0].env"},
        id="J11 variables of the trainer",
    ),
    pytest.param(
        trainjob({"env": [{"name": "PET_NNODES", "value": "2"}, {"name": "PET_MASTER_PORT", "value": "1"}]}),
        [runtime()],
        {"spec.trainer.env[0].name", "spec.trainer.env[1].name"},
        id="T1 reserved by torch, both said",
    ),
    pytest.param(
        named(trainjob(TUNE), "torchtune-gpt2"), [tune("gpt2")], {"spec.runtimeRef.name"}, id="T3 no recipe for it"
    ),
    pytest.param(
        named(trainjob({**TUNE, "numNodes": 2}), "torchtune-llama3.2-1b"),
        [tune("llama3.2-1b")],
        {"spec.trainer.numNodes"},
        id="T4 a small model on two nodes",
    ),
    pytest.param(
        named(
            trainjob({**TUNE, "args": ["model.lora_attn_modules=[q_proj]", "model.quantize_base=True"]}),
            "torchtune-qwen2.5-1.5b",
        ),
        [tune("qwen2.5-1.5b")],
        {"spec.runtimeRef.name"},
        id="T5 QLoRA on qwen",
    ),
    pytest.param(
        named(trainjob({**TUNE, "args": ["checkpointer.checkpoint_dir=/x"]}), "torchtune-llama3.2-1b"),
        [tune("llama3.2-1b")],
        {"spec.trainer.args[0]"},
        id="T8 an argument that the runtime manages",
    ),
    pytest.param(
        trainjob({"numNodes": 2}),
        [runtime({"mpi": {"runLauncherAsNode": True}}, replicated("node", NODE, step="trainer"))],
        {"spec.trainer.numNodes"},
        id="M1 two nodes without a launcher",
    ),
    pytest.param(
        trainjob({"env": [{"name": "OMPI_MCA_plm_rsh_args", "value": "-v"}]}),
        [runtime({"mpi": {}}, *MPI)],
        {"spec.trainer.env[0].name"},
        id="M2 reserved by MPI",
    ),
    pytest.param(
        trainjob({"env": [{"name": "DMLC_TASK_ID", "value": "1"}]}),
        [runtime({"xgboost": {}})],
        {"spec.trainer.env[0].name"},
        id="X1 reserved by XGBoost",
    ),
    pytest.param(
        trainjob(),
        [{**runtime(), "spec": {**runtime()["spec"], "podGroupPolicy": {"volcano": {"priorityClassName": "gold"}}}}],
        {"spec.runtimeRef"},
        id="V2 no such PriorityClass",
    ),
]


@pytest.mark.parametrize(("job", "others", "fields"), RULES)
def test_rules_of_upstream(job: dict[str, Any], others: list[dict[str, Any]], fields: set[str]) -> None:
    problems = judged(job, *others)
    assert errors(problems) == fields
    assert all(problem.todo for problem in problems), "every refusal says what to do"


def test_t2_env_injection_into_nothing_is_refused_at_the_runtime() -> None:
    policy = {"torch": {"envInjection": {"targets": [{"jobName": "nobody", "containerNames": ["x"]}]}}}
    with pytest.raises(Denied, match=r"targets\[0\]\.jobName: the runtime has no job nobody"):
        Story(runtime(policy))


def test_v1_a_queue_without_a_name_is_refused_at_the_runtime() -> None:
    gangs = runtime()
    gangs["spec"]["podGroupPolicy"] = {"volcano": {}}
    gangs["spec"]["template"]["metadata"] = {"annotations": {"scheduling.volcano.sh/queue-name": ""}}
    with pytest.raises(Denied, match="the queue has no name"):
        Story(gangs)


def test_v2_a_priority_class_that_is_there_is_fine() -> None:
    gangs = runtime()
    gangs["spec"]["podGroupPolicy"] = {"volcano": {"priorityClassName": "gold"}}
    gold = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "gold"}, "value": 1}
    assert errors(judged(trainjob(), gangs, gold)) == set()
    gangs["spec"]["podGroupPolicy"]["volcano"]["priorityClassName"] = "system-node-critical"
    assert errors(judged(trainjob(), gangs)) == set()


def test_f1_flux_is_refused_by_name() -> None:
    with pytest.raises(Denied, match=r"spec\.mlPolicy\.flux: Trainplane does not run Flux; use mpi"):
        Story(runtime({"flux": {}}))


@pytest.mark.parametrize("kind", ["TrainingRuntime", "ClusterTrainingRuntime"])
def test_w1_deprecation_is_warned_of_for_both_kinds_at_creation_and_at_use(kind: str) -> None:
    """Upstream warns of cluster runtimes alone."""
    old = {
        **runtime(),
        "kind": kind,
        "metadata": {"name": "rt", "labels": {"trainer.kubeflow.org/support": "deprecated"}},
    }
    story = Story(old)
    assert story.warned == {(kind, "rt")}
    story.warned.clear()
    story.create(trainjob(kind=kind))
    assert story.warned == {("TrainJob", "job")}
    story.warned.clear()
    story.patch({"kind": "TrainJob", "name": "job", "body": {"metadata": {"labels": {"a": "b"}}}})
    assert story.warned == {("TrainJob", "job")}, "at every use"
    story.patch({"kind": kind, "name": "rt", "body": {"metadata": {"labels": {"a": "b"}}}})
    assert (kind, "rt") not in story.warned, "who edits another label need not hear it again"


def test_a_runtime_of_another_namespace_is_named_to_those_who_may_see_it() -> None:
    raw = admission.default(trainjob(), None, View().get, now=Story().now)
    (told,) = admission.validate(raw, None, View().get, elsewhere=lambda name: [f"{name}-team", "ns"])
    assert told.todo == "a TrainingRuntime serves its own namespace, and the one of that name is in rt-team"
    (untold,) = admission.validate(raw, None, View().get)
    assert untold.todo == "create it, or correct spec.runtimeRef"


def test_everything_that_is_wrong_is_said_at_once() -> None:
    job = trainjob(
        {"numNodes": 0, "env": [{"name": "PET_NNODES", "value": "2"}]},
        runtimePatches=[patch(manager="me"), patch(job="nobody", manager="a.b/c")],
        initializer=DATASET,
    )
    assert errors(judged(job, runtime())) == {
        "spec.trainer.numNodes",
        "spec.trainer.env[0].name",
        "spec.initializer.dataset",
        "spec.runtimePatches[0].manager",
        "spec.runtimePatches[1].trainingRuntimeSpec.template.spec.replicatedJobs[0].name",
    }


def test_a_wrong_shape_is_told_in_the_schemas_words_beside_the_rest() -> None:
    job = trainjob({"numNodes": "two", "env": 3}, runtimePatches=[patch(manager="me")])
    assert errors(judged(job, runtime())) >= {
        "spec.trainer.numNodes",
        "spec.trainer.env",
        "spec.runtimePatches[0].manager",
    }


def change(story: Story, **spec: Any) -> None:
    """Send an update of the TrainJob, as a merge patch."""
    story.patch({"kind": "TrainJob", "name": "job", "body": {"spec": spec}})


class TestUpdates:
    def test_j12_patches_change_only_while_suspended(self) -> None:
        story = Story(runtime(), trainjob())
        with pytest.raises(Denied, match=r"spec\.runtimePatches: patches can change only while the job is suspended"):
            change(story, runtimePatches=[patch({"nodeSelector": {"a": "b"}})])
        change(story, suspend=True, runtimePatches=[patch({"nodeSelector": {"a": "b"}})])

    def test_j13_patches_change_only_when_no_pod_runs(self) -> None:
        story = Story(runtime(), trainjob(suspend=True))
        story.jobset_says(counts={"node": {"active": 1}})
        with pytest.raises(Denied, match="node still has running pods"):
            change(story, runtimePatches=[patch({"nodeSelector": {"a": "b"}})])
        story.jobset_says(counts={"node": {}})
        change(story, runtimePatches=[patch({"nodeSelector": {"a": "b"}})])

    def test_a_patch_that_changes_only_its_time_is_no_change(self) -> None:
        story = Story(runtime(), trainjob(runtimePatches=[patch()]))
        change(story, runtimePatches=[{**patch(), "time": "2020-01-01T00:00:00Z"}])
        assert story.job["spec"]["runtimePatches"][0]["time"] != "2020-01-01T00:00:00Z"

    def test_affinity_that_the_jobset_would_refuse_for_ever_is_refused_here(self) -> None:
        rule = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{}]}}}
        story = Story(runtime(), trainjob(suspend=True, runtimePatches=[patch({"affinity": rule})]))
        with pytest.raises(Denied, match=r"affinity: the affinity of node cannot change after creation"):
            change(story, runtimePatches=[patch({"affinity": {"podAffinity": {}}})])
        with pytest.raises(Denied, match=r"spec\.runtimePatches: the affinity of node cannot change"):
            change(story, runtimePatches=[])
        change(story, runtimePatches=[patch({"affinity": rule, "nodeSelector": {"a": "b"}})])
        del story.objects[JOBSET]
        change(story, runtimePatches=[patch({"affinity": {"podAffinity": {}}})])

    @pytest.mark.parametrize(
        "spec",
        [
            pytest.param({"trainer": {"image": "other:1"}}, id="image"),
            pytest.param({"trainer": {"numProcPerNode": 2}}, id="processes"),
            pytest.param({"runtimeRef": {"name": "rt2"}}, id="runtime"),
            pytest.param({"managedBy": "kueue.x-k8s.io/multikueue"}, id="managedBy"),
        ],
    )
    def test_what_the_pods_are_made_from_cannot_change(self, spec: dict[str, Any]) -> None:
        story = Story(runtime(), trainjob({"image": "train:2", "numProcPerNode": 1}))
        with pytest.raises(Denied, match=rf"spec\.{next(iter(spec))}"):
            change(story, **spec)

    def test_a_job_of_a_fixed_size_keeps_it(self) -> None:
        story = Story(runtime(), trainjob({"numNodes": 2}))
        with pytest.raises(Denied, match=r"spec\.trainer\b(?!\.).*number of nodes"):
            change(story, trainer={"numNodes": 3})

    def test_an_elastic_job_changes_its_size_and_nothing_else(self) -> None:
        story = Story(runtime(ELASTIC), trainjob({"image": "train:2"}))
        change(story, trainer={"numNodes": 4})
        with pytest.raises(Denied, match=r"spec\.trainer"):
            change(story, trainer={"image": "train:3"})
        with pytest.raises(Denied, match="5 nodes do not lie between 2 and 4, the runtime's bounds"):
            change(story, trainer={"numNodes": 5})

    def test_an_update_that_leaves_the_size_out_keeps_it(self) -> None:
        story = Story(runtime(ELASTIC), trainjob())
        change(story, trainer={"numNodes": 4})
        change(story, trainer={"numNodes": None})
        assert story.job["spec"]["trainer"]["numNodes"] == 4

    def test_the_snapshot_answers_for_a_runtime_that_is_gone(self) -> None:
        story = Story(runtime(), trainjob())
        story.objects = {ref: raw for ref, raw in story.objects.items() if raw["kind"] != "TrainingRuntime"}
        change(story, suspend=True)
        assert story.job["spec"]["suspend"] is True
        with pytest.raises(Denied, match="only numNodes can change after creation"):
            change(story, trainer={"image": "x"})

    def test_without_snapshot_and_runtime_the_laws_of_change_still_hold(self) -> None:
        story = Story(runtime(), trainjob({"numNodes": 2}))
        story.objects = {JOB: story.job}
        change(story, suspend=True)
        with pytest.raises(Denied, match=r"spec\.trainer\b(?!\.).*number of nodes"):
            change(story, trainer={"numNodes": 3})

    def test_a_runtime_that_became_wrong_is_refused_in_both_kinds(self) -> None:
        for kind in ("TrainingRuntime", "ClusterTrainingRuntime"):
            story = Story({**runtime(), "kind": kind})
            metadata = {"annotations": {"scheduling.volcano.sh/queue-name": ""}}
            with pytest.raises(Denied, match="the queue has no name"):
                story.patch({"kind": kind, "name": "rt", "body": {"spec": {"template": {"metadata": metadata}}}})


def test_what_the_pipeline_finds_is_refused_at_admission_too() -> None:
    cycle = [replicated("a", NODE, step="trainer", dependsOn=[{"name": "b", "status": "Ready"}]), replicated("b", NODE)]
    gangs = runtime({"torch": {}}, *cycle)
    gangs["spec"]["podGroupPolicy"] = {"volcano": {"minMember": 9}}
    assert "TP201" in {problem.rule.id for problem in judged(trainjob(), gangs)}


def test_a_dialects_runtime_can_be_used() -> None:
    ome = {
        **runtime({"torch": {}}, replicated("node", {"name": "trainer", "image": "x"})),
        "apiVersion": "ome.io/v1beta1",
    }
    assert errors(judged(trainjob(), ome)) == set()
