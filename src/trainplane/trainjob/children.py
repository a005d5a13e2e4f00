"""What a TrainJob's objects need: to be made once, to be kept while that is allowed, and to have the right size."""

from collections.abc import Iterator, Mapping
from typing import Any

from trainplane.api.conditions import is_true
from trainplane.api.meta import Raw
from trainplane.api.problem import Path
from trainplane.reconcile.decision import Action, Apply, Create, Patch
from trainplane.reconcile.view import Ref, View
from trainplane.trainjob.nodes import COUNT
from trainplane.trainjob.plan import POD, Plan
from trainplane.trainjob.snapshot import is_controlled_by
from trainplane.trainjob.status import finished
from trainplane.trainjob.tree import at, put

CREATION_FAILED = "TrainJobResourcesCreationFailed"
"""The reason of the event about a TrainJob whose objects a server refuses, new ones and changed ones alike."""
SSH_AUTH = "kubernetes.io/ssh-auth"
SUSPEND = ("spec", "suspend")
REPLICATED = ("spec", "replicatedJobs")
SIZES = ("parallelism", "completions")
WORDS = ("labels", "annotations")
MANAGER = "trainplane"
"""The name under which a cluster keeps who wrote our fields."""
LOOSE: tuple[Path, ...] = (
    ("template", "metadata", "labels"),
    ("template", "metadata", "annotations"),
    (*POD, "metadata", "labels"),
    (*POD, "metadata", "annotations"),
    (*POD, "spec", "nodeSelector"),
    (*POD, "spec", "tolerations"),
    (*POD, "spec", "schedulingGates"),
)
"""What may change in a JobSet that is suspended, and so may have to go when a patch is dropped."""
PATCHED = (
    *("serviceAccountName", "affinity", "volumes", "imagePullSecrets", "securityContext"),
    "terminationGracePeriodSeconds",
)
"""What else a patch may bring to a pod; a JobSet that is there lets none of it go, and has to say so."""
PATCHED_IN_CONTAINERS = ("env", "volumeMounts", "securityContext")


def kept(job: Raw, raw: Raw, existing: Raw | None, *, elastic: str = "") -> Iterator[Action]:
    """What makes one object be as it should; `elastic` names the replicated job whose size the JobSet lets us change.

    A JobSet and its PodGroups stay as they are while pods run; an ssh key is made once.
    """
    if existing is None:
        yield Create(raw, generate=("ssh-keys",) if raw.get("type") == SSH_AUTH else (), complaint=CREATION_FAILED)
        return
    uid = existing["metadata"].get("uid", "")
    suspended = bool(at(job, SUSPEND))
    match raw["kind"]:
        case "JobSet":
            sized = with_sizes_of(raw, existing, but=elastic)
            if (suspended or at(existing, SUSPEND)) and not is_settled(existing, sized):
                yield Apply(sized, uid=uid, complaint=CREATION_FAILED)
        case "PodGroup":
            if suspended and not contains(existing, raw):
                yield Apply(raw, uid=uid, complaint=CREATION_FAILED)
        case "Secret":
            return
        case _:
            if not contains(existing, raw):
                yield Apply(raw, uid=uid, complaint=CREATION_FAILED)


def with_sizes_of(raw: Raw, existing: Raw, *, but: str) -> Raw:
    """The JobSet with the pod counts it already has, which JobSet lets nobody change; `but` names the exception."""
    counts = {job["name"]: at(job, ("template", "spec")) or {} for job in at(existing, REPLICATED) or ()}
    for i, job in enumerate(at(raw, REPLICATED) or ()):
        there = {} if job["name"] == but else counts.get(job["name"], {})
        for field in SIZES:
            if field in there:
                raw = put(raw, (*REPLICATED, i, "template", "spec", field), there[field])
    return raw


def is_settled(existing: Raw, raw: Raw) -> bool:
    """Whether applying a JobSet again would change nothing: all of it is there, and nothing that a patch once set."""
    theirs, ours = ({job["name"]: job for job in at(jobset, REPLICATED) or ()} for jobset in (existing, raw))
    return (
        contains(existing, raw)
        and not any(words(existing, what) - set(at(raw, ("metadata", what)) or ()) for what in WORDS)
        and all((at(theirs[name], path) or None) == (at(ours[name], path) or None) for name in ours for path in LOOSE)
        and not any(outlived(brought(theirs[name]), brought(ours[name])) for name in ours)
    )


