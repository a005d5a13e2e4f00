"""`trainplane status` and `down`: what runs, what is there, and that nothing else is ever stopped."""

import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from datetime import datetime

from tests.cli.clusters import Clusters, fetch
from tests.patience import PATIENCE
from trainplane.furniture import NAMESPACES


def test_status_tells_what_runs_and_what_it_holds(clusters: Clusters) -> None:
    assert "there is no cluster trainplane" in clusters.refusal("status")
    clusters.up()
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "research"}}
    _, made = fetch(clusters.target(), "/api/v1/namespaces", body=body)
    state = json.loads(clusters.run("status", "-o", "json").stdout)
    assert state["running"] is True
    assert state["pid"] == clusters.processes[0]
    assert state["server"] == clusters.target().server
    assert state["objects"]["namespaces"] == len(NAMESPACES) + 1
    assert state["revision"] >= int(made["metadata"]["resourceVersion"])
    assert state["bytes"] > 50_000
    assert state["problem"] is None
    ends = {word: datetime.fromisoformat(end) for word, end in state["certificates"].items()}
    assert ends["authority"] > ends["serving"] > datetime.fromisoformat(state["since"])
    said = clusters.run("status").stdout
    assert said.startswith(f"cluster trainplane is running at {state['server']}: process {state['pid']} for ")
    assert f"       {len(NAMESPACES) + 1}    namespaces\n" in said


def test_status_of_a_stopped_cluster_is_told_by_its_exit_code(clusters: Clusters) -> None:
    clusters.up()
    running = clusters.state()
    clusters.run("down")
    done = clusters.run("status", "-o", "json", code=1)
    stopped = json.loads(done.stdout)
    assert stopped.keys() == running.keys()
    assert (stopped["running"], stopped["pid"], stopped["server"]) == (False, None, None)
    assert stopped["objects"] == running["objects"]
    assert clusters.run("status", code=1).stdout.startswith(
        "cluster trainplane is stopped; start it with: trainplane up\n"
    )


def test_a_cluster_that_does_not_answer_is_said_to_be_so(clusters: Clusters) -> None:
    clusters.up()
    os.kill(clusters.processes[0], signal.SIGSTOP)
    try:
        state = clusters.state()
    finally:
        os.kill(clusters.processes[0], signal.SIGCONT)
    assert state["running"] is True
    assert "does not answer" in state["problem"]


def test_whoever_talks_nonsense_at_the_door_harms_nobody(clusters: Clusters) -> None:
    clusters.up()
    folder = os.open(clusters.folder(), os.O_PATH)
    try:
        for words in (b"", b"\n", b"open!\n", b"[1]\n", b'{"restore": 5}\n', b"x" * 200_000 + b"\n"):
            with socket.socket(socket.AF_UNIX) as visitor:
                visitor.settimeout(PATIENCE)
                # The address of a socket has room for about a hundred characters, and test folders are deep.
                visitor.connect(f"/proc/self/fd/{folder}/door")
                with suppress(BrokenPipeError, ConnectionResetError):
                    visitor.sendall(words)
                    visitor.shutdown(socket.SHUT_WR)
                    assert visitor.recv(100) == b""
    finally:
        os.close(folder)
    assert clusters.state()["problem"] is None
    assert "Traceback" not in (clusters.folder() / "log").read_text()


def test_down_returns_when_all_has_stopped(clusters: Clusters) -> None:
    clusters.up()
    pid = clusters.processes[0]
    assert clusters.run("down").stdout.startswith("cluster trainplane is stopped; trainplane up starts it again")
    assert not os.path.exists(f"/proc/{pid}") or b"Z" in _state(pid)
    assert clusters.run("down").stdout == "already clean: cluster trainplane is not running\n"


def _state(pid: int) -> bytes:
    with open(f"/proc/{pid}/stat", "rb") as file:
        return file.read().rpartition(b")")[2].split()[0]


def test_down_leaves_a_process_alone_that_only_has_the_same_number(clusters: Clusters) -> None:
    clusters.up()
    clusters.run("down")
    lock = clusters.folder() / "store" / "lock"
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as other:
        try:
            lock.write_text(
                json.dumps({"pid": other.pid, "host": socket.gethostname(), "since": "2026-01-01T00:00:00+00:00"})
            )
            assert clusters.run("down").stdout == "already clean: cluster trainplane is not running\n"
            assert clusters.state()["running"] is False
            assert other.poll() is None
        finally:
            other.kill()


def test_down_does_not_end_a_program_that_embeds_a_cluster(clusters: Clusters) -> None:
    program = (
        "import asyncio, sys\nfrom pathlib import Path\nfrom trainplane.embed import Config, embed\n"
        "async def ready(cluster): print('ready', flush=True)\n"
        "asyncio.run(embed(Config(Path(sys.argv[1])), ready=ready))\n"
    )
    words = [sys.executable, "-c", program, str(clusters.folder())]
    with subprocess.Popen(words, env=clusters.environment, stdout=subprocess.PIPE, text=True) as other:
        try:
            assert other.stdout
            assert other.stdout.readline() == "ready\n"
            said = clusters.refusal("down")
            assert f"trainplane is in use by process {other.pid} on " in clusters.refusal("up")
            assert f"is kept by process {other.pid} on " in said
            assert "which `up` did not start, or which is still starting; end that program, or repeat" in said
            assert other.poll() is None
        finally:
            other.kill()
