"""`run`, `logs` and `exec` with real processes: what a script writes, how it ends, and what is said when it fails."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.clusters import Clusters, eventually
from tests.patience import PATIENCE

SCRIPT = """\
import os, pathlib, sys
rank = os.environ["JOB_COMPLETION_INDEX"]
print(f"rank {rank} says {sys.argv[1:]}", pathlib.Path("part.txt").read_text().strip())
pathlib.Path(os.environ["TRAINPLANE_OUTPUT"], f"out-{rank}").write_text(rank)
"""
FAILING = """\
import os, pathlib, time
there = pathlib.Path(os.environ["TRAINPLANE_OUTPUT"], "there")
if os.environ["JOB_COMPLETION_INDEX"] == "1":
    while not there.exists():
        time.sleep(0.05)
    import no_such_module
print("here", flush=True)
there.touch()
time.sleep(600)
"""


@pytest.fixture
def up(clusters: Clusters) -> Clusters:
    """A cluster with two nodes, on which pods are processes."""
    clusters.up("--nodes", "2")
    return clusters


def folder(clusters: Clusters, script: str) -> Path:
    place = clusters.home / "code"
    place.mkdir()
    (place / "train.py").write_text(script, encoding="utf-8")
    (place / "part.txt").write_text("shipped", encoding="utf-8")
    return place / "train.py"


def test_a_script_runs_with_its_folder_on_every_node_and_leaves_its_output(up: Clusters) -> None:
    script = folder(up, SCRIPT)
    done = up.run("run", "--runtime", "plain", "--nodes", "2", "--job-name", "digits", str(script), "--lr", "0.1")
    assert sorted(done.stdout.splitlines()) == [
        "node-0 | rank 0 says ['--lr', '0.1'] shipped",
        "node-1 | rank 1 says ['--lr', '0.1'] shipped",
    ]
    assert "2 files" in done.stderr
    assert "digits is complete" in done.stderr
    kept = up.folder() / "jobs" / "default" / "digits" / "output"
    assert f"what it kept: {kept} (out-0, out-1)" in done.stderr
    assert sorted(path.name for path in kept.iterdir()) == ["out-0", "out-1"]
    again = up.run("logs", "digits", "--rank", "1").stdout
    assert again == "node-1 | rank 1 says ['--lr', '0.1'] shipped\n"


def test_the_first_rank_that_fails_is_named_with_its_last_lines_and_what_to_do(up: Clusters) -> None:
    done = up.run("run", "--runtime", "plain", "--nodes", "2", "--job-name", "boom", str(folder(up, FAILING)), code=1)
    assert "boom failed: node-1 (pod boom-node-0-1-" in done.stderr
    assert "failed first: import error, exit code 1" in done.stderr
    assert "  ModuleNotFoundError: No module named 'no_such_module'" in done.stderr
    assert "what to do: install the package in the environment that the image stands for" in done.stderr
    told = up.kubectl(
        "get", "pods", "-o", "jsonpath={.items[*].status.conditions[?(@.type=='trainplane.dev/Failure')]}"
    )
    assert '"reason":"ImportError"' in told
    assert '"message":"import error, exit code 1"' in told
    assert "no_such_module" not in told
    events = ("get", "events", "--field-selector", "reason=TrainJobFailed")
    eventually(lambda: "failed first: import error, exit code 1" in up.kubectl(*events), "an event of that")
    assert "(import error, exit code 1) ended with exit code 1" in up.run("why", "boom").stdout
    eventually(lambda: up.kubectl("get", "pods", "-o", "name").count("boom-node-0-") == 1, "the other one is stopped")
    assert up.run("logs", "boom", "--rank", "0").stdout == "node-0 | here\n", "what it wrote is still told"
    assert up.run("logs", "boom", "--failed-first").stdout.splitlines()[-1] == "node-0 | here"


def test_ctrl_c_stops_the_job_and_leaves_nothing(up: Clusters) -> None:
    script = folder(up, "import time\nprint('here', flush=True)\ntime.sleep(600)\n")
    words = [sys.executable, "-m", "trainplane", "run", "--runtime", "plain", "--job-name", "long", str(script)]
    with subprocess.Popen(
        words, cwd=up.home, env=up.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "node-0 | here\n"
        running.send_signal(signal.SIGINT)
        assert running.wait(PATIENCE) == 130
    eventually(lambda: "No resources found" in up.kubectl("get", "pods,trainjobs"), "the end of the job and its pods")


def test_a_command_runs_beside_the_training(up: Clusters) -> None:
    script = folder(up, "import time\ntime.sleep(600)\n")
    name = up.run("run", "--runtime", "plain", "--job-name", "long", "--detach", str(script)).stdout.strip()
    up.run("wait", name, "--for", "Running", "--timeout", f"{PATIENCE / 2:.0f}s")
    done = up.run("exec", name, "--", "sh", "-c", "cat part.txt; exit 7", code=7)
    assert done.stdout == "shipped"
    assert up.run("exec", name, "echo", "-n", "one").stdout == "one"
    assert up.run("exec", name, "--rank", "0", "--", "echo", "--rank").stdout == "--rank\n"
    assert up.refusal("exec", name, "--rank", "3", "--", "true") == "job long has no pod at rank 3; there are 0"
    said = up.refusal("exec", "-c", "nope", name, "--", "true")
    assert said.endswith(" has no container nope; it has node")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nothing.py",), "nothing.py does not exist; name the script to run"),
        (("--runtime", "plian", "code/train.py"), "there is no runtime plian; did you mean plain?"),
        (("--runtime", "plain", "--elastic", "1:2", "code/train.py"), "runtime plain is not for torch"),
        (
            ("--runtime", "plain", "-n", "nope", "code/train.py"),
            "there is no namespace nope; create it with: trainplane kubectl ",
        ),
        (("-f", "none.yaml"), "none.yaml: No such file or directory; name a document that can be read"),
        (("-f", "code"), "code: not a regular file"),
    ],
)
def test_what_cannot_run_is_refused_in_a_sentence(up: Clusters, words: tuple[str, ...], said: str) -> None:
    folder(up, SCRIPT)
    last = up.refusal("run", *words).splitlines()[-1]
    assert last.removeprefix("Error: ").startswith(said)


def test_a_command_that_does_not_exist_is_told_by_the_job(up: Clusters) -> None:
    job = up.home / "job.yaml"
    job.write_text(
        "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: wrong}\n"
        "spec: {runtimeRef: {name: plain}, trainer: {command: [no-such-program]}}\n",
        encoding="utf-8",
    )
    done = up.run("run", "-f", str(job), code=None)
    assert done.returncode != 0
    assert "the command could not be started" in done.stderr
    assert "no-such-program" in done.stderr


DOCUMENT = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: greeting}
data: {word: hello}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: greets}
spec: {runtimeRef: {name: own}, trainer: {command: [sh, -c, "echo $WORD"]}}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: own, labels: {trainer.kubeflow.org/framework: plain}}
spec:
  mlPolicy: {numNodes: 1}
  template:
    spec:
      replicatedJobs:
        - name: node
          template:
            metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
            spec:
              template:
                spec:
                  containers:
                    - name: node
                      image: x
                      env: [{name: WORD, valueFrom: {configMapKeyRef: {name: greeting, key: word}}}]
"""


