"""Containers that are added to a pod that runs, to look into it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.node.nodes import NAMESPACE, Nodes, container, nodes, phase, pod, ref
from trainplane.api.meta import Raw
from trainplane.cluster.client import Patch


async def add(made: Nodes, name: str, script: str, **fields: Any) -> None:
    """Add a container, as `kubectl debug` does."""
    patch = Patch.strategic({"spec": {"ephemeralContainers": [container(name, script, **fields)]}})
    await made.api.patch(ref("p"), patch, subresource="ephemeralcontainers")


def state(pod: Raw, name: str) -> Raw:
    found = pod.get("status", {}).get("ephemeralContainerStatuses") or ()
    state: Raw = next((each["state"] for each in found if each["name"] == name), {})
    return state


def play(tmp_path: Path, runner: str, story: Any) -> None:
    async def main() -> None:
        async with nodes(tmp_path, runner=runner) as made:
            main = container(script="echo $$$$ > /workspace/output/pid; exec sleep 1000")
            await made.create(pod(containers=[main], terminationGracePeriodSeconds=1))
            output = made.folder / "jobs" / NAMESPACE / "p" / "output"
            await made.until("p", lambda pod: phase(pod) == "Running" and (output / "pid").exists())
            await story(made)

    asyncio.run(main())


def test_it_runs_once_and_says_how_it_ended(tmp_path: Path, runner: str) -> None:
    async def story(made: Nodes) -> None:
        await add(made, "one", "echo looked; exit 3")
        ended = await made.until("p", lambda pod: "terminated" in state(pod, "one"))
        assert state(ended, "one")["terminated"]["exitCode"] == 3
        assert phase(ended) == "Running", "the pod goes on"
        assert not [each for each in ended["status"]["conditions"] if each["type"] == "trainplane.dev/Failure"]
        assert await made.log("p", container="one") == "looked\n"
        await add(made, "two", "exec sleep 1000")
        await made.until("p", lambda pod: "running" in state(pod, "two"))
        await made.api.delete(ref("p"))
        await made.gone("p")

    play(tmp_path, runner, story)


@pytest.mark.parametrize("runner", ["namespaced"], indirect=True)
def test_it_sees_the_processes_of_its_target_and_no_others(tmp_path: Path, runner: str) -> None:
    words = "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"
    until_it_sleeps = f"until {words} | grep -q 'sleep 100[0]'; do sleep 0.05; done"
    look = f"{words}; kill -0 $(cat /workspace/output/pid) && echo reached"

    async def story(made: Nodes) -> None:
        await add(made, "beside", f"{until_it_sleeps}; {look}", targetContainerName="c")
        await made.until("p", lambda pod: "terminated" in state(pod, "beside"))
        said = await made.log("p", container="beside")
        assert "sleep 1000" in said
        assert said.endswith("reached\n")
        await add(made, "alone", look)
        await made.until("p", lambda pod: "terminated" in state(pod, "alone"))
        assert "sleep 1000" not in await made.log("p", container="alone")
        assert phase(await made.pod("p")) == "Running"

    play(tmp_path, runner, story)


def test_one_whose_target_does_not_run_yet_waits_and_says_so(tmp_path: Path) -> None:
    async def main() -> None:
        async with nodes(tmp_path, runner="process") as made:
            first = container("first", "while ! test -e /workspace/output/go; do sleep 0.05; done")
            second = container(script="exec sleep 1000")
            await made.create(pod(initContainers=[first], containers=[second], terminationGracePeriodSeconds=1))
            await made.until("p", lambda pod: pod.get("status", {}).get("initContainerStatuses"))
            await add(made, "early", "true", targetContainerName="c")
            waits = await made.until("p", lambda pod: state(pod, "early").get("waiting", {}).get("message"))
            assert "the container c does not run" in state(waits, "early")["waiting"]["message"]
            (made.folder / "jobs" / NAMESPACE / "p" / "output" / "go").touch()
            await made.until("p", lambda pod: "terminated" in state(pod, "early"))

    asyncio.run(main())
