"""Admission: a TrainJob or runtime is filled in and judged, by the same words in the webhook and the embedded API."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, TypeAlias

from trainplane.api.check import check
from trainplane.api.decode import acceptable
from trainplane.api.loose import objects_at, text_at
from trainplane.api.meta import Raw
from trainplane.api.problem import Path, Problem, Severity
from trainplane.api.roles import Found, roles_of
from trainplane.api.rules import LABELLED_WITHOUT_CONTAINER, LAW
from trainplane.api.schema import openapi
from trainplane.api.structural import broken_laws
from trainplane.api.trainer import ClusterTrainingRuntime, TrainingRuntime, TrainJob
from trainplane.reconcile.view import Ref, View
from trainplane.trainjob import advise as advice
from trainplane.trainjob import default as defaults
from trainplane.trainjob import plan_rules, snapshot
from trainplane.trainjob import validate as checks
from trainplane.trainjob.default import NODES, PATCHES, TRAINER, time_free
from trainplane.trainjob.nodes import JOBS
from trainplane.trainjob.pipeline import ALONE, Refused
from trainplane.trainjob.plan import POD
from trainplane.trainjob.plans import Plans
from trainplane.trainjob.runtime_rules import STEP_REPLICAS
from trainplane.trainjob.snapshot import Lookup
from trainplane.trainjob.tree import at

SYSTEM_PRIORITIES = ("system-cluster-critical", "system-node-critical")
VALIDATION_LABEL = "trainer.kubeflow.org/webhook-validation"
JUDGED_BY_WEBHOOK = (STEP_REPLICAS, LABELLED_WITHOUT_CONTAINER)
"""What of a runtime the API server itself lets pass."""
TYPES = {type_.__name__: type_ for type_ in (TrainJob, TrainingRuntime, ClusterTrainingRuntime)}


Elsewhere: TypeAlias = Callable[[str], Iterable[str]]
"""The namespaces with a TrainingRuntime of this name, of those that the caller may look into."""


def nowhere(_: str) -> Iterable[str]:
    """Nobody knows what the caller may see."""
    return ()


def default(new: Raw, old: Raw | None, lookup: Lookup, *, now: datetime) -> Raw:
    """The object as it will be stored."""
    if new.get("kind") != "TrainJob":
        return defaults.runtime(new)
    filled = defaults.trainjob(new, now=now, old=old)
    # Only where a job does not say how large it is does that follow from its runtime.
    return filled if at(filled, NODES) is not None else defaults.sized(filled, old, runtime_of(filled, old, lookup))


def validate(
    new: Raw, old: Raw | None, lookup: Lookup, *, elsewhere: Elsewhere = nowhere, plans: Plans | None = None
) -> Iterator[Problem]:
    """Everything that is wrong with a defaulted object, and what its author should know.

    What has the wrong shape is told in the schema's words, and the rest is judged as far as it can be read. `plans`
    are the controller's, where that is near: what is built here need not be built there again.
    """
    type_ = TYPES.get(str(new.get("kind")), TrainingRuntime)
    fits = acceptable(new, type_)
    shapeless = [] if fits else [p for p in check(new, openapi(type_)) if is_about_shape(p)]
    yield from shapeless
    said = {problem.path for problem in shapeless}
    if type_ is TrainJob:
        judged = trainjob(new, old, lookup, readable=not shapeless, elsewhere=elsewhere, plans=plans or Plans())
    else:
        judged = runtime(new, old)
    # What fits keeps the laws of its schema; those of change are about what it was before.
    broken = () if fits and old is None else broken_laws(type_, new, old)
    laws = (Problem(LAW, path, law.message, law.todo) for path, law in broken)
    yield from (problem for problem in (*laws, *judged) if problem.path not in said)


def runtime(new: Raw, old: Raw | None) -> Iterator[Problem]:
    """A runtime judged by itself; its author may switch off what Kubeflow Trainer's webhook judges, and no more."""
    on_trust = at(new, ("metadata", "labels", VALIDATION_LABEL)) == "disabled"
    judged = (*checks.runtime(new), *without_container(new))
    yield from (problem for problem in judged if not (on_trust and problem.rule in JUDGED_BY_WEBHOOK))
    # Advice is for the author when the runtime is made, not for everyone who later touches it.
    yield from advice.runtime(new) if old is None else ()


def without_container(new: Raw) -> Iterator[Problem]:
    """The labelled steps whose container is not to be told, or not there."""
    roles = roles_of(new)
    yield from (problem for problem in roles.problems if problem.severity is Severity.ERROR)
    for role in (roles.trainer, roles.launcher, roles.dataset_initializer, roles.model_initializer):
        if role and role.found is Found.LABEL:
            path = (*JOBS, role.index, *POD, "spec", "containers")
            if not at(new, path):
                what, todo = f"the job {role.name} has no container", "add the one that a TrainJob's settings are for"
                yield Problem(LABELLED_WITHOUT_CONTAINER, path, what, todo)


def is_about_shape(problem: Problem) -> bool:
    """Whether an object with this problem cannot even be read."""
    return problem.severity is Severity.ERROR and problem.rule is not LAW


