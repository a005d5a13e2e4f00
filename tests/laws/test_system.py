"""Laws of the whole system on virtual time: whatever happens, and whenever its controllers are started anew."""

import asyncio
from collections import defaultdict
from contextlib import suppress
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rehearsals import NAMESPACE, TRAINER, Rehearsal, runtime, trainjob
from trainplane.api.quantity import parse
from trainplane.api.raw import look, put
from trainplane.api.ref import Ref
from trainplane.cluster.client import Patch
from trainplane.cluster.errors import AlreadyExists, ApiError, NotFound
from trainplane.control import virtual
from trainplane.control.loop import Loop
from trainplane.node.simulated import Size
from trainplane.simulate import World, kind, world

Raw = dict[str, Any]
JOBS = ("a", "b", "c", "d")
NODES = ("node-0", "node-1", "node-2")
ROOM = Size(cpu="2", memory="8Gi")
RESTARTS = 2
LONG = 4 * 3600 + 123.456
"""Seconds after which all must be over; at no moment at which a heartbeat is due."""
LEFT_BY_JOBS = (
    ("jobset.x-k8s.io", "JobSet"),
    ("batch", "Job"),
    ("", "Pod"),
    ("scheduling.x-k8s.io", "PodGroup"),
    ("", "Service"),
    ("", "Secret"),
    ("", "Endpoints"),
    ("discovery.k8s.io", "EndpointSlice"),
    ("autoscaling", "HorizontalPodAutoscaler"),
)
WISHES = st.fixed_dictionaries(
    {
        "runtime": st.sampled_from(("gang", "loose")),
        "nodes": st.integers(1, 4),
        "seconds": st.sampled_from(("0", "20", "400")),
        "start_seconds": st.sampled_from(("0", "7")),
        "fail_attempts": st.sampled_from(("", "1", "1,2", "1,2,3,4,5,6,7,8,9")),
    }
)
STEPS = st.one_of(
    st.tuples(st.just("create"), st.sampled_from(JOBS), WISHES),
    st.tuples(st.sampled_from(("delete", "suspend", "resume", "kill")), st.sampled_from(JOBS), st.none()),
    st.tuples(st.sampled_from(("lose", "find", "cordon", "uncordon", "remove")), st.sampled_from(NODES), st.none()),
    st.tuples(st.just("restart"), st.just(""), st.integers(0, 400)),
    st.tuples(st.just("wait"), st.just(""), st.sampled_from((0.01, 1.0, 30.0, 500.0))),
)


