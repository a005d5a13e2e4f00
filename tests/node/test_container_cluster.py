"""A whole cluster whose pods an engine runs: a job whose pods talk, and what is left after `kill -9`."""

import os
import signal
from pathlib import Path

from tests.cli.clusters import Clusters, eventually
from tests.node.engines import Engine, root_folder
from trainplane.node.engine import CLUSTER
from trainplane.node.namespaced.leftovers import label

JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: NAME}
spec:
  runtimeRef: {name: plain}
  trainer:
    numNodes: 2
    image: example.test/root:1
    command: [sh, -c]
    args:
    - |
      cd /workspace; echo $JOB_COMPLETION_INDEX > me
      (httpd -f -p 8000 &)
      for i in 0 1; do
        until wget -q -Y off -O- http://NAME-node-0-$i.NAME:8000/me; do sleep 0.2; done
      done > $TRAINPLANE_OUTPUT/heard-$JOB_COMPLETION_INDEX
      touch $TRAINPLANE_OUTPUT/has-$JOB_COMPLETION_INDEX
      until test -e $TRAINPLANE_OUTPUT/has-0 && test -e $TRAINPLANE_OUTPUT/has-1; do sleep 0.2; done
      sleep SECONDS
"""


def test_a_job_runs_and_what_a_killed_cluster_left_is_ended_by_down(
    clusters: Clusters, engine: Engine, tmp_path: Path
) -> None:
    root = root_folder(tmp_path / "root")
    up = ["--runner", "container", "--engine", engine.name, "--nodes", "2", "--image", f"example.test/*={root}"]
    said = clusters.up(*up, **engine.extra).stderr
    assert f"in containers of {engine.name}" in said
    job, jobs = tmp_path / "job.yaml", clusters.folder() / "jobs" / "default"
    mark = f"{CLUSTER}={label(clusters.folder() / 'node' / 'namespaced')}"

    job.write_text(JOB.replace("SECONDS", "0").replace("NAME", "short"))
    clusters.run("run", "-f", str(job), **engine.extra)
    assert [(jobs / f"short/output/heard-{i}").read_text().split() for i in (0, 1)] == [["0", "1"], ["0", "1"]]

    job.write_text(JOB.replace("SECONDS", "600").replace("NAME", "long"))
    with clusters.foreground("run", "-f", str(job), **engine.extra):
        eventually(lambda: all((jobs / f"long/output/has-{i}").exists() for i in (0, 1)), "both heard")
        os.kill(clusters.processes[-1], signal.SIGKILL)
    assert engine.containers(mark)
    assert clusters.run("down", **engine.extra).stdout.endswith("it had left 2 pods running, now ended\n")
    assert not engine.containers(mark)
    assert clusters.run("down", **engine.extra).stdout == "already clean: cluster trainplane is not running\n"


def test_an_engine_goes_with_containers_alone(clusters: Clusters) -> None:
    said = clusters.run("up", "--engine", "docker", code=2).stderr
    assert "--engine goes with --runner container" in said


def test_doctor_tries_each_engine(clusters: Clusters, engine: Engine) -> None:
    said = clusters.run("doctor", code=None, **engine.extra).stdout
    (line,) = (line for line in said.splitlines() if f"real images with {engine.name}" in line)
    assert f"choose it with --runner container --engine {engine.name}" in line
