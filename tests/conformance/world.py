"""A world of plain objects: admission, the TrainJob controller and what a store does, and nothing else.

It is no API server and claims nothing of one: it carries out Decisions and the steps of recorded cases, so that the
pure rooms can be held to what the real Kubeflow Trainer made of the same documents.
"""

import base64
import copy
from datetime import UTC, datetime, timedelta
from typing import Any

from trainplane.api.check import check
from trainplane.api.jsonpatch import apply as json_patch
from trainplane.api.kinds import kind_of
from trainplane.api.merge import merge_patch
from trainplane.api.problem import Problem, Severity
from trainplane.api.schema import openapi
from trainplane.api.structural import defaulted
from trainplane.reconcile.decision import Action, Apply, Create, Delete, Patch, Record, SetStatus
from trainplane.reconcile.view import Ref, View
from trainplane.trainjob import admission
from trainplane.trainjob.children import MANAGER, words
from trainplane.trainjob.reconcile import reconcile

Raw = dict[str, Any]
START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
TRAINER = "trainer.kubeflow.org"
RUNTIMES = ("TrainingRuntime", "ClusterTrainingRuntime")


class Denied(Exception):
    """An object was refused, for these problems."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        super().__init__("; ".join(map(str, problems)))


def written(raw: Raw) -> list[Raw]:
    """What a server keeps of who wrote the labels and annotations of an object that the controller sends."""
    given = {
        f"f:{what}": {f"f:{key}": {} for key in raw["metadata"].get(what, {})} for what in ("labels", "annotations")
    }
    return [{"manager": MANAGER, "operation": "Apply", "fieldsV1": {"f:metadata": given}}]


class World:
    """Objects by Ref, events, warnings, and a clock that steps move."""

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self.objects: dict[Ref, Raw] = {}
        self.events: set[tuple[str, str, str, str]] = set()
        self.warned: set[tuple[str, str]] = set()
        self.now = START
        self.serial = 0

    def view(self) -> View:
        """Everything there is."""
        return View(self.objects.values())

    def create(self, doc: Raw) -> None:
        """Admit and keep a document; Denied where it is refused."""
        raw = copy.deepcopy(doc)
        kind = kind_of(raw.get("apiVersion", ""), raw.get("kind", ""))
        metadata = raw.setdefault("metadata", {})
        if kind is None or kind.namespaced:
            metadata["namespace"] = self.namespace
        if "name" not in metadata and "generateName" in metadata:
            metadata["name"] = metadata["generateName"] + "abcde"
        self.serial += 1
        metadata.setdefault("uid", f"00000000-0000-0000-0000-{self.serial:012d}")
        metadata.setdefault("creationTimestamp", self.now.strftime("%Y-%m-%dT%H:%M:%SZ"))
        self.keep(self.admitted(raw, None))

    def admitted(self, raw: Raw, old: Raw | None) -> Raw:
        """The object as it would be stored; Denied where it is refused."""
        kind = kind_of(raw.get("apiVersion", ""), raw.get("kind", ""))
        if kind is None:
            return raw
        schema = openapi(kind.type)
        problems = list(check(raw, schema))
        if kind.group == TRAINER and not problems:
            raw = admission.default(raw, old, self.lookup, now=self.now)
            problems = list(admission.validate(raw, old, self.lookup))
        elif not problems and kind.group != "scheduling.volcano.sh":
            # The recordings were made with a PodGroup of Volcano that has no schema, and so no defaults.
            raw = defaulted(kind.type, raw)
        if any(p.severity is Severity.WARNING for p in problems):
            self.warned.add((raw["kind"], raw["metadata"]["name"]))
        errors = [p for p in problems if p.severity is Severity.ERROR]
        if errors:
            raise Denied(errors)
        return raw

    def lookup(self, ref: Ref) -> Raw | None:
        """One object."""
        return self.objects.get(ref)

    def keep(self, raw: Raw) -> None:
        """Store an object; one that was only kept by its finalizers goes with the last of them."""
        if raw["metadata"].get("deletionTimestamp") and not raw["metadata"].get("finalizers"):
            self.objects[Ref.of(raw)] = raw
            self.delete(Ref.of(raw))
            return
        self.objects[Ref.of(raw)] = raw

    def patch(self, step: Raw) -> None:
        """Carry out a recorded patch."""
        old = next(
            o
            for o in self.objects.values()
            if o["kind"] == step["kind"].removeprefix("Volcano") and o["metadata"]["name"] == step["name"]
        )
        body = step["body"]
        new = json_patch(old, body) if step.get("type") == "json" else merge_patch(old, body)
        if step.get("subresource") == "status":
            self.keep({**old, "status": new.get("status") or {}})
            return
        self.keep(self.admitted({**new, **({"status": old["status"]} if "status" in old else {})}, old))

    def delete(self, ref: Ref, *, orphan: bool = False) -> None:
        """Delete an object and what it controls; one with finalizers stays and says that it goes."""
        raw = self.objects.get(ref)
        if raw is None:
            return
        if raw["metadata"].get("finalizers"):
            raw["metadata"]["deletionTimestamp"] = "2026-01-02T03:04:05Z"
            return
        del self.objects[ref]
        for child in list(View(self.objects.values()).controlled_by(raw["metadata"].get("uid", ""))):
            if orphan:
                del child["metadata"]["ownerReferences"]
            else:
                self.delete(Ref.of(child))

    def settle(self) -> None:
        """Let the TrainJob controller look until there is nothing left to do."""
        self.now += timedelta(seconds=2.5)
        for _ in range(20):
            before = copy.deepcopy(self.objects)
            for ref in [r for r in self.objects if r.kind == "TrainJob"]:
                if job := self.objects.get(ref):
                    for action in reconcile(job, self.view(), self.now).actions:
                        self.act(action, ref)
            if self.objects == before:
                return
        raise AssertionError("the controller never comes to rest")

    def act(self, action: Action, regarding: Ref) -> None:
        """Carry out one action; what a server would refuse becomes an event."""
        match action:
            case Create(raw, generate):
                raw = copy.deepcopy(raw)
                if generate:
                    raw["data"] = {
                        "ssh-privatekey": base64.b64encode(b"-----BEGIN EC PRIVATE KEY-----").decode(),
                        "ssh-publickey": "",
                    }
                try:
                    if Ref.of(raw) not in self.objects:
                        self.create({**raw, "metadata": {**raw["metadata"], "managedFields": written(raw)}})
                except Denied as error:
                    self.events.add((regarding.kind, regarding.name, "Warning", "TrainJobResourcesCreationFailed"))
                    del error
            case Apply(raw, _):
                old = self.objects[Ref.of(raw)]
                kind = kind_of(raw["apiVersion"], raw["kind"])
                assert kind is not None
                kept = {**old["metadata"], **raw["metadata"]}
                for what in ("labels", "annotations"):
                    others = {k: v for k, v in old["metadata"].get(what, {}).items() if k not in words(old, what)}
                    kept |= {what: {**others, **raw["metadata"].get(what, {})}}
                kept["managedFields"] = written(raw)
                whole = {**old, **raw, "metadata": {key: item for key, item in kept.items() if item}}
                self.keep(whole if kind.group == "scheduling.volcano.sh" else defaulted(kind.type, whole))
            case Patch(ref, patch, _, _):
                self.keep(merge_patch(self.objects[ref], patch))
            case Delete(ref, _, _):
                self.delete(ref)
            case SetStatus(ref, status, _):
                self.keep({**self.objects[ref], "status": status})
            case Record(ref, type_, reason, _):
                self.events.add((ref.kind, ref.name, type_, reason))

    def step(self, step: Raw) -> None:
        """Carry out a recorded step; `pods` moves pods, and here there are none."""
        match step["do"]:
            case "wait":
                self.now += timedelta(seconds=step["seconds"])
            case "create":
                self.create(step["object"])
            case "patch":
                self.patch(step)
            case "delete":
                kind = step["kind"].removeprefix("Volcano")
                for ref in [r for r in self.objects if r.kind == kind and r.name == step["name"]]:
                    self.delete(ref, orphan=step.get("propagation") == "Orphan")
