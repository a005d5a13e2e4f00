"""Clients that we did not write, unmodified and each in an environment of its own, against an embedded cluster."""

import fcntl
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.cluster.kubectls import Cluster
from tools.environments import NotMade, environment

HERE = Path(__file__).parent
CLIENTS = ("kubernetes", "kubeflow")


def stories(name: str) -> list[str]:
    """The stories of a client, in order: those that its file plays at its end."""
    played = (HERE / f"{name}_stories.py").read_text(encoding="utf-8").rpartition("\nplay(")[2]
    return re.findall(r"^    (\w+),$", played, re.MULTILINE)


def told(name: str, folder: Path) -> dict[str, str]:
    """What came of a client's stories: nothing, or a traceback; under "" why there are none."""
    try:
        python = environment(name) / "bin" / "python"
    except NotMade as error:
        return {"": str(error)}
    with Cluster(folder / "cluster", nodes=2) as cluster:
        environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "KUBECONFIG": str(cluster.kubeconfig)}
        done = subprocess.run(
            [python, HERE / f"{name}_stories.py"], env=environ, capture_output=True, text=True, timeout=600, check=False
        )
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> dict[str, dict[str, str]]:
    """What came of the stories, by client; they are played once, however many workers there are."""
    mine = tmp_path_factory.getbasetemp()
    place = mine if worker_id == "master" else mine.parent
    found: dict[str, dict[str, str]] = {}
    for name in CLIENTS:
        file = place / f"{name}-stories.json"
        with (place / f"{name}-stories.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not file.exists():
                file.write_text(json.dumps(told(name, tmp_path_factory.mktemp(name))))
        found[name] = json.loads(file.read_text())
    return found


@pytest.mark.parametrize(("name", "story"), [(name, story) for name in CLIENTS for story in stories(name)])
def test_a_story(outcomes: dict[str, dict[str, str]], name: str, story: str) -> None:
    if "" in outcomes[name]:
        pytest.skip(f"needs the package {name} in an environment of its own: {outcomes[name]['']}")
    if outcomes[name][story]:
        pytest.fail(outcomes[name][story], pytrace=False)
