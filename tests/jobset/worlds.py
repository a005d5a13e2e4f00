"""A JobSet in a world of its own: admitted, decided about until nothing is left to do, and moved on by a test.

There is no Job controller and no garbage collector here: a test says what becomes of Jobs, and when the deleted ones
are gone.
"""

import copy
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from trainplane.api.merge import merge_patch
from trainplane.api.problem import Problem, Severity
from trainplane.api.raw import look, put
from trainplane.jobset import admission
from trainplane.jobset.reconcile import reconcile
from trainplane.reconcile.decision import Action, Create, Decision, Delete, Patch, Record, SetStatus
from trainplane.reconcile.view import Ref, View

Raw = dict[str, Any]

KEY = "jobset.sigs.k8s.io/"
API = "jobset.x-k8s.io/v1alpha2"
START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
NS = "ns"


class Denied(Exception):
    """A JobSet was refused, for these problems."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        super().__init__("; ".join(map(str, problems)))


class Refused(Exception):
    """A server does not take what the controller wants made."""


def rjob(
    name: str, replicas: int | None = None, *, job: Raw | None = None, pod: Raw | None = None, **fields: Any
) -> Raw:
    """A replicated job; `job` is put into the spec of its Jobs and `pod` over that of its pods."""
    template = {"spec": {**(job or {}), "template": {"spec": pod or {"containers": [{"name": "c", "image": "i:1"}]}}}}
    sized = {} if replicas is None else {"replicas": replicas}
    return {"name": name, **sized, "template": merge_patch(template, fields.pop("template", {})), **fields}


def jobset(*jobs: Raw, name: str = "js", annotations: Raw | None = None, **spec: Any) -> Raw:
    """A JobSet as an author writes it."""
    metadata = {"name": name, "namespace": NS, **({"annotations": annotations} if annotations else {})}
    body = {"replicatedJobs": list(jobs) or [rjob("a"), rjob("b", 3)], **spec}
    return {"apiVersion": API, "kind": "JobSet", "metadata": metadata, "spec": body}


def admitted(raw: Raw, old: Raw | None = None, *, lookup: Any = None, **gates: bool) -> Raw:
    """The JobSet as it would be stored; Denied where it is refused."""
    seek = lookup or (lambda _: None)
    new = admission.default(copy.deepcopy(raw), old, seek, now=START)
    errors = [p for p in admission.validate(new, old, seek, **gates) if p.severity is Severity.ERROR]
    if errors:
        raise Denied(errors)
    return new


class Stage:
    """A world with one JobSet."""

    def __init__(self, raw: Raw, *others: Raw, restart_job: bool = False, elastic_jobset: bool = False) -> None:
        self.gates = {"restart_job": restart_job, "elastic_jobset": elastic_jobset}
        self.objects: dict[Ref, Raw] = {Ref.of(other): other for other in others}
        self.events: list[tuple[str, str, str]] = []
        self.now = START
        self.serial = 0
        self.ref = Ref.of(raw)
        self.objects[self.ref] = self.born(admitted(raw, **self.gates))
        self.settle()

    def born(self, raw: Raw) -> Raw:
        """An object with what a server gives it at its birth."""
        self.serial += 1
        stamps = {"uid": f"uid-{self.serial}", "creationTimestamp": self.stamp()}
        return {**raw, "metadata": {**raw["metadata"], **stamps}}

    def stamp(self) -> str:
        """The time as the API writes it."""
        return self.now.strftime("%Y-%m-%dT%H:%M:%SZ")

    @property
    def jobset(self) -> Raw:
        """The JobSet."""
        return self.objects[self.ref]

    @property
    def status(self) -> Raw:
        """What it says of itself."""
        found: Raw = self.jobset.get("status", {})
        return found

    @property
    def conditions(self) -> dict[str, tuple[str, str]]:
        """Status and reason of each condition."""
        return {one["type"]: (one["status"], one["reason"]) for one in self.status.get("conditions", ())}

    @property
    def counts(self) -> dict[str, Raw]:
        """The counts by replicated job, those of zero left out."""
        return {
            one["name"]: {key: n for key, n in one.items() if key != "name" and n}
            for one in self.status.get("replicatedJobsStatus", ())
        }

    @property
    def jobs(self) -> dict[str, Raw]:
        """The Jobs by name."""
        return {ref.name: raw for ref, raw in self.objects.items() if ref.kind == "Job"}

    @property
    def attempts(self) -> Counter[str]:
        """How many Jobs there are of each run."""
        return Counter(raw["metadata"]["labels"][KEY + "restart-attempt"] for raw in self.jobs.values())

    @property
    def told(self) -> list[tuple[str, str]]:
        """Type and reason of each event."""
        return [(type_, reason) for type_, reason, _ in self.events]

    def view(self) -> View:
        """Everything there is."""
        return View(self.objects.values())

    def decide(self) -> Decision:
        """What the controller wants now."""
        return reconcile(self.jobset, self.view(), self.now, **self.gates)

    def settle(self) -> None:
        """Let the controller look until it wants nothing more."""
        for _ in range(20):
            if self.ref not in self.objects:
                return
            actions = self.decide().actions
            if not actions:
                return
            try:
                for action in actions:
                    self.act(action)
            except Refused:
                # The pass ends here, its status unwritten; whoever carries decisions out tries again later.
                return
        raise AssertionError("the controller never comes to rest")

    def act(self, action: Action) -> None:
        """Carry out one action."""
        match action:
            case Create(raw, _, complaint):
                if Ref.of(raw) in self.objects:
                    self.events.append(("Warning", complaint, f"{raw['metadata']['name']} already exists"))
                    raise Refused
                raw = self.born(copy.deepcopy(raw))
                if raw["kind"] == "Job":
                    raw["spec"] = {"parallelism": 1, "completions": 1, "backoffLimit": 6, **raw["spec"]}
                self.objects[Ref.of(raw)] = raw
            case Patch(ref, patch, uid, _):
                assert self.objects[ref]["metadata"]["uid"] == uid
                self.objects[ref] = merge_patch(self.objects[ref], patch)
            case Delete(ref, uid, propagation):
                assert self.objects[ref]["metadata"]["uid"] == uid
                assert propagation == "Foreground"
                gone = {"deletionTimestamp": self.stamp(), "finalizers": ["foregroundDeletion"]}
                self.objects[ref] = merge_patch(self.objects[ref], {"metadata": gone})
            case SetStatus(ref, status, _):
                self.objects[ref] = {**self.objects[ref], "status": status}
            case Record(_, type_, reason, note):
                self.events.append((type_, reason, note))

    def collect(self, *names: str, but: Iterable[str] = ()) -> None:
        """The garbage collector is done with deleted Jobs: with all, with these, or with all but those."""
        for ref, raw in list(self.objects.items()):
            if raw["metadata"].get("deletionTimestamp") and (ref.name in names or not names) and ref.name not in but:
                del self.objects[ref]
        self.settle()

    def wait(self, seconds: float) -> None:
        """Let time go by, and the controller look."""
        self.now += timedelta(seconds=seconds)
        self.settle()

    def edit(self, *path: str | int, to: Any) -> None:
        """Change the JobSet as a user does, through admission; Denied where it is refused."""
        new = put(self.jobset, path, to)
        self.objects[self.ref] = admitted(new, self.jobset, **self.gates)
        self.settle()

    def edit_job(self, name: str, patch: Raw) -> None:
        """Change a Job, without the controller's looking."""
        ref = Ref("batch", "Job", NS, name)
        self.objects[ref] = merge_patch(self.objects[ref], patch)

    def becomes(self, *names: str, **status: Any) -> None:
        """Jobs get this status."""
        for name in names or list(self.jobs):
            self.edit_job(name, {"status": status})
        self.settle()

    def ready(self, *names: str) -> None:
        """Jobs have all their pods ready."""
        for name in names or list(self.jobs):
            size = look(self.jobs[name], "spec", "parallelism")
            self.edit_job(name, {"status": {"active": size, "ready": size}})
        self.settle()

    def succeeds(self, *names: str) -> None:
        """Jobs have succeeded."""
        condition = {"type": "Complete", "status": "True", "lastTransitionTime": self.stamp()}
        self.becomes(*names, conditions=[condition], active=0, ready=0, succeeded=1)

    def fails(self, *names: str, reason: str = "BackoffLimitExceeded", message: str = "it broke") -> None:
        """Jobs have failed."""
        condition = {"type": "Failed", "status": "True", "lastTransitionTime": self.stamp()}
        self.becomes(*names, conditions=[{**condition, "reason": reason, "message": message}], active=0, ready=0)
