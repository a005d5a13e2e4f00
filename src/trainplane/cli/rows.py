"""Rows about what jobs run on: runtimes, nodes, queues and pods."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from trainplane.api.jobset import REPLICATED_JOB_NAME
from trainplane.api.meta import Raw
from trainplane.api.quantity import Amount
from trainplane.api.raw import look
from trainplane.api.ref import Ref
from trainplane.api.scheduling import DEFAULT_QUEUE
from trainplane.cli.job_rows import NAMESPACE, is_over
from trainplane.cli.outlook import Outlook
from trainplane.cli.tables import Column, Table
from trainplane.cluster.ages import age
from trainplane.cluster.pod_cells import pod_cells
from trainplane.gang.fit import COSCHEDULING, VOLCANO, group_of
from trainplane.reconcile.view import View
from trainplane.why.scene import jobset_of
from trainplane.why.sentence import figure
from trainplane.why.space import Counts, Room, amount_of, needs, rooms

FRAMEWORK = "trainer.kubeflow.org/framework"
SUPPORT = "trainer.kubeflow.org/support"
RANK = "batch.kubernetes.io/job-completion-index"
_CPU, _MEMORY, _PODS = "cpu", "memory", "pods"


def runtime_table(runtimes: Iterable[Raw], view: View, now: datetime, *, namespaces: bool = False) -> Table:
    """Runtimes, and how many jobs there are on each."""
    users = Counter(_runtime_of(job) for job in view.all("trainer.kubeflow.org", "TrainJob") if not is_over(job))
    columns = [
        Column("NAME", name=True),
        Column("SCOPE"),
        Column("FRAMEWORK"),
        Column("NODES"),
        Column("JOBS"),
        Column("AGE"),
    ]
    rows = []
    for raw in sorted(runtimes, key=lambda raw: (raw["kind"], raw["metadata"]["name"])):
        metadata, labels = raw["metadata"], raw["metadata"].get("labels") or {}
        old = labels.get(SUPPORT) == "deprecated"
        rows.append(
            [
                *([str(metadata.get("namespace", ""))] if namespaces else ()),
                str(metadata["name"]),
                ("cluster" if raw["kind"] == "ClusterTrainingRuntime" else "namespace")
                + (",deprecated" if old else ""),
                str(labels.get(FRAMEWORK) or ""),
                str(look(raw, "spec", "mlPolicy", "numNodes") or ""),
                str(users[raw["kind"], str(metadata.get("namespace", "")), str(metadata["name"])]),
                age(metadata.get("creationTimestamp"), now),
            ]
        )
    return Table([NAMESPACE, *columns] if namespaces else columns, rows)


def _runtime_of(job: Raw) -> tuple[str, str, str]:
    ref = look(job, "spec", "runtimeRef") or {}
    kind = ref.get("kind") or "ClusterTrainingRuntime"
    space = str(job["metadata"].get("namespace", "")) if kind == "TrainingRuntime" else ""
    return kind, space, str(ref.get("name"))


def node_table(nodes: Iterable[Raw], view: View, now: datetime) -> Table:
    """Nodes, and what of each is held; `3/8` is what pods have asked for, of what there is."""
    there = {room.name: room for room in rooms(view, now)}
    columns = (
        Column("NAME", name=True),
        Column("STATUS"),
        Column("CPU"),
        Column("MEMORY"),
        Column("GPU"),
        Column("PODS"),
        Column("AGE"),
        Column("JOBS", wide=True, prose=True),
        Column("TAINTS", wide=True, prose=True),
    )
    rows = []
    for node in sorted(nodes, key=lambda raw: str(raw["metadata"]["name"])):
        room = there[str(node["metadata"]["name"])]
        taints = [f"{one['key']}:{one['effect']}" for one in look(node, "spec", "taints") or ()]
        rows.append(
            [
                room.name,
                status_of(node),
                held(room, _CPU),
                held(room, _MEMORY),
                held(room, gpu_of(room.has)),
                held(room, _PODS),
                age(node["metadata"].get("creationTimestamp"), now),
                ", ".join(sorted(room.holders)),
                ", ".join(taints),
            ]
        )
    return Table(columns, rows)


def status_of(node: Raw) -> str:
    """The status of a node in kubectl's words."""
    said = [one.get("status") for one in look(node, "status", "conditions") or () if one.get("type") == "Ready"]
    word = {"True": "Ready", "False": "NotReady"}.get(str(look(said, 0)), "Unknown")
    return f"{word},SchedulingDisabled" if look(node, "spec", "unschedulable") else word


def gpu_of(counts: Counts) -> str:
    """The resource that stands for the GPUs of a node; "" where it has none."""
    return next((name for name in sorted(counts) if name.rpartition("/")[2] in ("gpu", "neuroncore", "tpu")), "")


def held(room: Room, name: str) -> str:
    """`3/8`; "" where the node has nothing of it."""
    if not room.has.get(name):
        return ""
    return f"{spelt(name, room.has[name] - room.free.get(name, 0))}/{spelt(name, room.has[name])}"


