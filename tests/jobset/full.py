"""Recorded cases with all controllers: TrainJobs become JobSets, Jobs and pods, in a world of plain objects.

The rooms meet only here, in a test: each is what it will be in the embedded cluster.
"""

import copy
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.cluster.jobs import refusals, stored
from tests.conformance.recordings import attempt, documents, leaves, load
from tests.conformance.world import Denied, World
from tests.jobset.recorded import is_added, substance
from trainplane.api.problem import Severity
from trainplane.job import orphans
from trainplane.job import reconcile as job
from trainplane.jobset import admission
from trainplane.jobset import reconcile as jobset
from trainplane.reconcile.decision import Action, Create, Delete, Patch
from trainplane.reconcile.view import Ref
from trainplane.trainjob import reconcile as trainjob

Raw = dict[str, Any]
KEY = "jobset.sigs.k8s.io/"
CONTROLLERS = (("TrainJob", trainjob), ("JobSet", jobset), ("Job", job), ("Pod", orphans))


class Refused(Exception):
    """A server does not take what a controller wants made: the pass ends here."""


class FullWorld(World):
    """A world in which every controller looks."""

    def admitted(self, raw: Raw, old: Raw | None) -> Raw:
        """The object as it would be stored; Denied where it is refused."""
        if raw.get("kind") not in ("JobSet", "Job"):
            return super().admitted(raw, old)
        if raw["kind"] == "JobSet":
            raw = admission.default(raw, old, self.lookup, now=self.now)
            problems = list(admission.validate(raw, old, self.lookup))
        else:
            raw = stored(raw, old)
            if said := refusals(raw, old):
                raise Denied(said)
            return raw
        errors = [problem for problem in problems if problem.severity is Severity.ERROR]
        if errors:
            raise Denied(errors)
        return raw

    def act(self, action: Action, regarding: Ref) -> None:
        """Carry out one action."""
        match action:
            case Create(raw, _, complaint) if complaint:
                if Ref.of(raw) in self.objects:
                    self.events.add((regarding.kind, regarding.name, "Warning", complaint))
                    raise Refused
                try:
                    self.create(copy.deepcopy(raw))
                except Denied as denied:
                    self.events.add((regarding.kind, regarding.name, "Warning", complaint))
                    raise Refused from denied
            case Delete(ref, _, _):
                self.delete(ref)
            case Patch(ref):
                if ref in self.objects:
                    super().act(action, regarding)
            case _:
                super().act(action, regarding)

    def settle(self) -> None:
        """Let every controller look until there is nothing left to do."""
        self.now += timedelta(seconds=2.5)
        for _ in range(60):
            before = copy.deepcopy(self.objects)
            for kind, controller in CONTROLLERS:
                for ref in [ref for ref in self.objects if ref.kind == kind]:
                    self.look(ref, controller)
            if self.objects == before:
                return
        raise AssertionError("the controllers never come to rest")

    def look(self, ref: Ref, controller: Any) -> None:
        """Let one controller look at one object."""
        raw = self.objects.get(ref)
        if raw is None:
            return
        try:
            for action in controller.reconcile(raw, self.view(), self.now).actions:
                self.act(action, ref)
        except Refused:
            return

    def step(self, step: Raw) -> None:
        """Carry out a recorded step."""
        if step["do"] != "pods":
            super().step(step)
            return
        phase, then = step["phase"], "2026-01-01T00:00:0"
        for ref in [ref for ref in self.objects if ref.kind == "Pod"]:
            pod = self.objects[ref]
            ended = pod.get("status", {}).get("phase") in ("Failed", "Succeeded")
            of_other = step.get("rjob") not in (None, pod["metadata"]["labels"].get(KEY + "replicatedjob-name"))
            if ended or of_other or pod["metadata"].get("deletionTimestamp"):
                continue
            ready = {"type": "Ready", "status": str(phase == "Running"), "lastTransitionTime": then + "0Z"}
            status: Raw = {"phase": phase, "startTime": then + "0Z", "conditions": [ready]}
            if phase != "Running":
                state = {"terminated": {"exitCode": int(phase == "Failed"), "finishedAt": then + "1Z"}}
                status["containerStatuses"] = [
                    {"name": c["name"], "ready": False, "restartCount": 0, "state": state}
                    for c in pod["spec"]["containers"]
                ]
            self.keep({**pod, "status": status})


