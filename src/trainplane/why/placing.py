"""Causes of pods that have no node: gates, volumes, selectors, taints, gangs that are too large, and no room."""

import json
from typing import NamedTuple

from trainplane.api.core import POD_SCHEDULED
from trainplane.api.meta import Raw
from trainplane.api.raw import look
from trainplane.api.scheduling import GROUP_NAME_ANNOTATION, POD_GROUP_LABEL, VOLCANO_GROUP_NAME_ANNOTATION
from trainplane.api.sentences import counted
from trainplane.reconcile.view import Ref
from trainplane.why.before_pods import runtime_of
from trainplane.why.cause import Cause
from trainplane.why.scene import Scene, condition, stage, stage_of, time_of, true_condition
from trainplane.why.sentence import NAMES, amount, amounts, figure, is_or_are, listed, quoted
from trainplane.why.space import (
    REQUIRED,
    Counts,
    Part,
    Room,
    Wishes,
    amount_of,
    capacity,
    needs,
    rooms,
    scarcest,
    spelt,
    usable,
)

ELASTIC = ("spec", "mlPolicy", "torch", "elasticPolicy")
NO_NODES = "no nodes available to schedule pods"
"""What a scheduler says that has none to choose from."""


class Gang(NamedTuple):
    """Pods that need nodes: how many together, what each asks for, and one of them to look at."""

    pod: Raw
    stage: str
    size: int
    placed: int
    asked: Counts
    group: Ref | None

    @property
    def needed(self) -> int:
        """How many pods still need a node before any of them may start."""
        return max(1, self.size - self.placed)


def gang_of(scene: Scene) -> Gang | None:
    """The pods that wait for nodes; those of the first stage that waits, or of its gang."""
    if not scene.waiting:
        return None
    if "gang" not in scene.notes:
        scene.notes["gang"] = _gang_of(scene, scene.waiting[0])
    found: Gang = scene.notes["gang"]
    return found


def _gang_of(scene: Scene, pod: Raw) -> Gang:
    group = group_of_pod(pod, scene)
    if group is None:
        waiting = [one for one in scene.waiting if stage_of(one) == stage_of(pod)]
        return Gang(pod, stage(pod), len(waiting), 0, needs(pod), None)
    members = [one for one in scene.pods if group_of_pod(one, scene) == group]
    size = look(scene.view.get(group), "spec", "minMember")
    placed = sum(1 for one in members if look(one, "spec", "nodeName"))
    return Gang(pod, stage(pod), int(size or len(members)), placed, needs(pod), group)


def group_of_pod(pod: Raw, scene: Scene) -> Ref | None:
    """The gang that a pod is a member of."""
    label = look(pod, "metadata", "labels", POD_GROUP_LABEL)
    if label:
        return Ref("scheduling.x-k8s.io", "PodGroup", scene.namespace, str(label))
    annotations = look(pod, "metadata", "annotations") or {}
    name = annotations.get(GROUP_NAME_ANNOTATION) or annotations.get(VOLCANO_GROUP_NAME_ANNOTATION)
    return Ref("scheduling.volcano.sh", "PodGroup", scene.namespace, str(name)) if name else None


def unscheduled(pod: Raw) -> Raw:
    """What the scheduler says of a pod without a node."""
    return condition(pod, POD_SCHEDULED) or {}


def objects_of(gang: Gang) -> tuple[Ref, ...]:
    """What a cause about a gang is about."""
    return (Ref.of(gang.pod), *([gang.group] if gang.group else []))


def scheduling_gated(scene: Scene) -> Cause | None:
    """Pods carry gates that somebody must open before any scheduler looks at them."""
    gated = [pod for pod in scene.waiting if look(pod, "spec", "schedulingGates")]
    if not gated:
        return None
    gates = listed(sorted({str(one["name"]) for pod in gated for one in pod["spec"]["schedulingGates"]}))
    return Cause(
        "SchedulingGated",
        f"{counted(len(gated), 'pod')} of {stage(gated[0])} {is_or_are(len(gated))} held by the scheduling gate "
        f"{gates}",
        "whoever put the gate there must open it; see that this controller runs, or leave the gate out",
        time_of(unscheduled(gated[0]).get("lastTransitionTime") or gated[0]["metadata"].get("creationTimestamp")),
        tuple(map(Ref.of, gated)),
    )


