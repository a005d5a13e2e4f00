"""`doctor` on this machine, and on one that refuses namespaces; `doctor network` on a cluster of real pods."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.clusters import Clusters, eventually
from tests.patience import PATIENCE


def without_namespaces(clusters: Clusters, kind: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a verb where the kernel allows no namespaces of a kind: as root of a user namespace that has no more."""
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-Ur", "true"], capture_output=True, check=False).returncode:
        pytest.skip("user namespaces are refused here, so that none can be made which has fewer of them")
    line = f'echo 0 > /proc/sys/user/max_{kind}_namespaces && exec "$@"'
    return subprocess.run(
        [unshare, "-Ur", "sh", "-c", line, "sh", sys.executable, "-m", "trainplane", *words],
        cwd=clusters.home,
        env=clusters.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def test_the_machine_is_tried_and_every_gap_has_a_way_out(clusters: Clusters) -> None:
    done = clusters.run("doctor", "-o", "json", code=None)
    said = json.loads(done.stdout)
    found = {each["name"]: each for each in said["findings"]}
    assert done.returncode == (0 if said["healthy"] else 1)
    assert said["healthy"] == (said["runner"] == "namespaced")
    assert str(clusters.folder()) in found["data folder"]["what"]
    assert found["python"]["what"].startswith(sys.version.split()[0])
    assert all(each["todo"] for each in said["findings"] if each["weight"] == "needed" and not each["found"])
    assert not clusters.folder().exists()


@pytest.mark.parametrize("kind", ["net", "pid", "mnt"])
def test_a_kernel_that_allows_none_is_named_with_the_setting(clusters: Clusters, kind: str) -> None:
    done = without_namespaces(clusters, kind, "doctor")
    assert done.returncode == 1, done.stderr
    words = {"net": "network", "pid": "process", "mnt": "mount"}
    lines = done.stdout.splitlines()
    (at,) = [i for i, line in enumerate(lines) if f"{words[kind]} namespaces" in line and "  no " in line]
    assert "to get it: the kernel allows none: set the sysctl user.max_user_namespaces" in lines[at + 1]
    assert lines[-1] == (
        f"missing: {words[kind]} namespaces, isolated pods; "
        "pods would run as plain processes that see each other and your files"
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root can write everywhere")
def test_a_folder_that_cannot_be_written_is_named(clusters: Clusters) -> None:
    closed = clusters.home / "closed"
    closed.mkdir(mode=0o500)
    assert f"{closed} cannot be written" in clusters.run("doctor", "--data", str(closed / "data"), code=1).stdout


def test_a_folder_that_is_a_file_is_named(clusters: Clusters, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    done = clusters.run("doctor", "--data", str(file / "data"), code=1)
    assert f"{file} cannot be written" in done.stdout


def test_pods_of_every_node_measure_each_other_and_are_removed(clusters: Clusters) -> None:
    clusters.up("--nodes", "2")
    ssh = ["--ssh"] if shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin") else []
    done = clusters.run("doctor", "network", "--nodes", "2", "--seconds", "0.1", *ssh, "-o", "json")
    said = json.loads(done.stdout)
    assert said["healthy"]
    assert sorted(each["node"] for each in said["nodes"]) == ["node-0", "node-1"]
    assert [(link["from"], link["to"]) for link in said["links"]] == [(0, 1), (1, 0)]
    assert all(link["bytesPerSecond"] > 0 and link["dnsSeconds"] > 0 for link in said["links"])
    assert all((link["sshSeconds"] is not None) == bool(ssh) for link in said["links"])
    left = ("get", "jobsets,pods,secrets,configmaps", "-l", "!kubernetes.io/config", "-o", "name")
    eventually(lambda: "doctor-network" not in clusters.kubectl(*left), "the removal of all that was made")


def test_who_cannot_take_part_is_named_with_the_cause(clusters: Clusters, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    clusters.up("--nodes", "2", "--image", f"empty/*={tmp_path / 'empty'}")
    too_many = clusters.refusal("doctor", "network", "--nodes", "5")
    assert too_many.startswith("the cluster has 2 nodes that take pods, and 5 are asked for; start it again with:")
    done = clusters.run("doctor", "network", "--image", "empty/x", "--wait", "1", code=1)
    assert "#0 (node-" in done.stdout
    assert "said nothing: StartError: 'python3' cannot be run" in done.stdout


def test_ctrl_c_removes_the_pods_too(clusters: Clusters) -> None:
    clusters.up("--nodes", "2")
    words = [sys.executable, "-m", "trainplane", "doctor", "network", "--seconds", "30"]
    with subprocess.Popen(
        words, cwd=clusters.home, env=clusters.environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as measuring:
        assert measuring.stderr is not None
        assert "measure the network" in measuring.stderr.readline()
        measuring.send_signal(signal.SIGINT)
        assert measuring.wait(PATIENCE) == 130
        assert "Traceback" not in measuring.stderr.read()
    eventually(lambda: "No resources" in clusters.kubectl("get", "jobsets,pods"), "the removal of the pods")


def test_simulated_nodes_have_no_network(clusters: Clusters) -> None:
    clusters.up("--nodes", "2", "--simulate")
    said = clusters.refusal("doctor", "network", "--nodes", "2")
    assert said.startswith("the nodes of this cluster are simulated and have no network; start one with nodes that run")
