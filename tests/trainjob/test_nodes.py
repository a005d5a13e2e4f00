"""How many pods each replicated job has, and where that number comes from."""

from typing import Any

import pytest

from tests.trainjob.worlds import job, render, replicated
from trainplane.trainjob.plan import Plan

CONTAINER = {"name": "node", "image": "train:1"}
BOUNDS = {"minNodes": 2, "maxNodes": 4}


def trainer(**spec: Any) -> dict[str, Any]:
    raw = replicated("node", CONTAINER, step="trainer")
    raw["template"]["spec"] |= spec
    return raw


def pods(plan: Plan, name: str = "node") -> int:
    spec = job(plan, name)["template"]["spec"]
    assert spec["parallelism"] == spec["completions"]
    return int(spec["parallelism"])


@pytest.mark.parametrize(
    ("policy", "asked", "template", "nodes"),
    [
        pytest.param({"numNodes": 3, "torch": {}}, {"numNodes": 2}, {}, 2, id="the TrainJob's"),
        pytest.param({"numNodes": 3, "torch": {}}, {}, {}, 3, id="else the runtime's"),
        pytest.param({"torch": {"elasticPolicy": BOUNDS}}, {}, {}, 2, id="else the least of an elastic job"),
        pytest.param({"numNodes": 3, "torch": {"elasticPolicy": BOUNDS}}, {}, {}, 3, id="elastic with a starting size"),
        pytest.param({"torch": {}}, {}, {"parallelism": 5}, 1, id="else one, whatever the template says"),
        pytest.param(None, {}, {"parallelism": 5, "completions": 5}, 5, id="the template's where there is no policy"),
        pytest.param({"numNodes": 2, "torch": {}}, {}, {"parallelism": 5}, 2, id="the node count wins"),
    ],
)
def test_the_size_of_the_trainer(policy: Any, asked: Any, template: dict[str, Any], nodes: int) -> None:
    plan = render(policy, asked, trainer(**template))
    assert (pods(plan), plan.size.nodes) == (nodes, nodes)


def test_other_jobs_keep_the_templates_count() -> None:
    side = replicated("side", {"name": "side", "image": "x"})
    side["template"]["spec"]["parallelism"] = 2
    plan = render({"numNodes": 3, "torch": {}}, {}, trainer(), side, replicated("other", {"name": "o", "image": "x"}))
    assert (pods(plan), pods(plan, "side"), pods(plan, "other")) == (3, 2, 1)


@pytest.mark.parametrize(("nodes", "workers"), [(1, 1), (2, 1), (3, 2)])
def test_a_launcher_that_trains_is_one_of_the_nodes(nodes: int, workers: int) -> None:
    launcher = replicated("launcher", CONTAINER, step="trainer")
    policy = {"numNodes": nodes, "mpi": {"runLauncherAsNode": True}}
    plan = render(policy, {}, launcher, replicated("node", CONTAINER))
    assert (pods(plan, "launcher"), pods(plan)) == (1, workers)
    assert plan.size.nodes == workers + 1


def test_bounds_are_known_only_where_both_are_given() -> None:
    elastic = render({"torch": {"elasticPolicy": BOUNDS}}, {}, trainer())
    assert (elastic.size.min_nodes, elastic.size.max_nodes) == (2, 4)
    restarts = render({"torch": {"elasticPolicy": {"maxRestarts": 1}}}, {}, trainer())
    assert (restarts.size.min_nodes, restarts.size.max_nodes) == (None, None)
