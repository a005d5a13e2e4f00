"""What lint says of a TrainJob on its runtime, at the place in either that is concerned."""

from typing import Any

import pytest
import yaml

from tests.trainjob.stories import runtime as make_runtime
from tests.trainjob.stories import trainjob
from tests.trainjob.worlds import replicated
from trainplane.lint import lint


def told(runtime: dict[str, Any], *jobs: dict[str, Any]) -> list[tuple[str, str, str]]:
    """File, id and field of everything that is not information."""
    runtime = {**runtime, "metadata": {"name": "rt", "labels": {"trainer.kubeflow.org/framework": "torch"}}}
    files = [("runtime", runtime), *((f"job{number}", job) for number, job in enumerate(jobs))]
    found = lint((name, yaml.safe_dump(document)) for name, document in files).located
    return [(each.file, each.problem.rule.id, each.problem.field) for each in found if each.severity != "info"]


def node(**container: Any) -> dict[str, Any]:
    return replicated("node", {"name": "node", "image": "train:1", **container}, step="trainer")


@pytest.mark.parametrize(
    ("policy", "args", "trainer", "field"),
    [
        pytest.param(
            {"numNodes": 2, "torch": {}}, ["--nnodes=2"], {"numNodes": 4}, "spec.trainer.numNodes", id="nodes"
        ),
        pytest.param({"numNodes": 4, "torch": {}}, ["--nnodes=4"], {"numNodes": 4}, None, id="the same"),
        pytest.param({"torch": {}}, ["--nnodes=$(NUM_NODES)"], {"numNodes": 4}, None, id="a name is filled in"),
        pytest.param({"torch": {}}, [], {"args": ["--nnodes", "3"]}, "spec.trainer.args[1]", id="the job's own words"),
        pytest.param(
            {"torch": {}}, ["--nproc-per-node=2"], {"numProcPerNode": 4}, "spec.runtimeRef", id="processes, with a dash"
        ),
        pytest.param(
            {"torch": {"elasticPolicy": {"minNodes": 2, "maxNodes": 4, "maxRestarts": 1}}},
            [],
            {"args": ["--nnodes=2"]},
            "spec.trainer.args[0]",
            id="a fixed number for an elastic job",
        ),
    ],
)
def test_arguments_against_the_size_of_the_job(
    policy: dict[str, Any], args: list[str], trainer: dict[str, Any], field: str | None
) -> None:
    found = told(make_runtime(policy, node(command=["torchrun"], args=args)), trainjob(trainer))
    assert [each for each in found if each[1] == "TP130"] == ([("job0", "TP130", field)] if field else [])


def test_mpirun_is_counted_with_the_jobs_nodes() -> None:
    launcher = replicated(
        "launcher", {"name": "node", "image": "a:1", "command": ["mpirun", "-np", "4"]}, step="trainer"
    )
    runtime = make_runtime(
        {"numNodes": 2, "mpi": {"numProcPerNode": 2}}, launcher, replicated("node", {"name": "node", "image": "a:1"})
    )
    assert told(runtime, trainjob()) == []
    assert told(runtime, trainjob({"numNodes": 3})) == [("job0", "TP130", "spec.trainer.numNodes")]


def test_what_the_pipeline_finds_in_the_runtime_is_said_there_and_once() -> None:
    runtime = make_runtime({"torch": {"elasticPolicy": {"minNodes": 2, "maxNodes": 4}}}, node())
    assert told(runtime, trainjob(), {**trainjob(), "metadata": {"name": "other"}}) == [
        ("runtime", "TP123", "spec.mlPolicy.torch.elasticPolicy"),
        ("runtime", "TP134", "spec.mlPolicy.torch.elasticPolicy"),
    ]


def gangs(policy: dict[str, Any], *, nodes: int | None = 2) -> dict[str, Any]:
    raw = make_runtime({"torch": {}} if nodes is None else {"numNodes": nodes, "torch": {}}, node())
    return {**raw, "spec": {**raw["spec"], "podGroupPolicy": policy}}


@pytest.mark.parametrize(
    ("least", "nodes", "rule"), [(3, 2, "TP201"), (1, 2, "TP202"), (2, 2, None), (3, None, None), (1, None, None)]
)
def test_gangs_of_a_runtime_by_itself(least: int, nodes: int | None, rule: str | None) -> None:
    found = told(gangs({"volcano": {"minMember": least}}, nodes=nodes))
    assert found == ([("runtime", rule, "spec.podGroupPolicy.volcano.minMember")] if rule else [])


def test_a_gang_that_fits_the_runtime_and_not_the_job() -> None:
    found = told(gangs({"volcano": {"minMember": 3}}, nodes=3), trainjob({"numNodes": 2}))
    assert found == [("runtime", "TP201", "spec.podGroupPolicy.volcano.minMember")]


@pytest.mark.parametrize("policy", [{"jax": {}}, {"xgboost": {}}, {"numNodes": 1}])
def test_processes_where_nobody_counts_them(policy: dict[str, Any]) -> None:
    runtime = make_runtime(policy, node())
    assert told(runtime, trainjob({"numProcPerNode": 4})) == [("job0", "TP131", "spec.trainer.numProcPerNode")]


def test_resources_of_job_and_runtime_are_looked_at_together() -> None:
    runtime = make_runtime({"torch": {}}, node(resources={"limits": {"nvidia.com/gpu": 4, "memory": "8Gi"}}))
    for given, rule in (({"nvidia.com/gpu": 2}, "TP085"), ({"memory": "16Gi"}, "TP086"), ({"memory": "4Gi"}, None)):
        found = told(runtime, trainjob({"resourcesPerNode": {"requests": given}}))
        assert found == ([("job0", rule, "spec.trainer.resourcesPerNode")] if rule else [])


def test_what_is_wrong_by_itself_is_not_rendered() -> None:
    runtime = make_runtime({"torch": {}, "jax": {}}, node())
    assert [rule for _, rule, _ in told(runtime, trainjob({"numNodes": 0}))] == ["TP056", "TP061"]
