"""Causes why there are no pods: suspension, admission, the runtime, controllers that are silent, what is refused."""

import re
from collections.abc import Iterator
from datetime import datetime

from trainplane.api.meta import Raw
from trainplane.api.problem import did_you_mean
from trainplane.api.raw import look
from trainplane.api.sentences import counted
from trainplane.api.trainer import (
    CLUSTER_TRAINING_RUNTIME,
    CONTROLLER,
    GROUP,
    SUPPORT_DEPRECATED,
    SUPPORT_LABEL,
    TRAINING_RUNTIME,
)
from trainplane.reconcile.view import Ref
from trainplane.why.cause import Cause
from trainplane.why.scene import PATIENCE, Scene, began, condition, seen, stage, stage_of, time_of
from trainplane.why.sentence import is_or_are, listed, quoted

LONG = f"{int(PATIENCE.total_seconds())} s"
COLLECTORS = ("foregroundDeletion", "orphan")
"""The finalizers of garbage collection, which lifts them by itself."""
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
_QUOTA = re.compile(
    r"exceeded quota: (?P<name>[^,]+), requested: (?P<asked>.+), used: (?P<used>.+), limited: (?P<hard>.+)"
)
_SECURITY = re.compile(r"violates PodSecurity \"(?P<level>[a-z]+):[^\"]*\": (?P<what>.+)")
_TAKEN = re.compile(r"(?P<what>the .+ (?:not this TrainJob's|of somebody else is being deleted)); (?P<todo>.+)")
_PRIORITY = re.compile(r"no PriorityClass with name (?P<name>\S+) was found")
_ACCOUNT = re.compile(r"service ?account \"?(?:[-a-z0-9]+/)?(?P<name>[-.a-z0-9]+)\"? not found", re.IGNORECASE)


def being_deleted(scene: Scene) -> Cause | None:
    """The job is on its way out, and something holds it."""
    when = scene.job["metadata"].get("deletionTimestamp")
    if not when:
        return None
    finalizers = scene.job["metadata"].get("finalizers") or ()
    held, others = listed(finalizers), listed(one for one in finalizers if one not in COLLECTORS)
    todo = (
        "wait until its pods have ended; where they do not, see that their node answers: "
        f"trainplane get pods --job {scene.name} -n {scene.namespace}"
    )
    if others and not scene.pods:
        lift = f"kubectl edit trainjob {scene.name} -n {scene.namespace}"
        todo = f"whoever put {others} there must lift it; see that this controller runs, or lift it by hand: {lift}"
    left = f", and {counted(len(scene.pods), 'pod')} of it {is_or_are(len(scene.pods))} still there" * bool(scene.pods)
    return Cause(
        "BeingDeleted",
        f"the job {scene.name} is being deleted{left}" + (f"; it is held by {held}" if held else ""),
        todo,
        time_of(when),
        (Ref.of(scene.job),),
    )


def managed_by_another(scene: Scene) -> Cause | None:
    """Another controller was put in charge of the job."""
    manager = look(scene.job, "spec", "managedBy")
    if not manager or manager == CONTROLLER:
        return None
    return Cause(
        "ManagedByAnother",
        f"spec.managedBy leaves the job to {manager}, so nothing is done about it here",
        f"see that {manager} runs, or create the job without managedBy",
        time_of(scene.job["metadata"].get("creationTimestamp")),
        (Ref.of(scene.job),),
    )


def kueue_pending(scene: Scene) -> Cause | None:
    """The job is suspended until its Kueue queue admits it."""
    queue = look(scene.job, "metadata", "labels", QUEUE_LABEL)
    if not scene.suspended or not queue:
        return None
    mine = [
        raw
        for raw in scene.view.all("kueue.x-k8s.io", "Workload", namespace=scene.namespace)
        if any(
            one.get("uid") == scene.job["metadata"].get("uid") for one in raw["metadata"].get("ownerReferences") or ()
        )
    ]
    reserved = condition(mine[0], "QuotaReserved") if mine else None
    said = f": {quoted(reserved.get('message'))}" if reserved and reserved.get("message") else ""
    since = (reserved or {}).get("lastTransitionTime") or scene.job["metadata"].get("creationTimestamp")
    return Cause(
        "KueuePending",
        f"the queue {queue} has not admitted the job yet{said}",
        f"see who is ahead (kubectl get workloads -n {scene.namespace}), ask for less, or raise the queue's quota",
        time_of(since),
        (Ref.of(scene.job), *map(Ref.of, mine)),
    )


