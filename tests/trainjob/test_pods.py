"""What lint says of a runtime's pods: the MPI contract, privileges, devices, and what is easily missed."""

from typing import Any

import pytest

from tests.trainjob.worlds import replicated, runtime
from trainplane.api.problem import Severity
from trainplane.trainjob import pods
from trainplane.trainjob.container import resources


def said(raw: dict[str, Any]) -> dict[str, str]:
    """The ids of what is said of a runtime, each with its field."""
    return {problem.rule.id: problem.field for problem in pods.runtime(raw)}


def mpi(worker: dict[str, Any], *, pod: dict[str, Any] | None = None, path: str = "") -> dict[str, Any]:
    """An MPI runtime whose workers' container, pod and key path are given."""
    jobs = (
        replicated("launcher", {"name": "node", "image": "a:1"}, step="trainer"),
        replicated("node", {"name": "node", "image": "a:1", **worker}),
    )
    jobs[1]["template"]["spec"]["template"]["spec"].update(pod or {})
    return runtime({"mpi": {"sshAuthMountPath": path} if path else {}}, *jobs)


@pytest.mark.parametrize(
    ("worker", "pod", "path", "warned"),
    [
        pytest.param({}, {}, "", False, id="the image decides who runs"),
        pytest.param({}, {"securityContext": {"runAsUser": 1000}}, "", True, id="another user, root's folder"),
        pytest.param({}, {"securityContext": {"runAsNonRoot": True}}, "/root/.ssh", True, id="not root, root's folder"),
        pytest.param({}, {"securityContext": {"runAsUser": 0}}, "/root/.ssh", False, id="root and root's folder"),
        pytest.param({}, {"securityContext": {"runAsUser": 0}}, "/home/mpi/.ssh", True, id="root, a user's folder"),
        pytest.param({}, {"securityContext": {"runAsUser": 1000}}, "/home/mpi/.ssh", False, id="a user's folder"),
        pytest.param(
            {"securityContext": {"runAsUser": 0}},
            {"securityContext": {"runAsUser": 1000}},
            "",
            False,
            id="the container's word counts before the pod's",
        ),
        pytest.param({}, {"securityContext": {"runAsUser": 1000}}, "/keys", False, id="a folder that is nobody's home"),
    ],
)
def test_keys_and_users(worker: dict[str, Any], pod: dict[str, Any], path: str, warned: bool) -> None:
    assert ("TP075" in said(mpi(worker, pod=pod, path=path))) is warned


@pytest.mark.parametrize(
    ("words", "user", "warned"),
    [
        (["/usr/sbin/sshd", "-De"], 1000, True),
        (["/usr/sbin/sshd", "-De"], 0, False),
        (["/usr/sbin/sshd", "-De", "-p", "2222"], 1000, False),
        (["/usr/sbin/sshd", "-De", "-p22"], 1000, True),
        (["/usr/sbin/sshd", "-De", "-o", "Port=1022"], 1000, True),
        (["/usr/sbin/sshd", "-De", "-f", "/home/mpi/.sshd_config"], 1000, False),
        (["sh", "-c", "exec /usr/sbin/sshd -De"], 1000, True),
        (["sleep", "infinity"], 1000, False),
    ],
)
def test_the_port_of_sshd(words: list[str], user: int, warned: bool) -> None:
    found = said(mpi({"command": words}, pod={"securityContext": {"runAsUser": user}}))
    assert ("TP077" in found) is warned


def test_a_capability_opens_the_port() -> None:
    context = {"runAsUser": 1000, "capabilities": {"add": ["NET_BIND_SERVICE"]}}
    assert "TP077" not in said(mpi({"command": ["/usr/sbin/sshd"], "securityContext": context}))


@pytest.mark.parametrize(
    ("policy", "gpus", "warned"),
    [
        ({"mpi": {"numProcPerNode": 4}}, 8, True),
        ({"mpi": {"numProcPerNode": 8}}, 8, False),
        ({"mpi": {"numProcPerNode": 1}}, 8, False),
        ({"mpi": {}}, 8, False),
        ({"torch": {"numProcPerNode": 4}}, 2, True),
        ({"torch": {"numProcPerNode": "4"}}, 4, False),
        ({"torch": {"numProcPerNode": "gpu"}}, 4, False),
        ({"torch": {"numProcPerNode": 4}}, 0, False),
    ],
)
def test_processes_and_gpus(policy: dict[str, Any], gpus: int, warned: bool) -> None:
    container = {"name": "node", "image": "a:1", "resources": {"limits": {"nvidia.com/gpu": gpus}} if gpus else {}}
    assert ("TP076" in said(runtime(policy, replicated("node", container, step="trainer")))) is warned


