"""podGroupPolicy: one PodGroup for each stage that starts together, so that a staged start can never starve itself."""

from collections.abc import Mapping
from typing import Any

from msgspec import UnsetType
from msgspec.structs import replace

from trainplane.api.meta import Raw, write
from trainplane.api.policies import Coscheduling, Volcano
from trainplane.api.problem import Problem
from trainplane.api.requests import pod_requests, times, together
from trainplane.trainjob.plan import POD, Plan, Source
from trainplane.trainjob.plan_rules import GANG_DEADLOCK, GANG_TOO_LARGE, GANG_TOO_SMALL
from trainplane.trainjob.stages import Starter, deadlocks, stages, starters
from trainplane.trainjob.template import companion
from trainplane.trainjob.tree import at

COSCHEDULING_LABEL = "scheduling.x-k8s.io/pod-group"
VOLCANO_ANNOTATION = "scheduling.k8s.io/group-name"
QUEUE_ANNOTATION = "scheduling.volcano.sh/queue-name"
EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology"
BY_NODE_SELECTOR = "alpha.jobset.sigs.k8s.io/node-selector"
POLICY = ("spec", "podGroupPolicy")


def gangs(plan: Plan) -> Plan:
    """A PodGroup per stage, its mark on the stage's pods, and a check that each of them can be filled."""
    policy = plan.runtime.pod_group_policy
    if isinstance(policy, UnsetType):
        return plan
    if not isinstance(policy.coscheduling, UnsetType):
        return grouped(plan, policy.coscheduling)
    if not isinstance(policy.volcano, UnsetType):
        return grouped(plan, policy.volcano)
    return plan


def grouped(plan: Plan, policy: Coscheduling | Volcano) -> Plan:
    """The Plan with every stage in a gang of its own."""
    found = stages(starters(plan.jobset["spec"]))
    quorum: dict[str, int] = {}
    members: list[Starter] = []
    for stage in found:
        gang = gang_name(plan, stage, only=len(found) == 1)
        quorum[gang] = min_member(plan, stage, policy)
        members += [replace(job, gang=gang, first_alone=exclusive(plan, job.name)) for job in stage]
        group = pod_group(plan, policy, stage, name=gang, quorum=quorum[gang])
        plan = plan.with_companion(group, source=Source("", note=together_with(stage)))
        plan = marked(plan, policy, stage, gang)
    return checked(plan, members, quorum)


def together_with(stage: list[Starter]) -> str:
    """Why these pods are one gang."""
    return f"one gang for the stage of {' and '.join(sorted(job.name for job in stage))}"


def gang_name(plan: Plan, stage: list[Starter], *, only: bool) -> str:
    """The TrainJob's name where there is one gang, else the name with the first job of the stage."""
    return plan.name if only else f"{plan.name}-{stage[0].name}"


def min_member(plan: Plan, stage: list[Starter], policy: Coscheduling | Volcano) -> int:
    """How many pods must fit before any starts: all of the stage, of an elastic trainer only the least it needs."""
    trainer = plan.roles.trainer
    if trainer is None or all(job.name != trainer.name for job in stage):
        return sum(job.pods for job in stage)
    if isinstance(policy, Volcano) and not isinstance(policy.min_member, UnsetType):
        return policy.min_member
    return sum(needed(plan, job) for job in stage)


def needed(plan: Plan, job: Starter) -> int:
    """The pods of one job that its gang waits for."""
    trainer = plan.roles.trainer
    if trainer and job.name == trainer.name and plan.size.min_nodes is not None:
        return min(plan.size.min_nodes, job.pods)
    return job.pods


