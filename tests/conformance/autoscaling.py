"""Cases of autoscalers: a TrainJob of a size, its pods and what they use, as objects of any cluster.

A case says `size`, `autoscaler` (a spec), `pods` by name, and `steps`: what changes, and how many seconds are waited
before a look. Ages are seconds before the step.
"""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from trainplane.api.times import stamp

Raw = dict[str, Any]
CASES = sorted((Path(__file__).parent / "autoscalers").glob("*.yaml"))
NAME = "job"
LABELS = {"job": NAME}
TARGET = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "name": NAME}
HOUR = 3600


def objects(case: Raw, number: int, *, now: datetime, namespace: str, size: int | None) -> Iterator[Raw]:
    """The objects that a step makes or changes, in order; `size` is the size that the TrainJob has by now."""
    step = case["steps"][number]
    if number == 0 and "size" in case:
        yield trainjob(case["size"], namespace)
    changed = dict(case.get("pods") or {}) if number == 0 else {}
    changed |= step.get("pods") or {}
    if size is not None:
        yield {**trainjob(size, namespace), "status": {"nodes": size, "selector": f"job={NAME}"}}
    elif "size" in case:
        selector = case.get("selector", f"job={NAME}")
        yield {**trainjob(case["size"], namespace), "status": {"nodes": case["size"], "selector": selector}}
    for name, told in changed.items():
        yield pod(name, told, now=now, namespace=namespace)
        if "uses" in told:
            yield metrics(name, told, now=now, namespace=namespace)
    if number == 0:
        target = case.get("target", TARGET)
        for name in [*case.get("rivals", ()), NAME]:
            yield {
                "apiVersion": "autoscaling/v2",
                "kind": "HorizontalPodAutoscaler",
                "metadata": {"name": name, "namespace": namespace},
                "spec": {"scaleTargetRef": target, **case["autoscaler"]},
            }


def trainjob(size: int, namespace: str) -> Raw:
    """A TrainJob of a size."""
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": NAME, "namespace": namespace},
        "spec": {"runtimeRef": {"name": "torch-elastic"}, "trainer": {"numNodes": size}},
    }


def pod(name: str, told: Raw, *, now: datetime, namespace: str) -> Raw:
    """A pod of the TrainJob: ready for an hour, unless it is told otherwise."""

    def ago(word: str) -> str:
        return stamp(now - timedelta(seconds=told.get(word, HOUR)))

    ready = {"type": "Ready", "status": told.get("ready", "True"), "lastTransitionTime": ago("turned")}
    containers = [
        {"name": each, "image": "example.test/i:1", "resources": {"requests": amounts} if amounts else {}}
        for each, amounts in (told.get("requests") or {"node": {"cpu": "1", "memory": "1Gi"}}).items()
    ]
    going = {"deletionTimestamp": stamp(now), "finalizers": ["example.test/hold"]} if told.get("going") else {}
    status = {"phase": told.get("phase", "Running"), "startTime": ago("started"), "conditions": [ready]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": LABELS, **going},
        "spec": {"containers": containers},
        "status": status,
    }


def metrics(name: str, told: Raw, *, now: datetime, namespace: str) -> Raw:
    """What a pod uses, by container."""
    measured = stamp(now - timedelta(seconds=told.get("measured", 0)))
    return {
        "apiVersion": "metrics.k8s.io/v1beta1",
        "kind": "PodMetrics",
        "metadata": {"name": name, "namespace": namespace, "labels": LABELS},
        "timestamp": measured,
        "window": "30s",
        "containers": [{"name": each, "usage": amounts} for each, amounts in told["uses"].items()],
    }


def seen(jobs: list[Raw], autoscaler: Raw, said: list[tuple[str, str]]) -> Raw:
    """What there is to see after a step, without times."""
    status = autoscaler.get("status") or {}
    space = autoscaler["metadata"]["namespace"]

    def told(message: str) -> str:
        # Autoscalers are named in any order, and the namespace is another in each cluster.
        return re.sub(r"\[(.+ .+)\]", lambda met: f"[{' '.join(sorted(met[1].split()))}]", message).replace(space, "ns")

    about = {
        one["type"]: f"{one['status']} {one.get('reason', '')}: {told(one.get('message', ''))}"
        for one in status.get("conditions") or ()
    }
    return {
        "size": jobs[0]["spec"]["trainer"]["numNodes"] if jobs else None,
        "currentReplicas": status.get("currentReplicas", 0),
        "desiredReplicas": status.get("desiredReplicas", 0),
        "currentMetrics": [one for one in status.get("currentMetrics") or () if one.get("type")],
        "conditions": dict(sorted(about.items())),
        "events": list(dict.fromkeys(f"{reason}: {told(message)}" for reason, message in said)),
    }
