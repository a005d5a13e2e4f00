"""A Pod's row in a table: how many containers are ready, its status in a word, and its restarts."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from trainplane.api.meta import Raw
from trainplane.cluster.ages import age

NONE = "<none>"


def pod_cells(pod: Mapping[str, Any], now: datetime) -> list[Any]:
    """Name, Ready, Status, Restarts, Age, IP, Node, Nominated Node, Readiness Gates."""
    metadata, spec, status = pod.get("metadata", {}), pod.get("spec", {}), pod.get("status", {})
    tally = _Tally(spec, status)
    return [
        metadata.get("name", ""),
        f"{tally.ready}/{len(spec.get('containers', ())) + len(tally.sidecars)}",
        _ending(pod) or tally.word,
        _restarts(tally, now),
        age(metadata.get("creationTimestamp"), now),
        _address(status),
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _gates(spec, status),
    ]


def pod_status(pod: Mapping[str, Any]) -> str:
    """The word in a Pod's Status column."""
    return _ending(pod) or _Tally(pod.get("spec", {}), pod.get("status", {})).word


class _Tally:
    """What the containers' statuses add up to."""

    def __init__(self, spec: Mapping[str, Any], status: Mapping[str, Any]) -> None:
        self.sidecars = {c.get("name") for c in spec.get("initContainers", ()) if c.get("restartPolicy") == "Always"}
        self.ready = 0
        self.word: str = status.get("reason") or status.get("phase", "")
        conditions = list(status.get("conditions", ()))
        if any(c.get("type") == "PodScheduled" and c.get("reason") == "SchedulingGated" for c in conditions):
            self.word = "SchedulingGated"
        first = list(status.get("initContainerStatuses", ()))
        waiting = self._initialize(first, len(spec.get("initContainers", ())))
        if waiting and not _true(conditions, "Initialized"):
            self.counted = first
            return
        main = list(status.get("containerStatuses", ()))
        self.counted = [c for c in first if c.get("name") in self.sidecars] + main
        running = self._run(main)
        if self.word == "Completed" and running:
            self.word = "Running" if _true(conditions, "Ready") else "NotReady"

    def _initialize(self, statuses: list[Raw], total: int) -> bool:
        """Whether the pod is still initializing; the word says how far it is."""
        for index, container in enumerate(statuses):
            state = container.get("state", {})
            ended, waiting = state.get("terminated"), state.get("waiting") or {}
            if ended is not None and ended.get("exitCode", 0) == 0:
                continue
            if container.get("name") in self.sidecars and container.get("started"):
                self.ready += bool(container.get("ready"))
                continue
            if ended is not None:
                self.word = f"Init:{_end(ended)}"
            elif waiting.get("reason", "PodInitializing") not in ("", "PodInitializing"):
                self.word = f"Init:{waiting['reason']}"
            else:
                self.word = f"Init:{index}/{total}"
            return True
        return False

    def _run(self, statuses: list[Raw]) -> bool:
        """Whether a container is running and ready; the word is the first container's that has something to say."""
        running = False
        for container in reversed(statuses):
            state = container.get("state", {})
            ended, waiting = state.get("terminated"), state.get("waiting") or {}
            if waiting.get("reason"):
                self.word = waiting["reason"]
            elif ended is not None:
                self.word = _end(ended)
            elif container.get("ready") and state.get("running") is not None:
                running = True
                self.ready += 1
        return running


def _end(ended: Raw) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    return f"Signal:{ended['signal']}" if ended.get("signal") else f"ExitCode:{ended.get('exitCode', 0)}"


def _ending(pod: Mapping[str, Any]) -> str:
    """The word of a pod that is being deleted, or ""."""
    status = pod.get("status", {})
    if not pod.get("metadata", {}).get("deletionTimestamp"):
        return ""
    if status.get("reason") == "NodeLost":
        return "Unknown"
    return "" if status.get("phase") in ("Succeeded", "Failed") else "Terminating"


def _restarts(tally: _Tally, now: datetime) -> str:
    count = sum(container.get("restartCount", 0) for container in tally.counted)
    last = max(_ends(tally.counted), default="")
    return f"{count} ({age(last, now)} ago)" if count and last else str(count)


def _ends(statuses: Iterable[Raw]) -> Iterator[str]:
    """When the containers' previous runs ended; RFC 3339 times in UTC sort as they lie."""
    for container in statuses:
        ended = (container.get("lastState") or {}).get("terminated") or {}
        if ended.get("finishedAt"):
            yield ended["finishedAt"]


def _true(conditions: Iterable[Raw], type_: str) -> bool:
    return any(c.get("type") == type_ and c.get("status") == "True" for c in conditions)


def _address(status: Mapping[str, Any]) -> str:
    addresses = status.get("podIPs") or ()
    return str(addresses[0].get("ip", "")) if addresses else status.get("podIP") or NONE


def _gates(spec: Mapping[str, Any], status: Mapping[str, Any]) -> str:
    gates = [gate.get("conditionType") for gate in spec.get("readinessGates", ())]
    if not gates:
        return NONE
    open_ = sum(_true(status.get("conditions", ()), gate) for gate in gates)
    return f"{open_}/{len(gates)}"