def suspended(scene: Scene) -> Cause | None:
    """Somebody suspended the job."""
    if not scene.suspended:
        return None
    by, when = suspender(scene.job)
    told = condition(scene.job, "Suspended") or {}
    return Cause(
        "Suspended",
        f"the job {scene.name} is suspended{f' by {by}' if by else ''}",
        f"let it run: trainplane resume {scene.name} -n {scene.namespace}",
        when or time_of(told.get("lastTransitionTime")),
        (Ref.of(scene.job),),
    )


def suspender(job: Raw) -> tuple[str, datetime | None]:
    """Who last wrote spec.suspend, as the API server keeps it, and when."""
    for entry in job["metadata"].get("managedFields") or ():
        if look(entry, "fieldsV1", "f:spec", "f:suspend") is not None:
            return str(entry.get("manager", "")), time_of(entry.get("time"))
    return "", None


def runtime_missing(scene: Scene) -> Cause | None:
    """The runtime that the job names is not there."""
    if scene.jobset is not None or runtime_of(scene) is not None:
        return None
    kind, name = runtime_ref(scene.job)
    others = sorted(
        {
            str(raw["metadata"]["name"])
            for other in (TRAINING_RUNTIME, CLUSTER_TRAINING_RUNTIME)
            for raw in scene.view.all(GROUP, other)
            if raw["metadata"].get("namespace", scene.namespace) == scene.namespace
        }
    )
    near = did_you_mean(name, others)
    hint = (
        f"did you mean {near}?" if near else f"there are {listed(others)}" if others else "there are no runtimes at all"
    )
    return Cause(
        "RuntimeMissing",
        f"there is no {kind} named {name}",
        f"create it, or correct spec.runtimeRef: {hint}",
        time_of(scene.job["metadata"].get("creationTimestamp")),
        (Ref(GROUP, kind, scene.namespace if kind == TRAINING_RUNTIME else "", name), Ref.of(scene.job)),
    )


def runtime_of(scene: Scene) -> Raw | None:
    """The runtime that the job names, or the snapshot that it keeps of it."""
    kind, name = runtime_ref(scene.job)
    namespace = scene.namespace if kind == TRAINING_RUNTIME else ""
    groups = dict.fromkeys(
        (look(scene.job, "spec", "runtimeRef", "apiGroup") or GROUP, GROUP, "ome.io", "kubeflow.org")
    )
    found = (scene.view.get(Ref(group, kind, namespace, name)) for group in groups)
    kept = scene.view.get(Ref("", "ConfigMap", scene.namespace, f"{scene.name}-runtime-snapshot"))
    return next((raw for raw in found if raw is not None), kept)


def runtime_ref(job: Raw) -> tuple[str, str]:
    """Kind and name of the runtime that a job names."""
    ref = look(job, "spec", "runtimeRef") or {}
    return str(ref.get("kind") or CLUSTER_TRAINING_RUNTIME), str(ref.get("name", ""))


def runtime_deprecated(scene: Scene) -> Cause | None:
    """Nothing else is known, and the runtime is one that will go."""
    runtime = runtime_of(scene)
    if look(runtime, "metadata", "labels", SUPPORT_LABEL) != SUPPORT_DEPRECATED:
        return None
    kind, name = runtime_ref(scene.job)
    return Cause(
        "RuntimeDeprecated",
        f"the {kind} {name} is deprecated, and may no longer be looked after",
        "name a runtime that is supported in spec.runtimeRef; `trainplane get runtimes` lists them",
        time_of(scene.job["metadata"].get("creationTimestamp")),
        (Ref.of(scene.job), *([Ref.of(runtime)] if runtime else [])),
    )


def refusals(scene: Scene) -> list[tuple[Raw, Raw]]:
    """Whose children a server refused, and the last event that says so, the deepest first."""
    if "refusals" not in scene.notes:
        scene.notes["refusals"] = list(_refusals(scene))
    found: list[tuple[Raw, Raw]] = scene.notes["refusals"]
    return found


