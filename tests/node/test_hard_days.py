"""What goes wrong on hard days is told in one sentence, cause and way out: by `run`, by `why` and in an event."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.clusters import Clusters
from tests.node.faults import until
from tests.patience import PATIENCE

RUN = [sys.executable, "-m", "trainplane", "run", "-f"]
FILL = "file = open('{}', 'wb', buffering=0)\nwhile True: file.write(bytes(1 << 16))"


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clusters]:
    """A cluster with two nodes."""
    made = Clusters(tmp_path_factory.mktemp("days"), tmp_path_factory.getbasetemp().parent / "compiled")
    try:
        made.up("--nodes", "2")
        yield made
    finally:
        made.end()


def job(clusters: Clusters, name: str, *command: str, pod: Any = None, container: Any = None, **spec: Any) -> str:
    """A document with a job of one node, and what is patched into its pod; returns its path.

    What no patch may say is said by a `runtime` of its own.
    """
    named = with_pod(clusters, f"{name}-runtime", spec.pop("runtime")) if "runtime" in spec else "plain"
    patch = {"containers": [{"name": "node", **container}]} if container else {}
    replicated = [{"name": "node", "template": {"spec": {"template": {"spec": {**(pod or {}), **patch}}}}}]
    patches = [
        {
            "manager": "tests.example/days",
            "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": replicated}}},
        }
    ]
    trainer = {"command": list(command), **spec.pop("trainer", {})}
    body = {"runtimeRef": {"name": named}, "trainer": trainer, **spec}
    if pod or container:
        body["runtimePatches"] = patches
    file = clusters.home / f"{name}.yaml"
    document = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name},
        "spec": body,
    }
    file.write_text(yaml.safe_dump(document))
    return str(file)


def with_pod(clusters: Clusters, name: str, pod: Any) -> str:
    """Make a runtime as `plain` is, with more in its pod; returns its name."""
    plain = json.loads(clusters.kubectl("get", "clustertrainingruntime", "plain", "-o", "json"))
    plain["metadata"] = {"name": name, "labels": plain["metadata"].get("labels") or {}}
    plain["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"].update(pod)
    file = clusters.home / f"{name}.yaml"
    file.write_text(yaml.safe_dump(plain))
    clusters.kubectl("apply", "-f", str(file))
    return name


def python(code: str) -> tuple[str, ...]:
    return ("python3", "-c", code)


SCRATCH = {"volumes": [{"name": "scratch", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}]}
MOUNT = {"volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}]}
SMALL = {"resourcesPerNode": {"limits": {"memory": "100Mi"}, "requests": {"memory": "100Mi"}}}
CASES = [
    pytest.param(
        python("data = [bytearray(16 << 20) for _ in range(64)]"),
        {"trainer": SMALL},
        137,
        "failed first: out of memory, signal 9",
        "give the job more memory",
        id="memory",
    ),
    pytest.param(
        python(FILL.format("/scratch/checkpoint")),
        {"pod": SCRATCH, "container": MOUNT},
        1,
        "failed first: disk full, exit code 1",
        "make room on the disk, or give the job a larger volume",
        id="volume",
    ),
    pytest.param(
        python("import socket; socket.create_connection(('no-such-pod.no-such-service', 80))"),
        {},
        1,
        "failed first: a host's name was not found, exit code 1",
        "correct the name, or see what pods can reach: trainplane doctor network",
        id="name",
    ),
    pytest.param(
        python("import socket; socket.getaddrinfo('node-0', 80)"),
        {"runtime": {"dnsPolicy": "None", "dnsConfig": {"nameservers": ["10.244.255.254"]}}},
        1,
        "failed first: a host's name was not found, exit code 1",
        "correct the name, or see what pods can reach: trainplane doctor network",
        id="dns",
    ),
    pytest.param(
        python("import socket; one = socket.create_server(('', 8000)); two = socket.create_server(('', 8000))"),
        {},
        1,
        "failed first: port in use, exit code 1",
        "choose another port, or end what listens there",
        id="port",
    ),
    pytest.param(
        ("no-such-program",),
        {},
        128,
        "failed first: the command could not be started, exit code 128",
        "correct the command, or map the image to an environment that has it",
        id="program",
    ),
    pytest.param(
        ("sleep", "600"),
        {"activeDeadlineSeconds": 3},
        1,
        "the job was stopped after 3 s, which is its spec.activeDeadlineSeconds",
        "create it again with a larger activeDeadlineSeconds, or without one",
        id="hang",
    ),
]


@pytest.mark.parametrize(("command", "spec", "code", "cause", "remedy"), CASES)
def test_a_job_that_fails_says_why_and_what_to_do(
    clusters: Clusters,
    request: pytest.FixtureRequest,
    command: tuple[str, ...],
    spec: Any,
    code: int,
    cause: str,
    remedy: str,
) -> None:
    name = f"day-{request.node.callspec.id}"
    done = clusters.run("run", "-f", job(clusters, name, *command, **spec), code=None)
    assert "Traceback" not in done.stderr.partition(f"{name} failed:")[0]
    (said,) = (line for line in done.stderr.splitlines() if line.startswith(f"{name} failed: "))
    assert cause in said
    assert remedy in done.stderr
    assert done.returncode == code
    why = clusters.run("why", name).stdout
    beginnings = {"memory": "has failed: the container node of the pod ", "hang": "was stopped after 3 s"}
    assert why.startswith(f"{name} {beginnings.get(request.node.callspec.id, 'failed because the pod ')}")
    assert "\n  do " in why

    def is_told() -> bool:
        events = json.loads(clusters.kubectl("get", "events", "-o", "json"))["items"]
        ours = [each for each in events if each["involvedObject"]["name"] == name and each["type"] == "Warning"]
        told = [each["message"] for each in ours]
        return any(cause in each and remedy in each for each in told)

    until(is_told, "an event with the cause and the remedy")


@pytest.mark.parametrize(
    ("name", "pod", "container", "cause", "remedy"),
    [
        (
            "no-claim",
            {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "no-such-claim"}}]},
            {"volumeMounts": [{"name": "data", "mountPath": "/data"}]},
            "the volume claim no-such-claim, which the pods of stage node mount, is not there",
            "create the PersistentVolumeClaim no-such-claim in default",
        ),
        (
            "no-map",
            {"volumes": [{"name": "data", "configMap": {"name": "no-such-map"}}]},
            {"volumeMounts": [{"name": "data", "mountPath": "/data"}]},
            "no-such-map",
            "create",
        ),
    ],
)
def test_a_missing_volume_is_named_while_the_job_waits(
    clusters: Clusters, name: str, pod: Any, container: Any, cause: str, remedy: str
) -> None:
    file = job(clusters, name, "true", pod=pod, container=container)
    with subprocess.Popen(
        [*RUN, file],
        cwd=clusters.home,
        env=clusters.environment,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        try:
            assert running.stderr
            said = next(line for line in running.stderr if cause in line)
            assert remedy in said
            why = clusters.run("why", name).stdout
            assert cause in why
            assert remedy in why
            running.send_signal(signal.SIGINT)
            assert running.wait(PATIENCE) == 130
        finally:
            running.kill()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: a small disk is mounted")
def test_a_job_that_fills_the_disk_of_its_cluster_costs_the_cluster_nothing(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    clusters = Clusters(tmp_path, tmp_path_factory.getbasetemp().parent / "compiled")
    state = tmp_path / "state"
    state.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(state)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"needs a disk of its own: {done.stderr.strip()}")
    try:
        clusters.up("--nodes", "1")
        code = "import os; " + FILL.format("{}").replace("'{}'", "os.environ['TRAINPLANE_OUTPUT'] + '/checkpoint'")
        with subprocess.Popen(
            [*RUN, job(clusters, "full", *python(code))],
            cwd=tmp_path,
            env=clusters.environment,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        ) as running:
            try:
                until(lambda: os.statvfs(state).f_bavail == 0, "the disk is full")
                (tmp_path / "much").write_bytes(bytes(500_000))
                refused = clusters.kubectl("create", "configmap", "one", "--from-file", "much", code=1)
                assert "the disk is full, so nothing was written; make room and repeat" in refused
                assert "full" in clusters.kubectl("get", "trainjobs")
                (clusters.folder() / "jobs" / "default" / "full" / "output" / "checkpoint").unlink()
                said = running.communicate(timeout=PATIENCE)[1]
            finally:
                running.kill()
        assert "failed first: disk full, exit code 1" in said
        assert "what to do: make room on the disk" in said
        assert running.returncode == 1
    finally:
        clusters.end()
        subprocess.run(["umount", "-l", str(state)], check=False)
