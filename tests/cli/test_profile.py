"""`profile` on real processes: the rank that is asked for, and a sentence where there is nothing to see."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.clusters import Clusters, eventually

# Two ranks in one pod, as torchrun starts them, each busy in a function of its own.
SCRIPT = """\
import os, subprocess, sys, time

def busy_as_0(until):
    while time.time() < until:
        sum(range(1000))

def busy_as_1(until):
    while time.time() < until:
        sum(range(1000))

if "RANK" in os.environ:
    open(f"{os.environ['TRAINPLANE_OUTPUT']}/rank-{os.environ['RANK']}", "w").close()
    globals()[f"busy_as_{os.environ['RANK']}"](time.time() + 600)
else:
    words = [sys.executable, __file__]
    for each in [subprocess.Popen(words, env={**os.environ, "RANK": str(rank)}) for rank in range(2)]:
        each.wait()
"""
ANNOTATION = "ome.io/profiling-enabled=true"


def started(clusters: Clusters, name: str, *words: str) -> None:
    """A job of this name, both of whose ranks run."""
    script = clusters.home / "code" / "train.py"
    script.parent.mkdir(exist_ok=True)
    script.write_text(SCRIPT, encoding="utf-8")
    clusters.run("run", "--runtime", "plain", "--job-name", name, "--detach", *words, str(script))
    output = clusters.folder() / "jobs" / "default" / name / "output"
    eventually(lambda: all((output / f"rank-{rank}").exists() for rank in range(2)), "the start of both ranks")


@pytest.mark.parametrize("runner", ["auto", "process"])
def test_the_flame_graph_is_that_of_the_rank(clusters: Clusters, runner: str) -> None:
    if shutil.which("py-spy", path=str(Path(sys.executable).parent)) is None:
        pytest.skip("needs py-spy in this environment: pip install py-spy")
    clusters.up("--runner", runner)
    started(clusters, "busy")
    assert clusters.refusal("profile", "busy") == (
        "profiling is not enabled for job busy; whoever may change it enables it with: "
        f"trainplane kubectl annotate trainjob busy -n default {ANNOTATION}"
    )
    clusters.kubectl("annotate", "trainjob", "busy", ANNOTATION)
    done = clusters.run("profile", "busy", "--rank", "1", "--seconds", "1")
    assert done.stdout == "busy-rank-1.svg\n"
    graph = (clusters.home / "busy-rank-1.svg").read_text(encoding="utf-8")
    assert graph.startswith("<?xml")
    assert "busy_as_1" in graph
    assert "busy_as_0" not in graph
    assert clusters.refusal("profile", "busy", "--rank", "7") == (
        "job busy runs no Python process of rank 7 that can be looked into; there are 0, 1"
    )
    assert clusters.refusal("profile", "busy", "--file", "nowhere/a.svg").startswith("nowhere is not a folder")


def test_an_environment_without_py_spy_is_named(clusters: Clusters, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    clusters.up("--image", f"bare/*={bare}")
    started(clusters, "plain", "--image", "bare/x")
    clusters.kubectl("annotate", "trainjob", "plain", ANNOTATION)
    said = clusters.refusal("profile", "plain", "--seconds", "1").splitlines()[-1]
    assert "py-spy is not in the environment of pod plain-node-0-0-" in said
    assert said.endswith("install it there: pip install py-spy")


def test_a_job_that_does_not_run_has_nothing_to_see(clusters: Clusters) -> None:
    clusters.up("--nodes", "0")
    assert clusters.refusal("profile", "nothing").startswith("there is no job nothing in namespace default")