def trainjob(
    new: Raw, old: Raw | None, lookup: Lookup, *, readable: bool, elsewhere: Elsewhere, plans: Plans
) -> Iterator[Problem]:
    """A TrainJob judged by itself, on its runtime, and against what it was; rendered only if it is readable."""
    found = list(checks.trainjob(new))
    yield from found
    on = runtime_of(new, old, lookup)
    if old is not None:
        yield from changed(new, old, on or {}, lookup)
    if on is None:
        # What an update changes is not the runtime's business: a job outlives the runtime it was made from.
        if old is None and readable and not any(p.path[:2] == ("spec", "runtimeRef") for p in found):
            yield snapshot.not_found(new, lookup, namespaces=elsewhere(str(new["spec"]["runtimeRef"]["name"])))
        return
    on_it = [*checks.pair(new, on), *priorities(on, lookup)]
    yield from on_it
    yield from advice.pair(new, on)
    if readable and not any(p.severity is Severity.ERROR for p in (*found, *on_it)):
        yield from unbuildable(new, on, plans)


def runtime_of(job: Raw, old: Raw | None, lookup: Lookup) -> Raw | None:
    """The runtime a TrainJob runs on, if it is there and is one: what it keeps in its snapshot, else the live one."""
    words = [at(job, ("metadata", field)) for field in ("name", "namespace")]
    words += [at(job, ("spec", "runtimeRef", field)) for field in ("name", "kind", "apiGroup")]
    if not words[0] or not words[2] or not all(word is None or isinstance(word, str) for word in words):
        return None
    kept = lookup(snapshot.snapshot_ref(job)) if old is not None else None
    try:
        return snapshot.recall(job, View.of(kept)) if kept else snapshot.find_runtime(job, lookup)
    except snapshot.Unusable:
        return None


def changed(new: Raw, old: Raw, runtime: Raw, lookup: Lookup) -> Iterator[Problem]:
    """What may not change now: the size without bounds to move in, and patches while pods run."""
    if (at(old, TRAINER) is None) != (at(new, TRAINER) is None):
        what = "spec.trainer cannot be added or removed after creation: the job's pods are made from it"
        yield Problem(plan_rules.TRAINER_IS_FIXED, TRAINER, what, "create the job anew")
    elif at(new, NODES) != at(old, NODES) and defaults.starting_size(runtime) is None:
        todo = "only jobs whose runtime has torch.elasticPolicy bounds can be resized; create the job anew"
        yield Problem(plan_rules.SIZE_IS_FIXED, TRAINER, "the number of nodes cannot change after creation", todo)
    before, after = ([time_free(patch) for _, patch in objects_at(raw, *PATCHES)] for raw in (old, new))
    if before == after:
        return
    if not at(old, ("spec", "suspend")) and not at(new, ("spec", "suspend")):
        what = "patches can change only while the job is suspended"
        yield Problem(plan_rules.PATCH_WHILE_RUNNING, PATCHES, what, "set spec.suspend to true first")
        return
    namespace, name = text_at(new, "metadata", "namespace"), text_at(new, "metadata", "name")
    jobset = lookup(Ref("jobset.x-k8s.io", "JobSet", namespace, name))
    for job in at(jobset, ("status", "replicatedJobsStatus")) or ():
        if job.get("active"):
            what = f"{job['name']} still has running pods, and patches can change only when none runs"
            yield Problem(plan_rules.PATCH_WHILE_RUNNING, PATCHES, what, "wait until its pods are gone, then try again")
    if jobset is not None:
        yield from moved(dict(affinities(new)), dict(affinities(old)))


def affinities(job: Raw) -> Iterator[tuple[tuple[str, str], tuple[Path, Any]]]:
    """The affinity that each manager's patch gives each replicated job, and where it is written."""
    where = (*POD, "spec", "affinity")
    for path, patch in objects_at(job, *PATCHES):
        for place, replicated in objects_at(patch, "trainingRuntimeSpec", "template", "spec", "replicatedJobs"):
            if at(replicated, where) is not None:
                key = text_at(patch, "manager"), text_at(replicated, "name")
                yield key, ((*path, *place, *where), at(replicated, where))


def moved(new: Mapping[Any, tuple[Path, Any]], old: Mapping[Any, tuple[Path, Any]]) -> Iterator[Problem]:
    """The affinities that would have to change in a JobSet that is there already."""
    for key in dict.fromkeys((*new, *old)):
        path, value = new.get(key, (PATCHES, None))
        if value != old.get(key, (PATCHES, None))[1]:
            what = f"the affinity of {key[1]} cannot change after creation: its JobSet is there and would refuse it"
            todo = "use nodeSelector and tolerations, or create the job anew"
            yield Problem(plan_rules.AFFINITY_IS_FIXED, path, what, todo)


def priorities(runtime: Raw, lookup: Lookup) -> Iterator[Problem]:
    """The PriorityClasses that Volcano would look for and not find."""
    if at(runtime, ("spec", "podGroupPolicy", "volcano")) is None:
        return
    named = [at(runtime, ("spec", "podGroupPolicy", "volcano", "priorityClassName"))]
    named += [at(job, (*POD, "spec", "priorityClassName")) for job in at(runtime, JOBS) or ()]
    for name in dict.fromkeys(filter(None, named)):
        if name not in SYSTEM_PRIORITIES and not lookup(Ref("scheduling.k8s.io", "PriorityClass", "", name)):
            what = f"the runtime names the PriorityClass {name}, and there is none"
            yield Problem(
                plan_rules.PRIORITY_MISSING, ("spec", "runtimeRef"), what, "create it, or use another runtime"
            )


def unbuildable(job: Raw, runtime: Raw, plans: Plans) -> Iterator[Problem]:
    """What only rendering the job shows."""
    try:
        yield from plans.build(job, snapshot.unstamped(runtime), ALONE).problems
    except Refused as refused:
        yield from refused.problems
