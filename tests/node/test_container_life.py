"""The life of a container that an engine has made: commands that join it, hooks, probes, ends; and what is left."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.node.engines import IMAGE, Engine, box, give_host_users
from tests.node.faults import marked, until
from tests.node.nodes import NAMESPACE, Nodes, container, phase, pod, ref, states
from tests.node.test_streams import heard
from tests.patience import PATIENCE
from trainplane.api.ref import Ref
from trainplane.node.container import ContainerRunner
from trainplane.node.engine import CLUSTER
from trainplane.node.machine import Settings, choose
from trainplane.node.namespaced.leftovers import label
from trainplane.node.runner import Box, Image, NotStarted, Program, Started, Stdio


def test_a_pod_that_is_deleted_has_its_hook_then_its_signal_within_the_grace(
    contained: Callable[..., None], tmp_path: Path
) -> None:
    script = "trap 'echo term >> $TRAINPLANE_OUTPUT/said; exit 0' TERM; while :; do sleep 0.1; done"
    hook = {"preStop": {"exec": {"command": ["sh", "-c", "echo hook >> $TRAINPLANE_OUTPUT/said"]}}}

    async def play(made: Nodes) -> None:
        await give_host_users(made)
        await made.create(pod(containers=[box(script, lifecycle=hook)], terminationGracePeriodSeconds=60))
        await made.until("p", lambda found: phase(found) == "Running")
        await made.api.delete(ref("p"))
        await made.gone()
        assert (tmp_path / "jobs" / NAMESPACE / "p" / "output" / "said").read_text() == "hook\nterm\n"

    contained(play)


def test_a_probe_that_hangs_is_ended_with_all_that_it_started(contained: Callable[..., None], tmp_path: Path) -> None:
    mark, probed = f"probe-of-{tmp_path}", tmp_path / "jobs" / NAMESPACE / "p" / "output" / "probed"
    hangs = f"echo again >> $TRAINPLANE_OUTPUT/probed; WHOSE={mark} sleep 600"
    probe = {"exec": {"command": ["sh", "-c", hangs]}, "timeoutSeconds": 1, "periodSeconds": 1}

    async def play(made: Nodes) -> None:
        await give_host_users(made)
        await made.create(
            pod(containers=[box("exec sleep 601", readinessProbe=probe)], terminationGracePeriodSeconds=0)
        )
        async with asyncio.timeout(PATIENCE):
            while not probed.exists() or len(probed.read_text().splitlines()) < 3:
                await asyncio.sleep(0.1)
        assert len(marked(mark)) <= 1, "those before it are gone"
        (state,) = states(await made.pod()).values()
        assert "running" in state

    contained(play)


def test_what_is_typed_goes_in_and_a_terminal_is_one(contained: Callable[..., None]) -> None:
    async def play(made: Nodes) -> None:
        await give_host_users(made)
        await made.create(pod(containers=[box("read line; echo got $line; exec sleep 600", stdin=True)]))
        await made.until("p", lambda found: phase(found) == "Running")
        attached = await made.running.streams.attach(ref("p"), stdin=True)
        await attached.send(b"a word\n")
        async with asyncio.timeout(PATIENCE):
            while b"got a word" not in ((await attached.receive()) or (1, b"got a word"))[1]:
                pass
        await attached.close()
        said, end = await heard(await made.running.streams.exec(ref("p"), ["tty"], stdin=True, tty=True))
        assert said[1].strip().startswith(b"/dev/")
        assert end["status"] == "Success"
        said, _ = await heard(await made.running.streams.exec(ref("p"), ["sh", "-c", "echo out; echo wrong >&2"]))
        assert said == {1: b"out\n", 2: b"wrong\n"}

    contained(play)


def test_containers_of_a_pod_see_each_others_processes_where_it_says_so(
    contained: Callable[..., None], engine: Engine
) -> None:
    async def play(made: Nodes) -> None:
        if engine.name == "podman":
            await give_host_users(made)
        look = "until ps | grep -q '[s]leep 611'; do sleep 0.1; done; (true &); sleep 1; ps | grep -c '[Z] '; exit 0"
        both = [box("exec sleep 611"), container("d", look, image=IMAGE)]
        await made.create(pod(containers=both, shareProcessNamespace=True))
        await made.until("p", lambda found: "terminated" in states(found).get("d", {}))
        assert await made.log(container="d") == "0\n", "what ends is buried"

    contained(play)


def test_volumes_are_shared_in_memory_and_by_parts_and_read_only_where_the_pod_says(
    contained: Callable[..., None],
) -> None:
    write = "echo held > /m/f; echo part > /v/sub/f; touch /r/x 2>/dev/null || echo refused; stat -f -c %T /m"
    read = "until cat /m/f 2>/dev/null && cat /part/f 2>/dev/null; do sleep 0.1; done; ls /part"
    volumes = [{"name": "m", "emptyDir": {"medium": "Memory"}}, {"name": "v", "emptyDir": {}}]

    async def play(made: Nodes) -> None:
        mounts: list[dict[str, Any]] = [{"name": "m", "mountPath": "/m"}, {"name": "v", "mountPath": "/v"}]
        mounts += [{"name": "v", "mountPath": "/r", "readOnly": True}]
        others = [{"name": "m", "mountPath": "/m"}, {"name": "v", "mountPath": "/part", "subPath": "sub"}]
        first = box("mkdir /v/sub", name="first", volumeMounts=mounts)
        both = [box(write, volumeMounts=mounts), box(read, name="d", volumeMounts=others)]
        await made.create(pod(initContainers=[first], containers=both, volumes=volumes))
        assert phase(await made.ended()) == "Succeeded", await made.log(container="d")
        assert (await made.log(container="c")).splitlines()[-2:] == ["refused", "tmpfs"]
        assert (await made.log(container="d")).splitlines()[-3:] == ["held", "part", "f"]

    contained(play)


@asynccontextmanager
async def lives(engine: Engine, folder: Path) -> AsyncIterator[tuple[ContainerRunner, Box]]:
    """A Runner with a box."""
    runner = ContainerRunner(folder / "runner", environment=engine.environment, engine=engine.name)
    await runner.sweep()
    made = Box(Ref("", "Pod", NAMESPACE, "p"), "uid-1", "p", folder / "box")
    made.folder.mkdir()
    try:
        yield runner, made
    finally:
        await runner.close()


async def start(runner: ContainerRunner, made: Box, script: str, name: str = "c") -> Started:
    """Start a container, whose output is a file in the box's folder."""
    with (made.folder / f"{name}.log").open("wb") as log, open(os.devnull, "rb") as nothing:
        program = Program(name, ("sh", "-c", script), {}, cwd="", image=Image(IMAGE, "Never"))
        return await runner.start(made, program, Stdio(nothing.fileno(), log.fileno(), log.fileno()))


