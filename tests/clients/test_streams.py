"""Streams of real pods by clients that we did not write: the kubernetes client's own, and the kubeflow SDK's logs."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.clusters import Clusters
from tools.environments import NotMade, environment

HERE = Path(__file__).parent


@pytest.fixture
def clusters(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clusters]:
    """A cluster with two nodes, on which pods are processes."""
    made = Clusters(tmp_path, tmp_path_factory.getbasetemp().parent / "compiled")
    try:
        made.up("--nodes", "2")
        yield made
    finally:
        made.end()


@pytest.mark.parametrize("client", ["kubernetes", "kubeflow"])
def test_pods_are_talked_to(clusters: Clusters, client: str) -> None:
    try:
        python = environment(client) / "bin" / "python"
    except NotMade as error:
        pytest.skip(f"needs the package {client} in an environment of its own: {error}")
    kubeconfig = str(clusters.folder() / "kubeconfig")
    environ = {"PATH": os.environ["PATH"], "HOME": str(clusters.home), "KUBECONFIG": kubeconfig}
    done = subprocess.run(
        [python, HERE / "stream_stories.py"], env=environ, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    failed = {name: told for name, told in json.loads(done.stdout.splitlines()[-1]).items() if told}
    assert not failed, "\n".join(failed.values())