def play(case: Path) -> Iterator[tuple[str, FullWorld]]:
    """Run a case; the world after the documents and after each step, with its tag."""
    world = FullWorld(re.sub(r"[^a-z0-9-]", "-", case.name.lower())[:60].strip("-"))
    for doc in documents(case):
        attempt(world, "create", doc, {})
    world.settle()
    yield "", world
    for n, step in enumerate(load(case / "steps.yaml") or [], 1):
        with suppress(Denied):
            world.step(step)
        world.settle()
        yield f"-step-{n}-{step.get('tag', step['do'])}", world


def theirs(case: Path, tag: str) -> dict[str, Any] | None:
    """The leaves of a recorded state below the JobSet; None where nothing was recorded."""
    state = load(case / f"full-expected{tag}.yaml")
    if state is None:
        return None
    told = {(e["name"], e["type"], e["reason"]) for e in state.get("events", []) if e["kind"] == "JobSet"}
    return dict(shown(state["objects"], state.get("pods", []), told))


def ours(world: FullWorld) -> dict[str, Any]:
    """The same of what is in the world."""
    pods = [
        {
            "hostname": raw["spec"].get("hostname"),
            "subdomain": raw["spec"].get("subdomain"),
            "phase": (raw.get("status") or {}).get("phase", "Pending"),
            "rjob": raw["metadata"]["labels"].get(KEY + "replicatedjob-name"),
            "restart": raw["metadata"]["labels"].get(KEY + "restart-attempt"),
            "deleting": "deletionTimestamp" in raw["metadata"],
        }
        for ref, raw in world.objects.items()
        if ref.kind == "Pod"
    ]
    told = {(name, type_, reason) for kind, name, type_, reason in world.events if kind == "JobSet"}
    return dict(shown(world.objects.values(), pods, told))


def shown(objects: Any, pods: list[Raw], told: set[tuple[str, str, str]]) -> Iterator[tuple[str, Any]]:
    """Jobs and Services, the statuses of JobSets, pods, and the reasons of events."""
    for raw in objects:
        name = f"{raw['kind']}/{raw['metadata']['name']}"
        if raw["kind"] in ("Job", "Service"):
            yield f"{name}: ", True
            for path, item in substance(unnamed(raw)):
                yield f"{name}: {path}", item
        if raw["kind"] in ("Job", "JobSet"):
            for path, item in leaves(timeless(raw.get("status") or {})):
                yield f"{name}: status.{path}", item
    for pod in pods:
        yield f"Pod/{pod['hostname']}: {json.dumps(pod, sort_keys=True)}", True
    for name, type_, reason in told:
        yield f"Event JobSet/{name}: {type_} {reason}", True


def unnamed(raw: Raw) -> Raw:
    """An object whose uids are not seen, as the recordings have it."""
    return json.loads(re.sub(r"00000000-0000-0000-0000-\d{12}", "<uid>", json.dumps(raw)))


def timeless(value: Any) -> Any:
    """A status without times, words and lists of uids."""
    if isinstance(value, dict):
        gone = ("lastTransitionTime", "lastProbeTime", "startTime", "completionTime", "message")
        return {key: timeless(item) for key, item in value.items() if key not in gone}
    return [timeless(item) for item in value] if isinstance(value, list) else value


def differences(case: Path) -> Iterator[tuple[str, str, Any, Any]]:
    """(tag, path, theirs, ours) wherever this case comes out otherwise here."""
    for tag, world in play(case):
        there = theirs(case, tag)
        if there is None:
            continue
        here = ours(world)
        for path in sorted(set(there) | set(here)):
            a, b = there.get(path), here.get(path)
            about, _, rest = path.partition(": ")
            if a == b or (path not in here and is_added(rest, a, about.partition("/")[2])):
                continue
            if path not in there and b in ({}, [], None, "", 0):
                continue
            yield tag, path, a, b


def in_jobset(path: str) -> str:
    """The path in a JobSet from which a path in one of its Jobs comes, or the path itself."""
    found = re.fullmatch(r"Job/(.+)-([^-]+)-\d+: spec\.(.*)", path)
    return f"JobSet/{found[1]}: spec.replicatedJobs[{found[2]}].template.spec.{found[3]}" if found else path
