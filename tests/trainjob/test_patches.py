"""spec.runtimePatches: merged in order, by name, and never able to change what the job is."""

from typing import Any

from tests.trainjob.worlds import ANCESTOR, container, env, job, pod, replicated, runtime, trainjob
from trainplane.trainjob.pipeline import build
from trainplane.trainjob.plan import Plan

SIDECAR = {"name": "logs", "image": "logs:1"}


def patched(*patches: dict[str, Any], jobs: tuple[dict[str, Any], ...] = (), trainer: Any = None) -> Plan:
    raw = trainjob({} if trainer is None else trainer)
    raw["spec"]["runtimePatches"] = [
        {"manager": f"a.b/{i}", "trainingRuntimeSpec": {"template": body}} for i, body in enumerate(patches)
    ]
    return build(raw, runtime({"torch": {}}, *jobs))


def to_pod(spec: dict[str, Any], *, name: str = "node", **metadata: Any) -> dict[str, Any]:
    template = {"spec": spec, **({"metadata": metadata} if metadata else {})}
    return {"spec": {"replicatedJobs": [{"name": name, "template": {"spec": {"template": template}}}]}}


def test_labels_reach_the_jobset_the_job_and_the_pods() -> None:
    body = to_pod({}, labels={"at": "pod"})
    body["metadata"] = {"labels": {"at": "jobset"}, "annotations": {"n": "1"}}
    body["spec"]["replicatedJobs"][0]["template"]["metadata"] = {"labels": {"at": "job"}}
    plan = patched(body)
    assert plan.jobset["metadata"]["labels"] == {"at": "jobset"}
    assert plan.jobset["metadata"]["annotations"] == {"n": "1"}
    template = job(plan)["template"]
    assert template["metadata"]["labels"] == {ANCESTOR: "trainer", "at": "job"}
    assert template["spec"]["template"]["metadata"]["labels"] == {"at": "pod"}


def test_a_later_manager_has_the_last_word() -> None:
    plan = patched(to_pod({"nodeSelector": {"a": "1", "b": "1"}}), to_pod({"nodeSelector": {"b": "2"}}))
    assert pod(plan)["nodeSelector"] == {"a": "1", "b": "2"}


def test_patching_the_ancestor_label_does_not_change_who_trains() -> None:
    """Upstream's trainer is gone when a patch rewrites the label."""
    body: dict[str, Any] = {"spec": {"replicatedJobs": [{"name": "node", "template": {"metadata": {"labels": {}}}}]}}
    body["spec"]["replicatedJobs"][0]["template"]["metadata"]["labels"] = {ANCESTOR: "something-else"}
    plan = patched(body, trainer={"image": "mine:1", "numNodes": 2})
    assert container(plan)["image"] == "mine:1"
    assert env(plan)["PET_NNODES"] == "2"
    assert job(plan)["template"]["spec"]["parallelism"] == 2


def test_replicated_jobs_keep_their_places() -> None:
    jobs = tuple(
        replicated(name, {"name": "node", "image": "x"}, step=step) for name, step in (("a", "trainer"), ("b", ""))
    )
    plan = patched(to_pod({"nodeSelector": {"x": "y"}}, name="b"), jobs=jobs)
    assert [one["name"] for one in plan.replicated_jobs] == ["a", "b"]
    assert pod(plan, "b")["nodeSelector"] == {"x": "y"}
    assert "nodeSelector" not in pod(plan, "a")


def test_a_containers_variables_and_mounts_are_joined_by_name() -> None:
    side = {**SIDECAR, "env": [{"name": "A", "value": "1"}], "volumeMounts": [{"name": "v", "mountPath": "/v"}]}
    node = replicated("node", {"name": "node", "image": "x"}, step="trainer")
    node["template"]["spec"]["template"]["spec"]["containers"].append(side)
    mine = {"name": "logs", "env": [{"name": "A", "value": "2"}, {"name": "B", "value": "3"}]}
    plan = patched(to_pod({"containers": [mine], "volumes": [{"name": "w", "emptyDir": {}}]}), jobs=(node,))
    (_, logs) = pod(plan)["containers"]
    assert {one["name"]: one["value"] for one in logs["env"]} == {"A": "2", "B": "3"}
    assert logs["image"] == "logs:1"
    assert pod(plan)["volumes"] == [{"name": "w", "emptyDir": {}}]


def test_what_a_patch_adds_stands_behind_what_was_there() -> None:
    """Upstream puts it in front, where a variable cannot refer to the template's."""
    names = ["A", "B"]
    side = {**SIDECAR, "env": [{"name": name, "value": "1"} for name in names]}
    side["volumeMounts"] = [{"name": name.lower(), "mountPath": f"/{name}"} for name in names]
    node = replicated("node", {"name": "node", "image": "x"}, step="trainer")
    spec = node["template"]["spec"]["template"]["spec"]
    spec["containers"].append(side)
    spec["volumes"] = [{"name": name.lower(), "emptyDir": {}} for name in names]
    mine = {"name": "logs", "env": [{"name": "C", "value": "$(A)"}, {"name": "B", "value": "2"}]}
    mine["volumeMounts"] = [{"name": "c", "mountPath": "/C"}]
    plan = patched(to_pod({"containers": [mine], "volumes": [{"name": "c", "emptyDir": {}}]}), jobs=(node,))
    (first, logs) = pod(plan)["containers"]
    assert first["name"] == "node"
    assert [one["name"] for one in logs["env"]] == ["A", "B", "C"]
    assert [one["mountPath"] for one in logs["volumeMounts"]] == ["/A", "/B", "/C"]
    assert [one["name"] for one in pod(plan)["volumes"]] == ["a", "b", "c"]


def test_an_empty_patch_changes_nothing() -> None:
    assert patched({}).objects == patched().objects
