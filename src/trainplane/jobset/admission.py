"""Admission: a JobSet is filled in and judged, when it is made and when it is changed."""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from trainplane.api.jobset import JobSet
from trainplane.api.meta import Raw
from trainplane.api.problem import Path, Problem
from trainplane.api.raw import look
from trainplane.api.ref import Ref
from trainplane.api.rules import LAW
from trainplane.api.structural import broken_laws
from trainplane.jobset import change_rules, rules
from trainplane.jobset import default as defaults
from trainplane.jobset import validate as checks
from trainplane.jobset.claims import claim, templates
from trainplane.jobset.fields import name_of, namespace_of, replicas, replicated_jobs, restarts_single_jobs
from trainplane.jobset.network import coordinator
from trainplane.jobset.update import FIXED, changes

Lookup = Callable[[Ref], Raw | None]

MOST_JOBS = 1024
"""For how many Jobs of a replicated job the status has room to count restarts one by one."""
LONGEST_LABEL = 63


def default(new: Raw, old: Raw | None, lookup: Lookup, *, now: datetime) -> Raw:
    """The JobSet as it will be stored; filled in on updates too, so that a manifest sent again is no change."""
    del old, lookup, now
    return defaults.with_blanks(defaults.jobset(new))


def validate(
    new: Raw, old: Raw | None, lookup: Lookup, *, restart_job: bool = False, elastic_jobset: bool = False
) -> Iterator[Problem]:
    """Everything that is wrong with a defaulted JobSet; the options say which gates are open."""
    if old is not None:
        for path, law in broken_laws(JobSet, new, old):
            # What is fixed is compared below, where something that comes or goes counts as a change too.
            if path not in FIXED:
                yield Problem(LAW, path, law.message, law.todo)
        yield from changes(new, old, elastic_jobset=elastic_jobset)
        return
    for path, law in broken_laws(JobSet, new):
        yield Problem(LAW, path, law.message, law.todo)
    for problem in checks.jobset(new):
        if problem.rule is not rules.BEHIND_GATE:
            yield problem
    yield from without_containers(new)
    yield from negative(new)
    yield from closed_gates(new, restart_job=restart_job)
    yield from long_coordinator(new)
    yield from existing_claims(new, lookup)


def without_containers(jobset: Raw) -> Iterator[Problem]:
    """The replicated jobs whose pods have nothing to run."""
    for place, one in enumerate(replicated_jobs(jobset)):
        if not look(one, *checks.POD, "containers"):
            path = ("spec", "replicatedJobs", place, *checks.POD, "containers")
            what = f"the pods of {one['name']} have no containers"
            yield Problem(change_rules.NO_CONTAINERS, path, what, "write a container with a name and an image")


def negative(jobset: Raw) -> Iterator[Problem]:
    """The replicated jobs of fewer Jobs than none."""
    for place, one in enumerate(replicated_jobs(jobset)):
        if replicas(one) < 0:
            path = ("spec", "replicatedJobs", place, "replicas")
            yield Problem(change_rules.NEGATIVE, path, f"{one['name']} has {replicas(one)} Jobs", "write 0 or more")


def closed_gates(jobset: Raw, *, restart_job: bool) -> Iterator[Problem]:
    """What this cluster does not do; nothing that it leaves out is quietly done otherwise."""
    policy: Path = ("spec", "failurePolicy")
    if look(jobset, *policy, "restartStrategy") == "InPlaceRestart":
        what = "InPlaceRestart is not done here: pods are not restarted in place"
        yield Problem(change_rules.GATE_CLOSED, (*policy, "restartStrategy"), what, "use Recreate")
    for place, rule in enumerate(look(jobset, *policy, "rules") or ()):
        if rule.get("action") in checks.GATED_ACTIONS and not restart_job:
            what = f"{rule['action']} is not done on this cluster: its gate RestartJob is closed"
            todo = "use RestartJobSet, or start the cluster with --feature-gates RestartJob"
            yield Problem(change_rules.GATE_CLOSED, (*policy, "rules", place, "action"), what, todo)
    if not (restart_job and restarts_single_jobs(jobset)):
        return
    for place, one in enumerate(replicated_jobs(jobset)):
        if replicas(one) > MOST_JOBS:
            what = f"{one['name']} has {replicas(one)} Jobs, and restarts are counted for {MOST_JOBS} at most"
            todo = f"use at most {MOST_JOBS} replicas, or the action RestartJobSet"
            yield Problem(change_rules.MANY_JOBS, ("spec", "replicatedJobs", place, "replicas"), what, todo)


def long_coordinator(jobset: Raw) -> Iterator[Problem]:
    """The coordinator whose name is too long for the label that tells it to the pods."""
    if not look(jobset, "metadata", "name"):
        return
    name = coordinator(jobset)
    if len(name) > LONGEST_LABEL:
        what = f"the pods are told their coordinator by a label, and {name} has more than {LONGEST_LABEL} characters"
        todo = "shorten the name of the JobSet, of the replicated job or of the subdomain"
        yield Problem(rules.COORDINATOR, ("spec", "coordinator"), what, todo)


def existing_claims(jobset: Raw, lookup: Lookup) -> Iterator[Problem]:
    """The claims that exist and that this JobSet would not treat as it should."""
    if not look(jobset, "metadata", "name"):
        return
    for place, (template, goes) in enumerate(templates(jobset)):
        if not look(template, "metadata", "name"):
            continue
        made = claim(template, jobset, goes=goes)
        found = lookup(Ref.of(made))
        if found is None:
            continue
        name = f"the claim {name_of(made)} exists in {namespace_of(jobset)}"
        path: Path = ("spec", "volumeClaimPolicies")
        if goes:
            what = f"{name}, and this JobSet would delete it"
            yield Problem(change_rules.CLAIM_EXISTS, path, what, "set retentionPolicy.whenDeleted to Retain")
        if not agrees(made["spec"], found.get("spec") or {}):
            what = f"{name} with another spec than template {place} asks for"
            yield Problem(change_rules.CLAIM_EXISTS, path, what, "ask for the same, or rename the claim")


def agrees(wanted: Any, found: Any) -> bool:
    """Whether everything that is asked for is there; a server adds more."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        return all(agrees(item, found.get(key)) for key, item in wanted.items())
    return bool(wanted == found)
