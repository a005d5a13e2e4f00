"""Commands that are shown can be pasted: they name the cluster, the file and the namespace that they are about."""

import re
import shlex
from pathlib import Path

import click
import pytest

from tests.why.worlds import CASES, read, world
from trainplane.cli.clusters import Cluster
from trainplane.cli.group import load
from trainplane.cli.server import Server
from trainplane.why.why import cause_of

DEFAULT = Server(Path("/home/kubeconfig"), cluster=Cluster("trainplane", Path("/home")))
LAB = Server(Path("/lab/kubeconfig"), cluster=Cluster("lab", Path("/lab")))
FOLDER = Server(Path("/d/kubeconfig"), cluster=Cluster("trainplane", Path("/d"), named_folder=True))
OTHER = Server(Path("my config"), "prod")
THEIRS = Server(None)
SHOWN = re.compile(r"trainplane (?:[^;),`]|,(?! ))+")


@pytest.mark.parametrize(
    ("server", "resume", "logs"),
    [
        pytest.param(DEFAULT, "trainplane resume", "trainplane kubectl logs", id="our own"),
        pytest.param(LAB, "trainplane resume --name lab", "trainplane kubectl --name lab logs", id="one of several"),
        pytest.param(FOLDER, "trainplane resume --data /d", "trainplane kubectl --data /d logs", id="in a folder"),
        pytest.param(
            OTHER,
            "trainplane resume --kubeconfig 'my config' --context prod",
            "kubectl --kubeconfig 'my config' --context prod logs",
            id="another's, by a file",
        ),
        pytest.param(THEIRS, "trainplane resume", "kubectl logs", id="another's, as kubectl finds it"),
    ],
)
def test_commands_in_a_sentence_are_for_the_server_that_was_asked(server: Server, resume: str, logs: str) -> None:
    said = "the job is suspended by kubectl-edit; trainplane resume job -n ns, or read (kubectl logs job-0 -n ns) first"
    assert server.retyped(said) == (
        f"the job is suspended by kubectl-edit; {resume} job -n ns, or read ({logs} job-0 -n ns) first"
    )


def test_a_cluster_of_ours_is_started_without_the_name_of_another() -> None:
    assert LAB.retyped("such as with trainplane up --nodes 4") == "such as with trainplane up --name lab --nodes 4"
    assert OTHER.retyped("such as with trainplane up --nodes 4") == "such as with trainplane up --nodes 4"


def test_what_was_asked_of_a_namespace_or_of_all_is_asked_there_again() -> None:
    team = Server(Path("k"), namespace="team", cluster=DEFAULT.cluster)
    assert team.command("why --all") == "trainplane why --all -n team"
    assert team.command("up") == "trainplane up", "a cluster is in no namespace"
    own = Server(Path("k"), namespace="default", cluster=DEFAULT.cluster)
    assert own.command("why --all") == "trainplane why --all", "ours is there anyway"
    other = Server(None, namespace="default")
    assert other.command("get jobs") == "trainplane get jobs -n default", "another context may be elsewhere"
    everywhere = Server(None, everywhere=True)
    assert everywhere.command("history") == "trainplane history -A"
    assert everywhere.command("why digits") == "trainplane why digits"


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.name)
def test_every_command_that_a_cause_advises_can_be_typed(case: Path) -> None:
    made = world(read(case / "in.yaml"))
    cause = cause_of(made.job, made.view, made.now)
    assert cause
    todo = LAB.retyped(cause.todo)
    assert todo.count("--name lab") == len(re.findall(r"(?:kubectl|trainplane) [a-z]", cause.todo))
    for shown in SHOWN.findall(todo):
        _, verb, *words = shlex.split(shown)
        with click.Context(load(verb)):
            load(verb).make_context(verb, words)
