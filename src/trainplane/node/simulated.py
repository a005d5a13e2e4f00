"""Simulated nodes: Nodes that are nowhere, and pods on them that do what their annotations say."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial

import msgspec

from trainplane.api.core import FAILED, READY, SUCCEEDED
from trainplane.api.meta import Raw, micro_time
from trainplane.api.nodes import ARCH, HOSTNAME, INSTANCE_TYPE, NODE_LEASE_NAMESPACE, OS
from trainplane.api.raw import look
from trainplane.api.times import moment, stamp
from trainplane.node.script import KILLED, LOST, NODE, Script, Unreadable, script_of
from trainplane.node.simulated_pod import TERMINATED, step, stopped
from trainplane.node.simulated_settings import Waiting
from trainplane.reconcile.controller import Controller
from trainplane.reconcile.decision import NOTHING, Action, Create, Decision, Delete, Patch, SetStatus
from trainplane.reconcile.view import Ref, View

PROMISE = timedelta(minutes=10)
"""How long a heartbeat is good for: a simulated node knows that it will be there, and says so seldom."""
LAST_WORD = timedelta(seconds=40)
"""How long the last heartbeat of a node that is lost is good for, as that of a real one."""
GPU = "nvidia.com/gpu"
KEY = "simulated-nodes"


class Size(msgspec.Struct, frozen=True):
    """What each simulated node has."""

    cpu: str = "8"
    memory: str = "32Gi"
    gpus: int = 0
    pods: int = 110

    def resources(self) -> Raw:
        """The same as a Node says it."""
        gpus = {GPU: str(self.gpus)} if self.gpus else {}
        return {"cpu": self.cpu, "memory": self.memory, "pods": str(self.pods), "ephemeral-storage": "100Gi", **gpus}


def names(count: int) -> tuple[str, ...]:
    """The names of so many nodes."""
    return tuple(f"node-{i}" for i in range(count))


def keep(_: Raw, view: View, now: datetime, *, nodes: tuple[str, ...], size: Size) -> Decision:
    """Have exactly these simulated nodes, each with its heartbeat."""
    wanted = set(nodes)
    surplus = [raw for raw in view.all("", "Node") if is_simulated(raw) and raw["metadata"]["name"] not in wanted]
    new: list[Action] = []
    reports: list[Action] = []
    beats: list[Action] = []
    soonest = PROMISE / 2
    for number, name in enumerate(nodes):
        node = view.get(Ref("", "Node", "", name))
        if node is None:
            new.append(Create(machine(name)))
        elif is_simulated(node) and not node["metadata"].get("deletionTimestamp"):
            left, beat = heartbeat(node, view, now)
            soonest = min(soonest, left)
            beats += beat
            reports += report(node, number, size, now=now)
    gone = [Delete(Ref.of(raw), raw["metadata"]["uid"]) for raw in surplus]
    return Decision.of([*gone, *new, *beats, *reports], again=soonest if nodes else None)


def machine(name: str) -> Raw:
    """A Node as it is registered."""
    labels = {HOSTNAME: name, OS: "linux", ARCH: "amd64", INSTANCE_TYPE: "simulated", NODE: "true"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


def report(node: Raw, number: int, size: Size, *, now: datetime) -> Iterator[Action]:
    """The node's own word on how it is, where that is not what stands there."""
    old: Raw = node.get("status") or {}
    room = size.resources()
    has = {"capacity": room, "allocatable": room}
    if is_lost(node) or (is_well(old) and all(old.get(name) == value for name, value in has.items())):
        return
    ip = f"100.64.{number >> 8 & 255}.{number & 255}"
    status = {
        **old,
        **has,
        "addresses": [{"type": "InternalIP", "address": ip}, {"type": "Hostname", "address": node["metadata"]["name"]}],
        "conditions": [condition(type_, value, old, now=now) for type_, value in WELL.items()],
        "nodeInfo": INFO | {"machineID": node["metadata"]["name"], "systemUUID": node["metadata"].get("uid", "")},
    }
    yield SetStatus(Ref.of(node), status, node["metadata"].get("uid", ""))


WELL = {"MemoryPressure": "False", "DiskPressure": "False", "PIDPressure": "False", READY: "True"}
"""The conditions of a node that is well."""
INFO: Raw = {
    "architecture": "amd64",
    "bootID": "",
    "containerRuntimeVersion": "simulated://1",
    "kernelVersion": "",
    "kubeProxyVersion": "",
    "kubeletVersion": "v1.36.0-simulated",
    "machineID": "",
    "operatingSystem": "linux",
    "osImage": "simulated",
    "systemUUID": "",
}


def condition(type_: str, value: str, old: Raw, *, now: datetime) -> Raw:
    """A condition of a node."""
    was: Raw = next((one for one in old.get("conditions") or () if one["type"] == type_), {})
    since = was.get("lastTransitionTime") if was.get("status") == value else None
    return {
        "type": type_,
        "status": value,
        "reason": "Simulated",
        "message": "this node is simulated",
        "lastHeartbeatTime": stamp(now),
        "lastTransitionTime": since or stamp(now),
    }