def _refusals(scene: Scene) -> Iterator[tuple[Raw, Raw]]:
    """The same, worked out.

    Events outlive what they tell of: a Job that has the pods it wants has been refused nothing lately.
    """
    for job in scene.jobs:
        have = sum(1 for pod in scene.pods if any(o.get("uid") == job["metadata"].get("uid") for o in owners(pod)))
        wanted = look(job, "spec", "parallelism")
        if have < int(1 if wanted is None else wanted):
            yield from ((job, event) for event in scene.events(job, "FailedCreate")[-1:])
    if scene.jobset is not None and len(scene.jobs) < sum(int(one.get("replicas", 1)) for one in scene.replicated_jobs):
        about = scene.view.events_about(scene.jobset["metadata"].get("uid", ""))
        failed = [one for one in about if str(one.get("reason", "")).endswith("CreationFailed")]
        yield from ((scene.jobset, event) for event in sorted(failed, key=lambda one: seen(one) or "")[-1:])
    if scene.jobset is None:
        yield from ((scene.job, one) for one in scene.events(scene.job, "TrainJobResourcesCreationFailed")[-1:])


def owners(raw: Raw) -> list[Raw]:
    """An object's owner references."""
    return list(raw["metadata"].get("ownerReferences") or ())


def quota_exhausted(scene: Scene) -> Cause | None:
    """Pods or Jobs are refused because a quota is used up."""
    for raw, event in refusals(scene):
        if found := _QUOTA.search(str(event.get("note", ""))):
            name = found["name"]
            return Cause(
                "QuotaExhausted",
                f"the quota {name} of {scene.namespace} is used up: "
                + listed(shares(found["asked"], found["used"], found["hard"])),
                f"wait until other jobs end, ask for less, or raise it: "
                f"kubectl edit resourcequota {name} -n {scene.namespace}",
                began(event),
                (Ref("", "ResourceQuota", scene.namespace, name), Ref.of(raw)),
            )
    return None


def shares(asked: str, used: str, hard: str) -> Iterator[str]:
    """For each resource of a quota how much is asked for and in use, from lists such as `pods=1,requests.cpu=2`."""
    lists = [dict(pair.split("=", 1) for pair in text.split(",") if "=" in pair) for text in (asked, used, hard)]
    for name, more in lists[0].items():
        yield f"{lists[1].get(name, '0')} of {lists[2].get(name, '0')} {name} are in use, and {more} more are asked for"


def service_account_missing(scene: Scene) -> Cause | None:
    """Pods are refused because their service account is not there."""
    for raw, event in refusals(scene):
        if found := _ACCOUNT.search(str(event.get("note", ""))):
            name = found["name"]
            return Cause(
                "ServiceAccountMissing",
                f"the pods of {stage(raw)} run as the service account {name}, which is not there",
                f"create it (kubectl create serviceaccount {name} -n {scene.namespace}), or name another one",
                began(event),
                (Ref("", "ServiceAccount", scene.namespace, name), Ref.of(raw)),
            )
    return None


def pod_security(scene: Scene) -> Cause | None:
    """The namespace does not allow what the pods ask of the machine."""
    for raw, event in refusals(scene):
        if found := _SECURITY.search(str(event.get("note", ""))):
            return Cause(
                "PodSecurity",
                f"the namespace {scene.namespace} allows pods of the level {found['level']} and no more, and those of "
                f"{stage(raw)} ask for more: {quoted(found['what'])}",
                f"ask for less in the runtime, or have an administrator allow it: kubectl label namespace "
                f"{scene.namespace} pod-security.kubernetes.io/enforce=privileged",
                began(event),
                (Ref("", "Namespace", "", scene.namespace), Ref.of(raw)),
            )
    return None


def priority_class_missing(scene: Scene) -> Cause | None:
    """Pods are refused because their priority class is not there."""
    for raw, event in refusals(scene):
        if found := _PRIORITY.search(str(event.get("note", ""))):
            name = found["name"]
            return Cause(
                "PriorityClassMissing",
                f"the pods of {stage(raw)} ask for the priority class {name}, which is not there",
                f"create it (kubectl create priorityclass {name} --value=1000), or correct priorityClassName",
                began(event),
                (Ref("scheduling.k8s.io", "PriorityClass", "", name), Ref.of(raw)),
            )
    return None


def name_taken(scene: Scene) -> Cause | None:
    """Something that is not the job's has the name of what is to be made for it, and is left alone."""
    for raw, event in refusals(scene):
        if raw is scene.job and (found := _TAKEN.match(str(event.get("note", "")))):
            return Cause("NameTaken", found["what"], found["todo"], began(event), (Ref.of(raw),))
    return None


