"""Which job is the trainer, the launcher, an initializer: by label, by name, or by being the only one."""

import copy
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.places import need_shared
from trainplane.api.problem import Problem, Severity
from trainplane.api.roles import Found, Role, roles_of

LABEL = "trainer.kubeflow.org/trainjob-ancestor-step"


def job(name: str, *containers: str, step: str = "", after: str = "") -> dict[str, Any]:
    """A replicated job."""
    pod = {"containers": [{"name": container} for container in containers or ("node",)]}
    template: dict[str, Any] = {"spec": {"template": {"spec": pod}}}
    if step:
        template["metadata"] = {"labels": {LABEL: step}}
    return {"name": name, "template": template} | ({"dependsOn": [{"name": after}]} if after else {})


def runtime(*jobs: dict[str, Any], **policy: Any) -> dict[str, Any]:
    """A runtime of these jobs."""
    return {"spec": {"mlPolicy": policy, "template": {"spec": {"replicatedJobs": list(jobs)}}}}


def part(role: Role | None) -> tuple[str, str] | None:
    """A role in two words: the job's name and how it was found."""
    return (role.name, role.found.value) if role else None


def said(problems: tuple[Problem, ...]) -> list[tuple[str, str]]:
    """Problems in two words: the rule and the field."""
    return [(problem.rule.id, problem.field) for problem in problems]


@pytest.mark.parametrize(
    ("jobs", "trainer"),
    [
        pytest.param([job("x", step="trainer"), job("node")], ("x", "label"), id="the label wins over a name"),
        pytest.param([job("node")], ("node", "name"), id="node"),
        pytest.param([job("worker"), job("logger")], ("worker", "name"), id="worker beside a stage"),
        pytest.param([job("initializer"), job("trainer-node")], ("trainer-node", "name"), id="trainer-node"),
        pytest.param([job("anything")], ("anything", "only one"), id="the only job"),
        pytest.param(
            [job("dataset-initializer"), job("model-initializer"), job("fit")],
            ("fit", "only one"),
            id="the only job besides initializers",
        ),
        pytest.param([job("launcher"), job("fit")], ("fit", "only one"), id="the only job besides a launcher"),
        pytest.param([job("node"), job("worker")], None, id="two names"),
        pytest.param([job("a"), job("b")], None, id="two strangers"),
        pytest.param([job("exporter", step="exporter"), job("fit")], ("fit", "only one"), id="not one of another step"),
        pytest.param([], None, id="no jobs"),
    ],
)
def test_the_trainer_is_found(jobs: list[dict[str, Any]], trainer: tuple[str, str] | None) -> None:
    assert part(roles_of(runtime(*jobs, torch={})).trainer) == trainer


def test_what_was_inferred_is_information_at_the_line_that_says_the_name() -> None:
    roles = roles_of(runtime(job("dataset-initializer", "fetch"), job("worker", "pytorch"), torch={}))
    jobs = "spec.template.spec.replicatedJobs"
    assert said(roles.problems) == [
        ("TP039", f"{jobs}[0].name"),
        ("TP038", f"{jobs}[0].template.spec.template.spec.containers[0].name"),
        ("TP037", f"{jobs}[1].name"),
        ("TP038", f"{jobs}[1].template.spec.template.spec.containers[0].name"),
    ]
    assert {problem.severity for problem in roles.problems} == {Severity.INFO}
    assert f"{LABEL}: trainer" in roles.problems[2].todo


def test_two_candidates_are_both_named_with_the_label_that_decides() -> None:
    (problem,) = roles_of(runtime(job("node"), job("worker"))).problems
    assert problem.severity is Severity.WARNING
    assert str(problem) == (
        "spec.template.spec.replicatedJobs[0].name: node and worker could each be the trainer, and none is labelled; "
        f"add the label {LABEL}: trainer to template.metadata.labels of the one that trains"
    )


def test_a_label_on_two_jobs_is_warned_of_and_the_first_is_taken() -> None:
    roles = roles_of(runtime(job("node", step="trainer"), job("helper", step="trainer"), torch={}))
    assert part(roles.trainer) == ("node", "label")
    assert [stage.name for stage in roles.stages] == ["helper"]
    (problem,) = roles.problems
    assert problem.severity is Severity.WARNING
    assert problem.field.endswith(f"replicatedJobs[1].template.metadata.labels[{LABEL}]")


@pytest.mark.parametrize(
    ("containers", "found"),
    [
        (["node"], ("node", Found.NAME)),
        (["sidecar", "node"], ("node", Found.NAME)),
        (["pytorch"], ("pytorch", Found.ONLY)),
    ],
)
def test_the_trainers_container(containers: list[str], found: tuple[str, Found]) -> None:
    trainer = roles_of(runtime(job("node", *containers, step="trainer"))).trainer
    assert trainer is not None
    assert trainer.container is not None
    assert (trainer.container.name, trainer.container.found) == found
    assert containers[trainer.container.index] == trainer.container.name


