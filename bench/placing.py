"""The scheduler measured: gangs placed on empty nodes, and a look at a full cluster where nothing or little changed."""

import statistics
import time
from datetime import UTC, datetime
from typing import Any

from bench.measure import Row
from trainplane.control.live import Live
from trainplane.gang.schedule import Scheduler
from trainplane.reconcile.decision import Bind
from trainplane.reconcile.view import Ref, View

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MADE = "2025-12-31T23:59:59Z"
ROUNDS = 5
Raw = dict[str, Any]


def node(number: int) -> Raw:
    """A node with room for ten pods."""
    labels = {"kubernetes.io/hostname": f"node-{number:04}", "topology.kubernetes.io/zone": f"zone-{number % 4}"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"node-{number:04}", "labels": labels},
        "status": {"allocatable": {"cpu": "10", "memory": "64Gi", "pods": "110"}},
    }


def pod(number: int, *, gang: int, on: str = "") -> Raw:
    """A pod of a gang."""
    container = {"name": "node", "resources": {"requests": {"cpu": "1", "memory": "2Gi"}}}
    labels = {"scheduling.x-k8s.io/pod-group": f"train-{gang}", "batch.kubernetes.io/job-completion-index": str(number)}
    metadata = {"name": f"train-{number}", "namespace": "ml", "uid": str(number), "creationTimestamp": MADE}
    placed = {"nodeName": on} if on else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**metadata, "labels": labels},
        "spec": {"containers": [container], **placed},
        "status": {"phase": "Running" if on else "Pending"},
    }


def group(number: int, size: int) -> Raw:
    """The PodGroup of a gang."""
    metadata = {"name": f"train-{number}", "namespace": "ml", "uid": f"group-{number}", "creationTimestamp": MADE}
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": metadata,
        "spec": {"minMember": size},
        "status": {"phase": "Running", "scheduleStartTime": MADE},
    }


def world(*, pods: int, nodes: int, size: int = 4, on: bool = False) -> list[Raw]:
    """Nodes, gangs and their pods, waiting or placed."""
    return [
        *(node(i) for i in range(nodes)),
        *(group(i, size) for i in range(pods // size)),
        *(pod(i, gang=i // size, on=f"node-{i % nodes:04}" if on else "") for i in range(pods)),
    ]


def cold(*, pods: int, nodes: int) -> float:
    """Seconds of processor time for the first look at a world in which every pod finds a node."""
    view = View(world(pods=pods, nodes=nodes))
    taken = []
    for _ in range(ROUNDS):
        start = time.process_time()
        decision = Scheduler().schedule(view, NOW)
        taken.append(time.process_time() - start)
        if sum(isinstance(action, Bind) for action in decision.actions) != pods:
            raise RuntimeError("not every pod found a node")
    return statistics.median(taken)


def reading(*, pods: int) -> float:
    """Seconds to read what the pods request, which any scheduler must."""
    objects = [pod(i, gang=0) for i in range(pods)]
    start = time.process_time()
    for raw in objects:
        {name: str(value) for one in raw["spec"]["containers"] for name, value in one["resources"]["requests"].items()}
    return time.process_time() - start


def placing() -> list[Row]:
    """Everything about the scheduler."""
    first = cold(pods=1000, nodes=200)
    small, large = cold(pods=1000, nodes=100), cold(pods=1000, nodes=400)
    more = cold(pods=4000, nodes=400)
    return [
        Row(
            what="first look: 1,000 pods in gangs of 4 onto 200 nodes",
            figure=f"{first * 1000:.0f} ms",
            aim="under 2 s",
            baseline=f"reading the pods' requests: {reading(pods=1000) * 1000:.1f} ms",
            ratio=f"{first / reading(pods=1000):.0f}×",
            reached=first < 2,
        ),
        Row(
            what="the same 1,000 pods onto 400 nodes",
            figure=f"{large * 1000:.0f} ms",
            aim="no worse than linear in nodes",
            baseline=f"onto 100 nodes: {small * 1000:.0f} ms",
            ratio=f"{large / small:.2f}× for 4×",
            reached=large / small <= 4,
        ),
        Row(
            what="4,000 pods onto 400 nodes",
            figure=f"{more * 1000:.0f} ms",
            aim="no worse than linear in pods",
            baseline=f"1,000 onto the same: {large * 1000:.0f} ms",
            ratio=f"{more / large:.2f}× for 4×",
            reached=more / large <= 4.4,
        ),
        looking(),
    ]


def looking() -> Row:
    """A look at a full cluster with a long queue after one pod has ended, beside the first look at it."""
    objects = world(pods=4000, nodes=400, on=True)
    waiting = [pod(10_000 + i, gang=5_000 + i // 4) for i in range(16_000)]
    for raw in waiting:
        told = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "lastTransitionTime": MADE}
        raw["status"]["conditions"] = [{**told, "message": "0/400 nodes are available: 400 Insufficient cpu."}]
    queue = [group(5_000 + i, 4) for i in range(4_000)]
    scheduler, live = Scheduler(), Live([*objects, *queue, *waiting])
    start = time.process_time()
    scheduler.schedule(live, NOW)
    first = time.process_time() - start
    taken = []
    for i in range(ROUNDS):
        live.remove(Ref("", "Pod", "ml", f"train-{i}"))
        start = time.process_time()
        scheduler.schedule(live, NOW)
        taken.append(time.process_time() - start)
    figure = statistics.median(taken)
    return Row(
        what="another look at 400 full nodes and 4,000 waiting gangs after one pod has ended",
        figure=f"{figure * 1000:.0f} ms",
        aim="under a fifth of the first",
        baseline=f"the first look: {first * 1000:.0f} ms",
        ratio=f"{figure / first:.2f}×",
        reached=figure < first / 5,
    )