def no_scheduler(scene: Scene) -> Cause | None:
    """No scheduler has looked at the pods at all."""
    for pod in scene.waiting:
        if not unscheduled(pod) and scene.older(pod):
            name = look(pod, "spec", "schedulerName") or "default-scheduler"
            count = sum(1 for one in scene.waiting if not unscheduled(one))
            return Cause(
                "NoScheduler",
                f"no scheduler has looked at {counted(count, 'pod')} of {stage(pod)}: "
                f"the one that is asked for is named {name}",
                f"see that a scheduler of the name {name} runs, or correct schedulerName in the runtime",
                time_of(pod["metadata"].get("creationTimestamp")),
                (Ref.of(pod),),
            )
    return None


def no_nodes(scene: Scene) -> Cause | None:
    """The scheduler has no node at all to choose from."""
    waiting = [pod for pod in scene.waiting if str(unscheduled(pod).get("message", "")).startswith(NO_NODES)]
    if not waiting:
        return None
    return Cause(
        "NoNodes",
        f"{counted(len(waiting), 'pod')} of {stage(waiting[0])} cannot be placed: the cluster has no node",
        "add nodes, such as with trainplane up --nodes 4; with --simulate pods only seem to run",
        time_of(unscheduled(waiting[0]).get("lastTransitionTime")),
        (Ref.of(waiting[0]),),
    )


def gang_deadlock(scene: Scene) -> Cause | None:
    """A gang waits for pods of a stage that itself waits for the gang."""
    gang = gang_of(scene)
    if gang is None or gang.group is None:
        return None
    there = [pod for pod in scene.pods if group_of_pod(pod, scene) == gang.group]
    started = {stage_of(job) for job in scene.jobs}
    late = [
        one
        for one in scene.replicated_jobs
        if one["name"] not in started and {need["name"] for need in one.get("dependsOn") or ()} & started
    ]
    if len(there) >= gang.size or not late:
        return None
    last = late[0]
    needs_first = listed(str(need["name"]) for need in last["dependsOn"])
    return Cause(
        "GangDeadlock",
        f"the gang {gang.group.name} waits for {gang.size} pods, of which {exist(len(there))}: stage "
        f"{last['name']} belongs to it, and starts only after {needs_first}, which waits for the gang",
        f"give each stage a gang of its own, or set minMember of {gang.group.name} to {len(there)}",
        time_of(unscheduled(gang.pod).get("lastTransitionTime")),
        (gang.group, Ref.of(scene.jobset or scene.job)),
    )


def selector_unsatisfied(scene: Scene) -> Cause | None:
    """No node has the labels that the pods ask for."""
    gang, there = gang_of(scene), rooms(scene.view, scene.now)
    wishes = Wishes.of(gang.pod) if gang else None
    if gang is None or wishes is None or not there or any(wishes.select(room) for room in there):
        return None
    selector = look(gang.pod, "spec", "nodeSelector") or {}
    wanted = [f"{key}={value}" for key, value in selector.items()]
    if look(gang.pod, "spec", "affinity", "nodeAffinity", REQUIRED) is not None:
        wanted.append("its required node affinity")
    lacking = next((key for key in selector if not _has(there, key, selector[key])), "")
    values = (
        sorted({str(v) for room in there if (v := look(room.node, "metadata", "labels", lacking))}) if lacking else []
    )
    hint = f"nodes have {lacking}={listed(values)}" if values else f"no node has the label {lacking}" if lacking else ""
    return Cause(
        "SelectorUnsatisfied",
        f"none of {counted(len(there), 'node')} has what {gang.stage} asks for: {listed(wanted)}",
        f"label a node, or change the selector in the runtime or runtimePatches{f' ({hint})' if hint else ''}",
        time_of(unscheduled(gang.pod).get("lastTransitionTime")),
        objects_of(gang),
    )


