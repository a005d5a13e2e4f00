"""`trainplane up`: what it prints and writes, how it stops, and each way in which it cannot start."""

import os
import signal
import socket
import sqlite3
import stat
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

from tests.cli.clusters import Clusters, eventually, fetch, need_kubectl
from tests.patience import PATIENCE


@pytest.mark.parametrize(
    ("word", "code"),
    [
        pytest.param(signal.SIGINT, 130, id="Ctrl-C"),
        pytest.param(signal.SIGTERM, 0, id="SIGTERM"),
        pytest.param(signal.SIGHUP, 0, id="the terminal closes"),
    ],
)
def test_it_serves_until_it_is_told_to_stop(clusters: Clusters, word: signal.Signals, code: int) -> None:
    with clusters.foreground("up") as process:
        assert process.stdout
        line = process.stdout.readline()
        assert line == f"export KUBECONFIG={clusters.folder() / 'kubeconfig'}\n"
        assert fetch(clusters.target(), "/api/v1/namespaces/default")[0] == 200
        process.send_signal(word)
        rest, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == code
    assert rest == ""
    assert said.splitlines()[-2:] == ["stopping", f"stopped; the data stays in {clusters.folder()}"]
    assert not (clusters.folder() / "door").exists()
    assert clusters.state()["running"] is False


def test_it_stops_where_nobody_reads_what_it_says(clusters: Clusters) -> None:
    with clusters.foreground("up") as process:
        assert process.stdout
        process.stdout.close()
        assert process.wait(PATIENCE) == 141
    assert clusters.state()["running"] is False


def test_it_says_what_is_served_what_is_not_and_what_to_do_next(clusters: Clusters) -> None:
    done = clusters.up("--nodes", "0")
    first, *rest = done.stderr.splitlines()
    server = clusters.state()["server"]
    assert first.startswith(f"cluster trainplane is ready at {server} (")
    assert first.endswith(" s); stop it with trainplane down")
    words = [line.split()[0] for line in rest]
    assert words[0] == "serves"
    assert words[-1] == "next"
    assert set(words[1:-1]) == {"skipped"}
    assert " kinds of " in rest[0]


def test_nobody_else_can_read_what_it_writes(clusters: Clusters) -> None:
    clusters.up()
    folder = clusters.folder()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for name in ("kubeconfig", "log", "port", "up.json", "door", "store/store.db", "pki/ca.pem", "pki/admin.pem"):
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600, name


def test_the_line_to_paste_works_as_it_is(clusters: Clusters) -> None:
    kubectl = need_kubectl()
    clusters.home = clusters.home / "a folder with a space"
    clusters.home.mkdir()
    line = clusters.up().stdout
    done = subprocess.run(
        ["/bin/sh", "-c", f"{line}\n{kubectl} get namespace default -o name"],
        env=clusters.environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("namespace/default\n", "")


def test_a_second_start_says_who_has_it_and_how_to_stop_it(clusters: Clusters) -> None:
    clusters.up("--name", "one")
    state = clusters.state("--name", "one")
    for words in (("up",), ("up", "--detach")):
        assert clusters.refusal(*words, "--name", "one") == (
            f"cluster one is running already: process {state['pid']} on {socket.gethostname()} since {state['since']} "
            f"at {state['server']}; stop it with: trainplane down --name one"
        )


def test_two_clusters_live_side_by_side(clusters: Clusters) -> None:
    clusters.up("--name", "one")
    clusters.up("--name", "two")
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "research"}}
    assert fetch(clusters.target("one"), "/api/v1/namespaces", body=body)[0] == 201
    assert fetch(clusters.target("two"), "/api/v1/namespaces/research")[0] == 404
    clusters.run("down", "--name", "one")
    assert clusters.state("--name", "one")["running"] is False
    assert clusters.state("--name", "two")["running"] is True


def test_a_folder_can_be_named_and_stays_named_in_what_to_paste(clusters: Clusters) -> None:
    done = clusters.up("--data", "here")
    folder = clusters.home / "here"
    assert done.stdout == f"export KUBECONFIG={folder / 'kubeconfig'}\n"
    assert f"stop it with trainplane down --data {folder}" in done.stderr
    assert clusters.run("down", "--data", "here").returncode == 0


def test_a_folder_with_other_things_is_left_alone(clusters: Clusters) -> None:
    folder = clusters.home / "letters"
    folder.mkdir(mode=0o755)
    (folder / "dear.txt").write_text("me")
    assert clusters.refusal("up", "--data", "letters") == (
        f"{folder} has other things in it, such as dear.txt; name a folder that is empty or new"
    )
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755
    assert [path.name for path in folder.iterdir()] == ["dear.txt"]


def _quiet_port() -> int:
    """A free port that the kernel gives to nobody of itself, so that nobody takes it between two steps of a test."""
    first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    for port in range(first - 1 - os.getpid() % 10_000, 1024, -1):
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    pytest.skip("needs a port below those that the kernel gives to any program")


def test_a_port_that_is_taken_is_named(clusters: Clusters) -> None:
    with socket.create_server(("127.0.0.1", _quiet_port())) as taken:
        port = str(taken.getsockname()[1])
        for words in (("up",), ("up", "--detach")):
            assert clusters.refusal(*words, "--port", port) == (
                f"port {port} is taken by another program; give another --port, or none to have any free one"
            )
    clusters.up("--port", port)
    assert clusters.state()["server"] == f"https://127.0.0.1:{port}"