class Witness:
    """Sees every change of pods and jobs, in order, and holds it against the laws."""

    def __init__(self, made: World) -> None:
        self.api = made.api
        self.allocatable = {"cpu": parse(ROOM.cpu).nano, "memory": parse(ROOM.memory).nano}
        self.pods: dict[str, Raw] = {}
        self.homes: dict[str, str] = {}
        self.ends: dict[str, str] = {}
        self.bound_now: dict[str, set[str]] = defaultdict(set)
        self.instant = 0.0
        self.log: list[tuple[str, str, str, str]] = []
        self.tasks: list[asyncio.Task[None]] = []

    async def begin(self) -> None:
        """See everything from now on."""
        for group, name in (("", "Pod"), (TRAINER, "TrainJob"), ("jobset.x-k8s.io", "JobSet")):
            row = kind(group, name)
            since = (await self.api.list(row)).resource_version
            self.tasks.append(asyncio.create_task(self._watch(row, since)))

    async def _watch(self, row: Any, since: str) -> None:
        async for change in self.api.watch(row, since=since):
            raw, gone = change.object, change.happened == "DELETED"
            if change.happened == "BOOKMARK":
                continue
            metadata = raw["metadata"]
            phase = look(raw, "status", "phase") or look(raw, "status", "summary", "state") or ""
            self.log.append((change.happened, row.kind, metadata["name"], f"{metadata['resourceVersion']} {phase}"))
            {"Pod": self._pod, "TrainJob": self._job, "JobSet": self._jobset}[row.kind](raw, gone)

    def check(self) -> None:
        """Raise what a watch found wrong."""
        for task in self.tasks:
            if task.done():
                task.result()

    def _pod(self, raw: Raw, gone: bool) -> None:
        uid, node = raw["metadata"]["uid"], raw["spec"].get("nodeName", "")
        now = asyncio.get_running_loop().time()
        if now != self.instant:
            self._whole_gangs()
            self.instant = now
        if gone:
            self.pods.pop(uid, None)
            return
        group = (raw["metadata"].get("labels") or {}).get("scheduling.x-k8s.io/pod-group")
        if node and uid not in self.homes and group:
            self.bound_now[group].add(uid)
        assert self.homes.setdefault(uid, node) in ("", node), "no pod is bound twice"
        if node:
            self.homes[uid] = node
        else:
            del self.homes[uid]
        self.pods[uid] = raw
        if node and look(raw, "status", "phase") not in ("Succeeded", "Failed"):
            self._no_more_than_there_is(node)

    def _no_more_than_there_is(self, node: str) -> None:
        used = 0
        for raw in self.pods.values():
            if raw["spec"].get("nodeName") == node and look(raw, "status", "phase") not in ("Succeeded", "Failed"):
                used += sum(parse(one["resources"]["requests"]["cpu"]).nano for one in raw["spec"]["containers"])
        assert used <= self.allocatable["cpu"], f"{node} is over-committed"

    def _whole_gangs(self) -> None:
        for group, new in self.bound_now.items():
            members = [
                raw
                for raw in self.pods.values()
                if (raw["metadata"].get("labels") or {}).get("scheduling.x-k8s.io/pod-group") == group
            ]
            placed = {raw["metadata"]["uid"] for raw in members if raw["spec"].get("nodeName")} | new
            wanted = int(members[0]["metadata"]["annotations"]["example.com/size"]) if members else 0
            assert len(placed) >= wanted, f"the gang {group} is split: {len(placed)} of {wanted} have a node"
        self.bound_now.clear()

    def _job(self, raw: Raw, gone: bool) -> None:
        uid = raw["metadata"]["uid"]
        conditions = look(raw, "status", "conditions") or ()
        ends = [one["type"] for one in conditions if one["type"] in ("Complete", "Failed") and one["status"] == "True"]
        assert len(ends) <= 1
        before = self.ends.get(uid)
        if ends:
            self.ends[uid] = ends[0]
        assert before is None or gone or ends == [before], "every terminal job stays terminal"

    def _jobset(self, raw: Raw, gone: bool) -> None:
        assert gone or (look(raw, "status", "restarts") or 0) <= RESTARTS, "restarts never exceed the limit"