def pod_group(plan: Plan, policy: Coscheduling | Volcano, stage: list[Starter], *, name: str, quorum: int) -> Raw:
    """The PodGroup of one stage, in the words of its scheduler."""
    spec: Raw = {"minMember": quorum, "minResources": stage_resources(plan, stage)}
    if isinstance(policy, Coscheduling):
        if not isinstance(policy.schedule_timeout_seconds, UnsetType):
            spec["scheduleTimeoutSeconds"] = policy.schedule_timeout_seconds
        return companion(plan, api_version="scheduling.x-k8s.io/v1alpha1", kind="PodGroup", name=name, spec=spec)
    queue = policy.queue
    if isinstance(queue, UnsetType):
        queue = at(plan.jobset, ("metadata", "annotations", QUEUE_ANNOTATION)) or ""
    if queue:
        spec["queue"] = queue
    if priority := priority_class(plan, policy, stage):
        spec["priorityClassName"] = priority
    if not isinstance(policy.network_topology, UnsetType):
        spec["networkTopology"] = write(policy.network_topology)
    return companion(plan, api_version="scheduling.volcano.sh/v1beta1", kind="PodGroup", name=name, spec=spec)


def priority_class(plan: Plan, policy: Volcano, stage: list[Starter]) -> str:
    """The policy's PriorityClass, else the last one that a job of the stage names."""
    if not isinstance(policy.priority_class_name, UnsetType):
        return policy.priority_class_name
    found = ""
    for job in stage:
        found = pod_spec(plan, job.name).get("priorityClassName") or found
    return found


def stage_resources(plan: Plan, stage: list[Starter]) -> dict[str, str]:
    """What the pods that a gang waits for ask of the cluster together."""
    return together(
        times(needed(plan, job), pod_requests(spec, overhead=plan.overheads.get(spec.get("runtimeClassName", ""))))
        for job in stage
        for spec in [pod_spec(plan, job.name)]
    )


def pod_spec(plan: Plan, job: str) -> Mapping[str, Any]:
    """The pod template's spec of a replicated job."""
    for replicated in plan.replicated_jobs:
        if replicated["name"] == job:
            spec: Mapping[str, Any] = at(replicated, (*POD, "spec")) or {}
            return spec
    return {}


def marked(plan: Plan, policy: Coscheduling | Volcano, stage: list[Starter], gang: str) -> Plan:
    """The stage's pods with the mark by which the scheduler knows their gang."""
    what, key = (
        ("labels", COSCHEDULING_LABEL) if isinstance(policy, Coscheduling) else ("annotations", VOLCANO_ANNOTATION)
    )
    names = {job.name for job in stage}
    for index, job in enumerate(plan.replicated_jobs):
        if job["name"] in names:
            plan = plan.with_metadata(
                index,
                what,
                {key: gang},
                source=Source("", note=together_with(stage)),
            )
    return plan


def exclusive(plan: Plan, job: str) -> bool:
    """Whether the job's other pods wait for its first to be placed."""
    for replicated in plan.replicated_jobs:
        if replicated["name"] == job:
            for holder in (plan.jobset, replicated["template"]):
                annotations = at(holder, ("metadata", "annotations")) or {}
                if EXCLUSIVE in annotations:
                    return BY_NODE_SELECTOR not in annotations
    return False


def checked(plan: Plan, members: list[Starter], quorum: Mapping[str, int]) -> Plan:
    """The Plan with what is wrong with its gangs."""
    trainer = plan.roles.trainer
    given = at(plan.raw_runtime, (*POLICY, "volcano", "minMember"))
    for gang, needs in quorum.items():
        pods = sum(job.pods for job in members if job.gang == gang)
        if given is not None and trainer and any(j.name == trainer.name and j.gang == gang for j in members):
            path = (*POLICY, "volcano", "minMember")
            if needs > pods:
                what = f"minMember is {needs}, and the gang has only {pods} pods: it would never start"
                plan = plan.with_problem(Problem(GANG_TOO_LARGE, path, what, f"set it to {pods} or leave it out"))
            elif needs < pods and plan.size.min_nodes is None:
                what = f"minMember is {needs} of {pods} pods: training may start before all nodes have a place"
                plan = plan.with_problem(Problem(GANG_TOO_SMALL, path, what, f"set it to {pods} or leave it out"))
    for deadlock in deadlocks(members, quorum):
        if deadlock.needs <= sum(job.pods for job in members if job.gang == deadlock.gang):
            plan = plan.with_problem(
                Problem(GANG_DEADLOCK, POLICY, str(deadlock), "break the cycle in dependsOn, or remove podGroupPolicy")
            )
    return plan
