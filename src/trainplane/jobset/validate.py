"""What is refused of a JobSet, or of the JobSet template of a runtime, beyond its schema."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from trainplane.api.loose import integer_at, object_at, objects_at, text_at, texts_at
from trainplane.api.problem import Path, Problem, did_you_mean
from trainplane.api.raw import look
from trainplane.jobset import rules

MAX_INT32 = 2**31 - 1
POD: Path = ("template", "spec", "template", "spec")
REASONS = (
    "BackoffLimitExceeded",
    "DeadlineExceeded",
    "FailedIndexes",
    "MaxFailedIndexesExceeded",
    "PodFailurePolicy",
)
GATED_ACTIONS = ("RestartJob", "RestartJobAndIgnoreMaxRestarts")

_LABEL = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_RULE_NAME = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
_MANAGER = re.compile(
    r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/[-A-Za-z0-9._~%!$&'()*+,;=:@/]+"
)
_POD_SUFFIX = "-abcde"
_LABEL_TODO = "use at most 63 lower-case letters, digits and '-', with a letter first"


def jobset(obj: Mapping[str, Any]) -> Iterator[Problem]:
    """Everything for which a JobSet is refused."""
    name = text_at(obj, "metadata", "name")
    if not name and text_at(obj, "metadata", "generateName"):
        name = text_at(obj, "metadata", "generateName")[:58] + "xxxxx"
    yield from template(object_at(obj, "spec"), at=("spec",), name=name)


def template(spec: Mapping[str, Any], *, at: Path, name: str = "") -> Iterator[Problem]:
    """Everything for which the spec of a JobSet is refused; without a name, names made from it are not looked at."""
    check = _Check(spec, at=at, jobset=name)
    yield from check.order()
    yield from check.names()
    yield from check.counts()
    yield from check.success_policy()
    yield from check.failure_policy()
    yield from check.coordinator()
    yield from check.claims()


class _Check:
    """One JobSet, looked at policy by policy."""

    def __init__(self, spec: Mapping[str, Any], *, at: Path, jobset: str) -> None:
        self.spec = spec
        self.at = at
        self.jobset = jobset
        self.jobs = tuple(text_at(job, "name") for _, job in objects_at(spec, "replicatedJobs"))

    def order(self) -> Iterator[Problem]:
        """dependsOn and startupPolicy."""
        before: set[str] = set()
        in_order = look(self.spec, "startupPolicy", "startupPolicyOrder") == "InOrder"
        for path, job in objects_at(self.spec, "replicatedJobs"):
            place = (*self.at, *path, "dependsOn")
            if in_order and job.get("dependsOn") is not None:
                what = "startupPolicy InOrder says the order already"
                yield Problem(rules.ORDERED_TWICE, place, what, "remove startupPolicy and keep dependsOn")
            if path[-1] == 0 and job.get("dependsOn") is not None:
                what = "the first job has no job before it to wait for"
                todo = "list it behind the jobs it waits for, or remove dependsOn"
                yield Problem(rules.FIRST_WAITS, place, what, todo)
            elif path[-1] != 0:
                for where, dependency in objects_at(job, "dependsOn"):
                    name = text_at(dependency, "name")
                    if name and name not in before:
                        yield self._waits_for_nobody(
                            (*self.at, *path, *where, "name"), name, waiting=text_at(job, "name"), before=before
                        )
            before.add(text_at(job, "name"))

    def _waits_for_nobody(self, path: Path, name: str, *, waiting: str, before: set[str]) -> Problem:
        if name == waiting:
            return Problem(rules.WAITS_FOR_NOBODY, path, "the job waits for itself", "name a job listed before it")
        if name in self.jobs:
            what = f"{name} is listed after the job that waits for it"
            return Problem(rules.WAITS_FOR_NOBODY, path, what, f"list {name} first")
        near = did_you_mean(name, sorted(before))
        todo = f"did you mean {near}?" if near else "name a job listed before it"
        return Problem(rules.WAITS_FOR_NOBODY, path, f"there is no job {name}", todo)

    def names(self) -> Iterator[Problem]:
        """Names, and the names that are made from them."""
        subdomain = text_at(self.spec, "network", "subdomain")
        if subdomain and not _LABEL.fullmatch(subdomain):
            path = (*self.at, "network", "subdomain")
            yield Problem(rules.SUBDOMAIN, path, f"{subdomain!r} cannot be the name of a service", _LABEL_TODO)
        manager = look(self.spec, "managedBy")
        if isinstance(manager, str) and (len(manager) > 63 or not _MANAGER.fullmatch(manager)):
            what = f"{manager!r} is not a domain, a slash and a name of at most 63 characters"
            yield Problem(rules.MANAGED_BY, (*self.at, "managedBy"), what, "write it as example.com/controller")
        for path, job in objects_at(self.spec, "replicatedJobs"):
            group = text_at(job, "groupName")
            if group and not _LABEL.fullmatch(group):
                yield Problem(
                    rules.GROUP_NAME, (*self.at, *path, "groupName"), f"{group!r} is not a label", _LABEL_TODO
                )
            if job.get("name") == "":
                what = "the name is empty, and Jobs and pods are called after it"
                yield Problem(rules.LONG_NAME, (*self.at, *path, "name"), what, "write a name")
            made = self._longest_name(job)
            if made and not _LABEL.fullmatch(made):
                fault = "has more than 63 characters" if len(made) > 63 else "has characters that a name may not have"
                where = (*self.at, *path, "name")
                yield Problem(rules.LONG_NAME, where, f"{made}, a name made from this one, {fault}", _LABEL_TODO)

    def _longest_name(self, job: Mapping[str, Any]) -> str:
        """The longest name of a Job or pod that comes of a replicated job."""
        name = text_at(job, "name")
        if not name:
            return ""
        replicas = integer_at(job, "replicas")
        # A runtime's JobSet has no name yet: then only the form can be judged, by the shortest one there is.
        made = f"{self.jobset or 'x'}-{name}-{max((1 if replicas is None else replicas) - 1, 0)}"
        completions = integer_at(job, "template", "spec", "completions")
        if completions is not None and self._indexed(job):
            made += f"-{max(completions - 1, 0)}{_POD_SUFFIX}"
        return made

    @staticmethod
    def _indexed(job: Mapping[str, Any]) -> bool:
        return look(job, "template", "spec", "completionMode") in (None, "Indexed")

    def counts(self) -> Iterator[Problem]:
        """Replicas, parallelism and completions."""
        for path, job in objects_at(self.spec, "replicatedJobs"):
            place = (*self.at, *path)
            replicas = integer_at(job, "replicas")
            parallelism = integer_at(job, "template", "spec", "parallelism")
            if (1 if replicas is None else replicas) * (1 if parallelism is None else parallelism) > MAX_INT32:
                what = "replicas times parallelism is more than 2147483647"
                yield Problem(rules.TOO_MANY_PODS, (*place, "replicas"), what, "write smaller numbers")
            completions = look(job, "template", "spec", "completions")
            if self.jobset and parallelism is not None and completions is None and self._indexed(job):
                what = "parallelism is given without completions"
                path_ = (*place, "template", "spec", "parallelism")
                yield Problem(rules.NO_COMPLETIONS, path_, what, f"add completions: {parallelism}")

    def _targets(self, policy: Mapping[str, Any], path: Path) -> Iterator[Problem]:
        for where, name in texts_at(policy, "targetReplicatedJobs"):
            if name not in self.jobs:
                near = did_you_mean(name, self.jobs)
                todo = (
                    f"did you mean {near}?" if near else f"the jobs are {', '.join(filter(None, self.jobs)) or 'none'}"
                )
                yield Problem(rules.NO_SUCH_TARGET, (*self.at, *path, *where), f"there is no job {name}", todo)

    def success_policy(self) -> Iterator[Problem]:
        """Whose success counts."""
        yield from self._targets(object_at(self.spec, "successPolicy"), ("successPolicy",))

    def failure_policy(self) -> Iterator[Problem]:
        """What happens when a job fails."""
        if look(self.spec, "failurePolicy", "restartStrategy") == "InPlaceRestart":
            path = (*self.at, "failurePolicy", "restartStrategy")
            yield Problem(rules.BEHIND_GATE, path, "InPlaceRestart needs JobSet's gate InPlaceRestart", "use Recreate")
        seen: set[str] = set()
        for path, rule in objects_at(self.spec, "failurePolicy", "rules"):
            place = (*self.at, *path)
            if rule.get("action") in GATED_ACTIONS:
                what = f"{rule['action']} needs JobSet's gate RestartJob"
                yield Problem(rules.BEHIND_GATE, (*place, "action"), what, "use RestartJobSet")
            name = text_at(rule, "name")
            if name and (len(name) > 128 or not _RULE_NAME.fullmatch(name)):
                todo = "use letters, digits and _ , : with a letter first, such as OnEviction"
                yield Problem(rules.FAILURE_RULE, (*place, "name"), f"{name!r} cannot be the name of a rule", todo)
            if name and name in seen:
                yield Problem(rules.FAILURE_RULE, (*place, "name"), f"a rule {name} is there already", "rename one")
            seen.add(name)
            for where, reason in texts_at(rule, "onJobFailureReasons"):
                if reason not in REASONS:
                    near = did_you_mean(reason, REASONS)
                    todo = f"did you mean {near}?" if near else f"the reasons are {', '.join(REASONS)}"
                    yield Problem(rules.FAILURE_REASON, (*place, *where), f"no job fails for the reason {reason}", todo)
            yield from self._targets(rule, path)

    def coordinator(self) -> Iterator[Problem]:
        """The pod that leads."""
        given = object_at(self.spec, "coordinator")
        name, path = text_at(given, "replicatedJob"), (*self.at, "coordinator")
        if not name:
            return
        job = next((job for _, job in objects_at(self.spec, "replicatedJobs") if job.get("name") == name), None)
        if job is None:
            near = did_you_mean(name, self.jobs)
            todo = f"did you mean {near}?" if near else "name one of the replicated jobs"
            yield Problem(rules.COORDINATOR, (*path, "replicatedJob"), f"there is no job {name}", todo)
            return
        replicas, completions = integer_at(job, "replicas"), integer_at(job, "template", "spec", "completions")
        for field, limit in (("jobIndex", 1 if replicas is None else replicas), ("podIndex", completions)):
            index = integer_at(given, field) or 0
            if limit is not None and not 0 <= index < limit:
                what = f"{field} is {index}, and {name} has {limit}"
                yield Problem(rules.COORDINATOR, (*path, field), what, f"write a number from 0 to {limit - 1}")
        if self.jobset and (completions is None or not self._indexed(job)):
            what = f"the job {name} does not count its pods"
            todo = "write completions, and completionMode Indexed"
            yield Problem(rules.COORDINATOR, (*path, "replicatedJob"), what, todo)

    def claims(self) -> Iterator[Problem]:
        """The volume claims that the JobSet makes."""
        volumes: dict[str, Path] = {}
        mounted: set[str] = set()
        for path, job in objects_at(self.spec, "replicatedJobs"):
            for where, volume in objects_at(job, *POD, "volumes"):
                volumes.setdefault(text_at(volume, "name"), (*self.at, *path, *where, "name"))
            for kind in ("containers", "initContainers"):
                for _, container in objects_at(job, *POD, kind):
                    mounted |= {text_at(mount, "name") for _, mount in objects_at(container, "volumeMounts")}
        seen: set[str] = set()
        for path, policy in objects_at(self.spec, "volumeClaimPolicies"):
            if self.jobset and policy.get("templates") is None:
                what, todo = "the policy is about no claims", "list them under templates, or remove the policy"
                yield Problem(rules.CLAIM, (*self.at, *path), what, todo)
            for where, claim in objects_at(policy, "templates"):
                name = text_at(claim, "metadata", "name")
                place = (*self.at, *path, *where, "metadata", "name")
                for fault, todo in self._faults(name, seen=seen):
                    yield Problem(rules.CLAIM, place, fault, todo)
                seen.add(name)
                if name in volumes:
                    what = f"{name} is the name of a claim too, which becomes a volume of that name"
                    yield Problem(rules.CLAIM, volumes[name], what, "rename the claim, or remove the volume")
                if name not in mounted:
                    what = f"no container mounts {name or 'a claim without a name'}"
                    todo = f"add a volumeMount of name {name or 'its own'}, or remove the claim"
                    yield Problem(rules.CLAIM, (*self.at, "replicatedJobs"), what, todo)

    def _faults(self, name: str, *, seen: set[str]) -> Iterator[tuple[str, str]]:
        if not name:
            yield "the claim has no name", "write metadata.name, the name of the volume that containers mount"
            return
        if name in seen:
            yield f"a claim {name} is there already", "rename one of them"
        if not _SUBDOMAIN.fullmatch(name):
            yield f"{name!r} cannot be the name of a claim", _LABEL_TODO
        if len(f"{name}-{self.jobset}") > 63:
            yield f"{name}-{self.jobset} has more than 63 characters", "shorten one of the two names"