class Troupe:
    """The controllers, which may be sent away and called again."""

    def __init__(self, made: World) -> None:
        self.made = made
        self.loop: Loop | None = None
        self._task: asyncio.Task[None] | None = None

    async def call(self) -> None:
        """Have controllers at work that know nothing of those before them."""
        self.loop = Loop(self.made.controllers(), self.made.api, self.made.clock, scopes={}, kinds=self.made.api.kinds)
        self._task = asyncio.create_task(self.loop.run())

    async def dismiss(self) -> None:
        """Stop them wherever they are."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task


async def furnish(made: World) -> None:
    """Runtimes whose jobs restart twice, with and without a gang."""
    loose = runtime("loose", restart="Never", backoff=0, restarts=RESTARTS)
    await made.api.create(loose)
    gang = put(loose, ("spec", "podGroupPolicy"), {"coscheduling": {"scheduleTimeoutSeconds": 60}})
    await made.api.create(put(gang, ("metadata",), {"name": "gang"}))


def wanted(name: str, wish: Raw) -> Raw:
    """A TrainJob as it was wished for."""
    said = {key: value for key, value in wish.items() if key not in ("runtime", "nodes") and value}
    job = trainjob(name, runtime=wish["runtime"], nodes=wish["nodes"], **said)
    path = ("spec", "runtimePatches", 0, "trainingRuntimeSpec", "template", "spec", "replicatedJobs", 0)
    size = (*path, "template", "spec", "template", "metadata", "annotations", "example.com/size")
    return put(job, size, str(wish["nodes"]))


async def step(made: World, troupe: Troupe, what: str, which: str, how: Any) -> None:
    """One thing that happens to the cluster."""
    job, node = Ref(TRAINER, "TrainJob", NAMESPACE, which), Ref("", "Node", "", which)
    api = made.api
    match what:
        case "create":
            with suppress(AlreadyExists):
                await api.create(wanted(which, how))
        case "delete":
            await api.delete(job)
        case "suspend" | "resume":
            await api.patch(job, Patch.merge({"spec": {"suspend": what == "suspend"}}))
        case "kill":
            pods = (await api.list(kind("", "Pod"), labels=f"jobset.sigs.k8s.io/jobset-name={which}")).items
            for raw in pods[:1]:
                await api.delete(Ref.of(raw))
        case "lose" | "find":
            mark = {"simulate.trainplane.dev/lost": "true" if what == "lose" else None}
            await api.patch(node, Patch.merge({"metadata": {"annotations": mark}}))
        case "cordon" | "uncordon":
            await api.patch(node, Patch.merge({"spec": {"unschedulable": what == "cordon"}}))
        case "remove":
            await api.delete(node)
        case "restart":
            for _ in range(how):
                await asyncio.sleep(0)
            await troupe.dismiss()
            await troupe.call()
        case "wait":
            await asyncio.sleep(how)


async def play(steps: list[tuple[str, str, Any]], *, seed: int = 0) -> tuple[list[Any], dict[str, str]]:
    """Let all of it happen; returns what was seen, and how each job ended."""
    async with world(nodes=len(NODES), size=ROOM, seed=seed) as made:
        await furnish(made)
        witness, troupe = Witness(made), Troupe(made)
        await witness.begin()
        await troupe.call()
        await asyncio.sleep(1)
        try:
            for one in steps:
                with suppress(NotFound):
                    await step(made, troupe, *one)
                witness.check()
            for name in NODES:
                for last in ("find", "uncordon"):
                    with suppress(ApiError):
                        await step(made, troupe, last, name, None)
            for name in JOBS:
                with suppress(ApiError):
                    await step(made, troupe, "resume", name, None)
            await asyncio.sleep(LONG)
            witness.check()
            assert troupe.loop is not None
            stage = Rehearsal(made, troupe.loop)
            ends = {raw["metadata"]["name"]: state(raw) for raw in await stage.all("TrainJob")}
            assert set(ends.values()) <= {"Complete", "Failed"}, ends
            assert troupe.loop.is_idle
            for raw in await stage.all("TrainJob"):
                await stage.delete(raw)
            await asyncio.sleep(300)
            left = [
                f"{name} {raw['metadata']['name']}"
                for group, name in LEFT_BY_JOBS
                for raw in (await made.api.list(kind(group, name))).items
            ]
            assert left == []
            maps = [
                raw["metadata"]["name"]
                for raw in (await made.api.list(kind("", "ConfigMap"), namespace=NAMESPACE)).items
            ]
            assert maps == ["kube-root-ca.crt"]
            witness.check()
            return witness.log, ends
        finally:
            await troupe.dismiss()
            for task in witness.tasks:
                task.cancel()


def state(job: Raw) -> str:
    """How a TrainJob ended."""
    found = look(job, "status", "conditions") or ()
    return next(
        (one["type"] for one in found if one["type"] in ("Complete", "Failed") and one["status"] == "True"),
        look(job, "status", "summary", "message"),
    )


@given(steps=st.lists(STEPS, max_size=14))
@settings(max_examples=30)
def test_everything_comes_to_its_end_and_no_law_is_broken_on_the_way(steps: list[tuple[str, str, Any]]) -> None:
    virtual.run(play(steps))


@given(steps=st.lists(STEPS, max_size=8), seed=st.integers(0, 3))
@settings(max_examples=5)
def test_the_same_seed_gives_the_same_run(steps: list[tuple[str, str, Any]], seed: int) -> None:
    assert virtual.run(play(steps, seed=seed)) == virtual.run(play(steps, seed=seed))
