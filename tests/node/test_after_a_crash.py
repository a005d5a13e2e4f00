"""A cluster that is killed hard leaves nothing running, and says at its next start what became of its pods."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.node.faults import marked, until
from tests.patience import PATIENCE
from trainplane.api.meta import Raw
from trainplane.api.ref import Ref
from trainplane.cluster.errors import NotFound
from trainplane.embed import Config, running
from trainplane.node.machine import Settings

POD = Ref("", "Pod", "default", "p")
SCRIPT = "touch $TRAINPLANE_OUTPUT/begun; exec sleep 600"


def pod(mark: str) -> Raw:
    env = [{"name": "MARK", "value": mark}]
    container = {"name": "c", "image": "x", "command": ["sh", "-c", SCRIPT], "env": env}
    spec = {"containers": [container], "restartPolicy": "Never", "nodeName": "node-0"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"}, "spec": spec}


async def live(folder: Path, runner: str) -> None:
    """Run the pod, and then nothing but wait for the end."""
    async with running(Config(folder, machine=Settings(1, runner=runner))) as cluster:
        await cluster.api.create(pod(mark_of(folder)))
        async with asyncio.timeout(PATIENCE):
            while (await cluster.api.get(POD)).get("status", {}).get("phase") != "Running":
                await asyncio.sleep(0.05)
            while not any(folder.glob("jobs/default/p/output/begun")):
                await asyncio.sleep(0.05)
        print("up", flush=True)
        await asyncio.sleep(600)


async def after(folder: Path, runner: str) -> Raw:
    async with running(Config(folder, machine=Settings(1, runner=runner))) as cluster:
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    found = await cluster.api.get(POD)
                except NotFound:
                    raise AssertionError("the pod is gone") from None
                if found["status"]["phase"] == "Failed":
                    return found
                await asyncio.sleep(0.05)


def mark_of(folder: Path) -> str:
    """What the pod of this cluster has in its surroundings, and no other process."""
    return f"crash-mark-of-{folder}"


@pytest.mark.parametrize("runner", ["process", "auto"])
def test_what_ran_is_ended_and_reported(tmp_path: Path, runner: str) -> None:
    words = "import asyncio, sys; from pathlib import Path; from tests.node.test_after_a_crash import live"
    code = f"{words}; asyncio.run(live(Path(sys.argv[1]), sys.argv[2]))"
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path), runner], stdout=subprocess.PIPE)
    assert process.stdout
    with process.stdout:
        assert process.stdout.readline() == b"up\n"
        assert marked(mark_of(tmp_path))
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE)
    found = asyncio.run(after(tmp_path, runner))
    state = found["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (state["exitCode"], state["reason"]) == (137, "ContainerStatusUnknown")
    (disrupted,) = (each for each in found["status"]["conditions"] if each["type"] == "DisruptionTarget")
    assert disrupted["reason"] == "TerminationByKubelet"
    until(lambda: not marked(mark_of(tmp_path)), "the end of what ran")
    assert os.listdir(tmp_path / "node" / "pods") == []
