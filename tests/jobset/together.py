"""A stage of plain objects on which the JobSet controller, the Job controller and a garbage collector work together."""

import copy
from datetime import UTC, datetime, timedelta

from tests.cluster.jobs import stored
from tests.job.bodies import pod_status, stamp
from tests.job.real import chosen
from tests.jobset.real import of_job
from tests.jobset.stories import Raw
from tests.jobset.worlds import NS, admitted
from trainplane.api.merge import merge_patch
from trainplane.job import reconcile as job
from trainplane.jobset import reconcile as jobset
from trainplane.reconcile.decision import Action, Create, Decision, Delete, Patch, Record, SetStatus
from trainplane.reconcile.view import Ref, View

FOREGROUND = "foregroundDeletion"
CONTROLLERS = (("JobSet", jobset), ("Job", job))


class Together:
    """Objects by Ref, events, a clock, and everyone who decides about them."""

    def __init__(self) -> None:
        self.objects: dict[Ref, Raw] = {}
        self.events: list[Raw] = []
        self.now = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
        self.serial = 0

    def put(self, raw: Raw) -> None:
        """Store an object under a new version; one that only its finalizers kept goes with the last of them."""
        self.serial += 1
        raw = {**raw, "metadata": {**raw["metadata"], "resourceVersion": str(self.serial)}}
        if "deletionTimestamp" in raw["metadata"] and not raw["metadata"].get("finalizers"):
            del self.objects[Ref.of(raw)]
        else:
            self.objects[Ref.of(raw)] = raw

    def make(self, raw: Raw) -> None:
        """Store a new object."""
        raw = copy.deepcopy(raw)
        assert Ref.of(raw) not in self.objects
        raw["metadata"] |= {"uid": f"uid-{self.serial + 1}", "creationTimestamp": stamp(self.now)}
        if raw["kind"] == "Pod":
            raw["status"] = {"phase": "Pending"}
        self.put(stored(raw) if raw["kind"] == "Job" else raw)

    def drop(self, ref: Ref, *finalizers: str) -> None:
        """Mark an object as going; it goes at once where nothing holds it."""
        raw = self.objects[ref]
        held = [*(raw["metadata"].get("finalizers") or ()), *finalizers]
        self.put(merge_patch(raw, {"metadata": {"deletionTimestamp": stamp(self.now), "finalizers": held}}))

    def act(self, action: Action, *, kind: str) -> None:
        """Carry out one action of the controller of a kind."""
        match action:
            case Create(raw):
                self.make(raw)
            case SetStatus(ref, status):
                self.put({**self.objects[ref], "status": status})
            case Patch(ref, patch):
                if ref in self.objects:
                    self.put(merge_patch(self.objects[ref], patch))
            case Delete(ref, _, propagation):
                if ref in self.objects:
                    self.drop(ref, *([FOREGROUND] if propagation == "Foreground" else []))
            case Record(_, type_, reason, note):
                self.events.append({"kind": kind, "type": type_, "reason": reason, "note": note})

    def look(self) -> timedelta | None:
        """Let everyone look once; when the earliest of them wants to look again."""
        waits: list[timedelta] = []
        for kind, controller in CONTROLLERS:
            for ref in [ref for ref in self.objects if ref.kind == kind]:
                raw = self.objects.get(ref)
                decision = controller.reconcile(raw, View(self.objects.values()), self.now) if raw else Decision()
                for action in decision.actions:
                    self.act(action, kind=kind)
                waits += [decision.again] if decision.again else []
        self.collect()
        return min(waits, default=None)

    def collect(self) -> None:
        """The garbage collector: who is deleted in the foreground goes after those it owns."""
        view = View(self.objects.values())
        for ref, raw in list(self.objects.items()):
            if FOREGROUND not in (raw["metadata"].get("finalizers") or ()):
                continue
            owned = view.controlled_by(raw["metadata"]["uid"])
            for child in owned:
                if "deletionTimestamp" not in child["metadata"]:
                    self.drop(Ref.of(child), *([FOREGROUND] if child["kind"] == "Job" else []))
            if not owned and ref in self.objects:
                self.put(merge_patch(self.objects[ref], {"metadata": {"finalizers": None}}))

    def settle(self, seconds: float) -> None:
        """Let time pass, and everyone look whenever something happened or somebody asked to."""
        until = self.now + timedelta(seconds=seconds)
        for _ in range(100):
            before = dict(self.objects)
            again = self.look()
            if self.objects != before:
                continue
            if again is None or self.now + again > until:
                self.now = until
                return
            self.now += again
        raise AssertionError("the controllers never come to rest")

    def create(self, raw: Raw) -> None:
        """Make the JobSet."""
        stored = admitted({**raw, "metadata": {**raw["metadata"], "namespace": NS}})
        self.ref = Ref.of(stored)
        self.make(stored)

    def step(self, step: Raw) -> None:
        """Let one thing happen."""
        match step["do"]:
            case "wait":
                self.settle(step["seconds"])
            case "patch":
                old = self.objects[self.ref]
                self.put(admitted(merge_patch(old, step["body"]), old))
            case "delete":
                is_job = step["kind"] == "Job"
                ref = Ref("batch" if is_job else "", step["kind"], NS, step["name"])
                self.drop(ref, *([FOREGROUND] if is_job else []))
            case "pods":
                for pod in of_job(chosen(self.all("Pod"), step), step):
                    self.put({**pod, "status": pod_status(pod, step, self.now)})

    def jobset(self) -> Raw | None:
        """The JobSet, if it is there."""
        return self.objects.get(self.ref)

    def all(self, kind: str) -> list[Raw]:
        """All objects of a kind."""
        return [raw for ref, raw in self.objects.items() if ref.kind == kind]

    def told(self) -> list[Raw]:
        """All events about the JobSet."""
        return [event for event in self.events if event["kind"] == "JobSet"]
