"""When lint says that a job begins anew and has nowhere to keep its checkpoints, and when it does not."""

from typing import Any

import pytest
import yaml

from tests.trainjob.stories import runtime as make_runtime
from tests.trainjob.stories import trainjob
from tests.trainjob.worlds import replicated
from trainplane.lint import lint

RESTARTS = {"failurePolicy": {"maxRestarts": 3}}
ELASTIC = {"torch": {"elasticPolicy": {"minNodes": 1, "maxNodes": 4}}}
FAILURE_POLICY = "spec.template.spec.failurePolicy.maxRestarts"
ELASTIC_POLICY = "spec.mlPolicy.torch.elasticPolicy"
CLAIM = {"name": "state", "persistentVolumeClaim": {"claimName": "state"}}
SCRATCH = {"name": "state", "emptyDir": {}}
MOUNT = {"name": "state", "mountPath": "/checkpoints"}


def told(
    policy: dict[str, Any] | None = None,
    jobset: dict[str, Any] | None = None,
    *,
    volume: dict[str, Any] | None = None,
    job: dict[str, Any] | None = None,
    **container: Any,
) -> list[str]:
    """The fields of the runtime, and of no other document, at which the warning stands."""
    node = replicated("node", {"name": "node", "image": "train:1", **container}, step="trainer")
    if volume:
        node["template"]["spec"]["template"]["spec"]["volumes"] = [volume]
    runtime = make_runtime(policy or {"torch": {}}, node)
    runtime["spec"]["template"]["spec"] |= jobset or {}
    runtime["metadata"] = {"name": "rt", "labels": {"trainer.kubeflow.org/framework": "torch"}}
    documents = [("runtime", runtime), *([("job", job)] if job else [])]
    found = lint((name, yaml.safe_dump(document)) for name, document in documents).located
    at = [(each.file, each.problem.field) for each in found if each.problem.rule.id == "TP134"]
    assert all(file == "runtime" for file, _ in at)
    return [field for _, field in at]


@pytest.mark.parametrize("job", [None, trainjob()], ids=["by itself", "with a TrainJob"])
@pytest.mark.parametrize(
    ("policy", "jobset", "where"),
    [
        pytest.param(None, RESTARTS, [FAILURE_POLICY], id="the job restarts"),
        pytest.param(ELASTIC, None, [ELASTIC_POLICY], id="it changes its size"),
        pytest.param(
            {"torch": {"elasticPolicy": {"maxRestarts": 2}}},
            None,
            [f"{ELASTIC_POLICY}.maxRestarts"],
            id="its workers restart",
        ),
        pytest.param(None, {"failurePolicy": {"maxRestarts": 0}}, [], id="it may, never"),
        pytest.param({"torch": {"elasticPolicy": {"minNodes": 2, "maxNodes": 2}}}, None, [], id="one size only"),
        pytest.param(None, None, [], id="it runs once"),
    ],
)
def test_what_begins_anew(
    policy: dict[str, Any] | None, jobset: dict[str, Any] | None, where: list[str], job: dict[str, Any] | None
) -> None:
    assert told(policy, jobset, job=job) == where


@pytest.mark.parametrize(
    ("volume", "container", "is_kept"),
    [
        pytest.param(CLAIM, {"volumeMounts": [MOUNT]}, True, id="a claim"),
        pytest.param(
            {"name": "state", "nfs": {"server": "a", "path": "/b"}}, {"volumeMounts": [MOUNT]}, True, id="nfs"
        ),
        pytest.param(
            {"name": "state", "hostPath": {"path": "/mnt/data"}}, {"volumeMounts": [MOUNT]}, True, id="a host's folder"
        ),
        pytest.param(
            {"name": "state", "hostPath": {"path": "/dev/infiniband"}},
            {"volumeMounts": [MOUNT]},
            False,
            id="a host's device",
        ),
        pytest.param(CLAIM, {}, False, id="a claim that is not mounted"),
        pytest.param(CLAIM, {"volumeMounts": [{**MOUNT, "readOnly": True}]}, False, id="a claim that is only read"),
        pytest.param(SCRATCH, {"volumeMounts": [MOUNT]}, False, id="a folder that goes with the pod"),
        pytest.param(None, {"args": ["--save=/workspace/output/last.pt"]}, True, id="the folder that is kept"),
        pytest.param(None, {"env": [{"name": "OUT", "value": "s3://bucket/run"}]}, True, id="a bucket"),
        pytest.param(None, {"args": ["--save=/tmp/last.pt"]}, False, id="a folder of the pod"),
        pytest.param(None, {"args": ["--proxy=http://a"]}, False, id="an address that keeps nothing"),
    ],
)
def test_what_outlives_a_pod(volume: dict[str, Any] | None, container: dict[str, Any], is_kept: bool) -> None:
    assert told(None, RESTARTS, volume=volume, **container) == ([] if is_kept else [FAILURE_POLICY])


def test_the_job_may_bring_what_its_runtime_lacks() -> None:
    patch = {
        "manager": "example.com/me",
        "trainingRuntimeSpec": {
            "template": {
                "spec": {
                    "replicatedJobs": [
                        {
                            "name": "node",
                            "template": {
                                "spec": {
                                    "template": {
                                        "spec": {
                                            "volumes": [CLAIM],
                                            "containers": [{"name": "node", "volumeMounts": [MOUNT]}],
                                        }
                                    }
                                }
                            },
                        }
                    ]
                }
            }
        },
    }
    plain = trainjob()
    brings = {**plain, "spec": {**plain["spec"], "runtimePatches": [patch]}}
    says = trainjob({"args": ["--save=$(TRAINPLANE_OUTPUT)/last.pt"]})
    assert told(None, RESTARTS, job=brings) == []
    assert told(None, RESTARTS, job=says) == []