def _has(there: tuple[Room, ...], key: str, value: str) -> bool:
    return any(look(room.node, "metadata", "labels", key) == value for room in there)


def taint_not_tolerated(scene: Scene) -> Cause | None:
    """Every node that would do has a taint that the pods do not tolerate."""
    gang, there = gang_of(scene), rooms(scene.view, scene.now)
    wishes = Wishes.of(gang.pod) if gang else None
    if gang is None or wishes is None or any(wishes.admit(room) for room in there):
        return None
    fitting = [room for room in there if wishes.select(room)]
    taints = [wishes.repelled(room) for room in fitting]
    if not fitting:
        return None
    told = {
        f"{taint.get('key')}{'=' + taint['value'] if taint.get('value') else ''}:{taint['effect']}": str(
            taint.get("key")
        )
        for taint in taints
        if taint
    }
    text, key = next(iter(told.items()))
    nodes = listed(room.name for room in fitting)
    cordoned = "node.kubernetes.io/unschedulable" in told.values()
    todo = (
        f"let pods in again: kubectl uncordon {fitting[0].name}"
        if cordoned
        else (
            f"add a toleration of {key} in the runtime or runtimePatches, or take the taint off: "
            f"kubectl taint node {fitting[0].name} {text}-"
        )
    )
    return Cause(
        "TaintNotTolerated",
        f"{counted(len(fitting), 'node')} would do for {gang.stage} ({nodes}), "
        + (
            "but let no pods in (cordoned)"
            if cordoned
            else f"but for a taint that its pods do not tolerate: {listed(told)}"
        ),
        todo,
        time_of(unscheduled(gang.pod).get("lastTransitionTime")),
        (*objects_of(gang), *(Ref.of(room.node) for room in fitting)),
    )


def gang_too_large(scene: Scene) -> Cause | None:
    """The gang would not fit if all nodes were empty."""
    gang = gang_of(scene)
    there = usable(gang.pod, scene.view, scene.now).rooms if gang else ()
    if gang is None or not there:
        return None
    most = 0
    for room in there:
        most += capacity(room.has, gang.asked)
        if most >= (gang.size if gang.group else 1):
            return None
    name = scarcest((room.has for room in there), gang.asked)
    whole = amount(name, amount_of(name, sum(room.has.get(name, 0) for room in there)))
    largest = amount(name, amount_of(name, max(room.has.get(name, 0) for room in there)))
    each = amounts(spelt(gang.asked))
    if most == 0 and not any(room.has.get(name) for room in there):
        resource = amount(name, amount_of(name, gang.asked[name]))
        what = f"one pod of {gang.stage} asks for {resource}, and none of {counted(len(there), 'node')} has any"
        todo = f"add a node that has {NAMES.get(name, name)}, or ask for none in spec.trainer.resourcesPerNode"
    elif most == 0:
        asked = amount(name, amount_of(name, gang.asked[name]))
        what = (
            f"one pod of {gang.stage} asks for {asked}, and the largest of {counted(len(there), 'node')} has {largest}"
        )
        todo = f"ask for at most {largest} per node in spec.trainer.resourcesPerNode, or add a larger node"
    else:
        what = (
            f"{gang.stage} needs {gang.size} × ({each}) together, and {most} would fit if "
            f"{f'all {len(there)} nodes were' if len(there) > 1 else 'the only node was'} empty ({whole} in all)"
        )
        todo = f"ask for at most {counted(most, 'node')} (spec.trainer.numNodes) or for less on each, or add nodes"
    since = time_of(unscheduled(gang.pod).get("lastTransitionTime"))
    return Cause("GangTooLarge", what, todo, since, objects_of(gang))


