"""A stage of plain objects: our Job controller, a store that counts revisions, and a clock that steps move."""

import copy
from datetime import UTC, datetime, timedelta

from tests.cluster.jobs import stored
from tests.job.bodies import LONELY, UNLABELLED, Raw, pod_status, stamp
from tests.job.real import chosen
from trainplane.api.merge import merge_patch
from trainplane.job import orphans
from trainplane.job.reconcile import reconcile
from trainplane.reconcile.decision import Action, Create, Decision, Delete, Patch, Record, SetStatus
from trainplane.reconcile.view import Ref, View

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
NAMESPACE = "ns"


class World:
    """Objects by Ref, events, and what time it is."""

    def __init__(self, *, takes_pods: bool = True) -> None:
        self.takes_pods = takes_pods
        self.objects: dict[Ref, Raw] = {}
        self.events: list[Raw] = []
        self.writes: list[str] = []
        self.now = START
        self.serial = 0
        self.job = Ref("batch", "Job", NAMESPACE, "job")

    def view(self) -> View:
        """Everything there is."""
        return View(self.objects.values())

    def pods(self) -> list[Raw]:
        """All pods."""
        return [raw for ref, raw in self.objects.items() if ref.kind == "Pod"]

    def put(self, raw: Raw) -> None:
        """Store an object under a new version; one that only its finalizers kept goes with the last of them."""
        self.serial += 1
        metadata = {**raw["metadata"], "resourceVersion": str(self.serial)}
        if "deletionTimestamp" in metadata and not metadata.get("finalizers") and not metadata.get("x-terminating"):
            self.objects.pop(Ref.of(raw), None)
            return
        self.objects[Ref.of(raw)] = {**raw, "metadata": metadata}

    def make(self, raw: Raw) -> bool:
        """Store a new object; False where there is one of that name, or the server takes no pods."""
        raw = copy.deepcopy(raw)
        if Ref.of(raw) in self.objects or (raw["kind"] == "Pod" and not self.takes_pods):
            return False
        self.serial += 1
        raw["metadata"] |= {"uid": f"uid-{self.serial}", "creationTimestamp": stamp(self.now)}
        if raw["kind"] == "Pod":
            raw["status"] = {"phase": "Pending"}
        self.put(stored(raw) if raw["kind"] == "Job" else raw)
        return True

    def create(self, job: Raw) -> None:
        """Make the Job."""
        self.job = Ref("batch", "Job", NAMESPACE, job["metadata"]["name"])
        self.make({**job, "metadata": {**job["metadata"], "namespace": NAMESPACE}})

    def delete(self, ref: Ref, *, force: bool = False) -> None:
        """Delete an object; a pod on a node stays until the node lets it go, as does what has finalizers."""
        raw = self.objects.get(ref)
        if raw is None:
            return
        if ref.kind == "Job":
            del self.objects[ref]
            for pod in self.pods():
                self.delete(Ref.of(pod))
            return
        metadata = {**raw["metadata"], "deletionTimestamp": raw["metadata"].get("deletionTimestamp", stamp(self.now))}
        ended = raw.get("status", {}).get("phase") in ("Succeeded", "Failed")
        metadata["x-terminating"] = bool(raw["spec"].get("nodeName")) and not force and not ended
        self.put({**raw, "metadata": metadata})

    def act(self, decision: Decision) -> None:
        """Carry out a decision; the event behind an action that came to nothing is not told."""
        done = True
        for action in decision.actions:
            if isinstance(action, Record):
                if done:
                    self.events.append({"type": action.type, "reason": action.reason, "note": action.note})
                continue
            done = self.do(action)

    def do(self, action: Action) -> bool:
        """Carry out one action; whether it could be."""
        self.writes.append(type(action).__name__)
        match action:
            case Create(raw):
                return self.make(raw)
            case SetStatus(ref, status, uid, version):
                old = self.objects.get(ref)
                if old is None or (old["metadata"]["uid"], old["metadata"]["resourceVersion"]) != (uid, version):
                    return False
                self.put({**old, "status": status})
            case Patch(ref, patch, uid):
                old = self.objects.get(ref)
                version = patch["metadata"]["resourceVersion"]
                if old is None or (old["metadata"]["uid"], old["metadata"]["resourceVersion"]) != (uid, version):
                    return False
                self.put(merge_patch(old, patch))
            case Delete(ref, uid):
                old = self.objects.get(ref)
                if old is None or old["metadata"]["uid"] != uid:
                    return False
                self.delete(ref)
            case _:
                raise AssertionError(f"a Job controller has no business with {action}")
        return True

    def look(self) -> Decision:
        """Let the controllers look once."""
        job = self.objects.get(self.job)
        decision = Decision()
        if job:
            before = copy.deepcopy(self.objects)
            decision = reconcile(job, self.view(), self.now)
            assert decision == reconcile(job, View(reversed(self.objects.values())), self.now), "order does not matter"
            assert self.objects == before, "what is looked at is not changed"
        self.act(decision)
        for pod in self.pods():
            self.act(orphans.reconcile(pod, self.view(), self.now))
        return decision

    def settle(self, seconds: float) -> None:
        """Let time pass, and the controller look whenever something happened or it asked to."""
        until = self.now + timedelta(seconds=seconds)
        for _ in range(100):
            before = dict(self.objects)
            decision = self.look()
            if self.objects != before:
                continue
            if decision.again is None or self.now + decision.again > until:
                self.now = until
                return
            assert decision.again > timedelta(0), "it wants to look again at once, and does nothing"
            self.now += decision.again
        raise AssertionError("the controller never comes to rest")

    def step(self, step: Raw) -> None:
        """Let one thing happen."""
        match step["do"]:
            case "wait":
                self.settle(step["seconds"])
            case "patch":
                job = self.objects[self.job]
                self.put(stored(merge_patch(job, step["body"]), job))
            case "delete-job":
                self.delete(self.job)
            case "delete-pods":
                for pod in self.pods():
                    self.delete(Ref.of(pod))
            case "create-pod":
                metadata = {"name": "job-lonely", "namespace": NAMESPACE, "labels": step["labels"]}
                self.make({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": LONELY})
            case "unlabel-pods":
                for pod in chosen(self.pods(), step):
                    self.put(merge_patch(pod, {"metadata": {"labels": UNLABELLED}}))
            case "pods":
                for pod in chosen(self.pods(), step):
                    self.put({**pod, "status": pod_status(pod, step, self.now)})
            case "gone":
                for pod in self.pods():
                    if "deletionTimestamp" in pod["metadata"]:
                        self.put({**pod, "status": pod_status(pod, {"phase": "Failed"}, self.now)})
                        self.delete(Ref.of(pod), force=True)

    def seen(self) -> tuple[Raw | None, list[Raw], list[Raw]]:
        """The Job if it is there, its pods, and all events about it."""
        return self.objects.get(self.job), self.pods(), self.events