def is_well(status: Raw) -> bool:
    """Whether a node's status says that it is well."""
    there = {one["type"]: one["status"] for one in status.get("conditions") or ()}
    return all(there.get(type_) == value for type_, value in WELL.items())


def heartbeat(node: Raw, view: View, now: datetime) -> tuple[timedelta, list[Action]]:
    """How long until the next heartbeat, and this one where it is time; that of a lost node ends soon."""
    name, lost = node["metadata"]["name"], is_lost(node)
    good = LAST_WORD if lost else PROMISE
    ref = Ref("coordination.k8s.io", "Lease", NODE_LEASE_NAMESPACE, name)
    lease = view.get(ref)
    spec = {
        "holderIdentity": name,
        "leaseDurationSeconds": int(good.total_seconds()),
        "renewTime": micro_time(now),
    }
    if lease is None:
        owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": node["metadata"]["uid"]}
        metadata = {"name": name, "namespace": NODE_LEASE_NAMESPACE, "ownerReferences": [owner]}
        made = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
        return PROMISE, [] if lost else [Create(made)]
    same = look(lease, "spec", "leaseDurationSeconds") == spec["leaseDurationSeconds"]
    left = moment(lease["spec"]["renewTime"]) + PROMISE / 2 - now
    if same and (lost or left > timedelta(0)):
        return PROMISE if lost else left, []
    return PROMISE, [Patch(ref, {"spec": spec}, lease["metadata"].get("uid", ""))]


def play(pod: Raw, view: View, now: datetime) -> Decision:
    """What becomes of one pod on a simulated node now."""
    node = view.get(Ref("", "Node", "", look(pod, "spec", "nodeName") or ""))
    if node is None or not is_simulated(node) or is_lost(node):
        return NOTHING
    ref, uid, old = Ref.of(pod), pod["metadata"].get("uid", ""), pod.get("status") or {}
    over = old.get("phase") in (SUCCEEDED, FAILED)
    if pod["metadata"].get("deletionTimestamp"):
        return Decision.of([Delete(ref, uid)]) if over else stop(pod, now)
    if over:
        return NOTHING
    status, when = step(pod, view, host=host_of(node), now=now)
    again = None if when is None else max(when - now, timedelta(0))
    version = pod["metadata"].get("resourceVersion", "")
    return Decision.of([SetStatus(ref, status, uid, version)] if status != old else [], again=again, final=True)


def stop(pod: Raw, now: datetime) -> Decision:
    """What becomes of a pod that is to be deleted: its containers stop in their time, or are killed."""
    metadata = pod["metadata"]
    grace = timedelta(seconds=metadata.get("deletionGracePeriodSeconds") or 0)
    try:
        takes = timedelta(seconds=script_of(pod).stop_seconds)
    except Unreadable:
        takes = timedelta(seconds=Script().stop_seconds)
    began = moment(metadata["deletionTimestamp"]) - grace
    end = began + min(takes, grace)
    if end > now:
        return Decision(again=end - now)
    status = stopped(pod, now=now, code=KILLED if takes > grace else TERMINATED)
    return Decision.of([SetStatus(Ref.of(pod), status, metadata.get("uid", ""))])


def is_simulated(node: Raw) -> bool:
    """Whether a node is one of ours."""
    return (node["metadata"].get("labels") or {}).get(NODE) == "true"


def is_lost(node: Raw) -> bool:
    """Whether a simulated node is to be silent."""
    return (node["metadata"].get("annotations") or {}).get(LOST) == "true"


def is_at_work(pod: Raw, _view: View) -> bool:
    """Whether a pod has a node, and something will still become of it."""
    going = pod["metadata"].get("deletionTimestamp")
    return bool(pod["spec"].get("nodeName")) and (
        bool(going) or look(pod, "status", "phase") not in (SUCCEEDED, FAILED)
    )


def host_of(node: Raw) -> str:
    """The node's address."""
    found = (one["address"] for one in look(node, "status", "addresses") or () if one["type"] == "InternalIP")
    return next(found, "")


def on_node(node: Raw, view: View) -> Iterator[Ref]:
    """The pods of a simulated node that has changed: it may have come back."""
    if is_simulated(node) and not is_lost(node):
        yield from map(Ref.of, view.pods_on(node["metadata"]["name"]))


def simulated(count: int, size: Size | None = None) -> tuple[Controller, ...]:
    """The controllers of so many simulated nodes; nodes that were simulated before and are not among them go."""
    keeper = Controller(
        name=KEY,
        group="",
        kind="",
        reconcile=partial(keep, nodes=names(count), size=size or Size()),
        watches=((("", "Node"), lambda _raw, _view: (Ref("", "", "", KEY),)),),
        reads=(("coordination.k8s.io", "Lease"),),
        reports_as="kubelet",
    )
    waiting = Waiting()
    pods = Controller(
        name="simulated-pods",
        group="",
        kind="Pod",
        reconcile=play,
        cares=is_at_work,
        watches=((("", "Node"), on_node), (("", "ConfigMap"), waiting), (("", "Secret"), waiting)),
        reports_as="kubelet",
    )
    return (keeper, pods)
