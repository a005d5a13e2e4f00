"""What a TrainJob says of its trainer: image, command, args, variables and resources, each in its place."""

from typing import Any

import pytest

from tests.trainjob.worlds import container, env, job, render, replicated

CONTAINER = {"name": "node", "image": "train:1", "command": ["python"], "args": ["a.py"]}
TRAINER = replicated("node", CONTAINER, step="trainer")
MPI = (replicated("launcher", CONTAINER, step="trainer"), replicated("node", CONTAINER))


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        pytest.param({}, ("train:1", ["python"], ["a.py"]), id="nothing said"),
        pytest.param({"image": "mine:2"}, ("mine:2", ["python"], ["a.py"]), id="an image"),
        pytest.param({"args": ["b.py"]}, ("train:1", ["python"], ["b.py"]), id="args alone keep the command"),
        pytest.param({"command": ["sh"], "args": []}, ("train:1", ["sh"], None), id="an empty list clears"),
    ],
)
def test_image_command_and_args(said: dict[str, Any], expected: Any) -> None:
    found = container(render({"torch": {}}, said, TRAINER))
    assert (found["image"], found["command"], found.get("args")) == expected


def test_variables_join_and_replace_by_name() -> None:
    node = replicated(
        "node", {**CONTAINER, "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "1"}]}, step="trainer"
    )
    given = [{"name": "B", "value": "2"}, {"name": "C", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}]
    found = env(render({"jax": {}}, {"env": given}, node))
    assert (found["A"], found["B"], found["C"]) == ("1", "2", "spec.nodeName")


def test_a_file_key_is_not_lost() -> None:
    source = {"fileKeyRef": {"volumeName": "v", "path": "p", "key": "k"}}
    found = container(render({"torch": {}}, {"env": [{"name": "F", "valueFrom": source}]}, TRAINER))
    assert {"name": "F", "valueFrom": source} in found["env"]


def test_resources_join_by_name_and_claims_too() -> None:
    mine = {"limits": {"cpu": "2000m"}, "requests": {"memory": "1Gi"}, "claims": [{"name": "gpu"}]}
    node = {**CONTAINER, "resources": {"limits": {"cpu": "1", "nvidia.com/gpu": "4"}, "claims": [{"name": "net"}]}}
    plan = render({"torch": {}}, {"resourcesPerNode": mine}, replicated("node", node, step="trainer"))
    assert container(plan)["resources"] == {
        "limits": {"cpu": "2", "nvidia.com/gpu": "4"},
        "requests": {"memory": "1Gi"},
        "claims": [{"name": "net"}, {"name": "gpu"}],
    }


def test_without_a_policy_resources_are_the_templates_alone() -> None:
    plan = render(None, {"resourcesPerNode": {"limits": {"cpu": "2"}}}, TRAINER)
    assert container(plan).get("resources") in (None, {})


@pytest.mark.parametrize(("as_node", "on_workers"), [(False, False), (True, True)])
def test_with_mpi_the_launcher_gets_them_and_the_workers_when_it_is_one_of_them(
    as_node: bool, on_workers: bool
) -> None:
    given = {"env": [{"name": "A", "value": "1"}], "resourcesPerNode": {"limits": {"cpu": "2"}}, "image": "mine:2"}
    plan = render({"numNodes": 2, "mpi": {"runLauncherAsNode": as_node}}, given, *MPI)
    assert env(plan, "launcher")["A"] == "1"
    assert container(plan, "launcher")["image"] == "mine:2"
    assert ("A" in env(plan, "node")) is on_workers
    assert ("limits" in container(plan, "node").get("resources", {})) is on_workers
    assert container(plan, "node")["image"] == "train:1"


def test_the_trainer_is_one_job_whose_pods_are_the_nodes() -> None:
    plan = render({"numNodes": 3, "torch": {}}, {}, replicated("node", CONTAINER, step="trainer", replicas=1))
    assert (job(plan)["replicas"], job(plan)["template"]["spec"]["parallelism"]) == (1, 3)
