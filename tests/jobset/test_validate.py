"""What is refused of JobSets: each rule broken once, and kept once."""

from typing import Any

import pytest

from trainplane.jobset.validate import jobset, template


def job(
    name: str = "node", *, job_spec: dict[str, Any] | None = None, pod: dict[str, Any] | None = None, **fields: Any
) -> Any:
    spec = pod or {"containers": [{"name": "node"}]}
    return {"name": name, "template": {"spec": {**(job_spec or {}), "template": {"spec": spec}}}, **fields}


def said(spec: dict[str, Any], name: str = "js") -> list[tuple[str, str]]:
    obj = {"metadata": {"name": name}, "spec": {"replicatedJobs": [job()], **spec}}
    return sorted((problem.rule.id, problem.field) for problem in jobset(obj))


def after(*names: str) -> list[dict[str, str]]:
    return [{"name": name, "status": "Complete"} for name in names]


MOUNTING = {"containers": [{"name": "node", "volumeMounts": [{"name": "data", "mountPath": "/d"}]}]}
CLAIM = {"templates": [{"metadata": {"name": "data"}}]}
COUNTED = {"completions": 2, "parallelism": 2}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, [], id="a plain JobSet"),
        pytest.param(
            {"replicatedJobs": [job("a", dependsOn=after("b")), job("b")]},
            [("TP150", "spec.replicatedJobs[0].dependsOn")],
            id="the first job waits",
        ),
        pytest.param({"replicatedJobs": [job("a"), job("b", dependsOn=after("a"))]}, [], id="the second waits for it"),
        pytest.param(
            {"replicatedJobs": [job("a"), job("b", dependsOn=after("x"))]},
            [("TP151", "spec.replicatedJobs[1].dependsOn[0].name")],
            id="waits for nobody",
        ),
        pytest.param(
            {"replicatedJobs": [job("a"), job("b", dependsOn=after("c")), job("c")]},
            [("TP151", "spec.replicatedJobs[1].dependsOn[0].name")],
            id="waits for a later one",
        ),
        pytest.param(
            {"replicatedJobs": [job("a"), job("b", dependsOn=after("b"))]},
            [("TP151", "spec.replicatedJobs[1].dependsOn[0].name")],
            id="waits for itself",
        ),
        pytest.param(
            {
                "startupPolicy": {"startupPolicyOrder": "InOrder"},
                "replicatedJobs": [job("a"), job("b", dependsOn=after("a"))],
            },
            [("TP152", "spec.replicatedJobs[1].dependsOn")],
            id="ordered twice",
        ),
        pytest.param({"startupPolicy": {"startupPolicyOrder": "InOrder"}}, [], id="ordered once"),
        pytest.param({"network": {"subdomain": "1x"}}, [("TP153", "spec.network.subdomain")], id="subdomain"),
        pytest.param({"network": {"subdomain": "x" * 64}}, [("TP153", "spec.network.subdomain")], id="long subdomain"),
        pytest.param({"network": {"subdomain": "x1"}}, [], id="good subdomain"),
        pytest.param({"managedBy": "me"}, [("TP154", "spec.managedBy")], id="manager"),
        pytest.param({"managedBy": "a.b/" + "c" * 60}, [("TP154", "spec.managedBy")], id="long manager"),
        pytest.param({"managedBy": "a.b/" + "c" * 59}, [], id="a manager of 63 characters"),
        pytest.param({"managedBy": "kueue.x-k8s.io/multikueue"}, [], id="good manager"),
        pytest.param(
            {"replicatedJobs": [job(replicas=70000, job_spec={"parallelism": 70000, "completions": 70000})]},
            [("TP155", "spec.replicatedJobs[0].replicas")],
            id="too many pods",
        ),
        pytest.param(
            {"replicatedJobs": [job(groupName="A_b")]}, [("TP156", "spec.replicatedJobs[0].groupName")], id="group"
        ),
        pytest.param({"replicatedJobs": [job(groupName="a-b")]}, [], id="good group"),
        pytest.param({"replicatedJobs": [job("Node_1")]}, [("TP157", "spec.replicatedJobs[0].name")], id="job name"),
        pytest.param({"replicatedJobs": [job("n" * 58)]}, [], id="63 characters with the JobSet's name"),
        pytest.param({"replicatedJobs": [job("n" * 59)]}, [("TP157", "spec.replicatedJobs[0].name")], id="64 of them"),
        pytest.param(
            {"replicatedJobs": [job("n" * 51, job_spec=COUNTED)]},
            [("TP157", "spec.replicatedJobs[0].name")],
            id="64 of a pod's",
        ),
        pytest.param({"replicatedJobs": [job("n" * 50, job_spec=COUNTED)]}, [], id="63 of a pod's"),
        pytest.param(
            {"successPolicy": {"operator": "All", "targetReplicatedJobs": ["nod"]}},
            [("TP158", "spec.successPolicy.targetReplicatedJobs[0]")],
            id="success of nobody",
        ),
        pytest.param(
            {"successPolicy": {"operator": "All", "targetReplicatedJobs": ["node"]}}, [], id="success of a job"
        ),
        pytest.param(
            {"failurePolicy": {"rules": [{"name": "a", "targetReplicatedJobs": ["x"]}]}},
            [("TP158", "spec.failurePolicy.rules[0].targetReplicatedJobs[0]")],
            id="failure of nobody",
        ),
        pytest.param(
            {"failurePolicy": {"rules": [{"name": "a-b"}]}},
            [("TP159", "spec.failurePolicy.rules[0].name")],
            id="rule name",
        ),
        pytest.param({"failurePolicy": {"rules": [{"name": "a" * 128}]}}, [], id="rule name of 128 characters"),
        pytest.param(
            {"failurePolicy": {"rules": [{"name": "a" * 129}]}},
            [("TP159", "spec.failurePolicy.rules[0].name")],
            id="rule name of 129 characters",
        ),
        pytest.param(
            {"failurePolicy": {"rules": [{"name": "a"}, {"name": "a"}]}},
            [("TP159", "spec.failurePolicy.rules[1].name")],
            id="rule name twice",
        ),
        pytest.param(
            {"failurePolicy": {"rules": [{"name": "a", "onJobFailureReasons": ["OOMKilled"]}]}},
            [("TP160", "spec.failurePolicy.rules[0].onJobFailureReasons[0]")],
            id="reason",
        ),
        pytest.param(
            {"failurePolicy": {"rules": [{"name": "a", "onJobFailureReasons": ["PodFailurePolicy"]}]}},
            [],
            id="good reason",
        ),
        pytest.param(
            {"coordinator": {"replicatedJob": "x"}},
            [("TP161", "spec.coordinator.replicatedJob")],
            id="no such coordinator",
        ),
        pytest.param(
            {"coordinator": {"replicatedJob": "node"}},
            [("TP161", "spec.coordinator.replicatedJob")],
            id="a coordinator among pods that are not counted",
        ),
        pytest.param(
            {"coordinator": {"replicatedJob": "node", "podIndex": 2}, "replicatedJobs": [job(job_spec=COUNTED)]},
            [("TP161", "spec.coordinator.podIndex")],
            id="a coordinator beyond the last pod",
        ),
        pytest.param(
            {"coordinator": {"replicatedJob": "node", "jobIndex": 1}, "replicatedJobs": [job(job_spec=COUNTED)]},
            [("TP161", "spec.coordinator.jobIndex")],
            id="a coordinator beyond the last job",
        ),
        pytest.param(
            {"coordinator": {"replicatedJob": "node", "podIndex": 1}, "replicatedJobs": [job(job_spec=COUNTED)]},
            [],
            id="a coordinator",
        ),
        pytest.param({"volumeClaimPolicies": [CLAIM], "replicatedJobs": [job(pod=MOUNTING)]}, [], id="a claim"),
        pytest.param(
            {"volumeClaimPolicies": [CLAIM]},
            [("TP162", "spec.replicatedJobs")],
            id="a claim that nobody mounts",
        ),
        pytest.param(
            {"volumeClaimPolicies": [CLAIM, CLAIM], "replicatedJobs": [job(pod=MOUNTING)]},
            [("TP162", "spec.volumeClaimPolicies[1].templates[0].metadata.name")],
            id="a claim twice",
        ),
        pytest.param(
            {"volumeClaimPolicies": [CLAIM], "replicatedJobs": [job(pod={**MOUNTING, "volumes": [{"name": "data"}]})]},
            [("TP162", "spec.replicatedJobs[0].template.spec.template.spec.volumes[0].name")],
            id="a claim that is a volume already",
        ),
        pytest.param(
            {"failurePolicy": {"restartStrategy": "InPlaceRestart"}},
            [("TP163", "spec.failurePolicy.restartStrategy")],
            id="behind a gate",
        ),
        pytest.param(
            {"failurePolicy": {"rules": [{"name": "a", "action": "RestartJob"}]}},
            [("TP163", "spec.failurePolicy.rules[0].action")],
            id="an action behind a gate",
        ),
        pytest.param({"failurePolicy": {"restartStrategy": "Recreate"}}, [], id="not behind a gate"),
        pytest.param(
            {"replicatedJobs": [job(job_spec={"parallelism": 2})]},
            [("TP164", "spec.replicatedJobs[0].template.spec.parallelism")],
            id="parallelism without completions",
        ),
        pytest.param(
            {"replicatedJobs": [job(job_spec={"parallelism": 2, "completionMode": "NonIndexed"})]},
            [],
            id="which are not counted",
        ),
    ],
)
def test_jobsets(spec: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert said(spec) == expected


def test_a_generated_name_counts_with_what_is_added_to_it() -> None:
    obj = {"metadata": {"generateName": "g" * 58}, "spec": {"replicatedJobs": [job("n")]}}
    assert [problem.rule.id for problem in jobset(obj)] == ["TP157"]


def test_the_template_of_a_runtime_has_no_name_yet() -> None:
    spec = {"replicatedJobs": [job(job_spec={"parallelism": 2})], "coordinator": {"replicatedJob": "node"}}
    assert list(template(spec, at=("spec", "template", "spec"))) == []


def test_a_misspelt_name_gets_the_right_one() -> None:
    spec = {"replicatedJobs": [job("initializer"), job("node", dependsOn=after("initialiser"))]}
    (problem,) = template(spec, at=())
    assert problem.todo == "did you mean initializer?"


@pytest.mark.parametrize("junk", [None, 1, "x", [], [None], {}, {"a": 1}, True])
@pytest.mark.parametrize(
    "field", ["replicatedJobs", "startupPolicy", "network", "failurePolicy", "coordinator", "volumeClaimPolicies"]
)
def test_what_has_the_wrong_shape_is_left_to_the_schema(field: str, junk: Any) -> None:
    list(jobset({"metadata": junk, "spec": {"replicatedJobs": [job()], field: junk}}))