async def join(runner: ContainerRunner, first: Started, *argv: str) -> Started:
    """Start another command in a container; nobody hears what it says."""
    with open(os.devnull, "r+b") as nothing:
        return await runner.exec(first, argv, Stdio(nothing.fileno(), nothing.fileno(), nothing.fileno()))


def test_what_a_pod_uses_is_counted(engine: Engine, tmp_path: Path) -> None:
    async def play() -> None:
        async with asyncio.timeout(PATIENCE), lives(engine, tmp_path) as (runner, made):
            await runner.make(made)
            await start(runner, made, "while :; do :; done")
            while not ((found := await runner.use(made)).cpu_seconds > 0.2 and 0 < found.memory < 1 << 30):
                await asyncio.sleep(0.05)
            await runner.remove(made)
            assert await runner.use(made) == type(found)(0.0, 0)

    asyncio.run(play())


@pytest.mark.parametrize("engine", ["podman"], indirect=True)
def test_a_pod_goes_even_while_something_has_a_folder_of_its_container_in_use(engine: Engine, tmp_path: Path) -> None:
    async def play() -> None:
        async with asyncio.timeout(PATIENCE), lives(engine, tmp_path) as (runner, made):
            await runner.make(made)
            # Of one alone, podman may take another way: whoever is first to tidy up after it is not always the same.
            names = [(await start(runner, made, "echo up; exec sleep 600", name=name)).id for name in "cde"]
            while not all((made.folder / f"{name}.log").read_text() for name in "cde"):
                await asyncio.sleep(0.02)
            folders = [Path(line) for line in engine.ask("inspect", "--format", "{{.StaticDir}}", *names).split()]
            busy = [await asyncio.create_subprocess_exec("sleep", "600", cwd=each / "shm") for each in folders]
            try:
                await runner.remove(made)
                assert not engine.containers(f"{CLUSTER}={label(tmp_path / 'runner')}")
                mounts = Path("/proc/self/mounts").read_text()
                assert [each for each in folders if str(each) in mounts or each.exists()] == []
            finally:
                for each in busy:
                    each.kill()
                    await each.wait()

    asyncio.run(play())