@pytest.mark.parametrize(("step", "severity"), [("trainer", Severity.ERROR), ("", Severity.WARNING)])
def test_several_containers_and_none_called_node(step: str, severity: Severity) -> None:
    """Kubeflow Trainer refuses a labelled job like this, and lets an unlabelled one pass."""
    roles = roles_of(runtime(job("node", "train", "logger", step=step)))
    assert roles.trainer is not None
    assert roles.trainer.container is None
    problem = roles.problems[-1]
    assert problem.severity is severity
    assert "train and logger" in problem.what


class TestMpi:
    """With mlPolicy.mpi a launcher starts mpirun, and the trainer job is what it reaches."""

    def test_ome_launcher_and_worker(self) -> None:
        roles = roles_of(runtime(job("launcher", "mpi-launcher"), job("worker", "mpi-worker"), mpi={}))
        assert part(roles.launcher) == ("launcher", "name")
        assert part(roles.trainer) == ("worker", "name")
        assert roles.ancestor == roles.launcher
        assert [rule for rule, _ in said(roles.problems)] == ["TP040", "TP038", "TP037", "TP038"]

    def test_kubeflow_launcher_and_node_need_no_word(self) -> None:
        roles = roles_of(runtime(job("node"), job("launcher", step="trainer", after="node"), mpi={}))
        assert part(roles.launcher) == ("launcher", "label")
        assert part(roles.trainer) == ("node", "name")
        assert roles.ancestor == roles.launcher
        assert roles.problems == ()

    def test_the_label_on_the_workers_says_where_settings_go(self) -> None:
        roles = roles_of(runtime(job("launcher"), job("worker", step="trainer"), mpi={}))
        assert part(roles.launcher) == ("launcher", "name")
        assert part(roles.ancestor) == ("worker", "label")
        assert roles.problems == ()

    def test_no_launcher_is_warned_of(self) -> None:
        roles = roles_of(runtime(job("worker"), mpi={"mpiImplementation": "Intel"}))
        assert roles.launcher is None
        assert ("TP045", "spec.template.spec.replicatedJobs[0].name") in said(roles.problems)

    def test_without_the_policy_a_launcher_is_a_stage(self) -> None:
        roles = roles_of(runtime(job("launcher"), job("node", step="trainer"), torch={}))
        assert roles.launcher is None
        assert [stage.name for stage in roles.stages] == ["launcher"]


@pytest.mark.parametrize(
    ("after", "warned"), [("", True), ("initializer", False), ("middle", False)], ids=["beside", "after", "in a chain"]
)
def test_an_unlabelled_initializer_is_a_plain_stage(after: str, warned: bool) -> None:
    roles = roles_of(runtime(job("initializer"), job("middle", after="initializer"), job("node", after=after)))
    assert roles.dataset_initializer is None
    assert [stage.name for stage in roles.stages] == ["initializer", "middle"]
    assert ("TP046" in dict(said(roles.problems))) is warned


def test_a_labelled_initializer_may_have_any_name() -> None:
    roles = roles_of(
        runtime(job("fetch", "dataset-initializer", step="dataset-initializer"), job("node", step="trainer"))
    )
    assert part(roles.dataset_initializer) == ("fetch", "label")
    assert roles.problems == ()


def test_runtimes_that_ran_on_kubeflow_trainer_and_are_labelled_get_no_information() -> None:
    checked = 0
    for accepted in sorted(need_shared("conformance/cases").glob("*/expected.yaml")):
        path = accepted.with_name("input.yaml")
        for document in yaml.safe_load_all(path.read_text()):
            if document and document["kind"].endswith("Runtime") and LABEL in str(document):
                roles = roles_of(document)
                assert not [str(p) for p in roles.problems if p.severity is Severity.INFO], path.parent.name
                checked += 1
    assert checked > 100


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["node", "worker", "launcher", "trainer"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["name", "template", "metadata", "labels", LABEL, "spec", "containers"]), inner
        )
    ),
    max_leaves=20,
)


@given(jobs=values, policy=st.dictionaries(st.sampled_from(["mpi", "torch"]), values))
def test_any_shape_is_read_without_harm(jobs: Any, policy: dict[str, Any]) -> None:
    document = {"spec": {"mlPolicy": policy, "template": {"spec": {"replicatedJobs": jobs}}}}
    before = copy.deepcopy(document)
    roles = roles_of(document)
    assert document == before
    given_out = [role.index for role in (roles.trainer, roles.launcher, roles.dataset_initializer) if role]
    given_out += [stage.index for stage in roles.stages]
    assert len(given_out) == len(set(given_out))