def test_it_is_found_at_the_same_port_again_unless_another_has_it(clusters: Clusters) -> None:
    clusters.up("--port", str(_quiet_port()))
    server = clusters.state()["server"]
    clusters.run("down")
    clusters.up()
    assert clusters.state()["server"] == server
    clusters.run("down")
    port = server.rpartition(":")[2]
    with socket.create_server(("127.0.0.1", int(port))):
        said = clusters.up().stderr
    assert f"skipped  port {port}, that of last time: another program has it" in said
    assert fetch(clusters.target(), "/api/v1/namespaces/default")[0] == 200


def _damage(file: Path) -> None:
    with file.open("r+b") as stream:
        stream.write(b"not a database at all")


def _make_newer(file: Path) -> None:
    with sqlite3.connect(file) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()


@pytest.mark.parametrize(
    ("harm", "sentence"),
    [
        pytest.param(_damage, "store.db is damaged (file is not a database); restore a backup, or", id="damaged"),
        pytest.param(_make_newer, "store.db has version 99, and this Trainplane knows up to ", id="newer"),
    ],
)
@pytest.mark.parametrize("words", [("up",), ("up", "--detach")], ids=["foreground", "background"])
def test_data_that_cannot_be_used_is_one_sentence(
    clusters: Clusters, harm: object, sentence: str, words: tuple[str, ...]
) -> None:
    clusters.up()
    clusters.run("down")
    assert callable(harm)
    harm(clusters.folder() / "store" / "store.db")
    said = clusters.refusal(*words)
    assert sentence in said
    assert said.count("\n") == 0
    assert clusters.state()["problem"] == said


def test_what_was_confirmed_survives_a_kill(clusters: Clusters) -> None:
    clusters.up()
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept"}, "data": {"a": "b"}}
    code, made = fetch(clusters.target(), "/api/v1/namespaces/default/configmaps", body=body)
    assert code == 201
    pid = clusters.state()["pid"]
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: clusters.state()["running"] is False, "the end of the process")
    assert clusters.run("down").stdout == "already clean: cluster trainplane is not running\n"
    clusters.up()
    assert fetch(clusters.target(), "/api/v1/namespaces/default/configmaps/kept") == (200, made)


def _child(process: "subprocess.Popen[str]") -> int:
    """The process that `up --detach` has started, once it has left its parent's session."""
    found: list[int] = []

    def is_there() -> bool:
        words = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        found[:] = [int(word) for word in words if os.getsid(int(word)) == int(word)]
        return bool(found)

    eventually(is_there, "the start of a process in the background")
    return found[0]


def _never_ready(clusters: Clusters) -> None:
    """Have the next start wait for its last port for ever: nobody writes into that pipe."""
    clusters.folder().mkdir(parents=True)
    os.mkfifo(clusters.folder() / "port")


def test_the_end_of_a_process_in_the_background_is_reported(clusters: Clusters) -> None:
    _never_ready(clusters)
    with clusters.foreground("up", "--detach") as process:
        os.kill(_child(process), signal.SIGKILL)
        out, said = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (1, "")
    assert said == (
        f"Error: cluster trainplane ended with signal 9 before it was ready; the log is {clusters.folder() / 'log'}\n"
    )


def test_ctrl_c_before_it_is_ready_leaves_nothing_behind(clusters: Clusters) -> None:
    _never_ready(clusters)
    with clusters.foreground("up", "--detach") as process:
        child = _child(process)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (130, "")
    assert not Path(f"/proc/{child}").exists()


def test_the_users_own_kubeconfig_is_touched_only_when_asked(clusters: Clusters) -> None:
    own = clusters.home / ".kube" / "config"
    clusters.up("--name", "quiet")
    assert not own.exists()
    own.parent.mkdir()
    own.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: work\n"
        "clusters: [{name: work, cluster: {server: https://work.example}}]\n"
        "users: [{name: work, user: {token: secret}}]\n"
        "contexts: [{name: work, context: {cluster: work, user: work}}]\n"
    )
    clusters.up("--name", "loud", "--merge-kubeconfig")
    merged = yaml.safe_load(own.read_text())
    assert merged["current-context"] == "work"
    assert [each["name"] for each in merged["contexts"]] == ["work", "loud"]
    assert merged["users"][0]["user"] == {"token": "secret"}


def test_a_context_of_somebody_elses_is_not_overwritten(clusters: Clusters) -> None:
    own = clusters.home / "mine"
    text = "apiVersion: v1\nkind: Config\nclusters: [{name: trainplane, cluster: {server: https://other.example}}]\n"
    own.write_text(text)
    said = clusters.up("--merge-kubeconfig", KUBECONFIG=str(own)).stderr
    assert f"skipped  your own kubeconfig: {own}: clusters: 'trainplane' is there already" in said
    assert own.read_text() == text


def test_kubeconfig_prints_the_path_and_nothing_else(clusters: Clusters) -> None:
    said = clusters.refusal("kubeconfig")
    assert said == f"there is no cluster trainplane in {clusters.folder()}; start it with: trainplane up"
    clusters.up()
    done = clusters.run("kubeconfig")
    assert (done.stdout, done.stderr) == (f"{clusters.folder() / 'kubeconfig'}\n", "")


def test_kubeconfig_merges_and_says_where(clusters: Clusters) -> None:
    clusters.up()
    own = clusters.home / "mine"
    done = clusters.run("kubeconfig", "--merge", "--use", KUBECONFIG=str(own))
    assert done.stdout == f"{own}\n"
    assert yaml.safe_load(own.read_text()) == yaml.safe_load((clusters.folder() / "kubeconfig").read_text())
    assert stat.S_IMODE(own.stat().st_mode) == 0o600
    assert "--use goes with --merge" in clusters.run("kubeconfig", "--use", code=2).stderr


def test_names_that_are_no_names_are_refused(clusters: Clusters) -> None:
    done = clusters.run("up", "--name", "../other", code=2)
    assert "lower-case letters, digits and '-'" in done.stderr
