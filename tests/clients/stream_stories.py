"""What people do with running pods by the kubernetes client and the kubeflow SDK; played where these are installed."""

import asyncio
import time
from contextlib import closing

from kubernetes import client, config
from kubernetes.stream import portforward, stream
from stories import play

config.load_kube_config()
core = client.CoreV1Api()
ECHO = """
import socket
server = socket.create_server(("", 8080))
while True:
    connection, _ = server.accept()
    connection.sendall(connection.recv(99).upper())
"""


def pod(name: str, *command: str, **fields: object) -> None:
    """Make a pod of one container, and wait until it is ready."""
    container = {"name": "c", "image": "example.test/c:1", "command": list(command), **fields}
    spec = {"restartPolicy": "Never", "containers": [container]}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
    core.create_namespaced_pod("default", body)
    end = time.monotonic() + 120
    while (core.read_namespaced_pod(name, "default").status.phase or "Pending") == "Pending":
        assert time.monotonic() < end, f"{name} does not start"
        time.sleep(0.05)


pod("talk", "sh", "-c", "echo one; echo two; exec sleep 600")
pod("shell", "sh", "-c", "while read word; do echo got $word; done", stdin=True)
pod("web", "python3", "-c", ECHO)


def run(*command: str, **said: object) -> object:
    """A command in the pod that sleeps."""
    words = {"stdout": True, "stderr": True, **said}
    return stream(core.connect_get_namespaced_pod_exec, "talk", "default", command=list(command), **words)


def a_command_gives_its_output() -> None:
    assert run("sh", "-c", "echo out; echo err >&2") in ("out\nerr\n", "err\nout\n")


def a_command_is_talked_to() -> None:
    talk = run("sh", stdin=True, _preload_content=False)
    talk.write_stdin("echo to you; echo oops >&2\n")
    assert talk.readline_stdout(timeout=120) == "to you"
    assert talk.readline_stderr(timeout=120) == "oops"
    talk.write_stdin("exit 5\n")
    talk.run_forever(timeout=120)
    assert talk.returncode == 5


def a_process_is_attached_to() -> None:
    words = {"stdin": True, "stdout": True, "stderr": True, "_preload_content": False}
    joined = stream(core.connect_get_namespaced_pod_attach, "shell", "default", **words)
    joined.write_stdin("it\n")
    assert joined.readline_stdout(timeout=120) == "got it"
    joined.close()


def a_log_is_read_and_followed() -> None:
    end = time.monotonic() + 120
    while core.read_namespaced_pod_log("talk", "default") != "one\ntwo\n":
        assert time.monotonic() < end, "talk says something else"
        time.sleep(0.05)
    assert core.read_namespaced_pod_log("talk", "default", tail_lines=1) == "two\n"
    followed = core.read_namespaced_pod_log("talk", "default", follow=True, _preload_content=False)
    assert next(followed.stream(amt=8)) == b"one\ntwo\n"
    followed.close()


def asyncio_runs_a_command() -> None:
    try:
        from kubernetes.aio import client as aclient
        from kubernetes.aio import config as aconfig
        from kubernetes.aio.stream import WsApiClient
    except ImportError:
        return

    async def work() -> str:
        await aconfig.load_kube_config()
        async with WsApiClient() as api:
            return await aclient.CoreV1Api(api).connect_get_namespaced_pod_exec(
                "talk", "default", command=["echo", "later"], stdout=True, stderr=True
            )

    assert asyncio.run(work()) == "later\n"


def a_ports_bytes_come_back() -> None:
    end = time.monotonic() + 120
    while True:
        forwarded = portforward(core.connect_get_namespaced_pod_portforward, "web", "default", ports="8080")
        with closing(forwarded.socket(8080)) as connection:
            connection.settimeout(120)
            connection.sendall(b"hello")
            if (heard := connection.recv(99)) or time.monotonic() > end:
                break
        time.sleep(0.1)
    assert heard == b"HELLO", forwarded.error(8080)


def a_port_that_nobody_listens_on_is_told() -> None:
    forwarded = portforward(core.connect_get_namespaced_pod_portforward, "web", "default", ports="81")
    with closing(forwarded.socket(81)) as connection:
        connection.settimeout(120)
        assert connection.recv(1) == b""
    assert "connection refused" in forwarded.error(81)


def the_logs_of_a_job_are_followed() -> None:
    try:
        from kubeflow.trainer import CustomTrainerContainer, TrainerClient
        from kubeflow.trainer.options import TrainerArgs, TrainerCommand
    except ImportError:
        return
    trainer = TrainerClient()
    options = [TrainerCommand(["sh", "-c"]), TrainerArgs(["for i in 1 2 3; do echo step $i; sleep 0.5; done"])]
    image = CustomTrainerContainer(image="example.test/c:1", num_nodes=2)
    name = trainer.train(runtime="plain", trainer=image, options=options)
    trainer.wait_for_job_status(name, status={"Running", "Complete"}, timeout=120, polling_interval=0.25)
    said = ["step 1", "step 2", "step 3"]
    assert list(trainer.get_job_logs(name, follow=True)) == said
    assert list(trainer.get_job_logs(name, step="node-1", follow=True)) == said
    assert trainer.wait_for_job_status(name, timeout=120, polling_interval=0.25).status == "Complete"
    assert "\n".join(trainer.get_job_logs(name)).split() == " ".join(said).split()


play(
    a_command_gives_its_output,
    a_command_is_talked_to,
    a_process_is_attached_to,
    a_log_is_read_and_followed,
    asyncio_runs_a_command,
    a_ports_bytes_come_back,
    a_port_that_nobody_listens_on_is_told,
    the_logs_of_a_job_are_followed,
)
