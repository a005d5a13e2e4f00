"""Logs, exec, attach, cp and port-forward of real pods, with the kubectl of today and one of five versions ago."""

import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.cli.clusters import Clusters
from tests.node.terminals import Terminal, kubectl_of
from tests.patience import PATIENCE

LIMIT = f"--timeout={PATIENCE / 2:.0f}s"
PODS = """
apiVersion: v1
kind: Pod
metadata: {name: talk, labels: {app: talk}}
spec:
  restartPolicy: Never
  containers:
  - {name: c, image: x, command: [sh, -c, "for i in 1 2 3 4 5; do echo line $i; done; exec sleep 600"]}
---
apiVersion: v1
kind: Pod
metadata: {name: two, labels: {app: talk}}
spec:
  restartPolicy: Never
  initContainers:
  - {name: first, image: x, command: [echo, of first]}
  containers:
  - {name: a, image: x, command: [sh, -c, echo of a; exec sleep 600]}
  - {name: b, image: x, command: [sh, -c, echo of b; exec sleep 600]}
---
apiVersion: v1
kind: Pod
metadata: {name: again}
spec:
  restartPolicy: OnFailure
  containers:
  - name: c
    image: x
    command:
    - sh
    - -c
    - cd $TRAINPLANE_OUTPUT; if test -d mark; then echo second; exec sleep 600; fi; mkdir mark; echo first; exit 1
---
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  restartPolicy: Never
  containers:
  - {name: c, image: x, command: [python3, -m, http.server, "8080"], ports: [{name: http, containerPort: 8080}]}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: http}]}
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: NAME}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: c, image: x, command: [sh, -c, "for i in 1 2 3; do echo step $i; done; UNTIL; echo over >&2"]}
""".replace("UNTIL", "until test -e $TRAINPLANE_OUTPUT/go-on; do sleep 0.1; done")
SHELL = """
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  restartPolicy: Never
  containers:
  - {name: c, image: x, stdin: true, tty: TTY, command: [sh, -c, COMMAND]}
"""