def test_a_document_is_run_with_all_that_is_in_it_and_again_when_its_job_is_gone(up: Clusters) -> None:
    (up.home / "job.yaml").write_text(DOCUMENT, encoding="utf-8")
    assert up.run("run", "-f", "job.yaml").stdout == "node-0 | hello\n"
    said = up.refusal("run", "-f", "job.yaml")
    assert said.startswith("there is a job greets already; delete it with: trainplane delete greets, or ")
    up.run("delete", "greets")
    (up.home / "job.yaml").write_text(DOCUMENT.replace("word: hello", "word: again"), encoding="utf-8")
    assert up.run("run", "-f", "job.yaml").stdout == "node-0 | again\n"


BROKEN = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: one}
spec: {runtimeRef: {name: plain}, trainer: {comand: [x], numNodes: two}}
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(
            BROKEN,
            [
                "job.yaml has 2 errors, and nothing was made:",
                "job.yaml:4:45: error TP010 spec.trainer.comand: spec.trainer has no field comand",
                "    did you mean command?",
                "job.yaml:4:58: error TP012 spec.trainer.numNodes: ",
            ],
            id="all problems at once",
        ),
        pytest.param(
            "kind: [",
            [
                "job.yaml has 1 error, and nothing was made:",
                "job.yaml:1:",
            ],
            id="no YAML",
        ),
        pytest.param(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
            ["job.yaml has 0 TrainJobs, and `run` watches one; add one, or create what is there with kubectl apply"],
            id="no job",
        ),
        pytest.param(
            DOCUMENT + "---\napiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a}\n",
            ["job.yaml: `run` does not know Widget of example.com/v1; create it with kubectl apply, "],
            id="a kind of others",
        ),
    ],
)
def test_a_document_that_cannot_run_is_refused_before_a_cluster_is_started(
    clusters: Clusters, text: str, said: list[str]
) -> None:
    (clusters.home / "job.yaml").write_text(text, encoding="utf-8")
    lines = clusters.refusal("run", "-f", "job.yaml").splitlines()
    for line, start in zip(lines, said, strict=False):
        assert line.startswith(start)
    assert len(lines) >= len(said)
    assert not clusters.folder().exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--cpus", "lots"), "'lots' is no amount, such as 2, 500m or 4Gi"),
        (("--memory", "0"), "'0' is nothing; leave it out, or ask for more"),
        (("--job-name", "Bad_Name"), "'Bad_Name' is no name for a job; use at most 63 lower-case letters"),
        (("--elastic", "4:1"), "'4:1' is not LEAST:MOST, such as 1:4"),
        (("--elastic", "1:4", "--nodes", "8"), "--nodes 8 is not within --elastic 1:4"),
        (("--env", "FOO"), "'FOO' is not NAME=VALUE"),
    ],
)
def test_options_that_mean_nothing_are_refused_before_a_cluster_is_started(
    clusters: Clusters, words: tuple[str, ...], said: str
) -> None:
    done = clusters.run("run", *words, str(folder(clusters, SCRIPT)), code=2)
    assert said in done.stderr
    assert not clusters.folder().exists()
