"""Whole clusters measured: TrainJobs from create to Complete on simulated nodes, by the clock and on virtual time."""

import asyncio
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

from bench.asking import Connection, Server, load
from bench.measure import ENVIRONMENT, Row, table
from trainplane.node.simulated import Size
from trainplane.simulate import simulate

Raw = dict[str, Any]
WHOLE = "TRAINPLANE_BENCH_WHOLE"
"""The environment variable that has the whole queue of the aim run, not a tenth of it."""
JOBS = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/default/trainjobs"
CLIENTS = 8
WRITTEN = re.compile(r'trainplane_writes_total{controller="(.*?)",verb="(.*?)",kind="(.*?)"} (\S+)')
WRITES: dict[tuple[str, str], str] = {
    ("create", "ConfigMap"): "the runtime as it was when the job began, so that later edits of it change nothing",
    ("create", "JobSet"): "what the job becomes",
    ("create", "Service"): "the names by which pods find each other",
    ("create", "Job"): "one for each replicated job",
    ("create", "Pod"): "the pods",
    ("bind", "Pod"): "the place of each",
    ("setstatus", "Pod"): "its node's word on it: a pod of no length has ended when it is first heard of",
    ("patch", "Pod"): "the finalizer that keeps a pod until it was counted, taken off",
    ("setstatus", "Job"): "that pods were made, and that they have succeeded",
    ("setstatus", "JobSet"): "that its Jobs are at work, and that they are done",
    ("setstatus", "TrainJob"): "what people look at: the pods are starting, and the job is done",
    ("create", "Event"): "two pods made, two placed, the Job and the JobSet completed: as Kubernetes tells it",
    ("create", "TrainJobRecord"): "what is left of the job when it is gone",
    ("create", "EndpointSlice"): "the addresses of the Service's pods, as long as there are any",
    ("patch", "EndpointSlice"): "the same when they change",
    ("create", "Endpoints"): "the same in the form of old",
    ("patch", "Endpoints"): "the same when they change",
}
"""Why a write is made for a TrainJob, by verb and kind."""
QUEUED_WRITES = WRITES | {
    ("create", "PodGroup"): "the gang",
    ("setstatus", "PodGroup"): "that it waits, runs and is finished: as coscheduling tells it",
    ("setstatus", "Pod"): "its node's word on it: it runs, and it has ended",
    ("patch", "Pod"): "why it waits, and the finalizer that keeps it until it was counted, taken off",
    ("setstatus", "Job"): "that pods were made, are ready, and have succeeded",
    ("setstatus", "JobSet"): "that its Jobs are at work, are ready, and are done",
    ("setstatus", "TrainJob"): "what people look at: it waits, for what, it runs, and it is done",
    ("create", "Event"): "two pods made, waiting and placed, the Job and the JobSet completed: as Kubernetes tells it",
    ("patch", "EndpointSlice"): "that there are none any more",
    ("patch", "Endpoints"): "the same in the form of old",
}
"""The same for one that waits in a queue, and whose pods take a while."""


def gang_runtime() -> Raw:
    """A runtime whose pods start together or not at all."""
    container = {"name": "node", "image": "trainer"}
    step = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    template = {"metadata": {"labels": step}, "spec": {"template": {"spec": {"containers": [container]}}}}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": "gang"},
        "spec": {
            "mlPolicy": {"numNodes": 1, "torch": {"numProcPerNode": "auto"}},
            "podGroupPolicy": {"coscheduling": {"scheduleTimeoutSeconds": 86400}},
            "template": {"spec": {"replicatedJobs": [{"name": "node", "template": template}]}},
        },
    }


def job(number: int, *, seconds: str = "0", cpu: str = "1", runtime: str = "torch-distributed") -> Raw:
    """A TrainJob of two nodes whose pods take so long."""
    annotations = {"simulate.trainplane.dev/seconds": seconds}
    template = {"spec": {"template": {"metadata": {"annotations": annotations}}}}
    patch = {"template": {"spec": {"replicatedJobs": [{"name": "node", "template": template}]}}}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": f"job-{number:05}", "namespace": "default"},
        "spec": {
            "runtimeRef": {"name": runtime},
            "trainer": {"numNodes": 2, "image": "trainer", "resourcesPerNode": {"requests": {"cpu": cpu}}},
            "runtimePatches": [{"manager": "example.com/bench", "trainingRuntimeSpec": patch}],
        },
    }


