"""XGBoost: a worker for each GPU or node, which knows the tracker; and plain runtimes, which know nothing."""

import pytest

from tests.trainjob.worlds import container, env, render

RANK = "metadata.annotations['batch.kubernetes.io/job-completion-index']"


@pytest.mark.parametrize(
    ("resources", "workers"),
    [({"requests": {"cpu": 8}}, 2), ({"limits": {"nvidia.com/gpu": 4}}, 8)],
)
def test_workers_are_counted_by_gpu_or_by_node(resources, workers):
    plan = render({"xgboost": {}}, {"numNodes": 2, "resourcesPerNode": resources})
    assert env(plan) == {
        "DMLC_TRACKER_URI": "job-node-0-0.job",
        "DMLC_TRACKER_PORT": "29500",
        "DMLC_TASK_ID": RANK,
        "DMLC_NUM_WORKER": str(workers),
    }
    assert container(plan)["ports"] == [{"containerPort": 29500, "protocol": "TCP"}]
    assert plan.size.world == workers


def test_without_a_trainer_section():
    assert env(render({"numNodes": 2, "xgboost": {}}, None))["DMLC_NUM_WORKER"] == "2"


@pytest.mark.parametrize("policy", [None, {}, {"numNodes": 2}])
def test_a_plain_runtime_is_told_nothing(policy):
    plan = render(policy, {"env": [{"name": "A", "value": "1"}]})
    assert env(plan) == {"A": "1"}
    assert "ports" not in container(plan)
