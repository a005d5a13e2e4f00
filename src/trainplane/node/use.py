"""Use: what pods and nodes use, as the metrics API tells it; runners report it, and scripts of simulated pods do."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta

from trainplane.api.conditions import condition
from trainplane.api.core import READY, RUNNING
from trainplane.api.meta import Raw
from trainplane.api.quantity import Amount, parse, total
from trainplane.api.raw import look
from trainplane.api.requests import requests
from trainplane.api.times import stamp
from trainplane.control.live import Live
from trainplane.control.record import Clock
from trainplane.node.script import Unreadable, script_of
from trainplane.node.simulated import is_lost, is_simulated
from trainplane.reconcile.view import Ref

API_VERSION = "metrics.k8s.io/v1beta1"
GROUP = "metrics.k8s.io"
PERIOD = timedelta(seconds=15)
"""How often what is used is measured."""
MEASURED = ("cpu", "memory")


class Use:
    """What every running pod uses."""

    def __init__(self, live: Live, clock: Clock) -> None:
        """`live` is where pods and nodes are looked up, and where autoscalers look for figures."""
        self._live = live
        self._clock = clock
        self._reported: dict[str, Raw] = {}

    def report(self, pod: Raw, containers: Mapping[str, Mapping[str, Amount]], *, window: timedelta = PERIOD) -> None:
        """A runner's word on what the containers of a pod use: cores and bytes, on average over the window."""
        uses = [
            (name, {key: amount for key, amount in use.items() if key in MEASURED}) for name, use in containers.items()
        ]
        self._reported[pod["metadata"]["uid"]] = pod_metrics(pod, uses, now=self._clock.now(), window=window)

    def forget(self, uid: str) -> None:
        """A pod that was reported is no more."""
        self._reported.pop(uid, None)

    def pods(self) -> Iterator[Raw]:
        """The PodMetrics of every pod that runs and of which something is known."""
        for pod in self._live.all("", "Pod"):
            if look(pod, "status", "phase") == RUNNING and (found := self._of(pod)) is not None:
                yield found

    def nodes(self) -> Iterator[Raw]:
        """The NodeMetrics of every node that is heard of: one that runs nothing uses nothing."""
        used: dict[str, list[Mapping[str, Amount]]] = {}
        unknown: set[str] = set()
        for pod in self._live.all("", "Pod"):
            if look(pod, "status", "phase") == RUNNING:
                metrics, name = self._of(pod), look(pod, "spec", "nodeName")
                if metrics is None:
                    unknown.add(name)
                else:
                    used.setdefault(name, []).extend(_amounts(one["usage"]) for one in metrics["containers"])
        for node in self._live.all("", "Node"):
            name = node["metadata"]["name"]
            idle = name not in unknown and (condition(node.get("status") or {}, READY) or {}).get("status") == "True"
            if name in used or idle or (is_simulated(node) and not is_lost(node)):
                yield node_metrics(node, used.get(name, ()), now=self._clock.now())

    async def run(self) -> None:
        """Have autoscalers know what pods use, until cancelled."""
        while True:
            await asyncio.sleep(PERIOD.total_seconds())
            self.show()

    def show(self) -> None:
        """Put what pods use where autoscalers look for it, and take away what is no longer so."""
        spaces = {raw["metadata"]["namespace"] for raw in self._live.all("autoscaling", "HorizontalPodAutoscaler")}
        now = {Ref.of(raw): raw for raw in self.pods() if raw["metadata"]["namespace"] in spaces} if spaces else {}
        for ref in self._live.refs(GROUP, "PodMetrics"):
            if ref not in now:
                self._live.remove(ref)
        for raw in now.values():
            self._live.put(raw)

    def _of(self, pod: Raw) -> Raw | None:
        reported = self._reported.get(pod["metadata"]["uid"])
        if reported is not None:
            return reported
        node = self._live.get(Ref("", "Node", "", look(pod, "spec", "nodeName") or ""))
        return simulated_use(pod, self._clock.now()) if node and is_simulated(node) and not is_lost(node) else None


def simulated_use(pod: Raw, now: datetime) -> Raw | None:
    """The PodMetrics of a simulated pod: what its annotations say, or all that it requests."""
    try:
        script = script_of(pod)
    except Unreadable:
        return None
    uses: list[tuple[str, Mapping[str, Amount]]] = []
    for container in pod["spec"]["containers"]:
        asked = requests(container)
        told = {"cpu": script.cpu, "memory": script.memory}
        use = {name: first if first is not None else asked.get(name, _NOTHING) for name, first in told.items()}
        uses.append((container["name"], use))
    return pod_metrics(pod, uses, now=now, window=PERIOD)


def pod_metrics(
    pod: Raw, containers: Iterable[tuple[str, Mapping[str, Amount]]], *, now: datetime, window: timedelta
) -> Raw:
    """What the containers of a pod use, as an object."""
    old = pod["metadata"]
    metadata = {name: old[name] for name in ("name", "namespace", "labels") if name in old}
    return {
        "kind": "PodMetrics",
        "apiVersion": API_VERSION,
        "metadata": {**metadata, "creationTimestamp": stamp(now)},
        "timestamp": stamp(now),
        "window": f"{window.total_seconds():g}s",
        "containers": [{"name": name, "usage": _spelt(use)} for name, use in containers],
    }


def node_metrics(node: Raw, uses: Iterable[Mapping[str, Amount]], *, now: datetime) -> Raw:
    """What the pods of a node use together, as an object."""
    old = node["metadata"]
    metadata = {name: old[name] for name in ("name", "labels") if name in old}
    used = total(uses)
    return {
        "kind": "NodeMetrics",
        "apiVersion": API_VERSION,
        "metadata": {**metadata, "creationTimestamp": stamp(now)},
        "timestamp": stamp(now),
        "window": f"{PERIOD.total_seconds():g}s",
        "usage": _spelt({name: used.get(name, _NOTHING) for name in MEASURED}),
    }


_NOTHING = parse("0")


def _spelt(use: Mapping[str, Amount]) -> dict[str, str]:
    return {name: str(amount) for name, amount in use.items()}


def _amounts(use: Mapping[str, str]) -> dict[str, Amount]:
    return {name: parse(text) for name, text in use.items()}
