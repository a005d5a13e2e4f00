"""Elastic jobs: what torchrun, the JobSet and the autoscaler are told."""

import pytest

from tests.trainjob.worlds import companion, env, render, rule_ids

METRICS = [
    {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}
]


def elastic(policy, trainer=None, **spec):
    return render({"torch": {"elasticPolicy": policy}}, trainer, **spec)


def test_torchrun_meets_again_whenever_nodes_come_and_go():
    plan = elastic({"minNodes": 2, "maxNodes": 8, "maxRestarts": 5})
    assert env(plan) == {
        "PET_NNODES": "2:8",
        "PET_NPROC_PER_NODE": "1",
        "PET_RDZV_BACKEND": "c10d",
        "PET_RDZV_ID": "job",
        "PET_RDZV_ENDPOINT": "job-node-0-0.job:29500",
        "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
        "PET_MAX_RESTARTS": "5",
    }
    assert (plan.size.nodes, plan.size.min_nodes, plan.size.max_nodes) == (2, 2, 8)
    assert plan.jobset["spec"]["failurePolicy"] == {"maxRestarts": 5}
    assert plan.companions == ()


def test_it_starts_with_the_trainjobs_nodes():
    plan = elastic({"minNodes": 2, "maxNodes": 8, "maxRestarts": 1}, {"numNodes": 4})
    assert plan.replicated_jobs[0]["template"]["spec"]["parallelism"] == 4
    assert env(plan)["PET_NNODES"] == "2:8"


def test_only_restarts_keep_the_size():
    plan = elastic({"maxRestarts": 3}, {"numNodes": 2})
    found = env(plan)
    assert (found["PET_NNODES"], found["PET_MAX_RESTARTS"]) == ("2", "3")
    assert found["PET_MASTER_ADDR"] == "job-node-0-0.job"
    assert "PET_RDZV_BACKEND" not in found
    assert plan.jobset["spec"]["failurePolicy"] == {"maxRestarts": 3}
    assert plan.size.min_nodes is None


def test_the_templates_own_failure_policy_stays():
    plan = elastic({"maxRestarts": 3}, failurePolicy={"maxRestarts": 0})
    assert plan.jobset["spec"]["failurePolicy"] == {"maxRestarts": 0}


def test_bounds_without_restarts_are_warned_of():
    plan = elastic({"minNodes": 1, "maxNodes": 2})
    assert rule_ids(plan) == ["TP123"]
    assert "failurePolicy" not in plan.jobset["spec"]


def test_metrics_make_an_autoscaler_of_the_trainjob():
    plan = elastic({"minNodes": 1, "maxNodes": 4, "maxRestarts": 1, "metrics": METRICS})
    scaler = companion(plan, "HorizontalPodAutoscaler")
    assert scaler["apiVersion"] == "autoscaling/v2"
    assert scaler["metadata"] == {"name": "job", "namespace": "ns"}
    assert scaler["spec"] == {
        "scaleTargetRef": {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "name": "job"},
        "minReplicas": 1,
        "maxReplicas": 4,
        "metrics": METRICS,
    }


@pytest.mark.parametrize("policy", [{"torch": {}}, {"jax": {}}, None])
def test_other_jobs_are_left_alone(policy):
    plan = render(policy, {})
    assert "PET_MAX_RESTARTS" not in env(plan)
    assert "failurePolicy" not in plan.jobset["spec"]