def pod(container: dict[str, Any], **spec: Any) -> dict[str, Any]:
    job = replicated("node", {"name": "node", "image": "a:1", **container}, step="trainer")
    job["template"]["spec"]["template"]["spec"].update(spec)
    return runtime({"torch": {}}, job)


def test_what_rdma_needs_is_information() -> None:
    raw = pod(
        {"securityContext": {"capabilities": {"add": ["IPC_LOCK"]}}},
        volumes=[{"name": "rdma", "hostPath": {"path": "/dev/infiniband"}}],
    )
    found = list(pods.runtime(raw))
    assert [(problem.rule.id, problem.severity) for problem in found] == [("TP079", Severity.INFO)] * 2
    assert all("privileged" in problem.todo for problem in found)


@pytest.mark.parametrize(
    ("container", "spec", "rule"),
    [
        ({"securityContext": {"privileged": True, "allowPrivilegeEscalation": True}}, {}, "TP080"),
        ({"securityContext": {"allowPrivilegeEscalation": True}}, {}, "TP082"),
        ({"securityContext": {"capabilities": {"add": ["SYS_PTRACE"]}}}, {}, "TP083"),
        ({}, {"hostNetwork": True}, "TP081"),
        ({}, {"hostPID": True}, "TP081"),
        ({}, {"volumes": [{"name": "a", "hostPath": {"path": "/data"}}]}, "TP078"),
    ],
)
def test_privileges_name_the_level_that_refuses_them(container: Any, spec: Any, rule: str) -> None:
    (problem,) = pods.runtime(pod(container, **spec))
    assert problem.rule.id == rule
    assert "baseline" in problem.what or "restricted" in problem.what


@pytest.mark.parametrize("context", [{"allowPrivilegeEscalation": False}, {"capabilities": {"add": ["CAP_CHOWN"]}}, {}])
def test_what_everybody_may_have_is_not_spoken_of(context: Any) -> None:
    assert said(pod({"securityContext": context}, hostNetwork=False)) == {}


@pytest.mark.parametrize(
    ("image", "floats"),
    [
        ("train", True),
        ("train:latest", True),
        ("registry.example.com:5000/train", True),
        ("registry.example.com:5000/train:2.8", False),
        ("train@sha256:0123", False),
        ("train:latest@sha256:0123", False),
    ],
)
def test_images_that_can_change(image: str, floats: bool) -> None:
    assert ("TP084" in said(pod({"image": image}))) is floats


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}, ["TP086"]),
        ({"requests": {"cpu": "1000m"}, "limits": {"cpu": 1}}, []),
        ({"requests": {"memory": "1Gi"}}, []),
        ({"requests": {"nvidia.com/gpu": 1}, "limits": {"nvidia.com/gpu": "1"}}, []),
        ({"requests": {"nvidia.com/gpu": 1}, "limits": {"nvidia.com/gpu": 2}}, ["TP085"]),
        ({"requests": {"nvidia.com/gpu": 1}}, ["TP092"]),
        ({"requests": {"hugepages-2Mi": "4Mi"}, "limits": {"hugepages-2Mi": "2Mi"}}, ["TP085"]),
        ({"requests": {"cpu": "lots"}, "limits": {"cpu": 1}}, []),
        ({"requests": [1], "limits": "x"}, []),
        (None, []),
    ],
)
def test_requests_and_limits(given: Any, found: list[str]) -> None:
    assert [problem.rule.id for problem in resources(given, ())] == found


@pytest.mark.parametrize(
    ("value", "warned"),
    [("eth0", False), ("ens3", True), ("^lo,docker0", False), ("=eth1", False), ("ib0,eth0", False)],
)
def test_interfaces(value: str, warned: bool) -> None:
    assert ("TP088" in said(pod({"env": [{"name": "NCCL_SOCKET_IFNAME", "value": value}]}))) is warned


@pytest.mark.parametrize("junk", [None, 1, "x", [], {}, {"a": 1}, 10**5000, True], ids=range(8))
def test_what_has_the_wrong_shape_is_left_to_the_schema(junk: Any) -> None:
    list(pods.runtime({"spec": junk}))
    list(
        pods.runtime(
            runtime({"mpi": {"numProcPerNode": junk, "sshAuthMountPath": junk}, "torch": {"numProcPerNode": junk}})
        )
    )
    list(pods.runtime(pod({"securityContext": junk, "env": [junk], "resources": junk, "image": junk}, volumes=[junk])))
    list(pods.runtime(pod({"command": [junk], "resources": {"requests": {"a/b": junk}}}, hostIPC=junk)))