def spelt(name: str, nano: int) -> str:
    """An amount as people read it: memory in its largest whole unit but one, so that little is lost."""
    if name != _MEMORY:
        return figure(name, Amount(nano))
    mebi = nano // 10**9 // 2**20
    return f"{mebi / 1024:.1f}Gi".replace(".0Gi", "Gi") if mebi >= 1024 else str(amount_of(name, nano))


def queue_table(queues: Iterable[Raw], view: View, outlook: Outlook, now: datetime) -> Table:
    """Queues: who waits in each, who runs from it, and what those hold; `default` is there without an object."""
    columns = (
        Column("NAME", name=True),
        Column("WEIGHT"),
        Column("STATE"),
        Column("WAITING"),
        Column("RUNNING"),
        Column("CPU"),
        Column("MEMORY"),
        Column("GPU"),
        Column("AGE"),
        Column("LIMITS", wide=True),
    )
    objects = {str(raw["metadata"]["name"]): raw for raw in queues}
    running, taken = _held_by_queue(view)
    rows = []
    for name in sorted({DEFAULT_QUEUE, *objects}, key=lambda name: (name != DEFAULT_QUEUE, name)):
        raw = objects.get(name) or {}
        waiting = next((turn.of for turn in outlook.turns.values() if turn.queue == name), 0)
        counts = taken.get(name, {})
        limits = look(raw, "spec", "capability") or {}
        rows.append(
            [
                name,
                str(look(raw, "spec", "weight") or 1),
                str(look(raw, "status", "state") or "Open"),
                str(waiting),
                str(len(running.get(name, ()))),
                spelt(_CPU, counts.get(_CPU, 0)),
                spelt(_MEMORY, counts.get(_MEMORY, 0)),
                spelt("", counts.get(gpu_of(counts), 0)),
                age(made, now) if (made := look(raw, "metadata", "creationTimestamp")) else "",
                ", ".join(f"{resource} {amount}" for resource, amount in limits.items()),
            ]
        )
    return Table(columns, rows)


def queue_of(pod: Raw, view: View) -> str:
    """The queue that a pod came from."""
    metadata = pod["metadata"]
    annotations = metadata.get("annotations") or {}
    key = group_of(metadata.get("namespace", ""), metadata.get("labels") or {}, annotations)
    group = view.get(Ref(key[0], "PodGroup", key[1], key[2])) if key and key[0] in (VOLCANO, COSCHEDULING) else None
    for said in (look(group, "spec", "queue"), *(_queue_name(one) for one in (group, pod))):
        if said:
            return str(said)
    return DEFAULT_QUEUE


def _queue_name(raw: Raw | None) -> str | None:
    found: str | None = look(raw, "metadata", "annotations", "scheduling.volcano.sh/queue-name")
    return found


def _held_by_queue(view: View) -> tuple[dict[str, set[tuple[str, str]]], dict[str, Counts]]:
    running: dict[str, set[tuple[str, str]]] = {}
    taken: dict[str, Counts] = {}
    for pod in view.all("", "Pod"):
        if not look(pod, "spec", "nodeName") or look(pod, "status", "phase") in ("Succeeded", "Failed"):
            continue
        queue = queue_of(pod, view)
        owner = (str(pod["metadata"].get("namespace", "")), jobset_of(pod) or str(pod["metadata"]["name"]))
        running.setdefault(queue, set()).add(owner)
        counts = taken.setdefault(queue, {})
        for name, amount in needs(pod).items():
            counts[name] = counts.get(name, 0) + amount
    return running, taken


def pod_table(pods: Iterable[Raw], now: datetime, *, namespaces: bool = False) -> Table:
    """Pods, with the job, stage and rank of each."""
    columns = [
        Column("NAME", name=True),
        Column("JOB"),
        Column("STAGE"),
        Column("RANK"),
        Column("STATUS"),
        Column("NODE"),
        Column("RESTARTS"),
        Column("AGE"),
        Column("READY", wide=True),
        Column("IP", wide=True),
    ]
    rows = []
    for pod in sorted(pods, key=pod_order):
        name, ready, status, restarts, old, address, node, *_ = map(str, pod_cells(pod, now))
        rows.append(
            [
                *([str(pod["metadata"].get("namespace", ""))] if namespaces else ()),
                name,
                jobset_of(pod),
                str(look(pod, "metadata", "labels", REPLICATED_JOB_NAME) or ""),
                rank_of(pod),
                status,
                "" if node == "<none>" else node,
                restarts,
                old,
                ready,
                "" if address == "<none>" else address,
            ]
        )
    return Table([NAMESPACE, *columns] if namespaces else columns, rows)


def rank_of(pod: Raw) -> str:
    """The completion index of a pod; "" where it has none."""
    return str(look(pod, "metadata", "annotations", RANK) or look(pod, "metadata", "labels", RANK) or "")


def pod_order(pod: Raw) -> tuple[str, str, str, int, str]:
    """Pods by job, stage and rank."""
    rank = rank_of(pod)
    metadata = pod["metadata"]
    stage = str(look(metadata, "labels", REPLICATED_JOB_NAME) or "")
    return (
        str(metadata.get("namespace", "")),
        jobset_of(pod),
        stage,
        int(rank) if rank.isdecimal() else 0,
        str(metadata["name"]),
    )
