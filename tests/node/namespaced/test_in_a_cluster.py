"""A pod of a whole cluster: what it needs it has, and what is the cluster's or another's it cannot get at."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.patience import PATIENCE
from trainplane.api.meta import Raw
from trainplane.api.ref import Ref
from trainplane.cluster.client import Log
from trainplane.embed import Config, Running, running
from trainplane.node.machine import Settings

THIEF = """
import os, pathlib, ssl, sys, urllib.request
got = []
for path in sys.argv[2:]:
    for look in (lambda: open(path, "rb").read(1), lambda: os.listdir(path), lambda: os.stat(path)):
        try:
            look()
        except OSError:
            continue
        got.append(path)
for number in (int(sys.argv[1]), *range(3, 5000)):
    try:
        number == os.getpid() or os.kill(number, 0)
    except OSError:
        continue
    if number != os.getpid():
        got.append(f"process {number}")
print("stolen:", sorted(set(got)))
own = pathlib.Path("/var/run/secrets/kubernetes.io/serviceaccount")
assert own.joinpath("namespace").read_text() == "default"
head = {"Authorization": "Bearer " + own.joinpath("token").read_text()}
url = f"https://{os.environ['KUBERNETES_SERVICE_HOST']}:{os.environ['KUBERNETES_SERVICE_PORT']}/api/v1/namespaces/%s/secrets"
for namespace in ("default", "other"):
    try:
        request = urllib.request.Request(url % namespace, headers=head)
        urllib.request.urlopen(request, context=ssl.create_default_context(cafile=own / "ca.crt"), timeout=60)
    except urllib.error.HTTPError as error:
        print(namespace, error.code)
"""


def _pod(name: str, namespace: str, command: list[str], **spec: Any) -> Raw:
    container = {"name": "c", "image": "example.test/c:1", "command": command, **spec.pop("container", {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"restartPolicy": "Never", "containers": [container], **spec},
    }


async def _until(cluster: Running, namespace: str, name: str, phases: tuple[str, ...]) -> Raw:
    async with asyncio.timeout(PATIENCE):
        while True:
            found = await cluster.api.get(Ref("", "Pod", namespace, name))
            if (found.get("status") or {}).get("phase") in phases:
                return found
            await asyncio.sleep(0.05)


async def _log(cluster: Running, namespace: str, name: str) -> str:
    assert cluster.nodes
    parts = [part async for part in cluster.nodes.streams.log(Ref("", "Pod", namespace, name), Log())]
    return b"".join(parts).decode()


@pytest.mark.usefixtures("can_run_in_namespaces")
def test_a_thief_gets_nothing_that_is_not_its_own(tmp_path: Path) -> None:
    async def story() -> str:
        async with running(Config(tmp_path, machine=Settings(1, runner="namespaced", grace=0.5))) as cluster:
            await cluster.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}})
            mount = {"volumeMounts": [{"name": "data", "mountPath": "/data"}]}
            keep = ["sh", "-c", "echo secret > /data/secret; echo ready; sleep 600"]
            victim = _pod("victim", "other", keep, container=mount, volumes=[{"name": "data", "emptyDir": {}}])
            await cluster.api.create(victim)
            await _until(cluster, "other", "victim", ("Running",))
            async with asyncio.timeout(PATIENCE):
                while "ready" not in await _log(cluster, "other", "victim"):
                    await asyncio.sleep(0.05)
            assert cluster.nodes
            (agent,) = cluster.nodes.agents
            (worker,) = agent.workers.values()
            foreign = next(iter(worker.living.values())).started.pid
            places = [str(path) for path in (tmp_path, *tmp_path.rglob("*"))]
            assert any(path.endswith("/data/secret") for path in places)
            assert any("token" in path for path in places)
            assert any("pki" in path for path in places)
            await cluster.api.create(_pod("thief", "default", [sys.executable, "-c", THIEF, str(foreign), *places]))
            ended = await _until(cluster, "default", "thief", ("Succeeded", "Failed"))
            text = await _log(cluster, "default", "thief")
            assert ended["status"]["phase"] == "Succeeded", text
            return text

    assert asyncio.run(story()).splitlines() == ["stolen: []", "default 403", "other 403"]
