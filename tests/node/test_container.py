"""Containers of podman and of docker: of real images, in the pod network, as the pod asks; gone with the pod."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.node.engines import IMAGE, TOOLS, Engine, box, give_host_users, root_folder
from tests.node.nodes import NAMESPACE, Nodes, container, phase, pod, ref, states
from tests.node.test_streams import heard
from trainplane.api.ref import Ref
from trainplane.node.container import ContainerRunner
from trainplane.node.engine import CLUSTER
from trainplane.node.images import ImageMapping
from trainplane.node.namespaced.leftovers import label
from trainplane.node.runner import Box, Image, Program, Stdio, Unable


def test_a_container_is_its_image_with_what_the_pod_asks_for(contained: Callable[..., None], engine: Engine) -> None:
    script = """
    id -u; id -g; hostname; pwd; echo "$WORD"; cat /v/key; echo "a line"; ls /bin | grep -c .
    grep -q "^ *0 *0 " /proc/self/uid_map && echo "root is root"
    touch /x 2>/dev/null || echo read-only; echo end > /dev/termination-log; exit 7
    """

    async def play(made: Nodes) -> None:
        if engine.name == "docker":
            await give_host_users(made)
        await made.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cm", "namespace": NAMESPACE},
                           "data": {"key": "from a volume\n"}})  # fmt: skip
        one = box(
            script,
            env=[{"name": "WORD", "value": "two\nlines"}],
            workingDir="/bin",
            volumeMounts=[{"name": "v", "mountPath": "/v"}],
            securityContext={"runAsUser": 1234, "runAsGroup": 55, "readOnlyRootFilesystem": True},
        )
        await made.create(pod(containers=[one], volumes=[{"name": "v", "configMap": {"name": "cm"}}]))
        ended = await made.ended()
        lines = (await made.log()).splitlines()
        said = ["1234", "55", "p", "/bin", "two", "lines", "from a volume", "a line", str(len(TOOLS) + 1)]
        assert lines == [*said, *["root is root"] * (engine.name == "docker"), "read-only"]
        assert states(ended)["c"]["terminated"]["exitCode"] == 7
        assert states(ended)["c"]["terminated"]["message"] == "end\n"

    contained(play)


def test_an_image_says_what_runs_where_the_pod_does_not(contained: Callable[..., None]) -> None:
    async def play(made: Nodes) -> None:
        await made.create(pod(containers=[box(args=["here"])]))
        assert phase(await made.ended()) == "Succeeded"
        assert await made.log() == "entered here\n"

    contained(play)


def test_pods_find_each_other_by_name_and_the_containers_of_one_by_the_loopback(contained: Callable[..., None]) -> None:
    async def play(made: Nodes) -> None:
        spec = {"clusterIP": "None", "selector": {"app": "x"}, "publishNotReadyAddresses": True}
        await made.create({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": NAMESPACE},
                           "spec": spec})  # fmt: skip
        serve = "mkdir w; echo served > w/f; exec httpd -f -p 8000 -h w"
        look = "until wget -q -Y off -O- http://{}:8000/f; do sleep 0.2; done"
        server = pod("a", containers=[box(serve, workingDir="/workspace")], hostname="a", subdomain="s")
        server["metadata"]["labels"] = {"app": "x"}
        await made.create(server)
        beside = [box(serve, workingDir="/workspace"), container("d", look.format("127.0.0.1"), image=IMAGE)]
        await made.create(pod("b", containers=beside))
        await made.create(pod("c", containers=[box(look.format("a.s"))]))
        assert phase(await made.ended("c")) == "Succeeded"
        assert (await made.log("c")).endswith("served\n")
        await made.until("b", lambda found: "terminated" in states(found).get("d", {}))
        assert (await made.log("b", container="d")).endswith("served\n")

    contained(play)


@pytest.mark.parametrize(
    ("fields", "reason", "said"),
    [
        ({"image": "localhost/none:1", "imagePullPolicy": "Never"}, "ErrImageNeverPull", "is not present with pull po"),
        ({"image": "localhost:1/none:1"}, "ErrImagePull", 'failed to pull the image "localhost:1/none:1"'),
        ({"image": "mapped"}, "CreateContainerError", "the image stands for an environment of this machine"),
    ],
)
def test_an_image_that_cannot_be_had_keeps_the_pod_waiting_and_says_why(
    contained: Callable[..., None], fields: dict[str, str], reason: str, said: str
) -> None:
    async def play(made: Nodes) -> None:
        await made.create(pod(containers=[box("true", **fields)]))

        def waits(found: dict[str, Any]) -> bool:
            return states(found).get("c", {}).get("waiting", {}).get("reason") in (reason, "ImagePullBackOff")

        found = await made.until("p", waits)
        waiting = states(found)["c"]["waiting"]
        assert said in waiting["message"] or waiting["reason"] == "ImagePullBackOff"
        assert any(said in note for _, note in await made.events())

    contained(play, images=(ImageMapping("mapped"),))


NOT_FOUND = (
    'exec: "no-such-program": executable file not found in $PATH',
    "executable file `no-such-program` not found in $PATH",
)
"""As runc says it, and as crun does."""


def test_a_command_that_is_not_in_the_image_is_told(contained: Callable[..., None]) -> None:
    async def play(made: Nodes) -> None:
        await made.create(pod(containers=[box(command=["no-such-program"])]))
        terminated = states(await made.ended())["c"]["terminated"]
        assert terminated["reason"] == "StartError"
        assert any(said in terminated["message"] for said in NOT_FOUND), terminated["message"]

    contained(play)


def test_a_root_folder_is_run_too_and_stays_as_it_was(contained: Callable[..., None], tmp_path: Path) -> None:
    root = root_folder(tmp_path / "root")

    async def play(made: Nodes) -> None:
        await made.create(pod(containers=[box("echo here; exit 3", image="mapped")]))
        assert states(await made.ended())["c"]["terminated"]["exitCode"] == 3
        assert await made.log() == "here\n"
        assert sorted(each.name for each in root.iterdir()) == ["bin"]

    contained(play, images=(ImageMapping("mapped", root=root),))


def test_a_limit_on_memory_is_held_and_nothing_is_left(
    contained: Callable[..., None], engine: Engine, tmp_path: Path
) -> None:
    was_there = Path("oom").exists()

    async def play(made: Nodes) -> None:
        hungry = "dd if=/dev/zero of=/dev/null bs=300M count=1"
        one = box(f"sleep 0.2; {hungry}; exit $?", resources={"limits": {"memory": "40Mi"}})
        await made.create(pod(containers=[one]))
        terminated = states(await made.ended())["c"]["terminated"]
        assert (terminated["exitCode"], terminated["reason"]) == (137, "OOMKilled")

    contained(play)
    assert not engine.containers(f"{CLUSTER}={label(tmp_path / 'node' / 'namespaced')}")
    assert Path("oom").exists() == was_there, "the engine leaves no file where we are"


def test_deleting_a_pod_ends_what_sleeps_and_another_command_joins_before(contained: Callable[..., None]) -> None:
    async def play(made: Nodes) -> None:
        await give_host_users(made)
        await made.create(pod(containers=[box("echo up; sleep 600")], terminationGracePeriodSeconds=1))
        await made.until("p", lambda found: phase(found) == "Running")
        channel = await made.running.streams.exec(ref("p"), ["sh", "-c", "hostname; exit 4"])
        said, end = await heard(channel)
        assert said[1] == b"p\n"
        assert end["details"]["causes"] == [{"reason": "ExitCode", "message": "4"}]
        await made.api.delete(ref("p"))
        await made.gone()

    contained(play)


def test_what_a_former_life_left_is_ended(engine: Engine, tmp_path: Path) -> None:
    async def play() -> None:
        former = ContainerRunner(tmp_path / "runner", environment=engine.environment, engine=engine.name)
        await former.sweep()
        made = Box(Ref("", "Pod", NAMESPACE, "p"), "uid-1", "p", tmp_path / "box")
        made.folder.mkdir()
        await former.make(made)
        with open(os.devnull, "r+b") as nothing:
            stdio = Stdio(nothing.fileno(), nothing.fileno(), nothing.fileno())
            sleeps = Program("c", ("sleep", "600"), {}, cwd="", image=Image(IMAGE, "Never"))
            started = await former.start(made, sleeps, stdio)
        # As after `kill -9`: nobody has ended anything, and another one comes to the same folder.
        latter = ContainerRunner(tmp_path / "runner", environment=engine.environment, engine=engine.name)
        assert list(await latter.sweep()) == ["uid-1"]
        assert not Path(f"/proc/{started.pid}").exists()
        await former.wait(started)
        await former.close()
        await latter.close()

    asyncio.run(play())


def test_without_an_engine_it_is_refused_in_a_sentence(tmp_path: Path) -> None:
    if os.geteuid():
        pytest.skip("needs root: another sentence comes first")
    runner = ContainerRunner(tmp_path, environment={"PATH": str(tmp_path)})
    with pytest.raises(Unable, match=r"\(podman: it is not on the PATH; docker: it is not on the PATH\); install or "):
        asyncio.run(runner.sweep())
