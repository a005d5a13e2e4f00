"""Limits: what is held, by what, and what is told of it."""

import asyncio
import os
import time
from pathlib import Path

import pytest

from tests.node.namespaced.boxes import Town, honoured, town
from trainplane.node.namespaced.cgroups import Limits, find, remove
from trainplane.node.namespaced.leftovers import label
from trainplane.node.namespaced.places import Places

MIB = 1 << 20
HUNGRY = "import time; data = bytearray(300 << 20); print('fed'); time.sleep(600)"


@pytest.mark.parametrize("place", ["container", "pod"])
def test_a_container_over_its_memory_is_killed_and_that_is_told(tmp_path: Path, place: str) -> None:
    async def story() -> None:
        async with town(tmp_path) as here:
            if place == "pod" and not honoured(here.runner, "MemoryLimits"):
                pytest.skip("a pod's limit is held by control groups only, and none can be made")
            box, fields = ({"memory": 100 * MIB}, {}) if place == "pod" else ({}, {"memory": 100 * MIB})
            pod = await here.python("p", HUNGRY, box=box, **fields)
            ended = await pod.end()
            assert (ended.signal, ended.oom) == (9, True), pod.text

    asyncio.run(story())


def test_one_within_its_memory_is_left_alone(tmp_path: Path) -> None:
    async def story() -> None:
        async with town(tmp_path) as here:
            pod = await here.python("p", "data = bytearray(20 << 20)", memory=200 * MIB)
            ended = await pod.end()
            assert (ended.code, ended.signal, ended.oom) == (0, 0, False)

    asyncio.run(story())


async def _seconds_for(here: Town, name: str, cpus: float | None) -> float:
    spin = (
        "import time; start = time.monotonic()\nwhile time.process_time() < 0.4: pass\nprint(time.monotonic() - start)"
    )
    pod = await here.python(name, spin, cpus=cpus)
    await pod.end()
    return float(pod.text)


def test_a_fifth_of_a_core_is_a_fifth(tmp_path: Path) -> None:
    async def story() -> float:
        async with town(tmp_path) as here:
            if not honoured(here.runner, "CPULimits"):
                pytest.skip("a part of a core is held by control groups only, and none can be made")
            return await _seconds_for(here, "p", 0.2)

    assert asyncio.run(story()) > 1.2


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core cannot be divided")
def test_a_container_counts_the_cores_it_may_use(tmp_path: Path) -> None:
    async def story() -> list[str]:
        async with town(tmp_path) as here:
            pods = [await here.pod(name, "sh", "-c", "nproc; sleep 600", cpus=1.0) for name in ("a", "b")]
            for pod in pods:
                await pod.says("\n")
            free = await here.pod("c", "nproc")
            await free.end()
            cores = [os.sched_getaffinity(pod.started.pid) for pod in pods]
            assert cores[0] != cores[1], "they are not put on the same one"
            return [pod.text.strip() for pod in (*pods, free)]

    assert asyncio.run(story()) == ["1", "1", str(len(os.sched_getaffinity(0)))]


def test_use_is_counted(tmp_path: Path) -> None:
    busy = (
        "import time\ndata = bytearray(50 << 20)\nwhile time.process_time() < 0.3: pass\nprint('up'); time.sleep(600)"
    )

    async def story() -> None:
        async with town(tmp_path) as here:
            pod = await here.python("p", busy)
            await pod.says("up")
            use = await here.runner.use(pod.box)
            assert use.memory > 50 * MIB
            assert 0.25 < use.cpu_seconds < 10
            await here.runner.remove(pod.box)
            assert (await here.runner.use(pod.box)).memory == 0

    asyncio.run(story())


def test_control_groups_are_made_and_removed(tmp_path: Path) -> None:
    async def story() -> list[str]:
        async with town(tmp_path) as here:
            if not honoured(here.runner, "MemoryLimits"):
                pytest.skip("no control groups can be made")
            pod = await here.pod("p", "sleep", "600", memory=64 * MIB)
            own = Path(f"/proc/{pod.started.pid}/cgroup").read_text(encoding="ascii")
            assert pod.box.uid in own
            folders = list(here.runner.control_groups)
            assert all(Path(folder, pod.box.uid).is_dir() for folder in folders)
            await here.runner.remove(pod.box)
            assert not any(Path(folder, pod.box.uid).exists() for folder in folders)
            return folders

    assert not any(Path(folder).exists() for folder in asyncio.run(story()))


def test_removing_a_group_ends_what_is_in_it(tmp_path: Path) -> None:
    groups = find(label(tmp_path))
    if groups is None:
        pytest.skip("no control groups can be made")
    os.makedirs(f"{groups.folders[0]}/pod/container")
    pid = os.fork()
    if pid == 0:
        Path(f"{groups.folders[0]}/pod/container/cgroup.procs").write_text("0", encoding="ascii")
        time.sleep(600)
        os._exit(0)
    while str(pid) not in Path(f"{groups.folders[0]}/pod/container/cgroup.procs").read_text(encoding="ascii"):
        time.sleep(0.01)
    found = [name for folder in groups.folders for name in remove(folder)]
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -9
    assert found == ["pod"]
    assert not any(Path(folder).exists() for folder in groups.folders)


def test_a_machine_that_has_less_itself_gives_what_it_has(tmp_path: Path) -> None:
    groups = find(label(tmp_path))
    cpu = groups and groups.describe().get("folders", {}).get("cpu")
    if not groups or not cpu:
        pytest.skip("only control groups of version 1 refuse more than the groups above them have")
    try:
        Path(cpu, "cpu.cfs_quota_us").write_text("20000", encoding="ascii")
        groups.make("pod", Limits(cpus=1.0))
        assert Path(cpu, "pod").is_dir()
    finally:
        for folder in groups.folders:
            remove(folder)


def test_cores_are_shared_out_evenly() -> None:
    places = Places(range(4))
    assert places.take(None) == places.take(4.0) == []
    assert places.take(1.5) == [0, 1]
    assert places.take(0.1) == [2]
    assert places.take(2) == [3, 0]
    places.give_back([0, 1])
    assert places.take(1) == [1]