class Ran(NamedTuple):
    """What it took from the first create to the last Complete."""

    seconds: float
    processor: float
    memory: float
    """MiB at most, the beginning of the process included."""
    writes: Counter[tuple[str, str]]
    """By verb and kind, those of nodes aside."""


def by_the_clock(*, jobs: int, nodes: int) -> Ran:
    """Have so many TrainJobs run in a cluster of its own, over HTTP and on a disk."""
    with tempfile.TemporaryDirectory() as folder:
        command = [str(Path(sys.executable).parent / "trainplane"), "up", "--data", f"{folder}/data"]
        with subprocess.Popen(
            [*command, "--simulate", "--nodes", str(nodes), "--node-cpu", "64"],
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process:
            try:
                assert process.stdout
                process.stdout.readline()
                server = Server.of(Path(folder) / "data" / "kubeconfig")
                begun, busy = time.perf_counter(), processor(process.pid)
                asyncio.run(from_create_to_complete(server, jobs))
                taken, busy = time.perf_counter() - begun, processor(process.pid) - busy
                memory = most_memory(process.pid)
                return Ran(taken, busy, memory, asyncio.run(written(server)))
            finally:
                process.terminate()
                process.wait(60)


async def from_create_to_complete(server: Server, jobs: int) -> None:
    """Create so many TrainJobs, and wait until the last is Complete."""
    watching = await Connection.open(server)
    await watching.send("GET", f"{JOBS}?watch=true&resourceVersion=0")
    await watching.head()

    async def create(connection: Connection, number: int) -> None:
        await connection.ask("POST", JOBS, json.dumps(job(number)).encode())

    async def complete() -> None:
        rest, done = b"", set[str]()
        while len(done) < jobs:
            rest += await watching.chunk()
            *lines, rest = rest.split(b"\n")
            for raw in (json.loads(line)["object"] for line in lines):
                conditions = (raw.get("status") or {}).get("conditions") or ()
                if any(one["type"] == "Complete" and one["status"] == "True" for one in conditions):
                    done.add(raw["metadata"]["name"])

    async with asyncio.timeout(600), asyncio.TaskGroup() as tasks:
        tasks.create_task(complete())
        tasks.create_task(load(server, create, count=jobs, clients=CLIENTS))
    watching.close()


async def written(server: Server) -> Counter[tuple[str, str]]:
    """The writes of the cluster's controllers, as /metrics tells them."""
    connection = await Connection.open(server)
    text = (await connection.ask("GET", "/metrics")).decode()
    connection.close()
    counts: Counter[tuple[str, str]] = Counter()
    for controller, verb, kind, count in WRITTEN.findall(text):
        if controller != "simulated-nodes":
            counts[verb, kind] += int(float(count))
    return counts


def processor(pid: int) -> float:
    """Seconds of processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def most_memory(pid: int) -> float:
    """MiB that a process has had at most."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


class Queued(NamedTuple):
    """What a queue on virtual time took."""

    seconds: float
    processor: float
    memory: float
    virtual: float
    """Seconds that passed in the simulation."""
    writes: Counter[tuple[str, str]]
    """By verb and kind, those of nodes aside."""


def queued(*, jobs: int, nodes: int) -> Queued:
    """Simulate a queue of gangs, each with two nodes to itself for a minute, in a process of its own."""
    command = [sys.executable, "-m", "bench.running", str(jobs), str(nodes)]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, check=False, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed: {done.stderr[-2000:]}")
    seconds, busy, memory, virtual, writes = json.loads(done.stdout)
    return Queued(seconds, busy, memory, virtual, Counter({(verb, kind): count for verb, kind, count in writes}))


def play(*, jobs: int, nodes: int) -> Queued:
    """The same in this process."""
    begun = time.perf_counter()
    queue = [job(number, seconds="60", cpu="8", runtime="gang") for number in range(jobs)]
    outcome = simulate([gang_runtime(), *queue], nodes=nodes, size=Size(), within=timedelta(days=2))
    if outcome.states != {"Complete": jobs}:
        raise RuntimeError(f"not every job completed: {dict(outcome.states)}")
    writes: Counter[tuple[str, str]] = Counter()
    for (controller, verb, kind), count in outcome.writes.items():
        if controller != "simulated-nodes":
            writes[verb, kind] += count
    return Queued(
        time.perf_counter() - begun,
        time.process_time(),
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        outcome.took.total_seconds(),
        writes,
    )


def running() -> str:
    """Everything about whole clusters: the rows, and the writes of a TrainJob with their reasons."""
    few, many = by_the_clock(jobs=300, nodes=20), by_the_clock(jobs=1000, nodes=100)
    whole = bool(os.environ.get(WHOLE))
    waiting, places, most = (10_000, 500, 120) if whole else (1000, 50, 12)
    queue = queued(jobs=waiting, nodes=places)
    rows = [
        Row(
            what="300 TrainJobs of two pods each from create to Complete, 20 nodes",
            figure=f"{few.seconds:.1f} s, {few.processor:.1f} s of processor time, {few.memory:.0f} MiB",
            aim="under 10 s, 10 s and 150 MiB",
            baseline="Kubernetes, JobSet and Trainer without a scheduler, once: 35 s, 60 s, 1.3 GiB",
            ratio=f"{few.seconds / 35:.2f}×, {few.processor / 60:.2f}×, {few.memory / 1331:.2f}×",
            reached=few.seconds < 10 and few.processor < 10 and few.memory < 150,
        ),
        Row(
            what="1,000 of them, 100 nodes",
            figure=f"{many.seconds:.1f} s, {many.processor:.1f} s of processor time, {many.memory:.0f} MiB",
            aim="under 40 s and 250 MiB",
            baseline=f"300 on 20 nodes: {few.seconds:.1f} s",
            ratio=f"{many.seconds / few.seconds:.2f}× for 3.33×",
            reached=many.seconds < 40 and many.memory < 250,
        ),
        Row(
            what=f"on virtual time, a queue of {waiting:,} gangs of two on {places} nodes",
            figure=f"{queue.seconds:.0f} s, {queue.processor:.0f} s of processor time, {queue.memory:.0f} MiB",
            aim="under 120 s" if whole else "under 12 s, as 10,000 on 500 in 120 s",
            baseline=f"by the clock it would be {queue.virtual / 60:.0f} min",
            ratio=f"{queue.virtual / queue.seconds:.0f} times as fast",
            reached=queue.seconds < most,
        ),
    ]
    short = told("A TrainJob of two pods of no length, of 300 at once,", few.writes, jobs=300, reasons=WRITES)
    long = told(f"One that waits in the queue of {waiting:,}", queue.writes, jobs=waiting, reasons=QUEUED_WRITES)
    return "\n".join([table(rows), "", *short, "", *long])


def told(
    who: str, writes: Counter[tuple[str, str]], *, jobs: int, reasons: Mapping[tuple[str, str], str]
) -> Iterator[str]:
    """The writes that were made for each job, with the reason of each; raises where one has none."""
    # What is written a few times in all is the cluster's own.
    nameless = {write for write, count in writes.items() if count > jobs / 10} - set(reasons)
    if nameless:
        raise RuntimeError(f"nobody knows why these are written: {sorted(nameless)}")
    yield f"{who} takes {sum(writes.values()) / jobs + 1:.1f} writes, its own among them:"
    yield from ("", "| Write | Times | Why |", "| --- | --- | --- |")
    for (verb, kind), why in reasons.items():
        if count := writes[verb, kind]:
            yield f"| {verb} {kind} | {count / jobs:.1f} | {why} |"


if __name__ == "__main__":
    *found, by_kind = play(jobs=int(sys.argv[1]), nodes=int(sys.argv[2]))
    print(json.dumps([*found, [(*write, count) for write, count in by_kind.items()]]))
