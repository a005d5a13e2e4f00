"""`trainplane reset`: it says what will go, asks, and takes nothing else."""

import os
import pty
import subprocess
import sys

import yaml

from tests.cli.clusters import Clusters, fetch
from tests.patience import PATIENCE
from trainplane.furniture import NAMESPACES


def test_it_names_what_will_go_and_asks(clusters: Clusters) -> None:
    clusters.up()
    clusters.run("token", "create", "alice")
    volumes = clusters.folder() / "volumes" / "default" / "weights"
    volumes.mkdir(parents=True)
    (volumes / "model.bin").write_bytes(b"x" * 5_000)
    (clusters.folder() / "jobs").mkdir()
    said = clusters.refusal("reset")
    assert f"process {clusters.processes[0]} on " in said
    assert f"{len(NAMESPACES)} namespaces" in said
    assert "the certificates and 1 token in " in said
    assert f"kept: {clusters.folder() / 'volumes'}, the folders behind claims (5.0 kB)" in said
    assert f"kept: {clusters.folder() / 'jobs'}, what jobs have left" in said
    assert "add --yes" in said
    assert clusters.state()["running"] is True
    assert fetch(clusters.target(), "/api/v1/namespaces/default")[0] == 200


def test_it_takes_all_but_what_lies_behind_claims(clusters: Clusters) -> None:
    clusters.up("--merge-kubeconfig")
    volumes = clusters.folder() / "volumes"
    volumes.mkdir()
    (volumes / "model.bin").write_bytes(b"x")
    said = clusters.run("reset", "--yes").stdout
    assert said == f"cluster trainplane is deleted; kept: {volumes}\n"
    assert [path.name for path in clusters.folder().iterdir()] == ["volumes"]
    assert not os.path.exists(f"/proc/{clusters.processes[0]}/fd/0")
    own = yaml.safe_load((clusters.home / ".kube" / "config").read_text())
    assert own["contexts"] == []
    clusters.up()
    assert (volumes / "model.bin").exists()
    clusters.run("reset", "--yes", "--volumes")
    assert not clusters.folder().exists()
    assert clusters.run("reset").stdout.startswith("already clean: there is no cluster trainplane")


def test_data_that_cannot_be_read_can_be_reset(clusters: Clusters) -> None:
    clusters.up()
    clusters.run("down")
    (clusters.folder() / "store" / "store.db").write_bytes(b"not a database" * 100)
    clusters.run("reset", "--yes")
    clusters.up()
    assert clusters.state()["problem"] is None


def test_who_says_no_at_the_terminal_keeps_everything(clusters: Clusters) -> None:
    clusters.up()
    ours, theirs = pty.openpty()
    try:
        with subprocess.Popen(
            [sys.executable, "-m", "trainplane", "reset"],
            env=clusters.environment,
            stdin=theirs,
            stderr=subprocess.PIPE,
        ) as process:
            os.write(ours, b"n\n")
            _, said = process.communicate(timeout=PATIENCE)
    finally:
        os.close(ours)
        os.close(theirs)
    assert b"Delete it? [y/N]" in said
    assert process.returncode == 130
    assert clusters.state()["running"] is True