def gang_waiting(scene: Scene) -> Cause | None:
    """There is not enough room now for all of the gang together."""
    gang = gang_of(scene)
    if gang is None or not unscheduled(gang.pod):
        return None
    there = usable(gang.pod, scene.view, scene.now)
    fit, name = there.fit(gang.asked)
    if not there.rooms or fit >= gang.needed:
        return None
    free = there.left(name)
    wanted = amount(name, amount_of(name, gang.asked[name] * gang.needed))
    total = sum(free.values())
    left = f"{amount(name, amount_of(name, total))} are" if total else f"no {NAMES.get(name, name)} is"
    where = listed([f"{node} {figure(name, amount_of(name, nano))}" for node, nano in free.items()])
    enough = f" ({where}), enough for {fit or 'none'}" if where else ""
    beside = gang.placed if gang.group else sum(1 for pod in scene.pods if is_placed_beside(pod, gang.pod))
    placed = f" (besides {beside} that {'has' if beside == 1 else 'have'} a node)" if beside else ""
    return Cause(
        "GangWaiting",
        f"{gang.stage} needs {gang.needed} × ({amounts(spelt(gang.asked))}) {'together' if gang.group else 'in all'}"
        f"{placed}, which is {wanted}; {left} free{enough}",
        way_out(scene, gang, fit=fit, name=name, there=there),
        time_of(unscheduled(gang.pod).get("lastTransitionTime")),
        objects_of(gang),
    )


def is_placed_beside(pod: Raw, other: Raw) -> bool:
    """Whether a pod of the same stage as another has a node."""
    return stage_of(pod) == stage_of(other) and bool(look(pod, "spec", "nodeName"))


def way_out(scene: Scene, gang: Gang, *, fit: int, name: str, there: Part) -> str:
    """What can be done about too little room: fewer nodes where the runtime allows it, or who to wait for."""
    bounds = elastic(scene)
    able = fit + gang.placed
    if bounds and bounds[0] <= able < gang.size:
        low, high = bounds
        scale = f"trainplane scale {scene.name} --nodes {able} -n {scene.namespace}"
        return f"run on {able} now (the runtime allows {low} to {high}): {scale}"
    others = there.holders(name, but=scene.name)
    held = listed(f"{who} ({amount(name, amount_of(name, nano))})" for who, nano in others)
    return f"wait for {held} to end, ask for less, or add nodes" if held else "ask for less on each node, or add nodes"


def elastic(scene: Scene) -> tuple[int, int] | None:
    """Between how many nodes the job may run, where its runtime lets it vary."""
    runtime = runtime_of(scene)
    if runtime is not None and runtime.get("kind") == "ConfigMap":
        try:
            runtime = json.loads(look(runtime, "data", "runtime") or "{}")
        except ValueError:
            return None
    low, high = look(runtime, *ELASTIC, "minNodes"), look(runtime, *ELASTIC, "maxNodes")
    return (int(low), int(high)) if low is not None and high is not None else None


def gang_incomplete(scene: Scene) -> Cause | None:
    """Not all members of a gang exist yet."""
    gang = gang_of(scene)
    if gang is None or gang.group is None:
        return None
    there = sum(1 for pod in scene.pods if group_of_pod(pod, scene) == gang.group)
    if there >= gang.size:
        return None
    return Cause(
        "GangIncomplete",
        f"the gang {gang.group.name} waits for {gang.size} pods, of which {exist(there)}",
        f"see why the others are not made (trainplane events {scene.name} -n {scene.namespace}), "
        f"or correct minMember of {gang.group.name}",
        time_of(gang.pod["metadata"].get("creationTimestamp")),
        objects_of(gang),
    )


def exist(number: int) -> str:
    """That so many are there."""
    return f"{number} {'exists' if number == 1 else 'exist'}"


def unschedulable(scene: Scene) -> Cause | None:
    """The scheduler says why, in its own words."""
    for pod in scene.waiting:
        said = unscheduled(pod)
        if said.get("status") == "False" and said.get("message"):
            count = sum(1 for one in scene.waiting if true_condition(one, POD_SCHEDULED) is None)
            return Cause(
                "Unschedulable",
                f"{counted(count, 'pod')} of {stage(pod)} {is_or_are(count)} without a node: {quoted(said['message'])}",
                "change what stands in the way there, in the runtime or on the nodes",
                time_of(said.get("lastTransitionTime")),
                (Ref.of(pod),),
            )
    return None
