"""A cluster that is killed hard leaves nothing running, and says at its next start what became of its pods."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from trainplane.api.meta import Raw
from trainplane.api.ref import Ref
from trainplane.cluster.errors import NotFound
from trainplane.embed import Config, running
from trainplane.node.machine import Settings

POD = Ref("", "Pod", "default", "p")
SCRIPT = "echo $$$$ > $TRAINPLANE_OUTPUT/pid; exec sleep 300"


def pod() -> Raw:
    container = {"name": "c", "image": "x", "command": ["sh", "-c", SCRIPT]}
    spec = {"containers": [container], "restartPolicy": "Never", "nodeName": "node-0"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"}, "spec": spec}


async def live(folder: Path, runner: str) -> None:
    """Run the pod, and then nothing but wait for the end."""
    async with running(Config(folder, machine=Settings(1, runner=runner))) as cluster:
        await cluster.api.create(pod())
        async with asyncio.timeout(30):
            while (await cluster.api.get(POD)).get("status", {}).get("phase") != "Running":
                await asyncio.sleep(0.05)
            while not any(folder.glob("jobs/default/p/output/pid")):
                await asyncio.sleep(0.05)
        print("up", flush=True)
        await asyncio.sleep(300)


async def after(folder: Path, runner: str) -> Raw:
    async with running(Config(folder, machine=Settings(1, runner=runner))) as cluster:
        async with asyncio.timeout(30):
            while True:
                try:
                    found = await cluster.api.get(POD)
                except NotFound:
                    raise AssertionError("the pod is gone") from None
                if found["status"]["phase"] == "Failed":
                    return found
                await asyncio.sleep(0.05)


def sleeps() -> set[int]:
    """Every process that sleeps as the pod does."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes() == b"sleep\x00300\x00":
                found.add(int(path.parent.name))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("runner", ["process", "auto"])
def test_what_ran_is_ended_and_reported(tmp_path: Path, runner: str) -> None:
    before = sleeps()
    words = "import asyncio, sys; from pathlib import Path; from tests.node.test_after_a_crash import live"
    code = f"{words}; asyncio.run(live(Path(sys.argv[1]), sys.argv[2]))"
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path), runner], stdout=subprocess.PIPE)
    assert process.stdout
    with process.stdout:
        assert process.stdout.readline() == b"up\n"
        process.send_signal(signal.SIGKILL)
        process.wait(30)
    found = asyncio.run(after(tmp_path, runner))
    state = found["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (state["exitCode"], state["reason"]) == (137, "ContainerStatusUnknown")
    (disrupted,) = (each for each in found["status"]["conditions"] if each["type"] == "DisruptionTarget")
    assert disrupted["reason"] == "TerminationByKubelet"
    end = time.monotonic() + 10
    while sleeps() - before and time.monotonic() < end:
        time.sleep(0.05)
    assert not sleeps() - before
    assert os.listdir(tmp_path / "node" / "pods") == []