def words(existing: Raw, what: str) -> set[str]:
    """The labels or annotations of an object that we gave it; others may have given it more, which are theirs."""
    ours = [entry for entry in at(existing, ("metadata", "managedFields")) or () if entry.get("manager") == MANAGER]
    given = {name.removeprefix("f:") for one in ours for name in at(one, ("fieldsV1", "f:metadata", f"f:{what}")) or ()}
    return given & set(at(existing, ("metadata", what)) or ())


def brought(job: Raw) -> dict[Any, Any]:
    """What a patch may have brought to the pods of a replicated job beside what is loose."""
    spec = at(job, (*POD, "spec")) or {}
    found: dict[Any, Any] = {field: spec[field] for field in PATCHED if field in spec}
    for kind in ("containers", "initContainers"):
        for container in spec.get(kind) or ():
            found[kind, container["name"]] = {
                field: container[field] for field in PATCHED_IN_CONTAINERS if field in container
            }
    return found


def outlived(existing: Any, raw: Any) -> bool:
    """Whether there is a field that is wanted no more; a list that became shorter is another list."""
    there, wanted = (value if isinstance(value, Mapping) else {} for value in (existing, raw))
    return any(key not in wanted or outlived(item, wanted[key]) for key, item in there.items())


def contains(existing: Any, raw: Any) -> bool:
    """Whether everything in `raw` is so in `existing` already."""
    if isinstance(raw, dict):
        return isinstance(existing, Mapping) and all(
            key in existing and contains(existing[key], raw[key]) for key in raw
        )
    if isinstance(raw, list) and isinstance(existing, list):
        return len(raw) == len(existing) and all(contains(a, b) for a, b in zip(existing, raw, strict=True))
    return bool(existing == raw)


def resized(plan: Plan, jobset: Raw | None, view: View, *, in_template: bool) -> Iterator[Action]:
    """The trainer brought to the size that an elastic TrainJob asks for.

    JobSet refuses edits of a live template unless its ElasticJobSet gate is on, which `in_template` says. Without it
    the child Job is changed, and again whenever a restart has made it anew. A Job gives up its highest ranks first.
    """
    trainer = plan.roles.trainer
    if jobset is None or trainer is None or plan.size.min_nodes is None:
        return
    if at(plan.raw_job, SUSPEND) or at(jobset, SUSPEND) or jobset["metadata"].get("deletionTimestamp"):
        return
    size = at(plan.replicated_jobs[trainer.index], COUNT)
    if in_template:
        jobs = at(jobset, REPLICATED)
        new = [with_size(job, size) if job["name"] == trainer.name else job for job in jobs]
        if new != jobs:
            yield Patch(Ref.of(jobset), {"spec": {"replicatedJobs": new}}, uid=jobset["metadata"].get("uid", ""))
        return
    child = child_job(jobset, trainer.name, view)
    if child is None or child["metadata"].get("deletionTimestamp") or finished(child.get("status") or {}):
        return
    if any(at(child, ("spec", field)) != size for field in SIZES):
        patch = {"spec": dict.fromkeys(SIZES, size)}
        yield Patch(Ref.of(child), patch, uid=child["metadata"].get("uid", ""))


def with_size(job: Raw, size: int) -> Raw:
    """A replicated job of so many pods."""
    spec: Raw = {**(at(job, ("template", "spec")) or {}), **dict.fromkeys(SIZES, size)}
    sized: Raw = put(job, ("template", "spec"), spec)
    return sized


def child_job(jobset: Raw, name: str, view: View) -> Raw | None:
    """The first Job of a replicated job, if it is there and the JobSet's."""
    metadata = jobset["metadata"]
    child = view.get(Ref("batch", "Job", metadata.get("namespace", ""), f"{metadata['name']}-{name}-0"))
    return child if child and is_controlled_by(child, jobset) else None


def sized(status: Raw, plan: Plan | None, jobset: Raw | None, view: View) -> Raw:
    """The status of an elastic job with its size now and its pods' labels, which autoscalers read."""
    if finished(status):
        return {**status, "nodes": 0} if "nodes" in status else status
    trainer = plan.roles.trainer if plan else None
    if plan is None or trainer is None or plan.size.min_nodes is None:
        return status
    child = child_job(jobset, trainer.name, view) if jobset else None
    stopped = child is None or at(child, SUSPEND) or is_true(child.get("status") or {}, "Complete")
    selector = f"jobset.sigs.k8s.io/jobset-name={plan.name},jobset.sigs.k8s.io/replicatedjob-name={trainer.name}"
    return {**status, "nodes": 0 if stopped else at(child, ("spec", "parallelism")) or 0, "selector": selector}