class Kubectl:
    """kubectl of one age, on the cluster of this module."""

    def __init__(self, clusters: Clusters, version: str) -> None:
        self.version = version
        self.home = clusters.home / version
        self.home.mkdir(exist_ok=True)
        self.environment = {**clusters.environment, "HOME": str(self.home)}
        self._words = [kubectl_of(version), "--kubeconfig", str(clusters.folder() / "kubeconfig")]

    def __call__(self, *words: str, given: str = "", code: int = 0) -> str:
        """What it says on the standard output."""
        return self.all(*words, given=given, code=code).stdout

    def all(self, *words: str, given: str = "", code: int = 0) -> "subprocess.CompletedProcess[str]":
        """Run to the end; the first word is split at spaces."""
        done = subprocess.run(
            self.words(*words),
            input=given,
            capture_output=True,
            text=True,
            env=self.environment,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == code, f"{words} left with {done.returncode}:\n{done.stdout}{done.stderr}"
        return done

    def words(self, *words: str) -> list[str]:
        """The words of a call."""
        return [*self._words, *words[0].split(), *words[1:]]

    def terminal(self, *words: str) -> Terminal:
        """Run it on a terminal."""
        return Terminal(self.words(*words), self.environment)

    @contextmanager
    def going_on(self, *words: str) -> Iterator["subprocess.Popen[str]"]:
        """Let it run beside the test, while the context lasts."""
        with subprocess.Popen(
            self.words(*words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=self.environment
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    @contextmanager
    def forwarding(self, *words: str) -> Iterator[tuple[int, "subprocess.Popen[str]"]]:
        """A port of this machine that leads to a pod, while the context lasts."""
        with self.going_on(*words) as process:
            assert process.stdout
            said = process.stdout.readline()
            found = re.match(r"Forwarding from 127\.0\.0\.1:(\d+) -> ", said)
            assert found, said
            yield int(found[1]), process


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clusters]:
    """A cluster with two nodes and pods that run on them."""
    made = Clusters(tmp_path_factory.mktemp("streams"), tmp_path_factory.getbasetemp().parent / "compiled")
    try:
        made.up("--nodes", "2")
        (made.home / "pods.yaml").write_text(PODS)
        made.kubectl("apply", "-f", "pods.yaml")
        made.kubectl("wait", "--for=condition=Ready", "pod", "--all", LIMIT)
        made.kubectl("wait", "--for=jsonpath={.status.containerStatuses[0].restartCount}=1", "pod/again", LIMIT)
        made.kubectl("wait", "--for=condition=Ready", "pod/again", LIMIT)
        yield made
    finally:
        made.end()


@pytest.fixture(params=["1.37", "1.32"])
def kubectl(clusters: Clusters, request: pytest.FixtureRequest) -> Kubectl:
    """kubectl of both ages."""
    return Kubectl(clusters, str(request.param))


def test_any_part_of_a_log_can_be_had(kubectl: Kubectl) -> None:
    lines = [f"line {i}" for i in range(1, 6)]
    assert kubectl("logs talk").splitlines() == lines
    assert kubectl("logs talk --tail=2").splitlines() == lines[3:]
    assert kubectl("logs talk --tail=0") == ""
    assert kubectl("logs talk --limit-bytes=10") == "line 1\nlin"
    stamped = kubectl("logs talk --timestamps").splitlines()
    assert [line.partition(" ")[2] for line in stamped] == lines
    assert all(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z line", line) for line in stamped)
    last = stamped[-1].partition(" ")[0]
    assert kubectl(f"logs talk --since-time={last}").splitlines()[-1:] == ["line 5"]
    assert kubectl("logs talk --since-time=2099-01-01T00:00:00Z") == ""
    assert kubectl("logs talk --since=1h").splitlines() == lines
    time.sleep(1)
    assert kubectl("logs talk --since=1s") == ""


def test_logs_of_another_life_and_of_other_containers(kubectl: Kubectl) -> None:
    assert (kubectl("logs again --previous"), kubectl("logs again")) == ("first\n", "second\n")
    assert kubectl("logs two -c first") == "of first\n"
    # Which container comes first is kubectl's whim.
    assert sorted(kubectl("logs two --all-containers").splitlines()) == ["of a", "of b", "of first"]
    said = kubectl("logs -l app=talk --all-containers --prefix").splitlines()
    assert {"[pod/two/b] of b", "[pod/talk/c] line 5"} <= set(said)
    assert 'previous terminated container "c" in pod "talk" not found' in kubectl.all("logs -p talk", code=1).stderr
    assert 'pods "none" not found' in kubectl.all("logs none", code=1).stderr


def test_a_log_is_followed_to_the_end_of_the_job(kubectl: Kubectl, clusters: Clusters) -> None:
    name = f"short-{kubectl.version.replace('.', '-')}"
    kubectl("apply -f -", given=JOB.replace("NAME", name))
    # kubectl waits for a pod, but not until there is anything of it to read.
    kubectl(f"wait --for=jsonpath={{.status.ready}}=1 job/{name} {LIMIT}")
    with kubectl.going_on(f"logs -f job/{name}") as following:
        assert following.stdout
        said = [following.stdout.readline() for _ in range(3)]
        assert said == ["step 1\n", "step 2\n", "step 3\n"]
        (clusters.folder() / "jobs" / "default" / name / "output" / "go-on").touch()
        said.append(following.communicate(timeout=PATIENCE)[0])
    assert said[3:] == ["over\n"]
    assert kubectl(f"logs job/{name}") == "".join(said)


def test_a_command_has_input_output_and_an_exit_code(kubectl: Kubectl) -> None:
    assert kubectl("exec talk --", "sh", "-c", "exit 7", code=7) == ""
    assert kubectl("exec talk --", "sh", "-c", "kill -9 $$", code=137) == ""
    both = kubectl.all("exec two -c b --", "sh", "-c", "echo out; echo err >&2")
    assert (both.stdout, both.stderr) == ("out\n", "err\n")
    much = "".join(f"{number}\n" for number in range(200_000))
    assert kubectl("exec -i talk -- sha1sum", given=much) == kubectl(
        "exec -i talk -- sh -c", "cat | sha1sum", given=much
    )
    assert kubectl("exec -i talk -- cat", given=much) == much
    refused = kubectl.all("exec talk -- no-such-program", code=1).stderr
    assert re.search("no-such-program.*(not found|No such file)", refused), refused


def test_a_shell_on_a_terminal_is_resized_and_interrupted(kubectl: Kubectl) -> None:
    with kubectl.terminal("exec -it talk -- sh") as terminal:
        terminal.type("stty size\n")
        terminal.until("24 80")
        terminal.resize(50, 132)
        terminal.type("until stty size | grep '^50' ; do sleep 0.1; done\n")
        terminal.until("50 132")
        terminal.type("trap 'echo inter''rupted' INT; sh -c 'echo sl''eeps; exec sleep 1000'; echo af''ter\n")
        terminal.until("sleeps")
        terminal.type("\x03")
        terminal.until("interrupted")
        terminal.type("exit 3\n")
        assert terminal.ended() == 3


@pytest.mark.parametrize("tty", [False, True], ids=["pipes", "a terminal"])
def test_who_attaches_talks_to_the_container_itself(kubectl: Kubectl, tty: bool) -> None:
    name = f"shell-{kubectl.version.replace('.', '-')}-{str(tty).lower()}"
    command = "'while read word; do test $word = end && exit 0; echo got $word; done'"
    spec = SHELL.replace("NAME", name).replace("TTY", str(tty).lower()).replace("COMMAND", command)
    kubectl("apply -f -", given=spec)
    kubectl(f"wait --for=condition=Ready pod/{name} {LIMIT}")
    if tty:
        with kubectl.terminal(f"attach -it {name}") as terminal:
            terminal.type("word\n")
            terminal.until("got word")
            terminal.type("end\n")
            assert terminal.ended() == 0
    else:
        said = kubectl(f"attach -i {name}", given="word\nend\n")
        assert "got word" in said
    kubectl(f"wait --for=jsonpath={{.status.phase}}=Succeeded pod/{name} {LIMIT}")
    assert "got word" in kubectl(f"logs {name}")


@pytest.mark.skipif(not shutil.which("tar"), reason="kubectl cp needs tar")
def test_files_are_copied_both_ways(kubectl: Kubectl) -> None:
    (kubectl.home / "there" / "deep").mkdir(parents=True)
    (kubectl.home / "there" / "deep" / "bytes").write_bytes(bytes(range(256)) * 10_000)
    (kubectl.home / "there" / "words").write_text("some words\n")
    place = f"/workspace/output/{kubectl.version}"
    kubectl(f"cp {kubectl.home}/there talk:{place}")
    assert kubectl(f"exec talk -- cat {place}/words") == "some words\n"
    kubectl(f"cp talk:{place} {kubectl.home}/back")
    assert (kubectl.home / "back" / "deep" / "bytes").read_bytes() == bytes(range(256)) * 10_000


@pytest.mark.parametrize("target", ["pod/web :8080", "svc/web :80", "pod/web :http"])
def test_ports_are_reached_by_many_at_once(kubectl: Kubectl, target: str) -> None:
    def page(port: int) -> int:
        with urlopen(f"http://127.0.0.1:{port}/", timeout=PATIENCE) as answer:
            return len(answer.read())

    with kubectl.forwarding(f"port-forward {target}") as (port, process), ThreadPoolExecutor(8) as people:
        sizes = set(people.map(page, [port] * 24))
        assert len(sizes) == 1
        assert min(sizes) > 100
        assert process.poll() is None


def test_a_port_nobody_listens_on_is_told(kubectl: Kubectl) -> None:
    with kubectl.forwarding("port-forward pod/web :81") as (port, process):
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
            assert connection.recv(1) == b""
        told = process.communicate(timeout=PATIENCE)[0]
    assert "failed to connect to port 81 of pod web: connection refused" in told


def test_who_may_only_look_is_refused_what_acts(kubectl: Kubectl, clusters: Clusters) -> None:
    file = clusters.home / f"viewer-{kubectl.version}"
    created = clusters.run("token", "create", "viewer", "--group", "trainplane.dev:viewers", "-o", "kubeconfig")
    Path(file).write_text(created.stdout)
    assert kubectl(f"get pod talk -o name --kubeconfig={file}") == "pod/talk\n"
    assert kubectl(f"logs talk --tail=1 --kubeconfig={file}") == "line 5\n"
    for asked, subresource in (
        ("exec talk -- true", "pods/exec"),
        ("attach talk", "pods/attach"),
        ("port-forward talk :80", "pods/portforward"),
    ):
        verb, _, rest = asked.partition(" ")
        refused = kubectl.all(f"{verb} --kubeconfig={file} {rest}", code=1).stderr
        assert re.search(rf'User "viewer" cannot (create|get) resource "{subresource}"', refused), refused
