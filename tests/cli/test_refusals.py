"""What a machine or a file does not allow is refused in one sentence with cause and remedy, and an exit code."""

import json
import os
from pathlib import Path

import pytest

from tests.cli.clusters import Clusters
from tests.cli.test_doctor import without_namespaces


def test_a_runner_that_the_kernel_refuses_is_not_begun(clusters: Clusters) -> None:
    done = without_namespaces(clusters, "net", "up", "--detach", "--runner", "namespaced")
    assert done.returncode == 1
    (said,) = done.stderr.splitlines()
    assert said.startswith("Error: namespaces are refused (")
    assert "set the sysctl user.max_user_namespaces" in said
    assert not (clusters.folder() / "up.json").exists()


def test_where_pods_cannot_be_isolated_the_cluster_and_its_nodes_say_so(clusters: Clusters) -> None:
    done = without_namespaces(clusters, "net", "up", "--detach")
    assert done.returncode == 0, done.stderr
    assert "as plain processes, not isolated" in done.stderr
    node = json.loads(clusters.kubectl("get", "node", "node-0", "-o", "json"))
    said = {each["type"]: each for each in node["status"]["conditions"]}
    assert said["NetworkIsolation"]["status"] == "False"
    assert "for isolation run on Linux with user namespaces enabled" in said["NetworkIsolation"]["message"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root can read everything")
def test_a_script_that_cannot_be_read_is_named(clusters: Clusters) -> None:
    script = clusters.home / "train.py"
    script.touch(mode=0)
    clusters.up()
    assert clusters.refusal("run", "--runtime", "plain", str(script)).endswith("make it readable")


@pytest.mark.parametrize("what", ["a folder", "a link to nothing"])
def test_what_is_no_script_is_named(clusters: Clusters, what: str) -> None:
    script = Path(clusters.home / "train.py")
    if what == "a folder":
        script.mkdir()
    else:
        script.symlink_to("nowhere.py")
    clusters.up("--simulate")
    said = clusters.refusal("run", "--runtime", "plain", str(script))
    assert said == f"{script} {'is a folder' if what == 'a folder' else 'does not exist'}; name the script to run"
