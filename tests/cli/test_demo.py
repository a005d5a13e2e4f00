"""`demo` says before it starts anything that it cannot train, and a demo that fails leaves with the job's code."""

from pathlib import Path

import pytest

from tests.cli.clusters import Clusters


def environment(folder: Path, python: str) -> Path:
    """A folder that passes for a virtual environment, with a Python that does as the script says."""
    (folder / "bin").mkdir(parents=True)
    program = folder / "bin" / "python"
    program.write_text(f"#!/bin/sh\n{python}\n", encoding="utf-8")
    program.chmod(0o755)
    program.with_name("python3").symlink_to(program.name)
    return folder


@pytest.mark.parametrize(
    ("python", "said"),
    [
        ("exit 1", " has no torch; install it there: "),
        (None, " is no virtual environment: it has no bin/python; name another one"),
    ],
)
def test_without_torch_nothing_is_started(clusters: Clusters, python: str | None, said: str) -> None:
    place = clusters.home / "env"
    if python:
        environment(place, python)
    assert said in clusters.refusal("demo", "--environment", str(place))
    assert not clusters.folder("demo").exists()


def test_a_demo_that_fails_says_so_and_leaves_nothing_running(clusters: Clusters) -> None:
    # It has torch, as it says, and nothing that could train.
    place = environment(
        clusters.home / "env", 'case "$2" in *find_spec*) exit 0;; esac; echo "it cannot train"; exit 5'
    )
    done = clusters.run("demo", "--environment", str(place), code=5)
    assert "it cannot train" in done.stdout
    assert "failed first: exit code 5" in done.stderr
    assert "3. The cluster is stopped, and nothing of it runs any more." in done.stderr
    assert "Next:" not in done.stderr
    assert clusters.state("--name", "demo")["running"] is False
