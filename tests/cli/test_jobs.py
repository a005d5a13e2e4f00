"""The verbs about jobs, against a cluster of simulated nodes: what people see, and what scripts can rely on."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from tests.cli.clusters import Clusters, eventually, fetch
from tests.patience import PATIENCE
from trainplane.api.raw import put
from trainplane.cli.group import command

Raw = dict[str, Any]
RUNTIMES = "/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes"
JOBS = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/{}/trainjobs"
SIMULATE = "simulate.trainplane.dev/"
LONG = f"{PATIENCE:.0f}s"


class Town(Clusters):
    """A home whose verbs run in this process: a new one for each of a hundred would take minutes."""

    def run(self, *words: str, code: int | None = 0, **extra: str) -> subprocess.CompletedProcess[str]:
        if words[0] in ("up", "down"):
            return super().run(*words, code=code, **extra)
        own = {key: self.environment[key] for key in ("HOME", "XDG_STATE_HOME")}
        done = CliRunner().invoke(command, words, prog_name="trainplane", env={"KUBECONFIG": None, **own, **extra})
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert code is None or done.exit_code == code, (
            f"{words} left with {done.exit_code}:\n{done.stdout}{done.stderr}"
        )
        return subprocess.CompletedProcess(words, done.exit_code, done.stdout, done.stderr)


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clusters]:
    """A cluster with two simulated nodes of four CPUs, for all tests here: each uses names of its own."""
    found = Town(tmp_path_factory.mktemp("town"), tmp_path_factory.getbasetemp().parent / "compiled")
    try:
        found.up("--nodes", "2", "--simulate", "--node-cpu", "4")
        yield found
    finally:
        found.end()


@pytest.fixture
def empty(town: Clusters) -> Iterator[Clusters]:
    """The same cluster with no job and no pod in it, before and after."""
    emptied(town)
    yield town
    emptied(town)


def emptied(town: Clusters) -> None:
    """Delete all jobs; their pods go a moment after them."""
    town.run("delete", "--all", "--yes")
    eventually(lambda: town.run("get", "pods", "-o", "name").stdout == "", "the end of all pods")


def job(name: str, *, cpu: str = "1", nodes: int = 2, runtime: str = "torch-distributed", **script: str) -> Raw:
    """A TrainJob whose pods do as the script says."""
    annotations = {f"{SIMULATE}{key.replace('_', '-')}": value for key, value in script.items()}
    metadata = {"metadata": {"annotations": annotations}}
    jobs = [{"name": "node", "template": {"spec": {"template": metadata}}}]
    patch = {"manager": "example.com/test", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": jobs}}}}
    trainer = {"numNodes": nodes, "image": "example.com/i:1", "resourcesPerNode": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name},
        "spec": {"runtimeRef": {"name": runtime}, "trainer": trainer, "runtimePatches": [patch]},
    }


def late(name: str) -> Raw:
    """A TrainJob that fails after a second."""
    return put(job(name, seconds="600"), ("spec", "activeDeadlineSeconds"), 1)


def send(town: Clusters, *jobs: Raw, namespace: str = "default") -> None:
    for one in jobs:
        code, said = fetch(town.target(), JOBS.format(namespace), body=one)
        assert code == 201, said


def rows(page: str) -> dict[str, list[str]]:
    """The rows of a table by their first cell; every cell is one word."""
    head, *lines = page.splitlines()
    found = {line.split()[0]: line.split() for line in lines}
    assert all(len(cells) == len(head.split()) for cells in found.values()), page
    return found


def full(town: Clusters) -> None:
    """One job that holds all, two that wait for it, and one that never fits."""
    send(town, job("busy", cpu="3", seconds="600"))
    town.run("wait", "busy", "--for", "Running", "--timeout", LONG)
    send(town, job("next", cpu="3", seconds="60"), job("huge", cpu="12"))
    eventually(lambda: town.run("why", "--all").stdout.count("Gang") == 2, "both say what they wait for")


def test_nothing_to_show_says_so_and_what_to_do_next(empty: Clusters) -> None:
    for words, said in (
        (("get",), "there are no jobs in namespace default; send one with: trainplane kubectl apply -f job.yaml"),
        (("get", "pods"), "there are no pods in namespace default; jobs make them"),
        (
            ("why", "--all"),
            "there are no jobs in namespace default; send one with: trainplane kubectl apply -f job.yaml",
        ),
        (("top",), "no job holds anything in namespace default; see what there is: trainplane get jobs"),
        (("events", "-n", "kube-public"), "there are no events in namespace kube-public from the last hour"),
        (("history", "-n", "kube-public"), "no job has ended yet in namespace kube-public"),
        (("get", "-n", "kube-public"), "send one with: trainplane kubectl apply -n kube-public -f job.yaml"),
        (
            ("get", "-l", "team=a"),
            "there are no jobs with team=a in namespace default; see all of them: trainplane get",
        ),
    ):
        done = empty.run(*words)
        assert said in done.stdout + done.stderr, words
        assert "NAME" not in done.stdout
    assert empty.run("get", "-o", "name").stdout == ""
    assert empty.run("get", "queues", "-o", "name").stdout == "queue.scheduling.volcano.sh/default\n"
    assert json.loads(empty.run("get", "-o", "json").stdout)["items"] == []


@pytest.mark.parametrize("verb", [("get",), ("get", "pods"), ("why", "--all"), ("top",), ("events",), ("history",)])
def test_a_namespace_that_is_not_there_gets_the_nearest(town: Clusters, verb: tuple[str, ...]) -> None:
    assert town.refusal(*verb, "-n", "kube-pubic") == "there is no namespace kube-pubic; did you mean kube-public?"
    assert town.refusal(*verb, "-n", "xyz") == (
        "there is no namespace xyz; create it with: trainplane kubectl create namespace xyz"
    )


def test_pods_of_a_job_that_is_not_there_are_not_only_none(town: Clusters) -> None:
    assert town.refusal("get", "pods", "--job", "xyz") == (
        "there is no job xyz in namespace default; see what there is: trainplane get jobs"
    )


def test_names_are_there_for_every_table(empty: Clusters) -> None:
    full(empty)
    jobs = {f"trainjob.trainer.kubeflow.org/{name}" for name in ("next", "huge")}
    assert set(empty.run("why", "--all", "-o", "name").stdout.split()) == jobs
    assert empty.run("why", "busy", "-o", "name").stdout == "", "nothing is in its way"
    assert empty.run("top", "-o", "name").stdout == "trainjob.trainer.kubeflow.org/busy\n"
    assert empty.run("top", "nodes", "-o", "name").stdout.split() == ["node/node-0", "node/node-1"]


def test_waiting_jobs_have_a_place_in_line_and_a_start(empty: Clusters) -> None:
    full(empty)
    found = rows(empty.run("get").stdout)
    assert list(found) == ["busy", *sorted(found.keys() - {"busy"}, key=lambda name: found[name][4])]
    assert found["busy"][1:6] == ["Running", "2", "torch-distributed", "-", "-"]
    assert sorted(found[name][4] for name in ("next", "huge")) == ["1/2", "2/2"]
    assert re.fullmatch(r"[5-9]m(\d+s)?|10m", found["next"][5]), "in ten minutes, less what has passed"
    assert found["huge"][5] == "-", "nobody can tell when room comes that never does"
    wide = empty.run("get", "jobs", "-o", "wide").stdout
    assert "and the largest of 2 nodes has 4 CPU" in wide
    queues = rows(empty.run("get", "queues").stdout)
    assert queues["default"][3:6] == ["2", "1", "6"]
    nodes = rows(empty.run("get", "nodes").stdout)
    assert {name: cells[1:3] for name, cells in nodes.items()} == {f"node-{i}": ["Ready", "3/4"] for i in range(2)}
    assert rows(empty.run("get", "runtimes").stdout)["torch-distributed"][4] == "3"
    pods = rows(empty.run("get", "pods", "--job", "busy").stdout)
    assert [cells[1:5] for cells in pods.values()] == [["busy", "node", str(i), "Running"] for i in range(2)]


def test_why_names_the_cause_since_when_and_the_way_out(empty: Clusters) -> None:
    full(empty)
    said = empty.run("why", "huge").stdout.splitlines()
    assert said[0] == "huge waits: one pod of stage node asks for 12 CPU, and the largest of 2 nodes has 4 CPU"
    assert said[-1].split("  ", 2)[2].strip().startswith("ask for at most 4 CPU per node")
    told = json.loads(empty.run("why", "next", "-o", "json").stdout)
    assert told["cause"] == "GangWaiting"
    assert told["judgedBy"] == ["the lengths of simulated pods"]
    assert told["queue"]["of"] == 2
    assert told["expectedStart"] > told["since"]
    assert empty.run("why", "busy").stdout == "busy is running, and nothing is in its way\n"
    table = rows("\n".join(" ".join(line.split()[:4]) for line in empty.run("why", "--all").stdout.splitlines()))
    assert {name: cells[3] for name, cells in table.items()} == {"huge": "GangTooLarge", "next": "GangWaiting"}
    assert "name a job, or ask for --all" in empty.run("why", code=2).stderr


def test_what_may_not_be_seen_is_left_out_and_said(empty: Clusters) -> None:
    full(empty)
    token = empty.run("token", "create", "guest", "--group", "trainplane.dev:viewers").stdout.strip()
    own = yaml.safe_load((empty.folder() / "kubeconfig").read_text())
    own["users"][0]["user"] = {"token": token}
    path = empty.home / "guest"
    path.write_text(yaml.safe_dump(own))
    done = empty.run("why", "huge", "--kubeconfig", str(path))
    assert done.stdout.startswith("huge waits: ")
    assert "note: you may not list" in done.stderr
    assert "nodes" in done.stderr.partition("note: ")[2]
    done = empty.run("get", "--kubeconfig", str(path))
    assert {rows(done.stdout)[name][4] for name in ("next", "huge")} == {"1/2", "2/2"}, (
        "pods may be seen, and so the line"
    )
    assert rows(done.stdout)["next"][5] == "-", "without nodes nobody can tell when"
    assert "note: without the right to list" in done.stderr
    done = empty.run("suspend", "huge", "--kubeconfig", str(path), code=1)
    assert "trainjobs.trainer.kubeflow.org" in done.stderr
    assert "is forbidden" in done.stderr
    assert "ask whoever runs the cluster for that right" in done.stderr


def test_describe_is_a_page_about_a_job(empty: Clusters) -> None:
    full(empty)
    eventually(lambda: "FailedScheduling" in empty.run("describe", "next").stdout, "an event of that")
    page = empty.run("describe", "next").stdout
    assert page.startswith("next waits: ")
    for words in ("queue ", "starts ", "runtime ", "torch-distributed (ClusterTrainingRuntime)", "cpu 3 a node"):
        assert words in page
    assert re.search(r"\nPods\n  NAME +STAGE +RANK +STATUS", page)
    assert "FailedScheduling" in page.partition("\nEvents\n")[2]
    found = json.loads(empty.run("describe", "next", "-o", "json").stdout)
    assert found["job"]["metadata"]["name"] == found["why"]["name"] == "next"
    assert [pod["node"] for pod in found["pods"]] == [None, None]
    assert empty.run("describe", "node", "node-0").stdout.startswith("Node node-0\n  status   Ready\n")
    assert "weight   1\n" in empty.run("describe", "queues", "default").stdout


def test_a_name_that_is_not_there_gets_the_nearest(empty: Clusters) -> None:
    send(empty, job("digits", seconds="600"))
    for verb in ("describe", "why", "suspend", "wait", "events"):
        assert empty.refusal(verb, "digts") == "there is no job digts in namespace default; did you mean digits?"
    assert empty.refusal("get", "jobs", "zzz") == (
        "there is no job zzz in namespace default; see what there is: trainplane get jobs"
    )
    assert "there is no node node-9; did you mean node-" in empty.refusal("get", "nodes", "node-9")
    assert "there is no sort of object 'jbos'; did you mean 'jobs'?" in empty.run("get", "jbos", code=2).stderr
    assert "trainplane get jobs digits" in empty.run("get", "digits", code=2).stderr
    assert "see what there is: trainplane get jobs -n kube-public" in empty.refusal("why", "a", "-n", "kube-public")


def test_suspend_frees_what_a_job_holds_and_resume_brings_it_back(empty: Clusters) -> None:
    full(empty)
    assert empty.run("suspend", "busy").stdout == ("busy is suspended; let it go on with: trainplane resume busy\n")
    assert "busy is suspended already" in empty.run("suspend", "busy").stdout
    empty.run("wait", "next", "--for", "Running", "--timeout", LONG)
    assert "busy is suspended" in empty.run("why", "busy").stdout
    assert empty.run("resume", "busy").stdout.startswith("busy is resumed; ")
    assert "busy is not suspended" in empty.run("resume", "busy").stdout
    empty.run("wait", "busy", "--for", "Pending", "--timeout", LONG)


def test_only_elastic_jobs_are_scaled_and_within_their_bounds(empty: Clusters) -> None:
    send(empty, job("fixed", seconds="600"), job("elastic", runtime="torch-elastic", seconds="600"))
    assert "fixed cannot have 3 nodes: the number of nodes cannot change after creation" in empty.refusal(
        "scale", "fixed", "--nodes", "3"
    )
    empty.run("wait", "elastic", "--for", "Running", "--timeout", LONG)
    assert empty.run("scale", "elastic", "--nodes", "3").stdout == "elastic: 2 → 3 nodes\n"
    assert empty.run("scale", "elastic", "--nodes", "3").stdout == "elastic has 3 nodes already\n"
    eventually(lambda: empty.run("get", "pods", "--job", "elastic").stdout.count("Running") == 3, "a third pod")
    assert "elastic cannot have 99 nodes: " in empty.refusal("scale", "elastic", "--nodes", "99")


def test_wait_tells_by_its_exit_code(empty: Clusters) -> None:
    send(empty, job("good", seconds="1"), late("bad"))
    send(empty, job("endless", seconds="600"))
    done = empty.run("wait", "good", "--timeout", LONG)
    assert done.stderr.splitlines()[-1].startswith("good is Complete: the job has completed")
    assert done.stdout == ""
    done = empty.run("wait", "bad", "--timeout", LONG, code=1)
    assert done.stderr.splitlines()[-1] == "Error: bad will not be Complete any more; trainplane why bad says more"
    assert empty.run("wait", "bad", "--for", "condition=Failed").returncode == 0
    assert empty.run("wait", "bad", "good", "--for", "finished", "-q").stderr == ""
    assert empty.run("wait", "endless", "bad", "--timeout", LONG, "-q", code=1).stderr == "", "one is enough"
    done = empty.run("wait", "endless", "--timeout", "1s", code=124)
    assert done.stderr.splitlines()[-1] == "Error: not Complete within 1s; see why: trainplane why endless"
    done = empty.run("wait", "endless", "--for", "delete", "--timeout", "1s", code=124)
    assert done.stderr.splitlines()[-1] == "Error: not deleted within 1s; see why: trainplane why endless"
    assert empty.run("wait", "nobody", "--for", "delete").returncode == 0
    assert (
        "there is no state to wait for 'Runing'; did you mean 'Running'?"
        in empty.run("wait", "good", "--for", "Runing", code=2).stderr
    )
    assert empty.run("why", "bad").stdout.startswith("bad was stopped after 1 s, which is its spec")


def test_wait_sees_a_job_go(empty: Clusters) -> None:
    send(empty, job("gone", seconds="600"))
    with empty.foreground("wait", "gone", "--for", "delete") as waiter:
        assert waiter.stderr
        assert waiter.stderr.readline().startswith("gone is ")
        assert empty.run("delete", "gone").stdout == "gone is deleted\n"
        assert waiter.wait(PATIENCE) == 0
    send(empty, job("lost", seconds="600"))
    with empty.foreground("wait", "lost") as waiter:
        assert waiter.stderr
        assert waiter.stderr.readline().startswith("lost is ")
        empty.run("delete", "lost")
        assert waiter.wait(PATIENCE) == 1


def test_history_outlives_its_jobs(empty: Clusters) -> None:
    send(empty, job("short", seconds="2"), late("fell"))
    empty.run("wait", "short", "fell", "--for", "finished", "--timeout", LONG)
    empty.run("delete", "short", "fell")
    found = rows(empty.run("history").stdout)
    assert found["short"][1:4] == ["Complete", "2", "torch-distributed"]
    kept = json.loads(empty.run("history", "short", "-o", "json").stdout)["items"]
    assert kept[0]["kind"] == "TrainJobRecord"
    ran = kept[0]["spec"]["runSeconds"]
    assert 1 <= ran < 60, "about two: both ends of it are cut to whole seconds, and a busy machine sees the end late"
    assert found["short"][5] == f"{ran}s"
    used = float(found["short"][6].removesuffix("CPU-h"))
    assert 2 * 1 / 3600 - 1e-4 <= used <= 2 * (ran + 2) / 3600, "two pods of one CPU for as long as it ran"
    assert found["fell"][1] == "Failed"
    assert list(rows(empty.run("history", "--failed", "fell").stdout)) == ["fell"]
    assert re.fullmatch(
        r"job short is gone: it completed at \S+; see trainplane history short -o wide", empty.refusal("why", "short")
    )
    assert "no job that has ended" in empty.run("history", "nobody").stderr
    assert "'soon' is not a time" in empty.run("history", "--since", "soon", code=2).stderr


def test_objects_come_in_kubectls_forms(empty: Clusters) -> None:
    send(empty, job("digits", seconds="600"))
    assert empty.run("get", "jobs", "-o", "name").stdout == "trainjob.trainer.kubeflow.org/digits\n"
    one = json.loads(empty.run("get", "jobs", "digits", "-o", "json").stdout)
    assert one["metadata"]["name"] == "digits"
    assert "managedFields" not in one["metadata"]
    many = yaml.safe_load(empty.run("get", "jobs", "-o", "yaml").stdout)
    assert (many["kind"], [raw["metadata"]["name"] for raw in many["items"]]) == ("List", ["digits"])
    assert set(json.loads(empty.run("top", "nodes", "-o", "json").stdout)[0]) == {
        "namespace", "name", "state", "held", "allocatable", "used", "places",
    }  # fmt: skip


def test_namespaces_are_told_apart_and_shown_together(empty: Clusters) -> None:
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}
    fetch(empty.target(), "/api/v1/namespaces", body=body)
    send(empty, job("ours", seconds="600"))
    send(empty, job("theirs", seconds="600"), namespace="team")
    assert list(rows(empty.run("get").stdout)) == ["ours"]
    assert list(rows(empty.run("get", "-n", "team").stdout)) == ["theirs"]
    assert {cells[1] for cells in map(str.split, empty.run("get", "-A").stdout.splitlines()[1:])} == {"ours", "theirs"}
    assert "give one of the two" in empty.run("get", "-A", "-n", "team", code=2).stderr
    assert empty.run("suspend", "theirs", "-n", "team").stdout.endswith("trainplane resume theirs -n team\n")
    empty.run("delete", "theirs", "-n", "team")


def test_a_queue_counts_those_who_wait_for_its_limit(empty: Clusters) -> None:
    metadata = {"name": "small"}
    body = {"weight": 1, "capability": {"cpu": "2"}}
    queue = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": metadata, "spec": body}
    assert fetch(empty.target(), "/apis/scheduling.volcano.sh/v1beta1/queues", body=queue)[0] == 201
    _, plain = fetch(empty.target(), f"{RUNTIMES}/torch-distributed")
    named = {"annotations": {"scheduling.volcano.sh/queue-name": "small"}}
    template = {**plain["spec"]["template"], "metadata": named}
    spec = {**plain["spec"], "podGroupPolicy": {"volcano": {}}, "template": template}
    runtime = {**plain, "metadata": {"name": "queued", "labels": plain["metadata"]["labels"]}, "spec": spec}
    assert fetch(empty.target(), RUNTIMES, body=runtime)[0] == 201
    send(empty, job("one", runtime="queued", seconds="600"))
    empty.run("wait", "one", "--for", "Running", "--timeout", LONG)
    send(empty, job("two", runtime="queued", seconds="600"))
    empty.run("wait", "two", "--for", "Pending", "--timeout", LONG)
    eventually(
        lambda: rows(empty.run("get", "queues").stdout)["small"][3:5] == ["1", "1"], "one that runs and one that waits"
    )


def test_watching_prints_what_changes(empty: Clusters) -> None:
    send(empty, job("first", seconds="600"))
    empty.run("wait", "first", "--for", "Running", "--timeout", LONG)
    with empty.foreground("get", "-w") as watcher:
        assert watcher.stdout
        assert watcher.stdout.readline().split() == ["NAME", "STATE", "NODES", "RUNTIME", "QUEUE", "STARTS", "AGE"]
        assert watcher.stdout.readline().split()[:2] == ["first", "Running"]
        empty.run("suspend", "first")
        while (state := watcher.stdout.readline().split()[:2]) == ["first", "Running"]:
            pass
        assert state == ["first", "Suspended"]
        watcher.send_signal(signal.SIGINT)
        assert watcher.wait(PATIENCE) == 130
        assert watcher.stderr
        assert "Traceback" not in watcher.stderr.read()
    with empty.foreground("get", "-w", "-o", "name") as watcher:
        assert watcher.stdout
        assert watcher.stdout.readline() == "trainjob.trainer.kubeflow.org/first\n"
        send(empty, job("second", seconds="600"))
        assert "trainjob.trainer.kubeflow.org/second\n" in watcher.stdout
        watcher.send_signal(signal.SIGINT)
    with empty.foreground("events", "first", "-w", "-o", "yaml") as watcher:
        assert watcher.stdout
        assert watcher.stdout.readline() == "apiVersion: events.k8s.io/v1\n"
        assert "---\n" in watcher.stdout
        watcher.send_signal(signal.SIGINT)
    with empty.foreground("events", "first", "-w") as watcher:
        assert watcher.stdout
        assert watcher.stdout.readline().split()[0] == "SEEN"
        empty.run("resume", "first")
        assert any("Resumed" in line for line in watcher.stdout)


def test_delete_asks_before_it_deletes_all(empty: Clusters) -> None:
    send(empty, job("done", seconds="0"), job("runs", seconds="600"))
    empty.run("wait", "done", "--timeout", LONG)
    assert "running ones among them: done, runs" in empty.refusal("delete", "--all")
    assert empty.run("delete", "--finished").stdout == "done is deleted\n"
    assert empty.run("delete", "--finished").stdout == "there are no finished jobs to delete\n"
    assert "name jobs, or ask for --finished or --all" in empty.run("delete", code=2).stderr
    done = empty.run("delete", "nobody", "runs", code=1)
    assert done.stdout == "runs is deleted\n", "one that is not there keeps nobody else"
    assert "there is no job nobody" in done.stderr


def test_another_cluster_is_found_by_its_kubeconfig(town: Clusters, tmp_path: Path) -> None:
    stranger = Town(tmp_path, town.compiled)
    assert "there is no cluster trainplane in " in stranger.refusal("get")
    path = str(town.folder() / "kubeconfig")
    assert "node-0" in stranger.run("get", "nodes", "--kubeconfig", path).stdout
    assert "node-0" in stranger.run("get", "nodes", KUBECONFIG=path).stdout
    assert "has no 'nowhere'" in stranger.refusal("get", "nodes", "--context", "nowhere", KUBECONFIG=path)
    assert "need no --kubeconfig" in stranger.run("get", "--name", "x", "--kubeconfig", path, code=2).stderr


def test_a_cluster_that_is_stopped_or_does_not_answer_is_said_to_be_so(clusters: Clusters) -> None:
    clusters.up()
    clusters.run("down")
    assert clusters.refusal("get") == (
        "cluster trainplane is stopped; start it with: trainplane up, or name another with --kubeconfig or --context"
    )
    path = clusters.folder() / "kubeconfig"
    said = clusters.refusal("get", "--kubeconfig", str(path))
    assert clusters.target().server in said
    assert "\n" not in said


def test_a_terminal_gets_lines_that_fit(town: Clusters) -> None:
    program = "import pty, sys; sys.exit(pty.spawn([sys.executable, '-m', 'trainplane', 'get', 'runtimes']) >> 8)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**town.environment, "COLUMNS": "50", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
        stdin=subprocess.DEVNULL,
    )
    lines = [line.rstrip("\r") for line in done.stdout.splitlines() if line.strip()]
    assert max(map(len, lines)) <= 50
    assert any("…" in line for line in lines)