def creation_refused(scene: Scene) -> Cause | None:
    """A server refuses the job's JobSet, Jobs or pods for another reason."""
    for raw, event in refusals(scene):
        below = {"Job": "pods", "JobSet": "Jobs", "TrainJob": "JobSet"}[raw["kind"]]
        return Cause(
            {"Job": "PodsRefused", "JobSet": "JobsRefused", "TrainJob": "JobSetRefused"}[raw["kind"]],
            f"the {raw['kind']} {raw['metadata']['name']} cannot make its {below}: {quoted(event.get('note'))}",
            f"correct the field that is named there, in the runtime or under spec.runtimePatches of {scene.name}",
            began(event),
            (Ref.of(raw),),
        )
    return None


def controller_silent(scene: Scene) -> Cause | None:
    """There is no JobSet after a time that is more than enough to make one."""
    told = condition(scene.job, "Suspended") or {}
    start = time_of(told.get("lastTransitionTime") or scene.job["metadata"].get("creationTimestamp"))
    if scene.jobset is not None or start is None or scene.now - start <= PATIENCE:
        return None
    return Cause(
        "ControllerSilent",
        f"no JobSet was made for {scene.name} in more than {LONG}: the TrainJob controller "
        "does not run, or may not make it",
        "see that the controller runs (`trainplane up`, or its Deployment), and what it says: "
        f"trainplane events {scene.name} -n {scene.namespace}",
        start,
        (Ref.of(scene.job),),
    )


def jobset_controller_silent(scene: Scene) -> Cause | None:
    """The JobSet has no Jobs after a time that is more than enough to make them."""
    if scene.jobset is None or scene.jobs or look(scene.jobset, "spec", "suspend") or not scene.older(scene.jobset):
        return None
    return Cause(
        "JobSetControllerSilent",
        f"the JobSet {scene.name} has made no Jobs in more than {LONG}: the JobSet controller does not run",
        "see that it runs: kubectl get deployment -n jobset-system, or `trainplane up` for a cluster of your own",
        time_of(scene.jobset["metadata"].get("creationTimestamp")),
        (Ref.of(scene.jobset),),
    )


def job_controller_silent(scene: Scene) -> Cause | None:
    """A Job has made no pods after a time that is more than enough."""
    have = {one["uid"] for pod in scene.all_pods for one in owners(pod)}
    for job in scene.jobs:
        idle = look(job, "spec", "suspend") or not look(job, "spec", "parallelism") or job.get("status")
        if not idle and job["metadata"].get("uid") not in have and scene.older(job):
            return Cause(
                "JobControllerSilent",
                f"the Job {job['metadata']['name']} has made none of its {counted(job['spec']['parallelism'], 'pod')} "
                f"in more than {LONG}: the Job controller does not run",
                "see that kube-controller-manager runs, or `trainplane up` for a cluster of your own",
                time_of(job["metadata"].get("creationTimestamp")),
                (Ref.of(job),),
            )
    return None


def dependency_not_met(scene: Scene) -> Cause | None:
    """A stage waits for one before it, which is not as far as it should be."""
    started = {stage_of(job) for job in scene.jobs}
    counts = {one["name"]: one for one in look(scene.jobset, "status", "replicatedJobsStatus") or ()}
    sizes = {one["name"]: int(one.get("replicas", 1)) for one in scene.replicated_jobs}
    for one in scene.replicated_jobs:
        for need in one.get("dependsOn") or () if one["name"] not in started else ():
            status, name = str(need.get("status", "Ready")), str(need["name"])
            far = counts.get(name, {}).get("succeeded" if status == "Complete" else "ready", 0)
            if far < sizes.get(name, 1):
                first = next((job for job in scene.jobs if stage_of(job) == name), None)
                goal = "has completed" if status == "Complete" else "is ready"
                return Cause(
                    "DependencyNotMet",
                    f"stage {one['name']} starts when stage {name} {goal}: {far} of "
                    f"{counted(sizes.get(name, 1), 'Job')} so far",
                    f"wait for {name}, or see how it does: "
                    f"trainplane logs {scene.name} -n {scene.namespace} --step {name}",
                    time_of(look(first, "status", "startTime")),
                    (Ref.of(scene.jobset or scene.job), *([Ref.of(first)] if first else [])),
                )
    return None