@pytest.mark.parametrize("after", [0.0, 0.1, 0.4])
def test_a_command_that_is_ended_leaves_nothing_even_before_the_engine_has_begun_it(
    engine: Engine, tmp_path: Path, after: float
) -> None:
    mark = f"joined-in-{tmp_path}"

    async def play() -> None:
        async with asyncio.timeout(PATIENCE), lives(engine, tmp_path) as (runner, made):
            made = replace(made, host_users=True)
            await runner.make(made)
            first = await start(runner, made, "exec sleep 600")
            joined = await join(runner, first, "sh", "-c", f"WHOSE={mark} sleep 600")
            await asyncio.sleep(after)
            await runner.kill(joined, signal.SIGKILL)
            await runner.wait(joined)
            assert marked(mark) == []
            second = await start(runner, made, "true", name="d")
            assert (await runner.wait(second)).code == 0
            assert marked(mark) == []

    asyncio.run(play())


def test_commands_in_a_container_have_ended_when_its_pod_is_removed(engine: Engine, tmp_path: Path) -> None:
    async def play() -> None:
        async with asyncio.timeout(PATIENCE), lives(engine, tmp_path) as (runner, made):
            made = replace(made, host_users=True)
            await runner.make(made)
            first = await start(runner, made, "exec sleep 600")
            joined = await join(runner, first, "sleep", "600")
            # As one that does not hear of its container's end.
            os.kill(joined.pid, signal.SIGSTOP)
            await runner.remove(made)
            assert not Path(f"/proc/{joined.pid}").exists(), "the engine's command, which stands for it"

    asyncio.run(play())


def children() -> dict[int, bytes]:
    """The processes that this one has started, and by which words."""
    found = {}
    for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
        # It may end while we look.
        with suppress(OSError):
            found[int(pid)] = Path(f"/proc/{pid}/cmdline").read_bytes()
    return found


def test_a_runner_that_is_told_to_stop_while_it_tries_its_engine_leaves_nothing(engine: Engine, tmp_path: Path) -> None:
    before = set(children())

    async def play() -> None:
        runner = ContainerRunner(tmp_path / "runner", environment=engine.environment, engine=engine.name)
        sweeping = asyncio.create_task(runner.sweep())
        async with asyncio.timeout(PATIENCE):
            while not any(b"-trial" in words for words in children().values()):
                await asyncio.sleep(0)
        sweeping.cancel()
        await asyncio.wait({sweeping})
        assert sweeping.cancelled()
        assert set(children()) <= before, "the fork server too"
        assert not engine.containers(f"{CLUSTER}={label(tmp_path / 'runner')}")

    asyncio.run(play())


def test_what_was_cut_short_is_gone_with_the_runner(engine: Engine, tmp_path: Path) -> None:
    async def play() -> None:
        async with asyncio.timeout(PATIENCE), lives(engine, tmp_path) as (runner, made):
            await runner.make(made)
            await start(runner, made, "exec sleep 600")
            removal = asyncio.create_task(runner.remove(made))
            await asyncio.sleep(0)
            removal.cancel()
            await asyncio.wait({removal})
            assert engine.containers(f"{CLUSTER}={label(tmp_path / 'runner')}"), "it was too late"
        assert not engine.containers(f"{CLUSTER}={label(tmp_path / 'runner')}")
        assert [words for words in children().values() if b"uid-1" in words] == []

    asyncio.run(play())


