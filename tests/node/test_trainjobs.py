"""TrainJobs from the API to processes and back: ranks that meet, output that is kept, failures that are told."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from tests.patience import PATIENCE
from trainplane.api.meta import Raw
from trainplane.api.ref import Ref
from trainplane.cluster.api import Api
from trainplane.embed import Config, running
from trainplane.node.machine import Settings

MEET = """
import json, os, socket, time
rank, address = int(os.environ["PET_NODE_RANK"]), (os.environ["PET_MASTER_ADDR"], int(os.environ["PET_MASTER_PORT"]))
if rank == 0:
    with socket.create_server(("0.0.0.0", address[1])) as server:
        peer, _ = server.accept()
        with peer:
            said = peer.recv(99).decode()
    found = {"job": os.environ["JOB"], "said": said}
    open(os.environ["TRAINPLANE_OUTPUT"] + "/found.json", "w").write(json.dumps(found))
else:
    for _ in range(1000):
        try:
            with socket.create_connection(address, timeout=60) as sock:
                sock.sendall(os.environ["JOB"].encode())
            break
        except OSError:
            time.sleep(0.1)
    else:
        raise SystemExit("nobody is there")
print("rank", rank, "done")
"""


def job(name: str, script: str, **trainer: Any) -> Raw:
    env = [{"name": "JOB", "value": name}]
    said = {
        "numNodes": 2,
        "command": [sys.executable, "-c", script],
        "env": env,
        "image": "example.test/x:1",
        **trainer,
    }
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"runtimeRef": {"name": "torch-distributed"}, "trainer": said},
    }


async def ended(api: Api, name: str) -> Raw:
    ref = Ref("trainer.kubeflow.org", "TrainJob", "default", name)
    async with asyncio.timeout(PATIENCE):
        while True:
            found = await api.get(ref)
            for each in found.get("status", {}).get("conditions") or ():
                if each["type"] in ("Complete", "Failed") and each["status"] == "True":
                    return {**each, "job": found}
            await asyncio.sleep(0.05)


def test_two_jobs_at_the_same_port_do_not_meet(tmp_path: Path, runner: str) -> None:
    async def play() -> None:
        async with running(Config(tmp_path, machine=Settings(2, runner=runner))) as cluster:
            for name in ("red", "blue"):
                await cluster.api.create(job(name, MEET))
            for name in ("red", "blue"):
                end = await ended(cluster.api, name)
                assert end["type"] == "Complete", end
                found = json.loads((tmp_path / "jobs" / "default" / name / "output" / "found.json").read_text())
                assert found == {"job": name, "said": name}

    asyncio.run(play())


def test_a_rank_that_fails_fails_its_job(tmp_path: Path) -> None:
    async def play() -> None:
        script = "import os, sys, time; sys.exit(3) if os.environ['PET_NODE_RANK'] == '1' else time.sleep(600)"
        async with running(Config(tmp_path, machine=Settings(2, runner="process", grace=1.0))) as cluster:
            await cluster.api.create(job("bad", script))
            assert (await ended(cluster.api, "bad"))["type"] == "Failed"

    asyncio.run(play())
