"""The API in this process measured: what each write of a controller costs, on the disk that holds temporary files."""

import asyncio
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from bench.measure import ENVIRONMENT, Row
from bench.storing import fill, pod
from trainplane.api.ref import Ref
from trainplane.cluster.api import Api
from trainplane.cluster.collector import rarely
from trainplane.cluster.resources import SERVED_KINDS
from trainplane.cluster.sqlite import Disk
from trainplane.cluster.store import Store
from trainplane.control import clock
from trainplane.furniture import companions

WRITERS = 64
OBJECTS = 3_000
ROUNDS = 3
NAMESPACE = "research"
MOST = 10_000

Verb = Callable[[Api, int], Awaitable[object]]


class Cost(msgspec.Struct, frozen=True):
    """How many a second by the clock, the processor's seconds for each, and how long they took."""

    rate: float
    busy: float
    p50: float
    p99: float


def _ref(number: int) -> Ref:
    return Ref("", "Pod", NAMESPACE, f"train-{number}")


def _create(api: Api, number: int) -> Awaitable[object]:
    raw = pod(number)
    del raw["status"]
    return api.create(raw)


def _bind(api: Api, number: int) -> Awaitable[object]:
    return api.bind(_ref(number), "node-1")


def _status(api: Api, number: int) -> Awaitable[object]:
    then = "2026-01-31T12:00:00Z"
    conditions = [{"type": name, "status": "True", "lastTransitionTime": then} for name in ("Ready", "PodScheduled")]
    state = {"name": "node", "ready": True, "restartCount": 0, "state": {"running": {"startedAt": then}}}
    status: dict[str, Any] = {"phase": "Running", "podIP": "10.0.0.7", "conditions": conditions}
    return api.set_status(_ref(number), {**status, "containerStatuses": [{**state, "image": "i", "imageID": "i"}]})


def _apply(api: Api, number: int) -> Awaitable[object]:
    metadata = {"name": f"train-{number}", "namespace": NAMESPACE, "labels": {"queue": "research"}}
    return api.apply({"apiVersion": "v1", "kind": "Pod", "metadata": metadata}, manager="bench", force=True)


def _event(api: Api, number: int) -> Awaitable[object]:
    about = {"apiVersion": "v1", "kind": "Pod", "namespace": NAMESPACE, "name": f"train-{number}"}
    said = {"reason": "Scheduled", "note": f"train-{number} is on node-1", "type": "Normal", "action": "Binding"}
    metadata = {"name": f"train-{number}.17f", "namespace": NAMESPACE}
    reporter = {"reportingController": "scheduler", "reportingInstance": "scheduler-0"}
    when = {"eventTime": "2026-01-31T12:00:00.000000Z"}
    raw = {"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": metadata, "regarding": about}
    return api.create({**raw, **said, **reporter, **when})


VERBS: dict[str, Verb] = {
    "create a pod": _create,
    "bind it": _bind,
    "set its status": _status,
    "apply a label of it": _apply,
    "create an Event": _event,
}


async def _each(api: Api, verb: Verb, *, objects: int) -> Cost:
    numbers, taken = iter(range(objects)), []

    async def work(numbers: Iterator[int]) -> None:
        for number in numbers:
            start = time.perf_counter()
            await verb(api, number)
            taken.append(time.perf_counter() - start)

    start, busy = time.perf_counter(), time.process_time()
    async with asyncio.TaskGroup() as tasks:
        for _ in range(WRITERS):
            tasks.create_task(work(numbers))
    seconds, busy = time.perf_counter() - start, time.process_time() - busy
    taken.sort()
    return Cost(objects / seconds, busy / objects, taken[len(taken) // 2], taken[len(taken) * 99 // 100])


async def _with_api(folder: Path, work: Callable[[Api], Awaitable[None]]) -> None:
    with Disk(folder, now=time.time) as disk, rarely():
        store = Store(disk, now=time.time)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(store.run())
            api = Api(store, kinds=SERVED_KINDS, now=clock.now, companions=lambda _: companions("certificate"))
            await api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
            await work(api)
            store.close()


async def _round(folder: Path) -> dict[str, Cost]:
    costs: dict[str, Cost] = {}

    async def work(api: Api) -> None:
        for name, verb in VERBS.items():
            costs[name] = await _each(api, verb, objects=OBJECTS)

    await _with_api(folder / "api", work)
    with Disk(folder / "store", now=time.time) as disk, rarely():
        store = Store(disk, now=time.time)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(store.run())
            start, busy = time.perf_counter(), time.process_time()
            taken = sorted(await fill(store, objects=OBJECTS))
            seconds, busy = time.perf_counter() - start, time.process_time() - busy
            store.close()
    half = taken[len(taken) // 2]
    costs[""] = Cost(OBJECTS / seconds, busy / OBJECTS, half, taken[len(taken) * 99 // 100])
    return costs


def writing() -> list[Row]:
    """What the verbs that controllers use cost, beside what the Store alone takes for a pod."""
    rounds = []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            rounds.append(asyncio.run(_round(Path(folder))))
    made = []
    store = statistics.median(each[""].busy for each in rounds)
    for name in VERBS:
        costs = [each[name] for each in rounds]
        rate, busy = (statistics.median(getattr(cost, what) for cost in costs) for what in ("rate", "busy"))
        p50, p99 = (statistics.median(getattr(cost, what) for cost in costs) * 1000 for what in ("p50", "p99"))
        aim = 2_500 if name == "create a pod" else 0
        made.append(
            Row(
                what=f"{name}, {WRITERS} writers (p50 {p50:.1f} ms, p99 {p99:.1f} ms)",
                figure=f"{rate:,.0f}/s, {busy * 1e6:.0f} µs of processor time",
                aim=f"at least {aim:,}/s" if aim else "",
                baseline=f"the Store alone, a pod: {store * 1e6:.0f} µs",
                ratio=f"{busy / store:.1f}×",
                reached=rate >= aim,
            )
        )
    return [*made, holding()]


HELD = """
import asyncio, sys
from pathlib import Path
from bench.verbs import MOST, _create, _each, _with_api
sizes = []
async def work(api):
    await _each(api, _create, objects=MOST)
    sizes.append(sum(len(item.value) for item in api.ground.store.list("pods").items))
asyncio.run(_with_api(Path(sys.argv[1]), work))
print(Path("/proc/self/status").read_text(), sizes[0])
"""


def holding() -> Row:
    """The memory of a process that has made many pods through the API, all of them in the history too."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", HELD, f"{folder}/data"]
        said = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=True).stdout
    found = re.search(r"VmHWM:\s+(\d+)", said)
    assert found
    memory, size = int(found[1]) / 1024, int(said.split()[-1]) / 1e6
    return Row(
        what=f"most memory of a process that made {MOST:,} pods through the API",
        figure=f"{memory:.0f} MB",
        aim="under 150 MB",
        baseline=f"their JSON: {size:.0f} MB",
        ratio=f"{memory / size:.1f}×",
        reached=memory < 150,
    )