def test_a_container_that_is_being_made_when_all_ends_is_gone_too(engine: Engine, tmp_path: Path) -> None:
    async def play() -> None:
        async with asyncio.timeout(PATIENCE), lives(engine, tmp_path) as (runner, _):
            making = asyncio.create_task(runner.engine.create(*runner.engine.marks, "--network", "none", IMAGE, "true"))
            await asyncio.sleep(0)
            making.cancel()
            await asyncio.wait({making})
            assert making.cancelled()
            assert engine.containers(f"{CLUSTER}={label(tmp_path / 'runner')}"), "docker makes it though nobody asks"
        assert not engine.containers(f"{CLUSTER}={label(tmp_path / 'runner')}")

    asyncio.run(play())


def test_a_container_goes_on_without_the_command_that_stands_for_it(engine: Engine, tmp_path: Path) -> None:
    async def play() -> None:
        async with asyncio.timeout(PATIENCE), lives(engine, tmp_path) as (runner, made):
            await runner.make(made)
            started = await start(runner, made, "echo up; sleep 2; exit 5")
            while not (made.folder / "c.log").read_text():
                await asyncio.sleep(0.02)
            (client,) = [pid for pid, words in children().items() if f"\0{started.id}\0".encode() in words]
            os.kill(client, signal.SIGKILL)
            assert (await runner.wait(started)).code == 5

    asyncio.run(play())


def test_the_network_is_there_again_after_the_fork_server_was_killed(engine: Engine, tmp_path: Path) -> None:
    async def play() -> None:
        async with asyncio.timeout(PATIENCE), lives(engine, tmp_path) as (runner, made):
            (address,) = await runner.make(made)
            first = await start(runner, made, "true")
            assert (await runner.wait(first)).code == 0
            noted = json.loads((tmp_path / "runner" / "server.json").read_text())
            os.kill(max(map(int, noted["pids"])), signal.SIGKILL)
            while True:
                # Until the end of the fork server is noticed, there is nobody who could make anything.
                try:
                    await start(runner, made, "cd /bin; exec httpd -f -p 8000", name="d")
                    served = await runner.dial(made, 8000)
                except (NotStarted, OSError):
                    await asyncio.sleep(0.2)
                    continue
                served.close()
                break
            second = await start(runner, made, f"wget -q -Y off -O /dev/null http://{address}:8000/sh", name="e")
            assert (await runner.wait(second)).code == 0

    asyncio.run(play())


def test_another_runner_ends_what_an_engine_still_runs_and_nothing_of_others(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in engine.extra.items():
        monkeypatch.setenv(name, value)
    folder, mark = tmp_path / "node" / "namespaced", f"dev.trainplane.test={label(tmp_path)}"
    others = engine.ask("run", "--detach", "--network", "none", "--label", mark, "--entrypoint", "sleep", IMAGE, "600")

    async def play() -> None:
        former = ContainerRunner(folder, environment=engine.environment, engine=engine.name)
        await former.sweep()
        made = Box(Ref("", "Pod", NAMESPACE, "p"), "uid-1", "p", tmp_path / "box")
        made.folder.mkdir()
        await former.make(made)
        started = await start(former, made, "sleep 600")
        assert len(engine.containers(f"{CLUSTER}={label(folder)}")) == (2 if engine.name == "docker" else 1)
        # As after `kill -9`: nobody has ended anything.
        with monkeypatch.context() as away:
            away.setenv("PATH", str(tmp_path))
            await (await choose(Settings(1, runner="process"), tmp_path)).close()
        assert engine.containers(f"{CLUSTER}={label(folder)}"), "nobody could be asked"
        latter = await choose(Settings(1, runner="process"), tmp_path)
        assert engine.containers(f"{CLUSTER}={label(folder)}") == []
        until(lambda: not Path(f"/proc/{started.pid}").exists(), "the end of the container")
        await former.wait(started)
        await former.close()
        await latter.close()

    try:
        asyncio.run(play())
        assert len(engine.containers(mark)) == 1
    finally:
        engine.ask("rm", "--force", others.strip())
